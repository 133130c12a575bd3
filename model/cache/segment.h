/* Segments cut into blocks, and the free ones among them in order of size.
 *
 * What the caches of PyTorch and rmm have in common: blocks that know their neighbours inside a segment, best fit in
 * the order (stream, size, address), splitting and merging that never cross a segment. A segment may be a range of
 * addresses of which some have no memory: those are blocks too, and join only one another. Internal to model/pool. */
#ifndef TLMALLOC_CACHE_SEGMENT_H
#define TLMALLOC_CACHE_SEGMENT_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* An expandable segment. */
typedef struct tla_segment_range {
    uint64_t address, nbytes, granule;
    struct tla_segment_range *next, *previous;
} tla_segment_range;

typedef struct tla_segment_block {
    uint64_t address, nbytes;
    uint64_t stream;
    uint64_t requested;                        /* of a live block: what its owner asked for */
    uint64_t uses;                             /* of a live block: other streams that use it */
    uint64_t age_base;                         /* of a free block: count of searches when it became free */
    struct tla_segment_block *previous, *next; /* neighbours in the segment */
    struct tla_segment_block *left,
        *right;        /* in the tree of free blocks; of a freed live block, in the list of freed blocks */
    uint64_t priority; /* in the tree */
    struct tla_segment_owner *owner;  /* the pool of the segment; NULL with a single pool */
    tla_segment_range *range;         /* the expandable segment that it is a part of; NULL: a plain one */
    struct tla_segment_block *queued; /* the next one to be unmapped */
    bool live, small;
    bool freed;    /* of a live block: its owner has freed it, others still use it */
    bool unmapped; /* addresses without memory */
} tla_segment_block;

/* Nothing but this block is in its plain segment. */
static inline bool tla_segment_block_is_whole(const tla_segment_block *block) {
    return !block->previous && !block->next && !block->range;
}

/* A treap whose priorities are a hash of the address, so that its shape depends on its contents alone. Logarithmic
 * depth is expected; all zero is empty. */
typedef struct tla_segment_tree {
    tla_segment_block *root;
    size_t count;
    bool by_address; /* in the order (stream, address) instead */
} tla_segment_tree;

void tla_segment_tree_insert(tla_segment_tree *tree, tla_segment_block *block);
void tla_segment_tree_remove(tla_segment_tree *tree, tla_segment_block *block);

/* Returns the first block not below the key, in the order of the tree; NULL if no block follows. */
tla_segment_block *tla_segment_tree_lower_bound(const tla_segment_tree *tree, const tla_segment_block *key);

/* Returns the last block below the key; NULL if no block precedes it. */
tla_segment_block *tla_segment_tree_below(const tla_segment_tree *tree, const tla_segment_block *key);

/* The blocks in order: first, and the one after a block that is in the tree. */
tla_segment_block *tla_segment_tree_first(const tla_segment_tree *tree);
tla_segment_block *tla_segment_tree_after(const tla_segment_tree *tree, const tla_segment_block *block);

/* Returns the probes of a search in a balanced tree of so many blocks, for receipts: the modelled engine's work must
 * not depend on the shape of this tree. */
uint64_t tla_segment_tree_probes(const tla_segment_tree *tree);

/* Makes `front` (memory of the caller) the first nbytes of `block`, which keeps the rest; neither is in a tree. */
void tla_segment_split(tla_segment_block *block, uint64_t nbytes, tla_segment_block *front);

/* Joins `neighbour`, which is next to `block` in its segment, to it; the neighbour's record belongs to the caller
 * again. Neither is in a tree. */
void tla_segment_join(tla_segment_block *block, tla_segment_block *neighbour);

/* Records of blocks, kept for the next use. All zero is empty. */
typedef struct tla_segment_records {
    tla_segment_block *spare;
    size_t count;
} tla_segment_records;

/* Makes at least n spare records; TLA_NO_HOST_MEMORY. */
tla_status tla_segment_records_reserve(tla_segment_records *records, size_t n);
tla_segment_block *tla_segment_records_take(tla_segment_records *records);
void tla_segment_records_give(tla_segment_records *records, tla_segment_block *block);
void tla_segment_records_clear(tla_segment_records *records);

#endif
