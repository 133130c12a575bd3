/* Planners by name, checks of a problem, and the two heuristics. */
#include "compaction_search.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

const tla_compaction_planner *tla_compaction_planner_named(const char *name) {
    static const tla_compaction_planner *const all[] = {&tla_compaction_exact, &tla_compaction_window,
                                                        &tla_compaction_slide};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

/* ---- problems ---- */

static bool is_good_size(const tla_compaction_problem *p, uint64_t nbytes) {
    return nbytes > 0 && nbytes % p->alignment == 0 && (!p->buddies || is_power_of_two(nbytes));
}

static bool is_good_block(const tla_compaction_problem *p, const tla_compaction_block *block) {
    return !block->movable ||
           (is_good_size(p, block->at.nbytes) && block->at.offset % tla_compaction_alignment(p, block->at.nbytes) == 0);
}

static bool is_good(const tla_compaction_problem *p) {
    const uint64_t limit = (uint64_t)1 << 63;
    if (p->heap.offset > limit || p->heap.nbytes > limit - p->heap.offset || !is_power_of_two(p->alignment) ||
        (p->hole_alignment > 0 && !is_power_of_two(p->hole_alignment)) || !is_good_size(p, p->hole))
        return false;
    uint64_t from = p->heap.offset;
    for (size_t i = 0; i < p->count; i++) {
        const tla_compaction_block *block = &p->blocks[i];
        const uint64_t end = tla_compaction_end(p->heap);
        if (block->at.nbytes == 0 || block->at.offset < from || block->at.offset > end ||
            block->at.nbytes > end - block->at.offset || !is_good_block(p, block))
            return false;
        from = tla_compaction_end(block->at);
    }
    return true;
}

static bool has_hole(const tla_compaction_problem *p, uint64_t *at) {
    for (size_t i = 0; i <= p->count; i++)
        if (tla_compaction_fits(tla_compaction_gap_begin(p, i), tla_compaction_gap_end(p, i), p->hole,
                                tla_compaction_hole_alignment(p), at))
            return true;
    return false;
}

static uint64_t count_free(const tla_compaction_problem *p) {
    uint64_t nbytes = p->heap.nbytes;
    for (size_t i = 0; i < p->count; i++)
        nbytes -= p->blocks[i].at.nbytes;
    return nbytes;
}

/* ---- plans ---- */

tla_status tla_compaction_add(const tla_compaction_problem *p, tla_compaction_plan *plan, size_t block, uint64_t to) {
    if (!tla_grow(&plan->moves, &plan->room, plan->count + 1, sizeof *plan->moves)) return TLA_NO_HOST_MEMORY;
    plan->moves[plan->count++] = (tla_compaction_move){block, to};
    plan->nbytes += p->blocks[block].at.nbytes;
    return TLA_OK;
}

void tla_compaction_clear(tla_compaction_plan *plan) {
    free(plan->moves);
    *plan = (tla_compaction_plan){0};
}

tla_status tla_compaction_find(const tla_compaction_planner *planner, const tla_compaction_problem *p,
                               tla_compaction_plan *plan) {
    uint64_t at = 0;
    tla_compaction_drop(plan);
    plan->optimal = false;
    plan->tried = 0;
    if (!is_good(p)) return TLA_INVALID_ARGUMENT;
    if (has_hole(p, &at)) {
        plan->hole = (tla_block){at, p->hole};
        plan->optimal = true;
        return TLA_OK;
    }
    if (count_free(p) < p->hole) return TLA_EXHAUSTED;
    const tla_status status = planner->find(p, plan);
    if (status) tla_compaction_drop(plan);
    return status;
}

/* ---- candidates ---- */

static bool is_before(const tla_candidate *a, const tla_candidate *b) {
    if (a->cost != b->cost) return a->cost < b->cost;
    if (a->tie != b->tie) return a->tie < b->tie;
    return a->value < b->value;
}

tla_status tla_candidates_push(tla_candidates *c, tla_candidate added) {
    if (!tla_grow(&c->heap, &c->room, c->count + 1, sizeof *c->heap)) return TLA_NO_HOST_MEMORY;
    size_t i = c->count++;
    for (; i > 0 && is_before(&added, &c->heap[(i - 1) / 2]); i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = added;
    return TLA_OK;
}

bool tla_candidates_pop(tla_candidates *c, tla_candidate *candidate) {
    if (c->count == 0) return false;
    *candidate = c->heap[0];
    const tla_candidate last = c->heap[--c->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < c->count; i = child) {
        child += child + 1 < c->count && is_before(&c->heap[child + 1], &c->heap[child]);
        if (!is_before(&c->heap[child], &last)) break;
        c->heap[i] = c->heap[child];
    }
    if (c->count > 0) c->heap[i] = last;
    return true;
}

/* ---- window ---- */

typedef struct window_search {
    const tla_compaction_problem *problem;
    tla_compaction_plan *plan;
    tla_candidates runs;
    tla_block *gaps; /* free bytes outside of the window */
    size_t gap_count, gap_room;
    tla_candidate *blocks; /* of the run, the largest first */
    size_t block_room;
    tla_block window;
} window_search;

/* The last block of the shortest run from block `first` on whose place has room for the hole; the count: none. */
static size_t find_run(const tla_compaction_problem *p, size_t first, uint64_t *nbytes, uint64_t *at) {
    *nbytes = 0;
    for (size_t i = first; i < p->count && p->blocks[i].movable; i++) {
        *nbytes += p->blocks[i].at.nbytes;
        if (tla_compaction_fits(tla_compaction_gap_begin(p, first), tla_compaction_gap_end(p, i + 1), p->hole,
                                tla_compaction_hole_alignment(p), at))
            return i;
    }
    return p->count;
}

tla_status tla_compaction_list_runs(const tla_compaction_problem *p, tla_candidates *runs) {
    tla_status status = TLA_OK;
    for (size_t i = 0; i < p->count && !status; i++) {
        uint64_t nbytes, at;
        const size_t last = find_run(p, i, &nbytes, &at);
        if (last < p->count) status = tla_candidates_push(runs, (tla_candidate){nbytes, last, i});
    }
    return status;
}

/* Adds free bytes that are not in the window; for buddies, in parts that are buddies. */
static tla_status add_gap(window_search *s, uint64_t begin, uint64_t end) {
    const tla_compaction_problem *p = s->problem;
    for (begin = tla_compaction_round_up(begin, p->alignment); begin < end;) {
        const uint64_t nbytes = p->buddies ? tla_compaction_largest_buddy(begin, end) : end - begin;
        if (!tla_grow(&s->gaps, &s->gap_room, s->gap_count + 1, sizeof *s->gaps)) return TLA_NO_HOST_MEMORY;
        s->gaps[s->gap_count++] = (tla_block){begin, nbytes};
        begin += nbytes;
    }
    return TLA_OK;
}

static tla_status find_gaps(window_search *s) {
    const tla_compaction_problem *p = s->problem;
    const uint64_t from = s->window.offset, to = tla_compaction_end(s->window);
    tla_status status = TLA_OK;
    s->gap_count = 0;
    for (size_t i = 0; i <= p->count && !status; i++) {
        const uint64_t begin = tla_compaction_gap_begin(p, i), end = tla_compaction_gap_end(p, i);
        status = add_gap(s, begin, smaller(end, from));
        if (!status) status = add_gap(s, later(begin, to), end);
    }
    return status;
}

/* Moves a block into the smallest gap. TLA_LIMIT: it fits nowhere. */
static tla_status move_away(window_search *s, size_t block) {
    const uint64_t nbytes = s->problem->blocks[block].at.nbytes;
    tla_block *best = NULL;
    for (tla_block *gap = s->gaps; gap < s->gaps + s->gap_count; gap++)
        if (gap->nbytes >= nbytes && (!best || gap->nbytes < best->nbytes)) best = gap;
    if (!best || !tla_compaction_try(s->problem, s->plan)) return TLA_LIMIT;
    const uint64_t to = best->offset;
    best->offset += nbytes;
    best->nbytes -= nbytes;
    return tla_compaction_add(s->problem, s->plan, block, to);
}

/* Moves the blocks of the run away that begins with this block. */
static tla_status clear_window(window_search *s, size_t first) {
    const tla_compaction_problem *p = s->problem;
    uint64_t nbytes, at = 0;
    const size_t last = find_run(p, first, &nbytes, &at);
    tla_candidates blocks = {s->blocks, 0, s->block_room};
    tla_candidate next;
    s->window = (tla_block){at, p->hole};
    tla_compaction_drop(s->plan);
    tla_status status = find_gaps(s);
    for (size_t i = first; i <= last && !status; i++)
        status = tla_candidates_push(&blocks, (tla_candidate){UINT64_MAX - p->blocks[i].at.nbytes, 0, i});
    while (!status && tla_candidates_pop(&blocks, &next))
        status = move_away(s, (size_t)next.value);
    s->blocks = blocks.heap;
    s->block_room = blocks.room;
    return status;
}

static tla_status find_window(const tla_compaction_problem *p, tla_compaction_plan *plan) {
    window_search s = {.problem = p, .plan = plan};
    tla_candidate run;
    tla_status status = tla_compaction_list_runs(p, &s.runs);
    if (!status) status = TLA_LIMIT;
    while (status == TLA_LIMIT && tla_candidates_pop(&s.runs, &run))
        status = clear_window(&s, (size_t)run.value);
    plan->hole = s.window;
    free(s.runs.heap);
    free(s.gaps);
    free(s.blocks);
    return status;
}

const tla_compaction_planner tla_compaction_window = {"window", find_window};

/* ---- slide ---- */

typedef struct resident {
    tla_block at;
    size_t block;
} resident;

/* Whether the free bytes in front of resident i hold so many bytes. */
static bool holds(const tla_compaction_problem *p, const resident *residents, size_t i, uint64_t nbytes,
                  uint64_t alignment, uint64_t *at) {
    return tla_compaction_fits(i > 0 ? tla_compaction_end(residents[i - 1].at) : p->heap.offset,
                               i < p->count ? residents[i].at.offset : tla_compaction_end(p->heap), nbytes, alignment,
                               at);
}

/* Moves resident i to the lowest gap in front of it; false: there is none. */
static bool slide_one(const tla_compaction_problem *p, resident *residents, size_t i, size_t *gap) {
    resident moved = residents[i];
    if (!p->blocks[moved.block].movable) return false;
    for (*gap = 0; *gap <= i; ++*gap)
        if (holds(p, residents, *gap, moved.at.nbytes, tla_compaction_alignment(p, moved.at.nbytes),
                  &moved.at.offset)) {
            memmove(residents + *gap + 1, residents + *gap, (i - *gap) * sizeof *residents);
            residents[*gap] = moved;
            return true;
        }
    return false;
}

/* One pass over the blocks; *moved: a block has moved. TLA_LIMIT: the hole does not exist yet. */
static tla_status slide_all(const tla_compaction_problem *p, tla_compaction_plan *plan, resident *residents,
                            bool *moved) {
    for (size_t i = 0; i < p->count; i++) {
        size_t gap;
        if (!slide_one(p, residents, i, &gap)) continue;
        if (!tla_compaction_try(p, plan)) {
            *moved = false;
            return TLA_LIMIT;
        }
        *moved = true;
        const tla_status status = tla_compaction_add(p, plan, residents[gap].block, residents[gap].at.offset);
        if (status) return status;
        plan->hole.nbytes = p->hole; /* it can only be where the block was */
        if (holds(p, residents, i + 1, p->hole, tla_compaction_hole_alignment(p), &plan->hole.offset)) return TLA_OK;
    }
    return TLA_LIMIT;
}

static tla_status find_slide(const tla_compaction_problem *p, tla_compaction_plan *plan) {
    resident *residents = malloc((p->count + 1) * sizeof *residents);
    if (!residents) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < p->count; i++)
        residents[i] = (resident){p->blocks[i].at, i};
    tla_status status = TLA_LIMIT;
    for (bool moved = true; moved && status == TLA_LIMIT;) {
        moved = false;
        status = slide_all(p, plan, residents, &moved);
    }
    free(residents);
    return status;
}

const tla_compaction_planner tla_compaction_slide = {"slide", find_slide};
