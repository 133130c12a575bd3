/* Handles of tensors in virtual memory (tl_tensor), parts of tensors, and transfers between tensors and tiles. */
#ifndef TLMALLOC_KERNEL_TENSOR_H
#define TLMALLOC_KERNEL_TENSOR_H

#include "tlmalloc/kernel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns a handle of a row-major matrix; `pitch` bytes from one row to the next, 0: the rows are adjacent. It
 * transfers and checks nothing; an access reveals whether memory is mapped there. Costs nothing. */
static inline tl_tensor tl_ref(tla_vaddr va, uint32_t rows, uint32_t columns, tl_dtype dtype, uint64_t pitch) {
    const uint64_t element = tl_dtype_bytes(dtype);
    tl_tensor tensor = {va, 2, {rows, columns}, {pitch ? pitch : columns * element, element}, dtype};
    return tensor;
}

/* Creates a handle of a tensor of any rank from 1 to TL_RANK_MAX. `shape` (elements) and `stride` (bytes; NULL:
 * row-major, without gaps) have `rank` numbers each. TLA_INVALID_ARGUMENT, with a text, for another rank; *tensor is
 * unchanged then. Costs nothing. */
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

/* Selects the indices [begin, begin + count) of dimension `dim`, and all indices of the others; *part may be *tensor.
 * TLA_INVALID_ARGUMENT, with a text, for a missing dimension and for indices that are not inside; *part is unchanged
 * then. Costs nothing. */
static inline tla_status tl_slice(tl_context *tl, const tl_tensor *tensor, uint32_t dim, uint32_t begin, uint32_t count,
                                  tl_tensor *part) {
    if (dim >= tensor->rank || dim >= TL_RANK_MAX)
        return tl_refuse(tl, "tl_slice: dimension %u must be less than the tensor's rank, %u", dim, tensor->rank);
    if ((uint64_t)begin + count > tensor->shape[dim])
        return tl_refuse(tl, "tl_slice: indices %u to %llu of dimension %u: must be inside its %u", begin,
                         (unsigned long long)begin + count, dim, tensor->shape[dim]);
    tl_tensor made = *tensor;
    made.va.value += begin * tensor->stride[dim];
    made.shape[dim] = count;
    *part = made;
    return TLA_OK;
}

/* --- Between tensors and tiles ---
 *
 * The tile has the tensor's type. Its columns are the tensor's last dimension, and its rows the product of all others
 * (one row for rank 1). Bytes that are contiguous in memory and in the tile are one transfer. Rows that are separate in
 * memory, at an equal distance, are one transfer with a chunk or more for each row. Rows that are separate in the tile
 * are a transfer each. A last dimension with separate elements costs a chunk for every element: DMA that fetches bytes
 * one by one. TLA_INVALID_ARGUMENT, with a text, for a tile that does not fit, before anything is moved; TLA_BUS_ERROR
 * as tl_load. */

/* DMA from a tensor into a tile. */
static inline tla_status tl_load_tensor(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor) {
    return tl->calls->load_tensor(tl, tile, tensor, NULL, 0);
}

/* DMA from a tile to a tensor; where strides map several elements to one address, one of the values remains there. */
static inline tla_status tl_store_tensor(tl_context *tl, const tl_tensor *tensor, const tl_tile *tile) {
    return tl->calls->store_tensor(tl, tensor, tile, NULL);
}

/* As tl_load_tensor with a mask, a tile of u8 with the shape of `tile`. It loads only elements whose mask is not 0, and
 * each run of such elements is a transfer of its own. It reads no other element, and sets the rest of the tile to
 * `other`. The mask is read from the TCM. Unless the mask is true everywhere, a tl_fill precedes the load.
 * TLA_INVALID_ARGUMENT for a mask of another shape or type. */
static inline tla_status tl_load_where(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor,
                                       const tl_tile *mask, float other) {
    return tl->calls->load_tensor(tl, tile, tensor, mask, other);
}

/* As tl_store_tensor with a mask: elements whose mask is 0 are not written. */
static inline tla_status tl_store_where(tl_context *tl, const tl_tensor *tensor, const tl_tile *tile,
                                        const tl_tile *mask) {
    return tl->calls->store_tensor(tl, tensor, tile, mask);
}

/* DMA of selected indices of the first dimension, in sequence: tile row i is row index[i] of a matrix. With a tensor of
 * rank 3 or 4 the rows are all rows of index[i]. `index` is a row or a column of a tile of integers, which is read from
 * the TCM. Each index is a transfer of its own. TLA_INVALID_ARGUMENT for a tensor of rank 1, a tile that does not fit,
 * and an index that the tensor does not have. The error has a text, and nothing has been moved. */
static inline tla_status tl_gather_rows(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor,
                                        const tl_tile *index) {
    return tl->calls->gather_rows(tl, tile, tensor, index);
}

#ifdef __cplusplus
}
#endif
#endif
