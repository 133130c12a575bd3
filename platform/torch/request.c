/* A request of a recording, made of the cache again and compared. */
#include "torch/replayer.h"

#include <inttypes.h>

/* Rebuilds the cache with the end of a range cut off; *cut is whether a range could be cut. */
static tla_status shorten_range(torch_replayer *r, bool *cut) {
    tla_segment_cache *shorter = NULL;
    uint64_t length;
    r->is_short = false;
    tla_status status =
        torch_cache_copy_shortened(r->snapshot, r->cache, &r->config, r->short_at, r->short_room, &length, &shorter);
    *cut = length != UINT64_MAX;
    if (length < r->shortest) r->shortest = length;
    if (status || !*cut) {
        tla_segment_cache_abandon(shorter);
        return status;
    }
    tla_segment_cache_carry_counters(shorter, r->cache);
    tla_segment_cache_abandon(r->cache);
    r->cache = shorter;
    tla_segment_cache_on_synchronize(r->cache, torch_replayer_synchronize, r);
    torch_replayer_retire_again(r);
    return TLA_OK;
}

/* The request itself, with ranges as long as the recording shows them. */
static tla_status take(torch_replayer *r, const torch_entry *e, tla_block *block) {
    r->request_at = r->at;
    r->rounded = tla_segment_cache_round_with(e->nbytes, &r->config);
    for (;;) {
        bool cut;
        tla_status status =
            tla_segment_cache_alloc_from(r->cache, r->snapshot->pools[e->pool], e->stream, e->nbytes, block, NULL);
        if (status == TLA_OUT_OF_RANGE) { /* the pool of a graph that is gone, and of another one of that name */
            status = tla_segment_cache_add_pool(r->cache, r->snapshot->pools[e->pool], (tla_segment_pool_options){0});
            if (status) return status;
            if (!r->is_probe) r->retired[e->pool] = 0; /* a probe shares it */
            continue;
        }
        if (!r->is_short) return status;
        status = shorten_range(r, &cut);
        if (status) return status;
        if (!cut) return torch_replayer_differ(r, "segment_map at 0x%" PRIx64, r->short_at);
    }
}

/* A limit that the request exceeds as long as nothing goes back. */
static uint64_t limit_of(const torch_replayer *r, const torch_entry *e) {
    const uint64_t rounded = tla_segment_cache_round_with(e->nbytes, &r->config);
    const uint64_t segment = tla_segment_cache_segment_size_with(rounded, &r->config);
    return tla_segment_cache_get_stats(r->cache).reserved + segment - 1;
}

tla_status torch_replayer_serve(torch_replayer *r, const torch_entry *e) {
    tla_block block;
    const bool limited = r->course.limited;
    if (limited) tla_segment_cache_set_limit(r->cache, limit_of(r, e));
    tla_status status = take(r, e, &block);
    if (limited) tla_segment_cache_set_limit(r->cache, 0);
    r->course = (torch_course){0};
    if (r->result->differs || status == TLA_NO_HOST_MEMORY) return status;
    r->taken = status ? 0 : block.nbytes; /* a snapshot in front of the alloc does not have it */
    const torch_entry *next = torch_replayer_next(r);
    r->taken = 0;
    if (r->result->differs) return TORCH_ABANDONED;
    if (!status && (next != e || e->action != TORCH_ALLOC || e->address != block.offset)) {
        status = torch_doubt_block(r, e, block);
        r->doubt.involved[0] = block.offset;
        return status ? status
                      : torch_replayer_differ(r, "alloc of %" PRIu64 " bytes at 0x%" PRIx64, e->nbytes, block.offset);
    }
    if (status == TLA_UNSUPPORTED)
        return torch_replayer_differ(r, "an abort for %" PRIu64 " bytes (#119452)", e->nbytes);
    if (status && (next != e || e->action != TORCH_OOM))
        return torch_replayer_differ(r, "oom for %" PRIu64 " bytes", e->nbytes);
    r->result->allocs += e->action == TORCH_ALLOC;
    r->result->ooms += e->action == TORCH_OOM;
    torch_replayer_agree(r);
    return TLA_OK;
}
