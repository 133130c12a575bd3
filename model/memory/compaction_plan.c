/* Planners by name, and checks of a problem. */
#include "compaction_search.h"

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
