/* TPU-MLIR's record table places a tensor on another that lives: seed 002 as it stands, beside a table that counts.
 *
 * A is read by a reshape, whose output B is A under another name, and by the op that makes C. The table keeps a set of
 * used offsets. When A is dead, its offset leaves the set, and D, which is made of C, is put on B, which only the last
 * op reads: E = B + D. The kernel runs the graph on bytes, once for each table, in memory that is deployed by the
 * table. Lifetimes and offsets show before the run whether two live tensors overlap (tla_plan_check). */
#include "npu_bench.h"

#include "tlmalloc/plan/plan.h"

#include <stdio.h>
#include <string.h>

enum { A, B, C, D, E, TENSORS };
enum { PES = 4, BYTES = 8192, D_BYTES = 4096 };
enum { COUNTED, OP, WRONG_BYTES };
enum { MAKE_A, MAKE_C = 2, MAKE_D, MAKE_E, OPS }; /* op 1 is the reshape */

/* out = constant + in1 + in2 (absent: address 0), u8. Arguments: constant, out and its bytes, in1 and its bytes, in2
 * and its bytes, bytes from one program's tensors to the next one's. An input that is shorter begins again. */
enum { CONSTANT, OUT, OUT_BYTES, IN1, IN1_BYTES, IN2, IN2_BYTES, PITCH, ARGUMENTS };
enum { CHUNK = 4096 };

static tla_status add_chunk(tl_context *tl, const tl_tile *sum, const tl_tile *part, uint32_t in, uint64_t at) {
    const uint64_t from = tl_argument(tl, in), program = tl_program_id(tl, TL_ALL);
    if (!from) return TLA_OK;
    const uint64_t source = from + program * tl_argument(tl, PITCH) + at % tl_argument(tl, in + 1);
    const tla_status status = tl_load(tl, part, (tla_vaddr){source}, CHUNK);
    return status ? status : tl_add(tl, sum, sum, part);
}

static tla_status run_op(tl_context *tl) {
    tl_tile tiles[] = {{.rows = 1, .columns = CHUNK, .dtype = TL_U8}, {.rows = 1, .columns = CHUNK, .dtype = TL_U8}};
    const uint64_t out = tl_argument(tl, OUT) + tl_program_id(tl, TL_ALL) * tl_argument(tl, PITCH);
    tla_status status = tl_alloc_tiles(tl, tiles, 2);
    if (status) return status;
    for (uint64_t at = 0; at < tl_argument(tl, OUT_BYTES) && !status; at += CHUNK) {
        status = tl_fill(tl, &tiles[0], (float)(tl_argument(tl, CONSTANT) + at / CHUNK));
        if (!status) status = add_chunk(tl, &tiles[0], &tiles[1], IN1, at);
        if (!status) status = add_chunk(tl, &tiles[0], &tiles[1], IN2, at);
        if (!status) status = tl_store(tl, (tla_vaddr){out + at}, CHUNK, &tiles[0]);
    }
    return tl_free_tiles(tl, tiles, 2, status);
}

/* The values of the graph without shared memory: A = 10, C = 20 + A, D = 30 + C, E = 40 + B + D, each chunk one more
 * than the one before. */
static uint8_t expected(uint64_t byte) {
    const uint8_t chunk = (uint8_t)(byte / CHUNK), a = (uint8_t)(10 + chunk), d = 30 + 20 + 10;
    return (uint8_t)(40 + chunk + a + d);
}

static const uint64_t sizes[TENSORS] = {BYTES, BYTES, BYTES, D_BYTES, BYTES};
/* In ops, from the one that makes it to the one behind the last that reads it; B has A's bytes to itself from when A
 * is dead. */
static const tla_lifetime lives[TENSORS] = {
    [A] = {0, 3, BYTES}, [B] = {3, 5, BYTES}, [C] = {2, 4, BYTES}, [D] = {3, 5, D_BYTES}, [E] = {4, 6, BYTES}};

static tla_status place(bool counted, uint64_t offsets[TENSORS], uint64_t *height) {
    const tla_record_table_config config = {.alignment = 4096, .count_offsets = counted};
    static const struct {
        tla_op_kind kind;
        uint64_t operands[2];
        size_t operand_count;
        uint64_t users;
    } graph[TENSORS] = {{TLA_OP_COMPUTE, {0}, 0, 2},
                        {TLA_OP_RESHAPE, {A}, 1, 1},
                        {TLA_OP_COMPUTE, {A}, 1, 1},
                        {TLA_OP_COMPUTE, {C}, 1, 1},
                        {TLA_OP_COMPUTE, {D, B}, 2, 0}};
    tla_record_table *table;
    tla_status status = tla_record_table_create(&config, &table);
    for (uint64_t t = 0; t < TENSORS && !status; t++) {
        const tla_op_output output = {t, sizes[t], graph[t].users};
        const tla_op op = {graph[t].kind, graph[t].operands, graph[t].operand_count, &output, 1};
        status = tla_record_table_add(table, &op);
        if (!status) status = tla_record_table_find(table, t, &offsets[t]);
    }
    if (!status) *height = tla_record_table_size(table);
    tla_record_table_destroy(table);
    return status;
}

static tla_status run_graph(const planned_tensor *at, uint64_t height) {
    const uint64_t ops[OPS][ARGUMENTS] = {
        [MAKE_A] = {10, address_of(at[A].tensor), BYTES, 0, 0, 0, 0, height},
        [MAKE_C] = {20, address_of(at[C].tensor), BYTES, address_of(at[A].tensor), BYTES, 0, 0, height},
        [MAKE_D] = {30, address_of(at[D].tensor), D_BYTES, address_of(at[C].tensor), BYTES, 0, 0, height},
        [MAKE_E] = {40, address_of(at[E].tensor), BYTES, address_of(at[B].tensor), BYTES, address_of(at[D].tensor),
                    D_BYTES, height}};
    for (unsigned op = 0; op < OPS; op++) {
        show(OP, op);
        if (!ops[op][OUT_BYTES]) continue; /* the reshape */
        const tla_status status = run_kernel(ops[op], ARGUMENTS);
        if (status) return status;
    }
    return TLA_OK;
}

/* Returns the number of wrong bytes of E; -1: the kernel did not run. *told: the checker found an overlap before. */
static int try_table(bool counted, bool *told) {
    uint64_t offsets[TENSORS], height;
    if (place(counted, offsets, &height)) return -1;
    size_t first, second;
    *told = tla_plan_check(lives, offsets, TENSORS, &first, &second) == TLA_OVERLAP;
    printf("%s: A %llu, B %llu, C %llu, D %llu, E %llu; ", counted ? "counted" : "literal",
           (unsigned long long)offsets[A], (unsigned long long)offsets[B], (unsigned long long)offsets[C],
           (unsigned long long)offsets[D], (unsigned long long)offsets[E]);
    if (*told)
        printf("%c and %c overlap; ", (char)('A' + first), (char)('A' + second));
    else
        printf("no two overlap; ");

    planned_tensor tensors[TENSORS];
    for (unsigned t = 0; t < TENSORS; t++)
        tensors[t] = (planned_tensor){.nbytes = sizes[t], .offset = offsets[t]};
    host_tensor *arena;
    static uint8_t found[PES * BYTES];
    show(COUNTED, counted);
    if (deploy(height, tensors, TENSORS, &arena) || run_graph(tensors, height) || read_tensor(tensors[E].tensor, found))
        return -1;
    int wrong = 0;
    for (uint64_t i = 0; i < sizeof found; i++)
        wrong += found[i] != expected(i % BYTES);
    show(WRONG_BYTES, (uint64_t)wrong);
    printf("%d of %d bytes of E are wrong\n", wrong, PES * BYTES);
    return free_tensor(arena) ? -1 : wrong;
}

static int run(void) {
    bool literal_told, counted_told;
    const int literal = try_table(false, &literal_told), counted = try_table(true, &counted_told);
    return literal > 0 && counted == 0 && literal_told && !counted_told ? 0 : 1;
}

const npu_bench the_npu_bench = {.settings = {"hbm.capacity_per_cube=2 MiB"},
                                 .kernel = run_op,
                                 .run = run,
                                 .signals = {"counted", "op", "wrong_bytes"}};
