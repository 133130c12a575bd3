/* One result of the vector engine from its operands. Internal to device. */
#ifndef TLMALLOC_KERNEL_SCALAR_H
#define TLMALLOC_KERNEL_SCALAR_H

#include "tlmalloc/kernel/types.h"

/* tl_unary, tl_binary or tl_ternary (without TL_WHERE) number `number`, by the operands. Rounded to f32, or with f64 to
 * f64. */
double tla_scalar_real(uint32_t operands, uint32_t number, bool f64, const double *x);

/* The same of integers of one type, modulo 2^64: whose lower bits are the result. */
uint64_t tla_scalar_integer(uint32_t operands, uint32_t number, tl_dtype type, const uint64_t *x);

#endif
