/* A hart, an image and a mailbox. */
#include "firmware_engine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tla_firmware_engine {
    const tla_firmware *firmware;
    tla_riscv_hart *hart;
    tla_mailbox mailbox;
    uint64_t instructions, cycles;      /* of the hart, when it answered */
    tla_block live[TLA_FIRMWARE_NODES]; /* behind an arena: offset bins' blocks by their node, in units; 0: none */
};

static const uint64_t LIMIT = UINT64_C(1) << 26; /* instructions of a request */

static tla_status access_mailbox(void *context, uint64_t address, void *data, unsigned nbytes, bool write) {
    tla_firmware_engine *engine = context;
    const bool before = engine->mailbox.answered;
    tla_status status = tla_mailbox_access(&engine->mailbox, address - TLA_MAILBOX_BASE, data, nbytes, write);
    if (engine->mailbox.answered && !before) {
        engine->instructions = tla_riscv_instructions(engine->hart);
        engine->cycles = tla_riscv_cycles(engine->hart);
        tla_riscv_set_interrupt(engine->hart, false);
    }
    return status;
}

/* Runs the hart until it waits; it does not wait while the interrupt is high. */
static tla_status run(tla_firmware_engine *engine, tla_error *error) {
    const tla_riscv_stop stop = tla_riscv_run(engine->hart, LIMIT);
    if (stop == TLA_RISCV_WAITS) return TLA_OK;
    if (stop == TLA_RISCV_SPENT)
        return tla_error_set(error, TLA_TIMEOUT, "no response after %" PRIu64 " instructions, pc 0x%" PRIx64, LIMIT,
                             tla_riscv_pc(engine->hart));
    const tla_riscv_fault fault = tla_riscv_last_fault(engine->hart);
    return tla_error_set(error, fault.status, "%s at pc 0x%" PRIx64 ", instruction 0x%" PRIx32 ", address 0x%" PRIx64,
                         tla_status_name(fault.status), fault.pc, fault.instruction, fault.address);
}

tla_status tla_firmware_engine_create(const tla_firmware *firmware, const tla_riscv_timing *timing,
                                      tla_firmware_engine **engine) {
    *engine = NULL;
    if (firmware->nbytes > TLA_FIRMWARE_MEMORY_BYTES) return TLA_INVALID_ARGUMENT;
    tla_firmware_engine *made = calloc(1, sizeof *made);
    if (!made) return TLA_NO_HOST_MEMORY;
    const tla_riscv_config config = {TLA_FIRMWARE_BASE, TLA_FIRMWARE_MEMORY_BYTES, *timing, access_mailbox, made};
    made->firmware = firmware;
    tla_status status = tla_riscv_create(&config, &made->hart);
    if (status)
        tla_firmware_engine_destroy(made);
    else
        *engine = made;
    return status;
}

void tla_firmware_engine_destroy(tla_firmware_engine *engine) {
    if (!engine) return;
    tla_riscv_destroy(engine->hart);
    free(engine);
}

tla_status tla_firmware_engine_restart(tla_firmware_engine *engine, uint64_t capacity, uint64_t nodes,
                                       tla_error *error) {
    const tla_firmware *firmware = engine->firmware;
    tla_riscv_reset(engine->hart, TLA_FIRMWARE_BASE);
    tla_riscv_write(engine->hart, TLA_FIRMWARE_BASE, firmware->bytes, firmware->nbytes);
    tla_firmware_answer answer;
    tla_status status = run(engine, error);
    /* Without rounding one of the nodes is never used, as in the core. */
    const uint64_t used = firmware->policy == TLA_OFFSET_BINS && nodes > 0 ? nodes - 1 : nodes;
    if (status == TLA_OK) status = tla_firmware_engine_serve(engine, TLA_MAILBOX_BEGIN, used, capacity, &answer, error);
    if (status || answer.status == TLA_MAILBOX_DONE) return status;
    return tla_error_set(error, TLA_LIMIT,
                         "firmware %s does not support %" PRIu64 " units with %" PRIu64 " free blocks", firmware->name,
                         capacity, nodes);
}

tla_status tla_firmware_engine_serve(tla_firmware_engine *engine, tla_mailbox_operation operation, uint64_t offset,
                                     uint64_t size, tla_firmware_answer *answer, tla_error *error) {
    const uint64_t instructions = tla_riscv_instructions(engine->hart), cycles = tla_riscv_cycles(engine->hart);
    *answer = (tla_firmware_answer){0};
    engine->mailbox = (tla_mailbox){.operation = operation, .offset = offset, .size = size};
    tla_riscv_set_interrupt(engine->hart, true);
    tla_status status = run(engine, error);
    if (status) return status;
    if (engine->mailbox.answer_status > TLA_MAILBOX_NO_NODE)
        return tla_error_set(error, TLA_WRONG_RESULT, "unknown status %" PRIu64, engine->mailbox.answer_status);
    *answer = (tla_firmware_answer){(tla_mailbox_status)engine->mailbox.answer_status, engine->mailbox.answer_offset,
                                    engine->instructions - instructions, engine->cycles - cycles};
    return TLA_OK;
}

const tla_riscv_hart *tla_firmware_engine_hart(const tla_firmware_engine *engine) {
    return engine->hart;
}

const tla_firmware *tla_firmware_of(tla_policy policy) {
    static const tla_firmware *const images[] = {&tla_firmware_first_fit, &tla_firmware_buddy,
                                                 &tla_firmware_offset_bins, &tla_firmware_offset_bins_rounded};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++)
        if (images[i]->policy == policy) return images[i];
    return NULL;
}

/* ---- behind an arena ---- */

static_assert((int)TLA_MAILBOX_DONE == TLA_ENGINE_DONE && (int)TLA_MAILBOX_NO_BLOCK == TLA_ENGINE_NO_BLOCK &&
                  (int)TLA_MAILBOX_NOT_TAKEN == TLA_ENGINE_NOT_TAKEN && (int)TLA_MAILBOX_NO_NODE == TLA_ENGINE_NO_NODE,
              "firmware answers as any engine does");

static tla_status restart(void *state, uint64_t capacity, uint64_t nodes, tla_error *error) {
    tla_firmware_engine *engine = state;
    memset(engine->live, 0, sizeof engine->live);
    return tla_firmware_engine_restart(state, capacity, nodes, error);
}

/* The node of a live block; TLA_FIRMWARE_NODES if the range is none. */
static uint64_t node_of(const tla_firmware_engine *engine, uint64_t offset, uint64_t size) {
    uint64_t node = 0;
    while (node < TLA_FIRMWARE_NODES && (engine->live[node].offset != offset || engine->live[node].nbytes != size))
        node++;
    return node;
}

/* Offset bins name the nodes of their blocks; the table of them stands in front of the firmware. */
static tla_status serve(void *state, const tla_engine_request *request, tla_engine_answer *answer, tla_error *error) {
    tla_firmware_engine *engine = state;
    const bool names_nodes = !tla_policy_takes_ranges(engine->firmware->policy);
    uint64_t node = 0, offset = request->exact ? (uint64_t)TLA_MAILBOX_EXACT : request->offset;
    if (names_nodes && request->give_back) {
        node = node_of(engine, offset, request->size);
        *answer = (tla_engine_answer){.status = TLA_ENGINE_NOT_TAKEN, .cycles = 1};
        if (node == TLA_FIRMWARE_NODES) return TLA_OK;
        offset |= node << TLA_MAILBOX_NODE_SHIFT;
    }
    tla_firmware_answer got;
    tla_status status = tla_firmware_engine_serve(engine, request->give_back ? TLA_MAILBOX_GIVE_BACK : TLA_MAILBOX_TAKE,
                                                  offset, request->size, &got, error);
    if (!status && names_nodes && got.status == TLA_MAILBOX_DONE) {
        if (!request->give_back) node = got.offset >> TLA_MAILBOX_NODE_SHIFT;
        got.offset &= UINT32_MAX;
        if (node >= TLA_FIRMWARE_NODES) return tla_error_set(error, TLA_WRONG_RESULT, "unknown node %" PRIu64, node);
        engine->live[node] = request->give_back ? (tla_block){0, 0} : (tla_block){got.offset, request->size};
    }
    *answer = (tla_engine_answer){.status = (tla_engine_status)got.status,
                                  .offset = got.offset,
                                  .cycles = got.cycles,
                                  .instructions = got.instructions};
    return status;
}

static void destroy(void *state) {
    tla_firmware_engine_destroy(state);
}

tla_status tla_firmware_engine_for_arena(const tla_firmware *firmware, const tla_riscv_timing *timing,
                                         tla_engine *engine) {
    tla_firmware_engine *made;
    tla_status status = tla_firmware_engine_create(firmware, timing, &made);
    if (status) return status;
    *engine = (tla_engine){firmware->name, firmware->policy, firmware->capacity_max, firmware->nodes_max, made, restart,
                           serve,          destroy};
    return TLA_OK;
}
