/* Greedy in an order of preference, each tensor into a gap between those that are placed: OpSizeOrderAssign,
 * TFLite Micro's GreedyMemoryPlanner, XNNPACK's planner, and orders by area, lifetime and conflicts. They differ in
 * the order, in the order of equals, and in the gap. O(n^2). */
#include "plan_methods.h"
#include "problem.h"

#include <stdlib.h>
#include <string.h>

typedef struct ordered {
    double key; /* descending */
    uint64_t nbytes;
    size_t index;
} ordered;

static int earlier_first(const void *a, const void *b) {
    const ordered *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    if (x->nbytes != y->nbytes) return x->nbytes > y->nbytes ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* TPU-MLIR compares with >= in std::list::sort, which with libstdc++ turns equals around. */
static int later_first(const void *a, const void *b) {
    const ordered *x = a, *y = b;
    if (x->key != y->key || x->nbytes != y->nbytes) return earlier_first(a, b);
    return x->index > y->index ? -1 : 1;
}

typedef struct greedy {
    const tla_plan_problem *problem;
    const plan_sections *sections;
    bool first_gap;    /* the lowest gap that is large enough, else the smallest */
    bool skips_bottom; /* no tensor goes below the first one that lives together with it */
    size_t *placed;    /* in the order of their offsets */
    size_t count;
    uint64_t *offsets;
} greedy;

static bool live_together(const plan_sections *sections, size_t a, size_t b) {
    const plan_span *x = sections->spans + sections->first_span[a],
                    *x_end = sections->spans + sections->first_span[a + 1];
    const plan_span *y = sections->spans + sections->first_span[b],
                    *y_end = sections->spans + sections->first_span[b + 1];
    while (x < x_end && y < y_end) {
        if (x->from < y->to && y->from < x->to) return true;
        if (x->to <= y->to)
            x++;
        else
            y++;
    }
    return false;
}

/* Where the tensor goes among those that are placed. */
static uint64_t find_gap(const greedy *g, size_t tensor) {
    const uint64_t nbytes = g->problem->tensors[tensor].nbytes, mask = plan_alignment(g->problem, tensor) - 1;
    uint64_t end = 0, best = UINT64_MAX, smallest = UINT64_MAX;
    bool is_gap = !g->skips_bottom;
    for (size_t i = 0; i < g->count; i++) {
        const size_t other = g->placed[i];
        const uint64_t start = g->offsets[other], at = (end + mask) & ~mask;
        if (!live_together(g->sections, tensor, other)) continue;
        if (is_gap && start >= at && start - at >= nbytes && start - end < smallest) {
            smallest = start - end;
            best = at;
            if (g->first_gap) break;
        }
        is_gap = true;
        if (start + g->problem->tensors[other].nbytes > end) end = start + g->problem->tensors[other].nbytes;
    }
    return best == UINT64_MAX ? (end + mask) & ~mask : best;
}

/* TPU-MLIR puts a tensor before others at the same offset, TFLite Micro behind them. */
static void put(greedy *g, size_t tensor, uint64_t offset) {
    size_t low = 0, high = g->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint64_t other = g->offsets[g->placed[middle]];
        if (other < offset || (g->first_gap && other == offset))
            low = middle + 1;
        else
            high = middle;
    }
    memmove(g->placed + low + 1, g->placed + low, (g->count++ - low) * sizeof *g->placed);
    g->placed[low] = tensor;
    g->offsets[tensor] = offset;
}

static tla_status place_all(greedy *g, const ordered *order) {
    for (size_t i = 0; i < g->problem->n; i++)
        if (plan_is_fixed(g->problem, i)) put(g, i, g->problem->fixed[i]);
    for (size_t i = 0; i < g->problem->n; i++) {
        const size_t tensor = order[i].index;
        if (plan_is_fixed(g->problem, tensor)) continue;
        const uint64_t offset = find_gap(g, tensor);
        if (offset > TLA_PLAN_HEIGHT_MAX - order[i].nbytes) return TLA_EXHAUSTED;
        put(g, tensor, offset);
    }
    return TLA_OK;
}

/* How many tensors live in a section of each, gaps counted as life: those that have begun before its end less those
 * that have ended before its beginning. */
static tla_status count_conflicts(const plan_sections *sections, ordered *order, size_t n) {
    size_t *begun = calloc(sections->count + (size_t)2, sizeof *begun);
    size_t *ended = calloc(sections->count + (size_t)2, sizeof *ended);
    tla_status status = begun && ended ? TLA_OK : TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < n && !status; i++) {
        const plan_span hull = plan_hull_of(sections, i);
        begun[hull.from + 1]++;
        ended[hull.to]++;
    }
    for (uint32_t s = 1; s <= sections->count && !status; s++) {
        begun[s] += begun[s - 1];
        ended[s] += ended[s - 1];
    }
    for (size_t i = 0; i < n && !status; i++) {
        const plan_span hull = plan_hull_of(sections, i);
        order[i].key = (double)(begun[hull.to] - ended[hull.from]);
    }
    free(begun);
    free(ended);
    return status;
}

static tla_status find_keys(const greedy *g, tla_plan_method method, ordered *order) {
    for (size_t i = 0; i < g->problem->n; i++) {
        const tla_lifetime *tensor = &g->problem->tensors[i];
        const double duration = (double)(tensor->upper - tensor->lower);
        order[i] = (ordered){0, tensor->nbytes, i};
        if (method == TLA_PLAN_GREEDY_AREA) order[i].key = duration * (double)tensor->nbytes;
        if (method == TLA_PLAN_GREEDY_LIFETIME) order[i].key = duration;
    }
    return method == TLA_PLAN_GREEDY_CONFLICTS ? count_conflicts(g->sections, order, g->problem->n) : TLA_OK;
}

tla_status plan_greedy(const tla_plan_problem *problem, const plan_sections *sections, tla_plan_method method,
                       uint64_t *offsets) {
    const bool is_xnnpack = method == TLA_PLAN_XNNPACK || method == TLA_PLAN_XNNPACK_REPAIRED;
    const bool turns_equals = method == TLA_PLAN_SIZE_ORDER;
    greedy g = {.problem = problem,
                .sections = sections,
                .first_gap = !turns_equals && !is_xnnpack,
                .skips_bottom = method == TLA_PLAN_XNNPACK,
                .offsets = offsets};
    ordered *order = malloc((problem->n + 1) * sizeof *order);
    g.placed = malloc((problem->n + 1) * sizeof *g.placed);
    tla_status status = order && g.placed ? find_keys(&g, method, order) : TLA_NO_HOST_MEMORY;
    if (!status) {
        qsort(order, problem->n, sizeof *order, turns_equals ? later_first : earlier_first);
        status = place_all(&g, order);
    }
    free(order);
    free(g.placed);
    return status;
}
