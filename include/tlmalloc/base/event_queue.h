/* What happens next: events of a simulation in the order of time.
 *
 * A shared resource (a link, a memory channel, a port) accepts requests in the order in which they arrive at it.
 * Whoever simulates therefore posts every arrival here and acts on it when it is taken out, instead of when the request
 * is made. Events come out by time, then by the number of the resource, then by the number of the resource's input
 * port, then in the order in which they were posted: the order is the same however the host came to post them, as long
 * as each port's own events are posted in their order. For threads time_queue.hpp sees to that. Times are picoseconds
 * of whoever calls; the core knows no clock. One owner at a time. */
#ifndef TLMALLOC_BASE_EVENT_QUEUE_H
#define TLMALLOC_BASE_EVENT_QUEUE_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What to do when the event's time has come; `at_ps` is that time. */
typedef void (*tla_event_action)(void *context, uint64_t at_ps);

typedef struct tla_event {
    uint64_t at_ps;
    uint32_t resource, port; /* of the arrival: they decide between events of one time */
    tla_event_action action;
    void *context;
} tla_event;

typedef struct tla_event_queue tla_event_queue;

/* TLA_NO_HOST_MEMORY; *queue is NULL then. */
tla_status tla_event_queue_create(tla_event_queue **queue);

/* Events that are still in it are forgotten. NULL is allowed. */
void tla_event_queue_destroy(tla_event_queue *queue);

/* Adds an event. TLA_NO_HOST_MEMORY: it was not added. */
tla_status tla_event_queue_post(tla_event_queue *queue, const tla_event *event);

/* The time of the next event; UINT64_MAX when there is none. */
uint64_t tla_event_queue_next_ps(tla_event_queue *queue);

/* Whether an event of the resource at at_ps would be the next to be taken. */
bool tla_event_queue_would_be_next(tla_event_queue *queue, uint64_t at_ps, uint32_t resource);

/* Takes the next event out; false when there is none. */
bool tla_event_queue_take(tla_event_queue *queue, tla_event *event);

/* Events in it, those of islands included. */
size_t tla_event_queue_count(const tla_event_queue *queue);

/* ---- islands: resources whose events can wait ----
 *
 * For a while the events of some resources may concern nobody else: a PE's DMA that moves bytes of its own slice. Such
 * an island is left behind: what is posted for its resources is kept apart, and whoever drives the queue lets it catch
 * up later, in the same order and as of the same times, which costs less than to go through all islands time by time.
 * Somebody from outside who comes to one of its resources, or looks at what they hold, lets it catch up first. */

/* A new island without resources, number 1 or more. TLA_NO_HOST_MEMORY. */
tla_status tla_event_queue_add_island(tla_event_queue *queue, uint32_t *island);

/* The resource lies on an island from now on (0: on none), for which no event has been posted yet. TLA_NO_HOST_MEMORY.
 */
tla_status tla_event_queue_put_on_island(tla_event_queue *queue, uint32_t resource, uint32_t island);

/* 0: on none. */
uint32_t tla_event_queue_island_of(const tla_event_queue *queue, uint32_t resource);

/* Whether it has been left. */
bool tla_event_queue_is_left(const tla_event_queue *queue, uint32_t island);

/* Leaves an island; false, and nothing changed, when it has been, or when events of its resources are in the queue. */
bool tla_event_queue_leave(tla_event_queue *queue, uint32_t island);

/* Takes out the next event of an island that has been left, if it comes before an event like `before` (of which only
 * time, resource and port are looked at). */
bool tla_event_queue_take_left(tla_event_queue *queue, uint32_t island, const tla_event *before, tla_event *event);

/* The island is one with the rest again, and so are its events. TLA_NO_HOST_MEMORY: some of them are not yet; they are
 * when it is called again. */
tla_status tla_event_queue_join(tla_event_queue *queue, uint32_t island);

#ifdef __cplusplus
}
#endif
#endif
