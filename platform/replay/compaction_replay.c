/* Plays a trace on a memory controller that compacts. */
#include "replay/compaction_replay.h"

#include "replay/aging.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    HOLDER = 1, /* the one address space */
    REQUESTS_OF_HOLES = 64
};

#define NOWHERE UINT64_MAX

typedef struct player {
    const alloc_trace *trace;
    tla_controller *controller;
    uint64_t *places; /* of each allocation: its address, or NOWHERE; those of an aged heap behind the trace's own */
    size_t place_count;
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
    for (size_t i = 0; i < p->place_count; i++)
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

static uint64_t size_of(const player *p, size_t place) {
    return p->trace->allocations[place % p->trace->allocation_count].nbytes;
}

static tla_status ask(player *p, uint64_t nbytes, tla_completion *done) {
    tla_command command = {.opcode = TLA_OP_ALLOC, .memory = TLA_HBM, .nbytes = nbytes};
    if (!execute(p, &command, done)) return TLA_OK;
    const tla_status status = make_moves(p);
    *done = p->ended;
    return status;
}

static tla_status request(player *p, size_t place) {
    const uint64_t nbytes = size_of(p, place);
    tla_completion done;
    p->result->requests++;
    const tla_status status = ask(p, nbytes, &done);
    if (status) return status;
    switch (done.status) {
    case TLA_OK:
        p->result->served++;
        p->result->served_bytes += nbytes;
        p->places[place] = done.value;
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

static tla_status give_back(player *p, uint64_t address, uint64_t nbytes) {
    tla_command command = {.opcode = TLA_OP_FREE, .pa = {address}, .nbytes = nbytes};
    tla_completion done;
    execute(p, &command, &done);
    return done.status ? tla_error_set(p->error, done.status, "FREE: %s", tla_status_text(done.status)) : TLA_OK;
}

static tla_status release(player *p, size_t place) {
    const uint64_t address = p->places[place];
    p->places[place] = NOWHERE;
    return address == NOWHERE ? TLA_OK : give_back(p, address, size_of(p, place));
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

static tla_status check(player *p, const compaction_replay_config *config, uint64_t requests_before) {
    const compaction_replay_result *r = p->result;
    const tla_controller_counts counts = tla_controller_get_counts(p->controller, TLA_HBM);
    if (r->served + r->fragmented + r->exhausted != r->requests)
        return contradict(p, "requests", r->served + r->fragmented + r->exhausted, r->requests);
    if (counts.allocs != r->requests + requests_before)
        return contradict(p, "counted requests", counts.allocs, r->requests + requests_before);
    if (p->copied != counts.moved_bytes) return contradict(p, "copied bytes", p->copied, counts.moved_bytes);
    if (config->compaction.mode == TLA_COMPACTION_OFF && counts.moved_bytes > 0)
        return contradict(p, "bytes moved without compaction", counts.moved_bytes, 0);
    for (size_t i = 0; i < p->place_count; i++) {
        const tla_status status = release(p, i);
        if (status) return status;
    }
    if (!tla_controller_is_as_at_the_beginning(p->controller, TLA_HBM))
        return contradict(p, "bytes that are in use after all blocks are freed",
                          tla_controller_get_stats(p->controller, TLA_HBM).memory.used, 0);
    return TLA_OK;
}

/* Plays the first `events` of the trace, on the places from `first` on. */
static tla_status play_events(player *p, size_t events, size_t first, uint64_t budget) {
    uint64_t unpaid = 0;
    for (size_t i = 0; i < events; i++) {
        const trace_event *event = &p->trace->events[i];
        const size_t place = first + event->allocation;
        tla_status status = event->is_free ? release(p, place) : request(p, place);
        if (!status) status = compact(p, budget, &unpaid);
        if (status) return status;
    }
    return TLA_OK;
}

static tla_status play(player *p, const compaction_replay_config *config) {
    tla_status status = TLA_OK;
    if (config->aged)
        status = play_events(p, aging_events_to_peak(p->trace), p->trace->allocation_count, config->budget);
    if (status) return status;
    const tla_controller_counts before = tla_controller_get_counts(p->controller, TLA_HBM);
    *p->result = (compaction_replay_result){0};
    status = play_events(p, p->trace->event_count, 0, config->budget);
    if (status) return status;
    const tla_controller_counts counts = tla_controller_get_counts(p->controller, TLA_HBM);
    p->result->moved_blocks = counts.moved_blocks - before.moved_blocks;
    p->result->moved_bytes = counts.moved_bytes - before.moved_bytes;
    return check(p, config, before.allocs);
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

/* Asks for all free bytes and then for fewer, until moves make the hole. */
static tla_status make_hole(player *p) {
    const tla_arena_stats heap = tla_controller_get_stats(p->controller, TLA_HBM).memory;
    const uint64_t step = (heap.free - heap.largest_free) / REQUESTS_OF_HOLES + 1;
    for (uint64_t nbytes = heap.free; nbytes > heap.largest_free; nbytes -= step < nbytes ? step : nbytes) {
        tla_completion done;
        const tla_status status = ask(p, nbytes, &done);
        if (status) return status;
        if (!done.status) return give_back(p, done.value, nbytes);
    }
    return TLA_OK;
}

static tla_status create(player *p, const compaction_replay_config *config, bool aged) {
    tla_controller_config c = {.owner_port = TLA_CONTROLLER_NO_OWNER,
                               .move = {.mode = TLA_MOVE_STOP, .chunk = UINT32_MAX},
                               .compaction = config->compaction};
    c.memory.layout = TLA_LAYOUT_PLAIN;
    c.memory.alignment = config->alignment;
    c.memory.of[TLA_HBM].bytes = config->capacity;
    c.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_NONE, config->policy);
    tla_status status = tla_controller_check_config(&c, p->error);
    if (status) return status;
    p->place_count = p->trace->allocation_count * (aged ? 2 : 1);
    p->places = malloc((p->place_count + 1) * sizeof *p->places);
    if (!p->places) return tla_error_set(p->error, TLA_NO_HOST_MEMORY, "no host memory for the replay");
    for (size_t i = 0; i < p->place_count; i++)
        p->places[i] = NOWHERE;
    status = tla_controller_create(&c, &p->controller);
    return status ? tla_error_set(p->error, status, "no host memory for the controller") : TLA_OK;
}

static void destroy(player *p) {
    tla_controller_destroy(p->controller);
    free(p->places);
}

tla_status compaction_replay(const alloc_trace *trace, const compaction_replay_config *config,
                             compaction_replay_result *result, tla_error *error) {
    *result = (compaction_replay_result){0};
    player p = {.trace = trace, .result = result, .error = error, .next_va = 1};
    tla_status status = create(&p, config, config->aged);
    if (!status) status = play(&p, config);
    destroy(&p);
    return status;
}

tla_status compaction_replay_heap(const alloc_trace *trace, const compaction_replay_config *config, char **text,
                                  size_t *length, tla_error *error) {
    compaction_replay_result result = {0};
    player p = {.trace = trace, .result = &result, .error = error, .next_va = 1};
    tla_status status = create(&p, config, false);
    if (!status) status = play_events(&p, aging_events_to_peak(trace), 0, 0);
    if (!status && result.served < result.requests)
        status = tla_error_set(error, TLA_EXHAUSTED, "the trace does not fit into %" PRIu64 " bytes", config->capacity);
    if (!status) status = make_hole(&p);
    if (!status)
        status = aging_text(tla_pe_memory_arena(tla_controller_memory(p.controller), TLA_HBM), text, length, error);
    destroy(&p);
    return status;
}
