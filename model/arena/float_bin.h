/* Bins of sizes that are small floats: three bits of mantissa, so that every power of two has eight bins (Aaltonen's
 * OffsetAllocator). Internal.
 *
 * A bin below 8 is its own size; bin b >= 8 begins at (8 + b mod 8) << (b div 8 - 1). Sizes are 0 .. 2^63. */
#ifndef TLMALLOC_FLOAT_BIN_H
#define TLMALLOC_FLOAT_BIN_H

#include "size_class.h"

enum { TLA_FLOAT_BINS = 240 };                     /* that can hold a free block; a larger size is in the last bin */
#define TLA_FLOAT_BIN_LARGEST (UINT64_C(15) << 28) /* the size with which the last bin begins */

/* The smallest size of a bin. */
static inline uint64_t tla_float_bin_size(uint32_t bin) {
    return bin < 8 ? bin : (uint64_t)(8 + bin % 8) << (bin / 8 - 1);
}

/* The bin that a size is in. */
static inline uint32_t tla_float_bin_of(uint64_t size) {
    if (size < 8) return (uint32_t)size;
    const unsigned exponent = tla_log2(size) - 3;
    return 8 * exponent + (uint32_t)(size >> exponent);
}

/* The first bin in which no size is smaller. */
static inline uint32_t tla_float_bin_from(uint64_t size) {
    const uint32_t bin = tla_float_bin_of(size);
    return bin + (tla_float_bin_size(bin) < size);
}

#endif
