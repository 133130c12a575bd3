/* The calls of a kernel: effect, arguments, results and cost of each. */
#ifndef TLMALLOC_KERNEL_LANGUAGE_H
#define TLMALLOC_KERNEL_LANGUAGE_H

#include "tlmalloc/kernel/calls.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* States why the kernel is about to return `status`, which must not be TLA_OK: the error of the run has this text.
 * Returns `status`. Costs nothing. */
static inline tla_status tl_fail(tl_context *tl, tla_status status, const char *why) {
    return tl->calls->fail(tl, status, why);
}

/* As tl_fail, with a printf-style text of at most 159 characters, for invalid arguments: returns
 * TLA_INVALID_ARGUMENT. */
__attribute__((format(printf, 2, 3))) static inline tla_status tl_refuse(tl_context *tl, const char *format, ...) {
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tl_fail(tl, TLA_INVALID_ARGUMENT, text);
}

/* Ends the kernel immediately with `status`, which must not be TLA_OK: the error of the run has this text. Does not
 * return; the kernel's blocks in the TCM are released. Calls without a returned status report errors this way. */
static inline void tl_end(tl_context *tl, tla_status status, const char *why) {
    tl->calls->end(tl, status, why);
}

static inline void tl_check_axis(tl_context *tl, const char *call, uint32_t axis) {
    char text[96];
    if (axis < TL_AXIS_COUNT) return;
    snprintf(text, sizeof text, "%s: axis %u must be TL_PE, TL_CUBE, TL_SIP or TL_ALL", call, axis);
    tl_end(tl, TLA_INVALID_ARGUMENT, text);
}

/* Returns the number of this program. Along TL_ALL: among the programs of its launch, in ascending order of SIP, cube
 * and PE, 0 .. tl_num_programs(tl, TL_ALL) - 1. Along TL_PE, TL_CUBE and TL_SIP: the number of its PE in the cube, of
 * its cube in the SIP, of its SIP in the platform. These numbers do not depend on the PEs that the launch named.
 * Another axis ends the kernel with TLA_INVALID_ARGUMENT. Costs nothing. */
static inline uint32_t tl_program_id(tl_context *tl, uint32_t axis) {
    tl_check_axis(tl, "tl_program_id", axis);
    return tl->calls->program_id(tl, axis);
}

/* Returns a number of programs or components. Along TL_ALL: programs of this launch. Along TL_PE, TL_CUBE and TL_SIP:
 * PEs in a cube, cubes in a SIP, SIPs in the platform, also if the launch did not name all. Their product is the number
 * of programs if the launch named all. Another axis ends the kernel with TLA_INVALID_ARGUMENT. Costs nothing. */
static inline uint32_t tl_num_programs(tl_context *tl, uint32_t axis) {
    tl_check_axis(tl, "tl_num_programs", axis);
    return tl->calls->num_programs(tl, axis);
}

/* Returns argument number `index` of the launch (a tensor's virtual address, a length); 0 past the last. Costs
 * nothing. */
static inline uint64_t tl_argument(const tl_context *tl, uint32_t index) {
    return tl->calls->argument(tl, index);
}

/* Allocates a tile in TCM: an ALLOC command to the PE's memory controller, which the call waits for. On failure it
 * returns the allocator's status (TLA_EXHAUSTED, TLA_FRAGMENTED, ...), and *tile is all zero. A kernel that ends with
 * this status needs no text of its own. The completion of its LAUNCH, and hence the error of the run, has the requested
 * and the free bytes. The contents of the tile are undefined. */
static inline tla_status tl_alloc(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile) {
    return tl->calls->alloc(tl, rows, columns, dtype, tile);
}

/* Releases a tile: a FREE command, which the call waits for. If the tile has further references (tl_retain), it drops
 * one reference. TLA_BUSY: the controller rejected the command for now in spite of all retries. The kernel then still
 * holds the tile, and the platform releases it when the kernel has ended. */
static inline tla_status tl_free(tl_context *tl, const tl_tile *tile) {
    return tl->calls->free(tl, tile);
}

/* Allocates a tile from the kernel's scratch area. The used part of the area grows by the request, rounded up to 64
 * bytes. The area is released as a whole when the kernel ends; the next kernel begins with an empty area. The first
 * call allocates the area, pe.scratch bytes of the TCM, with one ALLOC command, waits for it, and returns its failure.
 * Later calls cost only their dispatch. TLA_EXHAUSTED where less is left than requested, with a text that has both
 * sizes; *tile is all zero then. The contents are undefined. Calls of tl_free, tl_retain, tl_pin and tl_unpin reject
 * such a tile. */
static inline tla_status tl_scratch(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile) {
    return tl->calls->scratch(tl, rows, columns, dtype, tile);
}

/* Adds a reference to a tile of this PE: its memory is free after one more tl_free. A REF command, which the call waits
 * for. */
static inline tla_status tl_retain(tl_context *tl, const tl_tile *tile) {
    return tl->calls->hold(tl, TL_RETAIN, tile, 0);
}

/* Keeps a tile's memory, also without references. The pin lasts until tl_unpin, or until timeout_ns (0: no time-out)
 * have passed since the tile's last pin. PIN and UNPIN commands, which the calls wait for. TLA_NOT_ALLOCATED for a tile
 * that is free, or has no pin. A kernel that is ended leaves no references and no pins. A kernel that returns leaves
 * those that it has not dropped. */
static inline tla_status tl_pin(tl_context *tl, const tl_tile *tile, uint64_t timeout_ns) {
    return tl->calls->hold(tl, TL_PIN, tile, timeout_ns);
}
static inline tla_status tl_unpin(tl_context *tl, const tl_tile *tile) {
    return tl->calls->hold(tl, TL_UNPIN, tile, 0);
}

/* Releases `count` tiles, the last first, and continues after a failure. Returns `status`, or if that is TLA_OK the
 * first failure. */
static inline tla_status tl_free_tiles(tl_context *tl, const tl_tile *tiles, size_t count, tla_status status) {
    while (count-- > 0) {
        tla_status freed = tl_free(tl, &tiles[count]);
        if (status == TLA_OK) status = freed;
    }
    return status;
}

/* Allocates `count` tiles in order. It reads rows, columns and type of each tile, and fills its address. On failure it
 * releases the tiles that it has allocated, and returns the status of the failed allocation. */
static inline tla_status tl_alloc_tiles(tl_context *tl, tl_tile *tiles, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tla_status status = tl_alloc(tl, tiles[i].rows, tiles[i].columns, tiles[i].dtype, &tiles[i]);
        if (status != TLA_OK) return tl_free_tiles(tl, tiles, i, status);
    }
    return TLA_OK;
}

/* DMA from virtual memory into a tile, row by row: row r is at source + r * pitch bytes (adjacent rows are one
 * transfer). TLA_BUS_ERROR when any transaction returns an error; the tile's contents are undefined then. Tensors that
 * are declared as TL_IN (declaration.h) are mapped read-only. */
static inline tla_status tl_load(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch) {
    return tl->calls->load(tl, tile, source, pitch);
}

/* DMA from a tile to virtual memory; as tl_load. TLA_BUS_ERROR also for read-only memory (TL_IN). */
static inline tla_status tl_store(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile) {
    return tl->calls->store(tl, destination, pitch, tile);
}

/* Returns a part of a tile, starting at a row and a column, without copying. A part that does not lie inside the tile
 * ends the kernel with TLA_INVALID_ARGUMENT. A view is not a tile of its own: tl_free takes the whole tile. Costs
 * nothing, but DMA of a view with separate rows needs a transfer for each row. */
static inline tl_tile tl_view(tl_context *tl, const tl_tile *tile, uint32_t row, uint32_t column, uint32_t rows,
                              uint32_t columns) {
    tl_tile part = *tile;
    if ((uint64_t)row + rows > tile->rows || (uint64_t)column + columns > tile->columns) {
        char text[160];
        snprintf(text, sizeof text,
                 "tl_view: a view of %u x %u from row %u and column %u: must be inside the tile of %u x %u", rows,
                 columns, row, column, tile->rows, tile->columns);
        tl_end(tl, TLA_INVALID_ARGUMENT, text);
        part.rows = part.columns = 0; /* for call tables whose `end` returns */
        return part;
    }
    uint32_t pitch = tile->pitch ? tile->pitch : tile->columns;
    part.pa.value += ((uint64_t)row * pitch + column) * tl_dtype_bytes(tile->dtype);
    part.rows = rows;
    part.columns = columns;
    part.pitch = pitch;
    return part;
}

/* Transposes: out (n x m) = a (m x n) transposed, of one type, on the vector engine: one operation for each element.
 * TLA_INVALID_ARGUMENT for other shapes and types. out may be the memory of a. */
static inline tla_status tl_transpose(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->transpose(tl, out, a);
}

/* Sets every element of a tile to `value`, rounded to the type as tl_convert does, on the vector engine. */
static inline tla_status tl_fill(tl_context *tl, const tl_tile *tile, float value) {
    return tl->calls->fill(tl, tile, value);
}

/* TLA_INVALID_ARGUMENT, with a text, for a mask that is not inside a tile. */
static inline tla_status tl_check_mask(tl_context *tl, const char *call, const tl_tile *tile, uint32_t rows,
                                       uint32_t columns) {
    if (rows <= tile->rows && columns <= tile->columns) return TLA_OK;
    return tl_refuse(tl, "%s: a mask of %u x %u for a tile of %u x %u: must not exceed the tile", call, rows, columns,
                     tile->rows, tile->columns);
}

/* For ragged edges. Loads the first `rows` rows and `columns` columns of a tile as tl_load does; loads nothing if
 * either is 0. Sets the other elements to `other`: a tile that is not loaded whole has a tl_fill before the tl_load.
 * TLA_INVALID_ARGUMENT for more rows or columns than the tile has. */
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

/* Computes sum (f32) += a * b on the GEMM engine; a is m x k, b is k x n, each f16, bf16 or f32. Products are
 * accumulated in f32 in order of k. TLA_INVALID_ARGUMENT when shapes or types do not fit. 2 m k n operations at
 * pe.gemm_rate. */
static inline tla_status tl_dot(tl_context *tl, const tl_tile *sum, const tl_tile *a, const tl_tile *b) {
    return tl->calls->dot(tl, sum, a, b);
}

/* --- The vector engine ---
 *
 * Every call pays its dispatch (pe.dispatch), reads its operands from the TCM, needs one operation at pe.vector_rate
 * for each element, and writes the result. The result may overwrite an operand. Invalid shapes or types return
 * TLA_INVALID_ARGUMENT, and the run reports the found and the expected value.
 *
 * Shapes: an operand has the rows of the result or one row, and its columns or one column. A single row, column or
 * element is used for all rows, columns or elements. The result has its full shape.
 *
 * Numbers: real operands (f16, bf16, f32, f64, in any mix) are computed in f64 where an operand or the result is f64,
 * else in f32. The result is rounded once to that type, and once more to its own type. Rounding is to nearest, ties to
 * even; overflow becomes infinity; subnormals are kept. Sums, products, quotients, square roots and fma are correctly
 * rounded. The results of exp, log, rsqrt and sigmoid are within one unit in the last place of f32 (f64: two). A NaN
 * propagates. Integers combine only with their own type, exactly and modulo 2^bits. Division rounds towards zero;
 * division by 0 returns all bits 1. */

/* Converts a to the type of out with one rounding; same shape. To a real type: to nearest, ties to even. From a real to
 * an integer type: towards zero; values out of range saturate, and NaN becomes 0. From integer to integer: modulo
 * 2^bits. */
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

/* out = the larger operand, NaN if either is NaN; +0 is above -0. */
static inline tla_status tl_maximum(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->binary(tl, TL_MAXIMUM, out, a, b);
}

/* out = the smaller operand, by the same rules. */
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

/* Computes the sum, the maximum or the minimum, in order of the index. Axis 0: of every column, out is 1 x n. Axis 1:
 * of every row, out is m x 1. A sum is rounded after every addition. One operation for each element of a. */
static inline tla_status tl_sum(tl_context *tl, uint32_t axis, const tl_tile *out, const tl_tile *a) {
    return tl->calls->reduce(tl, TL_SUM, axis, out, a);
}
static inline tla_status tl_max(tl_context *tl, uint32_t axis, const tl_tile *out, const tl_tile *a) {
    return tl->calls->reduce(tl, TL_MAX, axis, out, a);
}
static inline tla_status tl_min(tl_context *tl, uint32_t axis, const tl_tile *out, const tl_tile *a) {
    return tl->calls->reduce(tl, TL_MIN, axis, out, a);
}

/* Computes for every row e to the (a - maximum of the row), divided by the sum of these powers; real types, same shape.
 * A row with a NaN or +infinity becomes NaN, and so does a row that consists of -infinity only. Five operations for
 * each element. */
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
