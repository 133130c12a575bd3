/* Handles of tensors in virtual memory (tl_tensor), parts of them, and what is moved between them and tiles. */
#ifndef TLMALLOC_KERNEL_TENSOR_H
#define TLMALLOC_KERNEL_TENSOR_H

#include "tlmalloc/kernel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle of a row-major matrix; `pitch` bytes from one row to the next, 0: the rows touch. Nothing is transferred and
 * nothing asked; whether memory is mapped there shows when it is accessed. Costs nothing. */
static inline tl_tensor tl_ref(tla_vaddr va, uint32_t rows, uint32_t columns, tl_dtype dtype, uint64_t pitch) {
    const uint64_t element = tl_dtype_bytes(dtype);
    tl_tensor tensor = {va, 2, {rows, columns}, {pitch ? pitch : columns * element, element}, dtype};
    return tensor;
}

/* A handle of a tensor of any rank from 1 to TL_RANK_MAX, with `rank` numbers each in `shape` (elements) and `stride`
 * (bytes; NULL: row-major, without gaps). TLA_INVALID_ARGUMENT for another rank, and said so; *tensor stays as it was
 * then. Costs nothing. */
static inline tla_status tl_ref_strided(tl_context *tl, tla_vaddr va, uint32_t rank, const uint32_t *shape,
                                        const uint64_t *stride, tl_dtype dtype, tl_tensor *tensor) {
    if (rank == 0 || rank > TL_RANK_MAX)
        return tl_refuse(tl, "tl_ref_strided: rank %u must be 1 to %d", rank, TL_RANK_MAX);
    tl_tensor made = {va, rank, {0}, {0}, dtype};
    uint64_t packed = tl_dtype_bytes(dtype);
    for (uint32_t dim = rank; dim-- > 0; packed *= shape[dim]) {
        made.shape[dim] = shape[dim];
        made.stride[dim] = stride ? stride[dim] : packed;
    }
    *tensor = made;
    return TLA_OK;
}

/* The indices [begin, begin + count) of dimension `dim`, and all of the others; *part may be *tensor.
 * TLA_INVALID_ARGUMENT for a dimension that it does not have and for indices that are not inside, and said so; *part
 * stays as it was then. Costs nothing. */
static inline tla_status tl_slice(tl_context *tl, const tl_tensor *tensor, uint32_t dim, uint32_t begin, uint32_t count,
                                  tl_tensor *part) {
    if (dim >= tensor->rank || dim >= TL_RANK_MAX)
        return tl_refuse(tl, "tl_slice: dimension %u must be less than the tensor's rank, %u", dim, tensor->rank);
    if ((uint64_t)begin + count > tensor->shape[dim])
        return tl_refuse(tl, "tl_slice: indices %u to %llu of dimension %u: must be at least one index, inside its %u",
                         begin, (unsigned long long)begin + count, dim, tensor->shape[dim]);
    tl_tensor made = *tensor;
    made.va.value += begin * tensor->stride[dim];
    made.shape[dim] = count;
    *part = made;
    return TLA_OK;
}

/* --- Between tensors and tiles ---
 *
 * The tile has the tensor's type, its last dimension as columns and the product of all others as rows (one row for rank
 * 1). What touches in memory and in the tile is one transfer; rows that do not touch in memory, an equal distance
 * apart, are one transfer with a chunk or more for each, and those that do not touch in the tile a transfer each. A
 * last dimension whose elements do not touch costs a chunk for every element: DMA that fetches bytes one by one.
 * TLA_INVALID_ARGUMENT, and said so, for a tile that does not fit, before anything is moved; TLA_BUS_ERROR as tl_load.
 */

/* DMA from a tensor into a tile. */
static inline tla_status tl_load_tensor(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor) {
    return tl->calls->load_tensor(tl, tile, tensor, NULL, 0);
}

/* DMA from a tile to a tensor; where strides lead to one place several times, one of them stays there. */
static inline tla_status tl_store_tensor(tl_context *tl, const tl_tensor *tensor, const tl_tile *tile) {
    return tl->calls->store_tensor(tl, tensor, tile, NULL);
}

/* With a mask, a tile of u8 with the shape of `tile`: only elements whose mask is not 0 are loaded, each run of them in
 * a transfer of its own, and nothing else is read; the rest of the tile is set to `other`. The mask is read from the
 * TCM; unless it is true everywhere, there is a tl_fill before. TLA_INVALID_ARGUMENT for a mask of another shape or
 * type. */
static inline tla_status tl_load_where(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor,
                                       const tl_tile *mask, float other) {
    return tl->calls->load_tensor(tl, tile, tensor, mask, other);
}

/* Likewise to a tensor: nothing is written elsewhere. */
static inline tla_status tl_store_where(tl_context *tl, const tl_tensor *tensor, const tl_tile *tile,
                                        const tl_tile *mask) {
    return tl->calls->store_tensor(tl, tensor, tile, mask);
}

/* DMA of chosen indices of the first dimension, one behind the other: tile row i is row index[i] of a matrix (of a
 * tensor of rank 3 or 4, rows that are all of index[i]). `index` is a row or a column of a tile of integers, which is
 * read from the TCM; each of them is a transfer of its own. TLA_INVALID_ARGUMENT for a tensor of rank 1, a tile that
 * does not fit, and an index that the tensor does not have, and said so, before anything is moved. */
static inline tla_status tl_gather_rows(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor,
                                        const tl_tile *index) {
    return tl->calls->gather_rows(tl, tile, tensor, index);
}

#ifdef __cplusplus
}
#endif
#endif
