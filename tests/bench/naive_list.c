/* The free list of ADR-0048 D1 as an ordered array. */
#include "naive_list.h"

#include <stdlib.h>
#include <string.h>

bool naive_list_init(naive_list *list, const naive_hole *holes, size_t count, size_t room) {
    *list = (naive_list){.holes = malloc(room * sizeof *holes), .count = count, .room = room};
    if (!list->holes) return false;
    memcpy(list->holes, holes, count * sizeof *holes);
    return true;
}

void naive_list_free_memory(naive_list *list) {
    free(list->holes);
}

static void remove_at(naive_list *list, size_t index) {
    list->count--;
    memmove(list->holes + index, list->holes + index + 1, (list->count - index) * sizeof *list->holes);
}

bool naive_list_alloc(naive_list *list, uint64_t nbytes, uint64_t *offset) {
    for (size_t i = 0; i < list->count; i++) {
        naive_hole *hole = &list->holes[i];
        if (hole->nbytes < nbytes) continue;
        *offset = hole->offset;
        if (hole->nbytes == nbytes) {
            remove_at(list, i);
        } else {
            hole->offset += nbytes;
            hole->nbytes -= nbytes;
        }
        return true;
    }
    return false;
}

void naive_list_free(naive_list *list, uint64_t offset, uint64_t nbytes) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->holes[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    naive_hole *previous = low > 0 ? &list->holes[low - 1] : NULL;
    naive_hole *next = low < list->count ? &list->holes[low] : NULL;
    bool join_next = next && offset + nbytes == next->offset;
    if (previous && previous->offset + previous->nbytes == offset) {
        previous->nbytes += nbytes;
        if (join_next) {
            previous->nbytes += next->nbytes;
            remove_at(list, low);
        }
    } else if (join_next) {
        *next = (naive_hole){offset, nbytes + next->nbytes};
    } else if (list->count < list->room) {
        memmove(list->holes + low + 1, list->holes + low, (list->count - low) * sizeof *list->holes);
        list->holes[low] = (naive_hole){offset, nbytes};
        list->count++;
    } else {
        abort(); /* the caller promised that there are never more holes than `room` */
    }
}
