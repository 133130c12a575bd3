/* The order of stages: every unit has a place in the list of operations, and looks back at when others have ended. */
#include "tile_schedule.h"

#include <stdlib.h>

/* The milestones of an operation, with the times of the latest ones. */
typedef enum milestone { FED, LOADED, FETCHED, RESULT, STORED, WRITTEN, MILESTONE_COUNT } milestone;

typedef struct operation {
    uint64_t number, arrival_ps, begin_ps, end_ps;
    tla_tile_operation what;
    bool dropped;
    uint64_t dropped_ps;
    uint64_t counts[MILESTONE_COUNT];
    uint64_t *ends[MILESTONE_COUNT]; /* of the last `ring`, at their number modulo it */
    struct operation *next;
} operation;

/* Registers, or an accumulator: held for a step, or an output tile, of an operation. */
typedef struct holder {
    uint64_t operation, index; /* operation 0: free */
    uint64_t free_ps;
} holder;

typedef struct place { /* of a unit: its current or next stage */
    uint64_t operation, index;
    uint32_t phase; /* of a step: on the accelerator GEMM 0, MATH 1; on the DMA engine A 0, B 1 */
    tla_stage stage;
    bool busy;
    uint64_t free_ps;
} place;

struct tla_tile_schedule {
    uint32_t depth;
    uint32_t ring; /* no unit is farther ahead of the one behind it than depth */
    uint64_t next_number;
    operation *first, *last;
    holder *registers, *accumulators; /* depth of each */
    place units[TLA_STAGE_UNIT_COUNT];
};

tla_tile_schedule *tla_tile_schedule_create(uint32_t depth) {
    tla_tile_schedule *schedule = calloc(1, sizeof *schedule);
    holder *holders = calloc((size_t)depth * 2, sizeof *holders);
    if (!schedule || !holders) {
        free(schedule);
        free(holders);
        return NULL;
    }
    schedule->depth = depth;
    schedule->ring = depth + 1;
    schedule->next_number = 1;
    schedule->registers = holders;
    schedule->accumulators = holders + depth;
    return schedule;
}

void tla_tile_schedule_destroy(tla_tile_schedule *schedule) {
    if (!schedule) return;
    while (schedule->first) {
        operation *gone = schedule->first;
        schedule->first = gone->next;
        free(gone->ends[0]);
        free(gone);
    }
    free(schedule->registers);
    free(schedule);
}

tla_status tla_tile_schedule_add(tla_tile_schedule *schedule, const tla_tile_operation *what, uint64_t arrival_ps,
                                 uint64_t *number) {
    operation *added = calloc(1, sizeof *added);
    uint64_t *ends = calloc((size_t)schedule->ring * MILESTONE_COUNT, sizeof *ends);
    if (!added || !ends) {
        free(added);
        free(ends);
        return TLA_NO_HOST_MEMORY;
    }
    added->number = *number = schedule->next_number++;
    added->arrival_ps = arrival_ps;
    added->begin_ps = UINT64_MAX;
    added->what = *what;
    for (int i = 0; i < MILESTONE_COUNT; i++)
        added->ends[i] = ends + (size_t)i * schedule->ring;
    *(schedule->last ? &schedule->last->next : &schedule->first) = added;
    schedule->last = added;
    return TLA_OK;
}

/* --- events
 * ------------------------------------------------------------------------------------------------------------ */

/* Whether number `index` of a milestone has been reached; *at_ps grows to when it was. */
static bool reached(const tla_tile_schedule *schedule, const operation *op, milestone what, uint64_t index,
                    uint64_t *at_ps) {
    if (index >= op->counts[what]) return false;
    const uint64_t end_ps = op->ends[what][index % schedule->ring];
    if (end_ps > *at_ps) *at_ps = end_ps;
    return true;
}

static void reach(tla_tile_schedule *schedule, operation *op, milestone what, uint64_t end_ps) {
    op->ends[what][op->counts[what]++ % schedule->ring] = end_ps;
}

/* Returns whether the resource that was used `depth` before this index is free again. */
static bool left(const tla_tile_schedule *schedule, const operation *op, milestone what, uint64_t index,
                 uint64_t *at_ps) {
    return index < schedule->depth || reached(schedule, op, what, index - schedule->depth, at_ps);
}

/* The one that was left first; NULL when all are held. */
static holder *find_free(holder *holders, uint32_t count) {
    holder *best = NULL;
    for (holder *h = holders; h < holders + count; h++)
        if (!h->operation && (!best || h->free_ps < best->free_ps)) best = h;
    return best;
}

static bool has_free(holder *holders, uint32_t count, uint64_t *at_ps) {
    const holder *found = find_free(holders, count);
    if (found && found->free_ps > *at_ps) *at_ps = found->free_ps;
    return found;
}

static void hold(holder *holders, uint32_t count, const operation *op, uint64_t index) {
    holder *taken = find_free(holders, count);
    taken->operation = op->number;
    taken->index = index;
}

static void leave(holder *holders, uint32_t count, const operation *op, uint64_t index, uint64_t at_ps) {
    for (holder *h = holders; h < holders + count; h++)
        if (h->operation == op->number && h->index == index) *h = (holder){.free_ps = at_ps};
}

/* --- next stages
 * ------------------------------------------------------------------------------------------------------- */

/* Returns the stage of a unit's index in an operation for its phase; TLA_STAGE_COUNT: no stage. */
static tla_stage stage_at(const operation *op, tla_stage_unit unit, uint64_t index, uint32_t phase) {
    const tla_tile_operation *what = &op->what;
    switch (unit) {
    case TLA_STAGE_UNIT_SCHEDULER:
        return phase == 0 ? TLA_STAGE_FEED : TLA_STAGE_COUNT;
    case TLA_STAGE_UNIT_DMA_READ:
        if (phase == 0) return what->reads_a ? TLA_STAGE_READ_A : TLA_STAGE_COUNT;
        return what->reads_b ? TLA_STAGE_READ_B : TLA_STAGE_COUNT;
    case TLA_STAGE_UNIT_FETCH:
        return phase == 0 ? TLA_STAGE_FETCH : TLA_STAGE_COUNT;
    case TLA_STAGE_UNIT_ACCELERATOR:
        if (phase == 0) return what->gemm ? TLA_STAGE_GEMM : TLA_STAGE_COUNT;
        return what->math && (index + 1) % what->tiling.count_k == 0 ? TLA_STAGE_MATH : TLA_STAGE_COUNT;
    case TLA_STAGE_UNIT_STORE:
        return phase == 0 ? TLA_STAGE_STORE : TLA_STAGE_COUNT;
    default:
        return phase == 0 && what->writes ? TLA_STAGE_WRITE : TLA_STAGE_COUNT;
    }
}

static uint64_t indices_of(const operation *op, tla_stage_unit unit) {
    const bool by_output = unit == TLA_STAGE_UNIT_STORE || unit == TLA_STAGE_UNIT_DMA_WRITE;
    const bool nothing = (unit == TLA_STAGE_UNIT_DMA_READ && !op->what.reads_a && !op->what.reads_b) ||
                         (unit == TLA_STAGE_UNIT_DMA_WRITE && !op->what.writes);
    if (nothing || op->dropped) return 0;
    return by_output ? op->what.tiling.outputs : op->what.tiling.steps;
}

/* Moves a unit's place to its next stage; returns the operation of that stage, NULL without a next stage. */
static operation *settle(tla_tile_schedule *schedule, tla_stage_unit unit) {
    place *at = &schedule->units[unit];
    for (operation *op = schedule->first; op; op = op->next) {
        if (op->number < at->operation) continue;
        if (op->number > at->operation) *at = (place){.operation = op->number, .free_ps = at->free_ps};
        while (at->index < indices_of(op, unit)) {
            at->stage = stage_at(op, unit, at->index, at->phase);
            if (at->stage != TLA_STAGE_COUNT) return op;
            at->phase = 1 - at->phase;
            at->index += at->phase == 0;
        }
    }
    return NULL;
}

/* Returns whether the inputs of a stage are available, and since when. */
static bool is_ready(tla_tile_schedule *schedule, const operation *op, tla_stage stage, uint64_t index,
                     uint64_t *at_ps) {
    const tla_tile_operation *what = &op->what;
    const uint32_t depth = schedule->depth, count_k = what->tiling.count_k;
    switch (stage) {
    case TLA_STAGE_FEED:
        return left(schedule, op, FETCHED, index, at_ps);
    case TLA_STAGE_READ_A:
    case TLA_STAGE_READ_B:
        return reached(schedule, op, FED, index, at_ps);
    case TLA_STAGE_FETCH:
        return reached(schedule, op, what->reads_a || what->reads_b ? LOADED : FED, index, at_ps) &&
               has_free(schedule->registers, depth, at_ps);
    case TLA_STAGE_GEMM:
        return reached(schedule, op, FETCHED, index, at_ps) &&
               (index % count_k != 0 || has_free(schedule->accumulators, depth, at_ps));
    case TLA_STAGE_MATH:
        if (what->gemm) return true; /* the GEMM before it on this unit */
        return reached(schedule, op, FETCHED, index, at_ps) && has_free(schedule->accumulators, depth, at_ps);
    case TLA_STAGE_STORE:
        return reached(schedule, op, RESULT, index, at_ps) &&
               (!what->writes || left(schedule, op, WRITTEN, index, at_ps));
    default:
        return reached(schedule, op, STORED, index, at_ps);
    }
}

bool tla_tile_schedule_take(tla_tile_schedule *schedule, tla_stage_unit unit, tla_tile_task *task) {
    place *at = &schedule->units[unit];
    const operation *op = at->busy ? NULL : settle(schedule, unit);
    if (!op) return false;
    uint64_t ready_ps = op->arrival_ps > at->free_ps ? op->arrival_ps : at->free_ps;
    if (!is_ready(schedule, op, at->stage, at->index, &ready_ps)) return false;
    const uint32_t depth = schedule->depth, count_k = op->what.tiling.count_k;
    if (at->stage == TLA_STAGE_FETCH) hold(schedule->registers, depth, op, at->index);
    if (unit == TLA_STAGE_UNIT_ACCELERATOR && at->index % count_k == 0 &&
        (at->stage == TLA_STAGE_GEMM || !op->what.gemm))
        hold(schedule->accumulators, depth, op, at->index / count_k);
    at->busy = true;
    const bool by_output = at->stage == TLA_STAGE_MATH;
    *task = (tla_tile_task){op->number, at->stage, by_output ? at->index / count_k : at->index, ready_ps};
    return true;
}

/* --- ends of stages
 * ---------------------------------------------------------------------------------------------------- */

static operation *find(tla_tile_schedule *schedule, uint64_t number) {
    operation *op = schedule->first;
    while (op && op->number != number)
        op = op->next;
    return op;
}

static bool is_worked_on(const tla_tile_schedule *schedule, uint64_t number) {
    for (int i = 0; i < TLA_STAGE_UNIT_COUNT; i++)
        if (schedule->units[i].busy && schedule->units[i].operation == number) return true;
    return false;
}

/* Releases the resources of a dropped operation when no unit works on it. */
static void leave_all(tla_tile_schedule *schedule, const operation *op) {
    if (!op->dropped || is_worked_on(schedule, op->number)) return;
    for (holder *h = schedule->registers; h < schedule->registers + (size_t)schedule->depth * 2; h++)
        if (h->operation == op->number) *h = (holder){.free_ps = op->dropped_ps};
}

static void record(tla_tile_schedule *schedule, operation *op, const place *at, uint64_t end_ps) {
    const uint32_t depth = schedule->depth, count_k = op->what.tiling.count_k;
    const bool last = (at->index + 1) % count_k == 0;
    switch (at->stage) {
    case TLA_STAGE_FEED:
        reach(schedule, op, FED, end_ps);
        break;
    case TLA_STAGE_READ_A:
        if (!op->what.reads_b) reach(schedule, op, LOADED, end_ps);
        break;
    case TLA_STAGE_READ_B:
        reach(schedule, op, LOADED, end_ps);
        break;
    case TLA_STAGE_FETCH:
        reach(schedule, op, FETCHED, end_ps);
        break;
    case TLA_STAGE_GEMM:
        leave(schedule->registers, depth, op, at->index, end_ps);
        if (last && !op->what.math) reach(schedule, op, RESULT, end_ps);
        break;
    case TLA_STAGE_MATH:
        leave(schedule->registers, depth, op, at->index, end_ps);
        reach(schedule, op, RESULT, end_ps);
        break;
    case TLA_STAGE_STORE:
        leave(schedule->accumulators, depth, op, at->index, end_ps);
        reach(schedule, op, STORED, end_ps);
        break;
    default:
        reach(schedule, op, WRITTEN, end_ps);
        break;
    }
}

void tla_tile_schedule_end(tla_tile_schedule *schedule, tla_stage_unit unit, uint64_t begin_ps, uint64_t end_ps) {
    place *at = &schedule->units[unit];
    operation *op = find(schedule, at->operation);
    at->busy = false;
    at->free_ps = end_ps;
    if (unit != TLA_STAGE_UNIT_SCHEDULER) {
        if (begin_ps < op->begin_ps) op->begin_ps = begin_ps;
        if (end_ps > op->end_ps) op->end_ps = end_ps;
    }
    record(schedule, op, at, end_ps);
    at->phase = 1 - at->phase;
    at->index += at->phase == 0;
    if (end_ps > op->dropped_ps) op->dropped_ps = end_ps;
    leave_all(schedule, op);
}

void tla_tile_schedule_drop(tla_tile_schedule *schedule, uint64_t number, uint64_t at_ps) {
    operation *op = find(schedule, number);
    if (!op) return;
    op->dropped = true;
    if (at_ps > op->dropped_ps) op->dropped_ps = at_ps;
    leave_all(schedule, op);
}

bool tla_tile_schedule_collect(tla_tile_schedule *schedule, uint64_t number, uint64_t *begin_ps, uint64_t *end_ps) {
    operation *op = find(schedule, number), *before = NULL;
    if (!op || is_worked_on(schedule, number)) return false;
    const milestone last = op->what.writes ? WRITTEN : STORED;
    if (!op->dropped && op->counts[last] < op->what.tiling.outputs) return false;
    *begin_ps = op->end_ps ? op->begin_ps : 0;
    *end_ps = op->end_ps;
    for (operation *other = schedule->first; other != op; other = other->next)
        before = other;
    *(before ? &before->next : &schedule->first) = op->next;
    if (schedule->last == op) schedule->last = before;
    free(op->ends[0]);
    free(op);
    return true;
}
