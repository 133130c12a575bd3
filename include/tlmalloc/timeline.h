/* When a shared resource (a link, a memory channel, an engine) may serve the next request.
 *
 * A timeline keeps when it is free for good, and the most recent idle gaps before that, so that a request which is
 * simulated later but arrives earlier (loosely timed models run ahead) takes the gap it would have found. Times are
 * picoseconds of whoever calls; the core knows no clock. */
#ifndef TLMALLOC_TIMELINE_H
#define TLMALLOC_TIMELINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_TIMELINE_GAPS = 8 };

typedef struct tla_timeline {
    uint64_t free_at; /* free for good from here on */
    uint32_t gap_count, first_gap;
    struct {
        uint64_t start, end;
    } gaps[TLA_TIMELINE_GAPS]; /* a ring from first_gap on, in time order; the oldest is forgotten when there are more
                                */
} tla_timeline;                /* all zero = free from time 0 */

/* Takes the resource for duration from the first moment at or after `earliest` when it is free that long; returns that
 * moment. A duration of 0 takes nothing and returns the first free moment. Times saturate at UINT64_MAX. */
uint64_t tla_timeline_reserve(tla_timeline *timeline, uint64_t earliest, uint64_t duration);

/* How long nbytes occupy a resource of this bandwidth (bytes/s, > 0): picoseconds, rounded up; saturates. */
uint64_t tla_transfer_ps(uint64_t nbytes, uint64_t bandwidth_bytes_per_s);

#ifdef __cplusplus
}
#endif
#endif
