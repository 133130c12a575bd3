/* What the hart costs on the host: millions of instructions a second, alone and as an engine of the firmware. */
#include "model/riscv/firmware_engine.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check(tla_status status, const char *what) {
    if (status == TLA_OK) return;
    fprintf(stderr, "bench_riscv: %s: %s\n", what, tla_status_name(status));
    exit(1);
}

typedef struct result {
    double instructions, seconds;
} result;

/* A loop of arithmetic, a load, a store and a branch. */
static result run_loop(uint64_t instructions) {
    static const uint32_t loop[] = {0x0002b503 /* ld a0, 0(t0) */,
                                    0x00b50533 /* add a0, a0, a1 */,
                                    0x00351613 /* slli a2, a0, 3 */,
                                    0x00c54533 /* xor a0, a0, a2 */,
                                    0x00a2b023 /* sd a0, 0(t0) */,
                                    0xfff58593 /* addi a1, a1, -1 */,
                                    0xfe9ff06f /* j -24 */};
    tla_riscv_config config = {.memory_base = TLA_FIRMWARE_BASE, .memory_bytes = 4096};
    tla_riscv_timing_defaults(&config.timing);
    tla_riscv_hart *hart;
    check(tla_riscv_create(&config, &hart), "create");
    check(tla_riscv_write(hart, TLA_FIRMWARE_BASE, loop, sizeof loop), "write");
    tla_riscv_set_register(hart, 5, TLA_FIRMWARE_BASE + 2048);
    const double begin = seconds();
    if (tla_riscv_run(hart, instructions) != TLA_RISCV_SPENT) check(tla_riscv_last_fault(hart).status, "loop");
    const result r = {(double)instructions, seconds() - begin};
    tla_riscv_destroy(hart);
    return r;
}

/* Every second of 2 * `blocks` blocks is free, and too small: each request walks over all of them. */
static result run_firmware(uint64_t blocks, uint64_t requests) {
    tla_riscv_timing timing;
    tla_riscv_timing_defaults(&timing);
    tla_firmware_engine *engine;
    tla_firmware_answer answer;
    check(tla_firmware_engine_create(&tla_firmware_first_fit, &timing, &engine), "create");
    check(tla_firmware_engine_restart(engine, 16 * blocks, tla_firmware_first_fit.nodes_max, NULL), "restart");
    for (uint64_t i = 0; i < 2 * blocks; i++)
        check(tla_firmware_engine_serve(engine, TLA_MAILBOX_TAKE, 0, 8, &answer, NULL), "take");
    for (uint64_t i = 0; i < blocks; i++)
        check(tla_firmware_engine_serve(engine, TLA_MAILBOX_GIVE_BACK, 16 * i, 8, &answer, NULL), "give back");
    const uint64_t before = tla_riscv_instructions(tla_firmware_engine_hart(engine));
    const double begin = seconds();
    for (uint64_t i = 0; i < requests; i++)
        check(tla_firmware_engine_serve(engine, TLA_MAILBOX_TAKE, 0, 16, &answer, NULL), "take");
    const result r = {(double)(tla_riscv_instructions(tla_firmware_engine_hart(engine)) - before), seconds() - begin};
    tla_firmware_engine_destroy(engine);
    return r;
}

static json_t *row(const char *what, result r) {
    printf("%-32s %8.1f M instructions/s\n", what, r.instructions / r.seconds / 1e6);
    return json_pack("{s:s, s:f, s:f}", "what", what, "instructions", r.instructions, "seconds", r.seconds);
}

int main(int count, char **arguments) {
    uint64_t instructions = 300000000;
    const char *path = NULL;
    for (int i = 1; i < count; i++) {
        if (strncmp(arguments[i], "--instructions=", 15) == 0) {
            instructions = strtoull(arguments[i] + 15, NULL, 10);
        } else if (strncmp(arguments[i], "--json=", 7) == 0) {
            path = arguments[i] + 7;
        } else {
            fprintf(stderr, "usage: bench_riscv [--instructions=N] [--json=FILE]\n");
            return 2;
        }
    }
    json_t *rows = json_array();
    json_array_append_new(rows, row("loop", run_loop(instructions)));
    json_array_append_new(rows, row("firmware, 10 free blocks", run_firmware(10, instructions / 70)));
    json_array_append_new(rows, row("firmware, 1000 free blocks", run_firmware(1000, instructions / 5000)));
    json_t *all = json_pack("{s:o}", "rows", rows);
    const int failed = path && json_dump_file(all, path, JSON_INDENT(2));
    json_decref(all);
    return failed;
}
