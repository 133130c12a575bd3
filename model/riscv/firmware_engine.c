/* A hart, an image and a mailbox. */
#include "tlmalloc/device/firmware_engine.h"

#include <stdlib.h>

struct tla_firmware_engine {
    tla_riscv_hart *hart;
    tla_mailbox mailbox;
    uint64_t instructions, cycles; /* of the hart, when it answered */
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

/* Lets the hart go on until it waits, which it does not while the interrupt is there. */
static tla_status run(tla_firmware_engine *engine) {
    switch (tla_riscv_run(engine->hart, LIMIT)) {
    case TLA_RISCV_WAITS:
        return TLA_OK;
    case TLA_RISCV_SPENT:
        return TLA_TIMEOUT;
    default:
        return tla_riscv_last_fault(engine->hart).status;
    }
}

static tla_status begin(tla_firmware_engine *engine, const tla_firmware *firmware, uint64_t size, uint64_t nodes) {
    if (tla_riscv_write(engine->hart, TLA_FIRMWARE_BASE, firmware->bytes, firmware->nbytes))
        return TLA_INVALID_ARGUMENT;
    tla_firmware_answer answer;
    tla_status status = run(engine);
    if (status == TLA_OK) status = tla_firmware_engine_serve(engine, TLA_MAILBOX_BEGIN, nodes, size, &answer);
    return status == TLA_OK && answer.status ? TLA_LIMIT : status;
}

tla_status tla_firmware_engine_create(const tla_firmware *firmware, const tla_riscv_timing *timing, uint64_t size,
                                      uint64_t nodes, tla_firmware_engine **engine) {
    *engine = NULL;
    tla_firmware_engine *made = calloc(1, sizeof *made);
    if (!made) return TLA_NO_HOST_MEMORY;
    const tla_riscv_config config = {TLA_FIRMWARE_BASE, TLA_FIRMWARE_MEMORY_BYTES, *timing, access_mailbox, made};
    tla_status status = tla_riscv_create(&config, &made->hart);
    if (status == TLA_OK) status = begin(made, firmware, size, nodes);
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

tla_status tla_firmware_engine_serve(tla_firmware_engine *engine, tla_mailbox_operation operation, uint64_t offset,
                                     uint64_t size, tla_firmware_answer *answer) {
    const uint64_t instructions = tla_riscv_instructions(engine->hart), cycles = tla_riscv_cycles(engine->hart);
    *answer = (tla_firmware_answer){0};
    engine->mailbox = (tla_mailbox){.operation = operation, .offset = offset, .size = size};
    tla_riscv_set_interrupt(engine->hart, true);
    tla_status status = run(engine);
    if (status) return status;
    if (engine->mailbox.answer_status > TLA_MAILBOX_NO_NODE) return TLA_WRONG_RESULT;
    *answer = (tla_firmware_answer){(tla_mailbox_status)engine->mailbox.answer_status, engine->mailbox.answer_offset,
                                    engine->instructions - instructions, engine->cycles - cycles};
    return TLA_OK;
}

const tla_riscv_hart *tla_firmware_engine_hart(const tla_firmware_engine *engine) {
    return engine->hart;
}
