/* Inputs of kernels: reproducible numbers. */
#ifndef TLMALLOC_PLATFORM_PROGRAMS_UNIFORM_H
#define TLMALLOC_PLATFORM_PROGRAMS_UNIFORM_H

#include "tlmalloc/kernel.h"

/* Writes `count` elements, uniform in [-1, 1] and rounded to the type; the same for the same seed and stream. The
 * generator is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). */
void tl_fill_uniform(void *bytes, tl_dtype dtype, uint64_t count, uint64_t seed, uint32_t stream);

#endif
