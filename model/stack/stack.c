/* A front over an arena: the common code of all fronts. Where frees are validated, a ledger has the blocks with their
 * requested sizes, so that the bytes of rounding have no owner. */
#include "front.h"

#include "arena/ledger.h"
#include "tlmalloc/arena/arena.h"

#include <inttypes.h>
#include <stdlib.h>

static bool has_front(const tla_stack *stack) {
    return stack->front != &tla_front_none;
}

static uint64_t alignment_of(const tla_stack_config *config) {
    return config->alignment ? config->alignment : 1;
}

tla_status tla_stack_check_config(const tla_stack_config *c, tla_error *error) {
    const uint64_t alignment = alignment_of(c), limit = UINT64_C(1) << 63;
    if (!tla_stack_policy_exists(c->policy))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "unknown policy %" PRIu32 ": use a tla_stack_policy that exists", c->policy);
    if (alignment & (alignment - 1))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "alignment %" PRIu64 " must be a power of two", alignment);
    if (c->base >= limit || c->capacity > limit - c->base || c->base % alignment)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "range of %" PRIu64 " bytes at %" PRIu64 ": must begin on a multiple of %" PRIu64
                             " and end at 2^63 or below",
                             c->capacity, c->base, alignment);
    const tla_front_kind *front = tla_front_kind_of(tla_stack_front(c->policy));
    return front->check && c->capacity > 0 ? front->check(c, error) : TLA_OK;
}

/* The blocks as they are asked for, placed by the front. */
static tla_status make_live(const tla_stack *stack, tla_arena **live) {
    const tla_stack_config *c = &stack->config;
    const tla_arena_config config = {
        .base = c->base, .capacity = c->capacity, .alignment = c->alignment, .validate = true};
    return tla_ledger_create(&config, live);
}

static tla_status make_parts(tla_stack *stack, tla_error *error) {
    const tla_stack_config *c = &stack->config;
    const tla_front_kind *front = stack->front;
    const tla_arena_config arena = {.base = c->base,
                                    .capacity = c->capacity,
                                    .policy = tla_stack_placement(c->policy),
                                    .alignment = c->alignment,
                                    .validate = c->validate && !has_front(stack)};
    tla_status status = TLA_OK;
    if (!front->has_own_ranges) status = tla_arena_create(&arena, &stack->arena);
    stack->set = (tla_arena_set){&stack->arena, 1};
    if (!status && front->make) status = front->make(stack, error);
    return status || !has_front(stack) || !c->validate ? status : make_live(stack, &stack->live);
}

tla_status tla_stack_create(const tla_stack_config *config, tla_stack **out, tla_error *error) {
    *out = NULL;
    tla_status status = tla_stack_check_config(config, error);
    if (status) return status;
    tla_stack *stack = calloc(1, sizeof *stack);
    if (!stack) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    stack->config = *config;
    stack->config.alignment = alignment_of(config);
    if (!stack->config.sizes.segment) stack->config.sizes.segment = UINT64_C(20) << 20;
    stack->front = tla_front_kind_of(tla_stack_front(config->policy));
    tla_error inner = {.text = ""};
    status = make_parts(stack, &inner);
    if (status) {
        tla_stack_destroy(stack);
        return tla_error_set(error, status, "%s", inner.text[0] ? inner.text : tla_status_text(status));
    }
    *out = stack;
    return TLA_OK;
}

void tla_stack_destroy(tla_stack *stack) {
    if (!stack) return;
    if (stack->state) stack->front->destroy(stack);
    tla_arena_destroy(stack->live);
    tla_arena_destroy(stack->arena);
    free(stack);
}

const tla_stack_config *tla_stack_get_config(const tla_stack *stack) {
    return &stack->config;
}

/* ---- requests ---- */

/* Returns the size rounded up to the alignment. A size above 2^63, which no front serves, stays unchanged. */
static uint64_t aligned(const tla_stack *stack, uint64_t nbytes) {
    const uint64_t mask = stack->config.alignment - 1;
    return nbytes > UINT64_C(1) << 63 ? nbytes : (nbytes + mask) & ~mask;
}

static bool is_format(tla_memory_format format) {
    return (unsigned)format < TLA_FORMAT_COUNT && format != TLA_FORMAT_BINARY;
}

static tla_stack_request rounded_of(const tla_stack *stack, const tla_stack_request *request) {
    tla_stack_request rounded = *request;
    if (has_front(stack)) rounded.nbytes = aligned(stack, request->nbytes);
    return rounded;
}

/* A front fails with the status of the list below it, which does not count the blocks that the front keeps. If these
 * would suffice, and no trim joins them into one block, the memory is fragmented. */
static tla_status shortage(const tla_stack *stack, const tla_stack_request *request, tla_status status) {
    if (!stack->front->takes || (status != TLA_EXHAUSTED && status != TLA_FRAGMENTED)) return status;
    if (tla_stack_takes(stack, request) > tla_stack_get_stats(stack).memory.free) return TLA_EXHAUSTED;
    return tla_stack_trim_serves(stack, request) ? status : TLA_FRAGMENTED;
}

static tla_status take(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    const tla_stack_request rounded = rounded_of(stack, request);
    tla_block taken;
    tla_status status = stack->front->alloc(stack, &rounded, &taken, work);
    if (!status && stack->live) {
        status = tla_arena_reserve(stack->live, (tla_block){taken.offset, request->nbytes}, NULL);
        if (status) stack->front->free(stack, (tla_block){taken.offset, rounded.nbytes}, NULL);
    }
    if (status) return shortage(stack, request, status);
    stack->used += taken.nbytes;
    if (stack->used > stack->peak_used) stack->peak_used = stack->used;
    *granted = taken;
    return TLA_OK;
}

tla_status tla_stack_alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work) {
    if (request->nbytes == 0 || !is_format(request->format)) return TLA_INVALID_ARGUMENT;
    const tla_status status = has_front(stack) ? take(stack, request, granted, work)
                                               : tla_arena_alloc(stack->arena, request->nbytes, granted, work);
    tla_stack_tell_alloc(stack, request, status, granted);
    return status;
}

tla_status tla_stack_reserve(tla_stack *stack, tla_block block, tla_work *work) {
    const tla_status status = has_front(stack) ? TLA_UNSUPPORTED : tla_arena_reserve(stack->arena, block, work);
    if (!status) tla_stack_tell_reserve(stack, block);
    return status;
}

uint64_t tla_stack_granted(const tla_stack *stack, tla_block block) {
    if (has_front(stack)) block.nbytes = aligned(stack, block.nbytes);
    return block.nbytes ? stack->front->granted(stack, block) : 0;
}

/* Takes a block back among the live ones, as the front did not. */
static void revive(tla_stack *stack, tla_block block, tla_owner owner) {
    if (!stack->live) return;
    tla_arena_set_owner(stack->live, owner);
    tla_arena_reserve(stack->live, block, NULL);
    tla_arena_set_owner(stack->live, stack->owner);
}

static tla_status give_back(tla_stack *stack, tla_block block, tla_work *work) {
    tla_block rounded = {block.offset, aligned(stack, block.nbytes)}, known;
    const uint64_t granted = stack->front->granted(stack, rounded);
    tla_owner owner = {0};
    if (stack->live) tla_arena_find(stack->live, block.offset, &known, &owner);
    tla_status status = stack->live ? tla_arena_free(stack->live, block, NULL) : TLA_OK;
    if (status) return status;
    status = granted ? stack->front->free(stack, rounded, work) : TLA_NOT_ALLOCATED;
    if (status)
        revive(stack, block, owner);
    else
        stack->used -= granted;
    return status;
}

tla_status tla_stack_free(tla_stack *stack, tla_block block, tla_work *work) {
    if (block.nbytes == 0) return TLA_INVALID_ARGUMENT;
    const tla_status status =
        has_front(stack) ? give_back(stack, block, work) : tla_arena_free(stack->arena, block, work);
    if (status) return status;
    tla_stack_tell_free(stack, block);
    return TLA_OK;
}

tla_status tla_stack_trim(tla_stack *stack, uint64_t *given_back, tla_work *work) {
    const uint64_t before = stack->arena ? tla_arena_get_stats(stack->arena).free : 0;
    tla_status status = stack->front->trim ? stack->front->trim(stack, work) : TLA_OK;
    const uint64_t after = stack->arena ? tla_arena_get_stats(stack->arena).free : 0;
    if (given_back) *given_back = after - before;
    return status;
}

uint64_t tla_stack_trim_serves(const tla_stack *stack, const tla_stack_request *request) {
    const tla_stack_request rounded = rounded_of(stack, request);
    return stack->front->trim_serves ? stack->front->trim_serves(stack, &rounded) : 0;
}

uint64_t tla_stack_takes(const tla_stack *stack, const tla_stack_request *request) {
    const tla_stack_request rounded = rounded_of(stack, request);
    if (stack->front->takes) return stack->front->takes(stack, &rounded);
    return rounded.nbytes;
}

bool tla_stack_next_growth(const tla_stack *stack, uint64_t *when_ps) {
    return stack->front->next_growth && stack->front->next_growth(stack, when_ps);
}

void tla_stack_pace(tla_stack *stack, const tla_lazy_pacer *pacer) {
    if (stack->front->pace) stack->front->pace(stack, pacer);
}

void tla_stack_pin(tla_stack *stack, uint64_t now_ps) {
    if (stack->front->pin) stack->front->pin(stack, now_ps);
}

uint64_t tla_stack_pin_waited(const tla_stack *stack, uint64_t *ready_ps) {
    *ready_ps = 0;
    return stack->front->pin_waited ? stack->front->pin_waited(stack, ready_ps) : 0;
}

tla_status tla_stack_advance(tla_stack *stack, uint64_t now_ps, tla_work *work) {
    return stack->front->advance ? stack->front->advance(stack, now_ps, work) : TLA_OK;
}

/* ---- queries ---- */

tla_stack_stats tla_stack_get_stats(const tla_stack *stack) {
    return stack->front->stats(stack);
}

tla_status tla_stack_explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                             tla_error *error) {
    const tla_stack_request rounded = rounded_of(stack, request);
    const tla_status status = shortage(stack, request, stack->front->explain(stack, what, &rounded, error));
    if (error) error->status = status;
    return status;
}

const tla_error *tla_stack_last_error(const tla_stack *stack) {
    static const tla_error none = {.status = TLA_OK};
    const tla_arena *validating = stack->live ? stack->live : has_front(stack) ? NULL : stack->arena;
    return validating ? tla_arena_last_error(validating) : &none;
}

void tla_stack_set_owner(tla_stack *stack, tla_owner owner) {
    stack->owner = owner;
    tla_arena *validating = has_front(stack) ? stack->live : stack->arena;
    if (validating) tla_arena_set_owner(validating, owner);
}

const tla_arena *tla_stack_live(const tla_stack *stack) {
    if (!stack->config.validate) return NULL;
    return has_front(stack) ? stack->live : stack->arena;
}

tla_arena *tla_stack_arena(tla_stack *stack) {
    return stack->arena;
}

tla_status tla_stack_restore(tla_stack *stack, const char *text, size_t length, tla_error *error) {
    char name[64];
    tla_stack_policy_print(stack->config.policy, name, sizeof name);
    if (!stack->arena)
        return tla_error_set(error, TLA_UNSUPPORTED, "%s cannot restore the snapshot of a free list", name);
    if (has_front(stack) && (stack->used > 0 || tla_stack_get_stats(stack).held > 0))
        return tla_error_set(error, TLA_BUSY,
                             "%s has already allocated blocks: restore a snapshot before the first allocation", name);
    /* Tried on the side first, so that a text that is no good for one of the two changes neither. */
    tla_arena *trial = NULL;
    tla_status status = stack->live ? make_live(stack, &trial) : TLA_OK;
    if (!status && trial) status = tla_arena_restore(trial, text, length, error);
    tla_arena_destroy(trial);
    if (!status) status = tla_arena_restore(stack->arena, text, length, error);
    if (!status) stack->restored = tla_arena_get_stats(stack->arena).used;
    return status || !stack->live ? status : tla_arena_restore(stack->live, text, length, error);
}
