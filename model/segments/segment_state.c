/* The blocks of a cache, out and in. */
#include "segment_pool.h"

#include <stdlib.h>
#include <string.h>

static size_t count_blocks(const tla_segment_cache *cache) {
    size_t count = cache->live.count;
    for (const tla_segment_owner *owner = &cache->everybody; owner; owner = owner->next)
        for (int small = 0; small < 2; small++)
            count += owner->pools[small].free.count + owner->pools[small].unmapped.count;
    return count;
}

static int by_address(const void *a, const void *b) {
    const tla_segment_block *x = *(const tla_segment_block *const *)a, *y = *(const tla_segment_block *const *)b;
    return (x->address > y->address) - (x->address < y->address);
}

static void add_first(const tla_segment_block *block, const tla_segment_block **firsts, size_t *count) {
    if (!block->previous) firsts[(*count)++] = block;
}

/* The first blocks of all segments and ranges. */
static size_t gather(const tla_segment_cache *cache, const tla_segment_block **firsts) {
    size_t count = 0, at = 0;
    for (const tla_segment_block *block; (block = tla_live_addresses_walk(&cache->live, &at)) != NULL;)
        add_first(block, firsts, &count);
    for (const tla_segment_owner *owner = &cache->everybody; owner; owner = owner->next)
        for (int i = 0; i < 4; i++) {
            const tla_segment_pool *pool = &owner->pools[i & 1];
            const tla_segment_tree *tree = i & 2 ? &pool->unmapped : &pool->free;
            const tla_segment_block *block = tla_segment_tree_first(tree);
            for (; block; block = tla_segment_tree_after(tree, block))
                add_first(block, firsts, &count);
        }
    return count;
}

static tla_segment_block_state state_of(const tla_segment_block *block) {
    if (block->unmapped) return TLA_SEGMENT_UNMAPPED;
    if (!block->live) return TLA_SEGMENT_FREE;
    return block->freed ? TLA_SEGMENT_PENDING : TLA_SEGMENT_ALLOCATED;
}

static tla_segment_block_info describe(const tla_segment_block *block, const tla_segment_block *first,
                                       const tla_segment_block *last) {
    return (tla_segment_block_info){.address = block->address,
                                    .nbytes = block->nbytes,
                                    .requested = block->live ? block->requested : 0,
                                    .segment = first->address,
                                    .segment_size = last->address + last->nbytes - first->address,
                                    .granule = block->range ? block->range->granule : 0,
                                    .stream = block->stream,
                                    .owner = block->owner->id,
                                    .small = block->small,
                                    .state = state_of(block)};
}

tla_status tla_segment_cache_blocks(const tla_segment_cache *cache, tla_segment_block_info **out, size_t *count) {
    *out = NULL;
    *count = 0;
    size_t n = count_blocks(cache);
    if (n == 0) return TLA_OK;
    const tla_segment_block **firsts = malloc(n * sizeof *firsts);
    tla_segment_block_info *infos = malloc(n * sizeof *infos);
    if (!firsts || !infos) {
        free(firsts);
        free(infos);
        return TLA_NO_HOST_MEMORY;
    }
    const size_t segments = gather(cache, firsts);
    qsort(firsts, segments, sizeof *firsts, by_address);
    for (size_t i = 0; i < segments; i++) {
        const tla_segment_block *last = firsts[i];
        while (last->next)
            last = last->next;
        for (const tla_segment_block *block = firsts[i]; block; block = block->next)
            infos[(*count)++] = describe(block, firsts[i], last);
    }
    free(firsts);
    *out = infos;
    return TLA_OK;
}

void tla_segment_cache_carry_counters(tla_segment_cache *cache, const tla_segment_cache *from) {
    tla_segment_cache_stats now = cache->stats;
    cache->stats = from->stats;
    cache->stats.requested = now.requested;
    cache->stats.allocated = now.allocated;
    cache->stats.active = now.active;
    cache->stats.reserved = now.reserved;
    cache->stats.inactive_split = now.inactive_split;
    cache->stats.segments = now.segments;
    cache->stats.ranges = now.ranges;
}

/* In */

typedef struct restoring {
    tla_segment_cache *cache;
    const tla_segment_block_info *of;
    tla_segment_owner *owner;
    tla_segment_range *range; /* NULL: a plain segment */
    tla_segment_block *last;
} restoring;

/* Appends a block to the segment; pieces of length 0 are none. */
static void append(restoring *r, uint64_t address, uint64_t nbytes, const tla_segment_block_info *info) {
    if (nbytes == 0) return;
    tla_segment_block *block = tla_segment_records_take(&r->cache->records);
    *block = (tla_segment_block){.address = address,
                                 .nbytes = nbytes,
                                 .stream = r->of->stream,
                                 .previous = r->last,
                                 .owner = r->owner,
                                 .range = r->range,
                                 .small = r->of->small,
                                 .unmapped = !info && r->range};
    if (r->last) r->last->next = block;
    r->last = block;
    if (!info || info->state == TLA_SEGMENT_FREE) return;
    block->live = true;
    block->requested = info->requested;
    block->freed = info->state == TLA_SEGMENT_PENDING;
    block->uses = block->freed;
}

/* Puts the blocks where a cache looks for them. */
static void enter(restoring *r) {
    tla_segment_cache *cache = r->cache;
    tla_segment_block *block = r->last;
    while (block->previous)
        block = block->previous;
    for (; block; block = block->next) {
        if (!block->unmapped) tla_segment_count_reserved(cache, block->nbytes);
        if (block->unmapped) {
            tla_segment_tree_insert(&tla_segment_pool_of(block)->unmapped, block);
        } else if (block->live) {
            tla_live_addresses_put(&cache->live, block->address, block);
            tla_segment_count_live(cache, block);
            if (block->freed) tla_segment_add_pending(cache, block);
        } else {
            tla_segment_add_free(cache, block);
        }
    }
    cache->stats.segments += r->range == NULL;
    cache->stats.ranges += r->range != NULL;
}

static tla_status check(const tla_segment_cache *cache, const tla_segment_block_info *of,
                        const tla_segment_block_info *blocks, size_t count) {
    uint64_t at = of->segment, end = of->segment + of->segment_size;
    if (end <= at) return TLA_INVALID_ARGUMENT;
    if (of->granule && (of->segment_size % of->granule || !cache->config.ranges.map)) return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < count; i++) {
        const tla_segment_block_info *b = &blocks[i];
        if (b->address < at || b->nbytes == 0 || b->nbytes > end - b->address) return TLA_INVALID_ARGUMENT;
        if (b->state == TLA_SEGMENT_UNMAPPED || (b->state == TLA_SEGMENT_FREE && !of->granule))
            return TLA_INVALID_ARGUMENT;
        if (tla_live_addresses_get(&cache->live, b->address)) return TLA_OVERLAP;
        at = b->address + b->nbytes;
    }
    return TLA_OK;
}

tla_status tla_segment_cache_restore(tla_segment_cache *cache, const tla_segment_block_info *of,
                                     const tla_segment_block_info *blocks, size_t count) {
    tla_status status = check(cache, of, blocks, count);
    if (status) return status;
    restoring r = {.cache = cache, .of = of, .owner = tla_segment_find_owner(cache, of->owner)};
    if (!r.owner) return TLA_OUT_OF_RANGE;
    status = tla_segment_records_reserve(&cache->records, 2 * count + 1);
    if (!status) status = tla_live_addresses_reserve_more(&cache->live, count);
    if (!status && of->granule) {
        r.range = malloc(sizeof *r.range);
        if (!r.range) status = TLA_NO_HOST_MEMORY;
    }
    if (status) return status;
    if (r.range) {
        *r.range = (tla_segment_range){
            .address = of->segment, .nbytes = of->segment_size, .granule = of->granule, .next = cache->ranges};
        if (r.range->next) r.range->next->previous = r.range;
        cache->ranges = r.range;
    }
    uint64_t at = of->segment;
    for (size_t i = 0; i < count; at = blocks[i].address + blocks[i].nbytes, i++) {
        append(&r, at, blocks[i].address - at, NULL);
        append(&r, blocks[i].address, blocks[i].nbytes, &blocks[i]);
    }
    append(&r, at, of->segment + of->segment_size - at, NULL);
    enter(&r);
    return TLA_OK;
}
