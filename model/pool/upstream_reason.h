/* Why a cache could not serve a request: its own reason first, then its driver's. Internal to model/pool. */
#ifndef TLMALLOC_POOL_UPSTREAM_REASON_H
#define TLMALLOC_POOL_UPSTREAM_REASON_H

#include "tlmalloc/allocators/upstream.h"

/* Fills *error (may be NULL) for a request of nbytes for which the driver was asked for `asked` bytes and refused: the
 * printf-style text, and behind it the driver's own, whose status and free bytes are the answer; and that the cache
 * itself is in the way, when the `held` bytes that it could give back would have been enough with what is free. A
 * driver that cannot explain itself: TLA_EXHAUSTED. */
tla_status tla_port_driver_reason(const tla_upstream *driver, uint32_t device, uint64_t nbytes, uint64_t asked,
                                  uint64_t held, tla_error *error, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

#endif
