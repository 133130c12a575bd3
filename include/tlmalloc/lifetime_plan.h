/* Offsets for tensors whose lifetimes are known: the planners of TPU-MLIR and of TFLite Micro (allocators.md 1.5, 1.6).
 *
 * Planning is a compiler's work: it has no receipt, and all of it happens in one call. The methods keep their names and
 * their defects; TPU-MLIR computes in 32 bits, which is not modelled. */
#ifndef TLMALLOC_LIFETIME_PLAN_H
#define TLMALLOC_LIFETIME_PLAN_H

#include "tlmalloc/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor: live in [lower, upper) of whatever counts the program's steps. */
typedef struct tla_lifetime {
    uint64_t lower, upper; /* lower < upper */
    uint64_t nbytes;       /* at least 1 */
} tla_lifetime;

typedef enum tla_plan_method {
    TLA_PLAN_STACK,       /* one after the other, no reuse (FitFirstAssign without reuse) */
    TLA_PLAN_FIT_FIRST,   /* FitFirstAssign: by live start, into the largest hole, which grows when it is too small */
    TLA_PLAN_SIZE_ORDER,  /* OpSizeOrderAssign: by size, into the smallest gap that is large enough */
    TLA_PLAN_TFLM_GREEDY, /* TFLite Micro's greedy planner: by size, into the first gap that is large enough */
    TLA_PLAN_METHOD_COUNT
} tla_plan_method;

/* "stack", "fit_first", "size_order", "tflm_greedy"; NULL for a value that is none. */
const char *tla_plan_method_name(tla_plan_method method);

typedef struct tla_plan_options {
    uint64_t base;      /* added to every offset */
    uint64_t alignment; /* sizes are rounded up to a multiple; a power of two, 0 = 1 */
    bool stable_sort;   /* FIT_FIRST keeps the order of tensors that begin together; TPU-MLIR's own quicksort, which is
                           what false does, does not, and results differ by up to 1.6 times */
} tla_plan_options;

/* Plans n tensors: offsets[i] is where tensor i goes, *nbytes how much all of them take above the base. No two that are
 * live together overlap. TLA_INVALID_ARGUMENT for a tensor, an option or a sum of sizes (2^62) out of range,
 * TLA_NO_HOST_MEMORY; nothing is written then. FIT_FIRST needs host memory for n times the number of tensors that live
 * together, the others for n; time is the same, times n for the latter. */
tla_status tla_plan(tla_plan_method method, const tla_lifetime *tensors, size_t n, const tla_plan_options *options,
                    uint64_t *offsets, uint64_t *nbytes);

/* What TPU-MLIR does: FIT_FIRST and SIZE_ORDER, the smaller result, the first of equals. *method (may be NULL) says
 * which. Errors as tla_plan. */
tla_status tla_plan_smaller(const tla_lifetime *tensors, size_t n, const tla_plan_options *options, uint64_t *offsets,
                            uint64_t *nbytes, tla_plan_method *method);

/* Weights one after the other from the base, each on a multiple of the alignment; *end is the aligned end. Errors as
 * tla_plan. */
tla_status tla_plan_weights(const uint64_t *nbytes, size_t n, const tla_plan_options *options, uint64_t *offsets,
                            uint64_t *end);

/* The most bytes (rounded up as the plan does) that are live at once: no plan can take less. Errors as tla_plan. */
tla_status tla_plan_peak(const tla_lifetime *tensors, size_t n, uint64_t alignment, uint64_t *nbytes);

/* Whether no two tensors that are live together overlap: TLA_OK, or TLA_OVERLAP and the first such pair (NULL = not
 * wanted). Sizes are taken as they are. O(n^2). */
tla_status tla_plan_check(const tla_lifetime *tensors, const uint64_t *offsets, size_t n, size_t *first,
                          size_t *second);

#ifdef __cplusplus
}
#endif
#endif
