/* The free blocks of an arena by (size, offset): what best fit searches. A B+ tree of arrays for
 * every class of sizes, so that a tree is a leaf or two where a heap is small.
 *
 * Internal. The order is by nbytes, then by offset; a block is on the index once. */
#ifndef TLMALLOC_SIZE_INDEX_H
#define TLMALLOC_SIZE_INDEX_H

#include "size_class.h"
#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_SIZE_INDEX_HEIGHT = 16 }; /* levels, the leaves included: far more than 2^32 blocks can need */

typedef struct tla_size_node tla_size_node;

typedef struct tla_size_index {
    struct {
        tla_size_node *root; /* NULL when the class has no block */
        unsigned height;     /* levels of inner nodes above the leaves */
    } trees[TLA_CLASSES];
    tla_class_set filled; /* classes that have a block */
    unsigned tallest;     /* height of the tallest tree so far */
    uint64_t count;       /* blocks */
    size_t nodes;         /* of all trees */
    tla_size_node *spare; /* nodes of either kind, made ahead so that a change cannot fail half way */
    size_t spares;
} tla_size_index;

tla_status tla_size_index_init(tla_size_index *index);
void tla_size_index_release(tla_size_index *index);

/* The way from the root to a block in a leaf; any change of the index makes it stale. */
typedef struct tla_size_path {
    uint32_t size_class;
    tla_size_node *nodes[TLA_SIZE_INDEX_HEIGHT]; /* [0] is the leaf */
    unsigned slots[TLA_SIZE_INDEX_HEIGHT];       /* [h] is the child of nodes[h] that was taken, [0] the block */
    tla_size_node *first; /* the node above that keeps the leaf's first block, and where; NULL for the leftmost leaf */
    unsigned first_slot;
} tla_size_path;

/* Makes sure that n inserts in a row need no host memory. TLA_NO_HOST_MEMORY; nothing is changed then. */
tla_status tla_size_index_make_room(tla_size_index *index, size_t n);

/* Finds the path to the first block that is not before `key` in the order; false if no block follows. O(log n). */
bool tla_size_index_at_least(const tla_size_index *index, tla_block key, tla_size_path *found);
tla_block tla_size_index_block(const tla_size_path *at);

/* Puts a block on the index; there must be room (tla_size_index_make_room). O(log n). */
void tla_size_index_insert(tla_size_index *index, tla_block block);

/* Takes a block that is on the index off it. O(log n). */
void tla_size_index_remove(tla_size_index *index, tla_block block);
void tla_size_index_remove_at(tla_size_index *index, const tla_size_path *at);

#ifdef __cplusplus
}
#endif
#endif
