/* Common code of the planners of compaction (compaction_plan.h). Internal. */
#ifndef TLMALLOC_MEMORY_COMPACTION_SEARCH_H
#define TLMALLOC_MEMORY_COMPACTION_SEARCH_H

#include "base/numbers.h"
#include "compaction_plan.h"

static inline uint64_t tla_compaction_round_up(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) & ~(alignment - 1);
}

/* The alignment of a block of so many bytes, and of the hole. */
static inline uint64_t tla_compaction_alignment(const tla_compaction_problem *p, uint64_t nbytes) {
    return p->buddies ? nbytes : p->alignment;
}
static inline uint64_t tla_compaction_hole_alignment(const tla_compaction_problem *p) {
    return later(tla_compaction_alignment(p, p->hole), p->hole_alignment);
}

/* Whether [begin, end) has room for so many bytes, and the lowest place. */
static inline bool tla_compaction_fits(uint64_t begin, uint64_t end, uint64_t nbytes, uint64_t alignment,
                                       uint64_t *at) {
    *at = tla_compaction_round_up(begin, alignment);
    return *at <= end && end - *at >= nbytes;
}

/* The size of the largest buddy at `begin` that ends at `end` at most; begin < end. */
static inline uint64_t tla_compaction_largest_buddy(uint64_t begin, uint64_t end) {
    const uint64_t aligned = begin & (0 - begin); /* 0: everything is, at 0 */
    const uint64_t nbytes = (uint64_t)1 << (63 - (unsigned)__builtin_clzll(end - begin));
    return aligned > 0 ? smaller(nbytes, aligned) : nbytes;
}

static inline uint64_t tla_compaction_end(tla_block range) {
    return range.offset + range.nbytes;
}

static inline bool tla_compaction_overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
}

/* The end of the free bytes in front of block i of `blocks`; of the last free bytes where i is the count. */
static inline uint64_t tla_compaction_gap_end(const tla_compaction_problem *p, size_t i) {
    return i < p->count ? p->blocks[i].at.offset : tla_compaction_end(p->heap);
}
static inline uint64_t tla_compaction_gap_begin(const tla_compaction_problem *p, size_t i) {
    return i > 0 ? tla_compaction_end(p->blocks[i - 1].at) : p->heap.offset;
}

/* Counts a try. False: the search has reached its limit. */
static inline bool tla_compaction_try(const tla_compaction_problem *p, tla_compaction_plan *plan) {
    if (p->nodes > 0 && plan->tried >= p->nodes) return false;
    plan->tried++;
    return true;
}

/* Appends a move. TLA_NO_HOST_MEMORY. */
tla_status tla_compaction_add(const tla_compaction_problem *p, tla_compaction_plan *plan, size_t block, uint64_t to);

/* Forgets the moves. */
static inline void tla_compaction_drop(tla_compaction_plan *plan) {
    plan->count = 0;
    plan->nbytes = 0;
}

/* The exact search over plans in which blocks may move more than once: it finds a plan of less than `bound` bytes with
 * the fewest bytes, and then replaces the plan. TLA_FRAGMENTED: no such plan exists; TLA_LIMIT, TLA_NO_HOST_MEMORY: the
 * plan stays as it was. */
tla_status tla_compaction_find_sequence(const tla_compaction_problem *problem, uint64_t bound,
                                        tla_compaction_plan *plan);

/* --- Candidates, the cheapest first --- */

typedef struct tla_candidate {
    uint64_t cost, tie; /* the least cost first, then the least tie, then the least value */
    uint64_t value;
} tla_candidate;

typedef struct tla_candidates {
    tla_candidate *heap;
    size_t count, room;
} tla_candidates;

/* TLA_NO_HOST_MEMORY. */
tla_status tla_candidates_push(tla_candidates *candidates, tla_candidate candidate);

/* False: there are no more. */
bool tla_candidates_pop(tla_candidates *candidates, tla_candidate *candidate);

/* The last block of the shortest run from block `first` on whose place has room for the hole; the count: none. */
size_t tla_compaction_find_run(const tla_compaction_problem *p, size_t first, uint64_t *nbytes, uint64_t *at);

/* Adds the shortest runs of movable neighbours whose place, with the free bytes around it, has room for the hole. cost:
 * their bytes; tie: the last block; value: the first one. TLA_NO_HOST_MEMORY. */
tla_status tla_compaction_list_runs(const tla_compaction_problem *p, tla_candidates *runs);

#endif
