/* y = layer norm of the rows of x, 256 x 200, f16 in memory, computed in f32: (x - mean) / sqrt(variance + epsilon),
 * times gamma, plus beta. */
#include "tlmalloc/kernel.h"

#include <math.h>

enum { X, GAMMA, BETA, Y };
enum { ROWS = 256, COLUMNS = 200, BLOCK = 16 }; /* rows in one step: the tiles take 34 KiB */
enum { ROW_BYTES = COLUMNS * 2 };
enum { TILE_HALF, TILE_X, TILE_SQUARES, TILE_STATISTIC, TILE_GAMMA, TILE_BETA, TILE_SHARE, TILE_EPSILON, TILES };

#define EPSILON 1e-5f

/* What is the same for all rows: gamma, beta, 1 / COLUMNS and epsilon. */
static tla_status prepare(tl_context *tl, const tl_tile tiles[TILES]) {
    tla_status status = tl_load(tl, &tiles[TILE_GAMMA], (tla_vaddr){tl_argument(tl, GAMMA)}, COLUMNS * 4);
    if (status == TLA_OK) status = tl_load(tl, &tiles[TILE_BETA], (tla_vaddr){tl_argument(tl, BETA)}, COLUMNS * 4);
    if (status == TLA_OK) status = tl_fill(tl, &tiles[TILE_SHARE], 1.0f / COLUMNS);
    if (status == TLA_OK) status = tl_fill(tl, &tiles[TILE_EPSILON], EPSILON);
    return status;
}

/* x -= the mean of its row; statistic = 1 / sqrt(variance + epsilon). */
static tla_status centre(tl_context *tl, const tl_tile *x, const tl_tile *squares, const tl_tile *statistic,
                         const tl_tile tiles[TILES]) {
    tla_status status = tl_sum(tl, 1, statistic, x);
    if (status == TLA_OK) status = tl_mul(tl, statistic, statistic, &tiles[TILE_SHARE]);
    if (status == TLA_OK) status = tl_sub(tl, x, x, statistic);
    if (status == TLA_OK) status = tl_mul(tl, squares, x, x);
    if (status == TLA_OK) status = tl_sum(tl, 1, statistic, squares);
    if (status == TLA_OK) status = tl_fma(tl, statistic, statistic, &tiles[TILE_SHARE], &tiles[TILE_EPSILON]);
    if (status == TLA_OK) status = tl_rsqrt(tl, statistic, statistic);
    return status;
}

/* Rows [first, first + rows), in one step. */
static tla_status normalise(tl_context *tl, const tl_tile tiles[TILES], uint32_t first, uint32_t rows) {
    tl_tile half = tl_view(tl, &tiles[TILE_HALF], 0, 0, rows, COLUMNS),
            x = tl_view(tl, &tiles[TILE_X], 0, 0, rows, COLUMNS),
            squares = tl_view(tl, &tiles[TILE_SQUARES], 0, 0, rows, COLUMNS),
            statistic = tl_view(tl, &tiles[TILE_STATISTIC], 0, 0, rows, 1);
    uint64_t offset = (uint64_t)first * ROW_BYTES;
    tla_status status = tl_load(tl, &half, (tla_vaddr){tl_argument(tl, X) + offset}, ROW_BYTES);
    if (status == TLA_OK) status = tl_convert(tl, &x, &half);
    if (status == TLA_OK) status = centre(tl, &x, &squares, &statistic, tiles);
    if (status == TLA_OK) status = tl_mul(tl, &x, &x, &statistic);
    if (status == TLA_OK) status = tl_fma(tl, &half, &x, &tiles[TILE_GAMMA], &tiles[TILE_BETA]);
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + offset}, ROW_BYTES, &half);
    return status;
}

/* Arguments: addresses of x, gamma, beta and y. Program p of P takes rows [p * ROWS / P, (p + 1) * ROWS / P). */
static tla_status run(tl_context *tl) {
    uint64_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL);
    uint32_t first = (uint32_t)(p * ROWS / programs), end = (uint32_t)((p + 1) * ROWS / programs);
    if (first == end) return TLA_OK; /* more programs than rows */
    uint32_t most = end - first < BLOCK ? end - first : BLOCK;
    tl_tile tiles[TILES] = {
        [TILE_HALF] = {.rows = most, .columns = COLUMNS, .dtype = TL_F16},
        [TILE_X] = {.rows = most, .columns = COLUMNS, .dtype = TL_F32},
        [TILE_SQUARES] = {.rows = most, .columns = COLUMNS, .dtype = TL_F32},
        [TILE_STATISTIC] = {.rows = most, .columns = 1, .dtype = TL_F32},
        [TILE_GAMMA] = {.rows = 1, .columns = COLUMNS, .dtype = TL_F32},
        [TILE_BETA] = {.rows = 1, .columns = COLUMNS, .dtype = TL_F32},
        [TILE_SHARE] = {.rows = 1, .columns = 1, .dtype = TL_F32},
        [TILE_EPSILON] = {.rows = 1, .columns = 1, .dtype = TL_F32},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    status = prepare(tl, tiles);
    for (; status == TLA_OK && first < end; first += most)
        status = normalise(tl, tiles, first, end - first < most ? end - first : most);
    return tl_free_tiles(tl, tiles, TILES, status);
}

/* x, gamma and beta lie in [-1, 1], and the variance of 200 such numbers is not below 1/8. In f32 the mean is off by at
 * most (COLUMNS + 1) * 2^-24, and so is each difference; the variance, of differences below 2, by four times that and
 * its own rounding; 1 / sqrt is below 3 and off by at most 12 times what the variance is. Together, with gamma <= 1,
 * less than 128 * COLUMNS * 2^-24, which is 0.0015. The last rounding, to f16, is 2^-11 of the result, or 2^-25. */
static double tolerance(double exact) {
    return 128 * COLUMNS * 0x1p-24 + fabs(exact) * 0x1p-11 + 0x1p-25;
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    (void)workload;
    for (uint64_t row = 0; row < ROWS; row++) {
        double mean = 0, variance = 0;
        for (uint64_t i = row * COLUMNS; i < (row + 1) * COLUMNS; i++)
            mean += tl_element(tensors[X], TL_F16, i) / COLUMNS;
        for (uint64_t i = row * COLUMNS; i < (row + 1) * COLUMNS; i++)
            variance += pow(tl_element(tensors[X], TL_F16, i) - mean, 2) / COLUMNS;
        for (uint64_t column = 0; column < COLUMNS; column++) {
            uint64_t i = row * COLUMNS + column;
            double exact = (tl_element(tensors[X], TL_F16, i) - mean) / sqrt(variance + (double)EPSILON) *
                               tl_element(tensors[GAMMA], TL_F32, column) +
                           tl_element(tensors[BETA], TL_F32, column);
            double got = tl_element(tensors[Y], TL_F16, i);
            if (!(fabs(got - exact) <= tolerance(exact))) /* also refuses NaN */
                return tl_wrong(error, "layer_norm: y[%llu][%llu] is %.9g, expected %.9g within %.3g",
                                (unsigned long long)row, (unsigned long long)column, got, exact, tolerance(exact));
        }
    }
    return TLA_OK;
}

TL_KERNEL(.name = "layer_norm", .description = "layer norm of the rows of a 256 x 200 matrix, f16 storage", .run = run,
          .tensors = {[X] = {.name = "x", .dtype = TL_F16, .shape = {ROWS, COLUMNS}},
                      [GAMMA] = {.name = "gamma", .dtype = TL_F32, .shape = {COLUMNS}, .spread = TL_REPLICATED},
                      [BETA] = {.name = "beta", .dtype = TL_F32, .shape = {COLUMNS}, .spread = TL_REPLICATED},
                      [Y] = {.name = "y", .dtype = TL_F16, .shape = {ROWS, COLUMNS}, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(GAMMA), TL_ADDRESS_OF(BETA), TL_ADDRESS_OF(Y)}, .check = check);
