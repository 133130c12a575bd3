/* How much memory an allocator needs for a trace. */
#ifndef TLMALLOC_PLATFORM_REPLAY_REPLAY_FIT_H
#define TLMALLOC_PLATFORM_REPLAY_REPLAY_FIT_H

#include "replay/allocators.h"
#include "trace/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct replay_fit {
    uint64_t capacity; /* no request failed when the trace was played on this much; 0: none was found */
    uint64_t failed;   /* some request failed on this, less than `capacity` by at most the resolution; 0: `capacity` is
                          the most that is requested, and nothing less can do */
    uint64_t resolution; /* bytes */
} replay_fit;

/* Searches for the smallest capacity on which no request of a trace fails. It goes up from the peak of requested bytes
 * in growing steps to the first success, then bisects to the resolution, a 1024th of that peak (in multiples of the
 * alignment, or of whole slots). More memory does not always help: a larger capacity may fail again, and a smaller one
 * succeed; the returned capacity was replayed. No search if a request fits in no slot. The configuration's own capacity
 * has no influence; an arena from a snapshot has its size, and there is no search. TLA_NO_HOST_MEMORY. */
tla_status replay_find_fit(const alloc_trace *trace, const char *name, const allocator_config *config, replay_fit *fit,
                           tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
