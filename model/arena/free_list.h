/* The free blocks of an arena in offset order, for every policy that keeps its free blocks as a list (ADR-0048 D1). It
 * computes the result and the length of a walk of the sorted list, without walking.
 *
 * Internal. A spot is one free block and where it is; any change of the list makes spots stale. */
#ifndef TLMALLOC_FREE_LIST_H
#define TLMALLOC_FREE_LIST_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TLA_FREE_LIST_HEIGHT 16 /* inner levels, far more than 2^32 blocks can need */

typedef struct tla_free_leaf tla_free_leaf;
typedef struct tla_free_inner tla_free_inner;

typedef struct tla_free_list {
    void *root;      /* a leaf when height is 0 */
    unsigned height; /* inner levels above the leaves */
    uint32_t count;  /* blocks */
    /* host memory: nodes are carved from chunks and go back to the list only when it is released */
    void *chunks;
    void *spare_leaves, *spare_inners; /* linked by their first word */
    size_t leaves, inners;             /* in use */
    size_t spare_leaf_count, spare_inner_count;
} tla_free_list;

typedef struct tla_free_spot {
    tla_block block;
    uint64_t rank; /* free blocks with a lower offset */
    tla_free_leaf *leaf;
    unsigned slot; /* in the leaf */
    struct {
        tla_free_inner *node;
        unsigned slot;
    } path[TLA_FREE_LIST_HEIGHT]; /* from the root down to the leaf's parent */
} tla_free_spot;

tla_status tla_free_list_init(tla_free_list *list);
void tla_free_list_release(tla_free_list *list);

static inline uint64_t tla_free_list_count(const tla_free_list *list) {
    return list->count;
}

/* Returns the bytes of the largest block; 0 without blocks. */
uint64_t tla_free_list_largest(const tla_free_list *list);

/* Finds the lowest block of at least nbytes; false if no block is so large. O(log n). */
bool tla_free_list_first(const tla_free_list *list, uint64_t nbytes, tla_free_spot *spot);

/* The lowest block of at least nbytes that starts at or above `from`. O(log n). */
bool tla_free_list_first_from(const tla_free_list *list, uint64_t from, uint64_t nbytes, tla_free_spot *spot);

/* The highest block of at least nbytes. O(log n). */
bool tla_free_list_last(const tla_free_list *list, uint64_t nbytes, tla_free_spot *spot);

/* The highest block of at least nbytes that starts below `below`. O(log n). */
bool tla_free_list_last_below(const tla_free_list *list, uint64_t below, uint64_t nbytes, tla_free_spot *spot);

/* Finds the highest block that starts at or below an offset; false if no block does. O(log n). */
bool tla_free_list_up_to(const tla_free_list *list, uint64_t offset, tla_free_spot *spot);

/* Removes `part`, a range inside spot->block (spot->block stays unchanged, the rest of the spot becomes stale); the
 * bytes in front of it and after it stay. *splits is 0, 1 or 2. TLA_NO_HOST_MEMORY only when both sides stay (2). */
tla_status tla_free_list_take(tla_free_list *list, tla_free_spot *spot, tla_block part, uint64_t *splits);

/* The joins of a block that was added to the list. */
typedef struct tla_free_join {
    uint64_t rank;     /* bisect_left(list, offset) */
    uint64_t previous; /* bytes of the block in front that it was joined with, 0 = none */
    uint64_t next;     /* bytes of the block behind that it was joined with, 0 = none */
} tla_free_join;

/* Puts a range on the list, joined with its neighbours. TLA_NOT_ALLOCATED when a byte of it is on the list already,
 * TLA_NO_HOST_MEMORY; nothing is changed then. O(log n). */
tla_status tla_free_list_put(tla_free_list *list, tla_block range, tla_free_join *join);

/* Makes sure that n puts in a row cannot fail for lack of host memory. */
tla_status tla_free_list_make_room(tla_free_list *list, size_t n);

/* Whether a byte of the range is on the list. O(log n). */
bool tla_free_list_touches(const tla_free_list *list, tla_block range);

/* As tla_placement's copy and fits, for a policy that allocates exactly the requested bytes. */
size_t tla_free_list_copy(const tla_free_list *list, uint64_t from, tla_block *blocks, size_t max);
uint64_t tla_free_list_fits(const tla_free_list *list, uint64_t nbytes, uint64_t limit);

/* Bytes of host memory that the nodes in use take. */
size_t tla_free_list_host_bytes(const tla_free_list *list);

/* Finds the lowest multiple of alignment (a power of two) in `block` that leaves room for nbytes; false if no multiple
 * does. */
static inline bool tla_aligned_fit(tla_block block, uint64_t nbytes, uint64_t alignment, tla_block *part) {
    uint64_t skip = (0 - block.offset) & (alignment - 1);
    if (skip > block.nbytes || block.nbytes - skip < nbytes) return false;
    part->offset = block.offset + skip;
    part->nbytes = nbytes;
    return true;
}

#ifdef __cplusplus
}
#endif
#endif
