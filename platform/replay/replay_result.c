/* The result of the replay of a trace. */
#include "replay/replay_result.h"

#include <inttypes.h>
#include <stdlib.h>

tla_status replay_result_create(const alloc_trace *trace, bool timed, replay_result *result, tla_error *error) {
    size_t room = trace->allocation_count + 1;
    *result = (replay_result){.timed = timed, .placements = malloc(room * sizeof *result->placements)};
    if (timed) result->latencies = calloc(room, sizeof *result->latencies);
    if (timed) result->free_latencies = calloc(room, sizeof *result->free_latencies);
    if (result->placements && ((result->latencies && result->free_latencies) || !timed)) return TLA_OK;
    replay_result_clear(result);
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the placements");
}

void replay_result_clear(replay_result *result) {
    free(result->placements);
    free(result->latencies);
    free(result->free_latencies);
    *result = (replay_result){0};
}

void replay_result_alloc(replay_result *result, const alloc_trace *trace, size_t index, tla_block granted,
                         uint64_t nodes_visited) {
    result->allocs++;
    result->nodes_visited += nodes_visited;
    result->placements[index] = (placement){granted.offset, granted.nbytes, nodes_visited};
    result->requested_bytes += trace->allocations[index].nbytes;
    result->used_bytes += granted.nbytes;
    if (result->used_bytes > result->peak_used_bytes) result->peak_used_bytes = result->used_bytes;
    if (result->requested_bytes > result->peak_requested_bytes) {
        result->peak_requested_bytes = result->requested_bytes;
        result->used_at_peak_bytes = result->used_bytes;
    }
}

tla_error *replay_result_failure(replay_result *result, size_t index, uint64_t nodes_visited) {
    result->allocs++;
    result->nodes_visited += nodes_visited;
    result->placements[index] = (placement){PLACEMENT_FAILED, 0, nodes_visited};
    if (result->failed++ >= REPLAY_FAILURES_TOLD) return NULL;
    replay_failure *failure = &result->failures[result->failed - 1];
    failure->allocation = index;
    return &failure->error;
}

void replay_result_free(replay_result *result, const alloc_trace *trace, size_t index) {
    result->frees++;
    result->requested_bytes -= trace->allocations[index].nbytes;
    result->used_bytes -= result->placements[index].granted_bytes;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

replay_latency replay_latency_of(uint64_t *latencies, size_t n) {
    if (n == 0) return (replay_latency){0};
    qsort(latencies, n, sizeof *latencies, by_value);
    replay_latency latency = {
        .p50_ps = latencies[(n + 1) / 2 - 1], .p99_ps = latencies[n - n / 100 - 1], .max_ps = latencies[n - 1]};
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(latency.total_ps, latencies[i], &latency.total_ps)) latency.total_ps = UINT64_MAX;
    return latency;
}

void replay_result_finish(replay_result *result) {
    if (!result->timed) return;
    result->latency = replay_latency_of(result->latencies, (size_t)result->allocs);
    result->free_latency = replay_latency_of(result->free_latencies, (size_t)result->frees);
}

static double missing_part(uint64_t part, uint64_t whole) {
    return whole > part ? 1.0 - (double)part / (double)whole : 0.0;
}

double replay_internal_fragmentation(const replay_result *result) {
    return missing_part(result->peak_requested_bytes, result->used_at_peak_bytes);
}

double replay_external_fragmentation(const replay_result *result) {
    return missing_part(result->used_at_peak_bytes, result->reserved_bytes);
}

double replay_reserved_over_peak(const replay_result *result) {
    return result->peak_requested_bytes ? (double)result->reserved_bytes / (double)result->peak_requested_bytes : 0.0;
}

tla_status replay_arrival_ps(const alloc_trace *trace, size_t event, double speed, uint64_t *arrival_ps,
                             tla_error *error) {
    double ps = (double)(trace->events[event].time_ns - trace->events[0].time_ns) * 1000.0 / speed;
    if (!(ps < 0x1p63))
        return tla_error_set(error, TLA_OUT_OF_RANGE,
                             "event %zu of the trace is %.4g s after the first, more than 2^63 ps of simulated time: "
                             "shorten the trace with a greater --speed",
                             event + 1, ps * 1e-12);
    *arrival_ps = (uint64_t)ps;
    return TLA_OK;
}
