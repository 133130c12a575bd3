/* An arena that something stands behind: putting an engine, or a limit of the list's nodes, on an arena, and bringing
 * the engine to the list as it is. */
#include "driven.h"

#include "base/host_array.h"
#include "size_class.h"

#include <inttypes.h>
#include <stdlib.h>

static tla_status serve(tla_driven *d, tla_engine_request request, tla_error *error) {
    tla_engine_answer answer;
    const tla_status status = d->engine.serve(d->engine.state, &request, &answer, error);
    if (status || !answer.status) return status;
    return tla_error_set(error, TLA_ENGINE_DIFFERS, "engine %s cannot take over the free list: %s", d->engine.name,
                         tla_driven_words(answer.status, true, 0).text);
}

static tla_status give_back(tla_driven *d, tla_block block, tla_error *error) {
    const tla_engine_request request = {
        .give_back = true, .offset = (block.offset - d->base) / d->unit, .size = block.nbytes / d->unit};
    return serve(d, request, error);
}

/* Gives back all free blocks, in the order from which the list would be rebuilt. */
static tla_status give_back_saved(tla_driven *d, tla_error *error) {
    const uint64_t count = d->list->count(d->list_state);
    tla_block *blocks = host_array_new(count + 1, sizeof *blocks);
    if (!blocks) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    d->list->saved(d->list_state, blocks);
    tla_status status = TLA_OK;
    for (uint64_t i = 0; i < count && !status; i++)
        status = give_back(d, blocks[i], error);
    free(blocks);
    return status;
}

/* All units in one block. */
static tla_status follow_list(tla_driven *d, tla_error *error) {
    tla_status status = serve(d, (tla_engine_request){.size = d->capacity}, error);
    tla_block block;
    for (uint64_t from = d->base; !status && d->list->copy(d->list_state, from, &block, 1) == 1;
         from = block.offset + block.nbytes)
        status = give_back(d, block, error);
    return status;
}

/* Unit by unit, so that any two buddies have come into being; and back in an order that stacks them as they are. */
static tla_status follow_buddies(tla_driven *d, tla_error *error) {
    tla_status status = TLA_OK;
    for (uint64_t i = 0; i < d->capacity && !status; i++)
        status = serve(d, (tla_engine_request){.size = 1}, error);
    return status ? status : give_back_saved(d, error);
}

/* Region by region in address order, each from the front of the only free one. A range without free blocks is one live
 * block, but an arena that validates knows its blocks. */
static tla_status follow_regions(const tla_arena *arena, tla_driven *d, tla_error *error) {
    const uint64_t end = d->base + d->capacity * d->unit;
    uint64_t live = 0;
    tla_status status = TLA_OK;
    tla_block next;
    for (uint64_t at = d->base; at < end && !status; at += next.nbytes) {
        if (d->list->copy(d->list_state, at, &next, 1) == 0) next.offset = end;
        if (next.offset > at) {
            const tla_live_block *known = arena->live ? tla_live_blocks_at_or_below(arena->live, at) : NULL;
            next = known ? known->block : (tla_block){at, next.offset - at};
            live++;
        }
        status = serve(d, (tla_engine_request){.size = next.nbytes / d->unit, .exact = true}, error);
    }
    if (!status && live != d->list->regions->live(d->list_state))
        status = tla_error_set(error, TLA_UNSUPPORTED,
                               "engine %s cannot take over live blocks without their sizes: use an arena that "
                               "validates, or one without live blocks",
                               d->engine.name);
    return status ? status : give_back_saved(d, error);
}

static bool is_untouched(const tla_driven *d) {
    uint64_t free_units = 0;
    tla_block block;
    for (uint64_t from = d->base; d->list->copy(d->list_state, from, &block, 1) == 1;
         from = block.offset + block.nbytes)
        free_units += block.nbytes / d->unit;
    return free_units == d->capacity;
}

/* Allocates everything, and releases the free blocks. */
tla_status tla_driven_follow(const tla_arena *arena, tla_error *error) {
    tla_driven *d = arena->driven;
    d->served = 0;
    d->difference = (tla_error){.status = TLA_OK};
    if (!tla_driven_has_engine(d)) return TLA_OK;
    const bool buddies = d->list->whole_blocks;
    const uint64_t nodes = buddies ? d->engine.nodes_max : d->nodes;
    const tla_status status = d->engine.restart(d->engine.state, d->capacity, nodes, error);
    if (status || is_untouched(d)) return status;
    if (d->list->regions) return follow_regions(arena, d, error);
    return buddies ? follow_buddies(d, error) : follow_list(d, error);
}

tla_driven *tla_driven_take_off(tla_arena *arena) {
    tla_driven *d = arena->driven;
    if (!d) return NULL;
    arena->placement = d->list;
    arena->state = d->list_state;
    arena->driven = NULL;
    return d;
}

void tla_driven_put_back(tla_arena *arena, tla_driven *d) {
    d->list_state = arena->state;
    arena->placement = &d->face;
    arena->state = d;
    arena->driven = d;
}

tla_status tla_driven_has_room(const tla_driven *d, uint64_t blocks, tla_error *error) {
    if (blocks <= d->nodes) return TLA_OK;
    return tla_error_set(error, TLA_LIMIT,
                         "%" PRIu64 " free blocks need more than the %" PRIu64 " nodes of the free list", blocks,
                         d->nodes);
}

static tla_status check(const tla_arena *arena, const tla_engine *engine, uint64_t nodes, tla_error *error) {
    const tla_policy policy = arena->config.policy;
    const uint64_t units = arena->config.capacity / arena->config.alignment;
    if (arena->driven || arena->nodes > 0)
        return tla_error_set(error, TLA_UNSUPPORTED, "the arena already has an engine or a node limit");
    if (policy == TLA_TLSF || (policy == TLA_BUDDY && (!engine || nodes > 0)))
        return tla_error_set(error, TLA_UNSUPPORTED, "%s keeps no single list whose nodes could be limited%s",
                             tla_policy_name(policy), policy == TLA_BUDDY ? "" : " or walked");
    if (!engine) return TLA_OK;
    if (policy != engine->policy)
        return tla_error_set(error, TLA_UNSUPPORTED, "engine %s implements %s, but the arena's policy is %s",
                             engine->name, tla_policy_name(engine->policy), tla_policy_name(policy));
    if (units == 0 || units > engine->capacity_max)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "engine %s supports 1 .. %" PRIu64 " units, but the arena has %" PRIu64 " of %" PRIu64
                             " bytes",
                             engine->name, engine->capacity_max, units, arena->config.alignment);
    if (arena->config.capacity % arena->config.alignment != 0)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "engine %s: the arena's %" PRIu64 " bytes must be a multiple of %" PRIu64, engine->name,
                             arena->config.capacity, arena->config.alignment);
    const uint64_t largest = (uint64_t)1 << tla_log2(units);
    if (policy == TLA_BUDDY && arena->config.base / arena->config.alignment % largest != 0)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "engine %s: the arena's base %" PRIu64
                             " must be a multiple of the engine's largest block, %" PRIu64,
                             engine->name, arena->config.base, largest * arena->config.alignment);
    if (nodes > engine->nodes_max)
        return tla_error_set(error, TLA_UNSUPPORTED, "engine %s supports at most %" PRIu64 " nodes, not %" PRIu64,
                             engine->name, engine->nodes_max, nodes);
    return TLA_OK;
}

/* A placement with nodes for all regions counts them itself. */
static tla_status limit_regions(tla_arena *arena, uint64_t nodes, tla_error *error) {
    const tla_region_nodes *regions = arena->placement->regions;
    const uint64_t live = regions->live(arena->state), free_blocks = arena->placement->count(arena->state);
    if (regions->limit(arena->state, nodes, live))
        return tla_error_set(error, TLA_LIMIT,
                             "%" PRIu64 " free and %" PRIu64 " live blocks need more than the %" PRIu64 " nodes of %s",
                             free_blocks, live, nodes, tla_policy_name(arena->config.policy));
    arena->nodes = nodes;
    return TLA_OK;
}

static void no_limit(tla_arena *arena) {
    const tla_region_nodes *regions = arena->placement->regions;
    if (regions) regions->limit(arena->state, 0, regions->live(arena->state));
    arena->nodes = 0;
}

tla_status tla_arena_drive(tla_arena *arena, const tla_engine *engine, uint64_t nodes, tla_error *error) {
    tla_error ignored;
    if (!error) error = &ignored;
    if (!engine && nodes == 0) return TLA_OK;
    tla_status status = check(arena, engine, nodes, error);
    if (status) return status;
    const bool buddies = arena->config.policy == TLA_BUDDY;
    if (nodes == 0 && !buddies) nodes = engine->nodes_max;
    if (arena->placement->regions) {
        status = limit_regions(arena, nodes, error);
        if (status || !engine) return status;
    }
    tla_driven *d = malloc(sizeof *d);
    if (!d) {
        no_limit(arena);
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    }
    *d = (tla_driven){.face = tla_driven_around(arena->placement, engine != NULL),
                      .list = arena->placement,
                      .engine = engine ? *engine : (tla_engine){0},
                      .nodes = buddies ? UINT64_MAX : nodes,
                      .base = arena->config.base,
                      .unit = arena->config.alignment,
                      .capacity = arena->config.capacity / arena->config.alignment,
                      .error = &arena->last_error};
    status = tla_driven_has_room(d, arena->placement->count(arena->state), error);
    if (!status) {
        tla_driven_put_back(arena, d);
        status = tla_driven_follow(arena, error);
    }
    if (status) {
        tla_driven_take_off(arena);
        no_limit(arena);
        free(d);
    }
    return status;
}

bool tla_arena_is_driven(const tla_arena *arena) {
    return arena->driven != NULL;
}

const tla_error *tla_arena_difference(const tla_arena *arena) {
    return arena->driven && arena->driven->difference.status ? &arena->driven->difference : NULL;
}

void tla_riscv_timing_defaults(tla_riscv_timing *timing) {
    *timing = (tla_riscv_timing){
        .instruction = 1, .load = 1, .store = 1, .taken_branch = 2, .jump = 1, .multiply = 2, .divide = 36};
}
