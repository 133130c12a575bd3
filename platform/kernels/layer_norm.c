/* y = layer norm of the rows of x, rows x columns, f16 in memory, computed in f32: (x - mean) / sqrt(variance +
 * epsilon), times gamma, plus beta. */
#include "tlmalloc/kernel.h"

#include <math.h>

enum { X, GAMMA, BETA, Y };
enum { ROWS, COLUMNS };
enum { BLOCK = 16 }; /* rows in one step */
enum { TILE_HALF, TILE_X, TILE_SQUARES, TILE_OF_ROW, TILE_GAMMA, TILE_BETA, TILE_SHARE, TILE_EPSILON, TILES };

#define EPSILON 1e-5f

/* Prepares the tiles that are the same for all rows: gamma, beta, 1 / columns and epsilon. */
static tla_status prepare(tl_context *tl, const tl_tile tiles[TILES]) {
    const uint64_t columns = tiles[TILE_X].columns;
    tla_status status = tl_load(tl, &tiles[TILE_GAMMA], (tla_vaddr){tl_argument(tl, GAMMA)}, columns * 4);
    if (status == TLA_OK) status = tl_load(tl, &tiles[TILE_BETA], (tla_vaddr){tl_argument(tl, BETA)}, columns * 4);
    if (status == TLA_OK) status = tl_fill(tl, &tiles[TILE_SHARE], 1.0f / (float)columns);
    if (status == TLA_OK) status = tl_fill(tl, &tiles[TILE_EPSILON], EPSILON);
    return status;
}

/* Rows [first, first + rows), in one step. */
static tla_status normalise(tl_context *tl, const tl_tile tiles[TILES], uint32_t first, uint32_t rows) {
    const uint32_t columns = tiles[TILE_X].columns;
    const tl_tile half = tl_view(tl, &tiles[TILE_HALF], 0, 0, rows, columns),
                  x = tl_view(tl, &tiles[TILE_X], 0, 0, rows, columns);
    const tl_norm norm = {.gamma = tiles[TILE_GAMMA],
                          .beta = tiles[TILE_BETA],
                          .share = tiles[TILE_SHARE],
                          .epsilon = tiles[TILE_EPSILON],
                          .squares = tl_view(tl, &tiles[TILE_SQUARES], 0, 0, rows, columns),
                          .of_row = tl_view(tl, &tiles[TILE_OF_ROW], 0, 0, rows, 1)};
    const uint64_t row_bytes = columns * UINT64_C(2), offset = first * row_bytes;
    tla_status status = tl_load(tl, &half, (tla_vaddr){tl_argument(tl, X) + offset}, row_bytes);
    if (status == TLA_OK) status = tl_convert(tl, &x, &half);
    if (status == TLA_OK) status = tl_layer_norm(tl, &half, &x, &norm);
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + offset}, row_bytes, &half);
    return status;
}

/* Arguments: addresses of x, gamma, beta and y; rows, columns. Program p of P takes rows
 * [p * rows / P, (p + 1) * rows / P). */
static tla_status run(tl_context *tl) {
    uint64_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL), rows = tl_argument(tl, 4);
    uint32_t first = (uint32_t)(p * rows / programs), end = (uint32_t)((p + 1) * rows / programs);
    const uint32_t columns = (uint32_t)tl_argument(tl, 5);
    if (first == end) return TLA_OK; /* more programs than rows */
    uint32_t most = end - first < BLOCK ? end - first : BLOCK;
    tl_tile tiles[TILES] = {
        [TILE_HALF] = {.rows = most, .columns = columns, .dtype = TL_F16},
        [TILE_X] = {.rows = most, .columns = columns, .dtype = TL_F32},
        [TILE_SQUARES] = {.rows = most, .columns = columns, .dtype = TL_F32},
        [TILE_OF_ROW] = {.rows = most, .columns = 1, .dtype = TL_F32},
        [TILE_GAMMA] = {.rows = 1, .columns = columns, .dtype = TL_F32},
        [TILE_BETA] = {.rows = 1, .columns = columns, .dtype = TL_F32},
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

/* The exact statistics of a row, and their errors by rounding in f32. */
typedef struct row_statistics {
    double mean, scale;             /* scale: 1 / sqrt(variance + epsilon) */
    double mean_error, scale_error; /* of each difference from the mean, and of the scale */
} row_statistics;

/* A sum of n numbers rounds by at most n * 2^-24 of the sum of their magnitudes, with the product by 1 / n, itself
 * rounded, two more (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). A difference rounds by 2^-24 of
 * itself, which is at most twice the largest magnitude. The error of a square is the error of its difference times
 * twice its magnitude; the sum of the squares rounds as the first sum. 1 / sqrt is largest where the variance is least,
 * and rounds by two units. */
static row_statistics statistics_of(const void *x, uint64_t first, uint64_t columns) {
    const double unit = 0x1p-24, n = (double)columns;
    double mean = 0, magnitude = 0, largest = 0, variance = 0, distance = 0;
    for (uint64_t i = first; i < first + columns; i++) {
        const double value = tl_element(x, TL_F16, i);
        mean += value / n;
        magnitude += fabs(value) / n;
        largest = fmax(largest, fabs(value));
    }
    for (uint64_t i = first; i < first + columns; i++) {
        const double difference = tl_element(x, TL_F16, i) - mean;
        variance += difference * difference / n;
        distance += fabs(difference) / n;
    }
    const double mean_error = (n + 3) * unit * magnitude + 2 * unit * largest;
    const double squares_error = 2 * distance * mean_error + mean_error * mean_error;
    const double variance_error = squares_error + (n + 4) * unit * (variance + squares_error + (double)EPSILON);
    const double scale = 1 / sqrt(variance + (double)EPSILON),
                 most = 1 / sqrt(variance + (double)EPSILON - fmin(variance_error, variance + (double)EPSILON / 2));
    return (row_statistics){mean, scale, mean_error, most - scale + 2 * unit * most};
}

/* Returns the tolerance of y: the effect of the errors of the statistics, three roundings in f32, and the last to f16,
 * 2^-11 of the result, or 2^-25 where that is subnormal. */
static double tolerance(const row_statistics *row, double difference, double gamma, double exact) {
    const double scaled = fabs(difference) * row->scale,
                 off = row->mean_error * (row->scale + row->scale_error) + fabs(difference) * row->scale_error;
    const double before = fabs(gamma) * (off + 2 * 0x1p-24 * (scaled + off)) + 0x1p-24 * fabs(exact);
    return before + fmax((fabs(exact) + before) * 0x1p-11, 0x1p-25);
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t rows = workload->parameters[ROWS], columns = workload->parameters[COLUMNS];
    for (uint64_t row = 0; row < rows; row++) {
        const row_statistics of_row = statistics_of(tensors[X], row * columns, columns);
        for (uint64_t column = 0; column < columns; column++) {
            const uint64_t i = row * columns + column;
            const double difference = tl_element(tensors[X], TL_F16, i) - of_row.mean,
                         gamma = tl_element(tensors[GAMMA], TL_F32, column);
            const double exact = difference * of_row.scale * gamma + tl_element(tensors[BETA], TL_F32, column);
            const double got = tl_element(tensors[Y], TL_F16, i),
                         allowed = tolerance(&of_row, difference, gamma, exact);
            if (!(fabs(got - exact) <= allowed)) /* also rejects NaN */
                return tl_wrong(error, "layer_norm: y[%llu][%llu] is %.9g, expected %.9g within %.3g",
                                (unsigned long long)row, (unsigned long long)column, got, exact, allowed);
        }
    }
    return TLA_OK;
}

TL_KERNEL(
        .name = "layer_norm", .description = "layer norm of the rows of a matrix (256 x 200), f16 storage", .run = run,
        .uses = TL_USES_TRANSFERS | TL_USES_VECTOR,
        .parameters = {[ROWS] = {"rows", 256, .least = 1}, [COLUMNS] = {"columns", 200, .least = 1}},
        .tensors =
            {[X] = {.name = "x", .dtype = TL_F16, .shape = {TL_PARAMETER(ROWS), TL_PARAMETER(COLUMNS)}},
             [GAMMA] = {.name = "gamma", .dtype = TL_F32, .shape = {TL_PARAMETER(COLUMNS)}, .spread = TL_REPLICATED},
             [BETA] = {.name = "beta", .dtype = TL_F32, .shape = {TL_PARAMETER(COLUMNS)}, .spread = TL_REPLICATED},
             [Y] = {.name = "y", .dtype = TL_F16, .shape = {TL_PARAMETER(ROWS), TL_PARAMETER(COLUMNS)}, .use = TL_OUT}},
        .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(GAMMA), TL_ADDRESS_OF(BETA), TL_ADDRESS_OF(Y), TL_VALUE_OF(ROWS),
                      TL_VALUE_OF(COLUMNS)},
        .check = check);
