/* The slot pool as a front: nothing is under it, the range is its slots. */
#include "front.h"

#include "tlmalloc/cache/buffer_pools.h"

#include <inttypes.h>

static const uint64_t slots_max = UINT64_C(1) << 24; /* each takes 12 bytes of the host's memory */

static tla_status check(const tla_stack_config *c, tla_error *error) {
    const uint64_t slot = c->sizes.slot, alignment = c->alignment ? c->alignment : 1;
    if (slot == 0 || c->capacity % slot)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "slots of %" PRIu64 " bytes: must divide the %" PRIu64 " bytes of the memory", slot,
                             c->capacity);
    if (c->capacity / slot > slots_max)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%" PRIu64 " slots of %" PRIu64 " bytes: must be at most %" PRIu64 " slots",
                             c->capacity / slot, slot, slots_max);
    if (slot % alignment)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "slots of %" PRIu64 " bytes: must be a multiple of the alignment, %" PRIu64, slot,
                             alignment);
    if (c->base != 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "slots begin at %" PRIu64 ": must begin at 0", c->base);
    return TLA_OK;
}

static tla_status make(tla_stack *stack, tla_error *error) {
    (void)error;
    tla_stack_config *c = &stack->config;
    if (c->capacity == 0) c->sizes.slot = 1; /* nothing looked at it */
    const tla_slot_pool_config config = {.nbytes = c->capacity, .slot_bytes = c->sizes.slot, .report_duplicates = true};
    tla_slot_pool *pool;
    const tla_status status = tla_slot_pool_create(&config, &pool);
    stack->state = pool;
    return status;
}

static void destroy(tla_stack *stack) {
    tla_slot_pool_destroy(stack->state);
}

/* A request that no slot holds, although enough bytes are free, is fragmented. */
static tla_status alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    const tla_slot_pool_stats pool = tla_slot_pool_get_stats(stack->state);
    if (request->nbytes > pool.slot_bytes)
        return request->nbytes > pool.free_slots * pool.slot_bytes ? TLA_EXHAUSTED : TLA_FRAGMENTED;
    tla_slot slot;
    const tla_status status = tla_slot_pool_alloc(stack->state, request->nbytes, &slot, work);
    if (!status) *granted = (tla_block){slot.address, pool.slot_bytes};
    return status;
}

/* The pool checks at the release whether the slot is live. */
static uint64_t granted(const tla_stack *stack, tla_block block) {
    const uint64_t slot = stack->config.sizes.slot;
    return block.offset % slot == 0 && block.offset < stack->config.capacity ? slot : 0;
}

static tla_status give_back(tla_stack *stack, tla_block block, tla_work *work) {
    const uint64_t slot = stack->config.sizes.slot;
    if (block.nbytes > slot) return TLA_SIZE_MISMATCH;
    return tla_slot_pool_free(stack->state, block.offset / slot, work);
}

static tla_status explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                          tla_error *error) {
    const tla_slot_pool_stats pool = tla_slot_pool_get_stats(stack->state);
    if (request->nbytes <= pool.slot_bytes) return tla_slot_pool_explain(stack->state, what, request->nbytes, 1, error);
    const uint64_t unused = pool.free_slots * pool.slot_bytes;
    const tla_status status = request->nbytes > unused ? TLA_EXHAUSTED : TLA_FRAGMENTED;
    tla_error_set(error, status,
                  "%s overflow: requested %" PRIu64 " bytes, a slot has %" PRIu64 "; %" PRIu64
                  " slots free of %" PRIu64,
                  what, request->nbytes, pool.slot_bytes, pool.free_slots, pool.slots);
    if (!error) return status;
    error->requested = request->nbytes;
    error->total_free = unused;
    error->largest_free = pool.free_slots ? pool.slot_bytes : 0;
    return status;
}

static tla_stack_stats stats(const tla_stack *stack) {
    const tla_slot_pool_stats pool = tla_slot_pool_get_stats(stack->state);
    const uint64_t capacity = pool.slots * pool.slot_bytes;
    return (tla_stack_stats){.memory = {.capacity = capacity,
                                        .used = stack->used,
                                        .peak_used = stack->peak_used,
                                        .free = capacity - stack->used,
                                        .largest_free = pool.free_slots ? pool.slot_bytes : 0,
                                        .free_blocks = pool.free_slots},
                             .peak_reserved = stack->peak_used};
}

const tla_front_kind tla_front_slot_pool = {.name = "slot_pool",
                                            .over_placement = false,
                                            .has_own_ranges = true,
                                            .check = check,
                                            .make = make,
                                            .destroy = destroy,
                                            .alloc = alloc,
                                            .granted = granted,
                                            .free = give_back,
                                            .explain = explain,
                                            .stats = stats};
