/* How a product of matrices, or an operation element by element, is cut into tiles, and in which order they come.
 * Internal to the model. */
#ifndef TLMALLOC_MODEL_KERNEL_TILING_H
#define TLMALLOC_MODEL_KERNEL_TILING_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An m x n result. For a product of m x k and k x n, every tile of the result is a sum over tiles of k; an element-wise
 * operation has k = 1. The tiles of the result are in the order of rows, and all tiles of k of one tile precede the
 * next. The tiles at the lower and the right edge are as small as the rest. */
typedef struct tla_tiling {
    uint32_t m, k, n;
    uint32_t tile_m, tile_k, tile_n; /* elements of a whole tile */
    uint32_t count_m, count_k, count_n;
    uint64_t outputs, steps; /* tiles of the result; of these times tiles of k */
} tla_tiling;

/* A step of a tiling: of the output tile at `row` and `column` the products from `deep` on. */
typedef struct tla_tile_step {
    uint64_t output;               /* number of the output tile */
    uint32_t row, column, deep;    /* of the first element */
    uint32_t rows, columns, depth; /* how many */
    bool first, last;              /* of its output tile */
} tla_tile_step;

/* Sizes and tiles must be above 0, else TLA_INVALID_ARGUMENT with a text; TLA_LIMIT for 2^63 steps and more. *tiling is
 * untouched then. */
tla_status tla_tiling_make(tla_tiling *tiling, const uint32_t size[3], const uint32_t tile[3], tla_error *error);

/* The step number `index` (< steps). */
tla_tile_step tla_tiling_step(const tla_tiling *tiling, uint64_t index);

/* The last step of the output tile number `output` (< outputs). */
tla_tile_step tla_tiling_output(const tla_tiling *tiling, uint64_t output);

#ifdef __cplusplus
}
#endif
#endif
