/* The calls of a kernel that do not wait: what each begins, and how its end is waited for.
 *
 * A PE has one DMA engine that reads and one that writes. Each moves one transfer at a time, in the order in which they
 * were asked for; tl_load and tl_store (language.h) queue up with the others and are waited for at once.
 *
 * What was begun (tl_recv_async of messages.h among it) has a handle, a plain value that may be copied. It is good
 * until it was waited for, by tl_wait, tl_wait_all or the end of the kernel, whichever comes first; pe.outstanding of
 * them may be at a time. Of operations that nobody has waited for nothing is known: neither what their tiles hold, nor
 * what lies in memory, nor in which order a load and a store of the same bytes come. A call that reads a tile which
 * such an operation fills, or writes one which it uses, fails with TLA_BUSY and names tile and handle; views of one
 * tile that have no byte in common do not disturb each other. */
#ifndef TLMALLOC_KERNEL_PIPELINE_H
#define TLMALLOC_KERNEL_PIPELINE_H

#include "tlmalloc/kernel/calls.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Begins what tl_load does and returns after its dispatch (pe.dispatch); *handle (may be NULL) is what to wait for. On
 * failure nothing has begun and *handle is all zero: TLA_INVALID_ARGUMENT as tl_load, TLA_LIMIT when pe.outstanding
 * handles have not been waited for. An error of the transfer itself is returned by the wait. The tile must not be freed
 * before: tl_free answers TLA_BUSY. */
static inline tla_status tl_load_async(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch,
                                       tl_handle *handle) {
    return tl->calls->load_async(tl, tile, source, pitch, handle);
}

/* Begins what tl_store does; as tl_load_async. */
static inline tla_status tl_store_async(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile,
                                        tl_handle *handle) {
    return tl->calls->store_async(tl, destination, pitch, tile, handle);
}

/* Waits until what has this handle is done, which ends the handle; returns its status. A handle that is all zero is
 * nothing to wait for (TLA_OK, costs nothing); TLA_NOT_FOUND for one that was waited for already or is none. */
static inline tla_status tl_wait(tl_context *tl, tl_handle handle) {
    return tl->calls->wait(tl, handle);
}

/* Waits for everything that was begun and not waited for, in order; returns the first failure. A kernel that returns
 * does the same by itself: a failure that nobody has waited for is the kernel's, if it returns TLA_OK. */
static inline tla_status tl_wait_all(tl_context *tl) {
    return tl->calls->wait_all(tl);
}

/* --- Composites ---
 *
 * tl_composite gives the PE's scheduler a whole product of matrices, or a chain of element-wise operations, which it
 * cuts into tiles of pe.tile_m x pe.tile_k x pe.tile_n. Each goes through these stages: fed by the
 * scheduler (pe.scheduler), read by DMA, fetched through the TCM's read port, multiplied (2 m k n operations at
 * pe.gemm_rate), worked on by the steps (an operation for each element and step at pe.vector_rate; a TL_MATH without
 * steps is one), stored through the TCM's write port, where it is rounded to the type of the result, and written by
 * DMA. Stages overlap, between tiles and between composites: engines take composites in order, tiles of each in order.
 * The DMA engines also move what tl_load and tl_store ask for, the accelerator also does what tl_dot and the vector
 * engine's calls ask for, in the order in which it comes.
 *
 * The tiles that are streamed need room in the TCM: for each operand and for the result pe.pipeline_depth blocks of one
 * tile, which tl_composite allocates from the PE's memory controller as tl_alloc does, and which are given back, as by
 * tl_free, by the wait. */

/* A matrix in memory as an operand or a result of a composite: its tiles are read and written by DMA. */
static inline tl_operand tl_streamed(const tl_tensor *tensor) {
    tl_operand operand = {TL_STREAMED, *tensor, {{0}, 0, 0, TL_F16, 0}};
    return operand;
}

/* A tile in the TCM as an operand or a result; it needs no DMA, and stays until the wait. */
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

/* Begins out = steps(a * b) with a of m x k and b of k x n, or out = steps(a) with a of m x n, where b (m x n, or none)
 * is a term of steps. a and b are of f16, bf16 or f32; the value is f32, products and sums in order of k as by tl_dot,
 * steps as by the calls of the vector engine with an f32 result; out, of any type, is the value as tl_convert converts
 * it. The result must not overlap an operand in memory or in the TCM, nor what another composite or transfer under way
 * writes.
 *
 * Returns when it has its blocks; *handle (may be NULL) is what to wait for. On failure nothing has begun, and nothing
 * is held: TLA_INVALID_ARGUMENT for shapes, types and steps that do not fit, and said so; TLA_LIMIT as tl_load_async;
 * TLA_EXHAUSTED and others of tl_alloc when the TCM has no room. Of an error on the way (memory that is not mapped, or
 * only for reading) the wait tells, and nothing more of the composite is begun. Pinned tiles and those of steps must
 * not be freed before. */
static inline tla_status tl_composite(tl_context *tl, const tl_composition *what, tl_handle *handle) {
    return tl->calls->composite(tl, what, handle);
}

#ifdef __cplusplus
}
#endif
#endif
