/* Reports to the watch of a stack. */
#include "front.h"

void tla_stack_set_watch(tla_stack *stack, tla_stack_watch watch, void *context) {
    stack->watch = watch;
    stack->watch_context = context;
}

void tla_stack_tell_alloc(const tla_stack *stack, const tla_stack_request *request, tla_status status,
                          const tla_block *granted) {
    if (!stack->watch) return;
    const tla_stack_deed deed = {
        .status = status, .request = *request, .block = status ? (tla_block){0, 0} : *granted, .owner = stack->owner};
    stack->watch(stack->watch_context, &deed);
}

void tla_stack_tell_reserve(const tla_stack *stack, tla_block block) {
    if (!stack->watch) return;
    const tla_stack_deed deed = {
        .is_reserve = true, .request.nbytes = block.nbytes, .block = block, .owner = stack->owner};
    stack->watch(stack->watch_context, &deed);
}

void tla_stack_tell_free(const tla_stack *stack, tla_block block) {
    if (!stack->watch) return;
    const tla_stack_deed deed = {.is_free = true, .block = block, .owner = stack->owner};
    stack->watch(stack->watch_context, &deed);
}
