/* The calls of a kernel: what each does, takes, answers and costs. */
#ifndef TLMALLOC_KERNEL_LANGUAGE_H
#define TLMALLOC_KERNEL_LANGUAGE_H

#include "tlmalloc/kernel/calls.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Says why the kernel is about to return `status`, which must not be TLA_OK: the error of the run has this text.
 * Returns `status`. Costs nothing. */
static inline tla_status tl_fail(tl_context *tl, tla_status status, const char *why) {
    return tl->calls->fail(tl, status, why);
}

/* The same with a printf-style text of at most 159 characters, for what does not fit: returns TLA_INVALID_ARGUMENT. */
__attribute__((format(printf, 2, 3))) static inline tla_status tl_refuse(tl_context *tl, const char *format, ...) {
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tl_fail(tl, TLA_INVALID_ARGUMENT, text);
}

/* Ends the kernel here with `status`, which must not be TLA_OK: the error of the run has this text. Does not return;
 * what the kernel held in the TCM is freed. So end the calls that have no status to return. */
static inline void tl_end(tl_context *tl, tla_status status, const char *why) {
    tl->calls->end(tl, status, why);
}

static inline void tl_check_axis(tl_context *tl, const char *call, uint32_t axis) {
    char text[96];
    if (axis < TL_AXIS_COUNT) return;
    snprintf(text, sizeof text, "%s: axis %u must be TL_PE, TL_CUBE, TL_SIP or TL_ALL", call, axis);
    tl_end(tl, TLA_INVALID_ARGUMENT, text);
}

/* Which program this is. Along TL_ALL: of those that were launched together, in ascending order of SIP, cube and PE,
 * 0 .. tl_num_programs(tl, TL_ALL) - 1. Along TL_PE, TL_CUBE and TL_SIP: on which PE of its cube, which cube of its
 * SIP, which SIP of the platform it runs, also where the launch named only some of them. Another axis ends the kernel
 * with TLA_INVALID_ARGUMENT. Costs nothing. */
static inline uint32_t tl_program_id(tl_context *tl, uint32_t axis) {
    tl_check_axis(tl, "tl_program_id", axis);
    return tl->calls->program_id(tl, axis);
}

/* How many there are. Along TL_ALL: programs that were launched together. Along TL_PE, TL_CUBE and TL_SIP: PEs in a
 * cube, cubes in a SIP, SIPs in the platform, whichever of them the launch named; their product is the number of
 * programs where it named all. Another axis ends the kernel with TLA_INVALID_ARGUMENT. Costs nothing. */
static inline uint32_t tl_num_programs(tl_context *tl, uint32_t axis) {
    tl_check_axis(tl, "tl_num_programs", axis);
    return tl->calls->num_programs(tl, axis);
}

/* The argument number `index` of the launch (a tensor's virtual address, a length); 0 past the last. Costs nothing. */
static inline uint64_t tl_argument(const tl_context *tl, uint32_t index) {
    return tl->calls->argument(tl, index);
}

/* Allocates a tile in TCM: an ALLOC command to the PE's memory controller, waited for. On failure the allocator's
 * status (TLA_EXHAUSTED, TLA_FRAGMENTED, ...) is returned and *tile is all zero. A kernel that ends with this status
 * need say no more: the completion of its LAUNCH, and so the error of the run, has the bytes that were asked for and
 * those that were free. The contents are undefined. */
static inline tla_status tl_alloc(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile) {
    return tl->calls->alloc(tl, rows, columns, dtype, tile);
}

/* Gives a tile back: a FREE command, waited for; of one that has further references (tl_retain), one of them. TLA_BUSY:
 * refused for now in spite of all retries; the kernel still holds the tile, which is given back when it has ended. */
static inline tla_status tl_free(tl_context *tl, const tl_tile *tile) {
    return tl->calls->free(tl, tile);
}

/* A tile out of the kernel's scratch area, which grows by what is asked for, rounded up to 64 bytes, and is given back
 * as a whole when the kernel ends; the next kernel begins with an empty one. The first call allocates the area,
 * pe.scratch bytes of the TCM, with one ALLOC command, waited for, whose failure it returns; then a call costs its
 * dispatch alone. TLA_EXHAUSTED where less is left than was asked for, and said so with both; *tile is all zero then.
 * The contents are undefined. tl_free, tl_retain, tl_pin and tl_unpin refuse it. */
static inline tla_status tl_scratch(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile) {
    return tl->calls->scratch(tl, rows, columns, dtype, tile);
}

/* One reference more to a tile of this PE: its memory is free after one tl_free more. A REF command, waited for. */
static inline tla_status tl_retain(tl_context *tl, const tl_tile *tile) {
    return tl->calls->hold(tl, TL_RETAIN, tile, 0);
}

/* Keeps a tile's memory, also without references, until the pin is taken away or timeout_ns (0: no time-out) have
 * passed since its last one. PIN and UNPIN commands, waited for; TLA_NOT_ALLOCATED for a tile that is free, or has no
 * pin. A kernel that is ended leaves neither references nor pins behind; one that returns leaves what it has not taken
 * away. */
static inline tla_status tl_pin(tl_context *tl, const tl_tile *tile, uint64_t timeout_ns) {
    return tl->calls->hold(tl, TL_PIN, tile, timeout_ns);
}
static inline tla_status tl_unpin(tl_context *tl, const tl_tile *tile) {
    return tl->calls->hold(tl, TL_UNPIN, tile, 0);
}

/* Gives `count` tiles back, the last first, also after one could not be given back. Returns `status`, or when that is
 * TLA_OK the first failure. */
static inline tla_status tl_free_tiles(tl_context *tl, const tl_tile *tiles, size_t count, tla_status status) {
    while (count-- > 0) {
        tla_status freed = tl_free(tl, &tiles[count]);
        if (status == TLA_OK) status = freed;
    }
    return status;
}

/* Allocates `count` tiles in order; rows, columns and type are read from each, its address is filled. On failure none
 * is held: those that were taken are given back, and the status of the one that failed is returned. */
static inline tla_status tl_alloc_tiles(tl_context *tl, tl_tile *tiles, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tla_status status = tl_alloc(tl, tiles[i].rows, tiles[i].columns, tiles[i].dtype, &tiles[i]);
        if (status != TLA_OK) return tl_free_tiles(tl, tiles, i, status);
    }
    return TLA_OK;
}

/* DMA from virtual memory into a tile, row by row: row r comes from source + r * pitch bytes (rows that touch are one
 * transfer). TLA_BUS_ERROR when any transaction is answered with an error; the tile's contents are undefined then. What
 * a tensor's declaration gives as TL_IN (declaration.h) is mapped for reading only. */
static inline tla_status tl_load(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch) {
    return tl->calls->load(tl, tile, source, pitch);
}

/* DMA from a tile to virtual memory; as tl_load. TLA_BUS_ERROR too where it may only be read (TL_IN). */
static inline tla_status tl_store(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile) {
    return tl->calls->store(tl, destination, pitch, tile);
}

/* A part of a tile, from a row and a column on, without copying. One that does not lie inside ends the kernel with
 * TLA_INVALID_ARGUMENT. It is no tile of its own: tl_free takes the whole one. Costs nothing; but DMA of a part whose
 * rows do not touch is a transfer for each row. */
static inline tl_tile tl_view(tl_context *tl, const tl_tile *tile, uint32_t row, uint32_t column, uint32_t rows,
                              uint32_t columns) {
    tl_tile part = *tile;
    if ((uint64_t)row + rows > tile->rows || (uint64_t)column + columns > tile->columns) {
        char text[160];
        snprintf(text, sizeof text,
                 "tl_view: a view of %u x %u from row %u and column %u: must be inside the tile of %u x %u", rows,
                 columns, row, column, tile->rows, tile->columns);
        tl_end(tl, TLA_INVALID_ARGUMENT, text);
        part.rows = part.columns = 0; /* for tables that let it go on */
        return part;
    }
    uint32_t pitch = tile->pitch ? tile->pitch : tile->columns;
    part.pa.value += ((uint64_t)row * pitch + column) * tl_dtype_bytes(tile->dtype);
    part.rows = rows;
    part.columns = columns;
    part.pitch = pitch;
    return part;
}

/* out (n x m) = a (m x n) turned over, of one type, on the vector engine: an operation for each element.
 * TLA_INVALID_ARGUMENT for other shapes and types. It may be written over a. */
static inline tla_status tl_transpose(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->transpose(tl, out, a);
}

/* Sets every element of a tile to `value`, rounded to the type as tl_convert does, on the vector engine. */
static inline tla_status tl_fill(tl_context *tl, const tl_tile *tile, float value) {
    return tl->calls->fill(tl, tile, value);
}

/* TLA_INVALID_ARGUMENT, and said so, for a mask that is not inside a tile. */
static inline tla_status tl_check_mask(tl_context *tl, const char *call, const tl_tile *tile, uint32_t rows,
                                       uint32_t columns) {
    if (rows <= tile->rows && columns <= tile->columns) return TLA_OK;
    return tl_refuse(tl, "%s: a mask of %u x %u for a tile of %u x %u: must not exceed the tile", call, rows, columns,
                     tile->rows, tile->columns);
}

/* For ragged edges: loads the first `rows` rows and `columns` columns of a tile as tl_load, none where one of them is
 * 0, and sets the rest to `other`: of a tile that is not loaded whole, a tl_fill before the tl_load.
 * TLA_INVALID_ARGUMENT when there are more than the tile has. */
static inline tla_status tl_load_masked(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch,
                                        uint32_t rows, uint32_t columns, float other) {
    tla_status status = tl_check_mask(tl, "tl_load_masked", tile, rows, columns);
    if (status == TLA_OK && (rows < tile->rows || columns < tile->columns)) status = tl_fill(tl, tile, other);
    if (status != TLA_OK || rows == 0 || columns == 0) return status;
    tl_tile part = tl_view(tl, tile, 0, 0, rows, columns);
    return tl_load(tl, &part, source, pitch);
}

/* Stores the first `rows` rows and `columns` columns of a tile as tl_store. */
static inline tla_status tl_store_masked(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile,
                                         uint32_t rows, uint32_t columns) {
    tla_status status = tl_check_mask(tl, "tl_store_masked", tile, rows, columns);
    if (status != TLA_OK || rows == 0 || columns == 0) return status;
    tl_tile part = tl_view(tl, tile, 0, 0, rows, columns);
    return tl_store(tl, destination, pitch, &part);
}

/* sum (f32) += a * b, on the GEMM engine; a is m x k, b is k x n, each f16, bf16 or f32, accumulated in f32 in order of
 * k. TLA_INVALID_ARGUMENT when shapes or types do not fit. 2 m k n operations at pe.gemm_rate. */
static inline tla_status tl_dot(tl_context *tl, const tl_tile *sum, const tl_tile *a, const tl_tile *b) {
    return tl->calls->dot(tl, sum, a, b);
}

/* --- The vector engine ---
 *
 * Every call pays its dispatch (pe.dispatch), reads its operands from the TCM, takes an operation at pe.vector_rate for
 * each element, and writes the result; it may be written over an operand. What does not fit is TLA_INVALID_ARGUMENT,
 * and the run says what was found and what was expected.
 *
 * Shapes: an operand has the rows of the result or one row, and its columns or one column; a single row, column or
 * element stands for all of them. The result has its full shape.
 *
 * Numbers: real operands (f16, bf16, f32, f64, mixed as they come) are computed in f64 where an operand or the result
 * is f64, else in f32; the result is rounded once to that, and once more to its own type: to nearest, ties to even,
 * overflow to infinity; subnormals are kept. Sums, products, quotients, square roots and fma are correctly rounded,
 * exp, log, rsqrt and sigmoid within one unit in the last place of f32 (f64: two). A NaN goes on. Integers go with
 * their own type only, exactly and modulo 2^bits; division is towards zero, by 0 all bits are 1. */

/* out = a, converted to the type of out with one rounding: to a real type to nearest, ties to even; from a real to an
 * integer type towards zero, what is out of its range to the end of the range, NaN to 0; from integer to integer modulo
 * 2^bits. Same shape. */
static inline tla_status tl_convert(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->convert(tl, out, a);
}

/* out = |a|. */
static inline tla_status tl_abs(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->unary(tl, TL_ABS, out, a);
}

/* out = -a. */
static inline tla_status tl_neg(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->unary(tl, TL_NEG, out, a);
}

/* out = e to the a, of real types. */
static inline tla_status tl_exp(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->unary(tl, TL_EXP, out, a);
}

/* out = the natural logarithm of a, of real types. */
static inline tla_status tl_log(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->unary(tl, TL_LOG, out, a);
}

/* out = the square root of a, of real types. */
static inline tla_status tl_sqrt(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->unary(tl, TL_SQRT, out, a);
}

/* out = 1 / the square root of a, of real types. */
static inline tla_status tl_rsqrt(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->unary(tl, TL_RSQRT, out, a);
}

/* out = 1 / (1 + e to the -a), of real types. */
static inline tla_status tl_sigmoid(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->unary(tl, TL_SIGMOID, out, a);
}

/* out = a + b. */
static inline tla_status tl_add(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_ADD, out, a, b);
}

/* out = a - b. */
static inline tla_status tl_sub(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_SUB, out, a, b);
}

/* out = a * b. */
static inline tla_status tl_mul(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_MUL, out, a, b);
}

/* out = a / b. */
static inline tla_status tl_div(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_DIV, out, a, b);
}

/* out = the larger, a NaN if one of them is; +0 is above -0. */
static inline tla_status tl_maximum(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_MAXIMUM, out, a, b);
}

/* out = the smaller, likewise. */
static inline tla_status tl_minimum(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_MINIMUM, out, a, b);
}

/* Comparisons: out = 1 where it holds, else 0, in any type; with a NaN only tl_ne holds. */
static inline tla_status tl_eq(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_EQ, out, a, b); /* a == b */
}
static inline tla_status tl_ne(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_NE, out, a, b); /* a != b */
}
static inline tla_status tl_lt(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_LT, out, a, b); /* a < b */
}
static inline tla_status tl_le(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_LE, out, a, b); /* a <= b */
}
static inline tla_status tl_gt(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_GT, out, a, b); /* a > b */
}
static inline tla_status tl_ge(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_GE, out, a, b); /* a >= b */
}

/* out = a * b + c, rounded once; of real types. */
static inline tla_status tl_fma(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b,
                                const tl_tile *c) {
    return tl->calls->ternary(tl, TL_FMA, out, a, b, c);
}

/* out = the smaller of high and the larger of a and low. */
static inline tla_status tl_clamp(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *low,
                                  const tl_tile *high) {
    return tl->calls->ternary(tl, TL_CLAMP, out, a, low, high);
}

/* out = a where the condition, of any type, is not 0 (a NaN is not), else b. */
static inline tla_status tl_where(tl_context *tl, const tl_tile *out, const tl_tile *condition, const tl_tile *a,
                                  const tl_tile *b) {
    return tl->calls->ternary(tl, TL_WHERE, out, condition, a, b);
}

/* The sum, the largest or the smallest of every column (axis 0, out is 1 x n) or every row (axis 1, out is m x 1), in
 * order of the index; a sum is rounded after every addition. An operation for each element of a. */
static inline tla_status tl_sum(tl_context *tl, uint32_t axis, const tl_tile *out, const tl_tile *a) {
    return tl->calls->reduce(tl, TL_SUM, axis, out, a);
}
static inline tla_status tl_max(tl_context *tl, uint32_t axis, const tl_tile *out, const tl_tile *a) {
    return tl->calls->reduce(tl, TL_MAX, axis, out, a);
}
static inline tla_status tl_min(tl_context *tl, uint32_t axis, const tl_tile *out, const tl_tile *a) {
    return tl->calls->reduce(tl, TL_MIN, axis, out, a);
}

/* Of every row, e to the (a - its largest), divided by the sum of these; real types, same shape. A row with a NaN or
 * with +infinity is NaN, and one of nothing but -infinity. Five operations for each element. */
static inline tla_status tl_softmax(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->softmax(tl, out, a);
}

/* n / m rounded up; m is not 0. */
static inline uint64_t tl_cdiv(uint64_t n, uint64_t m) {
    return n / m + (n % m != 0);
}

#ifdef __cplusplus
}
#endif
#endif
