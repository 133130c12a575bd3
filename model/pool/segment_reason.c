/* Why a request failed, for a person. */
#include "segment_pool.h"
#include "upstream_reason.h"

#include <inttypes.h>

/* Bytes of a free block that can go back: whole segments and whole granules. */
static uint64_t releasable(const tla_segment_block *block) {
    if (!block->range) return tla_segment_block_is_whole(block) ? block->nbytes : 0;
    const uint64_t granule = block->range->granule, from = block->address - block->range->address;
    const uint64_t first = (from + granule - 1) / granule, last = (from + block->nbytes) / granule;
    return last > first ? (last - first) * granule : 0;
}

/* Free bytes that go back only when a capture has ended or a graph is gone. Of
 * everybody's pools a request that failed has given them back already. */
static uint64_t held(const tla_segment_cache *cache) {
    uint64_t nbytes = 0;
    for (const tla_segment_owner *owner = &cache->everybody; owner; owner = owner->next)
        for (int small = 0; small < 2; small++) {
            const tla_segment_tree *tree = &owner->pools[small].free;
            const tla_segment_block *block = tla_segment_tree_first(tree);
            for (; block; block = tla_segment_tree_after(tree, block))
                nbytes += releasable(block);
        }
    return nbytes;
}

tla_status tla_segment_cache_explain(const tla_segment_cache *cache, const char *what, uint64_t nbytes,
                                     tla_error *error) {
    const tla_segment_cache_config *c = &cache->config;
    const tla_segment_cache_stats *s = &cache->stats;
    uint64_t size = tla_segment_cache_round_with(nbytes, c);
    if (nbytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: requested 0 bytes, expected 1 .. 2^62", what);
    if (size == 0) {
        tla_error_set(error, TLA_EXHAUSTED, "%s overflow: requested %" PRIu64 " bytes, expected 1 .. 2^62", what,
                      nbytes);
        if (error) error->requested = nbytes;
        return TLA_EXHAUSTED;
    }
    uint64_t segment = tla_segment_cache_segment_size_with(size, c), cached = s->reserved - s->active;
    if (!tla_segment_exceeds_limit(cache, segment))
        return tla_port_driver_reason(
            &c->driver, c->device, nbytes, segment, held(cache), error,
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
