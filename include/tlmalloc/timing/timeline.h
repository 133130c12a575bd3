/* When a shared resource (a link, a memory channel, an engine) may serve the next request.
 *
 * Two ways to serve, of which a timeline is used in one. Where requests come in the order of their arrival,
 * tla_timeline_serve takes them one after the other. Where they do not (loosely timed models run ahead),
 * tla_timeline_reserve lets a request that is simulated later but arrives earlier take the idle gap it would have
 * found: a timeline keeps every gap until tla_timeline_forget says that nothing can arrive in it any more. Only when
 * the host's memory ends is a gap lost: the request waits then, but two requests never overlap. How far the order of
 * the calls was from that of the arrivals is counted (order.h). Times are picoseconds of whoever calls; the core knows
 * no clock. */
#ifndef TLMALLOC_TIMELINE_H
#define TLMALLOC_TIMELINE_H

#include "tlmalloc/timing/order.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_idle_gap {
    uint64_t start, end;
} tla_idle_gap;

/* Some gaps that follow each other. */
typedef struct tla_gap_group {
    uint64_t end;     /* of the last one */
    uint64_t longest; /* none is longer */
    uint32_t count;   /* at least one */
    tla_idle_gap *gaps;
} tla_gap_group;

/* Members are the timeline's own. */
typedef struct tla_timeline {
    uint64_t free_at;            /* free for good from here on */
    uint64_t gaps_end;           /* end of the last gap */
    size_t gap_count, forget_at; /* forget_at: how many gaps and bookings make forgetting worth while */
    tla_gap_group *groups;       /* in order of time */
    size_t group_count, group_room;
    tla_order_log log;
} tla_timeline; /* all zero = free from time 0 */

/* Frees what the timeline holds; it is as at the beginning then. */
void tla_timeline_destroy(tla_timeline *timeline);

/* Takes the resource for duration from the first moment at or after `earliest` when it is free that long; returns that
 * moment. A duration of 0 takes nothing and returns the first free moment. Times saturate at UINT64_MAX. Constant time
 * where the request arrives behind the last gap; else a search by halves, and past groups of gaps that are too short.
 */
uint64_t tla_timeline_reserve(tla_timeline *timeline, uint64_t earliest, uint64_t duration);

/* Takes the resource for duration as soon as all requests before it are done, but not before arrival; returns that
 * moment. Nothing is kept: requests ought to come in the order of arrival, and those that do not are counted. */
uint64_t tla_timeline_serve(tla_timeline *timeline, uint64_t arrival, uint64_t duration);

/* No request will arrive before before_ps any more (the kernel's time: nobody can call into the past); what is over by
 * then is forgotten. Costs next to nothing, so that it may be called before every request: it acts only when twice as
 * much is kept as the last time left, so that memory is bounded by what requests can still reach. */
static inline void tla_timeline_forget(tla_timeline *timeline, uint64_t before_ps);

/* How far it was from the order of arrival. */
tla_order tla_timeline_order(const tla_timeline *timeline);

/* Bytes of host memory that the timeline holds beside itself. */
size_t tla_timeline_host_bytes(const tla_timeline *timeline);

/* How long nbytes occupy a resource of this bandwidth (bytes/s, > 0): picoseconds, rounded up; saturates. */
uint64_t tla_transfer_ps(uint64_t nbytes, uint64_t bandwidth_bytes_per_s);

void tla_timeline_forget_now(tla_timeline *timeline, uint64_t before_ps); /* as above, and acts */

static inline void tla_timeline_forget(tla_timeline *timeline, uint64_t before_ps) {
    if (timeline->gap_count + timeline->log.count > timeline->forget_at) tla_timeline_forget_now(timeline, before_ps);
}

#ifdef __cplusplus
}
#endif
#endif
