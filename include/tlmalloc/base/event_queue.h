/* Events of a simulation in the order of time.
 *
 * A shared resource (a link, a memory channel, a port) accepts requests in the order of their arrival. The simulator
 * therefore posts every arrival here, and acts on it when it takes the event out, instead of at the time of the
 * request. Events are ordered by time, then by the number of the resource, then by the resource's input port, then by
 * posting. The order does not depend on how the host posts the events, if each port's own events are posted in their
 * order. For threads time_queue.hpp guarantees that. Times are the caller's, in picoseconds; the core has no clock. One
 * owner at a time. */
#ifndef TLMALLOC_BASE_EVENT_QUEUE_H
#define TLMALLOC_BASE_EVENT_QUEUE_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The action at the event's time, which is `at_ps`. */
typedef void (*tla_event_action)(void *context, uint64_t at_ps);

typedef struct tla_event {
    uint64_t at_ps;
    uint32_t resource, port; /* resource and port of the arrival: they order events of one time */
    tla_event_action action;
    void *context;
} tla_event;

typedef struct tla_event_queue tla_event_queue;

/* TLA_NO_HOST_MEMORY; *queue is NULL then. */
tla_status tla_event_queue_create(tla_event_queue **queue);

/* Destroys the queue with its remaining events. NULL is allowed. */
void tla_event_queue_destroy(tla_event_queue *queue);

/* Adds an event. TLA_NO_HOST_MEMORY: it was not added. */
tla_status tla_event_queue_post(tla_event_queue *queue, const tla_event *event);

/* Returns the time of the next event; UINT64_MAX for an empty queue. */
uint64_t tla_event_queue_next_ps(tla_event_queue *queue);

/* Returns whether an event of the resource at at_ps would be the next event. */
bool tla_event_queue_would_be_next(tla_event_queue *queue, uint64_t at_ps, uint32_t resource);

/* Takes the next event out; returns false for an empty queue. */
bool tla_event_queue_take(tla_event_queue *queue, tla_event *event);

/* Returns the number of events, including those of islands. */
size_t tla_event_queue_count(const tla_event_queue *queue);

/* ---- islands: resources whose events can wait ----
 *
 * For a while the events of some resources may affect no other resource, for example when a PE's DMA moves bytes of its
 * own slice. The simulator can leave such an island behind: the queue keeps events for its resources apart. The
 * simulator later lets the island catch up, in the same order and with the same times. That costs less than visiting
 * all islands at every time. An access from outside to one of its resources, or to their contents, lets the island
 * catch up first. */

/* Adds an island without resources, number 1 or more. TLA_NO_HOST_MEMORY. */
tla_status tla_event_queue_add_island(tla_event_queue *queue, uint32_t *island);

/* Puts the resource on an island (0: on no island). No event of the resource may have been posted yet.
 * TLA_NO_HOST_MEMORY. */
tla_status tla_event_queue_put_on_island(tla_event_queue *queue, uint32_t resource, uint32_t island);

/* Returns the island of a resource; 0: no island. */
uint32_t tla_event_queue_island_of(const tla_event_queue *queue, uint32_t resource);

/* Returns whether the island is left behind. */
bool tla_event_queue_is_left(const tla_event_queue *queue, uint32_t island);

/* Leaves an island behind. Returns false, and changes nothing, if it already is, or if the queue has events of its
 * resources. */
bool tla_event_queue_leave(tla_event_queue *queue, uint32_t island);

/* Takes the next event of an island that was left behind, if it precedes an event like `before`. Only time, resource
 * and port of `before` count. */
bool tla_event_queue_take_left(tla_event_queue *queue, uint32_t island, const tla_event *before, tla_event *event);

/* Joins an island and its events with the others again. After TLA_NO_HOST_MEMORY some events have not joined yet; the
 * next call joins them. */
tla_status tla_event_queue_join(tla_event_queue *queue, uint32_t island);

#ifdef __cplusplus
}
#endif
#endif
