/* Handles of tensors in virtual memory (tl_tensor), and parts of them. */
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
        return tl_refuse(tl, "tl_ref_strided: found rank %u, expected 1 to %d", rank, TL_RANK_MAX);
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
        return tl_refuse(tl, "tl_slice: found dimension %u of a tensor of rank %u", dim, tensor->rank);
    if ((uint64_t)begin + count > tensor->shape[dim])
        return tl_refuse(tl, "tl_slice: found indices %u to %llu of dimension %u, expected some inside its %u", begin,
                         (unsigned long long)begin + count, dim, tensor->shape[dim]);
    tl_tensor made = *tensor;
    made.va.value += begin * tensor->stride[dim];
    made.shape[dim] = count;
    *part = made;
    return TLA_OK;
}

#ifdef __cplusplus
}
#endif
#endif
