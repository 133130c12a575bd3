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
    if (least && arena->placement->sufficient) least = arena->placement->sufficient(arena->state, least);
    if (least > nbytes)
        snprintf(r.text, sizeof r.text, " (%s needs a free block of %" PRIu64 ")",
                 tla_policy_name(arena->config.policy), least);
    return r;
}

/* The bytes that the bins of a placement prove to be in one piece, if they are less than the largest free block, and
 * the size of the search does not show it. */
static rounding proof_of(const tla_arena_stats *s, const rounding *search) {
    rounding r = {""};
    if (s->proven_largest < s->largest_free && !search->text[0])
        snprintf(r.text, sizeof r.text, ", proven %" PRIu64, s->proven_largest);
    return r;
}

/* The alignment, if it makes more of a request than the memory has: no free helps then. */
static rounding alignment_of(const tla_arena *arena, uint64_t nbytes) {
    const uint64_t mask = arena->config.alignment - 1, capacity = arena->config.capacity;
    rounding r = {""};
    if (nbytes <= capacity && ((nbytes + mask) & ~mask) > capacity)
        snprintf(r.text, sizeof r.text, "; reduce the alignment, %" PRIu64, arena->config.alignment);
    return r;
}

tla_status tla_arena_explain(const tla_arena *arena, const char *what, uint64_t nbytes, tla_error *error) {
    tla_arena_stats s = tla_arena_get_stats(arena);
    tla_status status = !tla_arena_takes_size(nbytes) ? TLA_INVALID_ARGUMENT
                        : tla_arena_lacks_node(arena, tla_arena_granted(arena, nbytes))
                            ? TLA_LIMIT
                            : tla_arena_no_fit(arena, nbytes);
    if (!error) return status;
    const rounding search = rounding_of(arena, nbytes);
    tla_error_set(error, status,
                  "%s overflow: requested %" PRIu64 " bytes%s, %" PRIu64 " free of %" PRIu64
                  ", largest free block %" PRIu64 "%s (%" PRIu64 " blocks): %s%s",
                  what, nbytes, search.text, s.free, s.capacity, s.largest_free, proof_of(&s, &search).text,
                  s.free_blocks,
                  status == TLA_EXHAUSTED    ? "exhausted"
                  : status == TLA_FRAGMENTED ? "fragmented"
                  : status == TLA_LIMIT      ? "no node is left"
                                             : "invalid size",
                  alignment_of(arena, nbytes).text);
    error->requested = nbytes;
    error->total_free = s.free;
    error->largest_free = s.largest_free;
    return status;
}
