/* Plays a trace on one engine of a placement, in the C core alone: each command begins when the one before is over, and
 * its cycles are those of its receipt. */
#ifndef TLMALLOC_PLATFORM_REPLAY_ENGINE_REPLAY_H
#define TLMALLOC_PLATFORM_REPLAY_ENGINE_REPLAY_H

#include "replay/replay_result.h"
#include "tlmalloc/base/work.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct engine_replay_config {
    tla_policy policy;
    uint64_t capacity;     /* bytes, 1 .. 2^62; rounded up to a whole number of units */
    uint64_t unit;         /* smallest one, bytes, a power of two */
    uint64_t units;        /* the unit doubles until the capacity has at most so many; 0: it does not */
    uint64_t nodes;        /* of the engine (tla_arena_drive); 0: as many as needed */
    tla_cost_profile cost; /* of the engine */
    bool evicts;           /* A refused request frees the oldest live block and asks again, until no block lives */
} engine_replay_config;

typedef struct engine_replay_result {
    replay_latency allocs, frees;          /* from a command to its answer */
    double behind_ps;                      /* after an answer the engine accepts no command so long, on average */
    uint64_t requests;                     /* alloc events */
    uint64_t refused, fragmented, no_node; /* ALLOCs; of these: enough bytes were free, no node was left */
    double external;                       /* mean over all commands: free bytes outside the largest hole, 0 .. 1 */
    double internal;                       /* mean likewise: bytes in live blocks that nobody asked for, 0 .. 1 */
} engine_replay_result;

/* Plays every event. A refused request is a result; a free without a block has no effect. TLA_INVALID_ARGUMENT and
 * TLA_UNSUPPORTED for an engine that cannot be, TLA_LIMIT for a free without a node, TLA_NO_HOST_MEMORY; *error has a
 * text then, and *result is undefined. */
tla_status engine_replay(const alloc_trace *trace, const engine_replay_config *config, engine_replay_result *result,
                         tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
