/* Fan-out of mapping commands in rounds: settle posted commands, send, take back. */
#include "fan_out.h"
#include "base/numbers.h"

#include <stdlib.h>

typedef enum phase { OVER, SETTLING, SENDING, TAKING_BACK } phase;

typedef struct child {
    tla_command_route route;
    uint64_t free_ps; /* time at which the last read answer returned: the port is free from then on */
    bool posted;      /* a command was sent whose answer is not read yet */
    bool done;        /* has done the command that may be taken back */
} child;

struct tla_fan_out {
    phase phase, after_taking_back;
    uint64_t at_ps, until_ps;    /* when the phase began, and the latest answer since */
    tla_command command, posted; /* to be sent; sent without waiting for answers */
    tla_command taken_back;
    tla_command to_host; /* the command of this round, for a TLA_TARGET_HOST */
    uint64_t send_at_ps;
    bool gather, posted_refused;
    bool handed_out; /* the results of the sent_commands must be read */
    unsigned tries;
    tla_fan_out_result result;
    uint64_t lost, not_restored;
    tla_sent_command *sent_commands; /* of a round, and the targets that they go to */
    uint32_t *asked;
    size_t asked_count, count;
    child children[];
};

tla_status tla_fan_out_create(const tla_command_route *routes, size_t count, tla_fan_out **out) {
    *out = NULL;
    tla_fan_out *f = calloc(1, sizeof *f + count * sizeof f->children[0]);
    if (!f) return TLA_NO_HOST_MEMORY;
    f->count = count;
    f->sent_commands = calloc(count + 1, sizeof *f->sent_commands);
    f->asked = calloc(count + 1, sizeof *f->asked);
    if (!f->sent_commands || !f->asked) {
        tla_fan_out_destroy(f);
        return TLA_NO_HOST_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        f->children[i].route = routes[i];
    *out = f;
    return TLA_OK;
}

void tla_fan_out_destroy(tla_fan_out *f) {
    if (!f) return;
    free(f->sent_commands);
    free(f->asked);
    free(f);
}

static bool covers(const tla_scope *a, const tla_scope *b) {
    return (a->sip_mask & b->sip_mask) && (a->die_mask & b->die_mask) && (a->pe_mask & b->pe_mask);
}

static void enter(tla_fan_out *f, phase next, uint64_t at_ps) {
    f->phase = next;
    f->at_ps = f->until_ps = at_ps;
}

void tla_fan_out_settle(tla_fan_out *f, uint64_t at_ps) {
    f->result = (tla_fan_out_result){.written_ps = at_ps, .done_ps = at_ps};
    f->after_taking_back = OVER;
    f->handed_out = false; /* who made the last sent_commands may have been stopped */
    enter(f, SETTLING, at_ps);
}

void tla_fan_out_send(tla_fan_out *f, const tla_command *command, tla_target target, uint64_t at_ps, bool gather) {
    tla_fan_out_settle(f, at_ps); /* the ports are taken until the answers have been read */
    f->after_taking_back = SENDING;
    f->command = *command;
    f->command.target = target;
    f->send_at_ps = at_ps;
    f->gather = gather;
}

/* Continues when nothing is left to settle or to take back. */
static void go_on(tla_fan_out *f) {
    const phase next = f->after_taking_back;
    f->after_taking_back = OVER;
    if (next == SENDING) {
        enter(f, SENDING, f->send_at_ps);
    } else {
        f->result.done_ps = f->until_ps;
        f->phase = OVER;
    }
}

/* The command that undoes a command; the command itself if it is not undone. */
static tla_opcode opposite(tla_opcode opcode) {
    switch (opcode) {
    case TLA_OP_MAP:
    case TLA_OP_UNMAP:
    case TLA_OP_REMAP:
        return TLA_OP_TAKE_BACK;
    case TLA_OP_PAUSE:
        return TLA_OP_RESUME;
    default:
        return opcode;
    }
}

/* All or none: those that did the command undo it. */
static void take_back(tla_fan_out *f, const tla_command *command) {
    const tla_opcode undo = opposite(command->opcode);
    if (undo == command->opcode) {
        go_on(f);
        return;
    }
    f->taken_back = *command;
    f->taken_back.opcode = undo;
    f->tries = 0;
    enter(f, TAKING_BACK, f->until_ps);
}

static const tla_command *command_of(const tla_fan_out *f) {
    return f->phase == SETTLING ? NULL : f->phase == SENDING ? &f->command : &f->taken_back;
}

/* Whether the command to be sent takes this route. */
static bool takes(const tla_fan_out *f, const tla_command_route *route) {
    if (route->moves_only && (!tla_opcode_is_of_a_move(f->command.opcode) || f->asked_count == 0)) return false;
    return covers(&route->covers, &f->command.scope);
}

static const tla_command *command_for(tla_fan_out *f, const tla_command_route *route) {
    const tla_command *command = command_of(f);
    if (!command || !route->moves_only) return command;
    f->to_host = *command;
    f->to_host.target = TLA_TARGET_HOST;
    return &f->to_host;
}

static void ask(tla_fan_out *f) {
    f->asked_count = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const child *c = &f->children[i];
        if (f->phase == SETTLING ? !c->posted : f->phase == TAKING_BACK ? !c->done : !takes(f, &c->route)) continue;
        f->asked[f->asked_count] = i;
        f->sent_commands[f->asked_count++] = (tla_sent_command){.port_address = c->route.port_address,
                                                                .command = command_for(f, &c->route),
                                                                .at_ps = later(f->at_ps, c->free_ps),
                                                                .gather = f->phase != SENDING || f->gather};
    }
}

/* Frees the ports that have answered. */
static void free_ports(tla_fan_out *f) {
    for (size_t i = 0; i < f->asked_count; i++) {
        f->children[f->asked[i]].free_ps = f->sent_commands[i].answered_ps;
        f->until_ps = later(f->until_ps, f->sent_commands[i].answered_ps);
    }
}

static void end_settling(tla_fan_out *f) {
    bool refused = f->posted_refused;
    free_ports(f);
    for (uint32_t i = 0; i < f->count; i++)
        f->children[i].done = false;
    for (size_t i = 0; i < f->asked_count; i++) {
        child *c = &f->children[f->asked[i]];
        const bool failed = f->sent_commands[i].status != TLA_OK;
        c->posted = false;
        c->done = !failed;
        f->lost += failed;
        refused |= failed;
    }
    f->posted_refused = false;
    if (refused)
        take_back(f, &f->posted);
    else
        go_on(f);
}

static bool one_bit(uint32_t mask) {
    return mask && !(mask & (mask - 1));
}

/* Returns the smallest unit that a route covers alone. */
static tla_location location_behind(const tla_scope *covers) {
    tla_location place = {TLA_LOCATION_NONE, 0, 0, 0};
    if (!one_bit(covers->sip_mask)) return place;
    place.kind = TLA_LOCATION_IO_CPU;
    place.sip = (uint32_t)__builtin_ctz(covers->sip_mask);
    if (!one_bit(covers->die_mask)) return place;
    place.kind = TLA_LOCATION_M_CPU;
    place.cube = (uint32_t)__builtin_ctz(covers->die_mask);
    if (!one_bit(covers->pe_mask)) return place;
    place.kind = TLA_LOCATION_PE;
    place.pe = (uint32_t)__builtin_ctz(covers->pe_mask);
    return place;
}

static void end_sending(tla_fan_out *f) {
    tla_fan_out_result *r = &f->result;
    *r = (tla_fan_out_result){
        .status = f->asked_count ? TLA_OK : TLA_INVALID_ARGUMENT, .written_ps = f->at_ps, .done_ps = f->at_ps};
    if (f->gather) free_ports(f);
    for (uint32_t i = 0; i < f->count; i++)
        f->children[i].done = false;
    for (size_t i = 0; i < f->asked_count; i++) {
        const tla_sent_command *p = &f->sent_commands[i];
        child *c = &f->children[f->asked[i]];
        r->written_ps = later(r->written_ps, p->written_ps);
        c->done = p->status == TLA_OK;
        c->posted = c->done && !f->gather;
        if (f->gather) r->value |= p->completion.value;
        if (r->status || !p->status) continue;
        r->status = p->status;
        r->failed_at = p->completion.failed_at.kind ? p->completion.failed_at : location_behind(&c->route.covers);
    }
    f->until_ps = later(f->until_ps, r->written_ps);
    if (f->gather && r->status) {
        take_back(f, &f->command);
        return;
    }
    if (!f->gather) {
        f->posted = f->command;
        f->posted_refused = r->status != TLA_OK;
    }
    go_on(f);
}

static void end_taking_back(tla_fan_out *f) {
    bool left = false;
    free_ports(f);
    f->tries++;
    for (size_t i = 0; i < f->asked_count; i++) {
        const tla_status status = f->sent_commands[i].status;
        const bool again = status == TLA_BUSY && f->tries < TLA_FAN_OUT_TAKE_BACK_TRIES;
        f->children[f->asked[i]].done = again;
        f->not_restored += status != TLA_OK && !again;
        left |= again;
    }
    if (!left) go_on(f);
}

static void end_round(tla_fan_out *f) {
    f->handed_out = false;
    switch (f->phase) {
    case SETTLING:
        end_settling(f);
        break;
    case SENDING:
        end_sending(f);
        break;
    case TAKING_BACK:
        end_taking_back(f);
        break;
    case OVER:
        break;
    }
}

size_t tla_fan_out_next(tla_fan_out *f, tla_sent_command **sent_commands) {
    *sent_commands = f->sent_commands;
    if (f->handed_out) end_round(f);
    for (; f->phase != OVER; end_round(f)) {
        ask(f);
        f->handed_out = f->asked_count > 0;
        if (f->handed_out) return f->asked_count;
    }
    return 0;
}

tla_fan_out_result tla_fan_out_get_result(const tla_fan_out *f) {
    return f->result;
}

uint64_t tla_fan_out_lost(const tla_fan_out *f) {
    return f->lost;
}

uint64_t tla_fan_out_not_restored(const tla_fan_out *f) {
    return f->not_restored;
}
