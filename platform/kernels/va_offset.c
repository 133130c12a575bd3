/* y[i] = x[(i + offset) mod n], f32: addresses are the tensor's first and an offset, so that whatever part of a tensor
 * lies where, in whose memory and on which page, is found by it (KernBench's va_offset_verify). */
#include "tlmalloc/kernel.h"

enum { X, Y };
enum { ELEMENTS, OFFSET };
enum { BLOCK = 1024 }; /* elements in one step: 4 KiB */

/* Elements [first, first + count) of y, of which none wraps around in x. */
static tla_status move(tl_context *tl, const tl_tile *tile, uint64_t first, uint64_t from, uint64_t count) {
    const tl_tile part = tl_view(tl, tile, 0, 0, 1, (uint32_t)count);
    tla_status status = tl_load(tl, &part, (tla_vaddr){tl_argument(tl, X) + from * 4}, count * 4);
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + first * 4}, count * 4, &part);
    return status;
}

/* Arguments: addresses of x and y, n, offset. Program p of P writes the elements [p * n / P, (p + 1) * n / P) of y. */
static tla_status run(tl_context *tl) {
    const uint64_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL), n = tl_argument(tl, 2);
    uint64_t first = p * n / programs;
    const uint64_t end = (p + 1) * n / programs;
    if (first == end) return TLA_OK; /* more programs than elements */
    tl_tile tile = {.rows = 1, .columns = end - first < BLOCK ? (uint32_t)(end - first) : BLOCK, .dtype = TL_F32};
    tla_status status = tl_alloc_tiles(tl, &tile, 1);
    if (status != TLA_OK) return status;
    while (status == TLA_OK && first < end) {
        const uint64_t from = (first + tl_argument(tl, 3)) % n;
        uint64_t count = end - first < tile.columns ? end - first : tile.columns;
        if (count > n - from) count = n - from; /* up to the end of x */
        status = move(tl, &tile, first, from, count);
        first += count;
    }
    return tl_free_tiles(tl, &tile, 1, status);
}

/* Nothing is computed: exact. */
static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t n = workload->parameters[ELEMENTS];
    for (uint64_t i = 0; i < n; i++) {
        const double got = tl_element(tensors[Y], TL_F32, i),
                     expected = tl_element(tensors[X], TL_F32, (i + workload->parameters[OFFSET]) % n);
        if (!(got == expected))
            return tl_wrong(error, "va_offset: y[%llu] is %.9g, expected %.9g", (unsigned long long)i, got, expected);
    }
    return TLA_OK;
}

TL_KERNEL(.name = "va_offset", .description = "y[i] = x[i + offset], 65536 elements, offset 1000, f32", .run = run,
          .uses = TL_USES_TRANSFERS,
          .parameters = {[ELEMENTS] = {"elements", 65536, .least = 1}, [OFFSET] = {"offset", 1000}},
          .tensors = {[X] = {.name = "x", .dtype = TL_F32, .shape = {TL_PARAMETER(ELEMENTS)}},
                      [Y] = {.name = "y", .dtype = TL_F32, .shape = {TL_PARAMETER(ELEMENTS)}, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(Y), TL_VALUE_OF(ELEMENTS), TL_VALUE_OF(OFFSET)},
          .check = check);
