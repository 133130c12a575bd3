/* Segments from a driver, split and coalesced: the rules of PyTorch's CUDACachingAllocator (allocators.md 3.2).
 *
 * Requests are rounded to 512 bytes; up to 1 MiB they are served from 2 MiB segments, above from larger ones; the best
 * fit of the same stream is taken, the lowest address among equals; free neighbours join inside a segment; segments
 * stay cached. Addresses are exactly PyTorch's when the driver gives the segments PyTorch's bases, as ties break on the
 * address: an arena gives its own, a replay gives those of a recording. Expandable segments are not offered.
 * Not thread safe; one owner at a time. */
#ifndef TLMALLOC_SEGMENT_CACHE_H
#define TLMALLOC_SEGMENT_CACHE_H

#include "tlmalloc/memory_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_segment_cache tla_segment_cache;

/* All zero, but for the driver, is PyTorch's default. */
typedef struct tla_segment_cache_config {
    tla_memory_driver driver; /* must outlive the cache */
    uint32_t device;          /* handed to the driver */
    uint64_t memory_limit;    /* the most bytes of segments (set_per_process_memory_fraction); 0: no limit */
    uint64_t max_split_size;  /* bytes; larger blocks are never split (max_split_size_mb); 0: no limit, else > 20 MiB */
    uint32_t gc_permille;     /* of memory_limit: above it, old cached segments are given back before a new one is taken
                                 (garbage_collection_threshold); 0: never; needs a memory_limit; at most 1000 */
    uint32_t power2_divisions; /* round to so many steps between powers of two (roundup_power2_divisions); 0 or 1: to
                                  512; else a power of two */
} tla_segment_cache_config;

typedef struct tla_segment_cache_stats {
    uint64_t requested;      /* bytes asked for in allocated blocks */
    uint64_t allocated;      /* bytes in blocks that their owners have not freed */
    uint64_t active;         /* allocated, and freed blocks that another stream still uses */
    uint64_t reserved;       /* bytes in segments */
    uint64_t inactive_split; /* bytes in free blocks that share their segment: they cannot be given back */
    uint64_t segments;
    uint64_t peak_allocated, peak_reserved;
    uint64_t driver_allocs, driver_frees;
    uint64_t retries;  /* requests for which all cached segments were given back (num_alloc_retries) */
    uint64_t failures; /* requests that failed for want of memory (num_ooms) */
} tla_segment_cache_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *cache is NULL then. */
tla_status tla_segment_cache_create(const tla_segment_cache_config *config, tla_segment_cache **cache);

/* Gives every segment back to the driver and the cache's own memory; NULL is allowed. TLA_LEAK when there were active
 * blocks. */
tla_status tla_segment_cache_destroy(tla_segment_cache *cache);

/* What a request of nbytes takes: below 512 bytes 512, else the next multiple of 512; with power-of-two divisions, and
 * above 512 bytes times their number, the next of so many equal steps between two powers of two. 0 when it does not fit
 * in 2^63. */
uint64_t tla_segment_cache_round(uint64_t nbytes, uint32_t power2_divisions);

/* What the driver is asked for when no cached block fits a rounded size: 2 MiB up to 1 MiB, 20 MiB below 10 MiB, else
 * the next multiple of 2 MiB. */
uint64_t tla_segment_cache_segment_size(uint64_t rounded);

/* Takes a block of at least nbytes on a stream; *block is what was taken: a large block may keep up to 1 MiB more than
 * was asked for. Work: the probes of a search in a balanced tree, splits, a metadata line a block written, and what the
 * driver does. TLA_INVALID_ARGUMENT for 0 bytes and for more than 2^62; TLA_LIMIT when memory_limit is in the way; else
 * what the driver says. Nothing is taken then, but cached segments may have been given back. TLA_NO_HOST_MEMORY. */
tla_status tla_segment_cache_alloc(tla_segment_cache *cache, uint64_t stream, uint64_t nbytes, tla_block *block,
                                   tla_work *work);

/* Says why a request failed, for a person: `what` (the cache's name in the text), what was requested, which segment was
 * asked of the driver, what is cached and cannot serve, and why there was no segment: memory_limit, or what the driver
 * says. Returns the status; total_free and largest_free of *error (may be NULL) are the driver's. To be called after
 * the failure, before anything else changes. */
tla_status tla_segment_cache_explain(const tla_segment_cache *cache, const char *what, uint64_t nbytes,
                                     tla_error *error);

/* Frees the block at this address and joins it with free neighbours of its segment. TLA_NOT_ALLOCATED when no allocated
 * block begins there: nothing is changed then. */
tla_status tla_segment_cache_free(tla_segment_cache *cache, uint64_t address, tla_work *work);

/* Another stream uses the block (record_stream and its event): when it is freed it stays active until every use has
 * ended. TLA_NOT_ALLOCATED as above; end_use also takes freed blocks that are still used, and says TLA_NOT_ALLOCATED
 * when the block has no use to end. */
tla_status tla_segment_cache_begin_use(tla_segment_cache *cache, uint64_t address);
tla_status tla_segment_cache_end_use(tla_segment_cache *cache, uint64_t address, tla_work *work);

/* Gives every segment that is wholly free back to the driver (empty_cache). */
tla_status tla_segment_cache_empty(tla_segment_cache *cache, tla_work *work);

tla_segment_cache_stats tla_segment_cache_get_stats(const tla_segment_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
