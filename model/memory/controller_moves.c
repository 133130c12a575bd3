/* The moves of a controller, one after the other (controller.h). */
#include "block_bindings.h"
#include "controller_state.h"

const char *tla_move_mode_name(tla_move_mode mode) {
    static const char *const names[] = {"off", "stop", "concurrent"};
    return (unsigned)mode < TLA_MOVE_MODE_COUNT ? names[mode] : NULL;
}

/* Whether the block is at another controller now: it has left its address, and its record. */
static bool has_left(const tla_block_move *m) {
    return tla_block_move_has_moved(m) && tla_block_move_get_config(m)->block->to.memory == TLA_MEMORY_KIND_COUNT;
}

static tla_status give_back(tla_controller *c, tla_site place, uint64_t nbytes, tla_work *work) {
    const uint64_t granted = tla_pe_memory_granted(c->memory, place.memory, (tla_block){place.offset, nbytes});
    const tla_status status = tla_pe_memory_give_back(c->memory, place, nbytes, work);
    if (!status) tla_object_tell(c->objects, place, granted);
    return status;
}

void tla_controller_free_owed(tla_controller *c, uint64_t at_ps, tla_work *work) {
    if (c->owed_count > 0) tla_pe_memory_set_owner(c->memory, (tla_owner){0, TLA_WHO_UNKNOWN, at_ps});
    while (c->owed_count > 0) {
        const tla_owed_place *last = &c->owed[c->owed_count - 1];
        if (give_back(c, last->at, last->nbytes, work)) return;
        c->owed_count--;
    }
}

/* The block is in its new place. */
static void settle(tla_controller *c, const tla_block_move_config *config) {
    const tla_site from = config->block->at;
    const uint64_t nbytes = config->block->nbytes;
    if (config->block->to.memory != TLA_MEMORY_KIND_COUNT)
        tla_pe_memory_copied(c->memory, from, nbytes, config->block->to);
    if (config->other)
        tla_object_exchange_places(config->block, config->other);
    else
        tla_object_change_place(config->block, config->block->to);
    c->counts[from.memory].moved_blocks++;
    c->counts[from.memory].moved_bytes += nbytes;
    if (!config->of_compaction) return;
    c->counts[from.memory].compacted_blocks++;
    c->counts[from.memory].compacted_bytes += nbytes;
}

/* The old place, or the new one of a move that failed. An owner frees a place that it has chosen. */
static void free_place(tla_controller *c, tla_block_move *m, uint64_t at_ps, tla_move_step *step) {
    const tla_block_move_config *config = tla_block_move_get_config(m);
    tla_controller_outcome *outcome = &step->outcome;
    const tla_site place = step->from;
    step->moved = tla_block_move_has_moved(m);
    step->to = config->block->to;
    step->of_compaction = config->of_compaction;
    step->exchanged = config->other;
    step->begun_ps = config->begun_ps;
    if (step->moved) settle(c, config);
    *outcome =
        (tla_controller_outcome){.memory = place.memory, .offset = place.offset, .work.engine = &outcome->engine};
    tla_pe_memory_set_owner(c->memory, (tla_owner){0, TLA_WHO_UNKNOWN, at_ps});
    if (!config->other) outcome->completion.status = give_back(c, place, step->nbytes, &outcome->work);
    if (outcome->completion.status) c->owed[c->owed_count++] = (tla_owed_place){place, step->nbytes}; /* add: room */
    outcome->arena = tla_pe_memory_get_stats(c->memory, place.memory);
}

static void end(tla_controller *c, tla_block_move *m, tla_move_step *step) {
    const tla_block_move_config *config = tla_block_move_get_config(m);
    const bool moved = tla_block_move_has_moved(m), left = has_left(m);
    const bool leaves = config->block->to.memory == TLA_MEMORY_KIND_COUNT;
    const tla_site at = leaves ? tla_block_move_from(m) : config->block->to; /* here */
    tla_controller_outcome *outcome = &step->outcome;
    if (config->of_compaction) tla_controller_end_planned(c, moved);
    *outcome = (tla_controller_outcome){.memory = at.memory, .offset = at.offset};
    outcome->arena = tla_pe_memory_get_stats(c->memory, at.memory);
    outcome->completion = (tla_completion){.correlation_id = config->correlation_id,
                                           .request_id = config->request_id,
                                           .status = moved ? TLA_OK : tla_block_move_status(m),
                                           .opcode = TLA_OP_MOVE,
                                           .value = moved ? config->block->to.pa.value : 0,
                                           .nbytes = step->nbytes,
                                           .total_free = outcome->arena.free,
                                           .largest_free = outcome->arena.largest_free};
    step->port = config->port;
    c->counts[at.memory].not_resumed += tla_block_move_not_restored(m);
    tla_object_end_move(config->block);
    if (config->other) tla_object_end_move(config->other);
    if (left) tla_object_forget(config->block);
    tla_block_move_destroy(m);
    c->changes += moved;
    c->move_count--;
    for (size_t i = 0; i < c->move_count; i++)
        c->moves[i] = c->moves[i + 1];
}

tla_move_step_kind tla_controller_move_next(tla_controller *c, uint64_t at_ps, tla_move_step *step) {
    if (c->move_count == 0) return tla_controller_go_on(c, at_ps, step);
    tla_block_move *m = c->moves[0];
    const tla_move_step_kind kind = tla_block_move_next(m, step);
    const bool of_compaction = tla_block_move_get_config(m)->of_compaction;
    if (kind == TLA_MOVE_FREES) free_place(c, m, at_ps, step);
    if (kind == TLA_MOVE_ENDS) end(c, m, step);
    return kind == TLA_MOVE_ENDS && of_compaction ? tla_controller_move_next(c, at_ps, step) : kind;
}

bool tla_controller_has_copy(const tla_controller *c) {
    return c->move_count > 0 && tla_block_move_has_copy(c->moves[0]);
}

void tla_controller_move_sent(tla_controller *c, tla_status status) {
    tla_block_move_sent(c->moves[0], status);
}

void tla_controller_move_copied(tla_controller *c, bool ok) {
    tla_block_move_copied(c->moves[0], ok);
}

void tla_controller_wrote(tla_controller *c, tla_memory_kind memory, uint64_t offset, uint64_t nbytes) {
    if (c->move_count > 0 && tla_block_move_get_config(c->moves[0])->block->at.memory == memory)
        tla_block_move_wrote(c->moves[0], offset, nbytes);
}

bool tla_controller_has_twin(const tla_controller *c, tla_memory_kind memory, uint64_t offset, uint64_t nbytes,
                             tla_move_step *copy) {
    return c->move_count > 0 && nbytes > 0 && tla_block_move_has_twin(c->moves[0], memory, offset, nbytes, copy);
}

void tla_controller_abandon_moves(tla_controller *c) {
    for (size_t i = 0; i < c->move_count; i++)
        tla_block_move_abandon(c->moves[i]);
    c->abandoned = true;
    tla_controller_drop_plan(c);
}

bool tla_controller_is_moving(const tla_controller *c, tla_memory_kind memory) {
    for (size_t i = 0; i < c->move_count; i++) {
        const tla_block_move_config *config = tla_block_move_get_config(c->moves[i]);
        if (config->block->at.memory == memory || config->block->to.memory == memory) return true;
    }
    return false;
}

void tla_controller_drop_moves(tla_controller *c) {
    while (c->move_count > 0) {
        tla_block_move *m = c->moves[--c->move_count];
        if (has_left(m)) tla_object_forget(tla_block_move_get_config(m)->block);
        tla_block_move_destroy(m);
    }
    c->owed_count = 0;
    c->waiting_count = 0;
    c->abandoned = false;
    tla_controller_drop_plan(c);
}
