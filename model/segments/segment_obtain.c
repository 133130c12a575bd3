/* The requests to the driver: a segment, or more memory for an expandable range. */
#include "base/numbers.h"
#include "segment_pool.h"

#include <stdlib.h>

bool tla_segment_expands(const tla_segment_cache *cache, const tla_segment_owner *owner) {
    const tla_segment_cache_config *c = &cache->config;
    bool is_private = owner != &cache->everybody;
    return c->expandable && !owner->options.own_allocator && !(is_private && c->private_not_expandable);
}

/* A new segment as one block. */
static tla_status take_segment(tla_segment_cache *cache, const tla_segment_block *wanted, uint64_t nbytes,
                               tla_segment_block **block, tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    uint64_t address;
    if (work) work->driver_calls++;
    tla_status status = c->driver.alloc(c->driver.context, c->device, nbytes, &address, work);
    if (status) return status;
    *block = tla_segment_records_take(&cache->records);
    **block = (tla_segment_block){
        .address = address, .nbytes = nbytes, .stream = wanted->stream, .owner = wanted->owner, .small = wanted->small};
    cache->stats.driver_allocs++;
    cache->stats.segments++;
    tla_segment_count_reserved(cache, nbytes);
    if (work) work->metadata_lines++;
    return TLA_OK;
}

/* Ranges */

/* Whether the free blocks from here on, with memory or without, are large enough together. */
static bool has_room(const tla_segment_block *block, uint64_t nbytes, tla_work *work) {
    uint64_t found = 0;
    for (; found < nbytes && tla_segment_is_free(block); block = block->next) {
        found += block->nbytes;
        if (work) work->nodes_visited++;
    }
    return found >= nbytes;
}

/* Finds the place where a range can grow for a request: the lowest address without memory with enough room, counted
 * from the free block before it if one precedes it. NULL if no range has room (find_expandable_block). */
static tla_segment_block *find_room(const tla_segment_block *wanted, tla_work *work) {
    const tla_segment_tree *tree = &tla_segment_pool_of(wanted)->unmapped;
    tla_segment_block key = {.stream = wanted->stream};
    tla_segment_block *block = tla_segment_tree_lower_bound(tree, &key);
    if (work) work->probes += tla_segment_tree_probes(tree);
    for (; block && block->stream == wanted->stream; block = tla_segment_tree_after(tree, block)) {
        tla_segment_block *from = tla_segment_is_free(block->previous) ? block->previous : block;
        if (has_room(from, wanted->nbytes, work)) return from;
    }
    return NULL;
}

static bool has_range_at(const tla_segment_cache *cache, uint64_t address) {
    const tla_segment_range *range = cache->ranges;
    while (range && range->address != address)
        range = range->next;
    return range != NULL;
}

/* A new range: 1 1/8 of the device, one block without memory. TLA_EXHAUSTED when it would be too short, TLA_OVERLAP
 * when the driver gives addresses that it gave before. */
static tla_status take_range(tla_segment_cache *cache, const tla_segment_block *wanted, tla_segment_block **block,
                             tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    uint64_t granule = wanted->small ? small_buffer * c->unit : c->large_segment_size;
    uint64_t nbytes = (c->device_bytes + c->device_bytes / 8 + granule - 1) / granule * granule;
    if (nbytes < wanted->nbytes) return TLA_EXHAUSTED;
    tla_segment_range *range = malloc(sizeof *range);
    if (!range) return TLA_NO_HOST_MEMORY;
    *range = (tla_segment_range){.nbytes = nbytes, .granule = granule, .next = cache->ranges};
    if (work) work->driver_calls++;
    tla_status status = c->ranges.reserve(c->ranges.context, c->device, nbytes, granule, &range->address, work);
    if (!status && has_range_at(cache, range->address)) status = TLA_OVERLAP;
    if (status) {
        free(range);
        return status;
    }
    if (range->next) range->next->previous = range;
    cache->ranges = range;
    cache->stats.ranges++;
    *block = tla_segment_records_take(&cache->records);
    **block = (tla_segment_block){.address = range->address,
                                  .nbytes = nbytes,
                                  .stream = wanted->stream,
                                  .owner = wanted->owner,
                                  .range = range,
                                  .small = wanted->small,
                                  .unmapped = true};
    tla_segment_tree_insert(&tla_segment_pool_of(wanted)->unmapped, *block);
    return TLA_OK;
}

tla_status tla_segment_drop_range(tla_segment_cache *cache, tla_segment_block *block, tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    tla_segment_range *range = block->range;
    if (work) work->driver_calls++;
    tla_status status = c->ranges.release(c->ranges.context, c->device, range->address, range->nbytes, work);
    if (status) return status;
    tla_segment_tree_remove(&tla_segment_pool_of(block)->unmapped, block);
    tla_segment_records_give(&cache->records, block);
    if (range->next) range->next->previous = range->previous;
    *(range->previous ? &range->previous->next : &cache->ranges) = range->next;
    free(range);
    cache->stats.ranges--;
    return TLA_OK;
}

/* Maps memory for the first nbytes of a block without memory, rounded up to granules, and joins them with the free
 * blocks around them. The record of `block` is the joined block afterwards (map_block). */
static tla_status map(tla_segment_cache *cache, tla_segment_block *block, uint64_t nbytes, tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    tla_segment_range *range = block->range;
    uint64_t mapped = (nbytes + range->granule - 1) / range->granule * range->granule;
    if (work) work->driver_calls++;
    tla_status status = c->ranges.map(c->ranges.context, c->device, block->address, mapped, range->granule, work);
    if (status) return status;
    tla_segment_tree *unmapped = &tla_segment_pool_of(block)->unmapped;
    tla_segment_tree_remove(unmapped, block);
    if (mapped < block->nbytes) {
        tla_segment_block *rest = tla_segment_records_take(&cache->records);
        *rest = *block;
        rest->address += mapped;
        rest->nbytes -= mapped;
        rest->previous = block;
        if (rest->next) rest->next->previous = rest;
        block->next = rest;
        block->nbytes = mapped;
        tla_segment_tree_insert(unmapped, rest);
    }
    block->unmapped = false;
    tla_segment_absorb(cache, block, block->previous, work);
    tla_segment_absorb(cache, block, block->next, work);
    tla_segment_add_free(cache, block);
    cache->stats.maps++;
    tla_segment_count_reserved(cache, mapped);
    if (work) work->metadata_lines++;
    return TLA_OK;
}

/* Grows a range until a free block of it serves the request. When the driver fails, the memory that it has provided
 * stays a free block. A new range stays even without any memory (try_allocate_expandable_block); a host without memory
 * leaves no such range. */
static tla_status expand(tla_segment_cache *cache, const tla_segment_block *wanted, tla_segment_block **out,
                         tla_work *work) {
    tla_segment_block *block = find_room(wanted, work);
    const bool fresh = !block;
    tla_status status = fresh ? take_range(cache, wanted, &block, work) : TLA_OK;
    if (status) return status;
    if (block->unmapped) status = map(cache, block, smaller(block->nbytes, wanted->nbytes), work);
    if (status == TLA_NO_HOST_MEMORY && fresh) tla_segment_drop_range(cache, block, work);
    while (!status && block->nbytes < wanted->nbytes) {
        tla_segment_block *next = block->next; /* without memory, and it swallows the block */
        status = map(cache, next, smaller(wanted->nbytes - block->nbytes, next->nbytes), work);
        if (!status) block = next;
    }
    if (status) return status;
    tla_segment_remove_free(cache, block);
    *out = block;
    return TLA_OK;
}

bool tla_segment_has_room_mapped(const tla_segment_cache *cache, const tla_segment_block *wanted) {
    uint64_t nbytes = tla_segment_cache_segment_size_with(wanted->nbytes, &cache->config);
    if (!tla_segment_expands(cache, wanted->owner) || tla_segment_exceeds_limit(cache, nbytes)) return false;
    const tla_segment_block *block = find_room(wanted, NULL);
    return block && !block->unmapped && block->nbytes >= wanted->nbytes;
}

bool tla_segment_exceeds_limit(const tla_segment_cache *cache, uint64_t segment) {
    uint64_t limit = cache->config.memory_limit;
    return cache->bounded && (segment > limit || cache->stats.reserved > limit - segment);
}

tla_status tla_segment_obtain(tla_segment_cache *cache, const tla_segment_block *wanted, tla_segment_block **block,
                              tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    uint64_t nbytes = tla_segment_cache_segment_size_with(wanted->nbytes, c);
    if (tla_segment_exceeds_limit(cache, nbytes)) return TLA_LIMIT;
    return tla_segment_expands(cache, wanted->owner) ? expand(cache, wanted, block, work)
                                                     : take_segment(cache, wanted, nbytes, block, work);
}
