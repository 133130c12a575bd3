/* Planners that try few places: the cheapest window, and sliding. */
#include "compaction_search.h"

#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

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
    const size_t last = tla_compaction_find_run(p, first, &nbytes, &at);
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
