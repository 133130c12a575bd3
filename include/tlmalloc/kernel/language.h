/* The calls of a kernel: what each does, takes, answers and costs. */
#ifndef TLMALLOC_KERNEL_LANGUAGE_H
#define TLMALLOC_KERNEL_LANGUAGE_H

#include "tlmalloc/kernel/calls.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which program this is (0 .. tl_num_programs - 1). Costs nothing. */
static inline uint32_t tl_program_id(const tl_context *tl) {
    return tl->calls->program_id(tl);
}

/* How many programs were launched together. Costs nothing. */
static inline uint32_t tl_num_programs(const tl_context *tl) {
    return tl->calls->num_programs(tl);
}

/* The argument number `index` of the launch (a tensor's virtual address, a length); 0 past the last. Costs nothing. */
static inline uint64_t tl_argument(const tl_context *tl, uint32_t index) {
    return tl->calls->argument(tl, index);
}

/* Says why the kernel is about to return `status`, which must not be TLA_OK: the error of the run has this text.
 * Returns `status`. Costs nothing. */
static inline tla_status tl_fail(tl_context *tl, tla_status status, const char *why) {
    return tl->calls->fail(tl, status, why);
}

/* Allocates a tile in TCM: an ALLOC command to the PE's memory controller, waited for. On failure the allocator's
 * status (TLA_EXHAUSTED, TLA_FRAGMENTED, ...) is returned and *tile is all zero. A kernel that ends with this status
 * need say no more: the completion of its LAUNCH, and so the error of the run, has the bytes that were asked for and
 * those that were free. The contents are undefined. */
static inline tla_status tl_alloc(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile) {
    return tl->calls->alloc(tl, rows, columns, dtype, tile);
}

/* Gives a tile back: a FREE command, waited for. */
static inline tla_status tl_free(tl_context *tl, const tl_tile *tile) {
    return tl->calls->free(tl, tile);
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
 * transfer). TLA_BUS_ERROR when any transaction is answered with an error; the tile's contents are undefined then. */
static inline tla_status tl_load(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch) {
    return tl->calls->load(tl, tile, source, pitch);
}

/* DMA from a tile to virtual memory; as tl_load. */
static inline tla_status tl_store(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile) {
    return tl->calls->store(tl, destination, pitch, tile);
}

/* sum (f32) += a * b, on the GEMM engine; a is m x k, b is k x n, both f16 or f32, accumulated in f32 in order of k.
 * TLA_INVALID_ARGUMENT when shapes or types do not fit. */
static inline tla_status tl_dot(tl_context *tl, const tl_tile *sum, const tl_tile *a, const tl_tile *b) {
    return tl->calls->dot(tl, sum, a, b);
}

/* out = a + b element by element on the vector engine, in f32, rounded to the type of out (to nearest even). */
static inline tla_status tl_add(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return tl->calls->add(tl, out, a, b);
}

/* Sets every element of a tile to `value` on the vector engine. */
static inline tla_status tl_fill(tl_context *tl, const tl_tile *tile, float value) {
    return tl->calls->fill(tl, tile, value);
}

/* out = a, converted to the type of out (to nearest even), on the vector engine. Same shape. */
static inline tla_status tl_convert(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    return tl->calls->convert(tl, out, a);
}

#ifdef __cplusplus
}
#endif
#endif
