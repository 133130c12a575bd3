/* The service times of a shared resource (a link, a memory channel, an engine).
 *
 * A timeline is a resource with one server. Requests arrive in order, and each is served when all earlier requests are
 * done. The caller keeps that order. A request with an earlier arrival than its predecessor is still served after it.
 * Times are the caller's, in picoseconds; the core has no clock. */
#ifndef TLMALLOC_BASE_TIMELINE_H
#define TLMALLOC_BASE_TIMELINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_timeline {
    uint64_t free_at; /* the resource is free from this time on */
} tla_timeline;       /* all zero = free from time 0 */

/* Occupies the resource for duration as soon as all earlier requests are done, but not before arrival; returns the
 * start. A duration of 0 occupies nothing. Times saturate at UINT64_MAX. */
static inline uint64_t tla_timeline_serve(tla_timeline *timeline, uint64_t arrival, uint64_t duration) {
    const uint64_t start = timeline->free_at > arrival ? timeline->free_at : arrival;
    if (duration > 0) timeline->free_at = start > UINT64_MAX - duration ? UINT64_MAX : start + duration;
    return start;
}

/* Returns how long nbytes occupy a resource of this bandwidth (bytes/s, > 0): picoseconds, rounded up; saturates. */
uint64_t tla_transfer_ps(uint64_t nbytes, uint64_t bandwidth_bytes_per_s);

#ifdef __cplusplus
}
#endif
#endif
