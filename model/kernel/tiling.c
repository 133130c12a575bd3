/* Tiles of a tiling by their number: nothing is stored of them. */
#include "tiling.h"

static uint32_t count_of(uint32_t size, uint32_t tile) {
    return size / tile + (size % tile != 0);
}

static uint32_t clip(uint32_t size, uint32_t begin, uint32_t tile) {
    return size - begin < tile ? size - begin : tile;
}

tla_status tla_tiling_make(tla_tiling *tiling, const uint32_t size[3], const uint32_t tile[3], tla_error *error) {
    static const char names[] = "mkn";
    for (int i = 0; i < 3; i++)
        if (size[i] == 0 || tile[i] == 0)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "%c = %u in tiles of %u: both must be above 0", names[i],
                                 size[i], tile[i]);
    tla_tiling made = {.m = size[0], .k = size[1], .n = size[2], tile[0], tile[1], tile[2]};
    made.count_m = count_of(made.m, made.tile_m);
    made.count_k = count_of(made.k, made.tile_k);
    made.count_n = count_of(made.n, made.tile_n);
    made.outputs = (uint64_t)made.count_m * made.count_n;
    if (__builtin_mul_overflow(made.outputs, made.count_k, &made.steps) || made.steps >> 63)
        return tla_error_set(error, TLA_LIMIT, "%u x %u x %u tiles: must be fewer than 2^63", made.count_m,
                             made.count_k, made.count_n);
    *tiling = made;
    return TLA_OK;
}

tla_tile_step tla_tiling_step(const tla_tiling *tiling, uint64_t index) {
    const uint64_t output = index / tiling->count_k;
    const uint32_t along = (uint32_t)(index % tiling->count_k);
    tla_tile_step step = {.output = output,
                          .row = (uint32_t)(output / tiling->count_n) * tiling->tile_m,
                          .column = (uint32_t)(output % tiling->count_n) * tiling->tile_n,
                          .deep = along * tiling->tile_k,
                          .first = along == 0,
                          .last = along + 1 == tiling->count_k};
    step.rows = clip(tiling->m, step.row, tiling->tile_m);
    step.columns = clip(tiling->n, step.column, tiling->tile_n);
    step.depth = clip(tiling->k, step.deep, tiling->tile_k);
    return step;
}

tla_tile_step tla_tiling_output(const tla_tiling *tiling, uint64_t output) {
    return tla_tiling_step(tiling, (output + 1) * tiling->count_k - 1);
}
