/* The free list's searches by size and by offset, and what an allocation and a free do to the list. */
#include "short_list.h"

static void at_slot(tla_free_spot *spot, tla_free_leaf *leaf, unsigned slot, uint64_t rank) {
    spot->leaf = leaf;
    spot->slot = slot;
    spot->rank = rank + slot;
    spot->block = (tla_block){leaf->offset[slot], leaf->nbytes[slot]};
}

FOR_EACH_VECTOR_UNIT static bool first_in_tree(const tla_free_list *list, uint64_t nbytes, tla_free_spot *spot) {
    void *node = list->root;
    uint64_t rank = 0;
    for (unsigned level = 0; level < list->height; level++) {
        tla_free_inner *inner = node;
        uint64_t mask = at_least(inner->largest, nbytes);
        if (!mask) return false; /* only at the root */
        unsigned slot = lowest(mask);
        spot->path[level].node = inner;
        spot->path[level].slot = slot;
        rank += inner->before[slot];
        node = inner->child[slot];
    }
    tla_free_leaf *leaf = node;
    fetch(leaf->offset);
    uint64_t mask = at_least(leaf->nbytes, nbytes);
    if (!mask) return false;
    at_slot(spot, leaf, lowest(mask), rank);
    return true;
}

bool tla_free_list_first(const tla_free_list *list, uint64_t nbytes, tla_free_spot *spot) {
    if (!tla_is_short(list)) return first_in_tree(list, nbytes, spot);
    unsigned slot = tla_short_first(list, nbytes);
    if (slot == list->count) return false;
    at_slot(spot, list->root, slot, 0);
    return true;
}

IN_NODE void locate(const tla_free_list *list, uint64_t offset, tla_free_spot *spot) {
    void *node = list->root;
    uint64_t rank = 0;
    for (unsigned level = 0; level < list->height; level++) {
        tla_free_inner *inner = node;
        unsigned slot = count_less(inner->first, offset);
        slot -= slot > 0;
        spot->path[level].node = inner;
        spot->path[level].slot = slot;
        rank += inner->before[slot];
        node = inner->child[slot];
    }
    spot->leaf = node;
    fetch(spot->leaf->nbytes);
    spot->slot = count_less(spot->leaf->offset, offset);
    spot->rank = rank + spot->slot;
}

FOR_EACH_VECTOR_UNIT void tla_free_list_locate(const tla_free_list *list, uint64_t offset, tla_free_spot *spot) {
    locate(list, offset, spot);
}

/* Returns the offset of the first block after the leaf of the path, from the levels above; NOWHERE if no block follows.
 * */
IN_NODE uint64_t first_behind_leaf(const tla_free_list *list, const tla_free_spot *spot) {
    for (unsigned level = list->height; level-- > 0;) {
        unsigned slot = spot->path[level].slot + 1;
        if (slot < FAN && spot->path[level].node->first[slot] != NOWHERE) return spot->path[level].node->first[slot];
    }
    return NOWHERE;
}

bool tla_free_list_next_leaf(const tla_free_list *list, const tla_free_spot *spot, tla_free_spot *next) {
    unsigned level = list->height;
    do {
        if (level-- == 0) return false;
        next->path[level].node = spot->path[level].node;
        next->path[level].slot = spot->path[level].slot + 1;
    } while (next->path[level].slot == FAN || next->path[level].node->first[next->path[level].slot] == NOWHERE);
    for (unsigned above = 0; above < level; above++)
        next->path[above] = spot->path[above];
    void *node = next->path[level].node->child[next->path[level].slot];
    while (++level < list->height) {
        next->path[level].node = node;
        next->path[level].slot = 0;
        node = next->path[level].node->child[0];
    }
    at_slot(next, node, 0, 0);
    return true;
}

/* Makes room for one more block in the leaf at a spot: exactly the nodes that splitting the leaf and the full nodes
 * above it needs. After tla_free_list_make_room it allocates nothing. */
static tla_status room_for_one(tla_free_list *list, const tla_free_spot *at) {
    if (at->leaf->offset[FAN - 1] == NOWHERE) return TLA_OK;
    unsigned level = list->height;
    size_t inners = 0;
    for (; level > 0 && at->path[level - 1].node->first[FAN - 1] != NOWHERE; level--)
        inners++;
    return tla_free_list_stock(list, 1, inners + (level == 0)); /* a root above the root */
}

tla_status tla_free_list_take(tla_free_list *list, tla_free_spot *spot, tla_block part, uint64_t *splits) {
    uint64_t end = part.offset + part.nbytes;
    uint64_t front = part.offset - spot->block.offset, back = spot->block.offset + spot->block.nbytes - end;
    *splits = (uint64_t)(front > 0) + (back > 0);
    if (front == 0 && back == 0) {
        tla_free_list_remove(list, spot);
        return TLA_OK;
    }
    if (front > 0 && back > 0 && room_for_one(list, spot)) return TLA_NO_HOST_MEMORY;
    spot->leaf->nbytes[spot->slot] = front > 0 ? front : back;
    if (front == 0) {
        spot->leaf->offset[spot->slot] = end;
        if (spot->slot == 0) tla_free_list_set_first(list, spot, end);
    }
    tla_free_list_lower(list, spot, spot->block.nbytes);
    if (front > 0 && back > 0) {
        spot->slot++;
        tla_free_list_insert(list, spot, (tla_block){end, back});
    }
    return TLA_OK;
}

static void enlarge(tla_free_list *list, const tla_free_spot *spot, uint64_t offset, uint64_t nbytes) {
    if (spot->leaf->offset[spot->slot] != offset) {
        spot->leaf->offset[spot->slot] = offset;
        if (spot->slot == 0) tla_free_list_set_first(list, spot, offset);
    }
    spot->leaf->nbytes[spot->slot] = nbytes;
    tla_free_list_raise(list, spot, nbytes);
}

FOR_EACH_VECTOR_UNIT static tla_status put_in_tree(tla_free_list *list, tla_block range, tla_free_join *join) {
    tla_free_spot at, next;
    locate(list, range.offset, &at);
    tla_free_leaf *leaf = at.leaf;
    uint64_t end = range.offset + range.nbytes;
    uint64_t previous_end = 0, previous = 0;
    bool next_here = at.slot < FAN && leaf->offset[at.slot] != NOWHERE;
    uint64_t next_offset = next_here ? leaf->offset[at.slot] : first_behind_leaf(list, &at);
    if (at.slot > 0) {
        previous = leaf->nbytes[at.slot - 1];
        previous_end = leaf->offset[at.slot - 1] + previous;
    }
    if (previous_end > range.offset || next_offset < end) return TLA_NOT_ALLOCATED;
    bool join_previous = at.slot > 0 && previous_end == range.offset, join_next = next_offset == end;
    *join = (tla_free_join){.rank = at.rank, .previous = join_previous ? previous : 0};
    if (join_next && next_here) {
        join->next = leaf->nbytes[at.slot];
    } else if (join_next) {
        next.block.nbytes = 0; /* gcc 14 does not see that the call sets it */
        tla_free_list_next_leaf(list, &at, &next);
        join->next = next.block.nbytes;
    }
    if (join_previous) {
        at.slot--;
        enlarge(list, &at, leaf->offset[at.slot], previous + range.nbytes + join->next);
        at.slot++;
        if (join_next) tla_free_list_remove(list, next_here ? &at : &next);
    } else if (join_next) {
        enlarge(list, next_here ? &at : &next, range.offset, range.nbytes + join->next);
    } else {
        if (room_for_one(list, &at)) return TLA_NO_HOST_MEMORY;
        tla_free_list_insert(list, &at, range);
    }
    return TLA_OK;
}

tla_status tla_free_list_put(tla_free_list *list, tla_block range, tla_free_join *join) {
    return tla_is_short(list) ? tla_short_put(list, range, join) : put_in_tree(list, range, join);
}
