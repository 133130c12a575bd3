/* The calls of a kernel that do not wait: what each begins, and how its end is waited for.
 *
 * A PE has one DMA engine that reads and one that writes. Each moves one transfer at a time, in the order in which they
 * were asked for; tl_load and tl_store (language.h) queue up with the others and are waited for at once.
 *
 * What was begun has a handle, a plain value that may be copied. It is good until it was waited for, by tl_wait,
 * tl_wait_all or the end of the kernel, whichever comes first; pe.outstanding of them may be at a time. Of operations
 * that nobody has waited for nothing is known: neither what their tiles hold, nor what lies in memory, nor in which
 * order a load and a store of the same bytes come. */
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

#ifdef __cplusplus
}
#endif
#endif
