/* The common state of the files of the segment cache: pools, ranges, and the transitions of free blocks. Internal to
 * model/segments.
 *
 *     segment_cache.c      a request from its beginning to its end; free, uses
 *     segment_blocks.c     transitions between free, pending and live; statistics
 *     segment_rounding.c   the sizes of blocks and of segments
 *     segment_find.c       the choice of a free block for a request
 *     segment_obtain.c     requests to the driver: a segment, more of a range
 *     segment_release.c    releases to the driver: everything, oversize blocks, garbage
 *     segment_state.c      the blocks of a cache, out and in
 *     segment_reason.c     the cause of a failed request
 *     segment_owners.c     private pools */
#ifndef TLMALLOC_SEGMENTS_SEGMENT_POOL_H
#define TLMALLOC_SEGMENTS_SEGMENT_POOL_H

#include "cache/live_addresses.h"
#include "cache/segment.h"
#include "tlmalloc/segments/segment_cache.h"

/* The constants of CUDACachingAllocator.cpp by their names there: bytes, and multiples of tla_segment_unit. */
enum {
    min_block_size = 512,
    small_size = 1,       /* requests up to here are small */
    small_buffer = 2,     /* segment for small requests, granule of a small range */
    large_buffer = 20,    /* segment for medium requests, granule of a large range */
    min_large_alloc = 10, /* from here on a segment of its own */
    round_large = 2
};

/* Returns the configuration's size for PyTorch's mebibyte. */
static inline uint64_t tla_segment_unit(const tla_segment_cache_config *config) {
    return config->unit ? config->unit : UINT64_C(1) << 20;
}

typedef struct tla_segment_pool {
    tla_segment_tree free;     /* mapped free blocks */
    tla_segment_tree unmapped; /* by address */
    uint64_t searches;         /* the clock by which cached blocks age */
} tla_segment_pool;

/* The large and the small pool of one owner. */
typedef struct tla_segment_owner {
    tla_segment_pool_id id;
    tla_segment_pool_options options;
    bool retired; /* no graph uses it */
    tla_segment_pool pools[2];
    struct tla_segment_owner *next; /* in the order in which they were added */
} tla_segment_owner;

struct tla_segment_cache {
    tla_segment_cache_config config; /* resolved: no 0 that stands for something else, but for the limit: UINT64_MAX */
    tla_segment_cache_stats stats;
    tla_segment_owner everybody; /* the first of the list of owners */
    tla_segment_range *ranges;
    tla_live_addresses live; /* active blocks */
    tla_segment_records records;
    tla_segment_block *first_pending, *last_pending; /* freed blocks that are used, in the order of their frees */
    void (*synchronize)(void *context);
    void *synchronize_context;
    uint64_t captures;
    bool bounded; /* there is a memory limit */
};

static inline tla_segment_pool *tla_segment_pool_of(const tla_segment_block *block) {
    return &block->owner->pools[block->small];
}

/* Blocks of plain segments and ranges that are no longer whole count as inactive_split, those of ranges never. */
void tla_segment_add_free(tla_segment_cache *cache, tla_segment_block *block);
void tla_segment_remove_free(tla_segment_cache *cache, tla_segment_block *block);

/* Joins a free neighbour that has memory, or none, as the block has. The neighbour leaves its tree; the block is in
 * none. */
void tla_segment_absorb(tla_segment_cache *cache, tla_segment_block *block, tla_segment_block *neighbour,
                        tla_work *work);

static inline bool tla_segment_is_free(const tla_segment_block *block) {
    return block && !block->live;
}

/* The block that serves a request, still in its tree; NULL when none may be used (get_free_block). */
tla_segment_block *tla_segment_look(const tla_segment_cache *cache, const tla_segment_block *wanted, tla_work *work);

/* A block from the driver for a request, in no tree (alloc_block). Needs tla_segment_obtain_records spare records. */
enum { tla_segment_obtain_records = 3 };
tla_status tla_segment_obtain(tla_segment_cache *cache, const tla_segment_block *wanted, tla_segment_block **block,
                              tla_work *work);

/* Whether a range serves the request with a free block that has memory enough: one that the oversize rules withheld. */
bool tla_segment_has_room_mapped(const tla_segment_cache *cache, const tla_segment_block *wanted);

/* Gives a range up of which nothing has memory; `block` is all of it. */
tla_status tla_segment_drop_range(tla_segment_cache *cache, tla_segment_block *block, tla_work *work);

/* Whether a segment more would be too much for the memory limit. */
bool tla_segment_exceeds_limit(const tla_segment_cache *cache, uint64_t segment);

/* Whether a pool takes expandable segments. */
bool tla_segment_expands(const tla_segment_cache *cache, const tla_segment_owner *owner);

/* Gives a wholly free plain segment back. */
tla_status tla_segment_release(tla_segment_cache *cache, tla_segment_block *block, tla_work *work);

/* The first is release_cached_blocks, which waits for all streams first. The second is release_available_cached_blocks;
 * *enough is true if it released the wanted bytes. The third is garbage_collect_cached_blocks. */
tla_status tla_segment_release_cached(tla_segment_cache *cache, tla_work *work);
tla_status tla_segment_release_oversize(tla_segment_cache *cache, const tla_segment_block *wanted, bool *enough,
                                        tla_work *work);
tla_status tla_segment_collect_garbage(tla_segment_cache *cache, tla_work *work);

/* Releases the free blocks in the pools of one owner; `spare` records stay for the caller. */
tla_status tla_segment_release_owner(tla_segment_cache *cache, tla_segment_owner *owner, size_t spare, tla_work *work);

/* Returns the owner with this id; NULL if no owner has it. */
tla_segment_owner *tla_segment_find_owner(const tla_segment_cache *cache, tla_segment_pool_id id);

/* Ends the uses of a pending block, or of all. */
void tla_segment_end_pending(tla_segment_cache *cache, tla_segment_block *block, tla_work *work);
void tla_segment_complete_pending(tla_segment_cache *cache, tla_work *work);

/* A freed block whose uses have ended joins the free ones (free_block). */
void tla_segment_make_free(tla_segment_cache *cache, tla_segment_block *block, tla_work *work);

/* Adds a live block that its owner has freed to the list of the pending. */
void tla_segment_add_pending(tla_segment_cache *cache, tla_segment_block *block);

/* Counts reserved bytes. */
void tla_segment_count_reserved(tla_segment_cache *cache, uint64_t nbytes);
void tla_segment_count_live(tla_segment_cache *cache, const tla_segment_block *block);

#endif
