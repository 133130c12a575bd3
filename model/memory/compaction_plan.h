/* Compaction of a heap: which blocks move where, so that a hole of a wanted size appears. Internal to model/memory.
 *
 * Moves are made one after the other. A move copies a block to bytes that are free when it begins: free from the
 * beginning, or left by an earlier move, and disjoint from the block itself, because the block's two places exist side
 * by side until all mappings lead to the new place (controller.h). A block may move more than once. Plans are compared
 * by the sum of the bytes that they copy.
 *
 * A planner decides only; it has no clock and draws no random numbers. The same problem has the same plan. */
#ifndef TLMALLOC_MEMORY_COMPACTION_PLAN_H
#define TLMALLOC_MEMORY_COMPACTION_PLAN_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_COMPACTION_EXACT_MAX = 64 }; /* blocks that can move, for an exact search */

typedef struct tla_compaction_block {
    tla_block at;
    bool movable;
} tla_compaction_block;

typedef struct tla_compaction_problem {
    tla_block heap;
    const tla_compaction_block *blocks; /* ascending and disjoint, inside the heap; all other bytes are free */
    size_t count;
    uint64_t alignment;      /* a power of two. Offsets and sizes of movable blocks, and `hole`, are multiples of it */
    bool buddies;            /* movable blocks and the hole are powers of two, and lie at multiples of their size */
    uint64_t hole;           /* bytes, at least 1 */
    uint64_t hole_alignment; /* a power of two, 0: as the blocks */
    uint64_t nodes;          /* limit of a search: sets of blocks and places that it tries. 0: no limit */
} tla_compaction_problem;

typedef struct tla_compaction_move {
    size_t block; /* index */
    uint64_t to;
} tla_compaction_move;

/* All zero is an empty plan. */
typedef struct tla_compaction_plan {
    tla_compaction_move *moves; /* in their order */
    size_t count, room;
    tla_block hole;
    uint64_t nbytes; /* that the moves copy */
    bool optimal;    /* no plan copies fewer bytes */
    uint64_t tried;  /* receipt: sets of blocks and places that the search has tried; after an error, too */
} tla_compaction_plan;

/* A method. `find` is called with a valid problem of which no free bytes hold the hole, and with an empty plan. It
 * returns the statuses of tla_compaction_find. */
typedef struct tla_compaction_planner {
    const char *name;
    tla_status (*find)(const tla_compaction_problem *problem, tla_compaction_plan *plan);
} tla_compaction_planner;

/* exact: the fewest bytes, for at most TLA_COMPACTION_EXACT_MAX blocks that can move. In a larger heap only the blocks
 *        of the cheapest runs (see window) move, as many as that, and *optimal is false. If the search reaches its
 *        limit, the plan is that of window, else that of slide, and *optimal is false, too. The limit is for a heap of
 *        TLA_COMPACTION_EXACT_MAX blocks; n times as many blocks have the n-th part of it, because a try takes n times
 *        as long.
 * window: the run of neighbours with the fewest bytes whose place, with the free bytes around it, becomes the hole. Its
 *        blocks move to other free bytes, the largest block first, each into the smallest gap. If they do not fit
 * there, the next run is tried. O(runs * blocks of a run * gaps). slide: every block, in the order of offsets, moves to
 * the lowest gap in front of it, again and again, until the hole exists. O(moves * blocks). */
extern const tla_compaction_planner tla_compaction_exact, tla_compaction_window, tla_compaction_slide;

/* Returns the planner of this name; NULL: unknown. */
const tla_compaction_planner *tla_compaction_planner_named(const char *name);

/* Searches a plan; *plan is one of tla_compaction_clear, or all zero. A heap that has the hole gets a plan without
 * moves. Errors leave a plan without moves:
 *
 * - TLA_EXHAUSTED: fewer bytes are free than the hole has
 * - TLA_FRAGMENTED: no moves create the hole. Only `exact` proves that
 * - TLA_LIMIT: the planner has found no plan, but one may exist
 * - TLA_INVALID_ARGUMENT for a problem out of range, TLA_NO_HOST_MEMORY */
tla_status tla_compaction_find(const tla_compaction_planner *planner, const tla_compaction_problem *problem,
                               tla_compaction_plan *plan);

/* Releases the memory of a plan, which is all zero then. */
void tla_compaction_clear(tla_compaction_plan *plan);

#ifdef __cplusplus
}
#endif
#endif
