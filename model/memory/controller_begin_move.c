/* The begin of a move: its checks, and its new place. */
#include "block_bindings.h"
#include "controller_state.h"

#include "base/grow.h"

#include <inttypes.h>

/* Allocates the new place, for the owner of the block; another component may have done so. */
static tla_status allocate(tla_controller *c, const tla_block_move_config *config, tla_memory_kind memory,
                           const tla_site *place, tla_work *work) {
    tla_object_block *const block = config->block;
    tla_site *const to = &block->to;
    tla_block live;
    tla_owner owner;
    if (config->other || (place && place->memory == TLA_MEMORY_KIND_COUNT)) {
        *to = *place;
        return TLA_OK;
    }
    if (!tla_pe_memory_find(c->memory, block->at.memory, block->at.offset, &live, &owner))
        tla_pe_memory_set_owner(c->memory, owner);
    if (place) {
        *to = *place;
        return tla_pe_memory_take_at(c->memory, *place, block->nbytes, work);
    }
    return tla_pe_memory_take(c->memory, memory, &(tla_stack_request){.nbytes = block->nbytes}, to, work);
}

static bool is_followed(const tla_controller *c, tla_site at) {
    return at.memory != TLA_MEMORY_KIND_COUNT && tla_pe_memory_traffic(c->memory, at.memory);
}

static bool has_owner(const tla_controller *c, tla_site at) {
    return tla_controller_is_owned(&c->config) && at.memory == TLA_HBM;
}

/* Of a move in a slice with an owner, which has placed another block there. */
static tla_status check_owned(tla_controller *c, const tla_command *command, tla_site at, tla_site to) {
    tla_error *error = &c->objects->refused;
    const uint64_t pa = command->pa.value;
    if (!command->elsewhere || !has_owner(c, at) || !has_owner(c, to))
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "MOVE of 0x%" PRIx64 " %s the HBM, which has an owner: name a place there that the owner "
                             "has allocated for a block of the HBM",
                             pa, has_owner(c, at) ? "from" : "to");
    if (command->to.value == pa)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "MOVE of 0x%" PRIx64 ": the block is there already", pa);
    return TLA_OK;
}

/* Of a move to another controller. */
static tla_status check_foreign(tla_controller *c, const tla_command *command, tla_site at) {
    tla_error *error = &c->objects->refused;
    const uint64_t pa = command->pa.value, to = command->to.value;
    const tla_object_block *block = tla_live_addresses_get(&c->objects->blocks, pa);
    if (tla_pe_memory_find_site(&c->config.memory, command->to).memory != TLA_MEMORY_KIND_COUNT)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "MOVE of 0x%" PRIx64 " to 0x%" PRIx64 ": this controller has that place: name its memory",
                             pa, to);
    if (is_followed(c, at))
        return tla_error_set(error, TLA_UNSUPPORTED, "MOVE of 0x%" PRIx64 ": a free list lies in memory", pa);
    if (block && block->object)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "MOVE of 0x%" PRIx64 " to another controller: a counted block stays at its controller",
                             pa);
    return TLA_OK;
}

/* `to`: its new place, or with the memory alone. */
static tla_status check(tla_controller *c, const tla_command *command, tla_site at, tla_site to) {
    if (has_owner(c, at) || has_owner(c, to)) return check_owned(c, command, at, to);
    if (command->elsewhere) return check_foreign(c, command, at);
    const tla_memory_kind memory = command->memory;
    const char *const place = tla_memory_kind_title(memory);
    tla_error *error = &c->objects->refused;
    const uint64_t pa = command->pa.value;
    if (!tla_controller_has(&c->config, (int)memory))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "MOVE of 0x%" PRIx64 ": the controller has no %s", pa, place);
    if (tla_pe_memory_traffic(c->memory, memory) || is_followed(c, at))
        return tla_error_set(error, TLA_UNSUPPORTED, "MOVE of 0x%" PRIx64 " to the %s: a free list lies in memory", pa,
                             place);
    return TLA_OK;
}

static tla_status add(tla_controller *c, tla_block_move_config config, tla_memory_kind memory, const tla_site *place,
                      tla_work *work) {
    tla_block_move *made = NULL;
    if (!tla_grow(&c->moves, &c->move_room, c->move_count + 1, sizeof *c->moves) ||
        !tla_grow(&c->owed, &c->owed_room, c->owed_count + c->move_count + 1, sizeof *c->owed))
        return TLA_NO_HOST_MEMORY;
    tla_status status = tla_block_move_create(&config, &made);
    if (status) return status;
    status = allocate(c, &config, memory, place, work);
    if (status)
        tla_block_move_destroy(made);
    else
        c->moves[c->move_count++] = made;
    return status;
}

tla_status tla_controller_begin_move(tla_controller *c, const tla_command *command, tla_site at, uint32_t port,
                                     uint64_t who, uint64_t at_ps, tla_work *work) {
    tla_block_move_config config = {.how = c->config.move,
                                    .correlation_id = command->correlation_id,
                                    .request_id = command->request_id,
                                    .port = port,
                                    .begun_ps = at_ps};
    c->objects->refused.status = TLA_OK;
    tla_site to = {.memory = command->memory};
    if (command->elsewhere) {
        to = tla_pe_memory_find_site(&c->config.memory, command->to);
        to.pa = command->to;
        if (to.memory == TLA_MEMORY_KIND_COUNT) to.offset = command->to.value;
    }
    const tla_status status = check(c, command, at, to);
    if (status) return status;
    return tla_controller_start_move(c, config, at, command->elsewhere ? at.memory : command->memory, who,
                                     command->elsewhere ? &to : NULL, work);
}

tla_status tla_controller_start_move(tla_controller *c, tla_block_move_config config, tla_site at,
                                     tla_memory_kind memory, uint64_t who, const tla_site *place, tla_work *work) {
    tla_status status = tla_object_begin_move(c->objects, at, memory, who, &config.block, work);
    if (status) return status;
    const uint64_t nbytes = config.block->nbytes;
    const tla_controller_watch *watch = &c->watch;
    if (watch->reserved && watch->reserved(watch->context, at.memory, at.offset, nbytes))
        status = tla_error_set(&c->objects->refused, TLA_BUSY,
                               "MOVE of 0x%" PRIx64 ": an initiator has reserved bytes of the block", at.pa.value);
    if (!status && place && has_owner(c, *place))
        status = tla_object_begin_exchange(c->objects, config.block, *place, &config.other);
    if (!status) status = add(c, config, memory, place, work);
    if (status && config.other) tla_object_end_move(config.other);
    if (status)
        tla_object_end_move(config.block);
    else if (watch->moves)
        watch->moves(watch->context, at.memory, at.offset, nbytes);
    return status;
}
