/* Plays a trace on an allocator of the core: no SystemC, as fast as the host can. */
#ifndef TLMALLOC_PLATFORM_REPLAY_TRACE_REPLAY_H
#define TLMALLOC_PLATFORM_REPLAY_TRACE_REPLAY_H

#include "replay/allocators.h"
#include "replay/replay_result.h"
#include "tlmalloc/base/work.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The simulated time of a command: the price of its receipt, on one engine behind a queue. */
typedef struct replay_timing {
    tla_cost_profile cost;
    uint32_t queue_depth; /* 1 .. TLA_COMMAND_QUEUE_DEPTH_MAX */
    double speed;         /* how much faster than recorded the commands arrive */
} replay_timing;

/* Plays every event. Failed allocations are a result, not an error. timing NULL: no simulated time. An error leaves
 * *result empty. */
tla_status trace_replay(const alloc_trace *trace, trace_allocator *allocator, const replay_timing *timing,
                        replay_result *result, tla_error *error);

/* Host time of an operation in ns: the calls of the allocator alone, best of three runs of a new allocator each. */
tla_status trace_replay_ns_per_op(const alloc_trace *trace, const char *name, const allocator_config *config,
                                  double *ns_per_op, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
