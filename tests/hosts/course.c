/* What the core decides, as text: it must be the same on every host. */
#include "model/riscv/firmware_engine.h"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/command/command.h"
#include "tlmalloc/kv/kv_cache.h"
#include "tlmalloc/stack/stack.h"
#include "tlmalloc/vm/page_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 32;

static uint64_t next_random(void) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

static void require(bool holds, const char *what) {
    if (holds) return;
    printf("failed: %s\n", what);
    exit(1);
}

static void print_bytes(const char *what, const uint8_t *bytes, size_t nbytes) {
    printf("%s", what);
    for (size_t i = 0; i < nbytes; i++)
        printf(" %02x", bytes[i]);
    printf("\n");
}

/* A receipt, member by member: it consists of numbers of 64 bits. */
static void print_work(const tla_work *work) {
    uint64_t members[sizeof *work / sizeof(uint64_t)];
    __builtin_memcpy(members, work, sizeof members);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i]) printf(" %zu:%" PRIu64, i, members[i]);
    printf("\n");
}

/* Random requests, and the state that they leave. */
static void run_stack(tla_stack_policy policy) {
    enum { BLOCKS = 200, STEPS = 1500 };
    const tla_stack_config config = {.capacity = 64 << 20,
                                     .policy = policy,
                                     .alignment = 256,
                                     .validate = true,
                                     .sizes = {.segment = 200 << 10, .slot = 64 << 10}};
    char name[64];
    tla_stack_policy_print(policy, name, sizeof name);
    tla_stack *stack;
    tla_error error = {0};
    const tla_status made = tla_stack_create(&config, &stack, &error);
    printf("stack %s %d %s\n", name, (int)made, error.text);
    if (made) return;
    tla_block blocks[BLOCKS] = {{0}};
    for (int step = 0; step < STEPS; step++) {
        tla_block *const block = &blocks[next_random() % BLOCKS];
        tla_work work = {0};
        if (block->nbytes) {
            printf("free %d", (int)tla_stack_free(stack, *block, &work));
            *block = (tla_block){0};
        } else {
            const tla_stack_request request = {.nbytes = 1 + next_random() % (UINT64_C(1) << next_random() % 20)};
            tla_block granted = {0};
            const tla_status status = tla_stack_alloc(stack, &request, &granted, &work);
            printf("alloc %" PRIu64 " %d %" PRIu64, request.nbytes, (int)status, granted.offset);
            if (!status) *block = (tla_block){granted.offset, request.nbytes};
        }
        print_work(&work);
    }
    static char text[1 << 20];
    size_t length;
    require(tla_arena_snapshot(tla_stack_live(stack), text, sizeof text, &length) == TLA_OK && length < sizeof text,
            "a snapshot");
    puts(text);
    tla_stack_destroy(stack);
}

static void encode_commands(void) {
    for (int i = 0; i < 200; i++) {
        tla_command command = {.opcode = i % 2 ? TLA_OP_MAP : TLA_OP_ALLOC,
                               .target = i % 2 ? TLA_TARGET_PE_MMU : TLA_TARGET_MEMORY_CONTROLLER,
                               .request_id = (uint32_t)next_random(),
                               .memory = TLA_HBM,
                               .nbytes = next_random() << next_random() % 20};
        command.count = i % 2 ? 1 + (uint32_t)(next_random() % 3) : 0;
        for (uint32_t entry = 0; entry < command.count; entry++)
            command.entries[entry] = (tla_map_entry){{next_random() << 12}, {next_random() << 20}, 4096, TLA_READ, 0};
        uint8_t bytes[TLA_COMMAND_MAX_BYTES];
        size_t length = 0;
        require(tla_command_encode(&command, bytes, sizeof bytes, &length) == TLA_OK, "a command");
        print_bytes("command", bytes, length);
        tla_command back;
        require(tla_command_decode(bytes, length, &back, NULL) == TLA_OK && back.request_id == command.request_id,
                "the command read back");
    }
}

static void compute_times(void) {
    for (int i = 0; i < 2000; i++) {
        const uint64_t nbytes = next_random() << next_random() % 33,
                       bandwidth = 1 + (next_random() << next_random() % 20);
        printf("time %" PRIu64 "\n", tla_transfer_ps(nbytes, bandwidth));
    }
}

static void print_written(void *context, tla_paddr pa, const uint64_t *entries, size_t count) {
    (void)context;
    for (size_t i = 0; i < count; i++)
        printf("entry %" PRIx64 " %" PRIx64 "\n", pa.value + 8 * i, entries[i]);
}

static tla_status take_table(void *context, uint64_t nbytes, tla_paddr *pa) {
    uint64_t *const next = context;
    pa->value = *next;
    *next += (nbytes + 4095) / 4096 * 4096;
    return TLA_OK;
}

static void leave_table(void *context, tla_paddr pa, uint64_t nbytes) {
    (void)context;
    printf("table %" PRIx64 " of %" PRIu64 " goes\n", pa.value, nbytes);
}

static void change_tables(void) {
    uint64_t next = 1 << 20;
    const tla_page_table_config config = {.page_size = 4096,
                                          .va_bits = 48,
                                          .allow_remap = true,
                                          .memory = {take_table, leave_table, print_written, &next}};
    tla_page_table *table;
    require(tla_page_table_create(&config, &table) == TLA_OK, "a page table");
    for (int i = 0; i < 300; i++) {
        const tla_map_entry entry = {
            {next_random() % 4096 * 2048}, {next_random() << 10}, 1 + next_random() % 20000, TLA_READ | TLA_WRITE, 0};
        tla_work work = {0};
        printf("map %d", (int)tla_page_table_map(table, &entry, 1, &work, NULL));
        print_work(&work);
    }
    tla_page_table_destroy(table);
}

/* The firmware's engine places like the core, in the same cycles. */
static void run_firmware(const tla_firmware *firmware) {
    const tla_riscv_timing timing = {1, 1, 1, 2, 1, 2, 36};
    tla_firmware_engine *engine;
    require(tla_firmware_engine_create(firmware, &timing, &engine) == TLA_OK &&
                tla_firmware_engine_restart(engine, 1024, 1024, NULL) == TLA_OK,
            "an engine of firmware");
    uint64_t sizes[64] = {0}, offsets[64];
    for (int i = 0; i < 500; i++) {
        const uint64_t n = next_random() % 64;
        const bool take = sizes[n] == 0;
        const uint64_t size = take ? UINT64_C(1) << next_random() % 6 : sizes[n];
        tla_firmware_answer answer;
        require(tla_firmware_engine_serve(engine, take ? TLA_MAILBOX_TAKE : TLA_MAILBOX_GIVE_BACK,
                                          take ? 0 : offsets[n], size, &answer, NULL) == TLA_OK,
                "an answer of the firmware");
        printf("firmware %d %" PRIu64 " %" PRIu64 "\n", (int)answer.status, answer.offset, answer.cycles);
        if (take) offsets[n] = answer.offset;
        sizes[n] = take && answer.status == TLA_MAILBOX_DONE ? size : 0;
    }
    tla_firmware_engine_destroy(engine);
}

/* Sizes that a host of 32 bits cannot hold are refused, and nothing else happens. One of 64 bits may have the memory.
 */
static void ask_for_too_much(void) {
    tla_kv_mapped *mapped;
    const tla_kv_mapped_config config = {
        .groups = UINT32_MAX, .tensors = 1, .page_tokens = 1, .page_ptes = 1, .sequences = UINT32_MAX, .longest = 1};
    const tla_kv_mapped_config small = {
        .groups = 16, .tensors = 1, .page_tokens = 1, .page_ptes = 1, .sequences = 2, .longest = 16};
    tla_status status = sizeof(size_t) == 8 ? TLA_NO_HOST_MEMORY : tla_kv_mapped_create(&config, &mapped);
    printf("mapped %d\n", (int)status);
    require(tla_kv_mapped_create(&small, &mapped) == TLA_OK, "a small mapped cache");
    tla_kv_mapped_destroy(mapped);
    tla_slot_pool *slots;
    const tla_slot_pool_config many = {.nbytes = UINT64_C(1) << 62, .slot_bytes = UINT64_C(1) << 31};
    status = sizeof(size_t) == 8 ? TLA_NO_HOST_MEMORY : tla_slot_pool_create(&many, &slots);
    printf("slots %d\n", (int)status);
}

int main(void) {
    for (uint64_t i = 0; tla_stack_name(i); i++) {
        tla_stack_policy policy;
        require(tla_stack_policy_parse(tla_stack_name(i), &policy, NULL) == TLA_OK, "the name of a stack");
        run_stack(policy);
    }
    encode_commands();
    compute_times();
    change_tables();
    run_firmware(&tla_firmware_first_fit);
    run_firmware(&tla_firmware_buddy);
    ask_for_too_much();
    return 0;
}
