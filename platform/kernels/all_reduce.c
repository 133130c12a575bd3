/* y of every program = the sum of the x of all programs, f32, around the ring (kernel/collectives.h): checked bit by
 * bit against the same order of additions. */
#include "tlmalloc/kernel.h"

#include <string.h>

enum { X, Y };

/* Arguments: addresses of x and y, elements of x. */
static tla_status run(tl_context *tl) {
    const uint32_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL);
    const uint32_t elements = (uint32_t)(tl_argument(tl, 2) / programs);
    const uint64_t bytes = (uint64_t)elements * 4;
    enum { VECTOR, ROOM, TILES };
    tl_tile tiles[TILES] = {[VECTOR] = {.rows = 1, .columns = elements, .dtype = TL_F32},
                            [ROOM] = {.rows = 1, .columns = (uint32_t)tl_cdiv(elements, programs), .dtype = TL_F32}};
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    status = tl_load(tl, &tiles[VECTOR], (tla_vaddr){tl_argument(tl, X) + p * bytes}, bytes);
    if (status == TLA_OK) status = tl_all_reduce(tl, tl_everyone(tl), &tiles[VECTOR], &tiles[ROOM]);
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + p * bytes}, bytes, &tiles[VECTOR]);
    return tl_free_tiles(tl, tiles, TILES, status);
}

/* Part i begins with the x of program i + 1 and ends with that of program i. */
static float sum(const float *x, uint64_t programs, uint64_t elements, uint64_t part, uint64_t index) {
    float total = x[(part + 1) % programs * elements + index];
    for (uint64_t step = 2; step <= programs; step++)
        total = total + x[(part + step) % programs * elements + index];
    return total;
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const float *x = tensors[X], *y = tensors[Y];
    const uint64_t n = workload->programs, elements = workload->elements_per_pe;
    for (uint64_t part = 0; part < n; part++)
        for (uint64_t i = part * elements / n; i < (part + 1) * elements / n; i++) {
            const float expected = sum(x, n, elements, part, i);
            for (uint64_t p = 0; p < n; p++)
                if (memcmp(&y[p * elements + i], &expected, sizeof expected) != 0)
                    return tl_wrong(error, "all_reduce: y[%llu][%llu] is %.9g, expected %.9g, bit by bit",
                                    (unsigned long long)p, (unsigned long long)i, (double)y[p * elements + i],
                                    (double)expected);
        }
    return TLA_OK;
}

TL_KERNEL(
        .name = "all_reduce", .description = "the sum of a vector of every program, in all of them, over a ring",
        .run = run,
        .tensors = {[X] = {.name = "x", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(TL_PER_ELEMENT(1))}},
                    [Y] = {.name = "y", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(TL_PER_ELEMENT(1))}, .use = TL_OUT}},
        .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(Y), TL_ELEMENTS_OF(X)}, .check = check);
