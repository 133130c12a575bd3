/* One sweep over time with the live tensors, by offset. As long as none overlap, only neighbours can. */
#include "problem.h"
#include "rank_set.h"

#include <stdlib.h>

typedef struct edge {
    uint64_t time;
    size_t tensor;
    bool begins;
} edge;

typedef struct place {
    uint64_t offset;
    size_t tensor;
} place;

/* At equal times what ends goes before what begins; then the order of the tensors. */
static int by_time(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->begins != y->begins) return (int)x->begins - (int)y->begins;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

static int by_offset(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

typedef struct sweep {
    const tla_plan_problem *problem;
    const uint64_t *offsets;
    edge *edges;
    size_t edge_count;
    place *places;
    size_t *ranks; /* of each tensor, by offset */
    rank_set live;
} sweep;

static void add_edges(sweep *s, size_t tensor, uint64_t lower, uint64_t upper) {
    if (lower >= upper) return;
    s->edges[s->edge_count++] = (edge){lower, tensor, true};
    s->edges[s->edge_count++] = (edge){upper, tensor, false};
}

static void prepare(sweep *s) {
    const tla_plan_problem *problem = s->problem;
    for (size_t i = 0, gap = 0; i < problem->n; i++) {
        uint64_t lower = problem->tensors[i].lower;
        for (; gap < problem->gap_count && problem->gaps[gap].tensor == i; gap++) {
            add_edges(s, i, lower, problem->gaps[gap].lower);
            lower = problem->gaps[gap].upper;
        }
        add_edges(s, i, lower, problem->tensors[i].upper);
        s->places[i] = (place){s->offsets[i], i};
    }
    qsort(s->edges, s->edge_count, sizeof *s->edges, by_time);
    qsort(s->places, problem->n, sizeof *s->places, by_offset);
    for (size_t rank = 0; rank < problem->n; rank++)
        s->ranks[s->places[rank].tensor] = rank;
}

static bool meet(const sweep *s, size_t low, size_t high) {
    if (low == RANK_NONE || high == RANK_NONE) return false;
    const place *below = &s->places[low], *above = &s->places[high];
    return above->offset - below->offset < s->problem->tensors[below->tensor].nbytes;
}

static tla_status find_overlap(sweep *s, size_t *first, size_t *second) {
    for (size_t i = 0; i < s->edge_count; i++) {
        const size_t tensor = s->edges[i].tensor, rank = s->ranks[tensor];
        if (!s->edges[i].begins) {
            rank_set_remove(&s->live, rank);
            continue;
        }
        const size_t below = rank_set_below(&s->live, rank), above = rank_set_above(&s->live, rank);
        if (meet(s, below, rank) || meet(s, rank, above)) {
            const size_t other = s->places[meet(s, below, rank) ? below : above].tensor;
            if (first) *first = other < tensor ? other : tensor;
            if (second) *second = other < tensor ? tensor : other;
            return TLA_OVERLAP;
        }
        rank_set_insert(&s->live, rank);
    }
    return TLA_OK;
}

static tla_status check_overlaps(const tla_plan_problem *problem, const uint64_t *offsets, size_t *first,
                                 size_t *second) {
    const size_t n = problem->n;
    sweep s = {.problem = problem, .offsets = offsets};
    s.edges = malloc((2 * (n + problem->gap_count) + 1) * sizeof *s.edges);
    s.places = malloc((n + 1) * sizeof *s.places);
    s.ranks = malloc((n + 1) * sizeof *s.ranks);
    tla_status status = TLA_NO_HOST_MEMORY;
    if (s.edges && s.places && s.ranks && rank_set_create(&s.live, n)) {
        prepare(&s);
        status = find_overlap(&s, first, second);
    }
    free(s.edges);
    free(s.places);
    free(s.ranks);
    rank_set_clear(&s.live);
    return status;
}

tla_status tla_plan_check(const tla_lifetime *tensors, const uint64_t *offsets, size_t n, size_t *first,
                          size_t *second) {
    const tla_plan_problem problem = {.tensors = tensors, .n = n};
    return check_overlaps(&problem, offsets, first, second);
}

tla_status tla_plan_check_problem(const tla_plan_problem *problem, const uint64_t *offsets, uint64_t capacity,
                                  size_t *first, size_t *second) {
    tla_status status = plan_problem_check(problem);
    for (size_t i = 0; i < problem->n && !status; i++) {
        const uint64_t nbytes = problem->tensors[i].nbytes;
        if (nbytes > capacity || offsets[i] > capacity - nbytes)
            status = TLA_OUT_OF_RANGE;
        else if (offsets[i] % plan_alignment(problem, i) != 0 ||
                 (plan_is_fixed(problem, i) && offsets[i] != problem->fixed[i]))
            status = TLA_INVALID_ARGUMENT;
        if (status && first) *first = i;
        if (status && second) *second = i;
    }
    return status ? status : check_overlaps(problem, offsets, first, second);
}
