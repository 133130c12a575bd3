/* The mixed pool as a front: tensors by LMCache's alignment in front, plain buffers in a region at the end. */
#include "front.h"

#include <inttypes.h>

static uint64_t alignment_of(const tla_stack_config *c) {
    return c->alignment > TLA_MIXED_POOL_ALIGNMENT ? c->alignment : TLA_MIXED_POOL_ALIGNMENT;
}

static tla_status check(const tla_stack_config *c, tla_error *error) {
    const uint64_t alignment = c->alignment ? c->alignment : 1;
    if (c->sizes.buffers >= c->capacity)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%" PRIu64 " bytes for plain buffers: must be less than the %" PRIu64
                             " bytes of the memory",
                             c->sizes.buffers, c->capacity);
    if ((c->capacity - c->sizes.buffers) % alignment)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "plain buffers begin at byte %" PRIu64
                             " of the memory: must be a multiple of the alignment, %" PRIu64,
                             c->capacity - c->sizes.buffers, alignment);
    if (c->base != 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensors begin at %" PRIu64 ": must begin at 0", c->base);
    return TLA_OK;
}

static tla_status make(tla_stack *stack, tla_error *error) {
    (void)error;
    const tla_stack_config *c = &stack->config;
    const uint64_t buffers = c->capacity > 0 ? c->sizes.buffers : 0;
    const tla_mixed_pool_config config = {.nbytes = c->capacity - buffers,
                                          .alignment = alignment_of(c),
                                          .policy = tla_stack_placement(c->policy),
                                          .buffer_nbytes = buffers,
                                          .buffer_alignment = c->alignment,
                                          .batch = TLA_BATCH_CARVED};
    tla_mixed_pool *pool;
    const tla_status status = tla_mixed_pool_create(&config, &pool);
    stack->state = pool;
    return status;
}

static void destroy(tla_stack *stack) {
    tla_mixed_pool_destroy(stack->state); /* what still lives is no news: TLA_LEAK */
}

static bool has_region(const tla_stack *stack) {
    return stack->config.sizes.buffers > 0 && stack->config.capacity > 0;
}

static tla_memory_format format_of(const tla_stack_request *request) {
    return request->format == TLA_FORMAT_UNDEFINED ? TLA_FORMAT_KV_2LTD : request->format;
}

/* A memory without a region for plain buffers has no byte for them: the host's is no memory of the model's. */
static tla_status alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    const tla_memory_format format = format_of(request);
    if (format == TLA_FORMAT_BINARY_BUFFER && !has_region(stack)) return TLA_EXHAUSTED;
    tla_mixed_pool_block block;
    const tla_status status = tla_mixed_pool_alloc(stack->state, format, request->nbytes, 1, &block, work);
    if (!status) *granted = (tla_block){block.address, block.capacity};
    return status;
}

/* Where a request of nothing but plain buffers finds no region, that is why. */
static tla_status explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                          tla_error *error) {
    const tla_memory_format format = format_of(request);
    if (format != TLA_FORMAT_BINARY_BUFFER || has_region(stack))
        return tla_mixed_pool_explain(stack->state, what, format, request->nbytes, 1, error);
    tla_error_set(error, TLA_EXHAUSTED,
                  "%s overflow: requested %" PRIu64 " bytes of plain buffers, for which 0 bytes are reserved", what,
                  request->nbytes);
    if (error) error->requested = request->nbytes;
    return TLA_EXHAUSTED;
}

static uint64_t granted(const tla_stack *stack, tla_block block) {
    return tla_mixed_pool_block_at(stack->state, block.offset, block.nbytes).capacity;
}

static tla_status give_back(tla_stack *stack, tla_block block, tla_work *work) {
    tla_mixed_pool_block given = tla_mixed_pool_block_at(stack->state, block.offset, block.nbytes);
    return tla_mixed_pool_free(stack->state, &given, 1, work);
}

static tla_stack_stats stats(const tla_stack *stack) {
    const tla_mixed_pool_stats pool = tla_mixed_pool_get_stats(stack->state);
    const uint64_t largest = pool.region.largest_free;
    return (tla_stack_stats){.memory = {.capacity = stack->config.capacity,
                                        .used = stack->used,
                                        .peak_used = stack->peak_used,
                                        .free = stack->config.capacity - stack->used,
                                        .largest_free = pool.largest_free > largest ? pool.largest_free : largest,
                                        .free_blocks = pool.free_blocks + pool.region.free_blocks},
                             .peak_reserved = stack->peak_used};
}

const tla_front_kind tla_front_mixed = {.name = "mixed",
                                        .over_placement = true,
                                        .has_own_ranges = true,
                                        .check = check,
                                        .make = make,
                                        .destroy = destroy,
                                        .alloc = alloc,
                                        .granted = granted,
                                        .free = give_back,
                                        .explain = explain,
                                        .stats = stats};
