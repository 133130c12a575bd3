/* Replays a trace on an arena of the core: no simulated time, as fast as the host can. */
#ifndef TLMALLOC_PLATFORM_CLI_ARENA_REPLAY_H
#define TLMALLOC_PLATFORM_CLI_ARENA_REPLAY_H

#include "tlmalloc/arena.h"
#include "trace/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLACEMENT_FAILED UINT64_MAX

/* What became of one allocation of a trace. */
typedef struct placement {
    uint64_t offset; /* PLACEMENT_FAILED: it got none */
    uint64_t nodes_visited;
} placement;

/* Why an allocation failed. */
typedef struct replay_failure {
    size_t allocation; /* index in the trace */
    tla_error error;
} replay_failure;

enum { REPLAY_FAILURES_TOLD = 3 };

typedef struct replay_result {
    uint64_t allocs; /* all that the trace asks for, failed ones too */
    uint64_t frees;  /* done: a free of an allocation that failed is ignored */
    uint64_t failed;
    uint64_t peak_used_bytes; /* as the arena counts, rounding included */
    uint64_t nodes_visited;   /* by all allocations, failed ones too */
    double wall_s;
    placement *placements;                         /* one for each allocation of the trace, in its order */
    replay_failure failures[REPLAY_FAILURES_TOLD]; /* the first few */
} replay_result;

/* Plays every event of a trace on a new arena; requests are rounded up to a multiple of `align`, a power of two. Failed
 * allocations are a result, not an error. An error leaves *result empty. */
tla_status arena_replay(const alloc_trace *trace, const tla_arena_config *config, uint64_t align, replay_result *result,
                        tla_error *error);

void replay_result_clear(replay_result *result);

#ifdef __cplusplus
}
#endif
#endif
