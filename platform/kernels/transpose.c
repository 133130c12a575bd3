/* y[columns x rows] = x[rows x columns] turned over, f16: blocks are loaded, turned over in the TCM and stored, so that
 * DMA moves rows and no single elements. */
#include "tlmalloc/kernel.h"

enum { X, Y };
enum { ROWS, COLUMNS };
enum { BLOCK = 32 }; /* rows and columns in one step */
enum { TILE_X, TILE_Y, TILES };

static uint32_t at_most(uint32_t value, uint32_t limit) {
    return value < limit ? value : limit;
}

/* The block of x from (row, column) on. */
static tla_status turn_over(tl_context *tl, const tl_tile tiles[TILES], uint32_t row, uint32_t column) {
    const uint32_t rows = (uint32_t)tl_argument(tl, 2), columns = (uint32_t)tl_argument(tl, 3);
    const uint32_t high = at_most(rows - row, BLOCK), wide = at_most(columns - column, BLOCK);
    const tl_tile in = tl_view(tl, &tiles[TILE_X], 0, 0, high, wide),
                  out = tl_view(tl, &tiles[TILE_Y], 0, 0, wide, high);
    tl_tensor x = tl_ref((tla_vaddr){tl_argument(tl, X)}, rows, columns, TL_F16, 0),
              y = tl_ref((tla_vaddr){tl_argument(tl, Y)}, columns, rows, TL_F16, 0);
    tla_status status = tl_slice(tl, &x, 0, row, high, &x);
    if (status == TLA_OK) status = tl_slice(tl, &x, 1, column, wide, &x);
    if (status == TLA_OK) status = tl_slice(tl, &y, 0, column, wide, &y);
    if (status == TLA_OK) status = tl_slice(tl, &y, 1, row, high, &y);
    if (status == TLA_OK) status = tl_load_tensor(tl, &in, &x);
    if (status == TLA_OK) status = tl_transpose(tl, &out, &in);
    if (status == TLA_OK) status = tl_store_tensor(tl, &y, &out);
    return status;
}

/* Arguments: addresses of x and y, rows, columns. Program p of P takes the blocks p, p + P, ..., counted row by row. */
static tla_status run(tl_context *tl) {
    const uint64_t across = tl_cdiv(tl_argument(tl, 3), BLOCK), blocks = tl_cdiv(tl_argument(tl, 2), BLOCK) * across;
    uint64_t block = tl_program_id(tl, TL_ALL);
    if (block >= blocks) return TLA_OK; /* more programs than blocks */
    tl_tile tiles[TILES] = {
        [TILE_X] = {.rows = BLOCK, .columns = BLOCK, .dtype = TL_F16},
        [TILE_Y] = {.rows = BLOCK, .columns = BLOCK, .dtype = TL_F16},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    for (; status == TLA_OK && block < blocks; block += tl_num_programs(tl, TL_ALL))
        status = turn_over(tl, tiles, (uint32_t)(block / across * BLOCK), (uint32_t)(block % across * BLOCK));
    return tl_free_tiles(tl, tiles, TILES, status);
}

/* Nothing is computed: exact. */
static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t rows = workload->parameters[ROWS], columns = workload->parameters[COLUMNS];
    for (uint64_t i = 0; i < rows * columns; i++) {
        const double expected = tl_element(tensors[X], TL_F16, i),
                     got = tl_element(tensors[Y], TL_F16, i % columns * rows + i / columns);
        if (!(got == expected))
            return tl_wrong(error, "transpose: y[%llu][%llu] is %.9g, expected %.9g", (unsigned long long)(i % columns),
                            (unsigned long long)(i / columns), got, expected);
    }
    return TLA_OK;
}

TL_KERNEL(.name = "transpose", .description = "a matrix turned over, rows x columns (256 x 200), f16", .run = run,
          .uses = TL_USES_TRANSFERS | TL_USES_VECTOR,
          .parameters = {[ROWS] = {"rows", 256, .least = 1}, [COLUMNS] = {"columns", 200, .least = 1}},
          .tensors = {[X] = {.name = "x", .dtype = TL_F16, .shape = {TL_PARAMETER(ROWS), TL_PARAMETER(COLUMNS)}},
                      [Y] = {.name = "y",
                             .dtype = TL_F16,
                             .shape = {TL_PARAMETER(COLUMNS), TL_PARAMETER(ROWS)},
                             .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(Y), TL_VALUE_OF(ROWS), TL_VALUE_OF(COLUMNS)}, .check = check);
