/* Commands for PEs that are named one by one: checked, cut along the routes, and their answers joined. */
#include "dispatch.h"

#include "tlmalloc/command/control_port.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t at_work = UINT64_MAX;

struct tla_dispatcher {
    uint32_t sip, kernels;
    tla_pe_set reachable;
    uint64_t free_ps[TLA_CUBE_DIE_COUNT][TLA_PE_COUNT]; /* time of a PE's last answer */
    size_t count;
    size_t *order; /* routes[order[i]] in ascending order of their PEs */
    tla_dispatch_route routes[];
};

typedef struct part {
    const tla_dispatch_route *route;
    tla_command command;
} part;

struct tla_dispatch {
    tla_dispatcher *dispatcher;
    tla_sent_command *sent_commands;
    part *parts;
    size_t count;
    uint32_t correlation_id, request_id;
    tla_opcode opcode;
};

static bool has(const tla_pe_set *set, uint32_t cube, uint32_t pe) {
    return set->cubes[cube] >> pe & 1;
}

static tla_pe_set both(const tla_pe_set *a, const tla_pe_set *b) {
    tla_pe_set result;
    for (unsigned i = 0; i < TLA_CUBE_DIE_COUNT; i++)
        result.cubes[i] = a->cubes[i] & b->cubes[i];
    return result;
}

static bool empty(const tla_pe_set *set) {
    return tla_pe_set_count(set) == 0;
}

/* PEs are numbered in ascending order of cube, then of PE: the first and the last of a set that is not empty. */
static unsigned first_of(const tla_pe_set *set) {
    unsigned cube = 0;
    while (!set->cubes[cube])
        cube++;
    return cube * TLA_PE_COUNT + (unsigned)__builtin_ctz(set->cubes[cube]);
}

static unsigned last_of(const tla_pe_set *set) {
    unsigned cube = TLA_CUBE_DIE_COUNT - 1;
    while (!set->cubes[cube])
        cube--;
    return cube * TLA_PE_COUNT + 31 - (unsigned)__builtin_clz(set->cubes[cube]);
}

/* Sorts the routes; false when the PEs of one are not all behind those of the one before. */
static bool put_in_order(tla_dispatcher *d) {
    size_t made = 0;
    for (size_t i = 0; i < d->count; i++) {
        if (empty(&d->routes[i].pes)) continue;
        size_t at = made++;
        for (; at > 0 && first_of(&d->routes[d->order[at - 1]].pes) > first_of(&d->routes[i].pes); at--)
            d->order[at] = d->order[at - 1];
        d->order[at] = i;
    }
    for (size_t i = 1; i < made; i++)
        if (first_of(&d->routes[d->order[i]].pes) <= last_of(&d->routes[d->order[i - 1]].pes)) return false;
    for (size_t i = 0; i < made; i++)
        for (unsigned cube = 0; cube < TLA_CUBE_DIE_COUNT; cube++)
            d->reachable.cubes[cube] |= d->routes[d->order[i]].pes.cubes[cube];
    return true;
}

tla_status tla_dispatcher_create(const tla_dispatch_route *routes, size_t count, uint32_t sip, uint32_t kernels,
                                 tla_dispatcher **out) {
    *out = NULL;
    tla_dispatcher *d = calloc(1, sizeof *d + count * sizeof d->routes[0]);
    if (!d) return TLA_NO_HOST_MEMORY;
    d->order = calloc(count + 1, sizeof *d->order);
    d->sip = sip;
    d->kernels = kernels;
    d->count = count;
    for (size_t i = 0; i < count; i++)
        d->routes[i] = routes[i];
    const tla_status status = !d->order ? TLA_NO_HOST_MEMORY : put_in_order(d) ? TLA_OK : TLA_INVALID_ARGUMENT;
    if (status)
        tla_dispatcher_destroy(d);
    else
        *out = d;
    return status;
}

void tla_dispatcher_destroy(tla_dispatcher *d) {
    if (!d) return;
    free(d->order);
    free(d);
}

void tla_dispatcher_set_way(tla_dispatcher *d, size_t route, uint64_t way_ps, uint64_t spacing_ps) {
    d->routes[route].way_ps = way_ps;
    d->routes[route].spacing_ps = spacing_ps;
}

void tla_dispatcher_make_idle(tla_dispatcher *d) {
    memset(d->free_ps, 0, sizeof d->free_ps);
}

tla_status tla_dispatcher_check(const tla_dispatcher *d, const tla_command *c, uint64_t at_ps, tla_location *at) {
    *at = (tla_location){TLA_LOCATION_NONE, 0, 0, 0};
    if (empty(&c->pes)) return TLA_INVALID_ARGUMENT;
    if (c->opcode == TLA_OP_LAUNCH && d->kernels && c->kernel >= d->kernels) return TLA_NOT_FOUND;
    tla_status status = TLA_OK;
    for (uint32_t cube = 0; cube < TLA_CUBE_DIE_COUNT; cube++)
        for (uint32_t pe = 0; pe < TLA_PE_COUNT; pe++) {
            if (!has(&c->pes, cube, pe)) continue;
            const bool found = has(&d->reachable, cube, pe);
            if (found && (status || d->free_ps[cube][pe] <= at_ps)) continue;
            status = found ? TLA_BUSY : TLA_NOT_FOUND;
            *at = (tla_location){TLA_LOCATION_PE, d->sip, cube, pe};
            if (!found) return status;
        }
    return status;
}

uint64_t tla_dispatcher_way_ps(const tla_dispatcher *d, const tla_pe_set *pes) {
    uint64_t longest = 0, held_up = 0;
    for (size_t i = 0; i < d->count; i++) {
        const tla_dispatch_route *r = &d->routes[i];
        const tla_pe_set here = both(pes, &r->pes);
        if (empty(&here)) continue;
        held_up += r->spacing_ps; /* the last command waits for all others, whichever is the last */
        if (r->way_ps > longest) longest = r->way_ps;
    }
    return longest ? longest + held_up : 0;
}

static void set_free(tla_dispatcher *d, const tla_pe_set *pes, uint64_t from_ps) {
    for (uint32_t cube = 0; cube < TLA_CUBE_DIE_COUNT; cube++)
        for (uint32_t pe = 0; pe < TLA_PE_COUNT; pe++)
            if (has(pes, cube, pe)) d->free_ps[cube][pe] = from_ps;
}

static tla_dispatch *make(tla_dispatcher *d, const tla_command *command) {
    tla_dispatch *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->dispatcher = d;
    made->correlation_id = command->correlation_id;
    made->request_id = command->request_id;
    made->opcode = command->opcode;
    for (size_t i = 0; i < d->count; i++) {
        const tla_pe_set here = both(&command->pes, &d->routes[i].pes);
        made->count += !empty(&here);
    }
    made->sent_commands = calloc(made->count, sizeof *made->sent_commands);
    made->parts = calloc(made->count, sizeof *made->parts);
    return made;
}

static void release(tla_dispatch *dispatch) {
    if (!dispatch) return;
    free(dispatch->sent_commands);
    free(dispatch->parts);
    free(dispatch);
}

tla_status tla_dispatch_begin(tla_dispatcher *d, const tla_command *command, tla_target target, uint32_t port,
                              uint64_t at_ps, tla_dispatch **out, tla_location *at) {
    *out = NULL;
    tla_status status = tla_dispatcher_check(d, command, at_ps, at);
    if (status) return status;
    tla_dispatch *made = make(d, command);
    if (!made || !made->sent_commands || !made->parts) {
        release(made);
        return TLA_NO_HOST_MEMORY;
    }
    const uint64_t way_ps = tla_dispatcher_way_ps(d, &command->pes);
    uint32_t program = command->program;
    for (size_t i = 0, n = 0; n < made->count; i++) {
        const tla_dispatch_route *route = &d->routes[d->order[i]];
        const tla_pe_set here = both(&command->pes, &route->pes);
        if (empty(&here)) continue;
        part *p = &made->parts[n];
        p->route = route;
        p->command = *command;
        p->command.target = target;
        p->command.pes = here;
        p->command.program = program;
        if (command->target_start_ps == 0 && way_ps) p->command.target_start_ps = at_ps + way_ps;
        program += tla_pe_set_count(&here);
        made->sent_commands[n++] = (tla_sent_command){.port_address = route->window + (uint64_t)port * TLA_PORT_BYTES,
                                                      .command = &p->command,
                                                      .at_ps = at_ps,
                                                      .gather = true};
    }
    set_free(d, &command->pes, at_work);
    *out = made;
    return TLA_OK;
}

size_t tla_dispatch_commands(tla_dispatch *dispatch, tla_sent_command **sent_commands) {
    *sent_commands = dispatch->sent_commands;
    return dispatch->count;
}

void tla_dispatch_destroy(tla_dispatch *dispatch) {
    if (!dispatch) return;
    for (size_t i = 0; i < dispatch->count; i++)
        set_free(dispatch->dispatcher, &dispatch->parts[i].command.pes, 0);
    release(dispatch);
}

/* Returns the location that answered: the smallest unit that contains all PEs of the route. */
static tla_location location_of(const tla_dispatcher *d, const tla_pe_set *pes) {
    const unsigned first = first_of(pes), last = last_of(pes);
    tla_location place = {TLA_LOCATION_IO_CPU, d->sip, 0, 0};
    if (first / TLA_PE_COUNT != last / TLA_PE_COUNT) return place;
    place.kind = TLA_LOCATION_M_CPU;
    place.cube = first / TLA_PE_COUNT;
    if (first != last) return place;
    place.kind = TLA_LOCATION_PE;
    place.pe = first % TLA_PE_COUNT;
    return place;
}

uint64_t tla_dispatch_end(tla_dispatch *dispatch, tla_completion *answer) {
    uint64_t done_ps = 0;
    tla_completion joined = {0};
    for (size_t i = 0; i < dispatch->count; i++) {
        const tla_sent_command *p = &dispatch->sent_commands[i];
        const part *of = &dispatch->parts[i];
        if (p->answered_ps > done_ps) done_ps = p->answered_ps;
        set_free(dispatch->dispatcher, &of->command.pes, p->answered_ps);
        if (joined.status) continue;
        if (p->status) {
            joined = p->completion;
            joined.status = p->status;
            if (joined.failed_at.kind == TLA_LOCATION_NONE)
                joined.failed_at = location_of(dispatch->dispatcher, &of->route->pes);
            continue;
        }
        joined.nbytes += p->completion.nbytes;
        if (p->completion.value > joined.value) joined.value = p->completion.value;
        if (p->completion.service_ps > joined.service_ps) joined.service_ps = p->completion.service_ps;
    }
    joined.correlation_id = dispatch->correlation_id;
    joined.request_id = dispatch->request_id;
    joined.opcode = dispatch->opcode;
    *answer = joined;
    release(dispatch);
    return done_ps;
}
