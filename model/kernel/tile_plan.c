/* Tiles of a plan by their number: nothing is stored of them. */
#include "tlmalloc/kernel/tile_plan.h"

static uint32_t count_of(uint32_t size, uint32_t tile) {
    return size / tile + (size % tile != 0);
}

static uint32_t clip(uint32_t size, uint32_t begin, uint32_t tile) {
    return size - begin < tile ? size - begin : tile;
}

tla_status tla_tile_plan_make(tla_tile_plan *plan, const uint32_t size[3], const uint32_t tile[3], tla_error *error) {
    static const char names[] = "mkn";
    for (int i = 0; i < 3; i++)
        if (size[i] == 0 || tile[i] == 0)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "found %c = %u in tiles of %u, expected both above 0",
                                 names[i], size[i], tile[i]);
    tla_tile_plan made = {.m = size[0], .k = size[1], .n = size[2], tile[0], tile[1], tile[2]};
    made.count_m = count_of(made.m, made.tile_m);
    made.count_k = count_of(made.k, made.tile_k);
    made.count_n = count_of(made.n, made.tile_n);
    made.outputs = (uint64_t)made.count_m * made.count_n;
    if (__builtin_mul_overflow(made.outputs, made.count_k, &made.steps) || made.steps >> 63)
        return tla_error_set(error, TLA_LIMIT, "found %u x %u x %u tiles, expected fewer than 2^63", made.count_m,
                             made.count_k, made.count_n);
    *plan = made;
    return TLA_OK;
}

tla_tile_step tla_tile_plan_step(const tla_tile_plan *plan, uint64_t index) {
    const uint64_t output = index / plan->count_k;
    const uint32_t along = (uint32_t)(index % plan->count_k);
    tla_tile_step step = {.output = output,
                          .row = (uint32_t)(output / plan->count_n) * plan->tile_m,
                          .column = (uint32_t)(output % plan->count_n) * plan->tile_n,
                          .deep = along * plan->tile_k,
                          .first = along == 0,
                          .last = along + 1 == plan->count_k};
    step.rows = clip(plan->m, step.row, plan->tile_m);
    step.columns = clip(plan->n, step.column, plan->tile_n);
    step.depth = clip(plan->k, step.deep, plan->tile_k);
    return step;
}

tla_tile_step tla_tile_plan_output(const tla_tile_plan *plan, uint64_t output) {
    return tla_tile_plan_step(plan, (output + 1) * plan->count_k - 1);
}
