/* The interface of a placement policy to arena.c: the choice of free blocks for requests, and the storage of free
 * blocks.
 *
 * arena.c checks arguments, rounds sizes, counts used bytes, validates, and cuts batches up; a placement sees only
 * valid sizes (multiples of the alignment, 1 .. 2^63) and ranges inside the arena. Every call that fails leaves the
 * placement as it was. `work` is never NULL here. */
#ifndef TLMALLOC_PLACEMENT_H
#define TLMALLOC_PLACEMENT_H

#include "tlmalloc/arena/arena.h"

enum { TLA_RANGE_BLOCKS = 2 * 64 }; /* no range is more free blocks than this (buddies) */

/* An engine with a node for each region, free or live, and blocks that begin where a free region begins: it releases
 * blocks as they were allocated, takes no given range, and aligns blocks by its units alone. */
typedef struct tla_region_nodes {
    /* The alignment that the arena has: that of the configuration or above. */
    uint64_t (*unit)(uint64_t alignment, uint64_t capacity);

    /* Sets the number of nodes (0 = as many as needed) and the number of live regions. TLA_LIMIT when more nodes are in
     * use. */
    tla_status (*limit)(void *state, uint64_t nodes, uint64_t live);
    uint64_t (*live)(const void *state); /* live regions */

    /* Whether n requests of nbytes (as granted) fail for want of nodes. */
    bool (*lacks_node)(const void *state, uint64_t nbytes, uint64_t n);

    uint64_t (*largest_bin)(const void *state); /* bytes that the highest bin with a region proves to be in one piece */
} tla_region_nodes;

typedef struct tla_placement {
    /* Makes a placement without a free block. TLA_NO_HOST_MEMORY; *state is untouched then. */
    tla_status (*create)(const tla_arena_config *config, void **state);
    void (*destroy)(void *state);

    /* The size that a request of nbytes is given; NULL when that is nbytes. granted(granted(n)) = granted(n); 0 when it
     * cannot be served at all. */
    uint64_t (*granted)(const void *state, uint64_t nbytes);

    /* Takes nbytes (as granted) at a multiple of alignment (a power of two; with `regions` that of the arena).
     * TLA_FRAGMENTED when nothing fits (arena.c knows whether it is exhaustion), TLA_LIMIT without a node,
     * TLA_NO_HOST_MEMORY. Adds nodes_visited, splits, list_length. */
    tla_status (*alloc)(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work);

    /* Adds what an alloc of nbytes (as granted, no alignment) adds that finds nothing. */
    void (*search_in_vain)(const void *state, uint64_t nbytes, tla_work *work);

    /* The size from which on a free block surely serves a request of nbytes (as granted); NULL when that is nbytes. */
    uint64_t (*sufficient)(const void *state, uint64_t nbytes);

    /* Takes exactly this range. TLA_OVERLAP when a byte of it is not free, TLA_UNSUPPORTED, TLA_NO_HOST_MEMORY. Adds
     * nodes_visited (nodes up to the block that holds it), splits, list_length. NULL with `regions`. */
    tla_status (*reserve)(void *state, tla_block range, tla_work *work);

    /* Gives back a range and joins it with its neighbours. TLA_NOT_ALLOCATED when a byte of it is free already,
     * TLA_NO_HOST_MEMORY. Adds insert_nodes, probes, merges, list_length. */
    tla_status (*free)(void *state, tla_block range, tla_work *work);

    /* Takes over a range that was never allocated (the whole arena, a growth, the free blocks of a snapshot in the
     * order of `saved`); joined with neighbours where the policy joins. Work as free. TLA_LIMIT without a node;
     * TLA_NO_HOST_MEMORY, but not after make_room for TLA_RANGE_BLOCKS. */
    tla_status (*add)(void *state, tla_block range, tla_work *work);

    /* Returns the result of a free, apart from host memory: TLA_OK or TLA_NOT_ALLOCATED. */
    tla_status (*may_free)(const void *state, tla_block range);

    /* How many requests of nbytes (as granted) could be served one after the other; counting may stop at limit. */
    uint64_t (*fits)(const void *state, uint64_t nbytes, uint64_t limit);

    /* Takes n blocks in one walk, after `fits` has confirmed so many; NULL = one alloc for each item. */
    void (*carve)(void *state, uint64_t nbytes, size_t n, tla_block *blocks, tla_work *work);

    /* Makes sure that n calls of free in a row need no host memory. TLA_NO_HOST_MEMORY; nothing has changed then. */
    tla_status (*make_room)(void *state, size_t n);

    /* The same for n calls of alloc with one size and no alignment above the arena's own; NULL when they never do. */
    tla_status (*make_alloc_room)(void *state, size_t n);

    uint64_t (*largest)(const void *state); /* bytes of the largest free block; 0 without free blocks */
    uint64_t (*count)(const void *state);   /* number of free blocks */

    /* Up to max free blocks in offset order, from the first that starts at or above `from`; returns how many. */
    size_t (*copy)(const void *state, uint64_t from, tla_block *blocks, size_t max);

    /* Copies all free blocks (`count` in number) in an order from which `add` rebuilds the same state; NULL = offset
     * order. */
    void (*saved)(const void *state, tla_block *blocks);

    /* Where the next search begins, and setting it; NULL when a search always begins in the same place. */
    uint64_t (*cursor)(const void *state);
    void (*set_cursor)(void *state, uint64_t offset);

    bool whole_blocks; /* free must receive the blocks as they were allocated (buddies): runs are not joined first */
    const tla_region_nodes *regions; /* NULL: the engine has nodes for free blocks only */
} tla_placement;

#define TLA_PLACEMENT(value, name) extern const tla_placement tla_##name;
TLA_POLICIES(TLA_PLACEMENT)
#undef TLA_PLACEMENT

#endif
