/* The free list from other places than its front, and all of it. */
#include "free_list_nodes.h"

/* Completes a spot whose path, leaf and slot are known. */
IN_NODE bool found(const tla_free_list *list, tla_free_spot *spot) {
    spot->block = (tla_block){spot->leaf->offset[spot->slot], spot->leaf->nbytes[spot->slot]};
    spot->rank = spot->slot;
    for (unsigned level = 0; level < list->height; level++)
        spot->rank += spot->path[level].node->before[spot->path[level].slot];
    return true;
}

/* The slots of a mask above (or below) a slot, which may be FAN or beyond. */
IN_NODE uint64_t beyond(uint64_t mask, unsigned slot) {
    return slot >= FAN - 1 ? 0 : mask & ~(uint64_t)0 << (slot + 1);
}

IN_NODE uint64_t ahead_of(uint64_t mask, unsigned slot) {
    return mask & (((uint64_t)1 << slot) - 1);
}

/* From the slot of the path at `level` down to the lowest (or highest) block of at least nbytes below it, which there
 * is. */
IN_NODE bool descend(const tla_free_list *list, unsigned level, uint64_t nbytes, bool upwards, tla_free_spot *spot) {
    void *node = level == 0 ? list->root : spot->path[level - 1].node->child[spot->path[level - 1].slot];
    for (; level < list->height; level++) {
        spot->path[level].node = node;
        uint64_t mask = at_least(spot->path[level].node->largest, nbytes);
        spot->path[level].slot = upwards ? lowest(mask) : highest(mask);
        node = spot->path[level].node->child[spot->path[level].slot];
    }
    spot->leaf = node;
    uint64_t mask = at_least(spot->leaf->nbytes, nbytes);
    spot->slot = upwards ? lowest(mask) : highest(mask);
    return found(list, spot);
}

/* The next block of at least nbytes behind (in front of) the leaf of the path. */
IN_NODE bool climb(const tla_free_list *list, uint64_t nbytes, bool upwards, tla_free_spot *spot) {
    for (unsigned level = list->height; level-- > 0;) {
        uint64_t mask = at_least(spot->path[level].node->largest, nbytes);
        mask = upwards ? beyond(mask, spot->path[level].slot) : ahead_of(mask, spot->path[level].slot);
        if (!mask) continue;
        spot->path[level].slot = upwards ? lowest(mask) : highest(mask);
        return descend(list, level + 1, nbytes, upwards, spot);
    }
    return false;
}

FOR_EACH_VECTOR_UNIT bool tla_free_list_first_from(const tla_free_list *list, uint64_t from, uint64_t nbytes,
                                                   tla_free_spot *spot) {
    tla_free_list_locate(list, from, spot);
    uint64_t mask = at_least(spot->leaf->nbytes, nbytes) & ~ahead_of(~(uint64_t)0, spot->slot);
    if (!mask) return climb(list, nbytes, true, spot);
    spot->slot = lowest(mask);
    return found(list, spot);
}

FOR_EACH_VECTOR_UNIT bool tla_free_list_last_below(const tla_free_list *list, uint64_t below, uint64_t nbytes,
                                                   tla_free_spot *spot) {
    tla_free_list_locate(list, below, spot);
    uint64_t mask = ahead_of(at_least(spot->leaf->nbytes, nbytes), spot->slot);
    if (!mask) return climb(list, nbytes, false, spot);
    spot->slot = highest(mask);
    return found(list, spot);
}

FOR_EACH_VECTOR_UNIT uint64_t tla_free_list_largest(const tla_free_list *list) {
    return largest_of(list->height == 0 ? ((const tla_free_leaf *)list->root)->nbytes
                                        : ((const tla_free_inner *)list->root)->largest);
}

FOR_EACH_VECTOR_UNIT bool tla_free_list_last(const tla_free_list *list, uint64_t nbytes, tla_free_spot *spot) {
    return tla_free_list_largest(list) >= nbytes && descend(list, 0, nbytes, false, spot);
}

bool tla_free_list_up_to(const tla_free_list *list, uint64_t offset, tla_free_spot *spot) {
    tla_free_list_locate(list, offset + 1, spot);
    if (spot->slot == 0) return false; /* only in the first leaf */
    spot->slot--;
    spot->rank--;
    spot->block = (tla_block){spot->leaf->offset[spot->slot], spot->leaf->nbytes[spot->slot]};
    return true;
}

bool tla_free_list_touches(const tla_free_list *list, tla_block range) {
    tla_free_spot spot;
    return tla_free_list_up_to(list, range.offset + range.nbytes - 1, &spot) &&
           spot.block.offset + spot.block.nbytes > range.offset;
}

size_t tla_free_list_copy(const tla_free_list *list, uint64_t from, tla_block *blocks, size_t max) {
    tla_free_spot spot, next;
    tla_free_list_locate(list, from, &spot);
    size_t count = 0;
    while (count < max) {
        for (; spot.slot < FAN && spot.leaf->offset[spot.slot] != NOWHERE && count < max; spot.slot++)
            blocks[count++] = (tla_block){spot.leaf->offset[spot.slot], spot.leaf->nbytes[spot.slot]};
        if (!tla_free_list_next_leaf(list, &spot, &next)) break;
        spot = next;
    }
    return count;
}

uint64_t tla_free_list_fits(const tla_free_list *list, uint64_t nbytes, uint64_t limit) {
    tla_free_spot spot;
    uint64_t count = 0;
    bool more = tla_free_list_first(list, nbytes, &spot);
    while (more && count < limit) {
        count += spot.block.nbytes / nbytes;
        more = tla_free_list_first_from(list, spot.block.offset + 1, nbytes, &spot);
    }
    return count < limit ? count : limit;
}
