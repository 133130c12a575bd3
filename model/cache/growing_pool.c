/* Best fit over upstream blocks, which are segments that go back when they are trimmed, or at the end. */
#include "tlmalloc/cache/driver_pools.h"

#include "live_addresses.h"
#include "segment.h"
#include "upstream_reason.h"

#include <inttypes.h>
#include <stdlib.h>

static const uint64_t alignment = 256; /* bytes; rmm::CUDA_ALLOCATION_ALIGNMENT */
static const uint64_t largest_request = (uint64_t)1 << 62;

struct tla_growing_pool {
    tla_growing_pool_config config;
    tla_growing_pool_stats stats;
    tla_segment_tree free;
    tla_live_addresses live;
    tla_segment_records records;
};

static uint64_t align_up(uint64_t nbytes) {
    return (nbytes + alignment - 1) & ~(alignment - 1);
}

/* One upstream block of nbytes, not yet in the tree. Needs a spare record. */
static tla_status take_upstream(tla_growing_pool *pool, uint64_t nbytes, tla_segment_block **block, tla_work *work) {
    const tla_growing_pool_config *c = &pool->config;
    uint64_t address;
    pool->stats.upstream_tries++;
    if (work) work->driver_calls++;
    tla_status status = c->driver.alloc(c->driver.context, c->device, nbytes, &address, work);
    if (status) return status;
    *block = tla_segment_records_take(&pool->records);
    **block = (tla_segment_block){.address = address, .nbytes = nbytes};
    pool->stats.upstream_blocks++;
    pool->stats.reserved += nbytes;
    if (pool->stats.reserved > pool->stats.peak_reserved) pool->stats.peak_reserved = pool->stats.reserved;
    return TLA_OK;
}

/* Bytes that the pool may still take from upstream. */
static uint64_t left_to_grow(const tla_growing_pool *pool) {
    uint64_t maximum = pool->config.maximum_size, reserved = pool->stats.reserved;
    if (!maximum) return UINT64_MAX;
    return maximum > reserved ? maximum - reserved : 0;
}

static bool is_refusal(tla_status status) {
    return status == TLA_EXHAUSTED || status == TLA_FRAGMENTED || status == TLA_LIMIT;
}

/* rmm's size_to_grow and try_to_expand. */
static tla_status grow(tla_growing_pool *pool, uint64_t nbytes, tla_segment_block **block, tla_work *work) {
    uint64_t left = left_to_grow(pool), try = pool->config.maximum_size ? left / 2 : pool->stats.reserved;
    if (nbytes > left) return TLA_LIMIT;
    if (try < nbytes) try = nbytes;
    for (;;) {
        try = align_up(try);
        tla_status status = take_upstream(pool, try, block, work);
        if (!is_refusal(status) || try == nbytes) return status;
        try = try / 2 > nbytes ? try / 2 : nbytes;
    }
}

tla_status tla_growing_pool_alloc(tla_growing_pool *pool, uint64_t nbytes, tla_block *out, tla_work *work) {
    if (nbytes > largest_request) return TLA_EXHAUSTED; /* no device is as large */
    if (nbytes == 0) {
        *out = (tla_block){0};
        return TLA_OK;
    }
    tla_status status = tla_segment_records_reserve(&pool->records, 2);
    if (!status) status = tla_live_addresses_reserve(&pool->live);
    if (status) return status;
    uint64_t size = align_up(nbytes);
    tla_segment_block wanted = {.nbytes = size};
    if (work) {
        work->probes += tla_segment_tree_probes(&pool->free);
        work->list_length += pool->free.count;
    }
    tla_segment_block *block = tla_segment_tree_lower_bound(&pool->free, &wanted);
    if (block) {
        tla_segment_tree_remove(&pool->free, block);
    } else {
        status = grow(pool, size, &block, work);
        if (status) return status;
    }
    if (block->nbytes > size) {
        tla_segment_block *rest = block;
        block = tla_segment_records_take(&pool->records);
        tla_segment_split(rest, size, block);
        tla_segment_tree_insert(&pool->free, rest);
        if (work) work->splits++;
    }
    block->live = true;
    tla_live_addresses_put(&pool->live, block->address, block);
    pool->stats.used += size;
    *out = (tla_block){block->address, size};
    return TLA_OK;
}

uint64_t tla_growing_pool_round(uint64_t nbytes) {
    return nbytes > largest_request ? UINT64_MAX : align_up(nbytes);
}

uint64_t tla_growing_pool_trim_serves(const tla_growing_pool *pool, uint64_t nbytes) {
    const tla_growing_pool_config *c = &pool->config;
    const uint64_t size = tla_growing_pool_round(nbytes), maximum = c->maximum_size;
    tla_pool_trim trim;
    if (!tla_pool_trim_init(&trim, pool->free.count)) return 0;
    const tla_segment_block *block = tla_segment_tree_first(&pool->free);
    for (; block; block = tla_segment_tree_after(&pool->free, block))
        if (tla_segment_block_is_whole(block)) tla_pool_trim_add(&trim, block->address, block->nbytes);
    const uint64_t kept = pool->stats.reserved - trim.nbytes;
    if (maximum && (kept > maximum || size > maximum - kept)) trim.count = 0; /* the maximum stays in the way */
    return tla_pool_trim_end(&trim, &c->driver, c->device, size);
}

tla_status tla_growing_pool_explain(const tla_growing_pool *pool, const char *what, uint64_t nbytes, tla_error *error) {
    const tla_growing_pool_config *c = &pool->config;
    if (nbytes > largest_request) {
        tla_error_set(error, TLA_EXHAUSTED, "%s overflow: requested %" PRIu64 " bytes, must be at most 2^62", what,
                      nbytes);
        if (error) error->requested = nbytes;
        return TLA_EXHAUSTED;
    }
    uint64_t size = align_up(nbytes), left = left_to_grow(pool), reserved = pool->stats.reserved;
    tla_segment_block above_all = {.nbytes = UINT64_MAX};
    const tla_segment_block *largest = tla_segment_tree_below(&pool->free, &above_all);
    uint64_t most = largest ? largest->nbytes : 0, unused = reserved - pool->stats.used;
    const uint64_t trimmed = tla_growing_pool_trim_serves(pool, nbytes);
    if (size <= left)
        return tla_port_client_reason(&c->driver, c->device, nbytes, size, trimmed, error,
                                      "%s overflow: requested %" PRIu64 " bytes, the pool has %" PRIu64
                                      " free of %" PRIu64 ", largest free block %" PRIu64
                                      "; asked upstream down to %" PRIu64 " bytes",
                                      what, nbytes, unused, reserved, most, size);
    return tla_pool_limit_reason(nbytes, trimmed, error,
                                 "%s overflow: requested %" PRIu64 " bytes, the pool has %" PRIu64 " free of %" PRIu64
                                 ", largest free block %" PRIu64 "; maximum_size, %" PRIu64 ", leaves %" PRIu64
                                 " to grow by",
                                 what, nbytes, unused, reserved, most, c->maximum_size, left);
}

static void join(tla_growing_pool *pool, tla_segment_block *block, tla_segment_block *neighbour, tla_work *work) {
    if (!neighbour || neighbour->live) return;
    tla_segment_tree_remove(&pool->free, neighbour);
    tla_segment_join(block, neighbour);
    tla_segment_records_give(&pool->records, neighbour);
    if (work) work->merges++;
}

static void make_free(tla_growing_pool *pool, tla_segment_block *block, tla_work *work) {
    join(pool, block, block->previous, work);
    join(pool, block, block->next, work);
    block->live = false;
    tla_segment_tree_insert(&pool->free, block);
}

tla_status tla_growing_pool_free(tla_growing_pool *pool, tla_block range, tla_work *work) {
    if (range.nbytes == 0) return TLA_OK;
    tla_segment_block *block = tla_live_addresses_get(&pool->live, range.offset);
    if (!block) return TLA_NOT_ALLOCATED;
    if (range.nbytes > largest_request || block->nbytes != align_up(range.nbytes)) return TLA_SIZE_MISMATCH;
    tla_live_addresses_remove(&pool->live, range.offset);
    pool->stats.used -= block->nbytes;
    if (work) {
        work->probes += tla_segment_tree_probes(&pool->free);
        work->list_length += pool->free.count;
    }
    make_free(pool, block, work);
    return TLA_OK;
}

uint64_t tla_growing_pool_granted(const tla_growing_pool *pool, uint64_t address) {
    const tla_segment_block *block = tla_live_addresses_get(&pool->live, address);
    return block ? block->nbytes : 0;
}

tla_status tla_growing_pool_trim(tla_growing_pool *pool, tla_work *work) {
    const tla_upstream *driver = &pool->config.driver;
    tla_segment_block *next, *block = tla_segment_tree_first(&pool->free);
    for (; block; block = next) {
        next = tla_segment_tree_after(&pool->free, block);
        if (!tla_segment_block_is_whole(block)) continue;
        if (work) work->driver_calls++;
        const tla_status status =
            driver->free(driver->context, pool->config.device, block->address, block->nbytes, work);
        if (status) return status;
        tla_segment_tree_remove(&pool->free, block);
        pool->stats.upstream_blocks--;
        pool->stats.reserved -= block->nbytes;
        tla_segment_records_give(&pool->records, block);
    }
    return TLA_OK;
}

tla_growing_pool_stats tla_growing_pool_get_stats(const tla_growing_pool *pool) {
    tla_growing_pool_stats stats = pool->stats;
    stats.free_blocks = pool->free.count;
    return stats;
}

tla_status tla_growing_pool_create(const tla_growing_pool_config *config, tla_growing_pool **out) {
    *out = NULL;
    const tla_growing_pool_config *c = config;
    if (!c->driver.alloc || !c->driver.free || c->initial_size % alignment || c->maximum_size % alignment ||
        c->initial_size > largest_request || (c->maximum_size && c->initial_size > c->maximum_size))
        return TLA_INVALID_ARGUMENT;
    tla_growing_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return TLA_NO_HOST_MEMORY;
    pool->config = *c;
    tla_segment_block *block = NULL;
    tla_status status = tla_segment_records_reserve(&pool->records, 1);
    if (!status && c->initial_size) status = take_upstream(pool, c->initial_size, &block, NULL);
    if (status) {
        tla_segment_records_clear(&pool->records);
        free(pool);
        return status;
    }
    if (block) tla_segment_tree_insert(&pool->free, block);
    *out = pool;
    return TLA_OK;
}

tla_status tla_growing_pool_destroy(tla_growing_pool *pool) {
    if (!pool) return TLA_OK;
    const tla_growing_pool_config *c = &pool->config;
    tla_status status = pool->live.count ? TLA_LEAK : TLA_OK;
    size_t at = 0;
    for (tla_segment_block *block; (block = tla_live_addresses_walk(&pool->live, &at)) != NULL;)
        make_free(pool, block, NULL);
    for (tla_segment_block *block; (block = tla_segment_tree_first(&pool->free)) != NULL;) {
        tla_segment_tree_remove(&pool->free, block);
        tla_status freed = c->driver.free(c->driver.context, c->device, block->address, block->nbytes, NULL);
        if (!status) status = freed;
        free(block);
    }
    tla_segment_records_clear(&pool->records);
    tla_live_addresses_clear(&pool->live);
    free(pool);
    return status;
}
