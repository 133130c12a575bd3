/* The parts of a DMA transfer between a tensor in virtual memory and a tile: bytes that are contiguous on both sides
 * are one part. No time, no memory model. Internal to the model. */
#ifndef TLMALLOC_MODEL_KERNEL_TILE_TRANSFER_H
#define TLMALLOC_MODEL_KERNEL_TILE_TRANSFER_H

#include "tlmalloc/kernel/types.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rows of row_bytes each, `pitch` bytes apart in virtual memory and without gaps in the tile. */
typedef struct tla_tile_part {
    uint64_t va, offset; /* offset: in the tile, bytes from its first element */
    uint64_t rows, row_bytes, pitch;
} tla_tile_part;

/* A transfer part by part; the struct owns its contents. */
typedef struct tla_tile_transfer {
    struct {
        uint64_t count, va_step, tile_step, at;
    } dims[TL_RANK_MAX]; /* outermost first */
    uint32_t rank;
    tla_tile_part part; /* at index 0 of all dimensions */
    const uint8_t *mask;
    uint64_t done, total; /* parts, or with a mask elements */
} tla_tile_transfer;

/* Checks whether a tile can hold a tensor: its columns are the last dimension, its rows the product of all others, its
 * type is the tensor's. TLA_INVALID_ARGUMENT with the found and the expected value; the text begins with `call`. */
tla_status tla_tile_transfer_check(const char *call, const tl_tile *tile, const tl_tensor *tensor, tla_error *error);

/* Begins with a tile and a tensor that fit. Without a mask the rows of parts are rows of the tile, those that touch on
 * both sides joined, and single elements where those of a row do not touch; a part has as many as lie a pitch apart.
 * With a mask (not NULL: a byte for each element, row by row; it must stay while parts are taken) each part is a run of
 * elements whose byte is not 0 and that touch on both sides. */
void tla_tile_transfer_begin(tla_tile_transfer *transfer, const tl_tile *tile, const tl_tensor *tensor,
                             const uint8_t *mask);

/* Returns the next part; false after the last. */
bool tla_tile_transfer_next(tla_tile_transfer *transfer, tla_tile_part *part);

#ifdef __cplusplus
}
#endif
#endif
