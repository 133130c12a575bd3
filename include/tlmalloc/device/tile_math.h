/* The arithmetic of the engines on bytes: f16 (IEEE 754 binary16, little-endian) and f32. No time, no memory model. */
#ifndef TLMALLOC_TILE_MATH_H
#define TLMALLOC_TILE_MATH_H

#include "tlmalloc/kernel/types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Exact. */
float tla_f16_to_f32(uint16_t half);

/* To nearest, ties to even; overflow to infinity; NaN stays NaN. */
uint16_t tla_f32_to_f16(float value);

/* sum (m x n, f32) += a (m x k) * b (k x n), each product and sum in f32, k ascending. */
void tla_tile_dot(void *sum, const void *a, tl_dtype a_type, const void *b, tl_dtype b_type, uint32_t m, uint32_t k,
                  uint32_t n);

/* out[i] = a[i] + b[i] for count elements, computed in f32. */
void tla_tile_add(void *out, tl_dtype out_type, const void *a, tl_dtype a_type, const void *b, tl_dtype b_type,
                  size_t count);

void tla_tile_fill(void *out, tl_dtype out_type, float value, size_t count);
void tla_tile_convert(void *out, tl_dtype out_type, const void *in, tl_dtype in_type, size_t count);

#ifdef __cplusplus
}
#endif
#endif
