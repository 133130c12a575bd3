/* The schedule of a PE's units: the stages of composite operations on tiles, and the inputs of each stage.
 *
 *     FEED --> READ_A, READ_B --> FETCH --> GEMM --> MATH --> STORE --> WRITE
 *
 * Every step of a tiling (tiling.h) is fed, read, fetched and multiplied. Every output tile passes the vector unit, is
 * stored to the TCM and written to memory. Operands in the TCM are not read, and results that stay in the TCM are not
 * written. A unit works on one stage at a time, on operations in the order of their addition, and on the tiles of each
 * in the order of its tiling. A stage begins as soon as its unit is free and its inputs are available:
 *
 *     FEED    a buffer for its operands, released by the FETCH `depth` steps before
 *     FETCH   its operands, and a set of registers for them: one of `depth` sets, which a GEMM (or MATH) releases
 *     GEMM    its operands, and for the first step of an output tile one of `depth` accumulators, which STORE releases
 *     MATH    the sum; without a product, its operands and an accumulator
 *     STORE   the result, and a buffer for it, released by the WRITE `depth` tiles before
 *
 * Buffers belong to an operation, registers and accumulators to the PE. The caller performs the stages and determines
 * their times: the schedule has no clock. Internal to the model. */
#ifndef TLMALLOC_MODEL_KERNEL_TILE_SCHEDULE_H
#define TLMALLOC_MODEL_KERNEL_TILE_SCHEDULE_H

#include "tiling.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_stage {
    TLA_STAGE_FEED,
    TLA_STAGE_READ_A,
    TLA_STAGE_READ_B,
    TLA_STAGE_FETCH,
    TLA_STAGE_GEMM,
    TLA_STAGE_MATH,
    TLA_STAGE_STORE,
    TLA_STAGE_WRITE,
    TLA_STAGE_COUNT
} tla_stage;

/* GEMM and MATH share the accelerator, READ_A and READ_B the DMA engine that reads; the others have one each. */
typedef enum tla_stage_unit {
    TLA_STAGE_UNIT_SCHEDULER,
    TLA_STAGE_UNIT_DMA_READ,
    TLA_STAGE_UNIT_FETCH,
    TLA_STAGE_UNIT_ACCELERATOR,
    TLA_STAGE_UNIT_STORE,
    TLA_STAGE_UNIT_DMA_WRITE,
    TLA_STAGE_UNIT_COUNT
} tla_stage_unit;

/* An operation: its tiling, and which of the stages it has; FEED, FETCH and STORE are always there, and GEMM or MATH.
 */
typedef struct tla_tile_operation {
    tla_tiling tiling; /* without a GEMM count_k is 1 */
    bool reads_a, reads_b, gemm, math, writes;
} tla_tile_operation;

/* A stage for a unit. */
typedef struct tla_tile_task {
    uint64_t operation; /* its number */
    tla_stage stage;
    uint64_t index;    /* of the step; from MATH on, of the output tile */
    uint64_t ready_ps; /* it may begin: its inputs are available, and the previous stage of this unit has ended */
} tla_tile_task;

typedef struct tla_tile_schedule tla_tile_schedule;

/* depth > 0. NULL when the host has no memory. */
tla_tile_schedule *tla_tile_schedule_create(uint32_t depth);
void tla_tile_schedule_destroy(tla_tile_schedule *schedule); /* NULL is allowed */

/* Puts an operation behind the others; nothing of it begins before arrival_ps. *number is its name, and greater than
 * that of any before. TLA_NO_HOST_MEMORY: nothing has changed. */
tla_status tla_tile_schedule_add(tla_tile_schedule *schedule, const tla_tile_operation *operation, uint64_t arrival_ps,
                                 uint64_t *number);

/* Returns the next stage of a unit that has ended its previous stage; false if no stage can be known to begin yet. An
 * end, an add or a drop may change that. */
bool tla_tile_schedule_take(tla_tile_schedule *schedule, tla_stage_unit unit, tla_tile_task *task);

/* The unit has worked on its stage from begin_ps (>= ready_ps) to end_ps. */
void tla_tile_schedule_end(tla_tile_schedule *schedule, tla_stage_unit unit, uint64_t begin_ps, uint64_t end_ps);

/* Drops the stages of an operation that no unit has taken; its registers and accumulators are free from at_ps on. */
void tla_tile_schedule_drop(tla_tile_schedule *schedule, uint64_t number, uint64_t at_ps);

/* Returns whether an operation is complete: no stage is left or in progress. *begin_ps and *end_ps are then the range
 * in which units worked on it (scheduler excluded), both 0 if none did; the number is then invalid. */
bool tla_tile_schedule_collect(tla_tile_schedule *schedule, uint64_t number, uint64_t *begin_ps, uint64_t *end_ps);

#ifdef __cplusplus
}
#endif
#endif
