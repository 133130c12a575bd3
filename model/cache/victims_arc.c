/* ARC: two lists of keys, two of ghosts, and a target in fixed point. */
#include "victim_lists.h"

#include "tlmalloc/base/work.h"

static uint64_t tracked(const tla_victims *v) {
    return v->lists[TLA_ARC_T1].count + v->lists[TLA_ARC_T2].count;
}

/* Returns the step of the target for a ghost of one list: by the ghosts of the other list for each of its own. */
static uint64_t step(uint64_t own, uint64_t other, tla_work *work) {
    if (other <= own) return UINT64_C(1) << TLA_ARC_FRACTION_BITS;
    const uint64_t dividend = other << TLA_ARC_FRACTION_BITS;
    for (uint64_t rest = dividend; work && rest > 0; rest >>= 1)
        work->probes++;
    return dividend / own;
}

static void forget_oldest(tla_victims *v, int list, tla_work *work) {
    tla_victim_forget(v, v->lists[list].oldest);
    if (work) work->metadata_lines++;
}

static void trim(tla_victims *v, tla_work *work) {
    const tla_victim_list *lists = v->lists;
    while (lists[TLA_ARC_T1].count + lists[TLA_ARC_B1].count > v->capacity && lists[TLA_ARC_B1].count > 0)
        forget_oldest(v, TLA_ARC_B1, work);
    while (tracked(v) + lists[TLA_ARC_B1].count + lists[TLA_ARC_B2].count > 2 * v->capacity)
        forget_oldest(v, lists[TLA_ARC_B2].count > 0 ? TLA_ARC_B2 : TLA_ARC_B1, work);
}

void tla_arc_return(tla_victims *v, tla_victim *victim, tla_work *work) {
    tla_victim_list *lists = v->lists;
    const uint64_t b1 = lists[TLA_ARC_B1].count, b2 = lists[TLA_ARC_B2].count;
    const uint64_t most = v->capacity << TLA_ARC_FRACTION_BITS;
    if (victim->list == &lists[TLA_ARC_B1]) {
        v->target += step(b1, b2, work);
        if (v->target > most) v->target = most;
    } else if (victim->list == &lists[TLA_ARC_B2]) {
        const uint64_t less = step(b2, b1, work);
        v->target = v->target > less ? v->target - less : 0;
    }
    victim->chosen = false;
    tla_victim_move(victim, &lists[TLA_ARC_T2]);
}

void tla_arc_settle(tla_victims *v, tla_work *work) {
    if (tracked(v) > v->capacity) v->capacity = tracked(v);
    trim(v, work);
}

void tla_arc_remove(tla_victims *v, tla_victim *victim, tla_work *work) {
    tla_victim_list *lists = v->lists;
    if (victim->chosen && victim->list == &lists[TLA_ARC_T1])
        tla_victim_move(victim, &lists[TLA_ARC_B1]);
    else if (victim->chosen && victim->list == &lists[TLA_ARC_T2])
        tla_victim_move(victim, &lists[TLA_ARC_B2]);
    else
        tla_victim_forget(v, victim);
    trim(v, work);
}

size_t tla_arc_choose(tla_victims *v, size_t count, tla_victim_walk once, uint64_t *keys) {
    tla_victim_walk again = once;
    size_t found = 0;
    uint64_t left = v->lists[TLA_ARC_T1].count;
    once.at = v->lists[TLA_ARC_T1].oldest;
    again.at = v->lists[TLA_ARC_T2].oldest;
    for (; found < count; found++) {
        if (left >= v->target >> TLA_ARC_FRACTION_BITS && tla_victim_walk_find(&once)) {
            keys[found] = tla_victim_walk_take(&once);
            left--;
        } else if (tla_victim_walk_find(&again)) {
            keys[found] = tla_victim_walk_take(&again);
        } else if (tla_victim_walk_find(&once)) {
            keys[found] = tla_victim_walk_take(&once);
            left--;
        } else {
            break;
        }
    }
    return found;
}
