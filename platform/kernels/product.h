/* The check of a product of matrices in f16 that was accumulated in f32. */
#ifndef TLMALLOC_PLATFORM_KERNELS_PRODUCT_H
#define TLMALLOC_PLATFORM_KERNELS_PRODUCT_H

#include "tlmalloc/kernel.h"

#include <math.h>

/* Returns the tolerance of a right answer from the exact sum. In f32 each of k products and k - 1 additions rounds by
 * at most 2^-24 of a partial sum of |a * b|: together at most (k + 1) * 2^-24 * sum |a * b| (Higham, Accuracy and
 * Stability of Numerical Algorithms, 3.1: k u / (1 - k u), which is less). The last rounding, to f16, moves a value by
 * at most 2^-11 of itself, or by 2^-25 where it is subnormal. */
static inline double product_tolerance(double exact, double magnitude, uint64_t k) {
    const double accumulated = (double)(k + 1) * 0x1p-24 * magnitude;
    return accumulated + fmax((fabs(exact) + accumulated) * 0x1p-11, 0x1p-25);
}

/* Checks whether C[m x n] is A[m x k] B[k x n]; `name` is the name of C in messages ("gemm: c"). */
static inline tla_status product_check(const char *name, const void *const *tensors, uint64_t m, uint64_t k, uint64_t n,
                                       tla_error *error) {
    for (uint64_t i = 0; i < m * n; i++) {
        double exact = 0, magnitude = 0;
        for (uint64_t depth = 0; depth < k; depth++) {
            const double product =
                tl_element(tensors[0], TL_F16, i / n * k + depth) * tl_element(tensors[1], TL_F16, depth * n + i % n);
            exact += product;
            magnitude += fabs(product);
        }
        const double got = tl_element(tensors[2], TL_F16, i), allowed = product_tolerance(exact, magnitude, k);
        if (!(fabs(got - exact) <= allowed)) /* also rejects NaN */
            return tl_wrong(error, "%s[%llu][%llu] is %.9g, expected %.9g within %.3g", name,
                            (unsigned long long)(i / n), (unsigned long long)(i % n), got, exact, allowed);
    }
    return TLA_OK;
}

#endif
