/* The vector engine's arithmetic on the bytes of tiles: element by element, over rows and columns. No time, no memory
 * model. The tl_* calls (kernel/language.h) define each operation and its rounding. Internal to the model. */
#ifndef TLMALLOC_MODEL_KERNEL_TILE_VECTOR_H
#define TLMALLOC_MODEL_KERNEL_TILE_VECTOR_H

#include "tlmalloc/kernel/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A matrix whose rows touch. */
typedef struct tla_matrix {
    void *bytes;
    tl_dtype type;
    uint32_t rows, columns;
} tla_matrix;

/* An operation of tla_matrix_map. */
typedef struct tla_operation {
    const char *name;  /* for messages */
    uint32_t operands; /* 1 .. 3 */
    uint32_t number;   /* tl_unary, tl_binary or tl_ternary, by the operands */
} tla_operation;

/* Checks an operation: TLA_INVALID_ARGUMENT with the found and the expected value. An operand has the rows of `out` or
 * one row, and its columns or one column: one row or column stands for all. */
tla_status tla_matrix_check(const tla_operation *what, const tla_matrix *out, const tla_matrix *operands,
                            tla_error *error);

/* Does it; the operands are as checked, and none lies in `out`. */
void tla_matrix_map(const tla_operation *what, const tla_matrix *out, const tla_matrix *operands);

/* Checks a reduction of every column (axis 0; out is 1 x n) or every row (axis 1; out is m x 1), as above. */
tla_status tla_matrix_reduce_check(tl_reduction what, uint32_t axis, const tla_matrix *out, const tla_matrix *a,
                                   tla_error *error);
void tla_matrix_reduce(tl_reduction what, uint32_t axis, const tla_matrix *out, const tla_matrix *a);

/* exp(a - max) / sum of these, of every row; real types, one shape. */
tla_status tla_matrix_softmax_check(const tla_matrix *out, const tla_matrix *a, tla_error *error);
void tla_matrix_softmax(const tla_matrix *out, const tla_matrix *a);

#ifdef __cplusplus
}
#endif
#endif
