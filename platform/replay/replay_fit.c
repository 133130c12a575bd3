/* How much memory an allocator needs for a trace: a search over capacities, each of which is played. */
#include "replay/replay_fit.h"

#include <stdlib.h>

enum { STEPS = 1024 }; /* of the resolution in the most that is requested */
#define CAPACITY_MAX (UINT64_C(1) << 62)

typedef struct search {
    const alloc_trace *trace;
    const char *name;
    allocator_config config; /* with the capacity that is tried */
    tla_block *granted;      /* one an allocation */
    tla_error *error;
} search;

/* Plays up to the first request that fails. */
static tla_status play(search *s, trace_allocator *a, bool *fits) {
    *fits = false;
    for (size_t i = 0; i < s->trace->event_count; i++) {
        const trace_event *event = &s->trace->events[i];
        const trace_allocation *asked = &s->trace->allocations[event->allocation];
        tla_block *granted = &s->granted[event->allocation];
        const tla_stack_request request = allocator_request(asked);
        tla_work work = {0};
        tla_status status = event->is_free ? allocator_free(a, granted->offset, asked->nbytes, &work)
                                           : allocator_alloc(a, &request, granted, &work);
        if (status == TLA_NO_HOST_MEMORY || (status && event->is_free))
            return tla_error_set(s->error, status, "%s: event %zu of the trace: %s", a->name, i + 1,
                                 tla_status_text(status));
        if (status) return TLA_OK;
    }
    *fits = true;
    return TLA_OK;
}

static tla_status try_capacity(search *s, uint64_t capacity, bool *fits) {
    trace_allocator made;
    s->config.capacity = capacity;
    *fits = false;
    tla_status status = allocator_create(s->name, &s->config, &made, s->error);
    if (status) return status == TLA_NO_HOST_MEMORY ? status : TLA_OK; /* it cannot be of this size */
    status = play(s, &made, fits);
    allocator_destroy(&made);
    return status;
}

static uint64_t most_requested(const alloc_trace *trace) {
    uint64_t live = 0, most = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        uint64_t nbytes = trace->allocations[trace->events[i].allocation].nbytes;
        live += trace->events[i].is_free ? -nbytes : nbytes;
        if (live > most) most = live;
    }
    return most;
}

static uint64_t largest_request(const alloc_trace *trace) {
    uint64_t most = 0;
    for (size_t i = 0; i < trace->allocation_count; i++)
        if (trace->allocations[i].nbytes > most) most = trace->allocations[i].nbytes;
    return most;
}

static uint64_t round_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

/* Up from `bound` in growing steps, to the first success. */
static tla_status climb(search *s, uint64_t bound, replay_fit *fit) {
    uint64_t capacity = bound;
    for (uint64_t step = fit->resolution; capacity <= CAPACITY_MAX; step *= 2) {
        bool good;
        tla_status status = try_capacity(s, capacity, &good);
        if (status) return status;
        if (good) {
            fit->capacity = capacity;
            return TLA_OK;
        }
        fit->failed = capacity;
        capacity = bound + step;
    }
    return TLA_OK;
}

static tla_status look(search *s, uint64_t alignment, replay_fit *fit) {
    uint64_t most = most_requested(s->trace);
    if (most > CAPACITY_MAX) return TLA_OK;
    const uint64_t bound = round_up(most ? most : 1, alignment);
    fit->resolution = round_up((bound + STEPS - 1) / STEPS, alignment);
    tla_status status = climb(s, bound, fit);
    while (!status && fit->failed && fit->capacity && fit->capacity - fit->failed > fit->resolution) {
        uint64_t middle = fit->failed + (fit->capacity - fit->failed) / 2 / alignment * alignment;
        bool good;
        status = try_capacity(s, middle, &good);
        *(good ? &fit->capacity : &fit->failed) = middle;
    }
    return status;
}

/* The bytes that no block exceeds, whatever the capacity. */
static uint64_t largest_piece(tla_front front, const tla_front_sizes *sizes) {
    if (front == TLA_FRONT_SLOT_POOL) return sizes->slot;
    const bool is_cut =
        front == TLA_FRONT_SEGMENTED || front == TLA_FRONT_LINEAR_REGIONS || front == TLA_FRONT_INTERLEAVING_REGIONS;
    return is_cut && sizes->segment > 0 ? sizes->segment : UINT64_MAX;
}

tla_status replay_find_fit(const alloc_trace *trace, const char *name, const allocator_config *config, replay_fit *fit,
                           tla_error *error) {
    *fit = (replay_fit){0};
    if (config->snapshot) return TLA_OK;
    search s = {.trace = trace, .name = name, .config = *config, .error = error};
    s.granted = malloc((trace->allocation_count + 1) * sizeof *s.granted);
    if (!s.granted) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the placements");
    tla_stack_policy policy;
    uint64_t multiple = config->alignment ? config->alignment : 1;
    tla_status status = tla_stack_policy_parse(name, &policy, error);
    const uint64_t piece = status ? UINT64_MAX : largest_piece(tla_stack_front(policy), &config->sizes);
    if (!status && tla_stack_front(policy) == TLA_FRONT_SLOT_POOL) multiple = piece;
    if (!status && largest_request(trace) <= piece) status = look(&s, multiple, fit);
    free(s.granted);
    return status;
}
