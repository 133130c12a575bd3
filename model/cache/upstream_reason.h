/* Why a cache could not serve a request: its own reason first, then its driver's. Internal to model/pool. */
#ifndef TLMALLOC_CACHE_UPSTREAM_REASON_H
#define TLMALLOC_CACHE_UPSTREAM_REASON_H

#include "tlmalloc/cache/upstream.h"

/* The blocks that a trim of a cache returns to its driver, in the order of the trim. */
typedef struct tla_pool_trim {
    tla_block *blocks;
    size_t count;
    uint64_t nbytes;
} tla_pool_trim;

/* Room for `count` blocks; false without host memory. */
bool tla_pool_trim_init(tla_pool_trim *trim, size_t count);
void tla_pool_trim_add(tla_pool_trim *trim, uint64_t address, uint64_t nbytes);

/* Ends the trim's own memory. Returns the bytes that the driver has more after the trim, if it serves a request for
 * `asked` bytes then; else 0: the caller advises a trim only if it helps. */
uint64_t tla_pool_trim_end(tla_pool_trim *trim, const tla_upstream *driver, uint32_t device, uint64_t asked);

/* Fills *error (may be NULL) for a request of nbytes for which the driver failed an allocation of `asked` bytes. The
 * text is the printf-style text followed by the driver's own text; status and free bytes are the driver's. `trimmed` is
 * the result of tla_pool_trim_end: if it is above 0, the text recommends a trim. For a driver that cannot explain:
 * TLA_EXHAUSTED. */
tla_status tla_port_client_reason(const tla_upstream *driver, uint32_t device, uint64_t nbytes, uint64_t asked,
                                  uint64_t trimmed, tla_error *error, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* The same for a limit of the cache's own: the text alone, with the same advice. Returns TLA_LIMIT. */
tla_status tla_pool_limit_reason(uint64_t nbytes, uint64_t trimmed, tla_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
