/* The lazy arena as a front: the placement is its own, and the range under it grows. */
#include "front.h"

#include "tlmalloc/cache/buffer_pools.h"

#include <inttypes.h>

static const uint64_t now_is_past = 0; /* what time has brought is let in by advance alone */

static tla_status check(const tla_stack_config *c, tla_error *error) {
    const tla_front_sizes *s = &c->sizes;
    const uint64_t alignment = c->alignment ? c->alignment : 1;
    if (s->chunk_ps == 0) return TLA_OK;
    if (s->chunk == 0 || s->chunk % alignment)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "chunks of %" PRIu64 " bytes: must be a multiple of the alignment, %" PRIu64, s->chunk,
                             alignment);
    if (c->capacity % s->chunk)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "chunks of %" PRIu64 " bytes: must divide the %" PRIu64 " bytes of the memory", s->chunk,
                             c->capacity);
    if (s->initial > c->capacity || s->initial % s->chunk)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%" PRIu64 " initial bytes: must be a multiple of a chunk, %" PRIu64
                             ", and at most the %" PRIu64 " bytes of the memory",
                             s->initial, s->chunk, c->capacity);
    if (s->commit == 0 || s->commit % s->chunk)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "a commit of %" PRIu64 " bytes: must be a multiple of a chunk, %" PRIu64, s->commit,
                             s->chunk);
    return TLA_OK;
}

static tla_status make(tla_stack *stack, tla_error *error) {
    (void)error;
    const tla_stack_config *c = &stack->config;
    tla_lazy_arena_config config = {.base = c->base,
                                    .final_bytes = c->capacity,
                                    .alignment = c->alignment,
                                    .policy = tla_stack_placement(c->policy)};
    if (c->sizes.chunk_ps == 0 || c->capacity == 0) { /* all memory exists at once */
        config.chunk_bytes = config.commit_bytes = c->alignment;
        config.initial_bytes = config.final_bytes = c->capacity - c->capacity % c->alignment; /* no block ends later */
    } else {
        config.initial_bytes = c->sizes.initial;
        config.chunk_bytes = c->sizes.chunk;
        config.commit_bytes = c->sizes.commit;
        config.chunk_ps = c->sizes.chunk_ps;
    }
    tla_lazy_arena *lazy;
    const tla_status status = tla_lazy_arena_create(&config, &lazy);
    stack->state = lazy;
    return status;
}

static void destroy(tla_stack *stack) {
    tla_lazy_arena_destroy(stack->state);
}

static bool next_growth(const tla_stack *stack, uint64_t *when_ps) {
    return tla_lazy_arena_next_commit(stack->state, when_ps);
}

static tla_status advance(tla_stack *stack, uint64_t now_ps, tla_work *work) {
    return tla_lazy_arena_advance(stack->state, now_ps, work);
}

static void pace(tla_stack *stack, const tla_lazy_pacer *pacer) {
    tla_lazy_arena_pace(stack->state, pacer);
}

static void pin(tla_stack *stack, uint64_t now_ps) {
    tla_lazy_arena_pin(stack->state, now_ps);
}

static uint64_t pin_waited(const tla_stack *stack, uint64_t *ready_ps) {
    return tla_lazy_arena_waited(stack->state, ready_ps);
}

static tla_status alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    return tla_lazy_arena_alloc(stack->state, now_is_past, request->nbytes, granted, work);
}

static uint64_t granted(const tla_stack *stack, tla_block block) {
    return tla_lazy_arena_granted(stack->state, block.nbytes);
}

static tla_status give_back(tla_stack *stack, tla_block block, tla_work *work) {
    return tla_lazy_arena_free(stack->state, now_is_past, block, work);
}

static tla_status explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                          tla_error *error) {
    return tla_lazy_arena_explain(stack->state, what, request->nbytes, error);
}

static tla_stack_stats stats(const tla_stack *stack) {
    const tla_arena_stats list = tla_lazy_arena_get_stats(stack->state);
    return (tla_stack_stats){.memory = list, .peak_reserved = list.peak_used};
}

const tla_front_kind tla_front_lazy = {.name = "lazy",
                                       .over_placement = true,
                                       .has_own_ranges = true,
                                       .check = check,
                                       .make = make,
                                       .destroy = destroy,
                                       .alloc = alloc,
                                       .granted = granted,
                                       .free = give_back,
                                       .next_growth = next_growth,
                                       .advance = advance,
                                       .pace = pace,
                                       .pin = pin,
                                       .pin_waited = pin_waited,
                                       .explain = explain,
                                       .stats = stats};
