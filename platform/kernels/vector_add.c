/* c = a + b, element by element, f32. */
#include "inputs.h"
#include "registry.h"
#include "tiles.h"

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
    uint64_t n = tl_argument(tl, TENSORS), program = tl_program_id(tl), programs = tl_num_programs(tl);
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

static uint64_t elements(const tl_workload *workload) {
    return workload->programs * workload->elements_per_pe;
}

static uint64_t tensor_bytes(const tl_workload *workload, uint32_t tensor) {
    (void)tensor;
    return elements(workload) * ELEMENT_BYTES;
}

static uint32_t arguments(const tl_workload *workload, const tla_vaddr *tensors, uint64_t *out) {
    for (uint32_t i = 0; i < TENSORS; i++)
        out[i] = tensors[i].value;
    out[TENSORS] = elements(workload);
    return TENSORS + 1;
}

static void fill(const tl_workload *workload, uint32_t tensor, void *bytes) {
    tl_fill_uniform(bytes, TL_F32, elements(workload), workload->seed, tensor);
}

static float element(const void *tensor, uint64_t index) {
    float value;
    memcpy(&value, (const uint8_t *)tensor + index * ELEMENT_BYTES, sizeof value);
    return value;
}

/* One f32 addition has one right answer: exact. */
static tla_status verify(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    for (uint64_t i = 0; i < elements(workload); i++) {
        float expected = element(tensors[A], i) + element(tensors[B], i), got = element(tensors[C], i);
        if (!(got == expected))
            return tla_error_set(error, TLA_WRONG_RESULT, "vector_add: c[%llu] is %.9g, expected %.9g",
                                 (unsigned long long)i, (double)got, (double)expected);
    }
    return TLA_OK;
}

const tl_kernel_info tl_kernel_vector_add = {
    .name = "vector_add",
    .number = TL_KERNEL_VECTOR_ADD,
    .description = "c = a + b in f32, blocks of 1024 elements",
    .run = run,
    .tensor_count = TENSORS,
    .tensors = {[A] = {"a", TL_F32, false}, [B] = {"b", TL_F32, false}, [C] = {"c", TL_F32, true}},
    .tensor_bytes = tensor_bytes,
    .arguments = arguments,
    .fill = fill,
    .verify = verify,
};
