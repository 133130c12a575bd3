/* Why a request failed, for a person. */
#include "driver_reason.h"
#include "segment_pool.h"

#include <inttypes.h>

tla_status tla_segment_cache_explain(const tla_segment_cache *cache, const char *what, uint64_t nbytes,
                                     tla_error *error) {
    const tla_segment_cache_config *c = &cache->config;
    const tla_segment_cache_stats *s = &cache->stats;
    uint64_t size = tla_segment_cache_round_with(nbytes, c);
    if (nbytes == 0 || size == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: requested %" PRIu64 " bytes, expected 1 .. 2^62", what,
                             nbytes);
    uint64_t segment = tla_segment_cache_segment_size_with(size, c), cached = s->reserved - s->active;
    if (!tla_segment_exceeds_limit(cache, segment))
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
