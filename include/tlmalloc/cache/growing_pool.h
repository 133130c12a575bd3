/* A pool that grows by blocks of an upstream driver: the rules of rmm's pool_memory_resource.
 *
 * Best fit, the lowest address among equals, exact split at 256 bytes, coalescing on both sides but never across the
 * border of an upstream block. As rmm's it never shrinks by itself; tla_growing_pool_trim, which rmm has not, makes it
 * shrink. One stream: rmm's free lists per stream are not modelled.
 * Not thread safe; one owner at a time. */
#ifndef TLMALLOC_CACHE_GROWING_POOL_H
#define TLMALLOC_CACHE_GROWING_POOL_H

#include "tlmalloc/cache/upstream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_growing_pool tla_growing_pool;

typedef struct tla_growing_pool_config {
    tla_upstream driver;   /* upstream; must outlive the pool */
    uint32_t device;       /* handed to the driver */
    uint64_t initial_size; /* bytes taken at once, a multiple of 256 */
    uint64_t maximum_size; /* bytes, a multiple of 256, not below initial_size; 0: no maximum */
} tla_growing_pool_config;

typedef struct tla_growing_pool_stats {
    uint64_t used;     /* bytes in live blocks, as rounded */
    uint64_t reserved; /* bytes from upstream */
    uint64_t peak_reserved;
    uint64_t free_blocks;
    uint64_t upstream_blocks;
    uint64_t upstream_tries; /* calls, those that failed included */
} tla_growing_pool_stats;

/* TLA_INVALID_ARGUMENT for sizes outside their ranges (rmm's logic_error), what the driver says when it does not give
 * the initial size, TLA_NO_HOST_MEMORY; *pool is NULL then. */
tla_status tla_growing_pool_create(const tla_growing_pool_config *config, tla_growing_pool **pool);

/* Gives every upstream block back, and the pool's own memory; NULL is allowed. TLA_LEAK when blocks were live. */
tla_status tla_growing_pool_destroy(tla_growing_pool *pool);

/* Takes nbytes, rounded up to a multiple of 256. When no free block fits, the pool grows: with a maximum M by the
 * larger of the request and half of what is left to M, TLA_LIMIT when the request is more than what is left; without
 * one by the larger of the request and its present size. What upstream refuses for want of memory is halved and tried
 * again, down to the request; then its status is the answer, and nothing has changed. 0 bytes are served with an empty
 * block that takes nothing (rmm's null pointer). TLA_EXHAUSTED for more than 2^62, TLA_NO_HOST_MEMORY. */
tla_status tla_growing_pool_alloc(tla_growing_pool *pool, uint64_t nbytes, tla_block *block, tla_work *work);

/* Says why a request failed, for a person: `what` (the pool's name in the text), what was requested, what the pool has
 * free, and why it did not grow: maximum_size, or what upstream says of the smallest block that was asked of it.
 * Returns the status; total_free and largest_free of *error (may be NULL) are upstream's. To be called after the
 * failure, before anything else changes. */
tla_status tla_growing_pool_explain(const tla_growing_pool *pool, const char *what, uint64_t nbytes, tla_error *error);

/* What a request of nbytes takes: the next multiple of 256; UINT64_MAX past 2^62. */
uint64_t tla_growing_pool_round(uint64_t nbytes);

/* Bytes that tla_growing_pool_trim would give back, where a request of nbytes that has just failed is served after it;
 * 0 where it is not, and where the driver or the host cannot tell. Nothing is changed. */
uint64_t tla_growing_pool_trim_serves(const tla_growing_pool *pool, uint64_t nbytes);

/* Frees a block; an empty one is nothing to free. TLA_NOT_ALLOCATED when no live block begins there, TLA_SIZE_MISMATCH
 * when it has another size: nothing is changed then. */
tla_status tla_growing_pool_free(tla_growing_pool *pool, tla_block block, tla_work *work);

/* Bytes of the live block at this address, as rounded; 0 when none begins there. */
uint64_t tla_growing_pool_granted(const tla_growing_pool *pool, uint64_t address);

/* Gives every upstream block that is wholly free back, in ascending order of size, then of address. What upstream says
 * when it refuses: those before it have gone back. */
tla_status tla_growing_pool_trim(tla_growing_pool *pool, tla_work *work);

tla_growing_pool_stats tla_growing_pool_get_stats(const tla_growing_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
