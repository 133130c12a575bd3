/* Segments from a driver, split and coalesced: the rules of PyTorch's CUDACachingAllocator.
 *
 * Requests are rounded to 512 bytes. Up to 1 MiB they are served from 2 MiB segments, above that from larger ones. The
 * cache takes the best fit of the same stream, the lowest address among equals. Free neighbours join inside a segment,
 * and segments stay cached. With expandable segments a pool and stream have one range of addresses, of which as much is
 * mapped as needed. Ties break on the address, so addresses are exactly PyTorch's if the driver returns the same
 * addresses. An arena returns its own; a replay returns those of a recording. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_SEGMENTS_SEGMENT_CACHE_H
#define TLMALLOC_SEGMENTS_SEGMENT_CACHE_H

#include "tlmalloc/cache/upstream.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_segment_cache tla_segment_cache;

/* Intervals of roundup_power2_divisions: sizes below 2 MiB, then one interval for each power of two, the last from 32
 * GiB on. */
enum { TLA_SEGMENT_DIVISIONS = 16 };

#define TLA_SEGMENT_UNIT_MAX (UINT64_C(1) << 40) /* bytes */

/* An all-zero configuration with a driver is PyTorch's default. */
typedef struct tla_segment_cache_config {
    tla_upstream driver;    /* must outlive the cache */
    uint32_t device;        /* passed to the driver */
    uint64_t memory_limit;  /* maximum bytes of segments; 0: no limit */
    double memory_fraction; /* fraction of device_bytes, instead of memory_limit (set_per_process_memory_fraction); 0:
                               none */
    uint64_t device_bytes;  /* memory of the device: for the fraction, and for the length of a range. 0: unknown; ranges
                               are as long as for a device of 1 TiB */
    uint64_t max_split_size; /* bytes; larger blocks are never split (max_split_size_mb); 0: no limit, else at least 20
                                MiB */
    uint64_t max_non_split_rounding; /* maximum excess bytes of a block above max_split_size
                                        (max_non_split_rounding_mb). 0: 20 MiB, which is also the minimum */
    /* Bytes of a segment for requests below 10 MiB, and of a granule of a large range (large_segment_size_mb). 0: 20
     * MiB, else above 10 MiB. With expandable a multiple of 2 MiB. */
    uint64_t large_segment_size;
    /* Bytes that replace PyTorch's mebibyte in its fixed sizes, so that a memory of a few MiB has proportional
     * segments. The fixed sizes are small requests up to 1 MiB, segments of 2 and 20 MiB, and multiples of 2 MiB from
     * 10 MiB on. The minimum values of the three sizes above use it too. A multiple of 512, at most
     * TLA_SEGMENT_UNIT_MAX; 0: 1 MiB. Expandable segments are mapped by pages of 2 MiB, and require 0. */
    uint64_t unit;
    double gc_threshold; /* fraction of the limit: above it, old cached segments are released before a new one is
                            allocated (garbage_collection_threshold); below 1; 0, or no limit: never */
    /* Number of rounding steps between powers of two (roundup_power2_divisions); 0 or 1: round to 512; else a power of
     * two. */
    uint32_t power2_divisions[TLA_SEGMENT_DIVISIONS];
    bool expandable;            /* expandable_segments; needs `ranges` */
    tla_upstream_ranges ranges; /* must outlive the cache */
    /* Differences of PyTorch's versions; all false is the newest version. */
    bool private_not_expandable; /* up to 2.4: the pools of graphs use plain segments */
    bool aborts_on_expandable;   /* up to 2.4: the release of oversize blocks and garbage collection do not support
                                    expandable blocks (#119452): the request fails with TLA_UNSUPPORTED */
    bool rest_includes_named; /* up to 2.8: '>' in roundup_power2_divisions also includes the interval named before it;
                                 only tla_segment_settings_parse reads this member */
    bool exempt_expandable;   /* proposed in #193400: while expandable is set, the oversize rules do not withhold
                                 expandable blocks */
} tla_segment_cache_config;

typedef struct tla_segment_cache_stats {
    uint64_t requested;      /* requested bytes of allocated blocks */
    uint64_t allocated;      /* bytes in blocks that their owners have not freed */
    uint64_t active;         /* allocated bytes, and freed blocks that another stream still uses */
    uint64_t reserved;       /* bytes in segments, mapped bytes of ranges */
    uint64_t inactive_split; /* bytes in free blocks that share their segment and cannot be released; expandable blocks
                                do not count */
    uint64_t segments;       /* excluding ranges */
    uint64_t ranges;
    uint64_t peak_requested, peak_allocated, peak_reserved;
    uint64_t driver_allocs, driver_frees; /* segments allocated and released */
    uint64_t maps, unmaps;                /* calls of the range driver that mapped or unmapped memory */
    uint64_t retries;                     /* requests for which all cached segments were released (num_alloc_retries) */
    uint64_t failures;                    /* requests that failed for lack of memory (num_ooms) */
} tla_segment_cache_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *cache is NULL then. */
tla_status tla_segment_cache_create(const tla_segment_cache_config *config, tla_segment_cache **cache);

/* Releases every segment to the driver and the cache's own memory; NULL is allowed. TLA_LEAK when blocks were
 * active. */
tla_status tla_segment_cache_destroy(tla_segment_cache *cache);

/* Releases the cache's own memory and nothing to the driver, like a process that ends; NULL is allowed. */
void tla_segment_cache_abandon(tla_segment_cache *cache);

/* Returns the bytes that a request of nbytes occupies: below 512 bytes 512, else the next multiple of 512. With
 * power-of-two divisions, and above 512 bytes times their number, it is the next of so many equal steps between two
 * powers of two. 0 when the result exceeds 2^63. */
uint64_t tla_segment_cache_round(uint64_t nbytes, uint32_t power2_divisions);

/* As tla_segment_cache_round, with the divisions of a configuration. */
uint64_t tla_segment_cache_round_with(uint64_t nbytes, const tla_segment_cache_config *config);

/* Returns the bytes requested from the driver when no cached block fits a rounded size. Up to 1 MiB that is 2 MiB,
 * below 10 MiB 20 MiB, else the next multiple of 2 MiB. */
uint64_t tla_segment_cache_segment_size(uint64_t rounded);

/* As tla_segment_cache_segment_size, with large_segment_size of a configuration. */
uint64_t tla_segment_cache_segment_size_with(uint64_t rounded, const tla_segment_cache_config *config);

/* Allocates a block of at least nbytes on a stream; *block is the allocated block. A large block may keep up to 1 MiB
 * more than requested. Work: the probes of a search in a balanced tree, nodes visited if a walk continues from there,
 * and splits. It also counts a metadata line per written block, and the driver's work.
 *
 * TLA_INVALID_ARGUMENT for 0 bytes. TLA_EXHAUSTED for more than 2^62, as PyTorch is out of memory past 1 EB. TLA_LIMIT
 * when the memory limit would be exceeded; else the driver's error. After an error nothing is allocated, but cached
 * segments may have been released, and pending blocks completed. A part of an expandable range may have been mapped,
 * and is a free block. After TLA_NO_HOST_MEMORY nothing has changed, unless the request had to release memory or to map
 * a range in parts: then the same changes are possible. */
tla_status tla_segment_cache_alloc(tla_segment_cache *cache, uint64_t stream, uint64_t nbytes, tla_block *block,
                                   tla_work *work);

/* Writes a readable explanation of a failed request. It has `what` (the cache's name in the text), the requested bytes,
 * the segment requested from the driver, and the cached blocks that cannot serve. The reason is memory_limit, or the
 * driver's explanation. Returns the status; total_free and largest_free of *error (may be NULL) are the driver's. Call
 * it directly after the failure. */
tla_status tla_segment_cache_explain(const tla_segment_cache *cache, const char *what, uint64_t nbytes,
                                     tla_error *error);

/* Releases the block at this address and joins it with free neighbours of its segment. TLA_NOT_ALLOCATED when no
 * allocated block begins there; nothing has changed then. */
tla_status tla_segment_cache_free(tla_segment_cache *cache, uint64_t address, tla_work *work);

/* Begin and end the use of a block by another stream (record_stream and its event). A freed block stays active until
 * every use has ended, or until the cache releases memory, which waits for all streams. TLA_NOT_ALLOCATED as above. The
 * end_use call also accepts freed blocks that are still used, and returns TLA_NOT_ALLOCATED for a block without a
 * use. */
tla_status tla_segment_cache_begin_use(tla_segment_cache *cache, uint64_t address);
tla_status tla_segment_cache_end_use(tla_segment_cache *cache, uint64_t address, tla_work *work);

/* Returns the bytes of the allocated block at this address, as granted by tla_segment_cache_alloc; 0 when none begins
 * there. */
uint64_t tla_segment_cache_granted(const tla_segment_cache *cache, uint64_t address);

/* Returns the requested bytes of the active block at this address; 0 when none begins there. */
uint64_t tla_segment_cache_requested(const tla_segment_cache *cache, uint64_t address);

/* Sets a function that the cache calls when it waits for all streams. The cache then ends the uses of all freed blocks,
 * in the order of the frees. A function that knows another order ends them first. NULL: no function. */
void tla_segment_cache_on_synchronize(tla_segment_cache *cache, void (*synchronize)(void *context), void *context);

/* Waits for all streams and releases free memory: whole segments, and wholly free granules (empty_cache). After
 * TLA_NO_HOST_MEMORY, and a driver's error, a part may be done; the next call continues. */
tla_status tla_segment_cache_empty(tla_segment_cache *cache, tla_work *work);

/* Limits the bytes of segments from now on, and replaces memory_limit and memory_fraction
 * (set_per_process_memory_fraction in a running program); 0: no limit. Reserved memory above the limit stays until it
 * is released. */
void tla_segment_cache_set_limit(tla_segment_cache *cache, uint64_t nbytes);

tla_segment_cache_stats tla_segment_cache_get_stats(const tla_segment_cache *cache);

/* Copies the counters of another cache: peaks, calls, retries and failures. For a cache that replaces it. */
void tla_segment_cache_carry_counters(tla_segment_cache *cache, const tla_segment_cache *from);

/* Returns whether the cache could serve a request on this stream without the driver. It allocates nothing. */
bool tla_segment_cache_can_serve(const tla_segment_cache *cache, uint64_t stream, uint64_t nbytes);

/* ---- private pools: CUDA graphs and MemPools ---- */

/* The owner of a pool; {0, 0} is the common pool. */
typedef struct tla_segment_pool_id {
    uint64_t a, b;
} tla_segment_pool_id;

/* The differences of a pool. */
typedef struct tla_segment_pool_options {
    bool no_split;      /* blocks are never split */
    bool use_on_oom;    /* other pools search it for a block before they fail */
    bool own_allocator; /* always uses plain segments (a MemPool with an allocator of its own) */
} tla_segment_pool_options;

/* Creates a pool with its own small and large blocks, by the same rules. TLA_OVERLAP when it exists,
 * TLA_INVALID_ARGUMENT for {0, 0}, TLA_NO_HOST_MEMORY. */
tla_status tla_segment_cache_add_pool(tla_segment_cache *cache, tla_segment_pool_id owner,
                                      tla_segment_pool_options options);

/* Retires a pool that no graph uses any more. When the cache releases memory, it releases the pool's free memory behind
 * that of all other pools; a further call moves the pool behind pools retired since. TLA_OUT_OF_RANGE: no such pool. */
tla_status tla_segment_cache_retire_pool(tla_segment_cache *cache, tla_segment_pool_id owner);

/* Between begin and end the cache releases no memory: if the driver fails a request, it fails. Calls nest. */
void tla_segment_cache_begin_capture(tla_segment_cache *cache);
void tla_segment_cache_end_capture(tla_segment_cache *cache);

/* As tla_segment_cache_alloc, from the pool of this owner. TLA_OUT_OF_RANGE when the pool does not exist. */
tla_status tla_segment_cache_alloc_from(tla_segment_cache *cache, tla_segment_pool_id owner, uint64_t stream,
                                        uint64_t nbytes, tla_block *block, tla_work *work);

/* As tla_segment_cache_can_serve, for the pool of this owner; false when the pool does not exist. */
bool tla_segment_cache_can_serve_from(const tla_segment_cache *cache, tla_segment_pool_id owner, uint64_t stream,
                                      uint64_t nbytes);

/* ---- contents of the cache ---- */

typedef enum tla_segment_block_state {
    TLA_SEGMENT_FREE,
    TLA_SEGMENT_ALLOCATED,
    TLA_SEGMENT_PENDING, /* freed by its owner, used by another stream */
    TLA_SEGMENT_UNMAPPED /* addresses of a range without memory */
} tla_segment_block_state;

typedef struct tla_segment_block_info {
    uint64_t address, nbytes;
    uint64_t requested;    /* requested bytes of an allocated or pending block */
    uint64_t segment;      /* address of its segment or range */
    uint64_t segment_size; /* bytes of the segment; for a range all its addresses */
    uint64_t granule;      /* granule of a range; 0: a plain segment */
    uint64_t stream;
    tla_segment_pool_id owner;
    bool small;
    tla_segment_block_state state;
} tla_segment_block_info;

/* Copies every block, by address. *blocks is from malloc, and the caller frees it; NULL without blocks.
 * TLA_NO_HOST_MEMORY. */
tla_status tla_segment_cache_blocks(const tla_segment_cache *cache, tla_segment_block_info **blocks, size_t *count);

/* ---- a state from another source ---- */

/* Adds a segment that the driver allocated before. `blocks` are its allocated and pending blocks by address; the memory
 * between them is free. For a range (granule not 0), segment and segment_size are its addresses. Addresses without a
 * block are then unmapped, so free blocks must be listed too. The argument `of` gives owner, stream, small, segment and
 * segment_size. TLA_INVALID_ARGUMENT for blocks out of order or outside, TLA_OVERLAP for an address that the cache
 * already has. TLA_OUT_OF_RANGE for an owner without a pool, TLA_NO_HOST_MEMORY. After an error nothing has changed. */
tla_status tla_segment_cache_restore(tla_segment_cache *cache, const tla_segment_block_info *of,
                                     const tla_segment_block_info *blocks, size_t count);

/* --- Settings ---
 *
 * Settings of the segment cache in PyTorch's format: PYTORCH_CUDA_ALLOC_CONF, "expandable_segments:True,
 * max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]". */

/* Sets PyTorch's defaults, and the settings of `text`, in *config. The drivers, the device and its bytes and the
 * versions are unchanged. Keys:
 *
 * - expandable_segments, max_split_size_mb, max_non_split_rounding_mb, large_segment_size_mb
 * - garbage_collection_threshold, roundup_power2_divisions, per_process_memory_fraction
 * - keys that do not affect placement are ignored
 *
 * Settings that PyTorch rejects are rejected: TLA_SYNTAX with the column, the found and the expected text; *config is
 * then unchanged. */
tla_status tla_segment_settings_parse(const char *text, tla_segment_cache_config *config, tla_error *error);

/* Prints the settings that differ from the defaults, in the format of tla_segment_settings_parse; "" if all are
 * defaults. `text` is terminated and cut to room; returns the length of the whole text, as snprintf does. */
size_t tla_segment_settings_print(const tla_segment_cache_config *config, char *text, size_t room);

/* Sets the differences of a PyTorch version, and nothing else. Accepted texts:
 *
 * - "newest"
 * - a version from 2.1 on in the format of torch.__version__ ("2.4.1+cu121"); 2.9 and later are the same as the newest
 * - "193400", the newest with the change that #193400 proposes
 *
 * Call it before tla_segment_settings_parse, which parses a key by it. TLA_SYNTAX with the found and the expected text;
 * *config is then unchanged. */
tla_status tla_segment_version_parse(const char *text, tla_segment_cache_config *config, tla_error *error);

/* --- The gap ---
 *
 * The reasons why a cache holds more than its owners use, byte by byte, for one request (the gap of torchrec #4584).
 *
 * It works on a list of blocks, and hence for any cache that can list them: tla_segment_cache_blocks does. */

/* Every byte of reserved - allocated is in exactly one class. */
typedef enum tla_gap_class {
    TLA_GAP_PENDING,    /* freed by its owner, another stream still uses it */
    TLA_GAP_HARD,       /* free, and cannot be released: its segment, or in a range its granule, contains a block */
    TLA_GAP_SOFT,       /* can be released; of the request's stream and pool, but in no sufficiently large block */
    TLA_GAP_STREAM,     /* can be released; of the request's pool and another stream */
    TLA_GAP_OTHER_POOL, /* can be released; of another pool: small, large, or a graph's */
    TLA_GAP_CLASS_COUNT
} tla_gap_class;

/* "pending", "hard", "soft", "stream", "other_pool". */
const char *tla_gap_class_name(tla_gap_class which);

/* A remedy for a class, one sentence without a full stop. */
const char *tla_gap_class_remedy(tla_gap_class which);

typedef struct tla_gap_request {
    uint64_t nbytes; /* rounded: the minimum size of a block */
    uint64_t stream;
    tla_segment_pool_id owner;
    bool small;
    /* The rules that withhold blocks, as in the configuration of the cache. */
    uint64_t max_split_size;         /* 0: none */
    uint64_t max_non_split_rounding; /* 0: 20 MiB */
    bool exempt_expandable;
} tla_gap_request;

typedef struct tla_gap {
    uint64_t reserved;                     /* bytes with memory */
    uint64_t allocated;                    /* in blocks with owners */
    uint64_t requested;                    /* requested bytes of these blocks */
    uint64_t classes[TLA_GAP_CLASS_COUNT]; /* sum: reserved - allocated */
    uint64_t refused; /* in addition: free bytes of the stream and pool in blocks that are large enough, but withheld by
                         the oversize rules */
    uint64_t largest_free; /* the largest free block of the stream and pool */
} tla_gap;

/* Explains the blocks of a cache, listed by address, with whole segments. */
tla_gap tla_gap_explain(const tla_segment_block_info *blocks, size_t count, const tla_gap_request *request);

/* Returns the request that a cache of this configuration would make for nbytes, in the common pool. */
tla_gap_request tla_gap_request_of(const tla_segment_cache_config *config, uint64_t stream, uint64_t nbytes);

/* Returns allocated - requested: the bytes of rounding and of unsplit rests. */
static inline uint64_t tla_gap_slack(const tla_gap *gap) {
    return gap->allocated > gap->requested ? gap->allocated - gap->requested : 0;
}

/* Returns the class with the most bytes; TLA_GAP_CLASS_COUNT when all classes are empty. */
tla_gap_class tla_gap_largest_class(const tla_gap *gap);

#ifdef __cplusplus
}
#endif
#endif
