/* The allocators on which a trace can be replayed without SystemC. */
#include "replay/allocators.h"

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/segments/segment_cache.h"

static tla_status make(trace_allocator *allocator, const tla_stack_config *stack, const allocator_config *asked,
                       tla_error *error) {
    tla_error why = {.text = ""};
    tla_status status = tla_stack_check_config(stack, &why);
    if (status)
        status = TLA_UNSUPPORTED; /* another size could do */
    else
        status = tla_stack_create(stack, &allocator->stack, &why);
    if (status) return tla_error_set(error, status, "cannot make %s: %s", allocator->name, why.text);
    return asked->snapshot ? tla_stack_restore(allocator->stack, asked->snapshot, asked->snapshot_length, error)
                           : TLA_OK;
}

/* Returns the range and the alignment of a snapshot, if one is given. */
static tla_status range_of(const allocator_config *asked, tla_stack_config *stack, tla_error *error) {
    stack->capacity = asked->capacity;
    stack->alignment = asked->alignment;
    if (!asked->snapshot) return TLA_OK;
    tla_arena_config found;
    const tla_status status = tla_arena_snapshot_config(asked->snapshot, asked->snapshot_length, &found, error);
    if (status) return status;
    stack->base = found.base;
    stack->capacity = found.capacity;
    stack->alignment = found.alignment;
    /* Without a front it has live blocks to free, and an owner for each. */
    stack->validate = found.validate && tla_stack_front(stack->policy) == TLA_FRONT_NONE;
    return TLA_OK;
}

tla_status allocator_create(const char *name, const allocator_config *asked, trace_allocator *out, tla_error *error) {
    *out = (trace_allocator){.lowest = UINT64_MAX};
    tla_stack_config stack = {.sizes = asked->sizes};
    stack.sizes.chunk_ps = 0; /* no clock runs here, so all memory exists from the beginning */
    tla_status status = tla_stack_policy_parse(name, &stack.policy, error);
    if (!status) status = range_of(asked, &stack, error);
    if (!status && asked->segment_version)
        status = tla_segment_version_parse(asked->segment_version, &stack.segments, error);
    if (!status && asked->segment_settings)
        status = tla_segment_settings_parse(asked->segment_settings, &stack.segments, error);
    if (status) return status;
    tla_stack_policy_print(stack.policy, out->name, sizeof out->name);
    status = make(out, &stack, asked, error);
    if (status) allocator_destroy(out);
    return status;
}

void allocator_destroy(trace_allocator *allocator) {
    tla_stack_destroy(allocator->stack);
    allocator->stack = NULL;
}

tla_stack_request allocator_request(const trace_allocation *asked) {
    return (tla_stack_request){
        .nbytes = asked->nbytes, .stream = asked->stream, .format = (tla_memory_format)asked->format};
}

static void note_range(trace_allocator *a, const tla_block *granted) {
    if (granted->offset < a->lowest) a->lowest = granted->offset;
    if (granted->offset + granted->nbytes > a->highest) a->highest = granted->offset + granted->nbytes;
}

tla_status allocator_alloc(trace_allocator *a, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    const tla_status status = tla_stack_alloc(a->stack, request, granted, work);
    if (!status) note_range(a, granted);
    return status;
}

tla_status allocator_take(trace_allocator *a, const trace_allocation *asked, tla_block *granted, tla_work *work) {
    const tla_stack_request request = allocator_request(asked);
    const tla_block place = {asked->offset, asked->nbytes};
    if (!asked->is_placed || tla_stack_reserve(a->stack, place, work))
        return allocator_alloc(a, &request, granted, work);
    *granted = (tla_block){place.offset, tla_stack_granted(a->stack, place)};
    note_range(a, granted);
    return TLA_OK;
}

tla_status allocator_free(trace_allocator *a, uint64_t offset, uint64_t nbytes, tla_work *work) {
    return tla_stack_free(a->stack, (tla_block){offset, nbytes}, work);
}

tla_status allocator_explain(const trace_allocator *a, uint64_t nbytes, tla_error *error) {
    return tla_stack_explain(a->stack, a->name, &(tla_stack_request){.nbytes = nbytes}, error);
}

/* A policy that begins at the top has touched what lies above its lowest block. */
uint64_t allocator_reserved(const trace_allocator *a) {
    const tla_stack_config *c = tla_stack_get_config(a->stack);
    const tla_front front = tla_stack_front(c->policy);
    const bool keeps_nothing = tla_front_has_own_lists(front) && front != TLA_FRONT_SLOT_POOL;
    if (front != TLA_FRONT_NONE && !keeps_nothing) return tla_stack_get_stats(a->stack).peak_reserved;
    if (a->highest == 0) return 0;
    if (keeps_nothing) return a->highest - a->lowest; /* their tops move, or lie below other regions */
    return c->policy == TLA_FIRST_FIT_TOP ? c->base + c->capacity - a->lowest : a->highest - c->base;
}
