/* Whether a planning problem is one. */
#include "problem.h"

static bool tensor_is_good(const tla_plan_problem *problem, size_t i) {
    const tla_lifetime *tensor = &problem->tensors[i];
    const uint64_t alignment = plan_alignment(problem, i);
    if (tensor->lower >= tensor->upper || tensor->nbytes == 0 || tensor->nbytes > TLA_PLAN_HEIGHT_MAX) return false;
    if ((alignment & (alignment - 1)) != 0) return false;
    if (!plan_is_fixed(problem, i)) return true;
    return problem->fixed[i] <= TLA_PLAN_HEIGHT_MAX - tensor->nbytes && problem->fixed[i] % alignment == 0;
}

/* Gaps in the order of tensors, a tensor's in the order of time, inside its lifetime, not all of it. */
static bool gaps_are_good(const tla_plan_problem *problem) {
    uint64_t dead = 0;
    for (size_t i = 0; i < problem->gap_count; i++) {
        const tla_plan_gap *gap = &problem->gaps[i], *before = i ? gap - 1 : NULL;
        if (gap->tensor >= problem->n || gap->lower >= gap->upper) return false;
        const tla_lifetime *tensor = &problem->tensors[gap->tensor];
        if (gap->lower < tensor->lower || gap->upper > tensor->upper) return false;
        if (before && before->tensor > gap->tensor) return false;
        bool same = before && before->tensor == gap->tensor;
        if (same && gap->lower < before->upper) return false;
        dead = (same ? dead : 0) + (gap->upper - gap->lower);
        if (dead == tensor->upper - tensor->lower) return false;
    }
    return true;
}

tla_status plan_problem_check(const tla_plan_problem *problem) {
    for (size_t i = 0; i < problem->n; i++)
        if (!tensor_is_good(problem, i)) return TLA_INVALID_ARGUMENT;
    return gaps_are_good(problem) ? TLA_OK : TLA_INVALID_ARGUMENT;
}
