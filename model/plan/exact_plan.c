/* Several orders of preference take turns in the search for a plan, and heights are bisected. */
#include "tlmalloc/plan/plan.h"

#include "exact_search.h"

#include <stdlib.h>
#include <string.h>

/* Nodes between two questions whether to stop; nodes of an order's turn, a tensor; nodes a tensor that the first round
 * of a bisection gives to each height, and how much longer the next one is. */
enum { NODES_PER_QUESTION = 256, TURN = 2, FIRST_ROUND = 64, ROUND_FACTOR = 4 };

typedef struct budget {
    tla_plan_limits limits;
    uint64_t used;
    bool spent;
} budget;

/* One search for at most `nodes` more. TLA_LIMIT with b->spent: all is over. */
static tla_status take_turn(plan_search *search, uint64_t nodes, budget *b) {
    tla_status status = TLA_LIMIT;
    while (status == TLA_LIMIT && nodes > 0) {
        uint64_t most = nodes < NODES_PER_QUESTION ? nodes : NODES_PER_QUESTION, placed;
        if (b->limits.nodes && b->limits.nodes - b->used < most) most = b->limits.nodes - b->used;
        if (most == 0 || (b->limits.stop && b->limits.stop(b->limits.context))) {
            b->spent = true;
            return TLA_LIMIT;
        }
        status = plan_search_run(search, most, &placed);
        b->used += placed;
        nodes -= placed < nodes ? placed : nodes;
    }
    return status;
}

/* The orders in turn, all turns of the same length; the first that ends decides. `nodes`: of all orders together; 0: as
 * many as it takes. */
static tla_status search_below(const plan_model *model, uint64_t capacity, uint64_t nodes, budget *b,
                               uint64_t *offsets) {
    plan_search *searches[PLAN_PREORDER_COUNT] = {NULL};
    tla_status status = TLA_OK;
    for (int p = 0; p < PLAN_PREORDER_COUNT && !status; p++)
        status = plan_search_create(model, (plan_preorder)p, capacity, &searches[p]);
    const uint64_t turn = TURN * (uint64_t)model->n + 1, from = b->used;
    if (!status) status = TLA_LIMIT;
    while (status == TLA_LIMIT && !b->spent && (nodes == 0 || b->used - from < nodes))
        for (int p = 0; p < PLAN_PREORDER_COUNT && status == TLA_LIMIT && !b->spent; p++) {
            status = take_turn(searches[p], turn, b);
            if (!status) plan_search_offsets(searches[p], offsets);
        }
    for (int p = 0; p < PLAN_PREORDER_COUNT; p++)
        plan_search_destroy(searches[p]);
    return status;
}

static budget budget_of(const tla_plan_limits *limits) {
    return (budget){.limits = limits ? *limits : (tla_plan_limits){0}};
}

tla_status tla_plan_exact(const tla_plan_problem *problem, uint64_t capacity, const tla_plan_limits *limits,
                          uint64_t *offsets, uint64_t *nodes) {
    if (nodes) *nodes = 0;
    plan_sections sections;
    plan_model model = {0};
    budget b = budget_of(limits);
    tla_status status = plan_sections_create(problem, &sections);
    if (status) return status;
    if (capacity > TLA_PLAN_HEIGHT_MAX) capacity = TLA_PLAN_HEIGHT_MAX;
    if (capacity < sections.bound) status = TLA_EXHAUSTED;
    if (!status) status = plan_model_create(problem, &sections, &model);
    if (!status) status = search_below(&model, capacity, 0, &b, offsets);
    if (nodes) *nodes = b.used;
    plan_model_clear(&model);
    plan_sections_clear(&sections);
    return status;
}

/* The next height at which anything changes: there one tensor may lie a unit higher. */
static uint64_t next_height(const plan_model *model, uint64_t height) {
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < model->n; i++) {
        const uint64_t above = height - (height - model->nbytes[i]) % model->unit + model->unit;
        if (above < next) next = above;
    }
    return next;
}

static uint64_t height_of(const tla_plan_problem *problem, const uint64_t *offsets) {
    uint64_t height = 0;
    for (size_t i = 0; i < problem->n; i++)
        if (offsets[i] + problem->tensors[i].nbytes > height) height = offsets[i] + problem->tensors[i].nbytes;
    return height;
}

/* The state of the bisection of heights. */
typedef struct bisection {
    const tla_plan_problem *problem;
    const plan_model *model;
    uint64_t *best, *other; /* plans: the lowest one, and room for another */
    tla_plan_range range;
} bisection;

/* A round between the bound and the lowest plan, with so many nodes for each height. A height that they do not decide
 * counts as impossible in this round, and is proved by none. The bound comes first: most problems have a plan there,
 * and where sections are full the search is narrow, so that it ends sooner than at the heights above. */
static tla_status bisect(bisection *known, uint64_t nodes, budget *b) {
    uint64_t from = known->range.bound;
    for (bool first = true; from < known->range.height && !b->spent; first = false) {
        const uint64_t middle = first ? from : from + (known->range.height - 1 - from) / 2;
        tla_status status = search_below(known->model, middle, nodes, b, known->other);
        if (status == TLA_OK) {
            uint64_t *lower = known->other;
            known->other = known->best;
            known->best = lower;
            known->range.height = height_of(known->problem, lower);
            continue;
        }
        if (status == TLA_NO_HOST_MEMORY) return status;
        from = next_height(known->model, middle);
        if (from > known->range.height) from = known->range.height;
        if (status == TLA_EXHAUSTED) known->range.bound = from;
    }
    return TLA_OK;
}

static tla_status minimize(bisection *known, budget *b) {
    uint64_t nodes = FIRST_ROUND * (uint64_t)known->model->n;
    while (known->range.bound < known->range.height && !b->spent) {
        tla_status status = bisect(known, nodes, b);
        if (status) return status;
        if (nodes < UINT64_MAX / ROUND_FACTOR) nodes *= ROUND_FACTOR;
    }
    known->range.nodes = b->used;
    return known->range.bound < known->range.height ? TLA_LIMIT : TLA_OK;
}

tla_status tla_plan_minimize(const tla_plan_problem *problem, const tla_plan_limits *limits, uint64_t *offsets,
                             tla_plan_range *range) {
    tla_status status = tla_plan_check_problem(problem, offsets, TLA_PLAN_HEIGHT_MAX, NULL, NULL);
    if (status) return status == TLA_NO_HOST_MEMORY ? status : TLA_INVALID_ARGUMENT;
    plan_sections sections;
    plan_model model = {0};
    budget b = budget_of(limits);
    status = plan_sections_create(problem, &sections);
    if (status) return status;
    bisection known = {.problem = problem, .model = &model, .range = {sections.bound, height_of(problem, offsets), 0}};
    uint64_t *const first = malloc((problem->n + 1) * sizeof *first), *const second =
                                                                          malloc((problem->n + 1) * sizeof *second);
    known.best = first;
    known.other = second;
    status = first && second ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (!status) memcpy(known.best, offsets, problem->n * sizeof *offsets);
    if (!status && known.range.bound < known.range.height) {
        status = plan_model_create(problem, &sections, &model);
        if (!status) status = minimize(&known, &b);
    }
    if (status != TLA_NO_HOST_MEMORY) {
        memcpy(offsets, known.best, problem->n * sizeof *offsets);
        *range = known.range;
    }
    free(first);
    free(second);
    plan_model_clear(&model);
    plan_sections_clear(&sections);
    return status;
}
