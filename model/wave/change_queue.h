/* Changes that wait for their time, ordered by time, then signal, then order of arrival. Most come nearly in order and
 * go to the end of a ring; the others wait in a binary heap. Internal. */
#ifndef TLMALLOC_MODEL_WAVE_CHANGE_QUEUE_H
#define TLMALLOC_MODEL_WAVE_CHANGE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tla_wave_change {
    uint64_t at_ps;
    uint64_t arrival; /* given by the queue */
    uint64_t value;   /* or a delta, modulo 2^64 */
    uint32_t signal;
} tla_wave_change;

typedef struct tla_change_queue {
    tla_wave_change *ring; /* in order from head on, round its end; its capacity is a power of two */
    size_t head, ring_count, ring_capacity;
    tla_wave_change *heap;
    size_t heap_count, heap_capacity;
    uint64_t arrivals;
} tla_change_queue; /* all zero = empty */

/* false without host memory; nothing has changed then. */
bool tla_change_queue_push(tla_change_queue *queue, tla_wave_change change);

/* Adds delta to the change of this signal and time if it is one of the last of the ring; else false, and nothing has
 * changed. */
bool tla_change_queue_add(tla_change_queue *queue, uint64_t at_ps, uint32_t signal, uint64_t delta);

/* Returns the first change; NULL for an empty queue. Valid until the next push or pop. */
const tla_wave_change *tla_change_queue_first(const tla_change_queue *queue);

/* Removes the first change, which must exist. */
void tla_change_queue_pop(tla_change_queue *queue);

void tla_change_queue_clear(tla_change_queue *queue);

#endif
