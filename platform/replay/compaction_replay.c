/* Plays a trace on a memory controller that compacts. */
#include "replay/compaction_replay.h"

#include <inttypes.h>
#include <stdlib.h>

enum { HOLDER = 1 }; /* the one address space */

#define NOWHERE UINT64_MAX

typedef struct player {
    const alloc_trace *trace;
    tla_controller *controller;
    uint64_t *places; /* of each allocation: its address, or NOWHERE */
    uint64_t next_va;
    uint64_t copied; /* bytes */
    tla_completion ended;
    compaction_replay_result *result;
    tla_error *error;
} player;

static tla_status contradict(const player *p, const char *what, uint64_t found, uint64_t expected) {
    return tla_error_set(p->error, TLA_WRONG_RESULT, "%s: found %" PRIu64 ", expected %" PRIu64, what, found, expected);
}

/* Returns whether the command waits for moves. */
static bool execute(player *p, tla_command *command, tla_completion *completion) {
    tla_controller_outcome outcome;
    command->target = TLA_TARGET_MEMORY_CONTROLLER;
    tla_controller_execute(p->controller, 0, HOLDER, command, 0, &outcome);
    *completion = outcome.completion;
    return outcome.begun;
}

static tla_status tell(player *p, const tla_move_step *step) {
    for (size_t i = 0; i < p->trace->allocation_count; i++)
        if (p->places[i] == step->from.pa.value) {
            p->places[i] = step->to.pa.value;
            tla_controller_move_sent(p->controller, TLA_OK);
            return TLA_OK;
        }
    return contradict(p, "address of a moved block", step->from.pa.value, NOWHERE);
}

/* Makes all steps that are due. */
static tla_status make_moves(player *p) {
    for (;;) {
        tla_move_step step;
        switch (tla_controller_move_next(p->controller, 0, &step)) {
        case TLA_MOVE_WAITS:
            return TLA_OK;
        case TLA_MOVE_SENDS:
            tla_controller_move_sent(p->controller, TLA_OK);
            break;
        case TLA_MOVE_COPIES:
            p->copied += step.nbytes;
            tla_controller_move_copied(p->controller, true);
            break;
        case TLA_MOVE_TELLS: {
            const tla_status status = tell(p, &step);
            if (status) return status;
            break;
        }
        case TLA_MOVE_ENDS:
            p->ended = step.outcome.completion;
            break;
        case TLA_MOVE_FREES:
        case TLA_MOVE_TAKES:
            break;
        }
    }
}

static tla_status bind(player *p, uint64_t place, uint64_t nbytes) {
    tla_command command = {.opcode = TLA_OP_BIND, .scope = {1, 1, 1}, .count = 1};
    command.entries[0] = (tla_map_entry){{p->next_va}, {place}, nbytes, TLA_READ | TLA_WRITE, 0};
    p->next_va += nbytes;
    tla_completion done;
    execute(p, &command, &done);
    return done.status ? tla_error_set(p->error, done.status, "BIND: %s", tla_status_text(done.status)) : TLA_OK;
}

static tla_status request(player *p, size_t allocation) {
    const uint64_t nbytes = p->trace->allocations[allocation].nbytes;
    tla_command command = {.opcode = TLA_OP_ALLOC, .memory = TLA_HBM, .nbytes = nbytes};
    tla_completion done;
    p->result->requests++;
    if (execute(p, &command, &done)) {
        const tla_status status = make_moves(p);
        if (status) return status;
        done = p->ended;
    }
    switch (done.status) {
    case TLA_OK:
        p->result->served++;
        p->result->served_bytes += nbytes;
        p->places[allocation] = done.value;
        return bind(p, done.value, nbytes);
    case TLA_FRAGMENTED:
        p->result->fragmented++;
        return TLA_OK;
    case TLA_EXHAUSTED:
        p->result->exhausted++;
        return TLA_OK;
    default:
        return tla_error_set(p->error, done.status, "ALLOC: %s", tla_status_text(done.status));
    }
}

static tla_status release(player *p, size_t allocation) {
    if (p->places[allocation] == NOWHERE) return TLA_OK;
    tla_command command = {
        .opcode = TLA_OP_FREE, .pa = {p->places[allocation]}, .nbytes = p->trace->allocations[allocation].nbytes};
    tla_completion done;
    execute(p, &command, &done);
    p->places[allocation] = NOWHERE;
    return done.status ? tla_error_set(p->error, done.status, "FREE: %s", tla_status_text(done.status)) : TLA_OK;
}

/* Unpaid bytes grow by the moves that begin. */
static tla_status compact(player *p, uint64_t budget, uint64_t *unpaid) {
    uint64_t paid = budget, nbytes = 0;
    while (*unpaid < paid) {
        tla_controller_outcome outcome;
        paid -= *unpaid;
        *unpaid = 0;
        const tla_status begun = tla_controller_compact(p->controller, 0, UINT64_MAX, &nbytes, &outcome);
        if (begun == TLA_NOT_FOUND) return TLA_OK;
        if (begun) return tla_error_set(p->error, begun, "compaction: %s", tla_status_text(begun));
        *unpaid = nbytes;
        const tla_status status = make_moves(p);
        if (status) return status;
    }
    *unpaid -= paid;
    return TLA_OK;
}

static tla_status check(player *p, const compaction_replay_config *config) {
    const compaction_replay_result *r = p->result;
    const tla_controller_counts counts = tla_controller_get_counts(p->controller, TLA_HBM);
    if (r->served + r->fragmented + r->exhausted != r->requests)
        return contradict(p, "requests", r->served + r->fragmented + r->exhausted, r->requests);
    if (counts.allocs != r->requests) return contradict(p, "counted requests", counts.allocs, r->requests);
    if (p->copied != counts.moved_bytes) return contradict(p, "copied bytes", p->copied, counts.moved_bytes);
    if (config->compaction.mode == TLA_COMPACTION_OFF && counts.moved_bytes > 0)
        return contradict(p, "bytes moved without compaction", counts.moved_bytes, 0);
    for (size_t i = 0; i < p->trace->allocation_count; i++) {
        const tla_status status = release(p, i);
        if (status) return status;
    }
    if (!tla_controller_is_as_at_the_beginning(p->controller, TLA_HBM))
        return contradict(p, "bytes that are in use after all blocks are freed",
                          tla_controller_get_stats(p->controller, TLA_HBM).memory.used, 0);
    return TLA_OK;
}

static tla_status play(player *p, const compaction_replay_config *config) {
    uint64_t unpaid = 0;
    for (size_t i = 0; i < p->trace->event_count; i++) {
        const trace_event *event = &p->trace->events[i];
        tla_status status = event->is_free ? release(p, event->allocation) : request(p, event->allocation);
        if (!status) status = compact(p, config->budget, &unpaid);
        if (status) return status;
    }
    const tla_controller_counts counts = tla_controller_get_counts(p->controller, TLA_HBM);
    p->result->moved_blocks = counts.moved_blocks;
    p->result->moved_bytes = counts.moved_bytes;
    return check(p, config);
}

uint64_t compaction_replay_peak(const alloc_trace *trace) {
    uint64_t used = 0, peak = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        const uint64_t nbytes = trace->allocations[trace->events[i].allocation].nbytes;
        used += trace->events[i].is_free ? -nbytes : nbytes;
        if (used > peak) peak = used;
    }
    return peak;
}

tla_status compaction_replay(const alloc_trace *trace, const compaction_replay_config *config,
                             compaction_replay_result *result, tla_error *error) {
    tla_controller_config c = {.owner_port = TLA_CONTROLLER_NO_OWNER,
                               .move = {.mode = TLA_MOVE_STOP, .chunk = UINT32_MAX},
                               .compaction = config->compaction};
    c.memory.layout = TLA_LAYOUT_PLAIN;
    c.memory.of[TLA_HBM].bytes = config->capacity;
    c.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_NONE, config->policy);
    *result = (compaction_replay_result){0};
    player p = {.trace = trace, .result = result, .error = error, .next_va = 1};
    tla_status status = tla_controller_check_config(&c, error);
    if (status) return status;
    p.places = malloc((trace->allocation_count + 1) * sizeof *p.places);
    if (!p.places) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the replay");
    for (size_t i = 0; i < trace->allocation_count; i++)
        p.places[i] = NOWHERE;
    status = tla_controller_create(&c, &p.controller);
    status = status ? tla_error_set(error, status, "no host memory for the controller") : play(&p, config);
    tla_controller_destroy(p.controller);
    free(p.places);
    return status;
}
