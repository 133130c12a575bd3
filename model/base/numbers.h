/* Arithmetic on numbers that several files need. */
#ifndef TLMALLOC_MODEL_BASE_NUMBERS_H
#define TLMALLOC_MODEL_BASE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* The later of two times, at which both have passed. */
static inline uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static inline bool is_power_of_two(uint64_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

#endif
