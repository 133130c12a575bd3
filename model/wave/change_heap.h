/* Changes that wait for their time: a binary heap, ordered by time, then signal, then order of arrival. Internal. */
#ifndef TLMALLOC_MODEL_WAVE_CHANGE_HEAP_H
#define TLMALLOC_MODEL_WAVE_CHANGE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tla_wave_change {
    uint64_t at_ps;
    uint64_t arrival; /* given by the heap */
    uint64_t value;   /* or a delta, modulo 2^64 */
    uint32_t signal;
} tla_wave_change;

typedef struct tla_change_heap {
    tla_wave_change *items;
    size_t count, capacity;
    uint64_t arrivals;
} tla_change_heap; /* all zero = empty */

/* false without host memory; nothing has changed then. */
bool tla_change_heap_push(tla_change_heap *heap, tla_wave_change change);

/* The first change; NULL when there is none. */
const tla_wave_change *tla_change_heap_first(const tla_change_heap *heap);

/* Removes the first change, which must exist. */
void tla_change_heap_pop(tla_change_heap *heap);

void tla_change_heap_clear(tla_change_heap *heap);

#endif
