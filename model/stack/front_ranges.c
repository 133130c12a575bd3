/* The common parts of fronts whose memory is cut into ranges. */
#include "front_ranges.h"

#include <inttypes.h>

tla_status tla_front_check_segments(const tla_stack_config *c, tla_error *error) {
    const uint64_t segment = c->sizes.segment, alignment = c->alignment ? c->alignment : 1;
    if (segment % alignment)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "segments of %" PRIu64 " bytes: must be a multiple of the alignment, %" PRIu64, segment,
                             alignment);
    if (segment > 0 && c->capacity / segment >= TLA_FRONT_SEGMENTS_MAX - 1) /* each part may have a rest */
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "segments of %" PRIu64 " bytes in a memory of %" PRIu64 ": must be at most %d segments",
                             segment, c->capacity, TLA_FRONT_SEGMENTS_MAX);
    if (c->base != 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "segments begin at %" PRIu64 ": must begin at 0", c->base);
    return TLA_OK;
}

void tla_front_add_stats(tla_arena_stats *all, const tla_arena_stats *of) {
    all->capacity += of->capacity;
    all->free += of->free;
    all->free_blocks += of->free_blocks;
    all->proven_free += of->proven_free;
    if (of->largest_free > all->largest_free) all->largest_free = of->largest_free;
    if (of->proven_largest > all->proven_largest) all->proven_largest = of->proven_largest;
}

tla_stack_stats tla_front_stats_of_ranges(const tla_stack *stack, tla_arena_stats all) {
    all.used = stack->used;
    all.peak_used = stack->peak_used;
    return (tla_stack_stats){.memory = all, .peak_reserved = stack->peak_used};
}

tla_status tla_front_explain_ranges(const tla_stack *stack, const char *what, uint64_t nbytes, uint32_t ranges,
                                    tla_error *error) {
    const tla_arena_stats s = stack->front->stats(stack).memory;
    const tla_status status = nbytes > s.free ? TLA_EXHAUSTED : TLA_FRAGMENTED;
    tla_error_set(error, status,
                  "%s overflow: requested %" PRIu64 " bytes, %" PRIu64 " free of %" PRIu64 " in %" PRIu32
                  " ranges, largest free block %" PRIu64 " (%" PRIu64 " blocks): %s",
                  what, nbytes, s.free, s.capacity, ranges, s.largest_free, s.free_blocks,
                  status == TLA_EXHAUSTED ? "exhausted" : "fragmented");
    if (!error) return status;
    error->requested = nbytes;
    error->total_free = s.free;
    error->largest_free = s.largest_free;
    return status;
}
