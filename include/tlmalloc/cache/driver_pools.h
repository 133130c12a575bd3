/* Pools that allocate large blocks from a driver (upstream.h) and keep released memory: by size classes, or joined with
 * its neighbours. */
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
 * A request is rounded up to a size class. A released block is put on a last-in first-out list of its device and class,
 * and never merges, splits or changes class. A request that finds its list not empty costs no driver call. As in the
 * seed, nothing is released to the driver unless an option demands it.
 *
 * Thread safe, with the seed's two levels of locks. One lock for the registry of devices is held only to look up a
 * device. One lock per device is held for the rest of the call, including driver calls. Devices never wait for each
 * other. */

typedef struct tla_caching_pool tla_caching_pool;

/* Returns the bytes that the pool requests from the driver for nbytes. Up to 1 MiB that is the next multiple of 512,
 * above it the next power of two (seed 004, `size_class`). 0 for 0 bytes, like the seed's formula, and for more than
 * 2^63 bytes. */
uint64_t tla_caching_pool_class(uint64_t nbytes);

/* An all-zero configuration with a driver is the seed's pool. */
typedef struct tla_caching_pool_config {
    tla_upstream driver;   /* must outlive the pool */
    uint64_t byte_limit;   /* maximum bytes of a device from the driver, in use and cached; 0: no limit */
    bool flush_on_failure; /* before a request fails: release the device's cached blocks and retry once */
} tla_caching_pool_config;

/* A buffer. Only nbytes may be read and written. Bytes between nbytes and capacity have no owner and are never
 * accessed. */
typedef struct tla_pool_buffer {
    uint64_t address;
    uint64_t nbytes;   /* as requested */
    uint64_t capacity; /* its size class: the bytes allocated from the driver */
    uint32_t device;   /* it returns to this device, whichever thread releases it */
} tla_pool_buffer;

typedef struct tla_caching_pool_stats {
    uint64_t hits;          /* requests that the cache served */
    uint64_t driver_allocs; /* driver calls that allocated memory: the misses */
    uint64_t driver_frees;
    uint64_t flushes; /* number of times that the cached blocks were released to serve a request */
    uint64_t live_buffers;
    uint64_t requested; /* requested bytes of live buffers */
    uint64_t used;      /* bytes of their size classes */
    uint64_t cached_blocks;
    uint64_t cached;   /* bytes in cached blocks */
    uint64_t reserved; /* bytes from the driver: used + cached */
    uint64_t peak_requested, peak_reserved;
} tla_caching_pool_stats;

/* TLA_INVALID_ARGUMENT without a driver, TLA_NO_HOST_MEMORY; *pool is NULL then. */
tla_status tla_caching_pool_create(const tla_caching_pool_config *config, tla_caching_pool **pool);

/* Releases everything to the driver, including live buffers, then the pool's own memory; NULL is allowed. The seed
 * leaves this to the end of the process. No other call may be running. TLA_LEAK when buffers were live. */
tla_status tla_caching_pool_destroy(tla_caching_pool *pool);

/* Allocates a buffer of nbytes on a device. Work: a class lookup. A hit pops one list node and touches two lines (the
 * head of the list, the block). A miss touches one line, calls the driver, and adds the driver's work.
 * TLA_INVALID_ARGUMENT for 0 bytes (undefined in the seed) and for more than 2^63; TLA_LIMIT when byte_limit would be
 * exceeded; else the driver's error. After an error nothing is allocated, but with flush_on_failure the cache of that
 * device may be empty. Calls the host's malloc only on a miss: TLA_NO_HOST_MEMORY. */
tla_status tla_caching_pool_acquire(tla_caching_pool *pool, uint32_t device, uint64_t nbytes, tla_pool_buffer *buffer,
                                    tla_work *work);

/* Writes a readable explanation of a failed acquire. It has `what` (the pool's name in the text) and the requested
 * bytes. Their size class, which the pool requested from the driver, and the cached bytes of other classes follow. The
 * cause is byte_limit, or the driver's explanation. Returns the status; total_free and largest_free of *error (may be
 * NULL) are the driver's. Call it directly after the failure. */
tla_status tla_caching_pool_explain(tla_caching_pool *pool, const char *what, uint32_t device, uint64_t nbytes,
                                    tla_error *error);

/* Returns the bytes that tla_caching_pool_trim(pool, device, 0, ...) would release, if a failed acquire of nbytes would
 * then succeed. Returns 0 if it would still fail, or if the driver or the host cannot find out. Changes nothing. */
uint64_t tla_caching_pool_trim_serves(tla_caching_pool *pool, uint32_t device, uint64_t nbytes);

/* Puts a buffer back on its device's list. TLA_NOT_ALLOCATED when it is not a live buffer of the pool (a second
 * release), TLA_SIZE_MISMATCH when its sizes differ from those of the acquire. After an error nothing has changed. */
tla_status tla_caching_pool_release(tla_caching_pool *pool, tla_pool_buffer buffer, tla_work *work);

/* Releases cached blocks of a device to the driver, largest class first and last released first, until at most
 * keep_bytes are cached. Stops at a driver error and returns it. */
tla_status tla_caching_pool_trim(tla_caching_pool *pool, uint32_t device, uint64_t keep_bytes, tla_work *work);

/* All zero for a device that was never used. */
tla_caching_pool_stats tla_caching_pool_get_stats(tla_caching_pool *pool, uint32_t device);

/* --- A pool that grows ---
 *
 * A pool that grows by blocks of an upstream driver: the rules of rmm's pool_memory_resource.
 *
 * Best fit, the lowest address among equals, exact split at 256 bytes, coalescing on both sides but never across the
 * border of an upstream block. Like rmm's pool it never shrinks by itself; tla_growing_pool_trim, which rmm does not
 * have, shrinks it. One stream: rmm's free lists per stream are not modelled. Not thread safe; one owner at a time. */

typedef struct tla_growing_pool tla_growing_pool;

typedef struct tla_growing_pool_config {
    tla_upstream driver;   /* upstream; must outlive the pool */
    uint32_t device;       /* passed to the driver */
    uint64_t initial_size; /* bytes allocated at creation, a multiple of 256 */
    uint64_t maximum_size; /* bytes, a multiple of 256, not below initial_size; 0: no maximum */
} tla_growing_pool_config;

typedef struct tla_growing_pool_stats {
    uint64_t used;     /* bytes in live blocks, as rounded */
    uint64_t reserved; /* bytes from upstream */
    uint64_t peak_reserved;
    uint64_t free_blocks;
    uint64_t upstream_blocks;
    uint64_t upstream_tries; /* calls, including failed ones */
} tla_growing_pool_stats;

/* TLA_INVALID_ARGUMENT for sizes outside their ranges (rmm's logic_error), the driver's error when it fails the initial
 * size, TLA_NO_HOST_MEMORY; *pool is NULL then. */
tla_status tla_growing_pool_create(const tla_growing_pool_config *config, tla_growing_pool **pool);

/* Releases every upstream block, and the pool's own memory; NULL is allowed. TLA_LEAK when blocks were live. */
tla_status tla_growing_pool_destroy(tla_growing_pool *pool);

/* Allocates nbytes, rounded up to a multiple of 256. When no free block fits, the pool grows:
 *
 * - With a maximum M by the larger of the request and half of the remainder to M; TLA_LIMIT when the request exceeds
 *   the remainder.
 * - Without a maximum by the larger of the request and the pool's present size.
 *
 * If upstream lacks memory, the pool halves the growth and retries, down to the request. It then returns upstream's
 * status, and nothing has changed. 0 bytes return an empty block that occupies nothing (rmm's null pointer).
 * TLA_EXHAUSTED for more than 2^62, TLA_NO_HOST_MEMORY. */
tla_status tla_growing_pool_alloc(tla_growing_pool *pool, uint64_t nbytes, tla_block *block, tla_work *work);

/* Writes a readable explanation of a failed request. It has `what` (the pool's name in the text), the requested and the
 * free bytes, and the reason why the pool did not grow. The reason is maximum_size, or upstream's explanation for the
 * smallest requested block. Returns the status; total_free and largest_free of *error (may be NULL) are upstream's.
 * Call it directly after the failure. */
tla_status tla_growing_pool_explain(const tla_growing_pool *pool, const char *what, uint64_t nbytes, tla_error *error);

/* Returns the bytes that a request of nbytes occupies: the next multiple of 256; UINT64_MAX past 2^62. */
uint64_t tla_growing_pool_round(uint64_t nbytes);

/* Returns the bytes that tla_growing_pool_trim would release, if a failed request of nbytes would then succeed. Returns
 * 0 if it would still fail, or if the driver or the host cannot find out. Changes nothing. */
uint64_t tla_growing_pool_trim_serves(const tla_growing_pool *pool, uint64_t nbytes);

/* Releases a block; an empty block has no effect. TLA_NOT_ALLOCATED when no live block begins there, TLA_SIZE_MISMATCH
 * when it has another size. After an error nothing has changed. */
tla_status tla_growing_pool_free(tla_growing_pool *pool, tla_block block, tla_work *work);

/* Returns the rounded bytes of the live block at this address; 0 when no live block begins there. */
uint64_t tla_growing_pool_granted(const tla_growing_pool *pool, uint64_t address);

/* Releases every wholly free upstream block, in ascending order of size, then of address. Returns upstream's error when
 * a release fails; the blocks before it are released. */
tla_status tla_growing_pool_trim(tla_growing_pool *pool, tla_work *work);

tla_growing_pool_stats tla_growing_pool_get_stats(const tla_growing_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
