/* A control port driven by loads and stores. */
#include "tlmalloc/driver.h"

#include "tlmalloc/control_port.h"

static uint32_t load_word(const uint8_t *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void store_word(uint8_t *bytes, uint32_t word) {
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

static void read_completion(const tla_driver *driver, uint8_t bytes[TLA_COMPLETION_BYTES]) {
    for (uint32_t i = 0; i < TLA_COMPLETION_BYTES; i += 4)
        store_word(bytes + i, driver->port[(TLA_PORT_COMPLETION + i) / 4]);
}

static tla_status execute(tla_driver *driver, tla_command *command, tla_completion *completion) {
    enum { DESCRIPTOR_MAX = 64 }; /* ALLOC and FREE are 32 bytes */
    uint8_t descriptor[DESCRIPTOR_MAX], answer[TLA_COMPLETION_BYTES];
    size_t length;
    command->target = TLA_TARGET_MEMORY_CONTROLLER;
    command->tag = ++driver->tag;
    tla_status status = tla_command_encode(command, descriptor, sizeof descriptor, &length);
    if (status) return status;
    for (size_t i = 0; i < length; i += 4)
        driver->port[i / 4] = load_word(descriptor + i);
    for (uint32_t polls = 0; driver->polls_max == 0 || polls < driver->polls_max; polls++) {
        if (driver->port[TLA_PORT_STATE / 4] == TLA_PORT_DONE) {
            tla_completion read = {0};
            read_completion(driver, answer);
            /* What is left there of the command before has another tag. */
            if (tla_completion_decode(answer, &read) == TLA_OK && read.tag == command->tag) {
                *completion = read;
                return read.status;
            }
        }
        if (driver->relax) driver->relax(driver->context);
    }
    return TLA_BUSY;
}

tla_status tla_driver_alloc(tla_driver *driver, tla_channel channel, uint64_t nbytes, tla_paddr *pa,
                            tla_completion *completion) {
    tla_completion unwanted;
    if (!completion) completion = &unwanted;
    tla_command command = {.opcode = TLA_OP_ALLOC, .channel = channel, .nbytes = nbytes};
    tla_status status = execute(driver, &command, completion);
    if (!status) pa->value = completion->value;
    return status;
}

tla_status tla_driver_free(tla_driver *driver, tla_paddr pa, uint64_t nbytes, tla_completion *completion) {
    tla_completion unwanted;
    tla_command command = {.opcode = TLA_OP_FREE, .pa = pa, .nbytes = nbytes};
    return execute(driver, &command, completion ? completion : &unwanted);
}
