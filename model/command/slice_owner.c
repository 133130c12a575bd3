/* Commands about all slices in rounds: send, and undo where a slice has rejected the command. */
#include "slice_owner.h"

#include <stdlib.h>

typedef enum phase { OVER, TELLING, UNDOING } phase;

struct tla_slice_owner {
    tla_lockstep *lockstep;
    uint64_t alignment;
    phase phase;
    bool handed_out; /* the results of the sent_commands must be read */
    uint64_t at_ps;  /* when the round begins */
    unsigned tries;
    tla_command command; /* that has been decided */
    tla_lockstep_buffer buffer;
    tla_slice_owner_result result;
    uint64_t not_restored;
    size_t count, asked_count;
    tla_sent_command *sent_commands; /* of a round, with the commands and the numbers of the slices that they go to */
    tla_command *commands;
    size_t *asked;
    bool *done; /* by slice: it has executed the command */
    tla_owned_slice slices[];
};

tla_status tla_slice_owner_create(const tla_owned_slice *slices, const tla_lockstep_config *config,
                                  tla_slice_owner **out) {
    *out = NULL;
    const size_t count = config->banks;
    tla_slice_owner *o = calloc(1, sizeof *o + count * sizeof o->slices[0]);
    if (!o) return TLA_NO_HOST_MEMORY;
    o->count = count;
    o->alignment = config->alignment ? config->alignment : 1;
    o->sent_commands = calloc(count + 1, sizeof *o->sent_commands);
    o->commands = calloc(count + 1, sizeof *o->commands);
    o->asked = calloc(count + 1, sizeof *o->asked);
    o->done = calloc(count + 1, sizeof *o->done);
    tla_status status = o->sent_commands && o->commands && o->asked && o->done ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (!status) status = tla_lockstep_create(config, &o->lockstep);
    if (status) {
        tla_slice_owner_destroy(o);
        return status;
    }
    for (size_t i = 0; i < count; i++)
        o->slices[i] = slices[i];
    *out = o;
    return TLA_OK;
}

void tla_slice_owner_destroy(tla_slice_owner *o) {
    if (!o) return;
    tla_lockstep_destroy(o->lockstep);
    free(o->sent_commands);
    free(o->commands);
    free(o->asked);
    free(o->done);
    free(o);
}

/* A page of nbytes in every slice. */
static tla_status take(tla_slice_owner *o, uint64_t nbytes, tla_work *work) {
    uint64_t all;
    if (__builtin_mul_overflow(nbytes, (uint64_t)o->count, &all)) return TLA_EXHAUSTED;
    return tla_lockstep_alloc(o->lockstep, all, nbytes, &o->buffer, work);
}

/* Returns the range of the list that a FREE releases; only the slices know whether it is live. */
static tla_lockstep_buffer buffer_of(const tla_slice_owner *o, const tla_command *command) {
    const uint64_t mask = o->alignment - 1, padded = (command->nbytes + mask) & ~mask;
    return (tla_lockstep_buffer){
        .offset = command->pa.value, .bank_bytes = padded, .pages = o->count, .page_bytes = padded};
}

tla_status tla_slice_owner_decide(tla_slice_owner *o, const tla_command *command, tla_work *work) {
    o->command = *command;
    o->phase = OVER;
    if (command->opcode == TLA_OP_ALLOC)
        return command->memory == TLA_HBM ? take(o, command->nbytes, work) : TLA_UNSUPPORTED;
    if (command->opcode != TLA_OP_FREE) return TLA_BAD_COMMAND;
    o->buffer = buffer_of(o, command);
    const uint64_t capacity = tla_slice_owner_get_stats(o).allocatable, offset = command->pa.value;
    const bool inside = command->nbytes > 0 && offset < capacity && command->nbytes <= capacity - offset;
    return inside ? TLA_OK : TLA_INVALID_ARGUMENT;
}

static void enter(tla_slice_owner *o, phase next, uint64_t at_ps) {
    o->phase = next;
    o->at_ps = at_ps;
    o->tries = 0;
}

void tla_slice_owner_tell(tla_slice_owner *o, uint64_t at_ps) {
    o->handed_out = false; /* who made the last sent_commands may have been stopped */
    o->result = (tla_slice_owner_result){.offset = o->buffer.offset, .done_ps = at_ps};
    for (size_t i = 0; i < o->count; i++)
        o->done[i] = false;
    enter(o, TELLING, at_ps);
}

/* A slice's own message: to place the block, or to give it back. */
static tla_command message_to(const tla_slice_owner *o, size_t slice, bool place) {
    tla_command message = {.opcode = place ? TLA_OP_PLACE : TLA_OP_FREE,
                           .target = TLA_TARGET_MEMORY_CONTROLLER,
                           .correlation_id = o->command.correlation_id,
                           .request_id = o->command.request_id,
                           .memory = TLA_HBM,
                           .object = o->command.object,
                           .nbytes = o->command.nbytes};
    message.pa.value = o->slices[slice].base.value + o->buffer.offset;
    return message;
}

static void ask(tla_slice_owner *o) {
    const bool place = (o->command.opcode == TLA_OP_ALLOC) == (o->phase == TELLING);
    o->asked_count = 0;
    for (size_t i = 0; i < o->count; i++) {
        if (o->phase == UNDOING && !o->done[i]) continue;
        const size_t n = o->asked_count++;
        o->asked[n] = i;
        o->commands[n] = message_to(o, i, place);
        o->sent_commands[n] = (tla_sent_command){
            .port_address = o->slices[i].port_address, .command = &o->commands[n], .at_ps = o->at_ps, .gather = true};
    }
}

/* Updates the list to the state of the slices: an undone ALLOC releases its range, and an undone FREE releases nothing.
 * A list that cannot grow (TLA_NO_HOST_MEMORY) rejects a FREE as a slice would. */
static void end(tla_slice_owner *o) {
    o->phase = OVER;
    if (o->command.opcode == TLA_OP_ALLOC) {
        if (o->result.status) tla_lockstep_free(o->lockstep, o->buffer, NULL);
    } else if (!o->result.status) {
        o->result.status = tla_lockstep_free(o->lockstep, o->buffer, &o->result.work);
        if (o->result.status) enter(o, UNDOING, o->at_ps);
    }
    o->result.done_ps = o->at_ps;
}

static void end_telling(tla_slice_owner *o) {
    bool any = false;
    for (size_t n = 0; n < o->asked_count; n++) {
        const tla_sent_command *p = &o->sent_commands[n];
        o->done[o->asked[n]] = p->status == TLA_OK;
        any |= p->status == TLA_OK;
        if (o->result.status || !p->status) continue;
        o->result.status = p->status;
        o->result.failed_at = o->slices[o->asked[n]].where;
    }
    if (o->result.status && any)
        enter(o, UNDOING, o->at_ps);
    else
        end(o);
}

static void end_undoing(tla_slice_owner *o) {
    bool left = false;
    o->tries++;
    for (size_t n = 0; n < o->asked_count; n++) {
        const tla_status status = o->sent_commands[n].status;
        const bool again = status == TLA_BUSY && o->tries < TLA_SLICE_OWNER_UNDO_TRIES;
        o->done[o->asked[n]] = again;
        o->not_restored += status != TLA_OK && !again;
        left |= again;
    }
    if (!left) end(o);
}

size_t tla_slice_owner_next(tla_slice_owner *o, tla_sent_command **sent_commands) {
    *sent_commands = o->sent_commands;
    if (o->handed_out) {
        o->handed_out = false;
        for (size_t n = 0; n < o->asked_count; n++)
            if (o->sent_commands[n].answered_ps > o->at_ps) o->at_ps = o->sent_commands[n].answered_ps;
        if (o->phase == TELLING)
            end_telling(o);
        else
            end_undoing(o);
    }
    if (o->phase == OVER) return 0;
    ask(o);
    o->handed_out = true;
    return o->asked_count;
}

tla_slice_owner_result tla_slice_owner_get_result(const tla_slice_owner *o) {
    return o->result;
}

tla_bank_stats tla_slice_owner_get_stats(const tla_slice_owner *o) {
    tla_bank_stats stats = {0};
    tla_lockstep_get_stats(o->lockstep, 0, &stats);
    return stats;
}

uint64_t tla_slice_owner_not_restored(const tla_slice_owner *o) {
    return o->not_restored;
}
