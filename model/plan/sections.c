/* One sweep over time. At every end that follows a start, what lives is a section: a set at any other moment is
 * contained in one of these. */
#include "sections.h"

#include "problem.h"

#include <stdlib.h>
#include <string.h>

typedef struct edge {
    uint64_t time, nbytes;
    size_t span;
    bool begins;
} edge;

/* At equal times what ends goes before what begins. */
static int by_time(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (int)x->begins - (int)y->begins;
}

static uint64_t rounded(const plan_sections *sections, uint64_t nbytes) {
    return (nbytes + sections->granule - 1) & ~(sections->granule - 1);
}

/* The spans of all tensors as edges, two for each. */
static size_t list_edges(const tla_plan_problem *problem, plan_sections *sections, edge *edges) {
    size_t count = 0, gap = 0;
    for (size_t i = 0; i < problem->n; i++) {
        const uint64_t nbytes = rounded(sections, problem->tensors[i].nbytes), upper = problem->tensors[i].upper;
        uint64_t lower = problem->tensors[i].lower;
        sections->first_span[i] = count;
        for (;;) {
            bool more = gap < problem->gap_count && problem->gaps[gap].tensor == i;
            uint64_t end = more ? problem->gaps[gap].lower : upper;
            if (lower < end) {
                edges[2 * count] = (edge){lower, nbytes, count, true};
                edges[2 * count + 1] = (edge){end, nbytes, count, false};
                count++;
            }
            if (!more) break;
            lower = problem->gaps[gap++].upper;
        }
    }
    sections->first_span[problem->n] = count;
    return count;
}

static tla_status sweep(plan_sections *sections, const edge *edges, size_t count) {
    uint64_t load = 0;
    bool started = false;
    for (size_t i = 0; i < count; i++) {
        const edge *e = &edges[i];
        plan_span *span = &sections->spans[e->span];
        if (e->begins) {
            if (e->nbytes > TLA_PLAN_HEIGHT_MAX - load) return TLA_EXHAUSTED;
            load += e->nbytes;
            span->from = sections->count;
            started = true;
            continue;
        }
        if (started) sections->loads[sections->count++] = load;
        started = false;
        load -= e->nbytes;
        span->to = sections->count;
    }
    return TLA_OK;
}

typedef struct slack {
    uint64_t nbytes;
    size_t tensor;
} slack;

static int by_slack(const void *a, const void *b) {
    const slack *x = a, *y = b;
    return (x->nbytes < y->nbytes) - (x->nbytes > y->nbytes);
}

/* The first section from `at` on that has no slack yet; next[] leads past those that have. */
static uint32_t find_next(uint32_t *next, uint32_t at) {
    uint32_t found = at;
    while (next[found] != found)
        found = next[found];
    while (next[at] != found) {
        uint32_t after = next[at];
        next[at] = found;
        at = after;
    }
    return found;
}

/* Subtracts the rounding that the top tensor of a section does not need: at most the largest rounding of its tensors.
 * */
static tla_status take_slack_off(const tla_plan_problem *problem, plan_sections *sections, uint64_t *bounds) {
    slack *order = malloc((problem->n + 1) * sizeof *order);
    uint32_t *next = malloc((sections->count + (size_t)1) * sizeof *next);
    if (order && next) {
        for (uint32_t s = 0; s <= sections->count; s++)
            next[s] = s;
        for (size_t i = 0; i < problem->n; i++)
            order[i] = (slack){rounded(sections, problem->tensors[i].nbytes) - problem->tensors[i].nbytes, i};
        qsort(order, problem->n, sizeof *order, by_slack);
        for (size_t i = 0; i < problem->n; i++)
            for (size_t k = sections->first_span[order[i].tensor]; k < sections->first_span[order[i].tensor + 1]; k++)
                for (uint32_t s = find_next(next, sections->spans[k].from); s < sections->spans[k].to;
                     s = find_next(next, s)) {
                    bounds[s] -= order[i].nbytes;
                    next[s] = s + 1;
                }
    }
    tla_status status = order && next ? TLA_OK : TLA_NO_HOST_MEMORY;
    free(order);
    free(next);
    return status;
}

static tla_status find_bound(const tla_plan_problem *problem, plan_sections *sections) {
    uint64_t *bounds = malloc((sections->count + (size_t)1) * sizeof *bounds);
    if (!bounds) return TLA_NO_HOST_MEMORY;
    memcpy(bounds, sections->loads, sections->count * sizeof *bounds);
    tla_status status = sections->granule > 1 ? take_slack_off(problem, sections, bounds) : TLA_OK;
    sections->bound = 0;
    sections->bound_section = PLAN_NO_SECTION;
    for (size_t i = 0; i < problem->n && !status; i++)
        if (plan_is_fixed(problem, i) && problem->fixed[i] + problem->tensors[i].nbytes > sections->bound)
            sections->bound = problem->fixed[i] + problem->tensors[i].nbytes;
    for (uint32_t s = 0; s < sections->count && !status; s++)
        if (bounds[s] > sections->bound) {
            sections->bound = bounds[s];
            sections->bound_section = s;
        }
    free(bounds);
    return status;
}

static uint64_t least_alignment(const tla_plan_problem *problem) {
    uint64_t least = problem->n ? TLA_PLAN_HEIGHT_MAX : 1;
    for (size_t i = 0; i < problem->n; i++)
        if (plan_alignment(problem, i) < least) least = plan_alignment(problem, i);
    return least;
}

tla_status plan_sections_create(const tla_plan_problem *problem, plan_sections *sections) {
    *sections = (plan_sections){.granule = 1};
    tla_status status = plan_problem_check(problem);
    if (status) return status;
    size_t room = problem->n + problem->gap_count;
    edge *edges = malloc((2 * room + 1) * sizeof *edges);
    sections->granule = least_alignment(problem);
    sections->first_span = malloc((problem->n + 1) * sizeof *sections->first_span);
    sections->spans = malloc((room + 1) * sizeof *sections->spans);
    sections->loads = malloc((room + 1) * sizeof *sections->loads);
    status = edges && sections->first_span && sections->spans && sections->loads ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (!status) {
        size_t count = 2 * list_edges(problem, sections, edges);
        qsort(edges, count, sizeof *edges, by_time);
        status = sweep(sections, edges, count);
    }
    free(edges);
    if (!status) status = find_bound(problem, sections);
    if (status) plan_sections_clear(sections);
    return status;
}

void plan_sections_clear(plan_sections *sections) {
    free(sections->first_span);
    free(sections->spans);
    free(sections->loads);
    *sections = (plan_sections){.granule = 1};
}
