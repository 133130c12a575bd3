/* When a shared resource (a link, a memory channel, an engine) serves the next request.
 *
 * A timeline is a resource with one server. Requests come in the order of their arrival, and each is served when all
 * before it are done. Whoever calls keeps that order; a request that arrives earlier than the one before it is served
 * behind it all the same. Times are picoseconds of whoever calls; the core knows no clock. */
#ifndef TLMALLOC_BASE_TIMELINE_H
#define TLMALLOC_BASE_TIMELINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_timeline {
    uint64_t free_at; /* from here on */
} tla_timeline;       /* all zero = free from time 0 */

/* Takes the resource for duration as soon as all requests before it are done, but not before arrival; returns that
 * moment. A duration of 0 takes nothing. Times saturate at UINT64_MAX. */
static inline uint64_t tla_timeline_serve(tla_timeline *timeline, uint64_t arrival, uint64_t duration) {
    const uint64_t start = timeline->free_at > arrival ? timeline->free_at : arrival;
    if (duration > 0) timeline->free_at = start > UINT64_MAX - duration ? UINT64_MAX : start + duration;
    return start;
}

/* How long nbytes occupy a resource of this bandwidth (bytes/s, > 0): picoseconds, rounded up; saturates. */
uint64_t tla_transfer_ps(uint64_t nbytes, uint64_t bandwidth_bytes_per_s);

#ifdef __cplusplus
}
#endif
#endif
