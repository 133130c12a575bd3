/* One load of 16 KiB from the program's own shard: what KernBench measures as a local PE DMA read (77 ns). */
#include "tlmalloc/kernel.h"

enum { READ_BYTES = 16384, ELEMENT_BYTES = 4, ELEMENTS = READ_BYTES / ELEMENT_BYTES };

/* Arguments: address of a tensor that is sharded over the programs in equal contiguous parts, bytes of a part. */
static tla_status run(tl_context *tl) {
    uint64_t shard_bytes = tl_argument(tl, 1);
    if (shard_bytes < READ_BYTES) return TLA_INVALID_ARGUMENT;
    tl_tile tile = {.rows = 1, .columns = ELEMENTS, .dtype = TL_F32};
    tla_status status = tl_alloc_tiles(tl, &tile, 1);
    if (status != TLA_OK) return status;
    tla_vaddr source = {tl_argument(tl, 0) + tl_program_id(tl, TL_ALL) * shard_bytes};
    return tl_free_tiles(tl, &tile, 1, tl_load(tl, &tile, source, READ_BYTES));
}

TL_KERNEL(.name = "dma_read", .description = "one 16 KiB load from the program's own shard, for calibration",
          .run = run, .uses = TL_USES_TRANSFERS,
          .tensors = {{.name = "source", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(ELEMENTS)}}},
          .arguments = {TL_ADDRESS_OF(0), TL_NUMBER(READ_BYTES)});
