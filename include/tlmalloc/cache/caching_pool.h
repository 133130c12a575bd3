/* A size-class cache in front of a driver: xtrain's device caching pool (seed 004).
 *
 * A request is rounded up to a size class. What is released goes on a last-in first-out list of its device and class
 * and never merges, splits or changes class; a request that finds its list not empty costs no driver call. As in the
 * seed, nothing is given back to the driver unless an option says so.
 *
 * Thread safe, with the seed's two levels of locks: one for the registry of devices, held only to look a device up, and
 * one a device, held for the rest of the call, driver calls included. Devices never wait for each other. */
#ifndef TLMALLOC_CACHE_CACHING_POOL_H
#define TLMALLOC_CACHE_CACHING_POOL_H

#include "tlmalloc/cache/upstream.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
