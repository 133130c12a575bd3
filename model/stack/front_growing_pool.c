/* The growing pool as a front: it grows by blocks of the arena, from nothing, without a maximum. */
#include "front.h"

#include "tlmalloc/cache/driver_pools.h"

static tla_status make(tla_stack *stack, tla_error *error) {
    (void)error;
    const tla_growing_pool_config config = {.driver = tla_arena_upstream(&stack->set)};
    tla_growing_pool *pool;
    const tla_status status = tla_growing_pool_create(&config, &pool);
    stack->state = pool;
    return status;
}

static void destroy(tla_stack *stack) {
    tla_growing_pool_destroy(stack->state); /* what still lives is no news: TLA_LEAK */
}

static tla_status alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    return tla_growing_pool_alloc(stack->state, request->nbytes, granted, work);
}

static uint64_t granted(const tla_stack *stack, tla_block block) {
    return tla_growing_pool_granted(stack->state, block.offset);
}

static tla_status give_back(tla_stack *stack, tla_block block, tla_work *work) {
    return tla_growing_pool_free(stack->state, block, work);
}

static tla_status trim(tla_stack *stack, tla_work *work) {
    return tla_growing_pool_trim(stack->state, work);
}

static uint64_t trim_serves(const tla_stack *stack, const tla_stack_request *request) {
    return tla_growing_pool_trim_serves(stack->state, request->nbytes);
}

static uint64_t takes(const tla_stack *stack, const tla_stack_request *request) {
    (void)stack;
    return tla_growing_pool_round(request->nbytes);
}

static tla_status explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                          tla_error *error) {
    return tla_growing_pool_explain(stack->state, what, request->nbytes, error);
}

static tla_stack_stats stats(const tla_stack *stack) {
    const tla_growing_pool_stats pool = tla_growing_pool_get_stats(stack->state);
    return tla_front_stats_over_arena(stack, pool.peak_reserved);
}

const tla_front_kind tla_front_growing_pool = {.name = "growing_pool",
                                               .over_placement = true,
                                               .make = make,
                                               .destroy = destroy,
                                               .alloc = alloc,
                                               .granted = granted,
                                               .free = give_back,
                                               .trim = trim,
                                               .trim_serves = trim_serves,
                                               .takes = takes,
                                               .explain = explain,
                                               .stats = stats};
