/* The common code of the fronts over an arena. */
#include "front.h"

tla_stack_stats tla_front_stats_over_arena(const tla_stack *stack, uint64_t peak_reserved) {
    tla_arena_stats list = tla_arena_get_stats(stack->arena);
    const uint64_t taken = list.used, used = stack->restored + stack->used;
    list.used = used;
    list.peak_used = stack->restored + stack->peak_used;
    list.free = list.capacity - used;
    return (tla_stack_stats){list, taken - used, peak_reserved};
}
