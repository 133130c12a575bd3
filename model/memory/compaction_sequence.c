/* The exact search over sequences of moves, in which a block may move more than once: A* over the places of all blocks.
 *
 * The estimate of a state is the fewest bytes of movable blocks in any place of the hole: each of these blocks still
 * moves at least once. A move changes it by at most the bytes of its block, so that the first visit of a state is the
 * cheapest, and so is the first state that has the hole.
 *
 * Places: push the blocks of a plan down, at every time, until each lies on the heap's begin, on a block that does not
 * move, on another block, or on the hole. Every offset is then a sum of sizes above such a place. The search tries all
 * multiples of the greatest common divisor of these numbers. */
#include "compaction_search.h"

#include "base/grow.h"
#include "base/numbers.h"
#include "cache/live_addresses.h"

#include <stdlib.h>

typedef struct state {
    uint64_t cost;         /* bytes moved so far */
    uint64_t to;           /* where the last move has led its block */
    size_t block;          /* that it has moved */
    uint32_t parent, twin; /* NONE: the beginning; another state with this hash */
} state;

static const uint32_t NONE = UINT32_MAX;

typedef struct search {
    const tla_compaction_problem *problem;
    tla_compaction_plan *plan;
    uint64_t bound, unit;
    state *states;
    size_t state_count, state_room;
    tla_live_addresses seen; /* the last state of each hash, as a pointer that is its number + 1 */
    tla_candidates open;     /* value: a state */
    /* of the state that is looked at */
    uint64_t *offsets, *others; /* of each block; others: of a state that it is compared with */
    size_t *order;              /* blocks, by offset */
} search;

/* ---- states ---- */

static uint64_t hash_of(size_t block, uint64_t offset) { /* splitmix64's */
    uint64_t h = offset + (block + 1) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

static uint64_t hash(const search *s, const uint64_t *offsets) {
    uint64_t sum = 0;
    for (size_t i = 0; i < s->problem->count; i++)
        sum += hash_of(i, offsets[i]);
    return sum;
}

/* The places of all blocks in a state: the last move of each. */
static void find_offsets(const search *s, uint32_t number, uint64_t *offsets) {
    for (size_t i = 0; i < s->problem->count; i++)
        offsets[i] = UINT64_MAX;
    for (; number != NONE; number = s->states[number].parent) {
        const state *of = &s->states[number];
        if (of->parent != NONE && offsets[of->block] == UINT64_MAX) offsets[of->block] = of->to;
    }
    for (size_t i = 0; i < s->problem->count; i++)
        if (offsets[i] == UINT64_MAX) offsets[i] = s->problem->blocks[i].at.offset;
}

static void sort(search *s) {
    for (size_t i = 1; i < s->problem->count; i++) {
        const size_t block = s->order[i];
        size_t at = i;
        for (; at > 0 && s->offsets[s->order[at - 1]] > s->offsets[block]; at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = block;
    }
}

/* The free bytes in front of the block that is at place i in the order. */
static uint64_t gap_begin(const search *s, size_t i) {
    const tla_compaction_problem *p = s->problem;
    return i > 0 ? s->offsets[s->order[i - 1]] + p->blocks[s->order[i - 1]].at.nbytes : p->heap.offset;
}
static uint64_t gap_end(const search *s, size_t i) {
    const tla_compaction_problem *p = s->problem;
    return i < p->count ? s->offsets[s->order[i]] : tla_compaction_end(p->heap);
}

/* The bytes of the blocks that lie in a place of the hole, from number i in the order on; UINT64_MAX: one never moves.
 */
static uint64_t bytes_in(const search *s, size_t i, uint64_t at) {
    const tla_compaction_problem *p = s->problem;
    uint64_t nbytes = 0;
    for (; i < p->count && s->offsets[s->order[i]] < at + p->hole; i++) {
        const tla_compaction_block *block = &p->blocks[s->order[i]];
        if (s->offsets[s->order[i]] + block->at.nbytes <= at) continue;
        if (!block->movable) return UINT64_MAX;
        nbytes += block->at.nbytes;
    }
    return nbytes;
}

/* The estimate, and the place of the hole. No other place is better than one of those that begin after a block. */
static uint64_t estimate(const search *s, uint64_t *hole) {
    const tla_compaction_problem *p = s->problem;
    uint64_t least = UINT64_MAX, at;
    for (size_t i = 0; i <= p->count; i++) {
        if (!tla_compaction_fits(gap_begin(s, i), tla_compaction_end(p->heap), p->hole,
                                 tla_compaction_hole_alignment(p), &at))
            break;
        const uint64_t nbytes = bytes_in(s, i, at);
        if (nbytes >= least) continue;
        least = nbytes;
        *hole = at;
    }
    return least;
}

/* Whether a state is known that is no more expensive. */
static bool is_known(search *s, uint64_t key, uint64_t cost) {
    const void *first = tla_live_addresses_get(&s->seen, key);
    for (uint32_t i = first ? (uint32_t)((uintptr_t)first - 1) : NONE; i != NONE; i = s->states[i].twin) {
        if (s->states[i].cost > cost) continue;
        find_offsets(s, i, s->others);
        bool same = true;
        for (size_t block = 0; block < s->problem->count && same; block++)
            same = s->offsets[block] == s->others[block];
        if (same) return true;
    }
    return false;
}

/* Adds the state that `offsets` and the order describe, if it is new and a cheaper plan may pass through it. */
static tla_status add(search *s, state added) {
    uint64_t hole;
    const uint64_t left = estimate(s, &hole), key = hash(s, s->offsets);
    if (left >= s->bound || added.cost >= s->bound - left || is_known(s, key, added.cost)) return TLA_OK;
    if (s->state_count >= NONE - 1) return TLA_LIMIT;
    tla_status status = tla_live_addresses_reserve(&s->seen);
    if (status) return status;
    if (!tla_grow(&s->states, &s->state_room, s->state_count + 1, sizeof *s->states)) return TLA_NO_HOST_MEMORY;
    const uint64_t number = s->state_count;
    status = tla_candidates_push(&s->open, (tla_candidate){added.cost + left, UINT64_MAX - added.cost, number});
    if (status) return status;
    const void *first = tla_live_addresses_remove(&s->seen, key);
    added.twin = first ? (uint32_t)((uintptr_t)first - 1) : NONE;
    s->states[s->state_count++] = added;
    tla_live_addresses_put(&s->seen, key, (void *)(uintptr_t)s->state_count);
    return TLA_OK;
}

/* ---- moves ---- */

/* All places of a block in one gap. */
static tla_status move_into(search *s, uint32_t from, size_t block, uint64_t begin, uint64_t end) {
    const tla_compaction_problem *p = s->problem;
    const uint64_t nbytes = p->blocks[block].at.nbytes, before = s->offsets[block];
    const uint64_t step = later(s->unit, tla_compaction_alignment(p, nbytes));
    tla_status status = TLA_OK;
    uint64_t at = (begin + step - 1) / step * step;
    for (; at <= end && end - at >= nbytes && !status; at += step) {
        if (!tla_compaction_try(p, s->plan)) return TLA_LIMIT;
        s->offsets[block] = at;
        sort(s);
        status = add(s, (state){.cost = s->states[from].cost + nbytes, .to = at, .block = block, .parent = from});
        s->offsets[block] = before;
        sort(s);
    }
    return status;
}

static tla_status expand(search *s, uint32_t from) {
    const tla_compaction_problem *p = s->problem;
    tla_status status = TLA_OK;
    for (size_t block = 0; block < p->count && !status; block++)
        for (size_t i = 0; i <= p->count && p->blocks[block].movable && !status; i++)
            status = move_into(s, from, block, gap_begin(s, i), gap_end(s, i));
    return status;
}

/* The moves that lead to a state. */
static tla_status tell(search *s, uint32_t number, uint64_t hole) {
    tla_compaction_drop(s->plan);
    s->plan->hole = (tla_block){hole, s->problem->hole};
    for (uint32_t i = number; s->states[i].parent != NONE; i = s->states[i].parent)
        if (tla_compaction_add(s->problem, s->plan, s->states[i].block, s->states[i].to)) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < s->plan->count / 2; i++) {
        const tla_compaction_move last = s->plan->moves[s->plan->count - 1 - i];
        s->plan->moves[s->plan->count - 1 - i] = s->plan->moves[i];
        s->plan->moves[i] = last;
    }
    return TLA_OK;
}

static tla_status find(search *s) {
    tla_candidate next;
    uint64_t hole = 0;
    find_offsets(s, NONE, s->offsets);
    tla_status status = add(s, (state){.parent = NONE});
    while (!status && tla_candidates_pop(&s->open, &next)) {
        find_offsets(s, (uint32_t)next.value, s->offsets);
        sort(s);
        if (estimate(s, &hole) == 0) return tell(s, (uint32_t)next.value, hole);
        status = expand(s, (uint32_t)next.value);
    }
    return status ? status : TLA_FRAGMENTED;
}

static uint64_t find_unit(const tla_compaction_problem *p) {
    uint64_t unit = common_divisor(p->hole, tla_compaction_round_up(p->heap.offset, p->alignment));
    if (p->hole_alignment > p->alignment) unit = common_divisor(unit, p->hole_alignment);
    for (size_t i = 0; i < p->count; i++) {
        const tla_block *at = &p->blocks[i].at;
        unit = common_divisor(unit, tla_compaction_round_up(tla_compaction_end(*at), p->alignment));
        if (p->blocks[i].movable) unit = common_divisor(unit, at->nbytes);
    }
    return unit;
}

tla_status tla_compaction_find_sequence(const tla_compaction_problem *p, uint64_t bound, tla_compaction_plan *plan) {
    search s = {.problem = p, .plan = plan, .bound = bound, .unit = find_unit(p)};
    tla_status status = TLA_NO_HOST_MEMORY;
    s.offsets = malloc((p->count + 1) * sizeof *s.offsets);
    s.others = malloc((p->count + 1) * sizeof *s.others);
    s.order = malloc((p->count + 1) * sizeof *s.order);
    if (s.offsets && s.others && s.order) {
        for (size_t i = 0; i < p->count; i++)
            s.order[i] = i;
        status = find(&s);
    }
    free(s.offsets);
    free(s.others);
    free(s.order);
    free(s.states);
    free(s.open.heap);
    tla_live_addresses_clear(&s.seen);
    return status;
}
