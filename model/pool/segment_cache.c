/* Find a cached block; else garbage collection, a new segment, and what PyTorch gives back before it gives up. */
#include "tlmalloc/segment_cache.h"

#include "address_map.h"
#include "driver_reason.h"
#include "segment.h"

#include <inttypes.h>
#include <stdlib.h>

/* Bytes; the constants of CUDACachingAllocator.cpp by their names there. */
enum {
    min_block_size = 512,
    small_size = 1 << 20,       /* requests up to here are small */
    small_buffer = 2 << 20,     /* segment for small requests */
    large_buffer = 20 << 20,    /* segment for medium requests, and the slack of an oversize block */
    min_large_alloc = 10 << 20, /* from here on a segment of its own */
    round_large = 2 << 20
};

static const uint64_t largest_request = (uint64_t)1 << 62;

struct tla_segment_cache {
    tla_segment_cache_config config;
    tla_segment_cache_stats stats;
    tla_segment_tree free[2]; /* large, small */
    uint64_t searches[2];     /* the clock by which cached blocks age */
    tla_address_map live;     /* active blocks */
    tla_segment_records records;
};

tla_status tla_segment_cache_create(const tla_segment_cache_config *config, tla_segment_cache **out) {
    *out = NULL;
    const tla_segment_cache_config *c = config;
    if (!c->driver.alloc || !c->driver.free || c->gc_permille > 1000 || (c->gc_permille && !c->memory_limit) ||
        (c->max_split_size && c->max_split_size <= large_buffer) || (c->power2_divisions & (c->power2_divisions - 1)))
        return TLA_INVALID_ARGUMENT;
    tla_segment_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return TLA_NO_HOST_MEMORY;
    cache->config = *c;
    if (!c->max_split_size) cache->config.max_split_size = UINT64_MAX;
    *out = cache;
    return TLA_OK;
}

uint64_t tla_segment_cache_round(uint64_t nbytes, uint32_t power2_divisions) {
    if (nbytes > largest_request) return 0;
    if (nbytes < min_block_size) return min_block_size;
    if (power2_divisions < 2 || nbytes <= (uint64_t)min_block_size * power2_divisions)
        return (nbytes + min_block_size - 1) / min_block_size * min_block_size;
    uint64_t floor = (uint64_t)1 << (63 - __builtin_clzll(nbytes));
    uint64_t step = floor >> (31 - __builtin_clz(power2_divisions));
    return (nbytes + step - 1) & ~(step - 1);
}

uint64_t tla_segment_cache_segment_size(uint64_t rounded) {
    if (rounded <= small_size) return small_buffer;
    if (rounded < min_large_alloc) return large_buffer;
    return (rounded + round_large - 1) / round_large * round_large;
}

/* Free blocks enter and leave their tree here, where inactive_split is kept. */
static void add_free(tla_segment_cache *cache, tla_segment_block *block) {
    block->live = false;
    block->age_base = cache->searches[block->small];
    if (!tla_segment_block_is_whole(block)) cache->stats.inactive_split += block->nbytes;
    tla_segment_tree_insert(&cache->free[block->small], block);
}

static void remove_free(tla_segment_cache *cache, tla_segment_block *block) {
    if (!tla_segment_block_is_whole(block)) cache->stats.inactive_split -= block->nbytes;
    tla_segment_tree_remove(&cache->free[block->small], block);
}

/* Gives a wholly free segment back. */
static tla_status release(tla_segment_cache *cache, tla_segment_block *block, tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    tla_status status = c->driver.free(c->driver.context, c->device, block->address, block->nbytes, work);
    if (status) return status;
    cache->stats.reserved -= block->nbytes;
    cache->stats.segments--;
    cache->stats.driver_frees++;
    remove_free(cache, block);
    tla_segment_records_give(&cache->records, block);
    return TLA_OK;
}

/* Every whole segment, the large ones first (release_cached_blocks). */
static tla_status release_all(tla_segment_cache *cache, tla_work *work) {
    for (int small = 0; small < 2; small++) {
        tla_segment_block *next, *block = tla_segment_tree_first(&cache->free[small]);
        for (; block; block = next) {
            next = tla_segment_tree_after(&cache->free[small], block);
            tla_status status = tla_segment_block_is_whole(block) ? release(cache, block, work) : TLA_OK;
            if (status) return status;
        }
    }
    return TLA_OK;
}

/* With a max_split_size: one oversize cached block that is large enough, else several, the largest first
 * (release_available_cached_blocks). *enough says whether as much as was wanted went back. */
static tla_status release_oversize(tla_segment_cache *cache, const tla_segment_block *wanted, bool *enough,
                                   tla_work *work) {
    uint64_t max_split = cache->config.max_split_size;
    *enough = false;
    if (max_split == UINT64_MAX) return TLA_OK;
    tla_segment_tree *tree = &cache->free[wanted->small];
    tla_segment_block key = *wanted;
    if (key.nbytes < max_split) key.nbytes = max_split;
    tla_segment_block *block = tla_segment_tree_lower_bound(tree, &key);
    if (block && block->stream == key.stream) {
        *enough = true;
        return release(cache, block, work);
    }
    uint64_t released = 0;
    block = tla_segment_tree_below(tree, &key);
    while (block && released < key.nbytes && block->nbytes >= max_split && block->stream == key.stream) {
        released += block->nbytes;
        tla_segment_block *below = tla_segment_tree_below(tree, block);
        tla_status status = release(cache, block, work);
        if (status) return status;
        block = below;
    }
    *enough = released >= key.nbytes;
    return TLA_OK;
}

/* Gives back the large whole segments that are at least as old as the average, until what is reserved is under the
 * threshold (garbage_collect_cached_blocks). Ages are counted in searches. */
static tla_status collect_garbage(tla_segment_cache *cache, tla_work *work) {
    /* limit * permille / 1000 without overflow */
    uint64_t limit = cache->config.memory_limit, permille = cache->config.gc_permille;
    uint64_t threshold = limit / 1000 * permille + limit % 1000 * permille / 1000;
    if (!permille || cache->stats.reserved <= threshold) return TLA_OK;
    uint64_t target = cache->stats.reserved - threshold, reclaimed = 0, ages = 0, count = 0;
    tla_segment_tree *tree = &cache->free[false];
    tla_segment_block *block = tla_segment_tree_first(tree);
    for (; block; block = tla_segment_tree_after(tree, block)) {
        if (!tla_segment_block_is_whole(block)) continue;
        ages += cache->searches[false] - block->age_base;
        count++;
    }
    for (bool freed = true; reclaimed < target && freed && count > 0;) {
        double average = (double)ages / (double)count;
        freed = false;
        tla_segment_block *next;
        for (block = tla_segment_tree_first(tree); block; block = next) {
            next = tla_segment_tree_after(tree, block);
            uint64_t age = cache->searches[false] - block->age_base;
            if (!tla_segment_block_is_whole(block) || (double)age < average) continue;
            reclaimed += block->nbytes;
            ages -= age;
            count--;
            freed = true;
            tla_status status = release(cache, block, work);
            if (status) return status;
        }
    }
    return TLA_OK;
}

/* The best fit of the stream, taken out of its tree; NULL when none may be used (get_free_block). */
static tla_segment_block *find(tla_segment_cache *cache, const tla_segment_block *wanted, tla_work *work) {
    tla_segment_tree *tree = &cache->free[wanted->small];
    cache->searches[wanted->small]++;
    if (work) {
        work->probes += tla_segment_tree_probes(tree);
        work->list_length += tree->count;
    }
    tla_segment_block *block = tla_segment_tree_lower_bound(tree, wanted);
    if (!block || block->stream != wanted->stream) return NULL;
    uint64_t max_split = cache->config.max_split_size;
    if (wanted->nbytes < max_split && block->nbytes >= max_split) return NULL;
    if (wanted->nbytes >= max_split && block->nbytes >= wanted->nbytes + large_buffer) return NULL;
    remove_free(cache, block);
    return block;
}

static bool exceeds_limit(const tla_segment_cache *cache, uint64_t segment) {
    uint64_t limit = cache->config.memory_limit;
    return limit && (segment > limit || cache->stats.reserved > limit - segment);
}

/* A new segment as one block (alloc_block). */
static tla_status take_segment(tla_segment_cache *cache, const tla_segment_block *wanted, tla_segment_block **block,
                               tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    tla_segment_cache_stats *stats = &cache->stats;
    uint64_t address, nbytes = tla_segment_cache_segment_size(wanted->nbytes);
    if (exceeds_limit(cache, nbytes)) return TLA_LIMIT;
    tla_status status = c->driver.alloc(c->driver.context, c->device, nbytes, &address, work);
    if (status) return status;
    *block = tla_segment_records_take(&cache->records);
    **block =
        (tla_segment_block){.address = address, .nbytes = nbytes, .stream = wanted->stream, .small = wanted->small};
    stats->driver_allocs++;
    stats->segments++;
    stats->reserved += nbytes;
    if (stats->reserved > stats->peak_reserved) stats->peak_reserved = stats->reserved;
    if (work) work->metadata_lines++;
    return TLA_OK;
}

static bool wants_memory(tla_status status) {
    return status == TLA_EXHAUSTED || status == TLA_FRAGMENTED || status == TLA_LIMIT;
}

static tla_status get_block(tla_segment_cache *cache, const tla_segment_block *wanted, tla_segment_block **block,
                            tla_work *work) {
    *block = find(cache, wanted, work);
    if (*block) return TLA_OK;
    tla_status status = collect_garbage(cache, work);
    if (status) return status;
    tla_status failure = take_segment(cache, wanted, block, work);
    if (!wants_memory(failure)) return failure;
    bool enough;
    status = release_oversize(cache, wanted, &enough, work);
    if (status) return status;
    if (enough) failure = take_segment(cache, wanted, block, work);
    if (!wants_memory(failure)) return failure;
    status = release_all(cache, work);
    if (status) return status;
    cache->stats.retries++;
    failure = take_segment(cache, wanted, block, work);
    if (wants_memory(failure)) cache->stats.failures++;
    return failure;
}

static bool should_split(const tla_segment_cache *cache, const tla_segment_block *block, uint64_t nbytes) {
    uint64_t rest = block->nbytes - nbytes;
    if (block->small) return rest >= min_block_size;
    return nbytes < cache->config.max_split_size && rest > small_size;
}

tla_status tla_segment_cache_alloc(tla_segment_cache *cache, uint64_t stream, uint64_t nbytes, tla_block *out,
                                   tla_work *work) {
    uint64_t size = tla_segment_cache_round(nbytes, cache->config.power2_divisions);
    if (nbytes == 0 || size == 0) return TLA_INVALID_ARGUMENT;
    /* All host memory first: one record for a new segment, one for the front of a split. */
    tla_status status = tla_segment_records_reserve(&cache->records, 2);
    if (!status) status = tla_address_map_reserve(&cache->live);
    if (status) return status;
    tla_segment_block *block = NULL, wanted = {.nbytes = size, .stream = stream, .small = size <= small_size};
    status = get_block(cache, &wanted, &block, work);
    if (status) return status;
    if (should_split(cache, block, size)) {
        tla_segment_block *rest = block;
        block = tla_segment_records_take(&cache->records);
        tla_segment_split(rest, size, block);
        add_free(cache, rest);
        if (work) {
            work->splits++;
            work->metadata_lines++;
        }
    }
    block->live = true;
    block->freed = false;
    block->uses = 0;
    block->requested = nbytes;
    tla_address_map_put(&cache->live, block->address, block);
    tla_segment_cache_stats *stats = &cache->stats;
    stats->requested += nbytes;
    stats->active += block->nbytes;
    stats->allocated += block->nbytes;
    if (stats->allocated > stats->peak_allocated) stats->peak_allocated = stats->allocated;
    if (work) work->metadata_lines++;
    *out = (tla_block){block->address, block->nbytes};
    return TLA_OK;
}

tla_status tla_segment_cache_explain(const tla_segment_cache *cache, const char *what, uint64_t nbytes,
                                     tla_error *error) {
    const tla_segment_cache_config *c = &cache->config;
    const tla_segment_cache_stats *s = &cache->stats;
    uint64_t size = tla_segment_cache_round(nbytes, c->power2_divisions);
    if (nbytes == 0 || size == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: requested %" PRIu64 " bytes, expected 1 .. 2^62", what,
                             nbytes);
    uint64_t segment = tla_segment_cache_segment_size(size), cached = s->reserved - s->active;
    if (!exceeds_limit(cache, segment))
        return tla_driver_reason(
            &c->driver, c->device, nbytes, segment, error,
            "%s overflow: requested %" PRIu64 " bytes, no cached block serves them (%" PRIu64 " bytes cached, %" PRIu64
            " of them in segments that are in use); asked the driver for a segment of %" PRIu64 " bytes",
            what, nbytes, cached, s->inactive_split, segment);
    tla_error_set(error, TLA_LIMIT,
                  "%s overflow: requested %" PRIu64 " bytes, no cached block serves them (%" PRIu64
                  " bytes cached); a segment of %" PRIu64 " bytes beside the %" PRIu64
                  " reserved would exceed memory_limit, %" PRIu64,
                  what, nbytes, cached, segment, s->reserved, c->memory_limit);
    if (error) error->requested = nbytes;
    return TLA_LIMIT;
}

/* Joins a free neighbour. The order does not matter: the outcome is one block. */
static void join(tla_segment_cache *cache, tla_segment_block *block, tla_segment_block *neighbour, tla_work *work) {
    if (!neighbour || neighbour->live) return;
    remove_free(cache, neighbour);
    tla_segment_join(block, neighbour);
    tla_segment_records_give(&cache->records, neighbour);
    if (work) {
        work->merges++;
        work->metadata_lines++;
    }
}

/* The owner has freed the block and nobody else uses it (free_block). */
static void make_free(tla_segment_cache *cache, tla_segment_block *block, tla_work *work) {
    tla_address_map_remove(&cache->live, block->address);
    cache->stats.active -= block->nbytes;
    if (work) {
        work->list_length += cache->free[block->small].count;
        work->probes += tla_segment_tree_probes(&cache->free[block->small]);
        work->metadata_lines++;
    }
    join(cache, block, block->previous, work);
    join(cache, block, block->next, work);
    add_free(cache, block);
}

tla_status tla_segment_cache_free(tla_segment_cache *cache, uint64_t address, tla_work *work) {
    tla_segment_block *block = tla_address_map_get(&cache->live, address);
    if (!block || block->freed) return TLA_NOT_ALLOCATED;
    block->freed = true;
    cache->stats.allocated -= block->nbytes;
    cache->stats.requested -= block->requested;
    if (block->uses == 0) make_free(cache, block, work);
    return TLA_OK;
}

tla_status tla_segment_cache_begin_use(tla_segment_cache *cache, uint64_t address) {
    tla_segment_block *block = tla_address_map_get(&cache->live, address);
    if (!block || block->freed) return TLA_NOT_ALLOCATED;
    block->uses++;
    return TLA_OK;
}

tla_status tla_segment_cache_end_use(tla_segment_cache *cache, uint64_t address, tla_work *work) {
    tla_segment_block *block = tla_address_map_get(&cache->live, address);
    if (!block || block->uses == 0) return TLA_NOT_ALLOCATED;
    if (--block->uses == 0 && block->freed) make_free(cache, block, work);
    return TLA_OK;
}

tla_status tla_segment_cache_empty(tla_segment_cache *cache, tla_work *work) {
    return release_all(cache, work);
}

tla_segment_cache_stats tla_segment_cache_get_stats(const tla_segment_cache *cache) {
    return cache->stats;
}

tla_status tla_segment_cache_destroy(tla_segment_cache *cache) {
    if (!cache) return TLA_OK;
    tla_status status = cache->live.count ? TLA_LEAK : TLA_OK;
    size_t at = 0;
    for (tla_segment_block *block; (block = tla_address_map_walk(&cache->live, &at)) != NULL;) {
        join(cache, block, block->previous, NULL);
        join(cache, block, block->next, NULL);
        add_free(cache, block);
    }
    tla_status released = release_all(cache, NULL);
    for (int small = 0; small < 2; small++) /* left over only when the driver failed */
        while (cache->free[small].root) {
            tla_segment_block *block = cache->free[small].root;
            tla_segment_tree_remove(&cache->free[small], block);
            free(block);
        }
    tla_segment_records_clear(&cache->records);
    tla_address_map_clear(&cache->live);
    free(cache);
    return status ? status : released;
}
