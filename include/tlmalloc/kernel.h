/* What a kernel test bench written in C may call.
 *
 * A kernel is a C function that every PE runs as one program. It sees tensors by virtual address, keeps tiles in its
 * PE's TCM, and everything it calls costs simulated time: allocations are commands to the PE's memory controller, loads
 * and stores are DMA through the PE's MMU, arithmetic occupies an engine. The calls block until the simulated work is
 * done. The names follow KernBench's tl.* (ADR-0046). */
#ifndef TLMALLOC_KERNEL_H
#define TLMALLOC_KERNEL_H

#include "tlmalloc/base/phys_addr.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_context tl_context; /* one program on one PE */

typedef enum tl_dtype { TL_F16, TL_F32 } tl_dtype;

/* Bytes of one element. */
uint32_t tl_dtype_bytes(tl_dtype dtype);

/* A row-major matrix in this PE's TCM. */
typedef struct tl_tile {
    tla_paddr pa;
    uint32_t rows, columns;
    tl_dtype dtype;
} tl_tile;

/* Which program this is (0 .. tl_num_programs - 1). */
uint32_t tl_program_id(const tl_context *tl);
uint32_t tl_num_programs(const tl_context *tl);

/* The argument number `index` of the launch (a tensor's virtual address, a length); 0 past the last. */
uint64_t tl_argument(const tl_context *tl, uint32_t index);

/* Allocates a tile in TCM: an ALLOC command to the PE's memory controller, waited for. On failure the allocator's
 * status (TLA_EXHAUSTED, TLA_FRAGMENTED, ...) is returned and *tile is all zero. A kernel that ends with this status
 * need say no more: the completion of its LAUNCH, and so the error of the run, has the bytes that were asked for and
 * those that were free. The contents are undefined. */
tla_status tl_alloc(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile);

/* Gives a tile back: a FREE command, waited for. */
tla_status tl_free(tl_context *tl, const tl_tile *tile);

/* DMA from virtual memory into a tile, row by row: row r comes from source + r * pitch bytes (rows that touch are one
 * transfer). TLA_BUS_ERROR when any transaction is answered with an error; the tile's contents are undefined then. */
tla_status tl_load(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch);

/* DMA from a tile to virtual memory; as tl_load. */
tla_status tl_store(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile);

/* sum (f32) += a * b, on the GEMM engine; a is m x k, b is k x n, both f16 or f32, accumulated in f32 in order of k.
 * TLA_INVALID_ARGUMENT when shapes or types do not fit. */
tla_status tl_dot(tl_context *tl, const tl_tile *sum, const tl_tile *a, const tl_tile *b);

/* out = a + b element by element on the vector engine, in f32, rounded to the type of out (to nearest even). */
tla_status tl_add(tl_context *tl, const tl_tile *out, const tl_tile *a, const tl_tile *b);

/* Sets every element of a tile to `value` on the vector engine. */
tla_status tl_fill(tl_context *tl, const tl_tile *tile, float value);

/* out = a, converted to the type of out (to nearest even), on the vector engine. Same shape. */
tla_status tl_convert(tl_context *tl, const tl_tile *out, const tl_tile *a);

/* A kernel: 0 = done, else the status that stopped it. */
typedef tla_status (*tl_kernel)(tl_context *tl);

#ifdef __cplusplus
}
#endif
#endif
