/* Offsets for tensors whose lifetimes are known, by search: a plan below a height, or the proof that there is none, and
 * the least height. After MiniMalloc (Moffitt, ASPLOS 2023); lifetime_plan.h has the problem, and quick rules.
 *
 * The search knows no clock and draws no random numbers: the same problem has the same plan, whenever it is stopped. It
 * is for problems of some thousand tensors; it needs host memory for the pairs that live together. */
#ifndef TLMALLOC_PLAN_EXACT_PLAN_H
#define TLMALLOC_PLAN_EXACT_PLAN_H

#include "tlmalloc/plan/lifetime_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* When a search ends without a result. A node is a tensor that is placed, which takes about a microsecond. */
typedef struct tla_plan_limits {
    uint64_t nodes;              /* 0: no limit */
    bool (*stop)(void *context); /* true ends the search; asked every few milliseconds; NULL: never */
    void *context;
} tla_plan_limits;

/* Looks for a plan in which every tensor ends at `capacity` bytes at most. TLA_OK: offsets[n] is one; TLA_EXHAUSTED:
 * there is none; TLA_LIMIT: neither was found within the limits (NULL: none), or more tensors live together than can be
 * searched (2^26 pairs). TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY. Nothing is written unless TLA_OK, but *nodes (may be
 * NULL), which is how many were visited. */
tla_status tla_plan_exact(const tla_plan_problem *problem, uint64_t capacity, const tla_plan_limits *limits,
                          uint64_t *offsets, uint64_t *nodes);

/* Where the least height lies. */
typedef struct tla_plan_range {
    uint64_t bound;  /* no plan takes less */
    uint64_t height; /* of the plan */
    uint64_t nodes;  /* visited */
} tla_plan_range;

/* Lowers a plan, offsets[n], to the least height by bisection between it and the bound. TLA_OK: it is the lowest there
 * is, bound and height are equal; TLA_LIMIT: the limits came first, and it is the lowest that was found. Both write
 * *range. TLA_INVALID_ARGUMENT for a problem out of range or offsets that are no plan, TLA_NO_HOST_MEMORY; nothing is
 * written then. */
tla_status tla_plan_minimize(const tla_plan_problem *problem, const tla_plan_limits *limits, uint64_t *offsets,
                             tla_plan_range *range);

#ifdef __cplusplus
}
#endif
#endif
