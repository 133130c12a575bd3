/* The replay as recorded. The actions of the program drive it; the actions of the cache are compared with the entries
 * one by one. */
#include "torch/replayer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Program entries */

static bool watched(torch_replayer *r, size_t entry, bool behind, bool captured) {
    if (!r->options->watch) return false;
    torch_moment moment = {r->cache, behind, entry, r->result->equal - behind, captured, r->retired};
    for (size_t i = r->at; i < entry; i++)
        moment.index += r->device->entries[i].action != TORCH_SNAPSHOT;
    return r->options->watch(r->options->context, &moment);
}

/* Frees that complete while a request waits for them are its own, not the program's. */
static void mark_waits(const torch_replayer *r, size_t request) {
    if (!r->options->inferred) return;
    for (size_t i = r->at; i < request; i++)
        if (r->device->entries[i].action == TORCH_FREE_COMPLETED) r->options->inferred->marks[i] |= TORCH_MARK_WAITED;
}

/* A request: the one ahead, which may have segment events and completed frees before it. */
static tla_status request(torch_replayer *r, const torch_entry *e) {
    const size_t entry = (size_t)(e - r->device->entries);
    bool captured = false;
    tla_status status = TLA_OK;
    if (e->action == TORCH_OOM) status = torch_find_failure(r, &r->device->entries[entry], &captured);
    mark_waits(r, entry);
    if (captured && r->options->inferred) r->options->inferred->marks[entry] |= TORCH_MARK_CAPTURED;
    if (!status && watched(r, entry, false, captured)) status = TORCH_ABANDONED;
    if (status) return status;
    if (captured) tla_segment_cache_begin_capture(r->cache);
    status = torch_replayer_serve(r, e);
    if (captured) tla_segment_cache_end_capture(r->cache);
    if (status) return status;
    return watched(r, entry, true, captured) ? TORCH_ABANDONED : TLA_OK;
}

static tla_status empty(torch_replayer *r) {
    size_t before = r->at;
    if (r->options->inferred) r->options->inferred->marks[r->at] |= TORCH_MARK_EMPTIED;
    tla_status status = tla_segment_cache_empty(r->cache, NULL);
    if (status == TLA_NO_HOST_MEMORY || r->result->differs) return status;
    r->course_end = 0; /* what stands behind it has a course of its own */
    return r->at > before ? TLA_OK : torch_replayer_differ(r, "no memory to release");
}

/* A release of a graph's pool, other than by oversize rules, shows that the graph is destroyed. */
static void retire_pools(torch_replayer *r) {
    for (size_t i = r->at; i < r->device->entry_count && !r->config.max_split_size; i++) {
        const uint8_t action = r->device->entries[i].action;
        if (action != TORCH_SEGMENT_FREE && action != TORCH_SEGMENT_UNMAP && action != TORCH_SNAPSHOT) break;
        const torch_lot *lot = action == TORCH_SEGMENT_FREE ? torch_lot_at(r->start, r->device, i) : NULL;
        if (lot && lot->pool && !lot->known) torch_replayer_retire(r, lot->pool);
    }
}

/* Oversize rules release memory for a request of the same pool only. */
static void retire_recorded_pools(torch_replayer *r) {
    const torch_stretch s = torch_look_ahead(r);
    uint32_t last = 0;
    for (size_t i = r->at; i < s.end && s.gives; i++) {
        const torch_entry *e = &r->device->entries[i];
        if (e->action != TORCH_SEGMENT_FREE && e->action != TORCH_SEGMENT_UNMAP) continue;
        if (!e->has_pool || !e->pool || e->pool == last) continue;
        last = e->pool; /* the order of pools in a release is recorded, too */
        if (r->retired[e->pool] || !s.request || s.request->pool != e->pool) torch_replayer_retire(r, e->pool);
    }
}

static tla_status request_ahead(torch_replayer *r) {
    const torch_entry *e = torch_request_ahead(r);
    return e ? request(r, e) : torch_replayer_differ(r, "no request that needs it");
}

static tla_status segments(torch_replayer *r, const torch_entry *e) {
    bool gives = e->action == TORCH_SEGMENT_FREE || e->action == TORCH_SEGMENT_UNMAP;
    if (!gives) return request_ahead(r);
    retire_pools(r);
    retire_recorded_pools(r);
    tla_status status = torch_find_course(r);
    if (status) return status;
    return r->course.emptied ? empty(r) : request_ahead(r);
}

/* A free that completes at once stands beside its completion. */
static tla_status free_requested(torch_replayer *r, const torch_entry *e) {
    size_t here = r->at;
    if (torch_replayer_check_size(r, e)) return TORCH_ABANDONED;
    torch_replayer_agree(r);
    const torch_entry *next = torch_replayer_next(r); /* a snapshot between the two has the block */
    if (r->result->differs) return TORCH_ABANDONED;
    const bool beside = next && next->action == TORCH_FREE_COMPLETED && next->address == e->address;
    const bool pending = !beside || next->nbytes != e->nbytes || torch_may_have_waited(r);
    tla_status status = pending ? tla_segment_cache_begin_use(r->cache, e->address) : TLA_OK;
    if (!status) status = tla_segment_cache_free(r->cache, e->address, NULL);
    if (!status && !pending) torch_replayer_agree(r);
    if (status != TLA_NOT_ALLOCATED) return status;
    r->at = here;
    r->result->equal--;
    return torch_replayer_differ(r, "no block is allocated there");
}

static tla_status free_completed(torch_replayer *r, const torch_entry *e) {
    retire_recorded_pools(r);
    tla_status status = torch_find_course(r);
    if (status) return status;
    return r->course.waited ? request_ahead(r) : torch_replayer_complete(r, e);
}

static tla_status play_entry(torch_replayer *r, const torch_entry *e) {
    switch (e->action) {
    case TORCH_ALLOC:
    case TORCH_OOM:
        return request(r, e);
    case TORCH_FREE_REQUESTED:
        return free_requested(r, e);
    case TORCH_FREE_COMPLETED:
        return free_completed(r, e);
    case TORCH_SNAPSHOT:
        torch_replayer_next(r); /* compares it */
        return TLA_OK;
    default:
        return segments(r, e);
    }
}

tla_status torch_replayer_play(torch_replayer *r) {
    tla_status status = TLA_OK;
    while (!status && !r->result->differs && r->at < r->device->entry_count)
        status = play_entry(r, &r->device->entries[r->at]);
    if (status == TLA_NO_HOST_MEMORY) return status;
    if (r->result->differs || status == TORCH_ABANDONED) return TLA_OK; /* or the observer has ended the replay */
    if (status) return status;
    watched(r, r->device->entry_count, false, false);
    return torch_compare_end(r);
}
