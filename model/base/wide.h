/* Products of 128 bits and their quotients, also on hosts whose compiler has no such type. */
#ifndef TLMALLOC_MODEL_BASE_WIDE_H
#define TLMALLOC_MODEL_BASE_WIDE_H

#include <stdint.h>

/* high * 2^64 + low. */
typedef struct tla_wide {
    uint64_t high, low;
} tla_wide;

/* The product for a compiler without 128 bits; tests compare both everywhere. */
static inline tla_wide wide_product_by_halves(uint64_t a, uint64_t b) {
    const uint64_t half = UINT32_MAX, a1 = a >> 32, a0 = a & half, b1 = b >> 32, b0 = b & half;
    const uint64_t lowest = a0 * b0, one = a1 * b0 + (lowest >> 32), other = a0 * b1 + (one & half);
    const tla_wide wide = {a1 * b1 + (one >> 32) + (other >> 32), other << 32 | (lowest & half)};
    return wide;
}

/* a / divisor, UINT64_MAX if it does not fit; *remainder is a % divisor then and else. divisor > 0. */
static inline uint64_t wide_quotient_by_bits(tla_wide a, uint64_t divisor, uint64_t *remainder) {
    uint64_t rest = a.high % divisor, quotient = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const uint64_t carry = rest >> 63;
        rest = rest << 1 | (a.low >> bit & 1);
        if (carry || rest >= divisor) {
            rest -= divisor;
            quotient |= UINT64_C(1) << bit;
        }
    }
    *remainder = rest;
    return a.high < divisor ? quotient : UINT64_MAX;
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 tla_native_wide;

static inline tla_wide wide_product(uint64_t a, uint64_t b) {
    const tla_native_wide product = (tla_native_wide)a * b;
    const tla_wide wide = {(uint64_t)(product >> 64), (uint64_t)product};
    return wide;
}

static inline uint64_t wide_quotient(tla_wide a, uint64_t divisor, uint64_t *remainder) {
    if (a.high == 0) { /* mostly, and one instruction then */
        *remainder = a.low % divisor;
        return a.low / divisor;
    }
    const tla_native_wide whole = (tla_native_wide)a.high << 64 | a.low;
    *remainder = (uint64_t)(whole % divisor);
    return a.high < divisor ? (uint64_t)(whole / divisor) : UINT64_MAX;
}
#else
static inline tla_wide wide_product(uint64_t a, uint64_t b) {
    return wide_product_by_halves(a, b);
}

static inline uint64_t wide_quotient(tla_wide a, uint64_t divisor, uint64_t *remainder) {
    return wide_quotient_by_bits(a, divisor, remainder);
}
#endif

/* a * b / divisor, rounded down; UINT64_MAX if it does not fit. divisor > 0. */
static inline uint64_t wide_ratio(uint64_t a, uint64_t b, uint64_t divisor) {
    uint64_t remainder;
    return wide_quotient(wide_product(a, b), divisor, &remainder);
}

#endif
