/* What the entries ahead say of what was not recorded: on a copy of the cache it is tried out. */
#include "trace/torch_replayer.h"

/* The next request behind segment events and completed frees; NULL when something else comes first. */
const torch_entry *torch_request_ahead(const torch_replayer *r, bool *driver_called) {
    *driver_called = false;
    for (size_t i = r->at; i < r->device->entry_count; i++) {
        const torch_entry *e = &r->device->entries[i];
        if (e->action == TORCH_ALLOC || e->action == TORCH_OOM) return e;
        if (e->action == TORCH_FREE_REQUESTED) return NULL;
        if (e->action != TORCH_FREE_COMPLETED && e->action != TORCH_SNAPSHOT) *driver_called = true;
    }
    return NULL;
}

bool torch_can_serve(const torch_replayer *r, const tla_segment_cache *cache, const torch_entry *request) {
    return tla_segment_cache_can_serve_from(cache, r->snapshot->pools[request->pool], request->stream, request->nbytes);
}

/* Another torch_replayer that has come as far, with a cache of its own; free_probe gives it back. Ages of blocks are
 * lost. */
static tla_status make_probe(const torch_replayer *r, torch_replayer *probe, torch_recorded *result) {
    static const torch_recorded_options nobody;
    *probe = *r;
    *result = *r->result;
    probe->result = result;
    probe->options = &nobody;
    probe->is_probe = true;
    torch_replayer_connect(probe);
    tla_status status = torch_cache_copy(r->snapshot, r->cache, &probe->config, &probe->cache);
    if (!status) tla_segment_cache_on_synchronize(probe->cache, torch_replayer_synchronize, probe);
    return status;
}

static void free_probe(torch_replayer *probe) {
    tla_segment_cache_abandon(probe->cache);
}

/* Completed frees of blocks that another stream used stand before a request: did they complete before it, or when the
 * cache had nothing for it and waited for all streams? The latter if all complete, the driver was asked or memory was
 * out, and the blocks would have served the request. */
tla_status torch_waited_for_streams(const torch_replayer *r, bool *waited) {
    bool driver_called;
    const torch_entry *request = torch_request_ahead(r, &driver_called);
    *waited = false;
    if (!request || !(driver_called || request->action == TORCH_OOM) || torch_can_serve(r, r->cache, request))
        return TLA_OK;
    torch_replayer probe;
    torch_recorded result;
    tla_status status = make_probe(r, &probe, &result);
    for (size_t i = r->at; i < r->device->entry_count && !status; i++) {
        const torch_entry *e = &r->device->entries[i];
        if (e->action == TORCH_SNAPSHOT) continue;
        if (e->action != TORCH_FREE_COMPLETED) break;
        tla_segment_cache_end_use(probe.cache, e->address, NULL);
    }
    if (!status) *waited = torch_replayer_pending(&probe) == 0 && torch_can_serve(&probe, probe.cache, request);
    free_probe(&probe);
    return status;
}

/* Whether the entries up to a request are what the cache does for it, during a capture or not. */
tla_status torch_would_agree(const torch_replayer *r, const torch_entry *e, bool capture, bool *agrees) {
    torch_replayer probe;
    torch_recorded result;
    tla_status status = make_probe(r, &probe, &result);
    if (!status && capture) tla_segment_cache_begin_capture(probe.cache);
    if (!status) status = torch_replayer_serve(&probe, e);
    *agrees = !status && !result.differs;
    free_probe(&probe);
    return status == TLA_NO_HOST_MEMORY ? status : TLA_OK;
}

/* Whether a request that fails finds nothing to give back and no block, so that it fails however it was made. */
static bool is_bare(const torch_replayer *r, const torch_entry *e) {
    tla_segment_cache_stats s = tla_segment_cache_get_stats(r->cache);
    return s.ranges == 0 && s.reserved == s.allocated + s.inactive_split && !torch_can_serve(r, r->cache, e);
}

/* Of which pool a request was that failed is not recorded, and neither are captures of graphs, during which nothing is
 * given back before: the first that fails as it was recorded. */
tla_status torch_find_failure(torch_replayer *r, torch_entry *e, bool *captured) {
    *captured = false;
    if (torch_replayer_next(r) != e || is_bare(r, e)) return TLA_OK;
    for (int capture = 0; capture < 2; capture++)
        for (e->pool = 0; e->pool + 1 < r->snapshot->pool_count; e->pool++) { /* the last is of none that is known */
            bool agrees;
            tla_status status = torch_would_agree(r, e, capture, &agrees);
            if (status) return status;
            *captured = capture;
            if (agrees) return TLA_OK;
        }
    e->pool = 0;
    *captured = false;
    return TLA_OK;
}

/* Whether memory being out behind this free says that another stream still used the block, and the free completed only
 * when the cache waited for it: else the block would have served the request. */
tla_status torch_was_pending(const torch_replayer *r, uint64_t address, bool *pending) {
    bool driver_called;
    const torch_entry *request = torch_request_ahead(r, &driver_called);
    *pending = false;
    if (!request || request->action != TORCH_OOM || torch_can_serve(r, r->cache, request)) return TLA_OK;
    torch_replayer probe;
    torch_recorded result;
    tla_status status = make_probe(r, &probe, &result);
    if (!status && !tla_segment_cache_free(probe.cache, address, NULL))
        *pending = torch_can_serve(&probe, probe.cache, request);
    free_probe(&probe);
    return status;
}
