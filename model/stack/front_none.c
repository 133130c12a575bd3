/* No front: the placement alone. */
#include "front.h"

static uint64_t granted(const tla_stack *stack, tla_block block) {
    return tla_arena_granted(stack->arena, block.nbytes);
}

static tla_status explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                          tla_error *error) {
    return tla_arena_explain(stack->arena, what, request->nbytes, error);
}

static tla_stack_stats stats(const tla_stack *stack) {
    const tla_arena_stats list = tla_arena_get_stats(stack->arena);
    return (tla_stack_stats){.memory = list, .peak_reserved = list.peak_used};
}

const tla_front_kind tla_front_none = {.over_placement = true, .granted = granted, .explain = explain, .stats = stats};
