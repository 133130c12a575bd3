/* Sums of times that end at the last one instead of wrapping. */
#ifndef TLMALLOC_MODEL_BASE_SATURATE_H
#define TLMALLOC_MODEL_BASE_SATURATE_H

#include <stdint.h>

static inline uint64_t add_saturated(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

#endif
