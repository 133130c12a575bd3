/* What happens next: events of a simulation in the order of time.
 *
 * A shared resource (a link, a memory channel, a port) accepts requests in the order in which they arrive at it.
 * Whoever simulates therefore posts every arrival here and acts on it when it is taken out, instead of when the request
 * is made. Events come out by time, then by the number of the resource, then by the number of the resource's input
 * port, then in the order in which they were posted: the order is the same however the host came to post them, as long
 * as each port's own events are posted in their order. Times are picoseconds of whoever calls; the core
 * knows no clock. One owner at a time. */
#ifndef TLMALLOC_EVENT_QUEUE_H
#define TLMALLOC_EVENT_QUEUE_H

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

/* Takes the next event out; false when there is none. */
bool tla_event_queue_take(tla_event_queue *queue, tla_event *event);

/* Events in it. */
size_t tla_event_queue_count(const tla_event_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
