/* Changes that wait for their time. */
#include "change_queue.h"
#include "base/grow.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 256, STEPS = 8 /* so many later changes a change of the ring may have to pass */ };

static bool before(const tla_wave_change *a, const tla_wave_change *b) {
    if (a->at_ps != b->at_ps) return a->at_ps < b->at_ps;
    if (a->signal != b->signal) return a->signal < b->signal;
    return a->arrival < b->arrival;
}

/* ---- the ring ---- */

static tla_wave_change *ring_at(const tla_change_queue *q, size_t index) {
    return &q->ring[(q->head + index) & (q->ring_capacity - 1)];
}

/* Where a change belongs in the ring, from its end; more than STEPS for one that belongs into the heap. */
static size_t steps_back(const tla_change_queue *q, const tla_wave_change *change) {
    size_t steps = 0;
    while (steps <= STEPS && steps < q->ring_count && before(change, ring_at(q, q->ring_count - 1 - steps)))
        steps++;
    return steps;
}

static bool ring_grow(tla_change_queue *q) {
    const size_t capacity = q->ring_capacity ? 2 * q->ring_capacity : FIRST_CAPACITY;
    tla_wave_change *ring = malloc(capacity * sizeof *ring);
    if (!ring) return false;
    for (size_t i = 0; i < q->ring_count; i++)
        ring[i] = *ring_at(q, i);
    free(q->ring);
    q->ring = ring;
    q->head = 0;
    q->ring_capacity = capacity;
    return true;
}

static bool ring_put(tla_change_queue *q, const tla_wave_change *change, size_t steps) {
    if (q->ring_count == q->ring_capacity && !ring_grow(q)) return false;
    size_t at = q->ring_count++;
    for (; steps > 0; steps--, at--)
        *ring_at(q, at) = *ring_at(q, at - 1);
    *ring_at(q, at) = *change;
    return true;
}

/* ---- the heap ---- */

static bool heap_put(tla_change_queue *q, const tla_wave_change *change) {
    if (!tla_grow(&q->heap, &q->heap_capacity, q->heap_count + 1, sizeof *q->heap)) return false;
    size_t at = q->heap_count++;
    for (size_t parent; at > 0 && before(change, &q->heap[parent = (at - 1) / 2]); at = parent)
        q->heap[at] = q->heap[parent];
    q->heap[at] = *change;
    return true;
}

static void heap_pop(tla_change_queue *q) {
    const tla_wave_change last = q->heap[--q->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < q->heap_count; at = child) {
        if (child + 1 < q->heap_count && before(&q->heap[child + 1], &q->heap[child])) child++;
        if (!before(&q->heap[child], &last)) break;
        q->heap[at] = q->heap[child];
    }
    q->heap[at] = last;
}

/* ---- both ---- */

bool tla_change_queue_push(tla_change_queue *q, tla_wave_change change) {
    change.arrival = q->arrivals;
    const size_t steps = steps_back(q, &change);
    if (!(steps <= STEPS ? ring_put(q, &change, steps) : heap_put(q, &change))) return false;
    q->arrivals++;
    return true;
}

bool tla_change_queue_add(tla_change_queue *q, uint64_t at_ps, uint32_t signal, uint64_t delta) {
    for (size_t steps = 1; steps <= STEPS && steps <= q->ring_count; steps++) {
        tla_wave_change *c = ring_at(q, q->ring_count - steps);
        if (c->at_ps == at_ps && c->signal == signal) {
            c->value += delta;
            return true;
        }
        if (c->at_ps < at_ps) break;
    }
    return false;
}

/* Returns whether the ring has the first change; a change exists. */
static bool ring_is_first(const tla_change_queue *q) {
    return q->heap_count == 0 || (q->ring_count > 0 && before(ring_at(q, 0), q->heap));
}

const tla_wave_change *tla_change_queue_first(const tla_change_queue *q) {
    if (q->ring_count == 0 && q->heap_count == 0) return NULL;
    return ring_is_first(q) ? ring_at(q, 0) : q->heap;
}

void tla_change_queue_pop(tla_change_queue *q) {
    if (!ring_is_first(q)) {
        heap_pop(q);
        return;
    }
    q->head = (q->head + 1) & (q->ring_capacity - 1);
    q->ring_count--;
}

void tla_change_queue_clear(tla_change_queue *q) {
    free(q->ring);
    free(q->heap);
    *q = (tla_change_queue){0};
}
