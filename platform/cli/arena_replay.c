/* Replays a trace on an arena of the core. */
#include "cli/arena_replay.h"
#include "cli/progress.h"

#include <stdlib.h>

enum { EVENTS_BETWEEN_PROGRESS = 4096 };

static tla_status play(const alloc_trace *trace, tla_arena *arena, uint64_t align, replay_result *result,
                       tla_error *error);

tla_status arena_replay(const alloc_trace *trace, const tla_arena_config *config, uint64_t align, replay_result *result,
                        tla_error *error) {
    *result = (replay_result){0};
    tla_arena *arena;
    tla_status status = tla_arena_create(config, &arena);
    if (status)
        return tla_error_set(error, status, "cannot make an arena of %llu bytes: %s",
                             (unsigned long long)config->capacity, tla_status_text(status));
    result->placements = malloc((trace->allocation_count + 1) * sizeof *result->placements);
    if (result->placements) {
        double begin = host_seconds();
        status = play(trace, arena, align, result, error);
        result->wall_s = host_seconds() - begin;
        result->peak_used_bytes = tla_arena_get_stats(arena).peak_used;
    } else {
        status = tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the placements");
    }
    tla_arena_destroy(arena);
    if (status) replay_result_clear(result);
    return status;
}

void replay_result_clear(replay_result *result) {
    free(result->placements);
    *result = (replay_result){0};
}

static uint64_t round_up(uint64_t nbytes, uint64_t align) {
    return (nbytes + align - 1) & ~(align - 1);
}

static tla_status play_alloc(const alloc_trace *trace, size_t index, tla_arena *arena, uint64_t align,
                             replay_result *result, tla_error *error) {
    uint64_t nbytes = round_up(trace->allocations[index].nbytes, align);
    tla_block block;
    tla_work work = {0};
    tla_status status = tla_arena_alloc(arena, nbytes, &block, &work);
    bool failed = status == TLA_EXHAUSTED || status == TLA_FRAGMENTED;
    if (status && !failed)
        return tla_error_set(error, status, "allocation %zu of the trace: %s", index + 1, tla_status_text(status));
    result->allocs++;
    result->nodes_visited += work.nodes_visited;
    result->placements[index] = (placement){failed ? PLACEMENT_FAILED : block.offset, work.nodes_visited};
    if (!failed) return TLA_OK;
    if (result->failed < REPLAY_FAILURES_TOLD) {
        replay_failure *failure = &result->failures[result->failed];
        failure->allocation = index;
        tla_arena_explain(arena, "arena", nbytes, &failure->error);
    }
    result->failed++;
    return TLA_OK;
}

static tla_status play_free(const alloc_trace *trace, size_t index, tla_arena *arena, uint64_t align,
                            replay_result *result, tla_error *error) {
    uint64_t offset = result->placements[index].offset;
    if (offset == PLACEMENT_FAILED) return TLA_OK;
    tla_block block = {offset, round_up(trace->allocations[index].nbytes, align)};
    tla_status status = tla_arena_free(arena, block, NULL);
    if (status)
        return tla_error_set(error, status, "free of allocation %zu of the trace: %s", index + 1,
                             tla_status_text(status));
    result->frees++;
    return TLA_OK;
}

static tla_status play(const alloc_trace *trace, tla_arena *arena, uint64_t align, replay_result *result,
                       tla_error *error) {
    progress_line progress = progress_begin("replay");
    tla_status status = TLA_OK;
    for (size_t i = 0; i < trace->event_count && !status; i++) {
        const trace_event *event = &trace->events[i];
        status = (event->is_free ? play_free : play_alloc)(trace, event->allocation, arena, align, result, error);
        if (i % EVENTS_BETWEEN_PROGRESS == 0) progress_update(&progress, i, trace->event_count);
    }
    progress_end(&progress);
    return status;
}
