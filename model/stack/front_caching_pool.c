/* The caching pool as a front: one device, whose driver is the arena. */
#include "front.h"

#include "tlmalloc/cache/driver_pools.h"

static tla_status make(tla_stack *stack, tla_error *error) {
    (void)error;
    const tla_caching_pool_config config = {.driver = tla_arena_upstream(&stack->set)};
    tla_caching_pool *pool;
    const tla_status status = tla_caching_pool_create(&config, &pool);
    stack->state = pool;
    return status;
}

static void destroy(tla_stack *stack) {
    tla_caching_pool_destroy(stack->state); /* what still lives is no news: TLA_LEAK */
}

static tla_status alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    tla_pool_buffer buffer;
    const tla_status status = tla_caching_pool_acquire(stack->state, 0, request->nbytes, &buffer, work);
    if (!status) *granted = (tla_block){buffer.address, buffer.capacity};
    return status;
}

/* Its pool looks whether the block is live when it is released. */
static uint64_t granted(const tla_stack *stack, tla_block block) {
    (void)stack;
    return tla_caching_pool_class(block.nbytes);
}

static tla_status release(tla_stack *stack, tla_block block, tla_work *work) {
    const tla_pool_buffer buffer = {
        .address = block.offset, .nbytes = block.nbytes, .capacity = tla_caching_pool_class(block.nbytes)};
    return tla_caching_pool_release(stack->state, buffer, work);
}

static tla_status trim(tla_stack *stack, tla_work *work) {
    return tla_caching_pool_trim(stack->state, 0, 0, work);
}

static uint64_t trim_serves(const tla_stack *stack, const tla_stack_request *request) {
    return tla_caching_pool_trim_serves(stack->state, 0, request->nbytes);
}

static uint64_t takes(const tla_stack *stack, const tla_stack_request *request) {
    (void)stack;
    const uint64_t class = tla_caching_pool_class(request->nbytes);
    return class ? class : UINT64_MAX;
}

static tla_status explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                          tla_error *error) {
    return tla_caching_pool_explain(stack->state, what, 0, request->nbytes, error);
}

static tla_stack_stats stats(const tla_stack *stack) {
    const tla_caching_pool_stats pool = tla_caching_pool_get_stats(stack->state, 0);
    return tla_front_stats_over_arena(stack, pool.peak_reserved);
}

const tla_front_kind tla_front_caching_pool = {.name = "caching_pool",
                                               .over_placement = true,
                                               .make = make,
                                               .destroy = destroy,
                                               .alloc = alloc,
                                               .granted = granted,
                                               .free = release,
                                               .trim = trim,
                                               .trim_serves = trim_serves,
                                               .takes = takes,
                                               .explain = explain,
                                               .stats = stats};
