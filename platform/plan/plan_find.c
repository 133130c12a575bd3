/* The steps of `tlmalloc plan`: the bound, the methods, the search, the check. */
#include "cli/progress.h"
#include "plan/plan.h"
#include "replay/allocators.h"
#include "replay/trace_replay.h"

#include <stdlib.h>

static const char *const dynamic_policies[PLAN_DYNAMIC_POLICIES] = {"first_fit", "best_fit"};

const char *plan_dynamic_policy(int index) {
    return dynamic_policies[index];
}

void plan_result_clear(plan_result *result) {
    free(result->bound_buffers);
    free(result->offsets);
    *result = (plan_result){.verdict = PLAN_NOT_FOUND};
}

static tla_status no_memory(tla_error *error) {
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the plan");
}

/* The bound */

/* Whether buffers whose offsets are given overlap; no plan can mend that. */
static tla_status find_clash(plan_result *result) {
    const tla_plan_problem *all = &result->problem;
    tla_lifetime *tensors = malloc((all->n + 1) * sizeof *tensors);
    uint64_t *offsets = malloc((all->n + 1) * sizeof *offsets);
    size_t *index = malloc((all->n + 1) * sizeof *index), count = 0, gap_count = 0;
    tla_plan_gap *gaps = malloc((all->gap_count + 1) * sizeof *gaps);
    tla_status status = tensors && offsets && index && gaps ? TLA_OK : TLA_NO_HOST_MEMORY;
    for (size_t i = 0, gap = 0; i < all->n && !status; i++) {
        const bool fixed = all->fixed[i] != TLA_PLAN_ANYWHERE;
        for (; gap < all->gap_count && all->gaps[gap].tensor == i; gap++)
            if (fixed) gaps[gap_count++] = (tla_plan_gap){count, all->gaps[gap].lower, all->gaps[gap].upper};
        if (!fixed) continue;
        tensors[count] = all->tensors[i];
        offsets[count] = all->fixed[i];
        index[count++] = i;
    }
    if (!status) {
        const tla_plan_problem fixed = {.tensors = tensors, .n = count, .gaps = gaps, .gap_count = gap_count};
        size_t first = 0, second = 0;
        status = tla_plan_check_problem(&fixed, offsets, TLA_PLAN_HEIGHT_MAX, &first, &second);
        if (status == TLA_OVERLAP) {
            result->clash[0] = index[first];
            result->clash[1] = index[second];
            result->verdict = PLAN_IMPOSSIBLE;
            status = TLA_OK;
        }
    }
    free(tensors);
    free(offsets);
    free(index);
    free(gaps);
    return status;
}

static tla_status find_bound(const plan_request *request, plan_result *result) {
    result->bound_buffers = malloc((result->problem.n + 1) * sizeof *result->bound_buffers);
    if (!result->bound_buffers) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_plan_bound(&result->problem, &result->bound, result->bound_buffers, &result->bound_count);
    if (status == TLA_EXHAUSTED) {
        result->bound = UINT64_MAX;
        status = TLA_OK;
    }
    result->proved = result->bound;
    if (result->bound == UINT64_MAX || (request->capacity && result->bound > request->capacity))
        result->verdict = PLAN_IMPOSSIBLE;
    return status;
}

/* The methods */

static tla_status place(const plan_request *request, plan_result *result, tla_error *error) {
    tla_plan_method method = request->method;
    tla_status status;
    if (request->best || request->exact) {
        status = tla_plan_best(&result->problem, result->offsets, &result->height, &method, result->heights);
    } else {
        status = tla_plan_place(method, &result->problem, result->offsets, &result->height);
        if (!status) result->heights[method] = result->height;
    }
    if (status == TLA_UNSUPPORTED)
        return tla_error_set(error, status, "--method %s does not support given offsets: use best or exact",
                             tla_plan_method_name(method));
    if (status == TLA_EXHAUSTED) return TLA_OK; /* they do not get by with 2^63 bytes: the search may */
    if (status) return status;
    result->planned = true;
    result->method = tla_plan_method_name(method);
    return TLA_OK;
}

/* Computes the height of a policy that serves the buffers one by one, without a limit of memory. */
static tla_status play_policy(const char *name, const alloc_trace *trace, uint64_t alignment, uint64_t *height,
                              tla_error *error) {
    const allocator_config config = {.capacity = UINT64_C(1) << 62, .alignment = alignment};
    trace_allocator made;
    replay_result played = {0};
    tla_error ignored;
    *height = UINT64_MAX;
    if (allocator_create(name, &config, &made, &ignored)) return TLA_OK;
    tla_status status = trace_replay(trace, &made, NULL, &played, error);
    if (!status && played.failed == 0) *height = played.reserved_bytes;
    replay_result_clear(&played);
    allocator_destroy(&made);
    return status;
}

static tla_status play_policies(const lifetime_list *list, plan_result *result, tla_error *error) {
    alloc_trace trace;
    uint64_t alignment = 1;
    for (size_t i = 0; i < list->count; i++) {
        if (list->fixed[i] != TLA_PLAN_ANYWHERE) return TLA_OK; /* no policy supports fixed offsets */
        if (list->alignments[i] > alignment) alignment = list->alignments[i];
    }
    tla_status status = lifetimes_to_trace(list, &trace, error);
    for (int i = 0; i < PLAN_DYNAMIC_POLICIES && !status; i++)
        status = play_policy(dynamic_policies[i], &trace, alignment, &result->dynamic[i], error);
    trace_unload(&trace);
    return status;
}

/* The search */

typedef struct clock_limit {
    double begin, seconds;
    progress_line progress;
} clock_limit;

static bool is_over(void *context) {
    clock_limit *limit = context;
    const double spent = host_seconds() - limit->begin;
    progress_update(&limit->progress, (uint64_t)(1e3 * spent), (uint64_t)(1e3 * limit->seconds));
    return spent >= limit->seconds;
}

static bool is_reached(const plan_request *request, const plan_result *result) {
    return result->planned && (!request->capacity || result->height <= request->capacity);
}

static uint64_t height_of(const tla_plan_problem *problem, const uint64_t *offsets) {
    uint64_t height = 0;
    for (size_t i = 0; i < problem->n; i++)
        if (offsets[i] + problem->tensors[i].nbytes > height) height = offsets[i] + problem->tensors[i].nbytes;
    return height;
}

static tla_status search_capacity(const plan_request *request, const tla_plan_limits *limits, plan_result *result) {
    uint64_t nodes;
    tla_status status = tla_plan_exact(&result->problem, request->capacity, limits, result->offsets, &nodes);
    result->nodes += nodes;
    if (status == TLA_EXHAUSTED) result->verdict = PLAN_IMPOSSIBLE;
    if (status == TLA_OK) {
        result->planned = true;
        result->height = height_of(&result->problem, result->offsets);
        result->method = "exact";
    }
    return status == TLA_EXHAUSTED || status == TLA_LIMIT ? TLA_OK : status;
}

static tla_status search_lowest(const tla_plan_limits *limits, plan_result *result) {
    tla_plan_range range;
    tla_status status = tla_plan_minimize(&result->problem, limits, result->offsets, &range);
    if (status && status != TLA_LIMIT) return status;
    result->nodes += range.nodes;
    result->proved = range.bound;
    if (range.height < result->height) result->method = "exact";
    result->height = range.height;
    return TLA_OK;
}

static tla_status search(const plan_request *request, plan_result *result) {
    clock_limit limit = {host_seconds(), request->limit_s, progress_begin("plan", "ms of the time limit")};
    const tla_plan_limits limits = {0, is_over, &limit};
    tla_status status = TLA_OK;
    if (request->capacity && !is_reached(request, result)) status = search_capacity(request, &limits, result);
    if (!status && request->minimize && is_reached(request, result)) status = search_lowest(&limits, result);
    progress_end(&limit.progress);
    return status;
}

static tla_status find(const plan_request *request, const lifetime_list *list, plan_result *result, tla_error *error) {
    tla_status status = find_bound(request, result);
    if (!status) status = find_clash(result);
    if (status || result->verdict == PLAN_IMPOSSIBLE) return status;
    status = place(request, result, error);
    if (!status) status = play_policies(list, result, error);
    if (!status && request->exact && request->limit_s > 0) status = search(request, result);
    if (status || !result->planned) return status;
    status = tla_plan_check_problem(&result->problem, result->offsets, result->height, NULL, NULL);
    if (!status && is_reached(request, result)) result->verdict = PLAN_FOUND;
    return status;
}

tla_status plan_find(const plan_request *request, const lifetime_list *list, plan_result *result, tla_error *error) {
    *result = (plan_result){.problem = lifetimes_problem(list), .verdict = PLAN_NOT_FOUND};
    for (int m = 0; m < TLA_PLAN_METHOD_COUNT; m++)
        result->heights[m] = UINT64_MAX;
    for (int i = 0; i < PLAN_DYNAMIC_POLICIES; i++)
        result->dynamic[i] = UINT64_MAX;
    const double begin = host_seconds();
    result->offsets = malloc((list->count + 1) * sizeof *result->offsets);
    error->text[0] = 0;
    tla_status status = result->offsets ? find(request, list, result, error) : TLA_NO_HOST_MEMORY;
    result->wall_s = host_seconds() - begin;
    if (status == TLA_NO_HOST_MEMORY) return no_memory(error);
    return status && !error->text[0] ? tla_error_set(error, status, "cannot plan: %s", tla_status_text(status))
                                     : status;
}
