/* The segment cache as a front: PyTorch's settings, its sizes in proportion to the segment. */
#include "front.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS_OF_SEGMENT = 20, UNIT_OF_UNIT = 512 };
static const uint64_t pytorch_segment = UINT64_C(20) << 20;
static const uint64_t granule = 2 << 20; /* which every expandable range begins on a multiple of */

typedef struct front_state {
    tla_segment_cache *cache;
    tla_arena_ranges *ranges; /* below it, with expandable segments */
    bool aborted;             /* at the last request, as older versions of PyTorch do */
} front_state;

static uint64_t segment_of(const tla_stack_config *c) {
    return c->sizes.segment ? c->sizes.segment : pytorch_segment;
}

static tla_status check(const tla_stack_config *c, tla_error *error) {
    const uint64_t segment = segment_of(c);
    if (segment % (UNITS_OF_SEGMENT * UNIT_OF_UNIT) || segment / UNITS_OF_SEGMENT > TLA_SEGMENT_UNIT_MAX)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "a segment of %" PRIu64
                             " bytes: must be a multiple of 10 KiB, so that 1/20 of it is a multiple of 512 bytes",
                             segment);
    if (!c->segments.expandable) return TLA_OK;
    if (c->validate || segment != pytorch_segment)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "expandable segments do not support %s: their addresses are virtual",
                             c->validate ? "validation" : "a segment other than 20 MiB");
    if (c->alignment > granule)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "an alignment of %" PRIu64 " bytes: must be at most %" PRIu64
                             ", the granule of expandable segments",
                             c->alignment, granule);
    return TLA_OK;
}

static void destroy(tla_stack *stack) {
    front_state *front = stack->state;
    tla_segment_cache_destroy(front->cache); /* what still lives is no news: TLA_LEAK */
    tla_arena_ranges_destroy(front->ranges);
    free(front);
}

/* The settings, with the unit of the stack's segment. */
static tla_segment_cache_config settings_of(const tla_stack_config *c) {
    tla_segment_cache_config config = c->segments;
    config.unit = c->sizes.segment == pytorch_segment ? 0 : c->sizes.segment / UNITS_OF_SEGMENT;
    return config;
}

static tla_status make(tla_stack *stack, tla_error *error) {
    (void)error;
    const tla_stack_config *c = &stack->config;
    front_state *front = calloc(1, sizeof *front);
    if (!front) return TLA_NO_HOST_MEMORY;
    stack->state = front;
    tla_segment_cache_config config = settings_of(c);
    config.driver = tla_arena_upstream(&stack->set);
    config.device = 0;
    config.device_bytes = c->capacity;
    tla_status status = config.expandable ? tla_arena_ranges_create(&stack->set, &front->ranges) : TLA_OK;
    if (!status && config.expandable) config.ranges = tla_arena_ranges_upstream(front->ranges);
    return status ? status : tla_segment_cache_create(&config, &front->cache);
}

static uint64_t takes(const tla_stack *stack, const tla_stack_request *request) {
    const tla_segment_cache_config config = settings_of(&stack->config);
    const uint64_t rounded = tla_segment_cache_round_with(request->nbytes, &config);
    return rounded ? tla_segment_cache_segment_size_with(rounded, &config) : UINT64_MAX;
}

static tla_status alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    front_state *front = stack->state;
    const tla_status status = tla_segment_cache_alloc(front->cache, request->stream, request->nbytes, granted, work);
    front->aborted = status == TLA_UNSUPPORTED;
    return status;
}

static uint64_t granted(const tla_stack *stack, tla_block block) {
    const front_state *front = stack->state;
    return tla_segment_cache_granted(front->cache, block.offset);
}

static tla_status give_back(tla_stack *stack, tla_block block, tla_work *work) {
    const front_state *front = stack->state;
    if (tla_segment_cache_requested(front->cache, block.offset) != block.nbytes) return TLA_SIZE_MISMATCH;
    return tla_segment_cache_free(front->cache, block.offset, work);
}

static tla_status trim(tla_stack *stack, tla_work *work) {
    const front_state *front = stack->state;
    return tla_segment_cache_empty(front->cache, work);
}

static tla_status explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                          tla_error *error) {
    const front_state *front = stack->state;
    if (front->aborted)
        return tla_error_set(
            error, TLA_UNSUPPORTED,
            "%s: requested %" PRIu64
            " bytes: PyTorch 2.1 to 2.4 abort when they release expandable blocks of max_split_size (#119452)",
            what, request->nbytes);
    const tla_status status = tla_segment_cache_explain(front->cache, what, request->nbytes, error);
    const uint64_t segment = takes(stack, request);
    if (error && segment > request->nbytes && error->largest_free >= request->nbytes && status != TLA_LIMIT) {
        const size_t used = strlen(error->text);
        snprintf(error->text + used, sizeof error->text - used, "; set smaller segments (controller.*_front.segment)");
    }
    return status;
}

static tla_stack_stats stats(const tla_stack *stack) {
    const front_state *front = stack->state;
    const tla_segment_cache_stats cache = tla_segment_cache_get_stats(front->cache);
    return tla_front_stats_over_arena(stack, cache.peak_reserved);
}

const tla_front_kind tla_front_segment_cache = {.name = "segment_cache",
                                                .over_placement = true,
                                                .check = check,
                                                .make = make,
                                                .destroy = destroy,
                                                .alloc = alloc,
                                                .granted = granted,
                                                .free = give_back,
                                                .trim = trim,
                                                .takes = takes,
                                                .explain = explain,
                                                .stats = stats};
