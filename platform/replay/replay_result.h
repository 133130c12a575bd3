/* The result of the replay of a trace, for every kind of allocator. */
#ifndef TLMALLOC_PLATFORM_REPLAY_REPLAY_RESULT_H
#define TLMALLOC_PLATFORM_REPLAY_REPLAY_RESULT_H

#include "tlmalloc/arena/arena.h"
#include "trace/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PLACEMENT_FAILED UINT64_MAX

/* The result of one allocation of a trace. */
typedef struct placement {
    uint64_t offset; /* PLACEMENT_FAILED: it got none */
    uint64_t granted_bytes;
    uint64_t nodes_visited;
} placement;

/* Why an allocation failed. */
typedef struct replay_failure {
    size_t allocation; /* index in the trace */
    tla_error error;
} replay_failure;

enum { REPLAY_FAILURES_TOLD = 3 };

/* Simulated time from the arrival of a command to its completion, over all allocations, or over all frees that were
 * done: nearest ranks, and the sum (at most 2^64 - 1). */
typedef struct replay_latency {
    uint64_t p50_ps, p99_ps, max_ps, total_ps;
} replay_latency;

typedef struct replay_result {
    uint64_t allocs; /* all that the trace asks for, failed ones too */
    uint64_t frees;  /* done: a free of an allocation that failed is ignored */
    uint64_t failed;
    uint64_t nodes_visited; /* by all allocations, failed ones too */

    uint64_t requested_bytes, used_bytes; /* live now: as asked for, as granted */
    uint64_t peak_requested_bytes;
    uint64_t used_at_peak_bytes; /* granted when most was requested */
    uint64_t peak_used_bytes;
    uint64_t reserved_bytes; /* the range that was ever touched, or the most that was held from a driver */

    double wall_s;
    bool timed; /* latency means something */
    replay_latency latency, free_latency;
    uint64_t busy_ps;     /* the engine worked; of a replay on the core */
    uint64_t sim_time_ps; /* when the last command was done; arrivals count from that of the first event */

    placement *placements;                         /* one for each allocation of the trace, in its order */
    uint64_t *latencies;                           /* likewise, when timed; sorted once latency is known */
    uint64_t *free_latencies;                      /* of every free, in their order; likewise */
    replay_failure failures[REPLAY_FAILURES_TOLD]; /* the first few */
} replay_result;

/* Makes an empty result for a trace. TLA_NO_HOST_MEMORY. */
tla_status replay_result_create(const alloc_trace *trace, bool timed, replay_result *result, tla_error *error);
void replay_result_clear(replay_result *result);

/* Record allocations and frees as they happen; `index` is that of the allocation in the trace. For a failed allocation
 * the call returns the place for its explanation, or NULL when enough are explained. */
void replay_result_alloc(replay_result *result, const alloc_trace *trace, size_t index, tla_block granted,
                         uint64_t nodes_visited);
tla_error *replay_result_failure(replay_result *result, size_t index, uint64_t nodes_visited);
void replay_result_free(replay_result *result, const alloc_trace *trace, size_t index);

/* Returns the percentiles of n latencies, and sorts them; all 0 without one. */
replay_latency replay_latency_of(uint64_t *latencies, size_t n);

/* Latencies to percentiles. */
void replay_result_finish(replay_result *result);

/* Return the unused shares of the reserved bytes, 0 .. 1: inside granted blocks and between them, at the peak of
 * requested bytes. reserved / peak requested = 1 / ((1 - internal) * (1 - external)). */
double replay_internal_fragmentation(const replay_result *result);
double replay_external_fragmentation(const replay_result *result);
double replay_reserved_over_peak(const replay_result *result);

/* When an event arrives in simulated time, `speed` times as fast as it was recorded. TLA_OUT_OF_RANGE past 2^63 ps. */
tla_status replay_arrival_ps(const alloc_trace *trace, size_t event, double speed, uint64_t *arrival_ps,
                             tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
