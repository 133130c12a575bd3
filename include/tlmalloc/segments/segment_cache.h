/* Segments from a driver, split and coalesced: the rules of PyTorch's CUDACachingAllocator.
 *
 * Requests are rounded to 512 bytes; up to 1 MiB they are served from 2 MiB segments, above from larger ones; the best
 * fit of the same stream is taken, the lowest address among equals; free neighbours join inside a segment; segments
 * stay cached. With expandable segments a pool and stream have one range of addresses, of which as much is mapped as is
 * needed. Addresses are exactly PyTorch's when the driver answers as PyTorch's did, as ties break on the address: an
 * arena gives its own, a replay gives those of a recording.
 * Not thread safe; one owner at a time. */
#ifndef TLMALLOC_SEGMENTS_SEGMENT_CACHE_H
#define TLMALLOC_SEGMENTS_SEGMENT_CACHE_H

#include "tlmalloc/cache/upstream.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_segment_cache tla_segment_cache;

/* Intervals of roundup_power2_divisions: sizes below 2 MiB, then one for each power of two, the last from 32 GiB on. */
enum { TLA_SEGMENT_DIVISIONS = 16 };

#define TLA_SEGMENT_UNIT_MAX (UINT64_C(1) << 40) /* bytes */

/* All zero, but for the driver, is PyTorch's default. */
typedef struct tla_segment_cache_config {
    tla_upstream driver;     /* must outlive the cache */
    uint32_t device;         /* handed to the driver */
    uint64_t memory_limit;   /* the most bytes of segments; 0: no limit */
    double memory_fraction;  /* of device_bytes, instead of memory_limit (set_per_process_memory_fraction); 0: none */
    uint64_t device_bytes;   /* memory of the device: for the fraction, and for the length of a range; 0: unknown, and a
                                range is as long as one of a device of 1 TiB */
    uint64_t max_split_size; /* bytes; larger blocks are never split (max_split_size_mb); 0: no limit, else at least 20
                                MiB */
    uint64_t max_non_split_rounding; /* bytes that a block above max_split_size may be too large
                                        (max_non_split_rounding_mb); 0: 20 MiB, and no less */
    uint64_t large_segment_size;     /* bytes of a segment for requests below 10 MiB, and of a granule of a large range
                                        (large_segment_size_mb); 0: 20 MiB, else above 10 MiB; with expandable a
                                        multiple of 2 MiB */
    uint64_t unit; /* bytes that stand for PyTorch's mebibyte in its fixed sizes (small requests up to 1 MiB, segments
                      of 2 and 20 MiB, from 10 MiB on multiples of 2 MiB, and the least of the three sizes above), so
                      that a memory of a few MiB has segments in proportion; a multiple of 512, at most
                      TLA_SEGMENT_UNIT_MAX; 0: 1 MiB. Expandable segments are mapped by pages of 2 MiB: 0 there */
    double gc_threshold; /* part of the limit: above it, old cached segments are given back before a new one is taken
                            (garbage_collection_threshold); below 1; 0, or no limit: never */
    uint32_t
        power2_divisions[TLA_SEGMENT_DIVISIONS]; /* round to so many steps between powers of two
                                                    (roundup_power2_divisions); 0 or 1: to 512; else powers of two */
    bool expandable;                             /* expandable_segments; needs `ranges` */
    tla_upstream_ranges ranges;                  /* must outlive the cache */
    /* What PyTorch's versions do differently; all false is the newest. */
    bool private_not_expandable; /* up to 2.4: the pools of graphs take plain segments */
    bool aborts_on_expandable;   /* up to 2.4: giving back oversize blocks and garbage collection cannot cope with
                                    expandable ones (#119452): the request fails with TLA_UNSUPPORTED */
    bool rest_includes_named;    /* up to 2.8: '>' in roundup_power2_divisions also holds for the interval named before
                                    it; read by tla_segment_settings_parse alone */
    bool exempt_expandable;      /* proposed in #193400: while expandable is on, the oversize rules do not withhold
                                    expandable blocks */
} tla_segment_cache_config;

typedef struct tla_segment_cache_stats {
    uint64_t requested;      /* bytes asked for in allocated blocks */
    uint64_t allocated;      /* bytes in blocks that their owners have not freed */
    uint64_t active;         /* allocated, and freed blocks that another stream still uses */
    uint64_t reserved;       /* bytes in segments, mapped bytes of ranges */
    uint64_t inactive_split; /* bytes in free blocks that share their segment: they cannot be given back; expandable
                                ones do not count */
    uint64_t segments;       /* ranges not among them */
    uint64_t ranges;
    uint64_t peak_requested, peak_allocated, peak_reserved;
    uint64_t driver_allocs, driver_frees; /* segments taken and given back */
    uint64_t maps, unmaps;                /* calls of the range driver that mapped or unmapped something */
    uint64_t retries;  /* requests for which all cached segments were given back (num_alloc_retries) */
    uint64_t failures; /* requests that failed for want of memory (num_ooms) */
} tla_segment_cache_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *cache is NULL then. */
tla_status tla_segment_cache_create(const tla_segment_cache_config *config, tla_segment_cache **cache);

/* Gives every segment back to the driver and the cache's own memory; NULL is allowed. TLA_LEAK when there were active
 * blocks. */
tla_status tla_segment_cache_destroy(tla_segment_cache *cache);

/* Gives back the cache's own memory and nothing to the driver, as a process does that ends; NULL is allowed. */
void tla_segment_cache_abandon(tla_segment_cache *cache);

/* What a request of nbytes takes: below 512 bytes 512, else the next multiple of 512; with power-of-two divisions, and
 * above 512 bytes times their number, the next of so many equal steps between two powers of two. 0 when it does not fit
 * in 2^63. */
uint64_t tla_segment_cache_round(uint64_t nbytes, uint32_t power2_divisions);

/* The same, the divisions taken from a configuration. */
uint64_t tla_segment_cache_round_with(uint64_t nbytes, const tla_segment_cache_config *config);

/* What the driver is asked for when no cached block fits a rounded size: 2 MiB up to 1 MiB, 20 MiB below 10 MiB, else
 * the next multiple of 2 MiB. */
uint64_t tla_segment_cache_segment_size(uint64_t rounded);

/* The same, large_segment_size taken from a configuration. */
uint64_t tla_segment_cache_segment_size_with(uint64_t rounded, const tla_segment_cache_config *config);

/* Takes a block of at least nbytes on a stream; *block is what was taken: a large block may keep up to 1 MiB more than
 * was asked for. Work: the probes of a search in a balanced tree, nodes visited where a walk goes on from there,
 * splits, a metadata line a block written, and what the driver does. TLA_INVALID_ARGUMENT for 0 bytes; TLA_EXHAUSTED
 * for more than 2^62, as PyTorch is out of memory past 1 EB; TLA_LIMIT when the memory limit is in the way; else what
 * the driver says. Nothing is taken then, but cached segments may have been given back, pending blocks may have been
 * completed, and of an expandable range a part may have been mapped, which is a free block. TLA_NO_HOST_MEMORY: nothing
 * is changed, unless memory was to be given back for the request or a range to be mapped in parts: then the same may
 * have been done. */
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
 * ended, or until the cache gives memory back, which waits for all streams. TLA_NOT_ALLOCATED as above; end_use also
 * takes freed blocks that are still used, and says TLA_NOT_ALLOCATED when the block has no use to end. */
tla_status tla_segment_cache_begin_use(tla_segment_cache *cache, uint64_t address);
tla_status tla_segment_cache_end_use(tla_segment_cache *cache, uint64_t address, tla_work *work);

/* Bytes of the allocated block at this address, as tla_segment_cache_alloc gave it; 0 when none begins there. */
uint64_t tla_segment_cache_granted(const tla_segment_cache *cache, uint64_t address);

/* Bytes that were asked for in the active block at this address; 0 when none begins there. */
uint64_t tla_segment_cache_requested(const tla_segment_cache *cache, uint64_t address);

/* Called when the cache waits for all streams, before it ends the uses of every freed block itself, in the order of the
 * frees: whoever knows another order ends them here. NULL: nobody does. */
void tla_segment_cache_on_synchronize(tla_segment_cache *cache, void (*synchronize)(void *context), void *context);

/* Waits for all streams and gives back what is free: whole segments, and wholly free granules (empty_cache).
 * TLA_NO_HOST_MEMORY, and what the driver says: a part may have been done, which the next call goes on with. */
tla_status tla_segment_cache_empty(tla_segment_cache *cache, tla_work *work);

/* From now on at most so many bytes of segments, whatever memory_limit or memory_fraction were
 * (set_per_process_memory_fraction in a running program); 0: no limit. What is reserved above it stays until it is
 * given back. */
void tla_segment_cache_set_limit(tla_segment_cache *cache, uint64_t nbytes);

tla_segment_cache_stats tla_segment_cache_get_stats(const tla_segment_cache *cache);

/* Takes over what another cache has counted: peaks, calls, retries and failures. For a cache that goes on in its place.
 */
void tla_segment_cache_carry_counters(tla_segment_cache *cache, const tla_segment_cache *from);

/* What a request on this stream would find in the cache, without taking it: whether it needs nothing from the driver.
 */
bool tla_segment_cache_can_serve(const tla_segment_cache *cache, uint64_t stream, uint64_t nbytes);

/* ---- private pools: CUDA graphs and MemPools ---- */

/* The owner of a pool; {0, 0} is everybody's pool. */
typedef struct tla_segment_pool_id {
    uint64_t a, b;
} tla_segment_pool_id;

/* How a pool differs. */
typedef struct tla_segment_pool_options {
    bool no_split;      /* blocks are never split */
    bool use_on_oom;    /* others look for a block in it before they fail */
    bool own_allocator; /* takes plain segments always (a MemPool with an allocator of its own) */
} tla_segment_pool_options;

/* A pool of its own small and large blocks, by the same rules. TLA_OVERLAP when it exists, TLA_INVALID_ARGUMENT for
 * {0, 0}, TLA_NO_HOST_MEMORY. */
tla_status tla_segment_cache_add_pool(tla_segment_cache *cache, tla_segment_pool_id owner,
                                      tla_segment_pool_options options);

/* No graph uses the pool any more: its free memory goes back when memory is given back, and with the last of it the
 * pool. TLA_OUT_OF_RANGE when there is no such pool. */
tla_status tla_segment_cache_retire_pool(tla_segment_cache *cache, tla_segment_pool_id owner);

/* Between begin and end no memory is given back: a request that the driver refuses fails. They nest. */
void tla_segment_cache_begin_capture(tla_segment_cache *cache);
void tla_segment_cache_end_capture(tla_segment_cache *cache);

/* As tla_segment_cache_alloc, from the pool of this owner. TLA_OUT_OF_RANGE when there is no such pool. */
tla_status tla_segment_cache_alloc_from(tla_segment_cache *cache, tla_segment_pool_id owner, uint64_t stream,
                                        uint64_t nbytes, tla_block *block, tla_work *work);

/* As tla_segment_cache_can_serve, of the pool of this owner; false when there is none. */
bool tla_segment_cache_can_serve_from(const tla_segment_cache *cache, tla_segment_pool_id owner, uint64_t stream,
                                      uint64_t nbytes);

/* ---- what is in the cache ---- */

typedef enum tla_segment_block_state {
    TLA_SEGMENT_FREE,
    TLA_SEGMENT_ALLOCATED,
    TLA_SEGMENT_PENDING, /* freed by its owner, used by another stream */
    TLA_SEGMENT_UNMAPPED /* addresses of a range without memory */
} tla_segment_block_state;

typedef struct tla_segment_block_info {
    uint64_t address, nbytes;
    uint64_t requested;    /* of an allocated or pending block */
    uint64_t segment;      /* address of the segment or range that it is a part of */
    uint64_t segment_size; /* bytes of it; of a range all addresses */
    uint64_t granule;      /* of a range; 0: a plain segment */
    uint64_t stream;
    tla_segment_pool_id owner;
    bool small;
    tla_segment_block_state state;
} tla_segment_block_info;

/* Copies every block, by address. *blocks is from malloc and the caller's to free; NULL when there are none.
 * TLA_NO_HOST_MEMORY. */
tla_status tla_segment_cache_blocks(const tla_segment_cache *cache, tla_segment_block_info **blocks, size_t *count);

/* ---- a state from elsewhere ---- */

/* Puts a segment that the driver gave before into the cache: `blocks` are its allocated and pending blocks by address,
 * what lies between them is free. Of a range (granule not 0): segment and segment_size are its addresses, and what no
 * block covers is unmapped, so that free blocks are listed too. owner, stream and small are those of the first block
 * argument `of`, which also gives segment and segment_size. TLA_INVALID_ARGUMENT for blocks out of order or outside,
 * TLA_OVERLAP for an address that the cache has, TLA_OUT_OF_RANGE for an owner without a pool, TLA_NO_HOST_MEMORY:
 * nothing is changed. */
tla_status tla_segment_cache_restore(tla_segment_cache *cache, const tla_segment_block_info *of,
                                     const tla_segment_block_info *blocks, size_t count);

/* --- Settings ---
 *
 * Settings of the segment cache as PyTorch writes them: PYTORCH_CUDA_ALLOC_CONF, "expandable_segments:True,
 * max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]". */

/* Puts PyTorch's defaults, and what `text` sets, into *config; the drivers, the device and its bytes and the versions
 * stay. Keys: expandable_segments, max_split_size_mb, max_non_split_rounding_mb, large_segment_size_mb,
 * garbage_collection_threshold, roundup_power2_divisions, per_process_memory_fraction; keys that say nothing about
 * placement are read over. What PyTorch refuses is refused: TLA_SYNTAX with the column, what was found and what was
 * expected; *config is as it was then. */
tla_status tla_segment_settings_parse(const char *text, tla_segment_cache_config *config, tla_error *error);

/* Writes the settings that differ from the defaults, as tla_segment_settings_parse reads them; "" for none. `text` is
 * terminated and cut to room; returns the length of the whole, as snprintf does. */
size_t tla_segment_settings_print(const tla_segment_cache_config *config, char *text, size_t room);

/* Sets what PyTorch's versions do differently, and nothing else: "newest"; a version from 2.1 on as torch.__version__
 * tells it ("2.4.1+cu121"; 2.9 and later are as the newest); "193400", the newest with the change that #193400
 * proposes. To be called before tla_segment_settings_parse, which reads a key by it. TLA_SYNTAX with what was found and
 * what was expected; *config is as it was then. */
tla_status tla_segment_version_parse(const char *text, tla_segment_cache_config *config, tla_error *error);

/* --- The gap ---
 *
 * Why a cache holds more than its owners use, byte by byte, as one request sees it (the gap of torchrec #4584).
 *
 * Works on a list of blocks, so on any cache that can list them: tla_segment_cache_blocks does. */

/* Every byte of reserved - allocated is in exactly one class. */
typedef enum tla_gap_class {
    TLA_GAP_PENDING,    /* freed by its owner, another stream still uses it */
    TLA_GAP_HARD,       /* free, and cannot be given back: its segment, or in a range its granule, holds a block */
    TLA_GAP_SOFT,       /* can be given back; of the request's stream and pool, but in no piece that was large enough */
    TLA_GAP_STREAM,     /* can be given back; of the request's pool and another stream */
    TLA_GAP_OTHER_POOL, /* can be given back; of another pool: small, large, or a graph's */
    TLA_GAP_CLASS_COUNT
} tla_gap_class;

/* "pending", "hard", "soft", "stream", "other_pool". */
const char *tla_gap_class_name(tla_gap_class which);

/* What helps against a class, one sentence without a full stop. */
const char *tla_gap_class_remedy(tla_gap_class which);

typedef struct tla_gap_request {
    uint64_t nbytes; /* rounded: what a block must have at least */
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
    uint64_t allocated;                    /* in blocks of their owners */
    uint64_t requested;                    /* of them asked for */
    uint64_t classes[TLA_GAP_CLASS_COUNT]; /* sum: reserved - allocated */
    uint64_t refused;      /* besides: free bytes of the stream and pool in blocks that are large enough and
                              that the oversize rules withhold */
    uint64_t largest_free; /* the largest free block of the stream and pool */
} tla_gap;

/* The blocks of a cache by address, every segment whole. */
tla_gap tla_gap_explain(const tla_segment_block_info *blocks, size_t count, const tla_gap_request *request);

/* The request that a cache of this configuration would make of nbytes, in everybody's pool. */
tla_gap_request tla_gap_request_of(const tla_segment_cache_config *config, uint64_t stream, uint64_t nbytes);

/* allocated - requested: what rounding and unsplit rests take. */
static inline uint64_t tla_gap_slack(const tla_gap *gap) {
    return gap->allocated > gap->requested ? gap->allocated - gap->requested : 0;
}

/* The class with the most bytes; TLA_GAP_CLASS_COUNT when there are none in any. */
tla_gap_class tla_gap_largest_class(const tla_gap *gap);

#ifdef __cplusplus
}
#endif
#endif
