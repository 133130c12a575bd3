/* C[128 x 128] = X[128 x 256] * W[256 x 128]: f16 in memory, accumulated in f32, rounded to f16 once at the end
 * (KernBench's qkv_gemm, 128 x 256 x 128). */
#include "tlmalloc/kernel.h"

#include <math.h>

enum { X, W, C, TENSORS };
enum { M = 128, K = 256, N = 128 };
enum { DEPTH = 64 }; /* of k in one step: a program's tiles fit the smallest TCM we configure */
enum { ELEMENT_BYTES = 2 };
enum { TILE_X, TILE_W, TILE_SUM, TILE_C, TILES };

typedef struct range {
    uint32_t first, count;
} range;

static range part(uint32_t total, uint32_t index, uint32_t parts) {
    uint32_t first = (uint32_t)((uint64_t)index * total / parts);
    return (range){first, (uint32_t)((uint64_t)(index + 1) * total / parts) - first};
}

/* Rows of the grid that the programs form: the largest divisor of their number that is at most its square root. */
static uint32_t grid_rows(uint32_t programs) {
    uint32_t rows = 1;
    for (uint32_t divisor = 2; (uint64_t)divisor * divisor <= programs; divisor++)
        if (programs % divisor == 0) rows = divisor;
    return rows;
}

static tla_vaddr element_of(tl_context *tl, uint32_t tensor, uint64_t row, uint64_t column, uint64_t columns) {
    return (tla_vaddr){tl_argument(tl, tensor) + (row * columns + column) * ELEMENT_BYTES};
}

static tla_status multiply(tl_context *tl, const tl_tile tiles[TILES], range rows, range columns) {
    const uint32_t k = (uint32_t)tl_argument(tl, 4), n = (uint32_t)tl_argument(tl, 5);
    tla_status status = tl_fill(tl, &tiles[TILE_SUM], 0);
    for (uint32_t depth = 0; status == TLA_OK && depth < k; depth += DEPTH) {
        tl_tile x = tiles[TILE_X], w = tiles[TILE_W];
        x.columns = w.rows = k - depth < DEPTH ? k - depth : DEPTH;
        status = tl_load(tl, &x, element_of(tl, X, rows.first, depth, k), (uint64_t)k * ELEMENT_BYTES);
        if (status == TLA_OK)
            status = tl_load(tl, &w, element_of(tl, W, depth, columns.first, n), (uint64_t)n * ELEMENT_BYTES);
        if (status == TLA_OK) status = tl_dot(tl, &tiles[TILE_SUM], &x, &w);
    }
    if (status == TLA_OK) status = tl_convert(tl, &tiles[TILE_C], &tiles[TILE_SUM]);
    if (status == TLA_OK)
        status =
            tl_store(tl, element_of(tl, C, rows.first, columns.first, n), (uint64_t)n * ELEMENT_BYTES, &tiles[TILE_C]);
    return status;
}

/* Arguments: addresses of X, W and C, then M, K, N. */
static tla_status run(tl_context *tl) {
    uint32_t programs = tl_num_programs(tl, TL_ALL), program = tl_program_id(tl, TL_ALL);
    uint32_t grid_height = grid_rows(programs), grid_width = programs / grid_height;
    range rows = part((uint32_t)tl_argument(tl, 3), program / grid_width, grid_height);
    range columns = part((uint32_t)tl_argument(tl, 5), program % grid_width, grid_width);
    if (rows.count == 0 || columns.count == 0) return TLA_OK; /* more programs than rows or columns */
    tl_tile tiles[TILES] = {
        [TILE_X] = {.rows = rows.count, .columns = DEPTH, .dtype = TL_F16},
        [TILE_W] = {.rows = DEPTH, .columns = columns.count, .dtype = TL_F16},
        [TILE_SUM] = {.rows = rows.count, .columns = columns.count, .dtype = TL_F32},
        [TILE_C] = {.rows = rows.count, .columns = columns.count, .dtype = TL_F16},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    return tl_free_tiles(tl, tiles, TILES, multiply(tl, tiles, rows, columns));
}

/* How far a right answer may lie from the exact sum. In f32 each of K products and K - 1 additions rounds by at most
 * 2^-24 of a partial sum of |x * w|: together at most (K + 1) * 2^-24 * sum |x * w| (Higham, Accuracy and Stability of
 * Numerical Algorithms, 3.1: K u / (1 - K u), which is less). The last rounding, to f16, moves a value by at most 2^-11
 * of itself, or by 2^-25 where it is subnormal. */
static double tolerance(double exact, double magnitude) {
    double accumulated = (K + 1) * 0x1p-24 * magnitude;
    return accumulated + fmax((fabs(exact) + accumulated) * 0x1p-11, 0x1p-25);
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    (void)workload;
    for (uint64_t row = 0; row < M; row++) {
        for (uint64_t column = 0; column < N; column++) {
            double exact = 0, magnitude = 0;
            for (uint64_t k = 0; k < K; k++) {
                double product =
                    tl_element(tensors[X], TL_F16, row * K + k) * tl_element(tensors[W], TL_F16, k * N + column);
                exact += product;
                magnitude += fabs(product);
            }
            double got = tl_element(tensors[C], TL_F16, row * N + column), allowed = tolerance(exact, magnitude);
            if (!(fabs(got - exact) <= allowed)) /* also refuses NaN */
                return tl_wrong(error, "qkv_gemm: C[%llu][%llu] is %.9g, expected %.9g within %.3g",
                                (unsigned long long)row, (unsigned long long)column, got, exact, allowed);
        }
    }
    return TLA_OK;
}

TL_KERNEL(.name = "qkv_gemm", .description = "C = X * W, 128 x 256 x 128, f16 storage, f32 accumulation", .run = run,
          .tensors = {[X] = {.name = "x", .dtype = TL_F16, .shape = {M, K}},
                      [W] = {.name = "w", .dtype = TL_F16, .shape = {K, N}},
                      [C] = {.name = "c", .dtype = TL_F16, .shape = {M, N}, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(W), TL_ADDRESS_OF(C), TL_NUMBER(M), TL_NUMBER(K), TL_NUMBER(N)},
          .check = check);
