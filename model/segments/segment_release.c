/* The blocks that a cache releases before a request fails: all free blocks, oversize blocks, or garbage. */
#include "segment_pool.h"

tla_status tla_segment_release(tla_segment_cache *cache, tla_segment_block *block, tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    if (work) work->driver_calls++;
    tla_status status = c->driver.free(c->driver.context, c->device, block->address, block->nbytes, work);
    if (status) return status;
    cache->stats.reserved -= block->nbytes;
    cache->stats.segments--;
    cache->stats.driver_frees++;
    tla_segment_remove_free(cache, block);
    tla_segment_records_give(&cache->records, block);
    return TLA_OK;
}

/* A part of a free block that keeps its memory, linked before or behind it. */
static void keep(tla_segment_cache *cache, const tla_segment_block *block, uint64_t address, uint64_t nbytes,
                 tla_segment_block *previous, tla_segment_block *next) {
    if (nbytes == 0) return;
    tla_segment_block *part = tla_segment_records_take(&cache->records);
    *part = (tla_segment_block){.address = address,
                                .nbytes = nbytes,
                                .stream = block->stream,
                                .previous = previous,
                                .next = next,
                                .owner = block->owner,
                                .range = block->range,
                                .small = block->small};
    if (previous) previous->next = part;
    if (next) next->previous = part;
    tla_segment_add_free(cache, part);
}

/* Takes the memory of the granules that lie wholly in a free block. A range of which nothing has memory then is given
 * up (unmap_block). */
static tla_status unmap(tla_segment_cache *cache, tla_segment_block *block, tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    const tla_segment_range *range = block->range;
    uint64_t base = range->address, granule = range->granule, end = block->address + block->nbytes;
    uint64_t first = base + (block->address - base + granule - 1) / granule * granule;
    uint64_t last = base + (end - base) / granule * granule;
    if (first >= last) return TLA_OK;
    if (work) work->driver_calls++;
    tla_status status = c->ranges.unmap(c->ranges.context, c->device, first, last - first, granule, work);
    if (status) return status;
    tla_segment_remove_free(cache, block);
    keep(cache, block, block->address, first - block->address, block->previous, block);
    keep(cache, block, last, end - last, block, block->next);
    block->address = first;
    block->nbytes = last - first;
    block->unmapped = true;
    tla_segment_absorb(cache, block, block->previous, work);
    tla_segment_absorb(cache, block, block->next, work);
    tla_segment_tree_insert(&tla_segment_pool_of(block)->unmapped, block);
    cache->stats.reserved -= last - first;
    cache->stats.unmaps++;
    if (work) work->metadata_lines++;
    return block->previous || block->next ? TLA_OK : tla_segment_drop_range(cache, block, work);
}

/* Whole plain segments in the order of the pool, then what can be unmapped of the blocks that were free when it began,
 * in their order then (release_blocks). */
static tla_status release_pool(tla_segment_cache *cache, tla_segment_pool *pool, size_t spare, tla_work *work) {
    tla_segment_block *first = NULL, **last = &first;
    tla_status status = tla_segment_records_reserve(&cache->records, spare);
    tla_segment_block *next, *block = status ? NULL : tla_segment_tree_first(&pool->free);
    for (; block && !status; block = next) {
        next = tla_segment_tree_after(&pool->free, block);
        if (block->range) {
            *last = block;
            last = &block->queued;
        } else if (tla_segment_block_is_whole(block)) {
            status = tla_segment_release(cache, block, work);
        }
    }
    *last = NULL;
    for (block = first; block && !status; block = next) {
        next = block->queued;
        status = tla_segment_records_reserve(&cache->records, spare + 2); /* a part before, a part behind */
        if (!status) status = unmap(cache, block, work);
    }
    return status;
}

tla_status tla_segment_release_owner(tla_segment_cache *cache, tla_segment_owner *owner, size_t spare, tla_work *work) {
    bool small_first = owner != &cache->everybody; /* as PyTorch does with the pools of graphs */
    tla_status status = release_pool(cache, &owner->pools[small_first], spare, work);
    return status ? status : release_pool(cache, &owner->pools[!small_first], spare, work);
}

tla_status tla_segment_release_cached(tla_segment_cache *cache, tla_work *work) {
    tla_segment_complete_pending(cache, work);
    tla_status status = TLA_OK;
    for (tla_segment_owner *owner = &cache->everybody; owner && !status; owner = owner->next)
        if (owner == &cache->everybody || owner->retired)
            status = tla_segment_release_owner(cache, owner, tla_segment_obtain_records + 1, work);
    return status;
}

/* The largest oversize blocks of the stream below the key, until that many bytes went back. */
static tla_status release_below(tla_segment_cache *cache, const tla_segment_block *key, uint64_t *released,
                                tla_work *work) {
    const tla_segment_tree *tree = &tla_segment_pool_of(key)->free;
    tla_segment_block *below, *block = tla_segment_tree_below(tree, key);
    tla_status status = TLA_OK;
    for (; block && !status; block = below) {
        if (*released >= key->nbytes || block->nbytes < cache->config.max_split_size || block->stream != key->stream)
            break;
        below = tla_segment_tree_below(tree, block);
        if (work) work->nodes_visited++;
        if (block->range && cache->config.aborts_on_expandable) return TLA_UNSUPPORTED;
        if (!tla_segment_block_is_whole(block)) continue;
        *released += block->nbytes;
        status = tla_segment_release(cache, block, work);
    }
    return status;
}

tla_status tla_segment_release_oversize(tla_segment_cache *cache, const tla_segment_block *wanted, bool *enough,
                                        tla_work *work) {
    uint64_t max_split = cache->config.max_split_size, released = 0;
    *enough = false;
    if (max_split == UINT64_MAX) return TLA_OK;
    const tla_segment_tree *tree = &tla_segment_pool_of(wanted)->free;
    tla_segment_block key = *wanted;
    if (key.nbytes < max_split) key.nbytes = max_split;
    tla_segment_block *block = tla_segment_tree_lower_bound(tree, &key);
    if (work) work->probes += tla_segment_tree_probes(tree);
    if (block && block->stream == key.stream) {
        if (block->range && cache->config.aborts_on_expandable) return TLA_UNSUPPORTED;
        if (tla_segment_block_is_whole(block)) {
            *enough = true;
            return tla_segment_release(cache, block, work);
        }
    }
    tla_status status = release_below(cache, &key, &released, work);
    *enough = released >= key.nbytes;
    return status;
}

/* Releases the large whole segments that are at least as old as the average, until the reserved bytes are under the
 * threshold. Ages are counted in searches. */
tla_status tla_segment_collect_garbage(tla_segment_cache *cache, tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    if (!cache->bounded || !(c->gc_threshold > 0)) return TLA_OK;
    uint64_t threshold = (uint64_t)(c->gc_threshold * (double)c->memory_limit);
    if (cache->stats.reserved <= threshold) return TLA_OK;
    uint64_t target = cache->stats.reserved - threshold, reclaimed = 0, ages = 0, count = 0;
    const tla_segment_pool *pool = &cache->everybody.pools[false];
    const tla_segment_tree *tree = &pool->free;
    tla_segment_block *block = tla_segment_tree_first(tree);
    for (; block; block = tla_segment_tree_after(tree, block)) {
        if (work) work->nodes_visited++;
        if (!tla_segment_block_is_whole(block)) continue;
        ages += pool->searches - block->age_base;
        count++;
    }
    for (bool freed = true; reclaimed < target && freed && count > 0;) {
        double average = (double)ages / (double)count;
        freed = false;
        tla_segment_block *next;
        for (block = tla_segment_tree_first(tree); block; block = next) {
            next = tla_segment_tree_after(tree, block);
            uint64_t age = pool->searches - block->age_base;
            if (work) work->nodes_visited++;
            if (!tla_segment_block_is_whole(block) || (double)age < average) continue;
            reclaimed += block->nbytes;
            ages -= age;
            count--;
            freed = true;
            tla_status status = tla_segment_release(cache, block, work);
            if (status) return status;
        }
    }
    return TLA_OK;
}
