/* The choice of a method, and the reduced problem for a method that ignores some constraints. */
#include "plan_methods.h"

#include "problem.h"

#include <stdlib.h>
#include <string.h>

static bool has_fixed(const tla_plan_problem *problem) {
    for (size_t i = 0; i < problem->n; i++)
        if (plan_is_fixed(problem, i)) return true;
    return false;
}

/* Places tensors one after the other, above the fixed tensors. */
static tla_status stack(const tla_plan_problem *problem, uint64_t *offsets) {
    uint64_t end = 0;
    for (size_t i = 0; i < problem->n; i++)
        if (plan_is_fixed(problem, i) && problem->fixed[i] + problem->tensors[i].nbytes > end)
            end = problem->fixed[i] + problem->tensors[i].nbytes;
    for (size_t i = 0; i < problem->n; i++) {
        const uint64_t mask = plan_alignment(problem, i) - 1, nbytes = problem->tensors[i].nbytes;
        offsets[i] = plan_is_fixed(problem, i) ? problem->fixed[i] : (end + mask) & ~mask;
        if (offsets[i] > TLA_PLAN_HEIGHT_MAX - nbytes) return TLA_EXHAUSTED;
        if (offsets[i] + nbytes > end) end = offsets[i] + nbytes;
    }
    return TLA_OK;
}

/* With all sizes rounded up to the largest alignment, every offset is a multiple of it. */
static tla_status fit_first(const tla_plan_problem *problem, bool stable_sort, uint64_t *offsets) {
    uint64_t largest = 1, sum = 0;
    for (size_t i = 0; i < problem->n; i++)
        if (plan_alignment(problem, i) > largest) largest = plan_alignment(problem, i);
    tla_lifetime *rounded = malloc((problem->n + 1) * sizeof *rounded);
    if (!rounded) return TLA_NO_HOST_MEMORY;
    tla_status status = has_fixed(problem) ? TLA_UNSUPPORTED : TLA_OK;
    for (size_t i = 0; i < problem->n && !status; i++) {
        rounded[i] = problem->tensors[i];
        rounded[i].nbytes = (rounded[i].nbytes + largest - 1) & ~(largest - 1);
        if (rounded[i].nbytes > TLA_PLAN_HEIGHT_MAX - sum) status = TLA_EXHAUSTED;
        sum += rounded[i].nbytes;
    }
    if (!status) status = plan_fit_first(rounded, problem->n, stable_sort, offsets);
    free(rounded);
    return status;
}

static tla_status with_sections(tla_plan_method method, const tla_plan_problem *problem, uint64_t *offsets) {
    plan_sections sections;
    tla_status status = plan_sections_create(problem, &sections);
    if (status) return status;
    if (method != TLA_PLAN_LOWEST_FIRST)
        status = plan_greedy(problem, &sections, method, offsets);
    else if (has_fixed(problem))
        status = TLA_UNSUPPORTED;
    else
        status = plan_lowest_first(problem, &sections, offsets);
    plan_sections_clear(&sections);
    return status;
}

tla_status plan_run(tla_plan_method method, const tla_plan_problem *problem, bool stable_sort, uint64_t *offsets) {
    switch (method) {
    case TLA_PLAN_STACK:
        return stack(problem, offsets);
    case TLA_PLAN_FIT_FIRST:
        return fit_first(problem, stable_sort, offsets);
    case TLA_PLAN_SIZE_ORDER:
    case TLA_PLAN_TFLM_GREEDY:
    case TLA_PLAN_GREEDY_AREA:
    case TLA_PLAN_GREEDY_LIFETIME:
    case TLA_PLAN_GREEDY_CONFLICTS:
    case TLA_PLAN_LOWEST_FIRST:
    case TLA_PLAN_XNNPACK:
    case TLA_PLAN_XNNPACK_REPAIRED:
        return with_sections(method, problem, offsets);
    default:
        return TLA_INVALID_ARGUMENT;
    }
}

/* The result of a method is a plan, or fixed offsets contradict each other. */
static tla_status place(tla_plan_method method, const tla_plan_problem *problem, uint64_t *planned, uint64_t *height) {
    tla_status status = plan_run(method, problem, false, planned);
    if (!status && has_fixed(problem))
        status = tla_plan_check_problem(problem, planned, TLA_PLAN_HEIGHT_MAX, NULL, NULL);
    *height = 0;
    for (size_t i = 0; i < problem->n && !status; i++)
        if (planned[i] + problem->tensors[i].nbytes > *height) *height = planned[i] + problem->tensors[i].nbytes;
    return status;
}

tla_status tla_plan_place(tla_plan_method method, const tla_plan_problem *problem, uint64_t *offsets,
                          uint64_t *height) {
    tla_status status = plan_problem_check(problem);
    if (status) return status;
    uint64_t *planned = malloc((problem->n + 1) * sizeof *planned), found;
    if (!planned) return TLA_NO_HOST_MEMORY;
    status = place(method, problem, planned, &found);
    if (!status) {
        memcpy(offsets, planned, problem->n * sizeof *planned);
        *height = found;
    }
    free(planned);
    return status;
}

static bool is_tried(tla_plan_method method, size_t n) {
    if (method == TLA_PLAN_STACK || method == TLA_PLAN_LOWEST_FIRST) return true;
    return n <= (method == TLA_PLAN_FIT_FIRST ? TLA_PLAN_BEST_FIT_FIRST_MAX : TLA_PLAN_BEST_QUADRATIC_MAX);
}

/* Every method in turn; the better plan is in *best. A method that has none is no failure, unless all have none. */
static tla_status try_all(const tla_plan_problem *problem, uint64_t **best, uint64_t **other, uint64_t *least,
                          tla_plan_method *found, uint64_t *heights) {
    tla_status failed = TLA_UNSUPPORTED;
    *least = UINT64_MAX;
    for (int m = 0; m < TLA_PLAN_METHOD_COUNT; m++) {
        heights[m] = UINT64_MAX;
        if (!is_tried((tla_plan_method)m, problem->n)) continue;
        uint64_t height;
        tla_status status = place((tla_plan_method)m, problem, *other, &height);
        if (status == TLA_NO_HOST_MEMORY) return status;
        if (status && status != TLA_UNSUPPORTED) failed = status;
        if (status) continue;
        heights[m] = height;
        if (height >= *least) continue;
        uint64_t *better = *other;
        *other = *best;
        *best = better;
        *least = height;
        *found = (tla_plan_method)m;
    }
    return *least == UINT64_MAX ? failed : TLA_OK;
}

tla_status tla_plan_best(const tla_plan_problem *problem, uint64_t *offsets, uint64_t *height, tla_plan_method *method,
                         uint64_t *heights) {
    tla_status status = plan_problem_check(problem);
    if (status) return status;
    uint64_t *best = malloc((problem->n + 1) * sizeof *best), *other = malloc((problem->n + 1) * sizeof *other);
    uint64_t least, each[TLA_PLAN_METHOD_COUNT];
    tla_plan_method found = TLA_PLAN_STACK;
    status = best && other ? try_all(problem, &best, &other, &least, &found, each) : TLA_NO_HOST_MEMORY;
    if (!status) {
        memcpy(offsets, best, problem->n * sizeof *best);
        *height = least;
        if (method) *method = found;
        if (heights) memcpy(heights, each, sizeof each);
    }
    free(best);
    free(other);
    return status;
}

tla_status tla_plan_bound(const tla_plan_problem *problem, uint64_t *nbytes, size_t *tensors, size_t *count) {
    plan_sections sections;
    tla_status status = plan_sections_create(problem, &sections);
    if (status) return status;
    const uint32_t at = sections.bound_section;
    size_t found = 0;
    for (size_t i = 0; i < problem->n; i++) {
        bool makes = at == PLAN_NO_SECTION && plan_is_fixed(problem, i) && found == 0 &&
                     problem->fixed[i] + problem->tensors[i].nbytes == sections.bound;
        for (size_t k = sections.first_span[i]; k < sections.first_span[i + 1]; k++)
            makes = makes || (at != PLAN_NO_SECTION && sections.spans[k].from <= at && at < sections.spans[k].to);
        if (makes && tensors) tensors[found] = i;
        found += makes;
    }
    *nbytes = sections.bound;
    if (count) *count = found;
    plan_sections_clear(&sections);
    return TLA_OK;
}
