/* A controller with a memory of a kind that sixth_memory has added: commands about it, and its figures. */
#include "tlmalloc/memory/controller.h"

#include <stdio.h>
#include <string.h>

static int failed;

static void check(bool right, const char *what) {
    if (right) return;
    printf("%s\n", what);
    failed = 1;
}

static tla_completion run(tla_controller *controller, tla_command command) {
    uint8_t bytes[TLA_COMMAND_MAX_BYTES];
    tla_controller_outcome outcome;
    tla_command decoded;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    size_t length = 0;
    check(!tla_command_encode(&command, bytes, sizeof bytes, &length), "the command is not encoded");
    check(!tla_command_decode(bytes, length, &decoded, NULL), "the command is not decoded");
    tla_controller_execute(controller, 0, TLA_WHO_UNKNOWN, &decoded, 0, &outcome);
    check(outcome.memory == TLA_SIXTH, "the command is about another memory");
    return outcome.completion;
}

int main(void) {
    tla_controller_config config = {.owner_port = TLA_CONTROLLER_NO_OWNER};
    tla_controller *controller;
    tla_error error = {.text = ""};
    config.memory.layout = TLA_LAYOUT_PLAIN;
    config.memory.validate = true;
    config.memory.of[TLA_HBM] = (tla_memory_part){.bytes = 1 << 20};
    config.memory.of[TLA_SIXTH] =
        (tla_memory_part){.bytes = 1 << 16, .reserved = 4096, .policy = TLA_BEST_FIT, .base = UINT64_C(0x80000000)};
    check(TLA_MEMORY_KIND_COUNT == 6, "there are not six kinds");
    check(!tla_controller_check_config(&config, &error), error.text);
    check(!tla_controller_create(&config, &controller), "no controller");
    const tla_completion taken =
        run(controller, (tla_command){.opcode = TLA_OP_ALLOC, .memory = TLA_SIXTH, .nbytes = 1000});
    check(taken.status == TLA_OK && taken.value == UINT64_C(0x80000000), "the block is elsewhere");
    check(tla_controller_get_stats(controller, TLA_SIXTH).memory.used == 1000, "not 1000 bytes are used");
    check(tla_controller_get_stats(controller, TLA_HBM).memory.used == 0, "another memory is used");
    const tla_completion given =
        run(controller, (tla_command){.opcode = TLA_OP_FREE, .pa = {taken.value}, .nbytes = 1000});
    check(given.status == TLA_OK && given.total_free == (1 << 16) - 4096, "the block is not free");
    check(tla_controller_get_counts(controller, TLA_SIXTH).frees == 1, "the FREE was not counted");
    check(!strcmp(tla_memory_kind_name(TLA_SIXTH), "sixth"), "it has another name");
    config.memory.of[TLA_SIXTH].reserved = (1 << 16) + 1;
    check(tla_controller_check_config(&config, &error) == TLA_INVALID_ARGUMENT, "its size is not checked");
    check(!strcmp(error.text, "memory: sixth memory: reserved is 65537: must be at most its bytes, 65536"), error.text);
    tla_controller_destroy(controller);
    return failed;
}
