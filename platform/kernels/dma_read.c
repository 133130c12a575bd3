/* One load of 16 KiB from the program's own shard: what KernBench measures as a local PE DMA read (77 ns). */
#include "inputs.h"
#include "registry.h"
#include "tiles.h"

enum { READ_BYTES = 16384, ELEMENT_BYTES = 4, ELEMENTS = READ_BYTES / ELEMENT_BYTES };

/* Arguments: address of a tensor that is sharded over the programs in equal contiguous parts, bytes of a part. */
static tla_status run(tl_context *tl) {
    uint64_t shard_bytes = tl_argument(tl, 1);
    if (shard_bytes < READ_BYTES) return TLA_INVALID_ARGUMENT;
    tl_tile tile = {.rows = 1, .columns = ELEMENTS, .dtype = TL_F32};
    tla_status status = tl_alloc_tiles(tl, &tile, 1);
    if (status != TLA_OK) return status;
    tla_vaddr source = {tl_argument(tl, 0) + tl_program_id(tl) * shard_bytes};
    return tl_free_tiles(tl, &tile, 1, tl_load(tl, &tile, source, READ_BYTES));
}

static uint64_t tensor_bytes(const tl_workload *workload, uint32_t tensor) {
    (void)tensor;
    return (uint64_t)workload->programs * READ_BYTES;
}

static uint32_t arguments(const tl_workload *workload, const tla_vaddr *tensors, uint64_t *out) {
    (void)workload;
    out[0] = tensors[0].value;
    out[1] = READ_BYTES;
    return 2;
}

static void fill(const tl_workload *workload, uint32_t tensor, void *bytes) {
    tl_fill_uniform(bytes, TL_F32, (uint64_t)workload->programs * ELEMENTS, workload->seed, tensor);
}

const tl_kernel_info tl_kernel_dma_read = {
    .name = "dma_read",
    .number = TL_KERNEL_DMA_READ,
    .description = "one 16 KiB load from the program's own shard, for calibration",
    .run = run,
    .tensor_count = 1,
    .tensors = {{"source", TL_F32, false}},
    .tensor_bytes = tensor_bytes,
    .arguments = arguments,
    .fill = fill,
};
