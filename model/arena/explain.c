/* Why an allocation failed, for a person (ADR-0048 D6). */
#include "arena_state.h"

#include <inttypes.h>
#include <stdio.h>

/* The size for which a request of nbytes searches, if it is more than nbytes; otherwise "". */
typedef struct {
    char text[80];
} rounding;

static rounding rounding_of(const tla_arena *arena, uint64_t nbytes) {
    rounding r = {""};
    uint64_t least = tla_arena_granted(arena, nbytes);
    if (least && arena->placement->sufficient) least = arena->placement->sufficient(least);
    if (least > nbytes)
        snprintf(r.text, sizeof r.text, " (%s needs a free block of %" PRIu64 ")",
                 tla_policy_name(arena->config.policy), least);
    return r;
}

tla_status tla_arena_explain(const tla_arena *arena, const char *what, uint64_t nbytes, tla_error *error) {
    tla_arena_stats s = tla_arena_get_stats(arena);
    tla_status status = tla_arena_takes_size(nbytes) ? tla_arena_no_fit(arena, nbytes) : TLA_INVALID_ARGUMENT;
    if (!error) return status;
    tla_error_set(error, status,
                  "%s overflow: requested %" PRIu64 " bytes%s, %" PRIu64 " free of %" PRIu64
                  ", largest free block %" PRIu64 " (%" PRIu64 " blocks): %s",
                  what, nbytes, rounding_of(arena, nbytes).text, s.free, s.capacity, s.largest_free, s.free_blocks,
                  status == TLA_EXHAUSTED    ? "exhausted"
                  : status == TLA_FRAGMENTED ? "fragmented"
                                             : "invalid size");
    error->requested = nbytes;
    error->total_free = s.free;
    error->largest_free = s.largest_free;
    return status;
}
