/* C[m x n] = A[m x k] * B[k x n]: f16 in memory, accumulated in f32, rounded to f16 once at the end. Operands are
 * loaded, multiplied and stored one after the other. KernBench's 32 x 3072 x 32 by default; its other is 256 x 256 x
 * 256. */
#include "product.h"
#include "tlmalloc/kernel.h"

enum { A, B, C };
enum { M, K, N };
enum { BLOCK = 64, DEPTH = 256, NARROW = 32 }; /* of C, rows and columns in one step; of k; see grid_width */
enum { TILE_A, TILE_B, TILE_SUM, TILE_C, TILES };

typedef struct range {
    uint32_t first, end;
} range;

static range part(uint32_t total, uint32_t index, uint32_t parts) {
    return (range){(uint32_t)((uint64_t)index * total / parts), (uint32_t)((uint64_t)(index + 1) * total / parts)};
}

static uint32_t at_most(uint32_t value, uint32_t limit) {
    return value < limit ? value : limit;
}

/* Columns of the grid that the programs form: as many as rows, or what rows leave, but a part of C's rows is at least
 * NARROW wide, because DMA moves rows. */
static uint32_t grid_width(uint32_t programs, uint32_t m, uint32_t n) {
    uint32_t width = programs / at_most(programs, m);
    while ((uint64_t)(width + 1) * (width + 1) <= programs)
        width++;
    return at_most(width, (uint32_t)tl_cdiv(n, NARROW));
}

/* rows x columns elements of C from (row, column) on. */
static tla_status multiply(tl_context *tl, const tl_tile tiles[TILES], uint32_t row, uint32_t column, uint32_t rows,
                           uint32_t columns) {
    const uint32_t m = (uint32_t)tl_argument(tl, 3), k = (uint32_t)tl_argument(tl, 4), n = (uint32_t)tl_argument(tl, 5);
    const tl_tile sum = tl_view(tl, &tiles[TILE_SUM], 0, 0, rows, columns),
                  result = tl_view(tl, &tiles[TILE_C], 0, 0, rows, columns);
    tl_tensor of_a = tl_ref((tla_vaddr){tl_argument(tl, A)}, m, k, TL_F16, 0),
              of_b = tl_ref((tla_vaddr){tl_argument(tl, B)}, k, n, TL_F16, 0),
              of_c = tl_ref((tla_vaddr){tl_argument(tl, C)}, m, n, TL_F16, 0);
    tla_status status = tl_slice(tl, &of_a, 0, row, rows, &of_a);
    if (status == TLA_OK) status = tl_slice(tl, &of_b, 1, column, columns, &of_b);
    if (status == TLA_OK) status = tl_slice(tl, &of_c, 0, row, rows, &of_c);
    if (status == TLA_OK) status = tl_slice(tl, &of_c, 1, column, columns, &of_c);
    if (status == TLA_OK) status = tl_fill(tl, &sum, 0);
    for (uint32_t depth = 0; status == TLA_OK && depth < k; depth += DEPTH) {
        const uint32_t deep = at_most(k - depth, DEPTH);
        const tl_tile a = tl_view(tl, &tiles[TILE_A], 0, 0, rows, deep),
                      b = tl_view(tl, &tiles[TILE_B], 0, 0, deep, columns);
        tl_tensor from_a, from_b;
        status = tl_slice(tl, &of_a, 1, depth, deep, &from_a);
        if (status == TLA_OK) status = tl_slice(tl, &of_b, 0, depth, deep, &from_b);
        if (status == TLA_OK) status = tl_load_tensor(tl, &a, &from_a);
        if (status == TLA_OK) status = tl_load_tensor(tl, &b, &from_b);
        if (status == TLA_OK) status = tl_dot(tl, &sum, &a, &b);
    }
    if (status == TLA_OK) status = tl_convert(tl, &result, &sum);
    if (status == TLA_OK) status = tl_store_tensor(tl, &of_c, &result);
    return status;
}

/* Arguments: addresses of A, B and C, then m, k, n. */
static tla_status run(tl_context *tl) {
    const uint32_t programs = tl_num_programs(tl, TL_ALL), program = tl_program_id(tl, TL_ALL);
    const uint32_t width = grid_width(programs, (uint32_t)tl_argument(tl, 3), (uint32_t)tl_argument(tl, 5)),
                   height = programs / width;
    if (program >= height * width) return TLA_OK;
    const range rows = part((uint32_t)tl_argument(tl, 3), program / width, height),
                columns = part((uint32_t)tl_argument(tl, 5), program % width, width);
    if (rows.first == rows.end || columns.first == columns.end) return TLA_OK; /* more programs than rows or columns */
    const uint32_t high = at_most(rows.end - rows.first, BLOCK), wide = at_most(columns.end - columns.first, BLOCK),
                   deep = at_most((uint32_t)tl_argument(tl, 4), DEPTH);
    tl_tile tiles[TILES] = {
        [TILE_A] = {.rows = high, .columns = deep, .dtype = TL_F16},
        [TILE_B] = {.rows = deep, .columns = wide, .dtype = TL_F16},
        [TILE_SUM] = {.rows = high, .columns = wide, .dtype = TL_F32},
        [TILE_C] = {.rows = high, .columns = wide, .dtype = TL_F16},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    for (uint32_t row = rows.first; status == TLA_OK && row < rows.end; row += high)
        for (uint32_t column = columns.first; status == TLA_OK && column < columns.end; column += wide)
            status =
                multiply(tl, tiles, row, column, at_most(rows.end - row, high), at_most(columns.end - column, wide));
    return tl_free_tiles(tl, tiles, TILES, status);
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t *const size = workload->parameters;
    return product_check("gemm: c", tensors, size[M], size[K], size[N], error);
}

TL_KERNEL(.name = "gemm", .description = "C = A * B, m x k x n (32 x 3072 x 32), f16 storage, f32 accumulation",
          .run = run, .uses = TL_USES_TRANSFERS | TL_USES_GEMM | TL_USES_VECTOR,
          .parameters = {[M] = {"m", 32, .least = 1}, [K] = {"k", 3072, .least = 1}, [N] = {"n", 32, .least = 1}},
          .tensors = {[A] = {.name = "a", .dtype = TL_F16, .shape = {TL_PARAMETER(M), TL_PARAMETER(K)}},
                      [B] = {.name = "b", .dtype = TL_F16, .shape = {TL_PARAMETER(K), TL_PARAMETER(N)}},
                      [C] = {.name = "c", .dtype = TL_F16, .shape = {TL_PARAMETER(M), TL_PARAMETER(N)}, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(A), TL_ADDRESS_OF(B), TL_ADDRESS_OF(C), TL_VALUE_OF(M), TL_VALUE_OF(K),
                        TL_VALUE_OF(N)},
          .check = check);
