/* Arrays on the host that grow as they are filled. */
#ifndef TLMALLOC_MODEL_BASE_GROW_H
#define TLMALLOC_MODEL_BASE_GROW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `need` elements of `size` bytes (1 or more) in the array from malloc whose pointer is at `array` (a
 * T **; the pointer NULL and *room 0 for none yet), twice the room at least. The elements stay; those behind them are
 * not initialised. False without host memory, and when so many fit no host: the array and *room are as they were. */
static inline bool tla_grow(void *array, size_t *room, size_t need, size_t size) {
    enum { FEW = 4 };
    const size_t most = PTRDIFF_MAX / size;
    size_t more = *room <= most / 2 ? 2 * *room : most;
    void *elements;
    if (need <= *room) return true;
    if (need > most) return false;
    if (more < FEW && FEW <= most) more = FEW;
    if (more < need) more = need;
    memcpy(&elements, array, sizeof elements);
    if (!(elements = realloc(elements, more * size))) return false;
    memcpy(array, &elements, sizeof elements);
    *room = more;
    return true;
}

/* Likewise for one element after `count`, in an array that only this function grows: it is full where the count is a
 * power of two, so its room need not be stored. */
static inline bool tla_grow_by_one(void *array, size_t count, size_t size) {
    size_t room = count;
    return (count & (count - 1)) || tla_grow(array, &room, count + 1, size);
}

#endif
