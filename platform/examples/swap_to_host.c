/* A block that gives up its place in HBM and takes it again: eviction to the host's memory, by DMA.
 *
 * Two tensors of 1.5 MiB compete for the 2 MiB of HBM of four PEs. The second allocation fails, so a kernel copies the
 * first tensor to the host's memory, each PE its part, and the HBM is freed. After the second tensor is freed, the
 * first returns. All bytes cross the host's link, at 64 GB/s the slowest of the path: 24.6 us for 1.5 MiB in each
 * direction. The rest is the first tile's load and the end point's stores. */
#include "npu_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 384 << 10, NBYTES = 4 * PART, TILE = 32 << 10, LINK_BYTES_PER_US = 64000 };
enum { EVICTED, COPYING };

/* Copies this program's part of one tensor, tile by tile: to, from, bytes of a part. */
static tla_status copy(tl_context *tl) {
    const uint64_t part = tl_argument(tl, 2), first = tl_program_id(tl, TL_ALL) * part;
    const uint64_t to = tl_argument(tl, 0) + first, from = tl_argument(tl, 1) + first;
    tl_tile tile;
    tla_status status = tl_alloc(tl, 1, TILE, TL_U8, &tile);
    if (status) return status;
    for (uint64_t at = 0; at < part && !status; at += TILE) {
        status = tl_load(tl, &tile, (tla_vaddr){from + at}, TILE);
        if (!status) status = tl_store(tl, (tla_vaddr){to + at}, TILE, &tile);
    }
    return tl_free_tiles(tl, &tile, 1, status);
}

/* How long it took, in ns; 0: it failed. */
static uint64_t move(const host_tensor *to, const host_tensor *from) {
    const uint64_t arguments[] = {address_of(to), address_of(from), PART}, start = now_ns();
    show(COPYING, 1);
    const tla_status status = run_kernel(arguments, 3);
    show(COPYING, 0);
    return status ? 0 : now_ns() - start;
}

static uint8_t first_bytes[NBYTES], second_bytes[NBYTES], found[NBYTES];

static bool holds(const host_tensor *tensor, const uint8_t *bytes) {
    memset(found, 0, sizeof found);
    return !read_tensor(tensor, found) && !memcmp(found, bytes, NBYTES);
}

static int run(void) {
    host_tensor *first, *second, *away;
    for (uint32_t i = 0; i < NBYTES; i++) {
        first_bytes[i] = (uint8_t)(i * 2654435761u >> 24);
        second_bytes[i] = (uint8_t)~first_bytes[i];
    }
    if (make_tensor("first", TLA_HBM, NBYTES, &first) || write_tensor(first, first_bytes)) return 1;
    if (make_tensor("second", TLA_HBM, NBYTES, &second) != TLA_EXHAUSTED) return 1;
    printf("the second tensor does not fit beside the first\n");

    if (make_tensor("away", TLA_HOST_MEMORY, NBYTES, &away)) return 1;
    const uint64_t out_ns = move(away, first);
    if (!out_ns || free_tensor(first)) return 1;
    show(EVICTED, NBYTES);
    if (make_tensor("second", TLA_HBM, NBYTES, &second) || write_tensor(second, second_bytes)) return 1;
    const bool second_was_there = holds(second, second_bytes);
    if (free_tensor(second)) return 1;

    if (make_tensor("first", TLA_HBM, NBYTES, &first)) return 1;
    const uint64_t back_ns = move(first, away);
    if (!back_ns || free_tensor(away)) return 1;
    show(EVICTED, 0);
    const bool is_back = holds(first, first_bytes);
    const uint64_t link_ns = (uint64_t)NBYTES * 1000 / LINK_BYTES_PER_US;
    printf("%d bytes to the host in %llu ns, back in %llu ns; its link alone takes %llu ns\n", NBYTES,
           (unsigned long long)out_ns, (unsigned long long)back_ns, (unsigned long long)link_ns);
    printf("the second tensor was %s, the first is %s\n", second_was_there ? "there" : "lost",
           is_back ? "back, byte for byte" : "damaged");
    const uint64_t most_ns = link_ns + link_ns / 10; /* a tenth for all that is not the link */
    const bool as_the_link = out_ns >= link_ns && out_ns <= most_ns && back_ns >= link_ns && back_ns <= most_ns;
    printf("%s a tenth of what the link takes\n", as_the_link ? "both within" : "not within");
    return second_was_there && is_back && as_the_link ? 0 : 1;
}

const npu_bench the_npu_bench = {.settings = {"hbm.capacity_per_cube=2 MiB", "host_memory.capacity=2 MiB"},
                                 .kernel = copy,
                                 .run = run,
                                 .signals = {"evicted_bytes", "copying"}};
