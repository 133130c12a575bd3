/* Nodes of the free list's tree, and the searches inside a node. Internal to free_list*.c.
 *
 * Nodes have no count of their own: unused slots hold sizes of 0, which no request fits, and offsets of UINT64_MAX,
 * which lie before no offset. Every loop therefore runs over a whole node, without branches on data, and compilers
 * vectorize it. */
#ifndef TLMALLOC_FREE_LIST_NODES_H
#define TLMALLOC_FREE_LIST_NODES_H

#include "free_list.h"
#include "vector_units.h"

enum { FAN = 32 }; /* slots of a node; a mask of them fits a uint32_t */
#define NOWHERE UINT64_MAX

struct tla_free_leaf {
    uint64_t nbytes[FAN];
    uint64_t offset[FAN];
};

struct tla_free_inner {
    uint64_t largest[FAN]; /* bytes of the largest block below */
    uint64_t first[FAN];   /* offset of the first block below, exact */
    uint32_t before[FAN];  /* blocks below the slots before this one */
    void *child[FAN];
};

/* The slots whose value is at least n, as a mask. (A shift by i instead of the table would be no vector.) */
IN_NODE uint64_t at_least(const uint64_t *values, uint64_t n) {
#define FOUR(i) (uint64_t)1 << (i), (uint64_t)2 << (i), (uint64_t)4 << (i), (uint64_t)8 << (i)
    static const uint64_t bit[FAN] = {FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28)};
#undef FOUR
    uint64_t mask = 0;
    for (int i = 0; i < FAN; i++)
        mask |= (0 - (uint64_t)(values[i] >= n)) & bit[i];
    return mask;
}

/* How many of the sorted values are less than n. */
IN_NODE unsigned count_less(const uint64_t *values, uint64_t n) {
    uint64_t count = 0;
    for (int i = 0; i < FAN; i++)
        count += values[i] < n;
    return (unsigned)count;
}

IN_NODE uint64_t largest_of(const uint64_t *values) {
    uint64_t largest = 0;
    for (int i = 0; i < FAN; i++)
        largest = values[i] > largest ? values[i] : largest;
    return largest;
}

/* Asks for an array that is needed after the leaf's other one has been searched. */
IN_NODE void fetch(const uint64_t *values) {
    for (int i = 0; i < FAN; i += 8)
        __builtin_prefetch(values + i, 1);
}

/* How many slots are used; the offsets are sorted, so these are the ones in front. */
IN_NODE unsigned used_slots(const uint64_t *offsets) {
    return count_less(offsets, NOWHERE);
}

IN_NODE unsigned lowest(uint64_t mask) {
    return (unsigned)__builtin_ctzll(mask);
}

IN_NODE unsigned highest(uint64_t mask) {
    return 63 - (unsigned)__builtin_clzll(mask);
}

/* Where a block at this offset is or belongs: the path, the leaf, and the slot behind all lower offsets. block is not
 * set. */
void tla_free_list_locate(const tla_free_list *list, uint64_t offset, tla_free_spot *spot);

/* The spot of the first block of the leaf behind the path's, its rank not set; false when that is the last leaf. */
bool tla_free_list_next_leaf(const tla_free_list *list, const tla_free_spot *spot, tla_free_spot *next);

/* Memory of nodes, free_list_nodes.c. */

/* Makes sure of so many spare nodes. TLA_NO_HOST_MEMORY. */
tla_status tla_free_list_stock(tla_free_list *list, size_t leaves, size_t inners);

/* A spare node, of which there must be one; all its slots are unused. */
tla_free_leaf *tla_free_list_new_leaf(tla_free_list *list);

/* Puts a block into the slot of spot->leaf, or where that is after a split. There must be nodes for it. */
void tla_free_list_insert(tla_free_list *list, tla_free_spot *spot, tla_block block);

/* Takes the block at the spot off its leaf, and the leaf out of the tree or together with a neighbour when it is thin.
 */
void tla_free_list_remove(tla_free_list *list, tla_free_spot *spot);

/* Update the levels above a leaf after a change in it: the first offset of the leaf, a size that has grown, and a
 * removed size that may have been the largest. */
void tla_free_list_set_first(tla_free_list *list, const tla_free_spot *spot, uint64_t offset);
void tla_free_list_raise(tla_free_list *list, const tla_free_spot *spot, uint64_t nbytes);
void tla_free_list_lower(tla_free_list *list, const tla_free_spot *spot, uint64_t old_nbytes);

#endif
