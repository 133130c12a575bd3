/* The free blocks in offset order, as a sorted array. */
#include "free_list.h"

#include <stdlib.h>
#include <string.h>

tla_status tla_free_list_init(tla_free_list *list) {
    *list = (tla_free_list){.blocks = malloc(16 * sizeof *list->blocks), .room = 16};
    return list->blocks ? TLA_OK : TLA_NO_HOST_MEMORY;
}

void tla_free_list_release(tla_free_list *list) {
    free(list->blocks);
}

uint64_t tla_free_list_count(const tla_free_list *list) {
    return list->count;
}

uint64_t tla_free_list_largest(const tla_free_list *list) {
    uint64_t largest = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->blocks[i].nbytes > largest) largest = list->blocks[i].nbytes;
    return largest;
}

/* bisect_left(list, offset) */
static size_t place_of(const tla_free_list *list, uint64_t offset) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->blocks[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool spot_at(const tla_free_list *list, size_t index, tla_free_spot *spot) {
    *spot = (tla_free_spot){list->blocks[index], index, index};
    return true;
}

bool tla_free_list_first(const tla_free_list *list, uint64_t nbytes, tla_free_spot *spot) {
    return tla_free_list_first_from(list, 0, nbytes, spot);
}

bool tla_free_list_first_from(const tla_free_list *list, uint64_t from, uint64_t nbytes, tla_free_spot *spot) {
    for (size_t i = place_of(list, from); i < list->count; i++)
        if (list->blocks[i].nbytes >= nbytes) return spot_at(list, i, spot);
    return false;
}

bool tla_free_list_last(const tla_free_list *list, uint64_t nbytes, tla_free_spot *spot) {
    return tla_free_list_last_below(list, UINT64_MAX, nbytes, spot);
}

bool tla_free_list_last_below(const tla_free_list *list, uint64_t below, uint64_t nbytes, tla_free_spot *spot) {
    for (size_t i = place_of(list, below); i-- > 0;)
        if (list->blocks[i].nbytes >= nbytes) return spot_at(list, i, spot);
    return false;
}

static void remove_at(tla_free_list *list, size_t index) {
    list->count--;
    memmove(list->blocks + index, list->blocks + index + 1, (list->count - index) * sizeof *list->blocks);
}

tla_status tla_free_list_make_room(tla_free_list *list, size_t n) {
    if (list->room - list->count >= n) return TLA_OK;
    size_t room = 2 * (list->count + n);
    tla_block *grown = realloc(list->blocks, room * sizeof *grown);
    if (!grown) return TLA_NO_HOST_MEMORY;
    list->blocks = grown;
    list->room = room;
    return TLA_OK;
}

static tla_status insert_at(tla_free_list *list, size_t index, tla_block block) {
    tla_status status = tla_free_list_make_room(list, 1);
    if (status) return status;
    memmove(list->blocks + index + 1, list->blocks + index, (list->count - index) * sizeof *list->blocks);
    list->blocks[index] = block;
    list->count++;
    return TLA_OK;
}

tla_status tla_free_list_take(tla_free_list *list, const tla_free_spot *spot, tla_block part, uint64_t *splits) {
    uint64_t end = part.offset + part.nbytes;
    tla_block front = {spot->block.offset, part.offset - spot->block.offset};
    tla_block back = {end, spot->block.offset + spot->block.nbytes - end};
    *splits = (uint64_t)(front.nbytes > 0) + (back.nbytes > 0);
    if (front.nbytes && back.nbytes) {
        tla_status status = insert_at(list, spot->index + 1, back);
        if (status) return status;
    }
    if (front.nbytes)
        list->blocks[spot->index] = front;
    else if (back.nbytes)
        list->blocks[spot->index] = back;
    else
        remove_at(list, spot->index);
    return TLA_OK;
}

tla_status tla_free_list_put(tla_free_list *list, tla_block range, tla_free_join *join) {
    size_t index = place_of(list, range.offset);
    uint64_t end = range.offset + range.nbytes;
    tla_block *previous = index > 0 ? &list->blocks[index - 1] : NULL;
    tla_block *next = index < list->count ? &list->blocks[index] : NULL;
    if ((previous && previous->offset + previous->nbytes > range.offset) || (next && end > next->offset))
        return TLA_NOT_ALLOCATED;
    bool join_previous = previous && previous->offset + previous->nbytes == range.offset;
    bool join_next = next && end == next->offset;
    *join = (tla_free_join){index, join_previous ? previous->nbytes : 0, join_next ? next->nbytes : 0};
    if (join_previous) {
        previous->nbytes += range.nbytes + join->next;
        if (join_next) remove_at(list, index);
    } else if (join_next) {
        *next = (tla_block){range.offset, range.nbytes + next->nbytes};
    } else {
        return insert_at(list, index, range);
    }
    return TLA_OK;
}

size_t tla_free_list_copy(const tla_free_list *list, uint64_t from, tla_block *blocks, size_t max) {
    size_t index = place_of(list, from), count = 0;
    while (count < max && index < list->count)
        blocks[count++] = list->blocks[index++];
    return count;
}

bool tla_free_list_touches(const tla_free_list *list, tla_block range) {
    size_t index = place_of(list, range.offset + range.nbytes);
    return index > 0 && list->blocks[index - 1].offset + list->blocks[index - 1].nbytes > range.offset;
}

uint64_t tla_free_list_fits(const tla_free_list *list, uint64_t nbytes, uint64_t limit) {
    uint64_t count = 0;
    for (size_t i = 0; i < list->count && count < limit; i++)
        count += list->blocks[i].nbytes / nbytes;
    return count < limit ? count : limit;
}

uint64_t tla_bisect_probes(uint64_t count, uint64_t rank) {
    uint64_t low = 0, high = count, probes = 0;
    for (; low < high; probes++) {
        uint64_t middle = low + (high - low) / 2;
        if (middle < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return probes;
}
