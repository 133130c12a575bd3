/* A request from its beginning to its end: a cached block, else garbage collection, a new segment, and the blocks that
 * PyTorch releases before it fails. */
#include "segment_pool.h"

#include <stdlib.h>

static bool is_sound(const tla_segment_cache_config *c) {
    const uint64_t unit = tla_segment_unit(c);
    if (unit % min_block_size || unit > TLA_SEGMENT_UNIT_MAX) return false;
    if (!c->driver.alloc || !c->driver.free) return false;
    if (c->expandable && (!c->ranges.reserve || !c->ranges.release || !c->ranges.map || !c->ranges.unmap)) return false;
    if (!(c->gc_threshold >= 0 && c->gc_threshold < 1)) return false;
    if (!(c->memory_fraction >= 0 && c->memory_fraction <= 1)) return false;
    if (c->memory_fraction > 0 && (c->memory_limit || !c->device_bytes)) return false;
    if (c->max_split_size && c->max_split_size < large_buffer * unit) return false;
    if (c->max_non_split_rounding && c->max_non_split_rounding < large_buffer * unit) return false;
    if (c->large_segment_size && c->large_segment_size <= min_large_alloc * unit) return false;
    if (c->expandable && c->unit) return false;
    if (c->expandable && c->large_segment_size % (round_large * unit)) return false;
    for (int i = 0; i < TLA_SEGMENT_DIVISIONS; i++)
        if (c->power2_divisions[i] & (c->power2_divisions[i] - 1)) return false;
    return true;
}

tla_status tla_segment_cache_create(const tla_segment_cache_config *config, tla_segment_cache **out) {
    *out = NULL;
    if (!is_sound(config)) return TLA_INVALID_ARGUMENT;
    tla_segment_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return TLA_NO_HOST_MEMORY;
    tla_segment_cache_config *c = &cache->config;
    *c = *config;
    c->unit = tla_segment_unit(config);
    cache->bounded = c->memory_limit || c->memory_fraction > 0;
    if (c->memory_fraction > 0) c->memory_limit = (uint64_t)(c->memory_fraction * (double)c->device_bytes);
    if (!c->device_bytes) c->device_bytes = (uint64_t)1 << 40;
    if (!c->max_split_size) c->max_split_size = UINT64_MAX;
    if (!c->max_non_split_rounding) c->max_non_split_rounding = large_buffer * c->unit;
    if (!c->large_segment_size) c->large_segment_size = large_buffer * c->unit;
    cache->everybody.pools[0].unmapped.by_address = cache->everybody.pools[1].unmapped.by_address = true;
    *out = cache;
    return TLA_OK;
}

/* A request */

static tla_segment_block wanted_of(const tla_segment_cache *cache, uint64_t stream, uint64_t size) {
    return (tla_segment_block){.nbytes = size, .stream = stream, .small = size <= small_size * cache->config.unit};
}

static bool wants_memory(tla_status status) {
    return status == TLA_EXHAUSTED || status == TLA_FRAGMENTED || status == TLA_LIMIT;
}

/* Takes the block that tla_segment_look found out of its tree; NULL without such a block. */
static tla_segment_block *find(tla_segment_cache *cache, const tla_segment_block *wanted, tla_work *work) {
    tla_segment_pool_of(wanted)->searches++;
    tla_segment_block *block = tla_segment_look(cache, wanted, work);
    if (block) tla_segment_remove_free(cache, block);
    return block;
}

/* A block of a pool that others may use before they fail. */
static tla_segment_block *borrow(tla_segment_cache *cache, const tla_segment_block *wanted, tla_work *work) {
    for (tla_segment_owner *owner = cache->everybody.next; owner; owner = owner->next) {
        if (!owner->options.use_on_oom || owner == wanted->owner) continue;
        tla_segment_block there = *wanted;
        there.owner = owner;
        tla_segment_block *block = find(cache, &there, work);
        if (block) return block;
    }
    return NULL;
}

static tla_status get_block(tla_segment_cache *cache, const tla_segment_block *wanted, tla_segment_block **block,
                            tla_work *work) {
    *block = find(cache, wanted, work);
    if (*block) return TLA_OK;
    tla_status status = tla_segment_collect_garbage(cache, work);
    if (status) return status;
    tla_status failure = tla_segment_obtain(cache, wanted, block, work);
    if (!wants_memory(failure)) return failure;
    *block = borrow(cache, wanted, work);
    if (*block) return TLA_OK;
    bool enough;
    status = tla_segment_release_oversize(cache, wanted, &enough, work);
    if (status) return status;
    if (enough) failure = tla_segment_obtain(cache, wanted, block, work);
    if (!wants_memory(failure)) return failure;
    if (cache->captures == 0) {
        status = tla_segment_release_cached(cache, work);
        if (status) return status;
        cache->stats.retries++;
        failure = tla_segment_obtain(cache, wanted, block, work);
    }
    if (wants_memory(failure)) cache->stats.failures++;
    return failure;
}

static bool should_split(const tla_segment_cache *cache, const tla_segment_block *block, uint64_t nbytes) {
    uint64_t rest = block->nbytes - nbytes;
    if (block->owner->options.no_split) return false;
    if (block->small || cache->config.expandable) return rest >= min_block_size;
    return nbytes < cache->config.max_split_size && rest > small_size * cache->config.unit;
}

tla_status tla_segment_cache_alloc_from(tla_segment_cache *cache, tla_segment_pool_id owner, uint64_t stream,
                                        uint64_t nbytes, tla_block *out, tla_work *work) {
    uint64_t size = tla_segment_cache_round_with(nbytes, &cache->config);
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    if (size == 0) return TLA_EXHAUSTED; /* no device is as large */
    if (work) work->class_lookups++;
    tla_segment_block *block = NULL, wanted = wanted_of(cache, stream, size);
    wanted.owner = tla_segment_find_owner(cache, owner);
    if (!wanted.owner) return TLA_OUT_OF_RANGE;
    /* Host memory first, one record more for the front of a split. */
    tla_status status = tla_segment_records_reserve(&cache->records, tla_segment_obtain_records + 1);
    if (!status) status = tla_live_addresses_reserve(&cache->live);
    if (!status) status = get_block(cache, &wanted, &block, work);
    if (status) return status;
    if (should_split(cache, block, size)) {
        tla_segment_block *rest = block;
        block = tla_segment_records_take(&cache->records);
        tla_segment_split(rest, size, block);
        tla_segment_add_free(cache, rest);
        if (work) {
            work->splits++;
            work->metadata_lines++;
        }
    }
    block->live = true;
    block->freed = false;
    block->uses = 0;
    block->requested = nbytes;
    tla_live_addresses_put(&cache->live, block->address, block);
    tla_segment_count_live(cache, block);
    if (work) work->metadata_lines++;
    *out = (tla_block){block->address, block->nbytes};
    return TLA_OK;
}

tla_status tla_segment_cache_alloc(tla_segment_cache *cache, uint64_t stream, uint64_t nbytes, tla_block *block,
                                   tla_work *work) {
    return tla_segment_cache_alloc_from(cache, (tla_segment_pool_id){0, 0}, stream, nbytes, block, work);
}

bool tla_segment_cache_can_serve_from(const tla_segment_cache *cache, tla_segment_pool_id owner, uint64_t stream,
                                      uint64_t nbytes) {
    uint64_t size = tla_segment_cache_round_with(nbytes, &cache->config);
    tla_segment_block wanted = wanted_of(cache, stream, size);
    wanted.owner = tla_segment_find_owner(cache, owner);
    if (!size || !wanted.owner) return false;
    return tla_segment_look(cache, &wanted, NULL) || tla_segment_has_room_mapped(cache, &wanted);
}

bool tla_segment_cache_can_serve(const tla_segment_cache *cache, uint64_t stream, uint64_t nbytes) {
    return tla_segment_cache_can_serve_from(cache, (tla_segment_pool_id){0, 0}, stream, nbytes);
}

/* Free, and the uses of other streams */

void tla_segment_cache_on_synchronize(tla_segment_cache *cache, void (*synchronize)(void *context), void *context) {
    cache->synchronize = synchronize;
    cache->synchronize_context = context;
}

tla_status tla_segment_cache_free(tla_segment_cache *cache, uint64_t address, tla_work *work) {
    tla_segment_block *block = tla_live_addresses_get(&cache->live, address);
    if (!block || block->freed) return TLA_NOT_ALLOCATED;
    block->freed = true;
    cache->stats.allocated -= block->nbytes;
    cache->stats.requested -= block->requested;
    if (block->uses)
        tla_segment_add_pending(cache, block);
    else
        tla_segment_make_free(cache, block, work);
    return TLA_OK;
}

uint64_t tla_segment_cache_granted(const tla_segment_cache *cache, uint64_t address) {
    const tla_segment_block *block = tla_live_addresses_get(&cache->live, address);
    return block && !block->freed ? block->nbytes : 0;
}

uint64_t tla_segment_cache_requested(const tla_segment_cache *cache, uint64_t address) {
    const tla_segment_block *block = tla_live_addresses_get(&cache->live, address);
    return block ? block->requested : 0;
}

tla_status tla_segment_cache_begin_use(tla_segment_cache *cache, uint64_t address) {
    tla_segment_block *block = tla_live_addresses_get(&cache->live, address);
    if (!block || block->freed) return TLA_NOT_ALLOCATED;
    block->uses++;
    return TLA_OK;
}

tla_status tla_segment_cache_end_use(tla_segment_cache *cache, uint64_t address, tla_work *work) {
    tla_segment_block *block = tla_live_addresses_get(&cache->live, address);
    if (!block || block->uses == 0) return TLA_NOT_ALLOCATED;
    if (--block->uses == 0 && block->freed) tla_segment_end_pending(cache, block, work);
    return TLA_OK;
}

tla_status tla_segment_cache_empty(tla_segment_cache *cache, tla_work *work) {
    return tla_segment_release_cached(cache, work);
}

void tla_segment_cache_set_limit(tla_segment_cache *cache, uint64_t nbytes) {
    cache->config.memory_limit = nbytes;
    cache->bounded = nbytes != 0;
}

tla_segment_cache_stats tla_segment_cache_get_stats(const tla_segment_cache *cache) {
    return cache->stats;
}

tla_status tla_segment_cache_destroy(tla_segment_cache *cache) {
    if (!cache) return TLA_OK;
    tla_status status = cache->live.count ? TLA_LEAK : TLA_OK, released = TLA_OK;
    size_t at = 0;
    for (tla_segment_block *block; (block = tla_live_addresses_walk(&cache->live, &at)) != NULL;) {
        tla_segment_absorb(cache, block, block->previous, NULL);
        tla_segment_absorb(cache, block, block->next, NULL);
        tla_segment_add_free(cache, block);
    }
    for (tla_segment_owner *next, *owner = &cache->everybody; owner; owner = next) {
        next = owner->next;
        tla_status failed = tla_segment_release_owner(cache, owner, 0, NULL);
        if (failed) released = failed;
        for (int small = 0; small < 2; small++) /* left over only when the driver or the host failed */
            for (tla_segment_tree *tree = &owner->pools[small].free;; tree = &owner->pools[small].unmapped) {
                while (tree->root) {
                    tla_segment_block *block = tree->root;
                    tla_segment_tree_remove(tree, block);
                    free(block);
                }
                if (tree->by_address) break;
            }
        if (owner != &cache->everybody) free(owner);
    }
    while (cache->ranges) {
        tla_segment_range *range = cache->ranges;
        cache->ranges = range->next;
        free(range);
    }
    tla_segment_records_clear(&cache->records);
    tla_live_addresses_clear(&cache->live);
    free(cache);
    return status ? status : released;
}

static tla_status keep_segment(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)context, (void)device, (void)address, (void)nbytes, (void)work;
    return TLA_OK;
}

static tla_status keep_mapped(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                              tla_work *work) {
    (void)context, (void)device, (void)address, (void)nbytes, (void)granule, (void)work;
    return TLA_OK;
}

void tla_segment_cache_abandon(tla_segment_cache *cache) {
    if (!cache) return;
    cache->config.driver.free = cache->config.ranges.release = keep_segment;
    cache->config.ranges.unmap = keep_mapped;
    tla_segment_cache_destroy(cache);
}
