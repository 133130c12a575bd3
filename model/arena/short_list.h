/* A free list of few blocks is one leaf, and there a plain loop is faster than vectors and paths: the stack-like use
 * that ADR-0048 describes keeps one or two. These are the operations of free_list.h for that case. Internal. */
#ifndef TLMALLOC_SHORT_LIST_H
#define TLMALLOC_SHORT_LIST_H

#include "free_list_nodes.h"

static inline bool tla_is_short(const tla_free_list *list) {
    return list->height == 0 && list->count < FAN; /* a slot is left for one more */
}

/* Returns the first block of at least nbytes; count if no block is so large. */
static inline unsigned tla_short_first(const tla_free_list *list, uint64_t nbytes) {
    const tla_free_leaf *leaf = list->root;
    unsigned i = 0;
    while (i < list->count && leaf->nbytes[i] < nbytes)
        i++;
    return i;
}

static inline void tla_short_remove(tla_free_list *list, unsigned slot) {
    tla_free_leaf *leaf = list->root;
    for (list->count--; slot < list->count; slot++) {
        leaf->offset[slot] = leaf->offset[slot + 1];
        leaf->nbytes[slot] = leaf->nbytes[slot + 1];
    }
    leaf->offset[slot] = NOWHERE;
    leaf->nbytes[slot] = 0;
}

/* As tla_free_list_put. */
static inline tla_status tla_short_put(tla_free_list *list, tla_block range, tla_free_join *join) {
    tla_free_leaf *leaf = list->root;
    unsigned slot = 0;
    for (unsigned high = list->count; slot < high;) {
        unsigned middle = (slot + high) / 2;
        if (leaf->offset[middle] < range.offset)
            slot = middle + 1;
        else
            high = middle;
    }
    uint64_t end = range.offset + range.nbytes, next_offset = leaf->offset[slot];
    uint64_t previous_end = slot > 0 ? leaf->offset[slot - 1] + leaf->nbytes[slot - 1] : 0;
    if (previous_end > range.offset || next_offset < end) return TLA_NOT_ALLOCATED;
    *join = (tla_free_join){.rank = slot, .next = next_offset == end ? leaf->nbytes[slot] : 0};
    if (slot > 0 && previous_end == range.offset) {
        join->previous = leaf->nbytes[slot - 1];
        leaf->nbytes[slot - 1] += range.nbytes + join->next;
        if (join->next) tla_short_remove(list, slot);
    } else if (join->next) {
        leaf->offset[slot] = range.offset;
        leaf->nbytes[slot] += range.nbytes;
    } else {
        for (unsigned i = list->count++; i > slot; i--) {
            leaf->offset[i] = leaf->offset[i - 1];
            leaf->nbytes[i] = leaf->nbytes[i - 1];
        }
        leaf->offset[slot] = range.offset;
        leaf->nbytes[slot] = range.nbytes;
    }
    return TLA_OK;
}

#endif
