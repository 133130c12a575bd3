/* The decisions of a memory controller, command by command. */
#include "controller_state.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- memories ---- */

static tla_front front_of(const tla_controller_config *c, tla_memory_kind memory) {
    return tla_stack_front(tla_pe_memory_stack_config(&c->memory, memory).policy);
}

static tla_status follow_lists(const tla_controller_config *c, tla_pe_memory *memory) {
    tla_status status = TLA_OK;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT && !status; i++)
        if (tla_controller_has(c, i) && c->free_list != TLA_LIST_REGISTERS)
            status = tla_pe_memory_follow(memory, (tla_memory_kind)i, c->list_reserve / TLA_LIST_NODE_BYTES,
                                          i == TLA_HBM ? c->node_cache : 0);
    return status;
}

static tla_status drive_list(const tla_controller_config *c, tla_pe_memory *memory, tla_memory_kind which,
                             tla_error *error) {
    const tla_stack_config stack = tla_pe_memory_stack_config(&c->memory, which);
    const uint64_t unit = c->memory.alignment ? c->memory.alignment : 1;
    tla_engine engine = {0};
    tla_status status = TLA_OK;
    if (c->engine_maker.make)
        status = c->engine_maker.make(c->engine_maker.context, tla_stack_placement(stack.policy), stack.capacity / unit,
                                      &engine, error);
    if (status) return status;
    if (engine.serve && c->compaction.mode != TLA_COMPACTION_OFF) {
        engine.destroy(engine.state);
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "it chooses the places of its blocks itself, so that compaction cannot be used with it");
    }
    status = tla_pe_memory_drive(memory, which, engine.serve ? &engine : NULL, c->engine_nodes, error);
    if (status && engine.serve) engine.destroy(engine.state);
    return status;
}

static tla_status drive_lists(const tla_controller_config *c, tla_pe_memory *memory, tla_error *error) {
    tla_status status = TLA_OK;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT && !status; i++)
        if (tla_controller_has(c, i)) status = drive_list(c, memory, (tla_memory_kind)i, error);
    return status;
}

static tla_status check_owner(const tla_controller_config *c, tla_error *error) {
    if (!tla_controller_is_owned(c)) return TLA_OK;
    if (!tla_controller_has(c, TLA_HBM))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "owner_port: the controller has no HBM slice");
    if (front_of(c, TLA_HBM) != TLA_FRONT_NONE || c->engine_maker.make || c->memory.guarded ||
        c->free_list != TLA_LIST_REGISTERS)
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "owner_port: a slice with an owner must have no front, no guard, no engine and no free list in memory");
    const tla_policy policy = tla_stack_placement(c->memory.of[TLA_HBM].policy);
    if (!tla_policy_takes_ranges(policy))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "owner_port: %s chooses the places of blocks itself: a slice with an owner must use "
                             "another policy",
                             tla_policy_name(policy));
    return TLA_OK;
}

tla_status tla_controller_check_config(const tla_controller_config *c, tla_error *error) {
    tla_error why = {.text = ""};
    tla_status status = tla_pe_memory_check_config(&c->memory, &why);
    if (status) return tla_error_set(error, status, "memory: %s", why.text);
    bool any = false;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        any = any || tla_controller_has(c, i);
    if (!any)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "memory: all memories have 0 bytes: at least one must have more");
    tla_pe_memory *trial;
    status = tla_pe_memory_create(&c->memory, &trial);
    if (status)
        return tla_error_set(error, status, "memory: the alignment and the policies cannot form a free list: %s",
                             tla_status_text(status));
    if ((status = follow_lists(c, trial)) != TLA_OK)
        tla_error_set(error, status,
                      "a free list in memory needs first, best, next or worst fit without a front, and a list_reserve "
                      "of at least two nodes");
    else if ((status = drive_lists(c, trial, &why)) != TLA_OK)
        tla_error_set(error, status, "engine: %s", why.text);
    tla_pe_memory_destroy(trial);
    if (!status && c->move.mode != TLA_MOVE_OFF && (c->move.chunk == 0 || c->move.chunk > UINT32_MAX))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "move.chunk: %" PRIu64 " bytes: must be 1 .. %" PRIu32,
                             c->move.chunk, UINT32_MAX);
    if (!status && !tla_victim_rule_name(c->object_eviction))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "object_eviction: unknown rule %d", (int)c->object_eviction);
    if (!status) status = tla_controller_check_watermark(c, error);
    if (!status) status = tla_controller_check_partition(c, error);
    if (!status) status = check_owner(c, error);
    return status ? status : tla_controller_check_compaction(c, error);
}

tla_status tla_controller_create(const tla_controller_config *config, tla_controller **out) {
    tla_pe_memory *trial;
    *out = calloc(1, sizeof **out);
    if (!*out) return TLA_NO_HOST_MEMORY;
    tla_controller *c = *out;
    c->config = *config;
    c->faults.plan = config->faults;
    c->first = TLA_HBM;
    tla_controller_pace_anew(c);
    for (int i = TLA_MEMORY_KIND_COUNT - 1; i >= 0; i--)
        if (tla_controller_has(config, i)) c->first = (tla_memory_kind)i;
    if (tla_pe_memory_create(&config->memory, &trial)) return TLA_OK; /* every command reports it */
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        if (tla_controller_has(config, i))
            c->untouched[i] = tla_stack_get_stats(tla_pe_memory_stack(trial, (tla_memory_kind)i));
    tla_pe_memory_destroy(trial);
    return TLA_OK;
}

static void drop_memories(tla_controller *c) {
    tla_controller_drop_moves(c);
    tla_object_store_destroy(c->objects);
    tla_pe_memory_destroy(c->memory);
    c->objects = NULL;
    c->memory = NULL;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        c->passes[i].is_due = false;
}

void tla_controller_destroy(tla_controller *c) {
    if (!c) return;
    drop_memories(c);
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        tla_submissions_clear(&c->paced[i].accesses);
    free(c->moves);
    free(c->owed);
    free(c->waiting);
    free(c->compaction.moves);
    free(c->compaction.blocks);
    free(c->compaction.free_ranges);
    tla_compaction_clear(&c->compaction.plan);
    free(c);
}

void tla_controller_reset(tla_controller *c, uint64_t at_ps) {
    drop_memories(c);
    c->faults = (tla_faults){.plan = c->faults.plan};
    c->origin_ps = at_ps;
    tla_controller_pace_anew(c);
}

/* A block is free again. */
static void tell_released(void *context, tla_site at, uint64_t granted) {
    const tla_controller *c = context;
    if (c->watch.released) c->watch.released(c->watch.context, at.memory, at.offset, granted);
}

static void tell_decided(void *context, const tla_stack_deed *deed) {
    const tla_watched_memory *of = context;
    of->controller->watch.decided(of->controller->watch.context, of->memory, deed);
}

void tla_controller_set_watch(tla_controller *c, tla_controller_watch watch) {
    c->watch = watch;
}

static tla_status make_memories(tla_controller *c) {
    const tla_object_watcher watcher = {tell_released, c};
    tla_status status = tla_pe_memory_create(&c->config.memory, &c->memory);
    if (!status) status = follow_lists(&c->config, c->memory);
    if (!status) status = drive_lists(&c->config, c->memory, NULL);
    if (!status) status = tla_object_store_create(c->memory, c->config.object_eviction, &watcher, &c->objects);
    if (!status) tla_controller_divide(c);
    if (!status) tla_controller_pace(c);
    return status;
}

tla_status tla_controller_begin(tla_controller *c) {
    if (c->memory) return TLA_OK;
    const tla_status status = make_memories(c);
    if (status) {
        drop_memories(c);
        return status;
    }
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        if (!tla_controller_has(&c->config, i)) continue;
        c->beginning[i] = tla_pe_memory_get_stats(c->memory, (tla_memory_kind)i);
        c->watched[i] = (tla_watched_memory){c, (tla_memory_kind)i};
        if (c->watch.decided)
            tla_stack_set_watch(tla_pe_memory_stack(c->memory, (tla_memory_kind)i), tell_decided, &c->watched[i]);
    }
    return TLA_OK;
}

tla_status tla_controller_restore(tla_controller *c, tla_memory_kind memory, const char *name, const char *text,
                                  size_t length, tla_error *error) {
    if (tla_controller_is_owned(&c->config) && memory == TLA_HBM)
        return tla_error_set(error, TLA_UNSUPPORTED, "%s: the slice has an owner and cannot restore a snapshot", name);
    tla_status status = tla_controller_begin(c);
    if (status) return tla_error_set(error, status, "%s: the allocators cannot be created", name);
    status = tla_stack_restore(tla_pe_memory_stack(c->memory, memory), text, length, error);
    if (status) return status;
    c->beginning[memory] = tla_pe_memory_get_stats(c->memory, memory);
    c->changes++;
    status = follow_lists(&c->config, c->memory);
    return status ? tla_error_set(error, status, "%s: list_reserve is too small for the snapshot's free blocks", name)
                  : TLA_OK;
}

/* ---- due work ---- */

static uint64_t since_origin(const tla_controller *c, uint64_t at_ps) { /* UINT64_MAX: never */
    return at_ps > UINT64_MAX - c->origin_ps ? UINT64_MAX : at_ps + c->origin_ps;
}

/* Finds the memory that commits next; among several at one time, the first. */
static bool find_commit(const tla_controller *c, tla_memory_kind *memory, uint64_t *at_ps) {
    *at_ps = UINT64_MAX;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT && c->memory; i++) {
        uint64_t when_ps;
        if (!tla_controller_has(&c->config, i) || !tla_front_grows(front_of(&c->config, (tla_memory_kind)i))) continue;
        if (!tla_stack_next_growth(tla_pe_memory_stack(c->memory, (tla_memory_kind)i), &when_ps)) continue;
        when_ps = since_origin(c, when_ps);
        if (when_ps >= *at_ps) continue;
        *at_ps = when_ps;
        *memory = (tla_memory_kind)i;
    }
    return *at_ps < UINT64_MAX;
}

bool tla_controller_next_commit(const tla_controller *c, uint64_t *at_ps) {
    tla_memory_kind memory;
    return find_commit(c, &memory, at_ps);
}

bool tla_controller_next_timeout(const tla_controller *c, uint64_t *until_ps) {
    return c->objects && tla_object_store_next_timeout(c->objects, until_ps);
}

tla_status tla_controller_commit(tla_controller *c, uint64_t until_ps, uint64_t *at_ps,
                                 tla_controller_outcome *outcome) {
    *outcome = (tla_controller_outcome){.memory = c->first, .work.engine = &outcome->engine};
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT && c->memory; i++)
        tla_controller_pin(c, (tla_memory_kind)i, until_ps);
    if (!find_commit(c, &outcome->memory, at_ps) || *at_ps > until_ps) return TLA_NOT_FOUND;
    tla_stack *stack = tla_pe_memory_stack(c->memory, outcome->memory);
    const uint64_t before = tla_pe_memory_get_stats(c->memory, outcome->memory).capacity;
    const tla_status status = tla_stack_advance(stack, *at_ps - c->origin_ps, &outcome->work);
    if (status) return status;
    tla_controller_has_grown(c, outcome->memory);
    outcome->arena = tla_pe_memory_get_stats(c->memory, outcome->memory);
    c->counts[outcome->memory].commits += outcome->arena.capacity > before; /* an attempt may fail */
    c->counts[outcome->memory].nodes_visited += outcome->work.nodes_visited;
    c->counts[outcome->memory].instructions += outcome->engine.instructions;
    return TLA_OK;
}

tla_status tla_controller_end_pins(tla_controller *c, uint64_t until_ps, uint64_t *at_ps,
                                   tla_controller_outcome *outcome) {
    tla_object_counts left;
    *outcome = (tla_controller_outcome){.memory = c->first, .work.engine = &outcome->engine};
    if (!tla_controller_next_timeout(c, at_ps) || *at_ps >= until_ps) return TLA_NOT_FOUND;
    ++*at_ps;
    tla_pe_memory_set_owner(c->memory, (tla_owner){0, TLA_WHO_UNKNOWN, *at_ps});
    const tla_status status = tla_object_store_end_pins(c->objects, until_ps, &left, &outcome->work);
    if (status) return status;
    outcome->memory = left.at.memory;
    outcome->offset = left.at.offset;
    outcome->arena = tla_pe_memory_get_stats(c->memory, outcome->memory);
    tla_controller_compare(c, outcome->memory, *at_ps - 1); /* so that a pass at this very time is not missed */
    c->counts[outcome->memory].driver_calls += outcome->work.driver_calls;
    c->counts[outcome->memory].instructions += outcome->engine.instructions;
    return TLA_OK;
}

/* ---- queries ---- */

tla_stack_stats tla_controller_get_stats(const tla_controller *c, tla_memory_kind memory) {
    return c->memory ? tla_stack_get_stats(tla_pe_memory_stack(c->memory, memory)) : c->untouched[memory];
}

tla_object_stats tla_controller_get_objects(const tla_controller *c, tla_memory_kind memory) {
    return c->objects ? tla_object_store_get_stats(c->objects, memory) : (tla_object_stats){0};
}

tla_controller_counts tla_controller_get_counts(const tla_controller *c, tla_memory_kind memory) {
    return c->counts[memory];
}

uint64_t tla_controller_get_refused(const tla_controller *c) {
    return c->refused;
}

bool tla_controller_uses_objects(const tla_controller *c) {
    return c->uses_objects;
}

bool tla_controller_is_as_at_the_beginning(const tla_controller *c, tla_memory_kind memory) {
    if (!c->memory) return true;
    const tla_stack_stats stack = tla_controller_get_stats(c, memory);
    const tla_arena_stats now = tla_pe_memory_get_stats(c->memory, memory), *then = &c->beginning[memory];
    if (now.used != then->used) return false;
    if (stack.held > 0) return true;                /* a TRIM would join the rest */
    if (now.capacity > then->capacity) return true; /* a commit changed the list */
    return now.free_blocks == then->free_blocks && now.largest_free == then->largest_free;
}

tla_pe_memory *tla_controller_memory(tla_controller *c) {
    return c->memory;
}
