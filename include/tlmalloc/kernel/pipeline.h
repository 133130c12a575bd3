/* The asynchronous calls of a kernel: the operations that they start, and the calls that wait for their end.
 *
 * A PE has one DMA engine that reads and one that writes. Each engine moves one transfer at a time, in the order of the
 * calls. The calls tl_load and tl_store (language.h) use the same queues, and wait immediately.
 *
 * Each started operation, including tl_recv_async of messages.h, has a handle: a plain value that may be copied. A
 * handle is valid until tl_wait, tl_wait_all or the end of the kernel has waited for it. At most pe.outstanding handles
 * may exist at a time. Until the wait, the contents of the operation's tiles and memory are undefined. The order of a
 * load and a store of the same bytes is undefined too. A call fails with TLA_BUSY if it reads a tile that an
 * outstanding operation fills, or writes a tile that it uses. The error names tile and handle. Views of one tile
 * without a common byte do not conflict. */
#ifndef TLMALLOC_KERNEL_PIPELINE_H
#define TLMALLOC_KERNEL_PIPELINE_H

#include "tlmalloc/kernel/calls.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts a tl_load and returns after its dispatch (pe.dispatch); *handle (may be NULL) is for the wait. On failure
 * nothing has started and *handle is all zero: TLA_INVALID_ARGUMENT as tl_load, TLA_LIMIT when pe.outstanding handles
 * have not been waited for. The wait returns an error of the transfer itself. The tile must not be freed before the
 * wait: tl_free returns TLA_BUSY. */
static inline tla_status tl_load_async(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch,
                                       tl_handle *handle) {
    return tl->calls->load_async(tl, tile, source, pitch, handle);
}

/* Starts a tl_store; as tl_load_async. */
static inline tla_status tl_store_async(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile,
                                        tl_handle *handle) {
    return tl->calls->store_async(tl, destination, pitch, tile, handle);
}

/* Waits until the operation with this handle is done, which ends the handle; returns its status. An all-zero handle
 * needs no wait (TLA_OK, costs nothing). TLA_NOT_FOUND for an unknown handle, or a handle that was already waited
 * for. */
static inline tla_status tl_wait(tl_context *tl, tl_handle handle) {
    return tl->calls->wait(tl, handle);
}

/* Waits for all operations without a wait, in order; returns the first failure. A kernel that returns does the same
 * implicitly. A failure that the kernel has not waited for becomes its own, if it returns TLA_OK. */
static inline tla_status tl_wait_all(tl_context *tl) {
    return tl->calls->wait_all(tl);
}

/* --- Composites ---
 *
 * tl_composite gives the PE's scheduler a whole product of matrices, or a chain of element-wise operations. The
 * scheduler cuts it into tiles of pe.tile_m x pe.tile_k x pe.tile_n. Each tile passes these stages:
 *
 * - The scheduler feeds it (pe.scheduler).
 * - DMA reads it.
 * - It is fetched through the TCM's read port.
 * - It is multiplied (2 m k n operations at pe.gemm_rate).
 * - The steps process it: one operation for each element and step at pe.vector_rate. A TL_MATH without steps counts as
 *   one step.
 * - It is rounded to the type of the result, and stored through the TCM's write port.
 * - DMA writes it.
 *
 * Stages overlap, between tiles and between composites. Engines execute composites in order, and the tiles of each in
 * order. The DMA engines also execute tl_load and tl_store. The accelerator also executes tl_dot and the vector
 * engine's calls. All of these are executed in the order of arrival.
 *
 * Streamed tiles need memory in the TCM: for each operand and for the result pe.pipeline_depth blocks of one tile. The
 * call tl_composite allocates these blocks from the PE's memory controller as tl_alloc does. The wait releases them as
 * tl_free does. */

/* Returns a matrix in memory as an operand or a result of a composite: DMA reads and writes its tiles. */
static inline tl_operand tl_streamed(const tl_tensor *tensor) {
    tl_operand operand = {TL_STREAMED, *tensor, {{0}, 0, 0, TL_F16, 0}};
    return operand;
}

/* Returns a tile in the TCM as an operand or a result; it needs no DMA, and stays until the wait. */
static inline tl_operand tl_pinned(const tl_tile *tile) {
    tl_operand operand = {TL_PINNED, {{0}, 0, {0}, {0}, TL_F16}, *tile};
    return operand;
}

/* Steps: value = op(value); value = value op number; value = value op tile; value = value op b. */
static inline tl_step tl_step_unary(tl_unary what) {
    tl_step step = {1, what, {TL_NO_TERM, 0, {{0}, 0, 0, TL_F16, 0}}, {TL_NO_TERM, 0, {{0}, 0, 0, TL_F16, 0}}};
    return step;
}
static inline tl_step tl_step_number(tl_binary what, float number) {
    tl_step step = tl_step_unary(TL_ABS);
    step.operands = 2;
    step.operation = what;
    step.x.kind = TL_NUMBER_TERM;
    step.x.number = number;
    return step;
}
static inline tl_step tl_step_tile(tl_binary what, const tl_tile *tile) {
    tl_step step = tl_step_number(what, 0);
    step.x.kind = TL_TILE_TERM;
    step.x.tile = *tile;
    return step;
}
static inline tl_step tl_step_b(tl_binary what) {
    tl_step step = tl_step_number(what, 0);
    step.x.kind = TL_B_TERM;
    return step;
}

/* Starts out = steps(a * b) with a of m x k and b of k x n, or out = steps(a) with a of m x n. In the second form b (m
 * x n, or none) is a term of steps. The operands a and b are f16, bf16 or f32, and the value is f32. Products and sums
 * follow the order of k as in tl_dot. Steps work as the calls of the vector engine with an f32 result. The result out
 * has any type, and receives the value converted as by tl_convert. It must not overlap an operand in memory or in the
 * TCM, or the destination of another outstanding composite or transfer.
 *
 * Returns when it has its blocks; *handle (may be NULL) is for the wait. On failure nothing has started, and no block
 * is held. TLA_INVALID_ARGUMENT, with a text, for shapes, types and steps that do not fit. TLA_LIMIT as tl_load_async.
 * TLA_EXHAUSTED and others of tl_alloc when the TCM has no space. The wait reports a later error (memory that is
 * unmapped or read-only), after which the composite starts no further work. Pinned tiles and tiles of steps must not be
 * freed before the wait. */
static inline tla_status tl_composite(tl_context *tl, const tl_composition *what, tl_handle *handle) {
    return tl->calls->composite(tl, what, handle);
}

#ifdef __cplusplus
}
#endif
#endif
