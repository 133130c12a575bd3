/* Compaction by a controller (controller.h): the heap of a memory as a problem for a planner, the moves of its plan one
 * after the other, requests that wait for them, and the choice of a hole in the background. */
#include "block_bindings.h"
#include "controller_state.h"

#include "base/grow.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <stdlib.h>

const char *tla_compaction_mode_name(tla_compaction_mode mode) {
    static const char *const names[] = {"off", "on_demand", "background"};
    return (unsigned)mode < TLA_COMPACTION_MODE_COUNT ? names[mode] : NULL;
}

static const tla_compaction_planner *planner_of(const tla_controller_config *c) {
    return c->compaction.planner ? tla_compaction_planner_named(c->compaction.planner) : &tla_compaction_exact;
}

tla_status tla_controller_check_compaction(const tla_controller_config *c, tla_error *error) {
    const tla_compaction_config *compaction = &c->compaction;
    if (compaction->mode == TLA_COMPACTION_OFF) return TLA_OK;
    if (!tla_compaction_mode_name(compaction->mode))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "compaction.mode: unknown mode %d", (int)compaction->mode);
    if (!planner_of(c))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "compaction.planner: unknown planner %s: must be exact, window or slide",
                             compaction->planner);
    if (compaction->threshold >= 1000)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "compaction.threshold: %" PRIu64 " permille: must be below 1000", compaction->threshold);
    if (c->move.mode == TLA_MOVE_OFF)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "compaction: blocks do not move: move.mode must be stop or concurrent");
    if (tla_controller_is_owned(c) || c->free_list != TLA_LIST_REGISTERS)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "compaction: a slice with an owner, and a free list in memory, are not compacted");
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        if (tla_controller_has(c, i) && tla_stack_front(c->memory.of[i].policy) != TLA_FRONT_NONE)
            return tla_error_set(error, TLA_UNSUPPORTED,
                                 "compaction: the %s has a front, which chooses the places of its blocks itself: "
                                 "remove the front",
                                 tla_memory_kind_title((tla_memory_kind)i));
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        if (tla_controller_has(c, i) && !tla_policy_takes_ranges(tla_stack_placement(c->memory.of[i].policy)))
            return tla_error_set(error, TLA_UNSUPPORTED,
                                 "compaction: %s chooses the places of the blocks of the %s itself: use another policy",
                                 tla_policy_name(tla_stack_placement(c->memory.of[i].policy)),
                                 tla_memory_kind_title((tla_memory_kind)i));
    return TLA_OK;
}

/* ---- plans ---- */

void tla_controller_drop_plan(tla_controller *c) {
    c->compaction.count = c->compaction.next = 0;
    c->compaction.hole.nbytes = 0;
}

static int compare(const void *a, const void *b) {
    const uint64_t left = ((const tla_compaction_block *)a)->at.offset;
    const uint64_t right = ((const tla_compaction_block *)b)->at.offset;
    return (left > right) - (left < right);
}

static bool is_movable(const tla_controller *c, const tla_object_block *block) {
    const tla_controller_watch *watch = &c->watch;
    return tla_object_may_move(block) &&
           !(watch->reserved && watch->reserved(watch->context, block->at.memory, block->at.offset, block->nbytes));
}

static void list_blocks(tla_controller *c, tla_memory_kind memory) {
    tla_compaction *k = &c->compaction;
    const tla_object_block *block;
    k->block_count = 0;
    for (size_t at = 0; (block = tla_live_addresses_walk(&c->objects->blocks, &at));) {
        if (block->at.memory != memory) continue;
        const tla_block asked = {block->at.offset, block->nbytes};
        k->blocks[k->block_count++] = (tla_compaction_block){
            {asked.offset, tla_pe_memory_granted(c->memory, memory, asked)}, is_movable(c, block)};
    }
    qsort(k->blocks, k->block_count, sizeof *k->blocks, compare);
}

/* Bytes that are neither free nor in a block that the controller knows: they belong to a snapshot, to the new place of
 * a move, or to one that could not be freed. */
static void add_unknown(tla_compaction *k, tla_block heap, size_t free_count) {
    const size_t known = k->block_count;
    uint64_t from = heap.offset;
    for (size_t i = 0, j = 0; i < known || j < free_count;) {
        const bool is_free = i == known || (j < free_count && k->free_ranges[j].offset < k->blocks[i].at.offset);
        const tla_block next = is_free ? k->free_ranges[j++] : k->blocks[i++].at;
        if (next.offset > from) k->blocks[k->block_count++] = (tla_compaction_block){{from, next.offset - from}, false};
        from = next.offset + next.nbytes;
    }
    const uint64_t end = heap.offset + heap.nbytes;
    if (from < end) k->blocks[k->block_count++] = (tla_compaction_block){{from, end - from}, false};
    qsort(k->blocks, k->block_count, sizeof *k->blocks, compare);
}

static tla_status list_heap(tla_controller *c, tla_memory_kind memory, tla_block heap, tla_work *work) {
    tla_compaction *k = &c->compaction;
    const tla_arena *arena = tla_pe_memory_arena(c->memory, memory);
    const size_t free_count = (size_t)tla_arena_get_stats(arena).free_blocks;
    const size_t room = 2 * (c->objects->blocks.count + 1) + free_count;
    if (!tla_grow(&k->free_ranges, &k->free_room, free_count + 1, sizeof *k->free_ranges) ||
        !tla_grow(&k->blocks, &k->block_room, room, sizeof *k->blocks))
        return TLA_NO_HOST_MEMORY;
    tla_arena_free_blocks(arena, 0, k->free_ranges, free_count);
    list_blocks(c, memory);
    work->metadata_lines += k->block_count;
    work->nodes_visited += free_count;
    add_unknown(k, heap, free_count);
    return TLA_OK;
}

/* Plans a hole of so many bytes, as granted. Errors as tla_compaction_find; there is no plan then. */
static tla_status plan(tla_controller *c, tla_memory_kind memory, uint64_t hole, tla_work *work) {
    tla_compaction *k = &c->compaction;
    const tla_stack_config *stack = tla_stack_get_config(tla_pe_memory_stack(c->memory, memory));
    const tla_block heap = {stack->base, stack->capacity};
    const uint64_t nodes = c->config.compaction.nodes;
    tla_controller_drop_plan(c);
    tla_status status = list_heap(c, memory, heap, work);
    if (status) return status;
    const tla_compaction_problem problem = {.heap = heap,
                                            .blocks = k->blocks,
                                            .count = k->block_count,
                                            .alignment = stack->alignment,
                                            .buddies = tla_stack_placement(stack->policy) == TLA_BUDDY,
                                            .hole = hole,
                                            .nodes = nodes ? nodes : TLA_COMPACTION_NODES};
    status = tla_compaction_find(planner_of(&c->config), &problem, &k->plan);
    work->probes += k->plan.tried;
    if (status) return status;
    if (!tla_grow(&k->moves, &k->room, k->plan.count + 1, sizeof *k->moves)) return TLA_NO_HOST_MEMORY;
    for (; k->count < k->plan.count; k->count++) {
        const tla_compaction_move *move = &k->plan.moves[k->count];
        tla_block *at = &k->blocks[move->block].at;
        k->moves[k->count] = (tla_planned_move){at->offset, move->to, at->nbytes};
        at->offset = move->to;
    }
    k->memory = memory;
    k->hole = k->plan.hole;
    return TLA_OK;
}

/* ---- moves ---- */

/* The block that a planned move is about; NULL: it has been freed. */
static const tla_object_block *find_block(const tla_controller *c, const tla_planned_move *move) {
    const tla_site from = tla_pe_memory_site_at(&c->config.memory, c->compaction.memory, move->from);
    return tla_live_addresses_get(&c->objects->blocks, from.pa.value);
}

/* The next planned move; NULL: there is none, or the heap has changed, and the plan is dropped. */
static const tla_planned_move *find_move(tla_controller *c) {
    tla_compaction *k = &c->compaction;
    const tla_object_block *block = NULL;
    while (k->next < k->count && !(block = find_block(c, &k->moves[k->next])))
        k->next++;
    if (k->next == k->count) return NULL;
    const tla_block asked = {block->at.offset, block->nbytes};
    if (is_movable(c, block) && tla_pe_memory_granted(c->memory, k->memory, asked) == k->moves[k->next].nbytes)
        return &k->moves[k->next];
    tla_controller_drop_plan(c);
    return NULL;
}

/* Begins the next planned move. TLA_NOT_FOUND: none is left, or the plan is dropped. TLA_NO_HOST_MEMORY. */
static tla_status begin_move(tla_controller *c, uint64_t at_ps, tla_controller_outcome *outcome) {
    tla_compaction *k = &c->compaction;
    const tla_planned_move *move = find_move(c);
    if (!move) return TLA_NOT_FOUND;
    const tla_site from = tla_pe_memory_site_at(&c->config.memory, k->memory, move->from);
    const tla_site to = tla_pe_memory_site_at(&c->config.memory, k->memory, move->to);
    tla_pe_memory_set_owner(c->memory, (tla_owner){0, TLA_WHO_UNKNOWN, at_ps});
    const tla_block_move_config config = {.how = c->config.move, .of_compaction = true, .begun_ps = at_ps};
    const tla_status status =
        tla_controller_start_move(c, config, from, k->memory, TLA_WHO_UNKNOWN, &to, &outcome->work);
    if (status == TLA_NO_HOST_MEMORY) return status;
    if (status) { /* another block is in the new place */
        c->objects->refused.status = TLA_OK;
        tla_controller_drop_plan(c);
        return TLA_NOT_FOUND;
    }
    c->counts[k->memory].compactions += k->next++ == 0;
    outcome->memory = k->memory;
    outcome->offset = to.offset;
    outcome->arena = tla_pe_memory_get_stats(c->memory, k->memory);
    return TLA_OK;
}

void tla_controller_end_planned(tla_controller *c, bool moved) {
    if (moved) return;
    tla_controller_drop_plan(c);
    c->looked_at = c->changes; /* not again before a command */
}

/* ---- requests that wait ---- */

static uint64_t hole_of(const tla_controller *c, const tla_waiting_alloc *alloc) {
    return tla_arena_granted(tla_pe_memory_arena(c->memory, alloc->memory), alloc->request.nbytes);
}

tla_status tla_controller_wait(tla_controller *c, tla_status status, const tla_waiting_alloc *alloc, tla_work *work) {
    if (status != TLA_FRAGMENTED || c->config.compaction.mode != TLA_COMPACTION_ON_DEMAND) return status;
    if (!tla_grow(&c->waiting, &c->waiting_room, c->waiting_count + 1, sizeof *c->waiting)) return TLA_NO_HOST_MEMORY;
    tla_waiting_alloc added = *alloc;
    if (c->move_count == 0 && c->waiting_count == 0) {
        const tla_status planned = plan(c, alloc->memory, hole_of(c, alloc), work);
        if (planned) return planned == TLA_NO_HOST_MEMORY ? planned : status;
        added.plans = 1;
    }
    c->waiting[c->waiting_count++] = added;
    return TLA_OK;
}

/* Allocates the hole that has been made, or whatever place the memory has. */
static tla_status serve(tla_controller *c, const tla_waiting_alloc *alloc, tla_site *at, tla_work *work) {
    const tla_block hole = c->compaction.hole;
    tla_pe_memory_set_owner(c->memory, alloc->owner);
    tla_status status = tla_object_prepare(c->objects, 1);
    if (status) return status;
    status = TLA_OVERLAP;
    if (hole.nbytes > 0) {
        *at = tla_pe_memory_site_at(&c->config.memory, alloc->memory, hole.offset);
        status = tla_pe_memory_take_at(c->memory, *at, alloc->request.nbytes, work);
    }
    if (status == TLA_OVERLAP) status = tla_pe_memory_take(c->memory, alloc->memory, &alloc->request, at, work);
    if (!status) tla_object_enter(c->objects, *at, alloc->request.nbytes, alloc->who);
    return status;
}

/* Answers the first request that waits. */
static void answer(tla_controller *c, tla_status status, tla_site at, tla_move_step *step) {
    const tla_waiting_alloc *alloc = &c->waiting[0];
    tla_controller_outcome *outcome = &step->outcome;
    tla_controller_counts *counts = &c->counts[alloc->memory];
    outcome->memory = alloc->memory;
    outcome->offset = status ? 0 : at.offset;
    outcome->arena = tla_pe_memory_get_stats(c->memory, alloc->memory);
    outcome->completion = (tla_completion){
        .correlation_id = alloc->correlation_id,
        .request_id = alloc->request_id,
        .status = status,
        .opcode = TLA_OP_ALLOC,
        .value = status ? 0 : at.pa.value,
        .nbytes = status ? tla_stack_takes(tla_pe_memory_stack(c->memory, alloc->memory), &alloc->request)
                         : alloc->request.nbytes,
        .total_free = outcome->arena.free,
        .largest_free = outcome->arena.largest_free,
        .nodes_visited = outcome->work.nodes_visited};
    counts->nodes_visited += outcome->work.nodes_visited;
    counts->instructions += outcome->engine.instructions;
    counts->compacted_allocs += !status;
    step->port = alloc->port;
    c->changes++;
    c->waiting_count--;
    for (size_t i = 0; i < c->waiting_count; i++)
        c->waiting[i] = c->waiting[i + 1];
    tla_controller_drop_plan(c);
}

tla_move_step_kind tla_controller_go_on(tla_controller *c, uint64_t at_ps, tla_move_step *step) {
    step->outcome = (tla_controller_outcome){.memory = c->first, .work.engine = &step->outcome.engine};
    while (c->waiting_count > 0) {
        tla_waiting_alloc *alloc = &c->waiting[0];
        tla_site at = {.memory = TLA_MEMORY_KIND_COUNT};
        tla_work *work = &step->outcome.work;
        tla_status status = c->abandoned ? TLA_RESET : begin_move(c, at_ps, &step->outcome);
        if (!status) return TLA_MOVE_TAKES;
        if (status == TLA_NOT_FOUND) status = serve(c, alloc, &at, work);
        if (status == TLA_FRAGMENTED && alloc->plans++ < TLA_COMPACTION_PLANS) {
            status = plan(c, alloc->memory, hole_of(c, alloc), work);
            if (!status) continue;
            if (status != TLA_NO_HOST_MEMORY) status = TLA_FRAGMENTED;
        }
        answer(c, status, at, step);
        return TLA_MOVE_ENDS;
    }
    c->abandoned = false;
    return TLA_MOVE_WAITS;
}

/* ---- in the background ---- */

/* The hole with which a memory is no longer above the threshold; for buddies the next smaller one. */
static uint64_t find_goal(const tla_stack_config *stack, const tla_arena_stats *stats, uint64_t threshold) {
    const uint64_t free = stats->free, unit = stack->alignment;
    uint64_t goal = free - free / 1000 * threshold - free % 1000 * threshold / 1000;
    goal = (goal + unit - 1) / unit * unit;
    while (tla_stack_placement(stack->policy) == TLA_BUDDY && goal & (goal - 1))
        goal &= goal - 1;
    return goal;
}

/* Plans a hole for a memory above the threshold: the goal, or else any that is larger than the largest. */
static tla_status improve(tla_controller *c, tla_memory_kind memory, tla_work *work) {
    const tla_arena_stats stats = tla_pe_memory_get_stats(c->memory, memory);
    const tla_stack_config *stack = tla_stack_get_config(tla_pe_memory_stack(c->memory, memory));
    if (tla_arena_fragmentation_permille(&stats) <= c->config.compaction.threshold) return TLA_NOT_FOUND;
    const uint64_t goal = find_goal(stack, &stats, c->config.compaction.threshold);
    const uint64_t more = tla_arena_granted(tla_pe_memory_arena(c->memory, memory), stats.largest_free + 1);
    tla_status status = goal > stats.largest_free ? plan(c, memory, goal, work) : TLA_FRAGMENTED;
    if (status && status != TLA_NO_HOST_MEMORY && more < goal) status = plan(c, memory, more, work);
    if (!status && c->compaction.count == 0) status = TLA_NOT_FOUND;
    return status && status != TLA_NO_HOST_MEMORY ? TLA_NOT_FOUND : status;
}

static tla_status plan_background(tla_controller *c, tla_work *work) {
    if (c->looked_at == c->changes) return TLA_NOT_FOUND;
    tla_status status = TLA_NOT_FOUND;
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT && status == TLA_NOT_FOUND; i++)
        if (tla_controller_has(&c->config, i)) status = improve(c, (tla_memory_kind)i, work);
    if (status == TLA_NOT_FOUND) c->looked_at = c->changes;
    return status;
}

tla_status tla_controller_compact(tla_controller *c, uint64_t at_ps, uint64_t allowed, uint64_t *nbytes,
                                  tla_controller_outcome *outcome) {
    *outcome = (tla_controller_outcome){.memory = c->first, .work.engine = &outcome->engine};
    if (c->config.compaction.mode != TLA_COMPACTION_BACKGROUND || !c->memory || c->move_count > 0) return TLA_NOT_FOUND;
    const tla_planned_move *move = find_move(c);
    if (!move) {
        const tla_status status = plan_background(c, &outcome->work);
        if (status) return status;
        move = find_move(c);
    }
    if (!move) return TLA_NOT_FOUND;
    *nbytes = move->nbytes;
    return move->nbytes > allowed ? TLA_LIMIT : begin_move(c, at_ps, outcome);
}
