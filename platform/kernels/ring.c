/* Every program sends its part of x around the ring of all programs, one place at a time, until the program before it
 * has it: y of program p is x of program p + 1. */
#include "tlmalloc/kernel.h"

#include <string.h>

enum { X, Y };

/* One place on: even programs send first, odd ones receive first, so that no message is too long. */
static tla_status pass_on(tl_context *tl, const tl_tile *held, const tl_tile *next) {
    uint32_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL);
    uint32_t to = (p + 1) % programs, from = (p + programs - 1) % programs;
    tla_status status = p % 2 == 0 ? tl_send(tl, to, held) : TLA_OK;
    if (status == TLA_OK) status = tl_recv(tl, from, next);
    if (status == TLA_OK && p % 2 != 0) status = tl_send(tl, to, held);
    return status;
}

/* Arguments: addresses of x and y, elements of x. */
static tla_status run(tl_context *tl) {
    uint32_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL);
    uint32_t elements = (uint32_t)(tl_argument(tl, 2) / programs);
    uint64_t offset = (uint64_t)p * elements * 4;
    tl_tile tiles[2] = {{.rows = 1, .columns = elements, .dtype = TL_F32},
                        {.rows = 1, .columns = elements, .dtype = TL_F32}};
    tla_status status = tl_alloc_tiles(tl, tiles, 2);
    if (status != TLA_OK) return status;
    status = tl_load(tl, &tiles[0], (tla_vaddr){tl_argument(tl, X) + offset}, (uint64_t)elements * 4);
    uint32_t place = 0; /* index of the tile to send next */
    for (uint32_t round = 1; status == TLA_OK && round < programs; round++, place ^= 1)
        status = pass_on(tl, &tiles[place], &tiles[place ^ 1]);
    if (status == TLA_OK)
        status = tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + offset}, (uint64_t)elements * 4, &tiles[place]);
    return tl_free_tiles(tl, tiles, 2, status);
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const unsigned char *x = tensors[X], *y = tensors[Y];
    const uint64_t part = workload->elements_per_pe * 4;
    for (uint64_t p = 0; p < workload->programs; p++) {
        const unsigned char *got = y + p * part, *expected = x + (p + 1) % workload->programs * part;
        if (memcmp(got, expected, part) == 0) continue;
        uint64_t byte = 0;
        while (got[byte] == expected[byte])
            byte++;
        return tl_wrong(error, "ring: byte %llu of program %llu is %u, expected %u, the byte of the next program",
                        (unsigned long long)byte, (unsigned long long)p, got[byte], expected[byte]);
    }
    return TLA_OK;
}

TL_KERNEL(
        .name = "ring", .description = "every part of a vector once around the ring of all programs, by messages",
        .run = run, .uses = TL_USES_TRANSFERS | TL_USES_MESSAGES,
        .tensors = {[X] = {.name = "x", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(TL_PER_ELEMENT(1))}},
                    [Y] = {.name = "y", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(TL_PER_ELEMENT(1))}, .use = TL_OUT}},
        .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(Y), TL_ELEMENTS_OF(X)}, .check = check);
