/* y = softmax of the rows of x, rows x columns, f16 in memory, computed in f32: e to the (x - the row's largest),
 * divided by the sum of these. */
#include "tlmalloc/kernel.h"

#include <math.h>

enum { X, Y };
enum { ROWS, COLUMNS };
enum { BLOCK = 32 }; /* rows in one step */

/* Rows [first, first + rows), in one step. */
static tla_status softmax_block(tl_context *tl, const tl_tile *tile, uint32_t first, uint32_t rows) {
    tl_tile block = tl_view(tl, tile, 0, 0, rows, tile->columns);
    const uint64_t row_bytes = tile->columns * UINT64_C(2), offset = first * row_bytes;
    tla_status status = tl_load(tl, &block, (tla_vaddr){tl_argument(tl, X) + offset}, row_bytes);
    if (status == TLA_OK) status = tl_softmax(tl, &block, &block);
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + offset}, row_bytes, &block);
    return status;
}

/* Arguments: addresses of x and y, rows, columns. Program p of P takes rows [p * rows / P, (p + 1) * rows / P). */
static tla_status run(tl_context *tl) {
    uint64_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL), rows = tl_argument(tl, 2);
    uint32_t first = (uint32_t)(p * rows / programs), end = (uint32_t)((p + 1) * rows / programs);
    if (first == end) return TLA_OK; /* more programs than rows */
    uint32_t most = end - first < BLOCK ? end - first : BLOCK;
    tl_tile tile = {.rows = most, .columns = (uint32_t)tl_argument(tl, 3), .dtype = TL_F16};
    tla_status status = tl_alloc_tiles(tl, &tile, 1);
    if (status != TLA_OK) return status;
    for (; status == TLA_OK && first < end; first += most)
        status = softmax_block(tl, &tile, first, end - first < most ? end - first : most);
    return tl_free_tiles(tl, &tile, 1, status);
}

/* In f32 the difference rounds by 2^-24 of itself, which exp makes 2^-24 * |x - largest| <= 2^-23 of its result; exp,
 * the sum of the columns and the quotient by at most (columns + 3) * 2^-24 more. The last rounding, to f16, is 2^-11 of
 * the result, or 2^-25 where that is subnormal. */
static double tolerance(double exact, double columns) {
    return exact * ((columns + 5) * 0x1p-24 + 0x1p-11) + 0x1p-25;
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t rows = workload->parameters[ROWS], columns = workload->parameters[COLUMNS];
    for (uint64_t row = 0; row < rows; row++) {
        double largest = -INFINITY, sum = 0;
        for (uint64_t i = row * columns; i < (row + 1) * columns; i++)
            largest = fmax(largest, tl_element(tensors[X], TL_F16, i));
        for (uint64_t i = row * columns; i < (row + 1) * columns; i++)
            sum += exp(tl_element(tensors[X], TL_F16, i) - largest);
        for (uint64_t i = row * columns; i < (row + 1) * columns; i++) {
            double exact = exp(tl_element(tensors[X], TL_F16, i) - largest) / sum;
            double got = tl_element(tensors[Y], TL_F16, i), allowed = tolerance(exact, (double)columns);
            if (!(fabs(got - exact) <= allowed)) /* also rejects NaN */
                return tl_wrong(error, "softmax: y[%llu][%llu] is %.9g, expected %.9g within %.3g",
                                (unsigned long long)row, (unsigned long long)(i % columns), got, exact, allowed);
        }
    }
    return TLA_OK;
}

TL_KERNEL(.name = "softmax", .description = "softmax of the rows of a matrix (256 x 200), f16 storage", .run = run,
          .uses = TL_USES_TRANSFERS | TL_USES_VECTOR,
          .parameters = {[ROWS] = {"rows", 256, .least = 1}, [COLUMNS] = {"columns", 200, .least = 1}},
          .tensors = {[X] = {.name = "x", .dtype = TL_F16, .shape = {TL_PARAMETER(ROWS), TL_PARAMETER(COLUMNS)}},
                      [Y] = {.name = "y",
                             .dtype = TL_F16,
                             .shape = {TL_PARAMETER(ROWS), TL_PARAMETER(COLUMNS)},
                             .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(Y), TL_VALUE_OF(ROWS), TL_VALUE_OF(COLUMNS)}, .check = check);
