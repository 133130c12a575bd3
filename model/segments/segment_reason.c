/* Why a request failed, for a person. */
#include "cache/upstream_reason.h"
#include "segment_pool.h"

#include <inttypes.h>
#include <stdlib.h>

/* Whether tla_segment_cache_empty gives memory of this pool back. */
static bool is_emptied(const tla_segment_cache *cache, tla_segment_pool_id id) {
    const tla_segment_owner *owner = tla_segment_find_owner(cache, id);
    return owner == &cache->everybody || owner->retired;
}

/* Adds the whole free segments among the blocks, which are all of a cache, by address. A trim ends the uses of pending
 * blocks first. Ranges are left out: where the memory of a granule is, their driver alone knows. */
static void add_whole_segments(tla_pool_trim *trim, const tla_segment_cache *cache, const tla_segment_block_info *b,
                               size_t count, bool of_all_pools) {
    for (size_t i = 0, next; i < count; i = next) {
        bool used = b[i].granule > 0 || !(of_all_pools || is_emptied(cache, b[i].owner));
        for (next = i; next < count && b[next].segment == b[i].segment; next++)
            used = used || b[next].state == TLA_SEGMENT_ALLOCATED;
        if (!used) tla_pool_trim_add(trim, b[i].segment, b[i].segment_size);
    }
}

/* Returns the bytes that a trim would release to the driver, if it then has a segment that the limit allows; else 0. A
 * request that fails has already released every possible block, but not within a capture, and not from the pools of
 * graphs. */
static uint64_t trim_serves(const tla_segment_cache *cache, uint64_t segment, bool of_all_pools) {
    const tla_segment_cache_config *c = &cache->config;
    tla_segment_block_info *blocks = NULL;
    size_t count = 0;
    tla_pool_trim trim;
    if (tla_segment_cache_blocks(cache, &blocks, &count)) return 0;
    uint64_t serves = 0;
    if (tla_pool_trim_init(&trim, count)) {
        add_whole_segments(&trim, cache, blocks, count, of_all_pools);
        const uint64_t kept = cache->stats.reserved - trim.nbytes;
        if (cache->bounded && (segment > c->memory_limit || kept > c->memory_limit - segment)) trim.count = 0;
        serves = tla_pool_trim_end(&trim, &c->driver, c->device, segment);
    }
    free(blocks);
    return serves;
}

static const char *graphs_advice(const tla_segment_cache *cache, uint64_t segment, uint64_t trimmed) {
    if (trimmed || !trim_serves(cache, segment, true)) return "";
    return "; to release enough, retire the pools of graphs, then empty the cache";
}

tla_status tla_segment_cache_explain(const tla_segment_cache *cache, const char *what, uint64_t nbytes,
                                     tla_error *error) {
    const tla_segment_cache_config *c = &cache->config;
    const tla_segment_cache_stats *s = &cache->stats;
    uint64_t size = tla_segment_cache_round_with(nbytes, c);
    if (nbytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: requested 0 bytes, must be 1 .. 2^62", what);
    if (size == 0) {
        tla_error_set(error, TLA_EXHAUSTED, "%s overflow: requested %" PRIu64 " bytes, must be 1 .. 2^62", what,
                      nbytes);
        if (error) error->requested = nbytes;
        return TLA_EXHAUSTED;
    }
    uint64_t segment = tla_segment_cache_segment_size_with(size, c), cached = s->reserved - s->active;
    const uint64_t trimmed = trim_serves(cache, segment, false);
    const char *const graphs = graphs_advice(cache, segment, trimmed);
    if (!tla_segment_exceeds_limit(cache, segment))
        return tla_port_client_reason(
            &c->driver, c->device, nbytes, segment, trimmed, error,
            "%s overflow: requested %" PRIu64 " bytes, no cached block is suitable (%" PRIu64 " bytes cached, %" PRIu64
            " of them in segments in use)%s; asked the driver for a segment of %" PRIu64 " bytes",
            what, nbytes, cached, s->inactive_split, graphs, segment);
    return tla_pool_limit_reason(nbytes, trimmed, error,
                                 "%s overflow: requested %" PRIu64 " bytes, no cached block is suitable (%" PRIu64
                                 " bytes cached)%s; a segment of %" PRIu64 " bytes beside the %" PRIu64
                                 " reserved would exceed memory_limit, %" PRIu64,
                                 what, nbytes, cached, graphs, segment, s->reserved, c->memory_limit);
}
