/* Pools that take large pieces of memory from a driver (upstream.h) and keep what is given back: by size classes, or
 * joined with its neighbours. */
#ifndef TLMALLOC_CACHE_DRIVER_POOLS_H
#define TLMALLOC_CACHE_DRIVER_POOLS_H

#include "tlmalloc/cache/upstream.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Size classes ---
 *
 * A size-class cache in front of a driver: xtrain's device caching pool (seed 004).
 *
 * A request is rounded up to a size class. What is released goes on a last-in first-out list of its device and class
 * and never merges, splits or changes class; a request that finds its list not empty costs no driver call. As in the
 * seed, nothing is given back to the driver unless an option says so.
 *
 * Thread safe, with the seed's two levels of locks: one for the registry of devices, held only to look a device up, and
 * one a device, held for the rest of the call, driver calls included. Devices never wait for each other. */

typedef struct tla_caching_pool tla_caching_pool;

/* What the driver is asked for when nbytes are wanted: up to 1 MiB the next multiple of 512, above it the next power of
 * two (seed 004, `size_class`). 0 for 0 bytes, as the seed's formula gives, and for more than 2^63 bytes. */
uint64_t tla_caching_pool_class(uint64_t nbytes);

/* All zero, but for the driver, is the seed's pool. */
typedef struct tla_caching_pool_config {
    tla_upstream driver;   /* must outlive the pool */
    uint64_t byte_limit;   /* the most that a device may have from the driver at once, in use and cached; 0: no limit */
    bool flush_on_failure; /* give the device's cached blocks back and try once more before a request fails */
} tla_caching_pool_config;

/* A buffer. Only nbytes may be read and written: what lies between nbytes and capacity belongs to nobody and is never
 * touched. */
typedef struct tla_pool_buffer {
    uint64_t address;
    uint64_t nbytes;   /* as asked for */
    uint64_t capacity; /* its size class: what was taken from the driver */
    uint32_t device;   /* it goes back there, whichever thread releases it */
} tla_pool_buffer;

typedef struct tla_caching_pool_stats {
    uint64_t hits;          /* requests that the cache served */
    uint64_t driver_allocs; /* driver calls that took memory: the misses */
    uint64_t driver_frees;
    uint64_t flushes; /* times that the cached blocks were given back to serve a request */
    uint64_t live_buffers;
    uint64_t requested; /* bytes asked for in live buffers */
    uint64_t used;      /* bytes of their size classes */
    uint64_t cached_blocks;
    uint64_t cached;   /* bytes in cached blocks */
    uint64_t reserved; /* bytes from the driver: used + cached */
    uint64_t peak_requested, peak_reserved;
} tla_caching_pool_stats;

/* TLA_INVALID_ARGUMENT without a driver, TLA_NO_HOST_MEMORY; *pool is NULL then. */
tla_status tla_caching_pool_create(const tla_caching_pool_config *config, tla_caching_pool **pool);

/* Gives everything back to the driver, live buffers included, then the pool's own memory; NULL is allowed. The seed
 * leaves this to the end of the process. No other call may be running. TLA_LEAK when there were live buffers. */
tla_status tla_caching_pool_destroy(tla_caching_pool *pool);

/* Takes a buffer of nbytes on a device. Work: a class is looked up; a hit pops one list node and touches two lines (the
 * head of the list, the block); a miss touches one, calls the driver and adds what that does.
 * TLA_INVALID_ARGUMENT for 0 bytes (the seed does not say what they mean) and for more than 2^63; TLA_LIMIT when
 * byte_limit is in the way; else what the driver says. Nothing is taken then, but with flush_on_failure the cache of
 * that device may be empty. Calls the host's malloc only on a miss: TLA_NO_HOST_MEMORY. */
tla_status tla_caching_pool_acquire(tla_caching_pool *pool, uint32_t device, uint64_t nbytes, tla_pool_buffer *buffer,
                                    tla_work *work);

/* Says why an acquire failed, for a person: `what` (the pool's name in the text), what was requested, the size class
 * that the driver was asked for, what is cached in other classes, and why there was no memory: byte_limit, or what the
 * driver says. Returns the status; total_free and largest_free of *error (may be NULL) are the driver's. To be called
 * after the failure, before anything else changes. */
tla_status tla_caching_pool_explain(tla_caching_pool *pool, const char *what, uint32_t device, uint64_t nbytes,
                                    tla_error *error);

/* Bytes that tla_caching_pool_trim(pool, device, 0, ...) would give back, where an acquire of nbytes that has just
 * failed is served after it; 0 where it is not, and where the driver or the host cannot tell. Nothing is changed. */
uint64_t tla_caching_pool_trim_serves(tla_caching_pool *pool, uint32_t device, uint64_t nbytes);

/* Puts a buffer back on its device's list. TLA_NOT_ALLOCATED when it is not a live buffer of the pool (a second
 * release), TLA_SIZE_MISMATCH when its sizes are not those it was given with: nothing is changed then. */
tla_status tla_caching_pool_release(tla_caching_pool *pool, tla_pool_buffer buffer, tla_work *work);

/* Gives cached blocks of a device back to the driver, largest class first and last released first, until at most
 * keep_bytes are cached. A driver that fails ends it, with its status. */
tla_status tla_caching_pool_trim(tla_caching_pool *pool, uint32_t device, uint64_t keep_bytes, tla_work *work);

/* All zero for a device that was never asked for anything. */
tla_caching_pool_stats tla_caching_pool_get_stats(tla_caching_pool *pool, uint32_t device);

/* --- A pool that grows ---
 *
 * A pool that grows by blocks of an upstream driver: the rules of rmm's pool_memory_resource.
 *
 * Best fit, the lowest address among equals, exact split at 256 bytes, coalescing on both sides but never across the
 * border of an upstream block. As rmm's it never shrinks by itself; tla_growing_pool_trim, which rmm has not, makes it
 * shrink. One stream: rmm's free lists per stream are not modelled.
 * Not thread safe; one owner at a time. */

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
