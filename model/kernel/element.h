/* Elements of tiles, of every type, as numbers: read, written, converted. No time, no memory model. Internal to the
 * model. */
#ifndef TLMALLOC_MODEL_KERNEL_ELEMENT_H
#define TLMALLOC_MODEL_KERNEL_ELEMENT_H

#include "tlmalloc/kernel/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a type is one of integers, and of signed ones. */
bool tla_is_integer(tl_dtype type);
bool tla_is_signed(tl_dtype type);

/* Returns "f16", "i32", ...; "none" for an unknown type. */
const char *tla_type_name(tl_dtype type);

/* binary16: exact; to nearest, ties to even, overflow to infinity, NaN stays NaN. */
float tla_f16_to_f32(uint16_t half);
uint16_t tla_f32_to_f16(float value);

/* bfloat16: likewise. */
float tla_bf16_to_f32(uint16_t bits);
uint16_t tla_f32_to_bf16(float value);

/* An element of a real type, exactly; of an integer type to nearest (exact below 2^53). */
double tla_element_get(const void *at, tl_dtype type);

/* An element of an integer type in two's complement of 64 bits, zeros above an unsigned one. */
uint64_t tla_element_get_integer(const void *at, tl_dtype type);

/* Writes a number, rounded once to the type: to nearest, ties to even, overflow to infinity, NaN stays NaN. For an
 * integer type: towards zero, a number out of its range to the end of the range, NaN to 0. */
void tla_element_put(void *at, tl_dtype type, double value);

/* Writes the lower bits of an integer to an integer type. */
void tla_element_put_integer(void *at, tl_dtype type, uint64_t bits);

/* Converts an element: as tla_element_put, with one rounding from 64-bit integers too; from integer to integer modulo
 * 2^bits. */
void tla_element_convert(void *to, tl_dtype to_type, const void *from, tl_dtype from_type);

#ifdef __cplusplus
}
#endif
#endif
