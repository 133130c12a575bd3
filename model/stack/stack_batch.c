/* Many blocks of a stack in one call: of the placement alone as the arena does it, of a front one by one. */
#include "front.h"

#include <stdlib.h>

static bool has_front(const tla_stack *stack) {
    return stack->front != &tla_front_none;
}

static bool is_format(tla_memory_format format) {
    return (unsigned)format < TLA_FORMAT_COUNT && format != TLA_FORMAT_BINARY;
}

/* Allocates block by block, and releases them when one allocation fails. */
static tla_status take_one_by_one(tla_stack *stack, const tla_stack_request *request, size_t n, tla_block *blocks,
                                  tla_work *work) {
    tla_status status = TLA_OK;
    size_t taken = 0;
    while (taken < n && !(status = tla_stack_alloc(stack, request, &blocks[taken], work)))
        taken++;
    while (status && taken > 0)
        tla_stack_free(stack, (tla_block){blocks[--taken].offset, request->nbytes}, work);
    return status;
}

tla_status tla_stack_alloc_batch(tla_stack *stack, const tla_stack_request *request, size_t n, tla_batch batch,
                                 tla_block *blocks, tla_work *work) {
    if (request->nbytes == 0 || !is_format(request->format)) return TLA_INVALID_ARGUMENT;
    if (has_front(stack))
        return batch == TLA_BATCH_CONTIGUOUS ? TLA_UNSUPPORTED : take_one_by_one(stack, request, n, blocks, work);
    const tla_status status = tla_arena_alloc_batch(stack->arena, request->nbytes, n, batch, blocks, work);
    if (status) tla_stack_tell_alloc(stack, request, status, NULL);
    for (size_t i = 0; i < n && !status; i++)
        tla_stack_tell_alloc(stack, request, TLA_OK, &blocks[i]);
    return status;
}

static int by_offset(const void *a, const void *b) {
    const tla_block *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

tla_status tla_stack_free_batch(tla_stack *stack, tla_block *blocks, size_t n, size_t *freed, tla_work *work) {
    *freed = 0;
    if (n == 0) return TLA_OK;
    tla_status status = TLA_OK;
    if (has_front(stack)) {
        qsort(blocks, n, sizeof *blocks, by_offset);
        for (; *freed < n && !status; *freed += !status)
            status = tla_stack_free(stack, blocks[*freed], work);
        return status;
    }
    status = tla_arena_free_batch(stack->arena, blocks, n, work);
    for (size_t i = 0; i < n && !status; i++)
        tla_stack_tell_free(stack, blocks[i]);
    if (!status) *freed = n;
    return status;
}
