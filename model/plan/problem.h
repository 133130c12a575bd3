/* The members of a planning problem for a tensor, and their checks. Internal. */
#ifndef TLMALLOC_PLAN_PROBLEM_H
#define TLMALLOC_PLAN_PROBLEM_H

#include "tlmalloc/plan/plan.h"

static inline uint64_t plan_alignment(const tla_plan_problem *problem, size_t tensor) {
    return problem->alignments && problem->alignments[tensor] ? problem->alignments[tensor] : 1;
}

static inline bool plan_is_fixed(const tla_plan_problem *problem, size_t tensor) {
    return problem->fixed && problem->fixed[tensor] != TLA_PLAN_ANYWHERE;
}

/* TLA_OK or TLA_INVALID_ARGUMENT. */
tla_status plan_problem_check(const tla_plan_problem *problem);

#endif
