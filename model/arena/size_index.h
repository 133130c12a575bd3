/* The free blocks of an arena by (size, offset): what best fit searches. A B+ tree of arrays.
 *
 * Internal. The order is by nbytes, then by offset; a block is on the index once. */
#ifndef TLMALLOC_SIZE_INDEX_H
#define TLMALLOC_SIZE_INDEX_H

#include "tlmalloc/arena.h"

typedef struct tla_size_node tla_size_node;

typedef struct tla_size_index {
    tla_size_node *root;
    unsigned height;      /* levels of inner nodes above the leaves */
    uint64_t count;       /* blocks */
    size_t nodes;         /* of the tree */
    tla_size_node *spare; /* nodes of either kind, made ahead so that a change cannot fail half way */
    size_t spares;
} tla_size_index;

tla_status tla_size_index_init(tla_size_index *index);
void tla_size_index_release(tla_size_index *index);

/* Makes sure that n inserts in a row need no host memory. TLA_NO_HOST_MEMORY; nothing is changed then. */
tla_status tla_size_index_make_room(tla_size_index *index, size_t n);

/* The first block that is not before `key` in the order; false when there is none. O(log n). */
bool tla_size_index_at_least(const tla_size_index *index, tla_block key, tla_block *found);

/* Puts a block on the index; there must be room (tla_size_index_make_room). O(log n). */
void tla_size_index_insert(tla_size_index *index, tla_block block);

/* Takes a block that is on the index off it. O(log n). */
void tla_size_index_remove(tla_size_index *index, tla_block block);

#endif
