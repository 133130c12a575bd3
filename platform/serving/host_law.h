/* Steps that wait for blocks on their way to the host's memory and back: a law of steps, preceded by the moves of the
 * second tier (host_tier.h), with a bandwidth and a latency. Moves out and in of one step follow each other in the
 * order of the decisions. */
#ifndef TLMALLOC_PLATFORM_SERVING_HOST_LAW_H
#define TLMALLOC_PLATFORM_SERVING_HOST_LAW_H

#include "serving/step_law.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_host_law {
    tla_step_law inner; /* its caller's */
    tla_host_link link;
    uint64_t moved_ps;     /* decided, and not yet part of a step's time */
    uint64_t all_moved_ps; /* since the beginning */
} tla_host_law;

/* The law that stands before `law->inner`; `law` must outlive it. Saturates. */
tla_step_law tla_host_law_of(tla_host_law *law);

#ifdef __cplusplus
}
#endif
#endif
