/* What a command to a memory controller does. */
#include "block_bindings.h"
#include "controller_state.h"
#include "tlmalloc/command/control_port.h"

/* ---- where a command leads ---- */

/* A command while it is carried out. */
typedef struct execution {
    tla_controller *controller;
    tla_object_store *objects;
    const tla_command *command;
    uint32_t port;
    uint64_t who, at_ps;
    tla_controller_outcome *outcome;
    tla_completion *answer; /* the outcome's */
    tla_work *work;         /* likewise */
    tla_controller_counts *counts;
    tla_site at; /* the address that it names, or the first one */
} execution;

static bool names_memory(const tla_command *command) {
    switch (command->opcode) {
    case TLA_OP_ALLOC:
    case TLA_OP_TRIM:
    case TLA_OP_ALLOC_BATCH:
    case TLA_OP_EVICT:
    case TLA_OP_GET:
    case TLA_OP_REMOVE:
        return true;
    default:
        return false;
    }
}

static bool names_blocks(const tla_command *command) {
    return command->opcode == TLA_OP_FREE_BATCH || command->opcode == TLA_OP_PUT;
}

/* Decodes every address of the command; no other function decodes. A command whose address leads to no memory counts as
 * a command about the first memory, whose free bytes its completion reports. */
static void locate(execution *e) {
    const tla_command *command = e->command;
    const tla_pe_memory_config *config = &e->controller->config.memory;
    const bool entries = tla_opcode_has_entries(command->opcode);
    const uint32_t blocks = entries || names_blocks(command) ? command->count : 0;
    e->at.memory = TLA_MEMORY_KIND_COUNT;
    for (uint32_t i = 0; i < blocks; i++)
        e->controller->sites[i] =
            tla_pe_memory_find_site(config, entries ? command->entries[i].pa : command->blocks[i].pa);
    if (blocks > 0)
        e->at = e->controller->sites[0];
    else if (!entries && !names_blocks(command) && !names_memory(command))
        e->at = tla_pe_memory_find_site(config, command->pa);
    e->outcome->offset = e->at.offset;
    e->outcome->memory = names_memory(command)                  ? command->memory
                         : e->at.memory < TLA_MEMORY_KIND_COUNT ? e->at.memory
                                                                : e->controller->first;
    e->counts = &e->controller->counts[e->outcome->memory];
}

/* Mappings of blocks, and moves: also of blocks that an owner places. */
static bool is_about_mappings(tla_opcode opcode) {
    return opcode == TLA_OP_BIND || opcode == TLA_OP_UNBIND || opcode == TLA_OP_MOVE;
}

/* Whether the command is about an HBM slice whose blocks its owner places. */
static bool is_about_owned(const execution *e) {
    if (!tla_controller_is_owned(&e->controller->config) || is_about_mappings(e->command->opcode)) return false;
    if (names_memory(e->command)) return e->outcome->memory == TLA_HBM;
    if (e->at.memory == TLA_HBM) return true;
    const bool several = names_blocks(e->command) || tla_opcode_has_entries(e->command->opcode);
    for (uint32_t i = 1; several && i < e->command->count; i++)
        if (e->controller->sites[i].memory == TLA_HBM) return true;
    return false;
}

static void is_about(execution *e, tla_memory_kind memory) {
    e->outcome->memory = memory;
    e->counts = &e->controller->counts[memory];
}

/* ---- one block ---- */

/* Returns the owner of the block that the command may allocate. */
static tla_owner owner_of(const execution *e, uint32_t port) {
    const tla_command *command = e->command;
    const bool takes =
        command->opcode == TLA_OP_ALLOC || command->opcode == TLA_OP_ALLOC_BATCH || command->opcode == TLA_OP_EVICT;
    return (tla_owner){takes ? command->object : command->request_id,
                       e->controller->config.memory.guarded ? e->who : port, e->at_ps};
}

/* Bytes that the memory has left for such a command. */
static uint64_t room_of(const execution *e) {
    const tla_opcode opcode = e->command->opcode;
    return tla_object_room(e->objects, e->outcome->memory, opcode == TLA_OP_EVICT || opcode == TLA_OP_PUT);
}

/* Explains to the sender how a request that failed for lack of memory could succeed. */
static void tell_shortage(execution *e, const tla_stack_request *request) {
    const tla_memory_kind memory = e->outcome->memory;
    const tla_stack *stack = tla_pe_memory_stack(e->controller->memory, memory);
    e->answer->value = 0;
    if (e->answer->status != TLA_EXHAUSTED && e->answer->status != TLA_FRAGMENTED) return;
    if (room_of(e) >= tla_stack_takes(stack, request))
        e->answer->value = tla_stack_trim_serves(stack, request);
    else if (e->command->opcode == TLA_OP_ALLOC && tla_object_smaller_l1_serves(e->objects, memory, request))
        e->answer->value = TLA_SMALLER_L1;
    e->answer->nbytes = tla_stack_takes(stack, request);
}

/* For a person; the sender has the completion. */
static void tell_refusal(execution *e) {
    const tla_controller *c = e->controller;
    if (!e->answer->status || (!c->config.memory.validate && !c->config.memory.guarded)) return;
    const tla_error *of_store = tla_object_store_last_error(e->objects);
    e->outcome->refusal = of_store->status ? of_store : tla_pe_memory_last_error(c->memory, e->outcome->memory);
}

/* The owner of the slice has chosen the block of a PLACE. */
static void place(execution *e) {
    e->counts->allocs++;
    e->answer->status = tla_object_prepare(e->objects, 1);
    if (!e->answer->status)
        e->answer->status = tla_pe_memory_put(e->controller->memory, e->at, e->command->nbytes, NULL);
    if (!e->answer->status) tla_object_enter(e->objects, e->at, e->command->nbytes, e->who);
}

/* A fragmented memory may serve the request after moves. */
static void wait_for_moves(execution *e, const tla_stack_request *request) {
    const tla_waiting_alloc alloc = {.memory = e->outcome->memory,
                                     .request = *request,
                                     .owner = owner_of(e, e->port),
                                     .who = e->who,
                                     .port = e->port,
                                     .correlation_id = e->command->correlation_id,
                                     .request_id = e->command->request_id};
    e->answer->status = tla_controller_wait(e->controller, e->answer->status, &alloc, e->work);
    e->outcome->begun = !e->answer->status;
}

static void allocate(execution *e) {
    const tla_stack_request request = {e->command->nbytes, e->command->stream, e->command->format};
    tla_site at = {.memory = TLA_MEMORY_KIND_COUNT};
    e->counts->allocs++;
    e->answer->status = tla_object_prepare(e->objects, 1);
    if (!e->answer->status) e->answer->status = tla_object_admit(e->objects, e->outcome->memory, &request, 1);
    if (!e->answer->status)
        e->answer->status = tla_pe_memory_take(e->controller->memory, e->outcome->memory, &request, &at, e->work);
    if (!e->answer->status) tla_object_enter(e->objects, at, request.nbytes, e->who);
    e->answer->value = at.pa.value;
    if (e->answer->status) wait_for_moves(e, &request);
    if (e->answer->status) tell_shortage(e, &request);
}

static void evict(execution *e) {
    const tla_stack_request request = {e->command->nbytes, e->command->stream, e->command->format};
    tla_site at = {.memory = TLA_MEMORY_KIND_COUNT};
    e->counts->evicts++;
    e->answer->status =
        tla_object_evict(e->objects, e->outcome->memory, &request, e->command->busy, e->who, &at, e->work);
    e->answer->value = at.pa.value;
    if (e->answer->status) tell_shortage(e, &request);
}

static void trim(execution *e) {
    e->counts->trims++;
    e->answer->status = tla_pe_memory_trim(e->controller->memory, e->outcome->memory, &e->answer->nbytes, e->work);
}

static void give_back(execution *e) {
    e->counts->frees++;
    e->answer->status = tla_object_free(e->objects, e->at, e->command->nbytes, e->who, &e->answer->value, e->work);
    tell_refusal(e);
}

/* REF, UNREF, PIN, UNPIN. */
static void count(execution *e) {
    const uint64_t timeout = e->command->timeout_ps ? e->command->timeout_ps : UINT64_MAX;
    tla_object_counts left = {0};
    switch (e->command->opcode) {
    case TLA_OP_REF:
        e->counts->refs++;
        e->answer->status = tla_object_ref(e->objects, e->at, e->who, &left, e->work);
        break;
    case TLA_OP_UNREF:
        e->counts->unrefs++;
        e->answer->status = tla_object_unref(e->objects, e->at, e->who, &left, e->work);
        break;
    case TLA_OP_PIN:
        e->counts->pins++;
        e->answer->status = tla_object_pin(e->objects, e->at, e->who, e->at_ps, timeout, &left, e->work);
        break;
    default:
        e->counts->unpins++;
        e->answer->status = tla_object_unpin(e->objects, e->at, e->who, &left, e->work);
        break;
    }
    const bool of_references = e->command->opcode == TLA_OP_REF || e->command->opcode == TLA_OP_UNREF;
    e->answer->value = of_references ? left.references : left.pins;
    e->answer->nbytes = left.nbytes;
    tell_refusal(e);
}

/* ---- mappings and moves ---- */

static bool moves_are_off(execution *e) {
    if (e->controller->config.move.mode != TLA_MOVE_OFF) return false;
    e->answer->status = TLA_UNSUPPORTED;
    return true;
}

/* Whether the command may have been sent before a block moved away: it is answered, and nobody has made a mistake. */
static bool may_be_late(const execution *e) {
    const tla_status status = e->answer->status;
    if (e->command->opcode != TLA_OP_UNBIND || (status != TLA_NOT_ALLOCATED && status != TLA_NOT_FOUND)) return false;
    for (int memory = 0; memory < TLA_MEMORY_KIND_COUNT; memory++)
        if (e->controller->counts[memory].moved_blocks > 0) return true;
    return false;
}

/* BIND, UNBIND. */
static void bind(execution *e) {
    const bool adds = e->command->opcode == TLA_OP_BIND;
    ++*(adds ? &e->counts->binds : &e->counts->unbinds);
    if (moves_are_off(e)) return;
    e->answer->status =
        (adds ? tla_object_bind : tla_object_unbind)(e->objects, e->command, e->controller->sites, e->work);
    if (!e->answer->status) e->answer->nbytes = e->command->count;
    if (e->answer->status != TLA_BUSY && !may_be_late(e)) tell_refusal(e); /* BUSY: the sender waits for a move */
}

static void move(execution *e) {
    tla_object_counts of = {0};
    e->counts->moves++;
    if (moves_are_off(e)) return;
    if (!e->command->elsewhere && tla_controller_has(&e->controller->config, (int)e->command->memory))
        is_about(e, e->command->memory);
    tla_object_look(e->objects, e->at, &of);
    e->answer->nbytes = of.nbytes;
    e->answer->status = tla_controller_begin_move(e->controller, e->command, e->at, e->port, e->who, e->at_ps, e->work);
    e->outcome->begun = !e->answer->status;
    const tla_stack_request request = {.nbytes = of.nbytes};
    if (!e->outcome->begun) tell_shortage(e, &request);
    if (tla_object_store_last_error(e->objects)->status) tell_refusal(e); /* else there is no text, as of an ALLOC */
}

/* ---- batches, and objects under keys ---- */

static uint64_t bytes_of(const tla_placed_block *blocks, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += blocks[i].nbytes;
    return sum;
}

/* Leaves the result of the command in the command area. */
static void leave(execution *e, size_t length) {
    e->outcome->result = e->controller->result;
    e->outcome->result_length = length;
}

static void allocate_batch(execution *e) {
    const tla_command *command = e->command;
    const tla_stack_request request = {command->nbytes, command->stream, command->format};
    tla_placed_block *blocks = e->controller->blocks;
    e->counts->batches++;
    e->answer->status = tla_object_alloc_batch(e->objects, e->outcome->memory, &request, command->count, command->batch,
                                               e->who, blocks, e->work);
    if (e->answer->status) return;
    e->answer->value = command->count > 0 ? blocks[0].pa.value : 0;
    e->answer->nbytes = bytes_of(blocks, command->count);
    leave(e, tla_batch_result_encode(blocks, command->count, e->controller->result));
}

static void free_batch(execution *e) {
    const tla_command *command = e->command;
    size_t freed = 0, failed = 0;
    e->counts->batches++;
    e->answer->status = tla_object_free_batch(e->objects, e->controller->sites, command->blocks, command->count, e->who,
                                              &freed, &failed, e->work);
    e->answer->value = e->answer->status ? failed : freed;
    if (!e->answer->status) e->answer->nbytes = bytes_of(command->blocks, command->count);
    tell_refusal(e);
}

static void put(execution *e) {
    const tla_command *command = e->command;
    bool added = false;
    e->counts->puts++;
    e->answer->status =
        tla_object_put(e->objects, command->key, &command->meta, e->controller->sites, command->count, &added, e->work);
    e->answer->value = added;
    for (uint32_t i = 0; i < command->count && !e->answer->status; i++) {
        tla_object_counts of = {0};
        tla_object_look(e->objects, e->controller->sites[i], &of);
        e->answer->nbytes += of.nbytes;
    }
    tell_refusal(e);
}

static void get(execution *e) {
    tla_placed_block *blocks = e->controller->blocks;
    tla_mem_object_meta meta = {0};
    size_t n = 0;
    e->counts->gets++;
    e->answer->status = tla_object_get(e->objects, e->outcome->memory, e->command->key, e->who, &meta, blocks,
                                       TLA_COMMAND_MAX_BLOCKS, &n, e->work);
    tell_refusal(e);
    if (e->answer->status) return;
    e->answer->value = blocks[0].pa.value;
    e->answer->nbytes = bytes_of(blocks, n);
    leave(e, tla_object_result_encode(&meta, blocks, (uint32_t)n, e->controller->result));
}

static void take_out(execution *e) {
    size_t n = 0;
    e->counts->removes++;
    e->answer->status = tla_object_remove(e->objects, e->outcome->memory, e->command->key, &n, e->work);
    e->answer->value = n;
    tell_refusal(e);
}

/* ---- all commands ---- */

/* A PLACE in a slice without an owner. */
static void refuse_place(execution *e) {
    is_about(e, e->controller->first);
    e->answer->status = TLA_UNSUPPORTED;
}

static const struct {
    void (*run)(execution *e); /* NULL: no command of a memory controller */
    bool of_group;             /* completion.nbytes is for blocks that the command has found or allocated only */
    bool of_objects;
} operations[TLA_OP_LAST + 1] = {
    [TLA_OP_ALLOC] = {allocate},
    [TLA_OP_FREE] = {give_back},
    [TLA_OP_TRIM] = {trim},
    [TLA_OP_REF] = {count, .of_objects = true},
    [TLA_OP_UNREF] = {count, .of_objects = true},
    [TLA_OP_PIN] = {count, .of_objects = true},
    [TLA_OP_UNPIN] = {count, .of_objects = true},
    [TLA_OP_PLACE] = {refuse_place},
    [TLA_OP_ALLOC_BATCH] = {allocate_batch, true, true},
    [TLA_OP_FREE_BATCH] = {free_batch, true, true},
    [TLA_OP_PUT] = {put, true, true},
    [TLA_OP_GET] = {get, true, true},
    [TLA_OP_REMOVE] = {take_out, true, true},
    [TLA_OP_EVICT] = {evict, .of_objects = true},
    [TLA_OP_BIND] = {bind, true},
    [TLA_OP_UNBIND] = {bind, true},
    [TLA_OP_MOVE] = {move, true},
};

/* A slice with an owner has its blocks placed by PLACE and FREE, at one port; the list is the owner's, and so is its
 * price. */
static void execute_owned(execution *e, uint32_t port) {
    const tla_opcode opcode = e->command->opcode;
    if (port != e->controller->config.owner_port || (opcode != TLA_OP_PLACE && opcode != TLA_OP_FREE)) {
        is_about(e, TLA_HBM);
        e->answer->status = TLA_UNSUPPORTED;
    } else if (opcode == TLA_OP_PLACE) {
        is_about(e, TLA_HBM);
        place(e);
    } else {
        give_back(e);
    }
    *e->work = (tla_work){0};
}

static void tell_difference(execution *e) {
    static const tla_error unknown = {.status = TLA_ENGINE_DIFFERS,
                                      .text = "an engine's answer differs from the core's"};
    if (e->answer->status != TLA_ENGINE_DIFFERS || e->counts->engine_differences++ > 0) return;
    const tla_error *said = tla_arena_difference(tla_pe_memory_arena(e->controller->memory, e->outcome->memory));
    e->outcome->difference = said ? said : &unknown;
}

static tla_completion answer_to(const tla_command *command, tla_status status) {
    return (tla_completion){.correlation_id = command->correlation_id,
                            .request_id = command->request_id,
                            .status = status,
                            .opcode = command->opcode,
                            .nbytes = command->nbytes};
}

bool tla_controller_refuses(tla_controller *c, uint64_t at_ps) {
    const bool refuses = tla_faults_refuse(&c->faults, at_ps);
    c->refused += refuses;
    return refuses;
}

/* Whether memory and count are in range, as in every command that comes from a descriptor. A caller in C may pass
 * others.
 */
static bool is_in_range(const tla_command *command) {
    const bool is_batch = names_blocks(command) || command->opcode == TLA_OP_ALLOC_BATCH;
    return (!names_memory(command) || (unsigned)command->memory < TLA_MEMORY_KIND_COUNT) &&
           (command->opcode != TLA_OP_MOVE || (unsigned)command->memory < TLA_MEMORY_KIND_COUNT) &&
           (!is_batch || command->count <= TLA_COMMAND_MAX_BLOCKS) &&
           (!tla_opcode_has_entries(command->opcode) || command->count <= TLA_COMMAND_MAX_ENTRIES);
}

void tla_controller_execute(tla_controller *c, uint32_t port, uint64_t who, const tla_command *command, uint64_t at_ps,
                            tla_controller_outcome *outcome) {
    *outcome = (tla_controller_outcome){
        .completion = answer_to(command, tla_controller_begin(c)), .memory = c->first, .work.engine = &outcome->engine};
    if (outcome->completion.status) return;
    execution e = {.controller = c,
                   .objects = c->objects,
                   .command = command,
                   .port = port,
                   .who = who,
                   .at_ps = at_ps,
                   .outcome = outcome,
                   .answer = &outcome->completion,
                   .work = &outcome->work};
    if (!is_in_range(command)) {
        outcome->completion.status = TLA_BAD_COMMAND;
        return;
    }
    c->changes++;
    locate(&e);
    tla_controller_free_owed(c, at_ps, e.work);
    tla_pe_memory_set_owner(c->memory, owner_of(&e, port));
    if (is_about_owned(&e)) {
        execute_owned(&e, port);
    } else if ((unsigned)command->opcode > TLA_OP_LAST || !operations[command->opcode].run) {
        outcome->completion.status = TLA_BAD_COMMAND;
    } else {
        c->uses_objects = c->uses_objects || operations[command->opcode].of_objects;
        if (operations[command->opcode].of_group) outcome->completion.nbytes = 0;
        operations[command->opcode].run(&e);
    }
    e.counts->not_owner += e.answer->status == TLA_NOT_OWNER;
    tell_difference(&e);
    outcome->arena = tla_pe_memory_get_stats(c->memory, outcome->memory);
    tla_controller_compare(c, outcome->memory, at_ps);
    const uint64_t room = room_of(&e);
    outcome->completion.total_free = outcome->arena.free < room ? outcome->arena.free : room;
    outcome->completion.largest_free = outcome->arena.largest_free < room ? outcome->arena.largest_free : room;
    outcome->completion.nodes_visited = outcome->work.nodes_visited;
    e.counts->nodes_visited += outcome->work.nodes_visited;
    e.counts->driver_calls += outcome->work.driver_calls;
    e.counts->instructions += outcome->engine.instructions;
}
