/* Commands about all slices in rounds: send, and undo where a slice has rejected the command. */
#include "slice_owner.h"

#include <stdlib.h>

typedef enum phase { OVER, TELLING, UNDOING } phase;

struct tla_slice_owner {
    tla_units *units;
    uint64_t capacity; /* of a slice */
    tla_fill fill;
    phase phase;
    bool handed_out; /* the results of the sent_commands must be read */
    uint64_t at_ps;  /* when the round begins */
    unsigned tries;
    tla_command command; /* that has been decided */
    tla_units_request request;
    uint64_t offset;
    tla_slice_owner_result result;
    uint64_t not_restored;
    size_t count, asked_count;
    tla_sent_command *sent_commands; /* of a round, with the commands and the numbers of the slices that they go to */
    tla_command *commands;
    size_t *asked;
    uint32_t *named;   /* slices of the request */
    uint64_t *extents; /* bytes in each of them */
    bool *takes_part;  /* by slice */
    bool *done;        /* by slice: it has executed the command */
    tla_owned_slice slices[];
};

tla_status tla_slice_owner_create(const tla_owned_slice *slices, const tla_lockstep_config *config,
                                  tla_slice_owner **out) {
    *out = NULL;
    const size_t count = config->banks;
    tla_slice_owner *o = calloc(1, sizeof *o + count * sizeof o->slices[0]);
    if (!o) return TLA_NO_HOST_MEMORY;
    o->count = count;
    o->capacity = config->bank_bytes;
    o->fill = config->fill;
    o->sent_commands = calloc(count + 1, sizeof *o->sent_commands);
    o->commands = calloc(count + 1, sizeof *o->commands);
    o->asked = calloc(count + 1, sizeof *o->asked);
    o->named = calloc(count + 1, sizeof *o->named);
    o->extents = calloc(count + 1, sizeof *o->extents);
    o->takes_part = calloc(count + 1, sizeof *o->takes_part);
    o->done = calloc(count + 1, sizeof *o->done);
    const bool is_there =
        o->sent_commands && o->commands && o->asked && o->named && o->extents && o->takes_part && o->done;
    tla_status status = is_there ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (!status && config->fill > TLA_TOP_DOWN) status = TLA_INVALID_ARGUMENT;
    const tla_units_config units = {config->banks, config->base, config->bank_bytes, config->alignment};
    if (!status) status = tla_units_create(&units, &o->units);
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
    tla_units_destroy(o->units);
    free(o->sent_commands);
    free(o->commands);
    free(o->asked);
    free(o->named);
    free(o->extents);
    free(o->takes_part);
    free(o->done);
    free(o);
}

static bool names(const tla_command *command, const tla_location *where) {
    return !command->of_units || (command->pes.cubes[where->cube] >> where->pe & 1);
}

/* Bytes in a slice that the command is about: extents are in the order of the named PEs. */
static uint64_t extent(const tla_command *command, const tla_location *where) {
    if (!command->of_units || command->count == 0) return command->nbytes;
    tla_pe_set before = {{0}};
    for (uint32_t cube = 0; cube < where->cube; cube++)
        before.cubes[cube] = command->pes.cubes[cube];
    before.cubes[where->cube] = (uint16_t)(command->pes.cubes[where->cube] & ((1u << where->pe) - 1));
    return command->extents[tla_pe_set_count(&before)];
}

/* Finds the lists of a command. TLA_NOT_FOUND: it names a PE without a slice here. */
static tla_status make_request(tla_slice_owner *o, const tla_command *command) {
    uint32_t count = 0;
    for (size_t i = 0; i < o->count; i++) {
        o->takes_part[i] = names(command, &o->slices[i].where);
        if (!o->takes_part[i]) continue;
        o->extents[count] = extent(command, &o->slices[i].where);
        o->named[count++] = (uint32_t)i;
    }
    o->request = (tla_units_request){.mode = command->of_units ? command->units : TLA_UNITS_LOCKSTEP,
                                     .fill = o->fill,
                                     .nbytes = command->nbytes,
                                     .units = o->named,
                                     .count = count,
                                     .extents = o->extents};
    if (!command->of_units) return TLA_OK;
    if (count != tla_pe_set_count(&command->pes)) return TLA_NOT_FOUND;
    return count == 0 || (command->units == TLA_UNITS_SINGLE && count > 1) ? TLA_INVALID_ARGUMENT : TLA_OK;
}

tla_status tla_slice_owner_decide(tla_slice_owner *o, const tla_command *command, tla_work *work) {
    o->command = *command;
    o->phase = OVER;
    o->request = (tla_units_request){0};
    const bool is_alloc = command->opcode == TLA_OP_ALLOC;
    if (is_alloc && command->memory != TLA_HBM) return TLA_UNSUPPORTED;
    if (!is_alloc && command->opcode != TLA_OP_FREE) return TLA_BAD_COMMAND;
    const tla_status status = make_request(o, command);
    if (status) return status;
    uint64_t all;
    if (is_alloc && __builtin_mul_overflow(command->nbytes, (uint64_t)o->count, &all)) return TLA_EXHAUSTED;
    if (is_alloc) return tla_units_alloc(o->units, &o->request, &o->offset, work);
    o->offset = command->pa.value;
    const bool inside = command->nbytes > 0 && o->offset < o->capacity && command->nbytes <= o->capacity - o->offset;
    return inside ? TLA_OK : TLA_INVALID_ARGUMENT;
}

static void enter(tla_slice_owner *o, phase next, uint64_t at_ps) {
    o->phase = next;
    o->at_ps = at_ps;
    o->tries = 0;
}

void tla_slice_owner_tell(tla_slice_owner *o, uint64_t at_ps) {
    o->handed_out = false; /* who made the last sent_commands may have been stopped */
    o->result = (tla_slice_owner_result){.offset = o->offset, .done_ps = at_ps};
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
                           .nbytes = extent(&o->command, &o->slices[slice].where)};
    message.pa.value = o->slices[slice].base.value + o->offset;
    return message;
}

static void ask(tla_slice_owner *o) {
    const bool place = (o->command.opcode == TLA_OP_ALLOC) == (o->phase == TELLING);
    o->asked_count = 0;
    for (size_t i = 0; i < o->count; i++) {
        if (!(o->phase == UNDOING ? o->done : o->takes_part)[i]) continue;
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
        if (o->result.status) tla_units_free(o->units, &o->request, o->offset, NULL);
    } else if (!o->result.status) {
        o->result.status = tla_units_free(o->units, &o->request, o->offset, &o->result.work);
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

static const tla_units_request of_all = {.mode = TLA_UNITS_LOCKSTEP, .nbytes = 1};

/* Of the lists of a request at once; an invalid one is about all slices. */
static tla_bank_stats get_stats(const tla_slice_owner *o, const tla_units_request *request) {
    tla_bank_stats stats = {.allocatable = o->capacity};
    if (tla_units_get_room(o->units, request, &stats.free, &stats.largest_free))
        tla_units_get_room(o->units, &of_all, &stats.free, &stats.largest_free);
    stats.allocated = stats.allocatable - stats.free;
    return stats;
}

tla_bank_stats tla_slice_owner_get_stats(const tla_slice_owner *o) {
    return get_stats(o, &of_all);
}

tla_bank_stats tla_slice_owner_get_slice_stats(const tla_slice_owner *o, uint32_t slice) {
    return get_stats(o, &(tla_units_request){.mode = TLA_UNITS_SINGLE, .nbytes = 1, .units = &slice, .count = 1});
}

tla_bank_stats tla_slice_owner_get_room(const tla_slice_owner *o) {
    return get_stats(o, &o->request);
}

uint64_t tla_slice_owner_not_restored(const tla_slice_owner *o) {
    return o->not_restored;
}
