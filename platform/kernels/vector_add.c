/* c = a + b, element by element, f32. */
#include "tlmalloc/kernel.h"

#include <string.h>

enum { A, B, C, TENSORS };
enum { BLOCK_ELEMENTS = 1024 }; /* 4 KiB a tile */
enum { ELEMENT_BYTES = 4 };

/* Adds `count` elements from `first` on, a block at a time. */
static tla_status add_blocks(tl_context *tl, const tl_tile tiles[TENSORS], uint64_t first, uint64_t count) {
    for (uint64_t done = 0; done < count;) {
        uint64_t offset = (first + done) * ELEMENT_BYTES;
        tla_vaddr at[TENSORS];
        tl_tile block[TENSORS];
        for (uint32_t i = 0; i < TENSORS; i++) {
            at[i].value = tl_argument(tl, i) + offset;
            block[i] = tiles[i];
            if (count - done < block[i].columns) block[i].columns = (uint32_t)(count - done);
        }
        uint64_t row_bytes = (uint64_t)block[A].columns * ELEMENT_BYTES;
        tla_status status = tl_load(tl, &block[A], at[A], row_bytes);
        if (status == TLA_OK) status = tl_load(tl, &block[B], at[B], row_bytes);
        if (status == TLA_OK) status = tl_add(tl, &block[C], &block[A], &block[B]);
        if (status == TLA_OK) status = tl_store(tl, at[C], row_bytes, &block[C]);
        if (status != TLA_OK) return status;
        done += block[A].columns;
    }
    return TLA_OK;
}

/* Arguments: addresses of a, b and c, number of elements. Program p of P adds [p * n / P, (p + 1) * n / P). */
static tla_status run(tl_context *tl) {
    uint64_t n = tl_argument(tl, TENSORS), program = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL);
    uint64_t first = program * n / programs, count = (program + 1) * n / programs - first;
    if (count == 0) return TLA_OK;
    uint32_t columns = count < BLOCK_ELEMENTS ? (uint32_t)count : BLOCK_ELEMENTS;
    tl_tile tiles[TENSORS];
    for (uint32_t i = 0; i < TENSORS; i++)
        tiles[i] = (tl_tile){.rows = 1, .columns = columns, .dtype = TL_F32};
    tla_status status = tl_alloc_tiles(tl, tiles, TENSORS);
    if (status != TLA_OK) return status;
    return tl_free_tiles(tl, tiles, TENSORS, add_blocks(tl, tiles, first, count));
}

static float element(const void *tensor, uint64_t index) {
    float value;
    memcpy(&value, (const uint8_t *)tensor + index * ELEMENT_BYTES, sizeof value);
    return value;
}

/* One f32 addition has one right answer: exact. */
static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    uint64_t n = workload->programs * workload->elements_per_pe;
    for (uint64_t i = 0; i < n; i++) {
        float expected = element(tensors[A], i) + element(tensors[B], i), got = element(tensors[C], i);
        if (!(got == expected))
            return tl_wrong(error, "vector_add: c[%llu] is %.9g, expected %.9g", (unsigned long long)i, (double)got,
                            (double)expected);
    }
    return TLA_OK;
}

#define SHAPE                                                                                                          \
    { TL_PER_PROGRAM(TL_PER_ELEMENT(1)) }

TL_KERNEL(.name = "vector_add", .description = "c = a + b in f32, blocks of 1024 elements", .run = run,
          .uses = TL_USES_TRANSFERS | TL_USES_VECTOR,
          .tensors = {[A] = {.name = "a", .dtype = TL_F32, .shape = SHAPE},
                      [B] = {.name = "b", .dtype = TL_F32, .shape = SHAPE},
                      [C] = {.name = "c", .dtype = TL_F32, .shape = SHAPE, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(A), TL_ADDRESS_OF(B), TL_ADDRESS_OF(C), TL_ELEMENTS_OF(C)}, .check = check);
