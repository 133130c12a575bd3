/* The arithmetic of the engines on the bytes of tiles: products, filling, turning over. No time, no memory model.
 * Internal to the model. */
#ifndef TLMALLOC_MODEL_KERNEL_TILE_MATH_H
#define TLMALLOC_MODEL_KERNEL_TILE_MATH_H

#include "element.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* sum (m x n, f32) += a (m x k) * b (k x n), of f16, bf16 or f32, each product and sum in f32, k ascending. */
void tla_tile_dot(void *sum, const void *a, tl_dtype a_type, const void *b, tl_dtype b_type, uint32_t m, uint32_t k,
                  uint32_t n);

/* On `count` elements of every type; as tl_fill and tl_convert of language.h. */
void tla_tile_fill(void *out, tl_dtype out_type, float value, size_t count);
void tla_tile_convert(void *out, tl_dtype out_type, const void *in, tl_dtype in_type, size_t count);

/* out (columns x rows) = in (rows x columns), turned over; of elements of 1, 2, 4 or 8 bytes. */
void tla_tile_transpose(void *out, const void *in, uint32_t element_bytes, uint32_t rows, uint32_t columns);

#ifdef __cplusplus
}
#endif
#endif
