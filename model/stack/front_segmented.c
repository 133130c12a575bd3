/* LMCache's segments as a front: first fit in a range with borders, to which time adds segments. */
#include "front.h"

#include "front_ranges.h"
#include "tlmalloc/cache/segmented_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct segmented_front {
    tla_segmented_memory *memory; /* NULL: the memory has no bytes */
    uint32_t failed;              /* attempts to add the next segment */
} segmented_front;

static tla_status check(const tla_stack_config *c, tla_error *error) {
    if (c->sizes.chunk_ps > 0 && c->sizes.initial == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "0 initial bytes: must be at least 1");
    return tla_front_check_segments(c, error);
}

static tla_status make(tla_stack *stack, tla_error *error) {
    (void)error;
    const tla_stack_config *c = &stack->config;
    const uint64_t all = c->capacity - c->capacity % c->alignment;
    segmented_front *s = calloc(1, sizeof *s);
    if (!s) return TLA_NO_HOST_MEMORY;
    stack->state = s;
    if (all == 0) return TLA_OK;
    const tla_segmented_config config = {.initial = c->sizes.chunk_ps > 0 ? c->sizes.initial : all,
                                         .final = all,
                                         .segment = c->sizes.segment,
                                         .alignment = c->alignment,
                                         .page = 1};
    return tla_segmented_create(&config, &s->memory);
}

static void destroy(tla_stack *stack) {
    segmented_front *s = stack->state;
    tla_segmented_destroy(s->memory);
    free(s);
}

static tla_segmented_memory *memory_of(const tla_stack *stack) {
    const segmented_front *s = stack->state;
    return s->memory;
}

/* The end of the next attempt. */
static bool next_growth(const tla_stack *stack, uint64_t *when_ps) {
    const uint64_t attempt_ps = stack->config.sizes.chunk_ps;
    uint64_t begin_ps;
    if (!memory_of(stack) || !tla_segmented_next_attempt(memory_of(stack), &begin_ps)) return false;
    *when_ps = begin_ps > UINT64_MAX - attempt_ps ? UINT64_MAX : begin_ps + attempt_ps;
    return true;
}

static tla_status advance(tla_stack *stack, uint64_t now_ps, tla_work *work) {
    segmented_front *s = stack->state;
    for (uint64_t end_ps; next_growth(stack, &end_ps) && end_ps <= now_ps;) {
        const bool success = s->failed >= stack->config.sizes.failures;
        const tla_status status = tla_segmented_attempted(s->memory, success, end_ps);
        if (status) return status;
        s->failed = success ? 0 : s->failed + 1;
        if (success && work) work->nodes_created++;
    }
    return TLA_OK;
}

static tla_status alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    return memory_of(stack) ? tla_segmented_alloc(memory_of(stack), request->nbytes, 1, granted, work) : TLA_EXHAUSTED;
}

static uint64_t granted(const tla_stack *stack, tla_block block) {
    (void)stack;
    return block.nbytes;
}

static tla_status give_back(tla_stack *stack, tla_block block, tla_work *work) {
    return memory_of(stack) ? tla_segmented_free(memory_of(stack), block, work) : TLA_OUT_OF_RANGE;
}

static tla_stack_stats stats(const tla_stack *stack) {
    const tla_segmented_memory *m = memory_of(stack);
    tla_arena_stats all = {0};
    for (uint32_t i = 0; m && i < tla_segmented_present(m); i++) {
        const tla_arena_stats of = tla_arena_get_stats(tla_segmented_arena(m, i));
        tla_front_add_stats(&all, &of);
    }
    return tla_front_stats_of_ranges(stack, all);
}

/* What has appeared, and when more may appear. */
static void tell_growth(const tla_stack *stack, tla_error *error) {
    const tla_segmented_memory *m = memory_of(stack);
    if (!m || tla_segmented_present(m) == tla_segmented_planned(m)) return;
    char next[64] = "growth has ended";
    uint64_t when_ps;
    if (next_growth(stack, &when_ps)) snprintf(next, sizeof next, "the next attempt ends at %" PRIu64 " ps", when_ps);
    const size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used, "; %" PRIu32 " segments of %" PRIu32 " are there, %s",
             tla_segmented_present(m), tla_segmented_planned(m), next);
}

static tla_status explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                          tla_error *error) {
    const tla_segmented_memory *m = memory_of(stack);
    if (m && request->nbytes > tla_segmented_largest(m)) {
        tla_error_set(error, TLA_OUT_OF_RANGE,
                      "%s overflow: requested %" PRIu64 " bytes, but no segment will ever have more than %" PRIu64,
                      what, request->nbytes, tla_segmented_largest(m));
        if (error) error->requested = request->nbytes;
        return TLA_OUT_OF_RANGE;
    }
    const tla_status status =
        tla_front_explain_ranges(stack, what, request->nbytes, m ? tla_segmented_present(m) : 0, error);
    if (error) tell_growth(stack, error);
    return status;
}

const tla_front_kind tla_front_segmented = {.name = "segmented",
                                            .over_placement = false,
                                            .has_own_ranges = true,
                                            .check = check,
                                            .make = make,
                                            .destroy = destroy,
                                            .alloc = alloc,
                                            .granted = granted,
                                            .free = give_back,
                                            .next_growth = next_growth,
                                            .advance = advance,
                                            .explain = explain,
                                            .stats = stats};
