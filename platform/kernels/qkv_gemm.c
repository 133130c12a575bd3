/* C[m x n] = X[m x k] * W[k x n]: f16 in memory, accumulated in f32, rounded to f16 once at the end (by default
 * KernBench's qkv_gemm, 128 x 256 x 128). */
#include "product.h"
#include "tlmalloc/kernel.h"

enum { X, W, C, TENSORS };
enum { M, K, N };
enum { BLOCK = 128, DEPTH = 64 }; /* of C, rows and columns in one step, and of k: tiles of 160 KiB at most */
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

static uint32_t at_most(uint32_t value, uint32_t limit) {
    return value < limit ? value : limit;
}

static tla_vaddr element_of(tl_context *tl, uint32_t tensor, uint64_t row, uint64_t column, uint64_t columns) {
    return (tla_vaddr){tl_argument(tl, tensor) + (row * columns + column) * ELEMENT_BYTES};
}

static tla_status multiply(tl_context *tl, const tl_tile tiles[TILES], range rows, range columns) {
    const uint32_t k = (uint32_t)tl_argument(tl, 4), n = (uint32_t)tl_argument(tl, 5);
    const tl_tile sum = tl_view(tl, &tiles[TILE_SUM], 0, 0, rows.count, columns.count),
                  c = tl_view(tl, &tiles[TILE_C], 0, 0, rows.count, columns.count);
    tla_status status = tl_fill(tl, &sum, 0);
    for (uint32_t depth = 0; status == TLA_OK && depth < k; depth += DEPTH) {
        const uint32_t deep = at_most(k - depth, DEPTH);
        /* The rows of a tile touch, whatever is left: what touches in memory too is one transfer. */
        tl_tile x = {tiles[TILE_X].pa, rows.count, deep, TL_F16, 0},
                w = {tiles[TILE_W].pa, deep, columns.count, TL_F16, 0};
        status = tl_load(tl, &x, element_of(tl, X, rows.first, depth, k), (uint64_t)k * ELEMENT_BYTES);
        if (status == TLA_OK)
            status = tl_load(tl, &w, element_of(tl, W, depth, columns.first, n), (uint64_t)n * ELEMENT_BYTES);
        if (status == TLA_OK) status = tl_dot(tl, &sum, &x, &w);
    }
    if (status == TLA_OK) status = tl_convert(tl, &c, &sum);
    if (status == TLA_OK)
        status = tl_store(tl, element_of(tl, C, rows.first, columns.first, n), (uint64_t)n * ELEMENT_BYTES, &c);
    return status;
}

/* Arguments: addresses of X, W and C, then m, k, n. */
static tla_status run(tl_context *tl) {
    uint32_t programs = tl_num_programs(tl, TL_ALL), program = tl_program_id(tl, TL_ALL);
    uint32_t grid_height = grid_rows(programs), grid_width = programs / grid_height;
    const range rows = part((uint32_t)tl_argument(tl, 3), program / grid_width, grid_height);
    const range columns = part((uint32_t)tl_argument(tl, 5), program % grid_width, grid_width);
    if (rows.count == 0 || columns.count == 0) return TLA_OK; /* more programs than rows or columns */
    const uint32_t high = at_most(rows.count, BLOCK), wide = at_most(columns.count, BLOCK);
    tl_tile tiles[TILES] = {
        [TILE_X] = {.rows = high, .columns = DEPTH, .dtype = TL_F16},
        [TILE_W] = {.rows = DEPTH, .columns = wide, .dtype = TL_F16},
        [TILE_SUM] = {.rows = high, .columns = wide, .dtype = TL_F32},
        [TILE_C] = {.rows = high, .columns = wide, .dtype = TL_F16},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    for (uint32_t row = 0; status == TLA_OK && row < rows.count; row += high)
        for (uint32_t column = 0; status == TLA_OK && column < columns.count; column += wide)
            status = multiply(tl, tiles, (range){rows.first + row, at_most(rows.count - row, high)},
                              (range){columns.first + column, at_most(columns.count - column, wide)});
    return tl_free_tiles(tl, tiles, TILES, status);
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t *const size = workload->parameters;
    return product_check("qkv_gemm: C", tensors, size[M], size[K], size[N], error);
}

TL_KERNEL(.name = "qkv_gemm", .description = "C = X * W, m x k x n (128 x 256 x 128), f16 storage, f32 accumulation",
          .run = run, .uses = TL_USES_TRANSFERS | TL_USES_GEMM | TL_USES_VECTOR,
          .parameters = {[M] = {"m", 128, .least = 1}, [K] = {"k", 256, .least = 1}, [N] = {"n", 128, .least = 1}},
          .tensors = {[X] = {.name = "x", .dtype = TL_F16, .shape = {TL_PARAMETER(M), TL_PARAMETER(K)}},
                      [W] = {.name = "w", .dtype = TL_F16, .shape = {TL_PARAMETER(K), TL_PARAMETER(N)}},
                      [C] = {.name = "c", .dtype = TL_F16, .shape = {TL_PARAMETER(M), TL_PARAMETER(N)}, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(W), TL_ADDRESS_OF(C), TL_VALUE_OF(M), TL_VALUE_OF(K),
                        TL_VALUE_OF(N)},
          .check = check);
