/* Plays a trace on one engine of a placement. */
#include "replay/engine_replay.h"

#include "tlmalloc/arena/engine.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct player {
    const alloc_trace *trace;
    const engine_replay_config *config;
    tla_arena *arena;
    tla_block *blocks;            /* of each allocation; 0 bytes: none */
    uint64_t *alloc_ps, *free_ps; /* of each command */
    size_t alloc_count, free_count;
    size_t oldest;                /* no allocation before it has a block */
    uint64_t asked;               /* bytes of the live blocks */
    engine_replay_result *result; /* means are sums while the trace plays */
    tla_error *error;
} player;

/* Counts a command that is over. */
static void account(player *p, const tla_work *work, uint64_t *durations, size_t *count) {
    const tla_arena_stats heap = tla_arena_get_stats(p->arena);
    durations[(*count)++] = tla_cost_price(&p->config->cost, work);
    p->result->behind_ps += (double)tla_cost_behind(&p->config->cost, work);
    if (heap.free > 0) p->result->external += (double)(heap.free - heap.largest_free) / (double)heap.free;
    if (heap.used > 0) p->result->internal += (double)(heap.used - p->asked) / (double)heap.used;
}

static tla_status give_back(player *p, size_t allocation) {
    tla_engine_work beside = {0};
    tla_work work = {.engine = &beside};
    const tla_block block = p->blocks[allocation];
    if (block.nbytes == 0) return TLA_OK;
    const tla_status status = tla_arena_free(p->arena, block, &work);
    if (status == TLA_LIMIT)
        return tla_error_set(p->error, status,
                             "the engine needs more than %" PRIu64 " nodes for a free: raise controller.engine_nodes",
                             p->config->nodes);
    if (status) return tla_error_set(p->error, status, "free: %s", tla_status_text(status));
    p->blocks[allocation] = (tla_block){0, 0};
    p->asked -= p->trace->allocations[allocation].nbytes;
    account(p, &work, p->free_ps, &p->free_count);
    return TLA_OK;
}

/* Sets *evicted if a block has been given back. */
static tla_status evict(player *p, size_t before, bool *evicted) {
    while (p->oldest < before && p->blocks[p->oldest].nbytes == 0)
        p->oldest++;
    *evicted = p->oldest < before;
    return *evicted ? give_back(p, p->oldest) : TLA_OK;
}

static tla_status request(player *p, size_t allocation) {
    const uint64_t nbytes = p->trace->allocations[allocation].nbytes;
    p->result->requests++;
    for (bool again = true; again;) {
        tla_engine_work beside = {0};
        tla_work work = {.engine = &beside};
        tla_block block;
        tla_status status = tla_arena_alloc(p->arena, nbytes, &block, &work);
        if (!status) {
            p->blocks[allocation] = block;
            p->asked += nbytes;
        } else if (status != TLA_EXHAUSTED && status != TLA_FRAGMENTED && status != TLA_LIMIT) {
            return tla_error_set(p->error, status, "allocation %zu of the trace: %s", allocation + 1,
                                 tla_status_text(status));
        }
        account(p, &work, p->alloc_ps, &p->alloc_count);
        if (!status) return TLA_OK;
        p->result->refused++;
        p->result->fragmented += status == TLA_FRAGMENTED;
        p->result->no_node += status == TLA_LIMIT;
        if (!p->config->evicts) return TLA_OK;
        status = evict(p, allocation, &again);
        if (status) return status;
    }
    return TLA_OK;
}

static tla_status play(player *p) {
    for (size_t i = 0; i < p->trace->event_count; i++) {
        const trace_event *event = &p->trace->events[i];
        const tla_status status = event->is_free ? give_back(p, event->allocation) : request(p, event->allocation);
        if (status) return status;
    }
    return TLA_OK;
}

static void finish(player *p) {
    const double count = (double)(p->alloc_count + p->free_count);
    p->result->allocs = replay_latency_of(p->alloc_ps, p->alloc_count);
    p->result->frees = replay_latency_of(p->free_ps, p->free_count);
    if (count == 0) return;
    p->result->behind_ps /= count;
    p->result->external /= count;
    p->result->internal /= count;
}

static tla_status create(player *p) {
    const engine_replay_config *config = p->config;
    uint64_t unit = config->unit;
    while (config->units > 0 && (config->capacity + unit - 1) / unit > config->units)
        unit *= 2;
    const tla_arena_config of = {
        .capacity = (config->capacity + unit - 1) / unit * unit, .policy = config->policy, .alignment = unit};
    /* An eviction is a free and a further ALLOC, and evicts a block only once. */
    const size_t commands = p->trace->event_count + p->trace->allocation_count + 1;
    p->blocks = calloc(p->trace->allocation_count + 1, sizeof *p->blocks);
    p->alloc_ps = malloc(commands * sizeof *p->alloc_ps);
    p->free_ps = malloc(commands * sizeof *p->free_ps);
    if (!p->blocks || !p->alloc_ps || !p->free_ps)
        return tla_error_set(p->error, TLA_NO_HOST_MEMORY, "no host memory for the replay");
    const tla_status status = tla_arena_create(&of, &p->arena);
    if (status) return tla_error_set(p->error, status, "arena: %s", tla_status_text(status));
    return config->nodes > 0 ? tla_arena_drive(p->arena, NULL, config->nodes, p->error) : TLA_OK;
}

tla_status engine_replay(const alloc_trace *trace, const engine_replay_config *config, engine_replay_result *result,
                         tla_error *error) {
    *result = (engine_replay_result){0};
    player p = {.trace = trace, .config = config, .result = result, .error = error};
    tla_status status = create(&p);
    if (!status) status = play(&p);
    if (!status) finish(&p);
    tla_arena_destroy(p.arena);
    free(p.blocks);
    free(p.alloc_ps);
    free(p.free_ps);
    return status;
}
