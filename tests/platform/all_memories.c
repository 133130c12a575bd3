/* y = x + away, by way of the SRAM: tensors in every memory, calls that wait and calls that do not, tiles that are
 * retained, pinned and scratch. For platforms whose host has memory (random_laws_test). */
#include "tlmalloc/kernel.h"

enum { X, AWAY, NEAR, Y, TENSORS }; /* in HBM, the host's memory, the SRAM, HBM */
enum { FIRST, SECOND, TILES };
enum { F32_BYTES = 4 };

static tla_vaddr part_of(tl_context *tl, uint32_t tensor) {
    const uint64_t part = tl_argument(tl, TENSORS) / tl_num_programs(tl, TL_ALL) * F32_BYTES;
    return (tla_vaddr){tl_argument(tl, tensor) + tl_program_id(tl, TL_ALL) * part};
}

static tla_status add(tl_context *tl, const tl_tile tiles[TILES], uint64_t nbytes) {
    tl_handle load = {0}, store = {0};
    tla_status status = tl_load_async(tl, &tiles[FIRST], part_of(tl, X), nbytes, &load);
    if (status == TLA_OK) status = tl_load(tl, &tiles[SECOND], part_of(tl, AWAY), nbytes);
    if (status == TLA_OK) status = tl_wait(tl, load);
    if (status == TLA_OK) status = tl_add(tl, &tiles[FIRST], &tiles[FIRST], &tiles[SECOND]);
    if (status == TLA_OK) status = tl_store_async(tl, part_of(tl, NEAR), nbytes, &tiles[FIRST], &store);
    if (status == TLA_OK) status = tl_wait(tl, store);
    if (status == TLA_OK) status = tl_load(tl, &tiles[SECOND], part_of(tl, NEAR), nbytes);
    if (status == TLA_OK) status = tl_store(tl, part_of(tl, Y), nbytes, &tiles[SECOND]);
    return status;
}

static tla_status run(tl_context *tl) {
    const uint64_t count = tl_argument(tl, TENSORS) / tl_num_programs(tl, TL_ALL);
    tl_tile tiles[TILES];
    for (uint32_t i = 0; i < TILES; i++)
        tiles[i] = (tl_tile){.rows = 1, .columns = (uint32_t)count, .dtype = TL_F32};
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    tl_tile scratch;
    status = tl_scratch(tl, 1, 8, TL_F32, &scratch);
    if (status == TLA_OK) status = tl_retain(tl, &tiles[FIRST]);
    if (status == TLA_OK) {
        status = tl_pin(tl, &tiles[SECOND], 1000000000);
        if (status == TLA_OK) {
            status = add(tl, tiles, count * F32_BYTES);
            const tla_status unpinned = tl_unpin(tl, &tiles[SECOND]);
            if (status == TLA_OK) status = unpinned;
        }
        const tla_status freed = tl_free(tl, &tiles[FIRST]);
        if (status == TLA_OK) status = freed;
    }
    return tl_free_tiles(tl, tiles, TILES, status);
}

/* One f32 addition has one right answer: exact. */
static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    for (uint64_t i = 0; i < workload->programs * workload->elements_per_pe; i++) {
        const float expected = (float)(tl_element(tensors[X], TL_F32, i) + tl_element(tensors[AWAY], TL_F32, i));
        if (!((float)tl_element(tensors[Y], TL_F32, i) == expected))
            return tl_wrong(error, "all_memories: y[%llu] is %.9g, expected %.9g", (unsigned long long)i,
                            tl_element(tensors[Y], TL_F32, i), (double)expected);
    }
    return TLA_OK;
}

#define SHAPE                                                                                                          \
    { TL_PER_PROGRAM(TL_PER_ELEMENT(1)) }

TL_KERNEL(.name = "all_memories", .description = "y = x + away, f32, by way of every memory", .run = run,
          .tensors = {[X] = {.name = "x", .dtype = TL_F32, .shape = SHAPE},
                      [AWAY] = {.name = "away", .dtype = TL_F32, .shape = SHAPE, .memory = TL_HOST},
                      [NEAR] = {.name = "near", .dtype = TL_F32, .shape = SHAPE, .use = TL_OUT, .memory = TL_SRAM},
                      [Y] = {.name = "y", .dtype = TL_F32, .shape = SHAPE, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(AWAY), TL_ADDRESS_OF(NEAR), TL_ADDRESS_OF(Y),
                        TL_ELEMENTS_OF(X)},
          .check = check);
