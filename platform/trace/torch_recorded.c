/* The replay as recorded. What the program did drives it; what the cache does is compared with the entries one by one.
 */
#include "trace/torch_replayer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Program entries */

static bool watched(torch_replayer *r, size_t entry, bool behind) {
    if (!r->options->watch) return false;
    torch_moment moment = {r->cache, behind, entry, r->result->equal - behind};
    for (size_t i = r->at; i < entry; i++)
        moment.index += r->device->entries[i].action != TORCH_SNAPSHOT;
    return r->options->watch(r->options->context, &moment);
}

/* The cache again with the end of a range cut off; *cut says whether there was one to cut. */
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
            continue;
        }
        if (!r->is_short) return status;
        status = shorten_range(r, &cut);
        if (status) return status;
        if (!cut) return torch_replayer_differ(r, "segment_map at %" PRIu64, r->short_at);
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
    const torch_entry *next = torch_replayer_next(r);
    if (!status && (next != e || e->action != TORCH_ALLOC || e->address != block.offset)) {
        status = torch_doubt_block(r, e, block);
        r->doubt.involved[0] = block.offset;
        return status ? status
                      : torch_replayer_differ(r, "alloc of %" PRIu64 " bytes at %" PRIu64, e->nbytes, block.offset);
    }
    if (status == TLA_UNSUPPORTED)
        return torch_replayer_differ(r, "an abort for %" PRIu64 " bytes (#119452)", e->nbytes);
    if (status && (next != e || e->action != TORCH_OOM))
        return torch_replayer_differ(r, "oom for %" PRIu64 " bytes", e->nbytes);
    r->result->allocs += e->action == TORCH_ALLOC;
    torch_replayer_agree(r);
    return TLA_OK;
}

/* A request: the one ahead, which may have segment events and completed frees before it. */
static tla_status request(torch_replayer *r, const torch_entry *e) {
    const size_t entry = (size_t)(e - r->device->entries);
    bool captured = false;
    tla_status status = TLA_OK;
    if (e->action == TORCH_OOM) status = torch_find_failure(r, &r->device->entries[entry], &captured);
    if (!status && watched(r, entry, false)) status = TORCH_ABANDONED;
    if (status) return status;
    if (captured) tla_segment_cache_begin_capture(r->cache);
    status = torch_replayer_serve(r, e);
    if (captured) tla_segment_cache_end_capture(r->cache);
    if (status) return status;
    return watched(r, entry, true) ? TORCH_ABANDONED : TLA_OK;
}

static tla_status empty(torch_replayer *r) {
    size_t before = r->at;
    if (r->options->empties) r->options->empties[r->at] = 1;
    tla_status status = tla_segment_cache_empty(r->cache, NULL);
    if (status == TLA_NO_HOST_MEMORY || r->result->differs) return status;
    r->course_end = 0; /* what stands behind it has a course of its own */
    return r->at > before ? TLA_OK : torch_replayer_differ(r, "nothing to give back");
}

/* What goes back of a graph's pool, other than by oversize rules, says that the graph is gone. */
static void retire_pools(torch_replayer *r) {
    for (size_t i = r->at; i < r->device->entry_count && !r->config.max_split_size; i++) {
        const uint8_t action = r->device->entries[i].action;
        if (action != TORCH_SEGMENT_FREE && action != TORCH_SEGMENT_UNMAP && action != TORCH_SNAPSHOT) break;
        const torch_lot *lot = action == TORCH_SEGMENT_FREE ? torch_lot_at(r->start, r->device, i) : NULL;
        if (lot && lot->pool) tla_segment_cache_retire_pool(r->cache, r->snapshot->pools[lot->pool]);
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
    tla_status status = torch_find_course(r);
    if (status) return status;
    return r->course.emptied ? empty(r) : request_ahead(r);
}

/* A free that completes at once stands beside its completion. */
static tla_status free_requested(torch_replayer *r, const torch_entry *e) {
    size_t here = r->at;
    torch_replayer_agree(r);
    const torch_entry *next = torch_replayer_next(r);
    const bool beside = next && next->action == TORCH_FREE_COMPLETED && next->address == e->address;
    const bool pending = !beside || torch_may_have_waited(r);
    tla_status status = pending ? tla_segment_cache_begin_use(r->cache, e->address) : TLA_OK;
    if (!status) status = tla_segment_cache_free(r->cache, e->address, NULL);
    if (!status && !pending) torch_replayer_agree(r);
    if (status != TLA_NOT_ALLOCATED) return status;
    r->at = here;
    r->result->equal--;
    return torch_replayer_differ(r, "no block is allocated there");
}

static tla_status free_completed(torch_replayer *r, const torch_entry *e) {
    tla_status status = torch_find_course(r);
    if (status) return status;
    if (r->course.waited) return request_ahead(r);
    status = tla_segment_cache_end_use(r->cache, e->address, NULL);
    if (status == TLA_NOT_ALLOCATED) return torch_replayer_differ(r, "no freed block there is used by another stream");
    torch_replayer_agree(r);
    return status;
}

/* A snapshot tells the active bytes at its moment; of older blocks a little may not be known. */
static void check_snapshot(torch_replayer *r, const torch_entry *e) {
    uint64_t active = tla_segment_cache_get_stats(r->cache).active;
    if (e->nbytes >= active && e->nbytes - active <= r->uncertain) return;
    torch_replayer_differ(r, "%" PRIu64 " active bytes", active);
    snprintf(r->result->first.recorded, sizeof r->result->first.recorded, "snapshot of %" PRIu64 " active bytes",
             e->nbytes);
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
        check_snapshot(r, e);
        r->at++;
        return TLA_OK;
    default:
        return segments(r, e);
    }
}

static tla_status play(torch_replayer *r) {
    tla_status status = TLA_OK;
    while (!status && !r->result->differs && r->at < r->device->entry_count)
        status = play_entry(r, &r->device->entries[r->at]);
    if (status == TLA_NO_HOST_MEMORY) return status;
    if (r->result->differs || status == TORCH_ABANDONED) return TLA_OK; /* or whoever watched has seen enough */
    if (status) return status;
    watched(r, r->device->entry_count, false);
    return torch_compare_end(r);
}

/* What one replay found out. */
typedef struct attempt {
    uint64_t shortest; /* range that had no room for a request as it was recorded; UINT64_MAX: none */
    torch_doubt doubt;
} attempt;

static tla_status play_once(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                            const torch_recorded_options *options, const tla_segment_cache_config *config,
                            torch_recorded *result, attempt *found) {
    const torch_device *d = &snapshot->devices[device];
    *result = (torch_recorded){.device = device, .entries = d->comparable};
    torch_replayer r = {.snapshot = snapshot,
                        .device = d,
                        .start = start,
                        .options = options,
                        .result = result,
                        .config = *config,
                        .uncertain = start->uncertain << 20,
                        .shortest = UINT64_MAX};
    if (options->empties) memset(options->empties, 0, d->entry_count);
    torch_replayer_connect(&r);
    tla_status status = tla_segment_cache_create(&r.config, &r.cache);
    if (!status) status = torch_start_restore(snapshot, start, r.config.device_bytes, r.cache);
    if (!status) {
        tla_segment_cache_on_synchronize(r.cache, torch_replayer_synchronize, &r);
        status = play(&r);
        result->stats = tla_segment_cache_get_stats(r.cache);
    }
    tla_segment_cache_abandon(r.cache);
    *found = (attempt){r.shortest, r.doubt};
    return status;
}

/* Entries that are replayed in all to find out what was not recorded. */
static const uint64_t entries_max = 20000000;

/* Again with all ranges shorter, the device being the same for all, when one was found to be: from the longest that it
 * can have been down in steps of the small granule, until a length agrees with the whole recording. Of none the best
 * one counts. */
static tla_status play_until_ranges_fit(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                                        const torch_recorded_options *options, tla_segment_cache_config *config,
                                        torch_recorded *result, attempt *found) {
    static const uint64_t step = 2 << 20;
    torch_recorded best = {0};
    attempt of_best = {0};
    uint64_t length = UINT64_MAX, best_bytes = config->device_bytes, replayed = 0;
    for (bool first = true;; first = false) {
        tla_status status = play_once(snapshot, device, start, options, config, result, found);
        if (status) return status;
        if (first || result->equal > best.equal || (!result->differs && result->end_state_equal)) {
            best = *result;
            of_best = *found;
            best_bytes = config->device_bytes;
        }
        if (found->shortest < length) length = found->shortest;
        replayed += result->entries;
        if (!result->differs || length == UINT64_MAX || length <= step || replayed > entries_max) break;
        config->device_bytes = length / 9 * 8;
        length -= step;
    }
    *result = best;
    *found = of_best;
    config->device_bytes = best_bytes;
    return TLA_OK;
}

/* A recording that differs, and what may be wrong about what is not recorded. */
typedef struct search {
    const torch_snapshot *snapshot;
    size_t device;
    const torch_start *start;
    const torch_recorded_options *options;
    const tla_segment_cache_config *config;
    torch_recorded *best;
    attempt of_best;
    uint64_t replayed; /* entries */
} search;

/* Once more, with something changed; better if the difference is further away, or `sideways` another one in the same
 * place. */
static tla_status try_again(search *s, bool sideways, bool *better) {
    torch_recorded result;
    attempt found;
    tla_status status = play_once(s->snapshot, s->device, s->start, s->options, s->config, &result, &found);
    s->replayed += result.equal;
    *better =
        !status &&
        (result.equal > s->best->equal || !result.differs ||
         (sideways && result.equal == s->best->equal && strcmp(result.first.replayed, s->best->first.replayed) != 0));
    if (!*better) return status;
    *s->best = result;
    s->of_best = found;
    return TLA_OK;
}

static tla_status try_larger_block(search *s, bool *better) {
    uint64_t nbytes;
    torch_start_block *block = torch_doubt_mend(s->snapshot, s->start, &s->of_best.doubt, &nbytes);
    if (!block) return TLA_OK;
    const uint64_t before = block->nbytes;
    block->nbytes = nbytes;
    tla_status status = try_again(s, false, better);
    if (!*better) block->nbytes = before;
    return status;
}

/* Sideways once for a segment: two of them may have to be another pool's before anything is equal that was not. */
static tla_status try_other_pools(search *s, torch_lot *lot, bool sideways, bool *better) {
    const torch_device *d = &s->snapshot->devices[s->device];
    const uint32_t before = lot->pool;
    tla_status status = TLA_OK;
    if (sideways && lot->moved) return TLA_OK;
    for (uint32_t pool = 0; pool < s->snapshot->pool_count && !status && !*better; pool++) {
        if (pool == before) continue;
        torch_lot_assign(d, s->start, lot, pool);
        status = try_again(s, sideways, better);
        if (!*better) torch_lot_assign(d, s->start, lot, before);
    }
    lot->moved |= sideways;
    return status;
}

/* Again with other sizes of older blocks and other pools, as long as that brings the difference further. Nobody watches
 * but the last replay. */
static tla_status play_until_all_fits(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                                      const torch_recorded_options *options, tla_segment_cache_config *config,
                                      torch_recorded *result) {
    torch_recorded_options silent = *options;
    silent.watch = NULL;
    search s = {
        .snapshot = snapshot, .device = device, .start = start, .options = &silent, .config = config, .best = result};
    tla_status status = play_until_ranges_fit(snapshot, device, start, &silent, config, result, &s.of_best);
    for (bool better = true; !status && better && result->differs && s.replayed < entries_max;) {
        better = false;
        status = try_larger_block(&s, &better);
        const torch_doubt doubt = s.of_best.doubt;
        for (int sideways = 0; sideways < 2; sideways++) {
            torch_lot *lot = better ? NULL : torch_doubt_lot(start, &doubt, NULL);
            for (; lot && !status && !better; lot = torch_doubt_lot(start, &doubt, lot))
                status = try_other_pools(&s, lot, sideways, &better);
        }
    }
    if (status || !(options->watch || options->empties)) return status;
    return play_once(snapshot, device, start, options, config, result, &s.of_best);
}

tla_status torch_replay_recorded(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                                 const torch_recorded_options *options, torch_recorded *result, tla_error *error) {
    *result = (torch_recorded){.device = device, .entries = snapshot->devices[device].comparable};
    if (start->contradictions)
        return tla_error_set(error, TLA_SYNTAX, "%s: device %zu: the segments and the trace contradict each other: %s",
                             snapshot->name, device, start->contradiction);
    if (!snapshot->has_segments)
        return tla_error_set(error, TLA_SYNTAX, "%s: found no 'segments', expected what the allocator held at the end",
                             snapshot->name);
    tla_segment_cache_config config = options->settings ? *options->settings : snapshot->settings;
    if (!options->settings) config.memory_fraction = 0; /* of what is not recorded; the driver's answers imply it */
    tla_status status = play_until_all_fits(snapshot, device, start, options, &config, result);
    if (status)
        return tla_error_set(error, status, "%s: device %zu cannot be replayed: %s", snapshot->name, device,
                             tla_status_text(status));
    return TLA_OK;
}
