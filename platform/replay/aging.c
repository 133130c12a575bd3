/* Arenas that have been used. */
#include "replay/aging.h"

#include "tlmalloc/arena/arena.h"

#include <stdlib.h>

size_t aging_events_to_peak(const alloc_trace *trace) {
    uint64_t used = 0, peak = 0;
    size_t count = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        uint64_t nbytes = trace->allocations[trace->events[i].allocation].nbytes;
        used += trace->events[i].is_free ? -nbytes : nbytes;
        if (used <= peak) continue;
        peak = used;
        count = i + 1;
    }
    return count;
}

tla_status aging_play(const alloc_trace *trace, size_t events, tla_policy policy, const allocator_config *config,
                      trace_allocator *made, replay_result *result, tla_error *error) {
    const tla_status status = allocator_create(tla_policy_name(policy), config, made, error);
    if (status) return status;
    alloc_trace part = *trace; /* the beginning of it */
    part.event_count = events;
    return trace_replay(&part, made, NULL, result, error);
}

tla_status aging_text(const tla_arena *arena, char **text, size_t *length, tla_error *error) {
    tla_status status = tla_arena_snapshot(arena, NULL, 0, length);
    if (status && status != TLA_LIMIT) return tla_error_set(error, status, "snapshot: %s", tla_status_text(status));
    *text = malloc(*length + 1);
    if (!*text) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the snapshot");
    status = tla_arena_snapshot(arena, *text, *length + 1, length);
    return status ? tla_error_set(error, status, "snapshot: %s", tla_status_text(status)) : TLA_OK;
}
