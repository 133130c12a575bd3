/* The lowest place first: the first descent of the exact search, for any number of tensors.
 *
 * The placed tensors form a skyline over the sections. A run of it is as long as it is level. The lowest run takes the
 * preferred tensor among those that lie within the run; without such a tensor, it fills up to its lower neighbour.
 * Every tensor is placed once and every run fills up once, and each costs a few logarithms and a search. */
#include "plan_methods.h"
#include "problem.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

/* A run begins at the section that is its index. */
typedef struct run {
    uint64_t level;
    uint32_t to, before; /* the first section after it; where the run before it begins, NOBODY for the first one */
    bool live;
} run;

/* Runs by level; those that have changed since are left behind in the heap. */
typedef struct entry {
    uint64_t level;
    uint32_t from, to;
} entry;

/* Tensors in the order of their first sections are the leaves of a tree. A node knows of those below it that are not
 * placed the least end and the best rank. */
typedef struct node {
    uint32_t to, rank;
} node;

typedef struct skyline {
    const tla_plan_problem *problem;
    const plan_sections *sections;
    run *runs;
    entry *heap;
    size_t heap_count;
    node *tree; /* from 1 on; the leaves from `leaves` on */
    size_t leaves;
    uint32_t *first_leaf;       /* of each section, and of the end: the first leaf that begins there or later */
    uint32_t *leaf_of, *ranked; /* of each tensor; the tensor of each rank */
} skyline;

/* The heap. A run is entered when it is made or raised: three times a placement at most, once a filling. */

static bool is_lower(const entry *a, const entry *b) {
    return a->level != b->level ? a->level < b->level : a->from < b->from;
}

static void push(skyline *sky, uint32_t from) {
    entry made = {sky->runs[from].level, from, sky->runs[from].to};
    size_t at = sky->heap_count++;
    for (; at > 0 && is_lower(&made, &sky->heap[(at - 1) / 2]); at = (at - 1) / 2)
        sky->heap[at] = sky->heap[(at - 1) / 2];
    sky->heap[at] = made;
}

static entry pop(skyline *sky) {
    entry least = sky->heap[0], moved = sky->heap[--sky->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < sky->heap_count; at = child) {
        if (child + 1 < sky->heap_count && is_lower(&sky->heap[child + 1], &sky->heap[child])) child++;
        if (!is_lower(&sky->heap[child], &moved)) break;
        sky->heap[at] = sky->heap[child];
    }
    sky->heap[at] = moved;
    return least;
}

/* The tree */

/* Whether it changes. */
static bool update(skyline *sky, size_t at) {
    const node *left = &sky->tree[2 * at], *right = left + 1, before = sky->tree[at];
    const node after = {left->to < right->to ? left->to : right->to,
                        left->rank < right->rank ? left->rank : right->rank};
    sky->tree[at] = after;
    return after.to != before.to || after.rank != before.rank;
}

static void take_out(skyline *sky, uint32_t tensor) {
    size_t at = sky->leaves + sky->leaf_of[tensor];
    sky->tree[at] = (node){NOBODY, NOBODY};
    for (at /= 2; at > 0 && update(sky, at); at /= 2) {
    }
}

static bool may_help(const skyline *sky, size_t at, uint32_t to, uint32_t best) {
    return sky->tree[at].to <= to && sky->tree[at].rank < best;
}

/* The best rank below a node that ends at `to` at the latest, if it is better than `best`. */
static uint32_t find_below(const skyline *sky, size_t at, uint32_t to, uint32_t best) {
    while (may_help(sky, at, to, best)) {
        if (at >= sky->leaves) return sky->tree[at].rank;
        const size_t first = sky->tree[2 * at].rank <= sky->tree[2 * at + 1].rank ? 2 * at : 2 * at + 1;
        if (may_help(sky, first, to, best)) best = find_below(sky, first, to, best);
        at = first ^ 1;
    }
    return best;
}

/* The preferred tensor that lies within the sections; NOBODY. */
static uint32_t find_within(const skyline *sky, uint32_t from, uint32_t to) {
    uint32_t best = NOBODY;
    size_t left = sky->leaves + sky->first_leaf[from], right = sky->leaves + sky->first_leaf[to];
    for (; left < right; left /= 2, right /= 2) {
        if (left & 1) best = find_below(sky, left++, to, best);
        if (right & 1) best = find_below(sky, --right, to, best);
    }
    return best == NOBODY ? NOBODY : sky->ranked[best];
}

/* The skyline */

static void set_run(skyline *sky, uint32_t from, uint32_t to, uint32_t before, uint64_t level) {
    sky->runs[from] = (run){level, to, before, true};
    if (to < sky->sections->count) sky->runs[to].before = from;
}

/* Joins a run with neighbours of its level; where it begins then. */
static uint32_t join(skyline *sky, uint32_t from) {
    const uint32_t before = sky->runs[from].before, after = sky->runs[from].to;
    if (after < sky->sections->count && sky->runs[after].level == sky->runs[from].level) {
        sky->runs[after].live = false;
        set_run(sky, from, sky->runs[after].to, before, sky->runs[from].level);
    }
    if (before != NOBODY && sky->runs[before].level == sky->runs[from].level) {
        sky->runs[from].live = false;
        set_run(sky, before, sky->runs[from].to, sky->runs[before].before, sky->runs[before].level);
        from = before;
    }
    return from;
}

/* False where there is no neighbour: everything has been placed. */
static bool fill_up(skyline *sky, uint32_t from) {
    run *low = &sky->runs[from];
    uint64_t level = UINT64_MAX;
    if (low->before != NOBODY) level = sky->runs[low->before].level;
    if (low->to < sky->sections->count && sky->runs[low->to].level < level) level = sky->runs[low->to].level;
    if (level == UINT64_MAX) return false;
    low->level = level;
    push(sky, join(sky, from));
    return true;
}

/* The tensor lies on the run, which is cut at its ends. */
static tla_status put(skyline *sky, uint32_t from, uint32_t tensor, uint64_t *offset) {
    const run under = sky->runs[from];
    const plan_span span = plan_hull_of(sky->sections, tensor);
    const uint64_t alignment = plan_alignment(sky->problem, tensor), nbytes = sky->problem->tensors[tensor].nbytes;
    if (under.level > TLA_PLAN_HEIGHT_MAX - (alignment - 1)) return TLA_EXHAUSTED;
    *offset = (under.level + alignment - 1) & ~(alignment - 1);
    if (*offset > TLA_PLAN_HEIGHT_MAX - nbytes) return TLA_EXHAUSTED;
    if (from < span.from) set_run(sky, from, span.from, under.before, under.level);
    if (span.to < under.to) set_run(sky, span.to, under.to, span.from, under.level);
    set_run(sky, span.from, span.to, from < span.from ? from : under.before, *offset + nbytes);
    if (span.to == under.to && under.to < sky->sections->count) sky->runs[under.to].before = span.from;
    if (from < span.from) push(sky, from);
    if (span.to < under.to) push(sky, span.to);
    push(sky, join(sky, span.from));
    return TLA_OK;
}

static tla_status place_all(skyline *sky, uint64_t *offsets) {
    set_run(sky, 0, sky->sections->count, NOBODY, 0);
    push(sky, 0);
    for (;;) {
        entry least = pop(sky);
        const run *found = &sky->runs[least.from];
        if (!found->live || found->level != least.level || found->to != least.to) continue;
        uint32_t tensor = find_within(sky, least.from, least.to);
        if (tensor == NOBODY) {
            if (!fill_up(sky, least.from)) return TLA_OK;
            continue;
        }
        take_out(sky, tensor);
        tla_status status = put(sky, least.from, tensor, &offsets[tensor]);
        if (status) return status;
    }
}

/* Preference: the fullest section, the duration, the size; the first of equals. */

typedef struct preference {
    uint64_t total, duration, nbytes;
    uint32_t tensor, from;
} preference;

static int by_preference(const void *a, const void *b) {
    const preference *x = a, *y = b;
    if (x->total != y->total) return x->total > y->total ? -1 : 1;
    if (x->duration != y->duration) return x->duration > y->duration ? -1 : 1;
    if (x->nbytes != y->nbytes) return x->nbytes > y->nbytes ? -1 : 1;
    return x->tensor < y->tensor ? -1 : 1;
}

static int by_beginning(const void *a, const void *b) {
    const preference *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->tensor < y->tensor ? -1 : 1;
}

/* The most bytes in a section of each tensor, from a tree of maxima. */
static tla_status find_totals(const plan_sections *sections, preference *order, size_t n) {
    const size_t count = sections->count;
    uint64_t *tree = malloc((2 * count + 1) * sizeof *tree);
    if (!tree) return TLA_NO_HOST_MEMORY;
    for (size_t s = 0; s < count; s++)
        tree[count + s] = sections->loads[s];
    for (size_t at = count; at-- > 1;)
        tree[at] = tree[2 * at] > tree[2 * at + 1] ? tree[2 * at] : tree[2 * at + 1];
    for (size_t i = 0; i < n; i++) {
        const plan_span span = plan_hull_of(sections, i);
        uint64_t most = 0;
        for (size_t left = count + span.from, right = count + span.to; left < right; left /= 2, right /= 2) {
            if (left & 1 && tree[left++] > most) most = tree[left - 1];
            if (right & 1 && tree[--right] > most) most = tree[right];
        }
        order[i].total = most;
    }
    free(tree);
    return TLA_OK;
}

static void plant(skyline *sky, preference *order) {
    const size_t n = sky->problem->n;
    qsort(order, n, sizeof *order, by_preference);
    for (uint32_t rank = 0; rank < n; rank++) {
        sky->ranked[rank] = order[rank].tensor;
        sky->leaf_of[order[rank].tensor] = rank; /* until the leaves are known */
    }
    qsort(order, n, sizeof *order, by_beginning);
    uint32_t section = 0;
    for (uint32_t leaf = 0; leaf < n; leaf++) {
        const uint32_t tensor = order[leaf].tensor;
        while (section <= order[leaf].from)
            sky->first_leaf[section++] = leaf;
        sky->tree[sky->leaves + leaf] = (node){plan_hull_of(sky->sections, tensor).to, sky->leaf_of[tensor]};
        sky->leaf_of[tensor] = leaf;
    }
    while (section <= sky->sections->count)
        sky->first_leaf[section++] = (uint32_t)n;
    for (size_t leaf = n; leaf < sky->leaves; leaf++)
        sky->tree[sky->leaves + leaf] = (node){NOBODY, NOBODY};
    for (size_t at = sky->leaves; at-- > 1;)
        update(sky, at);
}

static tla_status rank(skyline *sky) {
    const size_t n = sky->problem->n;
    preference *order = malloc((n + 1) * sizeof *order);
    if (!order) return TLA_NO_HOST_MEMORY;
    for (uint32_t i = 0; i < n; i++) {
        const tla_lifetime *tensor = &sky->problem->tensors[i];
        order[i] =
            (preference){0, tensor->upper - tensor->lower, tensor->nbytes, i, plan_hull_of(sky->sections, i).from};
    }
    tla_status status = find_totals(sky->sections, order, n);
    if (!status) plant(sky, order);
    free(order);
    return status;
}

static tla_status allocate(skyline *sky) {
    const size_t n = sky->problem->n, count = sky->sections->count;
    for (sky->leaves = 1; sky->leaves < n + 1; sky->leaves *= 2) {
    }
    sky->runs = calloc(count + 1, sizeof *sky->runs);
    sky->heap = malloc((3 * n + count + 2) * sizeof *sky->heap);
    sky->tree = malloc(2 * sky->leaves * sizeof *sky->tree);
    sky->first_leaf = malloc((count + 1) * sizeof *sky->first_leaf);
    sky->leaf_of = malloc((n + 1) * sizeof *sky->leaf_of);
    sky->ranked = malloc((n + 1) * sizeof *sky->ranked);
    return sky->runs && sky->heap && sky->tree && sky->first_leaf && sky->leaf_of && sky->ranked ? TLA_OK
                                                                                                 : TLA_NO_HOST_MEMORY;
}

tla_status plan_lowest_first(const tla_plan_problem *problem, const plan_sections *sections, uint64_t *offsets) {
    skyline sky = {.problem = problem, .sections = sections};
    if (problem->n == 0) return TLA_OK;
    tla_status status = allocate(&sky);
    if (!status) status = rank(&sky);
    if (!status) status = place_all(&sky, offsets);
    free(sky.runs);
    free(sky.heap);
    free(sky.tree);
    free(sky.first_leaf);
    free(sky.leaf_of);
    free(sky.ranked);
    return status;
}
