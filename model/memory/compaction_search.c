/* Common code of the planners of compaction. */
#include "compaction_search.h"

#include "base/grow.h"

tla_status tla_compaction_add(const tla_compaction_problem *p, tla_compaction_plan *plan, size_t block, uint64_t to) {
    if (!tla_grow(&plan->moves, &plan->room, plan->count + 1, sizeof *plan->moves)) return TLA_NO_HOST_MEMORY;
    plan->moves[plan->count++] = (tla_compaction_move){block, to};
    plan->nbytes += p->blocks[block].at.nbytes;
    return TLA_OK;
}

/* ---- runs ---- */

size_t tla_compaction_find_run(const tla_compaction_problem *p, size_t first, uint64_t *nbytes, uint64_t *at) {
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
        const size_t last = tla_compaction_find_run(p, i, &nbytes, &at);
        if (last < p->count) status = tla_candidates_push(runs, (tla_candidate){nbytes, last, i});
    }
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
