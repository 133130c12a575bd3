/* The replay as recorded. What the program did drives it; the driver answers as it did then, which the next entries
 * say; what the cache does is compared with the entries one by one. */
#include "trace/torch_recorded.h"
#include "trace/torch_parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* What the driver's calls return after a difference: nothing that makes the cache try again. */
static const tla_status ABANDONED = TLA_BUS_ERROR;

typedef struct replayer {
    const torch_snapshot *snapshot;
    const torch_device *device;
    const torch_recorded_options *options;
    torch_recorded *result;
    tla_segment_cache_config config;
    tla_segment_cache *cache;
    size_t at;          /* the next entry */
    uint64_t uncertain; /* bytes that older blocks may have more than they are taken for */
    size_t request_at;  /* the next entry when the request began */
    /* Where a range was to grow when the recording has the next map elsewhere: it was shorter. */
    uint64_t short_at, short_room; /* room that it may have had behind there */
    bool is_short;
    uint64_t shortest; /* range that was found out, in bytes; UINT64_MAX: none was */
} replayer;

/* Entries */

static const torch_entry *next_entry(replayer *r) {
    while (r->at < r->device->entry_count && r->device->entries[r->at].action == TORCH_SNAPSHOT)
        r->at++;
    return r->at < r->device->entry_count ? &r->device->entries[r->at] : NULL;
}

static void print_entry(const torch_entry *e, char *text, size_t room) {
    if (!e)
        snprintf(text, room, "nothing more");
    else if (e->action == TORCH_OOM)
        snprintf(text, room, "oom for %" PRIu64 " bytes", e->nbytes);
    else
        snprintf(text, room, "%s of %" PRIu64 " bytes at %" PRIu64, torch_action_name(e->action), e->nbytes,
                 e->address);
}

static tla_status differ(replayer *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static tla_status differ(replayer *r, const char *format, ...) {
    torch_difference *first = &r->result->first;
    if (r->result->differs) return ABANDONED;
    r->result->differs = true;
    first->entry = r->result->equal;
    print_entry(next_entry(r), first->recorded, sizeof first->recorded);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(first->replayed, sizeof first->replayed, format, arguments);
    va_end(arguments);
    return ABANDONED;
}

static void agree(replayer *r) {
    r->at++;
    r->result->equal++;
}

/* The cache did something: the next entry must say so. */
static tla_status expect(replayer *r, torch_action action, uint64_t address, uint64_t nbytes) {
    const torch_entry *e = next_entry(r);
    if (!e || e->action != action || e->address != address || e->nbytes != nbytes)
        return differ(r, "%s of %" PRIu64 " bytes at %" PRIu64, torch_action_name(action), nbytes, address);
    agree(r);
    return TLA_OK;
}

/* The driver */

/* Whether it gave memory then. It was not even asked when the next entry is the block itself. */
static tla_status answer(replayer *r, torch_action action, uint64_t nbytes, const torch_entry **entry) {
    *entry = next_entry(r);
    if (*entry && (*entry)->action == action) return TLA_OK;
    if (*entry && (*entry)->action == TORCH_ALLOC)
        return differ(r, "%s of %" PRIu64 " bytes", torch_action_name(action), nbytes);
    return TLA_EXHAUSTED;
}

static tla_status driver_alloc(void *context, uint32_t device, uint64_t nbytes, uint64_t *address, tla_work *work) {
    replayer *r = context;
    const torch_entry *e;
    (void)device, (void)work;
    tla_status status = answer(r, TORCH_SEGMENT_ALLOC, nbytes, &e);
    if (status) return status;
    *address = e->address;
    return expect(r, TORCH_SEGMENT_ALLOC, e->address, nbytes);
}

static tla_status driver_free(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)device, (void)work;
    return expect(context, TORCH_SEGMENT_FREE, address, nbytes);
}

/* A new range begins where the next map is; without one the driver would map nothing of it. */
static tla_status range_reserve(void *context, uint32_t device, uint64_t nbytes, uint64_t granule, uint64_t *address,
                                tla_work *work) {
    const torch_entry *e;
    (void)device, (void)granule, (void)work;
    tla_status status = answer(context, TORCH_SEGMENT_MAP, nbytes, &e);
    if (!status) *address = e->address;
    return status;
}

static tla_status range_release(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)context, (void)device, (void)address, (void)nbytes, (void)work;
    return TLA_OK;
}

/* How long a range is was not recorded: it is taken for very long until the first map of a request shows that it had no
 * room for it. */
static tla_status range_map(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                            tla_work *work) {
    replayer *r = context;
    const torch_entry *e;
    (void)device, (void)work;
    tla_status status = answer(r, TORCH_SEGMENT_MAP, nbytes, &e);
    if (!status && e->address != address && r->at == r->request_at) {
        r->is_short = true;
        r->short_at = address;
        r->short_room = nbytes - granule;
        return ABANDONED;
    }
    return status ? status : expect(r, TORCH_SEGMENT_MAP, address, nbytes);
}

static tla_status range_unmap(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                              tla_work *work) {
    (void)device, (void)granule, (void)work;
    return expect(context, TORCH_SEGMENT_UNMAP, address, nbytes);
}

static uint64_t pending_bytes(const replayer *r) {
    tla_segment_cache_stats stats = tla_segment_cache_get_stats(r->cache);
    return stats.active - stats.allocated;
}

/* The cache waits for all streams: the frees complete in the order that was recorded. */
static void synchronize(void *context) {
    replayer *r = context;
    for (const torch_entry *e; (e = next_entry(r)) && e->action == TORCH_FREE_COMPLETED; agree(r))
        if (tla_segment_cache_end_use(r->cache, e->address, NULL)) break;
    if (pending_bytes(r))
        differ(r, "free_completed of the blocks that other streams use (%" PRIu64 " bytes)", pending_bytes(r));
}

static void connect(replayer *r) {
    tla_segment_cache_config *c = &r->config;
    c->driver = (tla_memory_driver){.alloc = driver_alloc, .free = driver_free, .context = r};
    c->ranges = (tla_range_driver){range_reserve, range_release, range_map, range_unmap, r};
}

/* Looking ahead */

/* The next request behind segment events and completed frees; NULL when something else comes first. */
static const torch_entry *request_ahead(const replayer *r, bool *driver_called) {
    *driver_called = false;
    for (size_t i = r->at; i < r->device->entry_count; i++) {
        const torch_entry *e = &r->device->entries[i];
        if (e->action == TORCH_ALLOC || e->action == TORCH_OOM) return e;
        if (e->action == TORCH_FREE_REQUESTED) return NULL;
        if (e->action != TORCH_FREE_COMPLETED && e->action != TORCH_SNAPSHOT) *driver_called = true;
    }
    return NULL;
}

static bool can_serve(const replayer *r, const tla_segment_cache *cache, const torch_entry *request) {
    return tla_segment_cache_can_serve_from(cache, r->snapshot->pools[request->pool], request->stream, request->nbytes);
}

/* Another replayer that has come as far, with a cache of its own; free_probe gives it back. Ages of blocks are lost. */
static tla_status make_probe(const replayer *r, replayer *probe, torch_recorded *result) {
    static const torch_recorded_options nobody;
    *probe = *r;
    *result = *r->result;
    probe->result = result;
    probe->options = &nobody;
    connect(probe);
    tla_status status = torch_cache_copy(r->snapshot, r->cache, &probe->config, &probe->cache);
    if (!status) tla_segment_cache_on_synchronize(probe->cache, synchronize, probe);
    return status;
}

static void free_probe(replayer *probe) {
    tla_segment_cache_abandon(probe->cache);
}

/* Completed frees of blocks that another stream used stand before a request: did they complete before it, or when the
 * cache had nothing for it and waited for all streams? The latter if all complete, the driver was asked or memory was
 * out, and the blocks would have served the request. */
static tla_status waited_for_streams(const replayer *r, bool *waited) {
    bool driver_called;
    const torch_entry *request = request_ahead(r, &driver_called);
    *waited = false;
    if (!request || !(driver_called || request->action == TORCH_OOM) || can_serve(r, r->cache, request)) return TLA_OK;
    replayer probe;
    torch_recorded result;
    tla_status status = make_probe(r, &probe, &result);
    for (size_t i = r->at; i < r->device->entry_count && !status; i++) {
        const torch_entry *e = &r->device->entries[i];
        if (e->action == TORCH_SNAPSHOT) continue;
        if (e->action != TORCH_FREE_COMPLETED) break;
        tla_segment_cache_end_use(probe.cache, e->address, NULL);
    }
    if (!status) *waited = pending_bytes(&probe) == 0 && can_serve(&probe, probe.cache, request);
    free_probe(&probe);
    return status;
}

/* Program entries */

static bool watched(replayer *r, size_t entry, bool behind) {
    if (!r->options->watch) return false;
    torch_moment moment = {r->cache, behind, entry, r->result->equal - behind};
    for (size_t i = r->at; i < entry; i++)
        moment.index += r->device->entries[i].action != TORCH_SNAPSHOT;
    return r->options->watch(r->options->context, &moment);
}

/* The cache again with the end of a range cut off; *cut says whether there was one to cut. */
static tla_status shorten_range(replayer *r, bool *cut) {
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
    tla_segment_cache_on_synchronize(r->cache, synchronize, r);
    return TLA_OK;
}

/* The request itself, with ranges as long as the recording shows them. */
static tla_status take(replayer *r, const torch_entry *e, tla_block *block) {
    r->request_at = r->at;
    for (;;) {
        bool cut;
        tla_status status =
            tla_segment_cache_alloc_from(r->cache, r->snapshot->pools[e->pool], e->stream, e->nbytes, block, NULL);
        if (!r->is_short) return status;
        status = shorten_range(r, &cut);
        if (status) return status;
        if (!cut) return differ(r, "segment_map at %" PRIu64, r->short_at);
    }
}

static tla_status serve(replayer *r, const torch_entry *e) {
    tla_block block;
    tla_status status = take(r, e, &block);
    if (r->result->differs || status == TLA_NO_HOST_MEMORY) return status;
    const torch_entry *next = next_entry(r);
    if (!status && (next != e || e->action != TORCH_ALLOC || e->address != block.offset))
        return differ(r, "alloc of %" PRIu64 " bytes at %" PRIu64, e->nbytes, block.offset);
    if (status == TLA_UNSUPPORTED) return differ(r, "an abort for %" PRIu64 " bytes (#119452)", e->nbytes);
    if (status && (next != e || e->action != TORCH_OOM)) return differ(r, "oom for %" PRIu64 " bytes", e->nbytes);
    r->result->allocs += e->action == TORCH_ALLOC;
    agree(r);
    return TLA_OK;
}

/* Whether the entries up to a request are what the cache does for it, during a capture or not. */
static tla_status would_agree(const replayer *r, const torch_entry *e, bool capture, bool *agrees) {
    replayer probe;
    torch_recorded result;
    tla_status status = make_probe(r, &probe, &result);
    if (!status && capture) tla_segment_cache_begin_capture(probe.cache);
    if (!status) status = serve(&probe, e);
    *agrees = !status && !result.differs;
    free_probe(&probe);
    return status == TLA_NO_HOST_MEMORY ? status : TLA_OK;
}

/* Whether a request that fails finds nothing to give back and no block, so that it fails however it was made. */
static bool is_bare(const replayer *r, const torch_entry *e) {
    tla_segment_cache_stats s = tla_segment_cache_get_stats(r->cache);
    return s.ranges == 0 && s.reserved == s.allocated + s.inactive_split && !can_serve(r, r->cache, e);
}

/* Of which pool a request was that failed is not recorded, and neither are captures of graphs, during which nothing is
 * given back before: the first that fails as it was recorded. */
static tla_status find_failure(replayer *r, torch_entry *e, bool *captured) {
    *captured = false;
    if (next_entry(r) != e || is_bare(r, e)) return TLA_OK;
    for (int capture = 0; capture < 2; capture++)
        for (e->pool = 0; e->pool < r->snapshot->pool_count; e->pool++) {
            bool agrees;
            tla_status status = would_agree(r, e, capture, &agrees);
            if (status) return status;
            *captured = capture;
            if (agrees) return TLA_OK;
        }
    e->pool = 0;
    *captured = false;
    return TLA_OK;
}

/* A request: the one ahead, which may have segment events and completed frees before it. */
static tla_status request(replayer *r, const torch_entry *e) {
    const size_t entry = (size_t)(e - r->device->entries);
    bool captured = false;
    tla_status status = TLA_OK;
    if (e->action == TORCH_OOM) status = find_failure(r, &r->device->entries[entry], &captured);
    if (!status && watched(r, entry, false)) status = ABANDONED;
    if (status) return status;
    if (captured) tla_segment_cache_begin_capture(r->cache);
    status = serve(r, e);
    if (captured) tla_segment_cache_end_capture(r->cache);
    if (status) return status;
    return watched(r, entry, true) ? ABANDONED : TLA_OK;
}

static tla_status empty(replayer *r) {
    size_t before = r->at;
    if (r->options->empties) r->options->empties[r->at] = 1;
    tla_status status = tla_segment_cache_empty(r->cache, NULL);
    if (status == TLA_NO_HOST_MEMORY || r->result->differs) return status;
    return r->at > before ? TLA_OK : differ(r, "nothing to give back");
}

/* Segment events: of the request ahead if the cache has nothing for it and would do just that; else the program emptied
 * the cache. */
static tla_status segments(replayer *r, const torch_entry *e) {
    bool driver_called, agrees = true;
    const torch_entry *ahead = request_ahead(r, &driver_called);
    bool gives = e->action == TORCH_SEGMENT_FREE || e->action == TORCH_SEGMENT_UNMAP;
    if (!gives) return ahead ? request(r, ahead) : differ(r, "no request that needs it");
    if (!ahead || can_serve(r, r->cache, ahead)) return empty(r);
    tla_status status = would_agree(r, ahead, false, &agrees);
    if (status) return status;
    return agrees ? request(r, ahead) : empty(r);
}

/* Whether memory being out behind this free says that another stream still used the block, and the free completed only
 * when the cache waited for it: else the block would have served the request. */
static tla_status was_pending(const replayer *r, uint64_t address, bool *pending) {
    bool driver_called;
    const torch_entry *request = request_ahead(r, &driver_called);
    *pending = false;
    if (!request || request->action != TORCH_OOM || can_serve(r, r->cache, request)) return TLA_OK;
    replayer probe;
    torch_recorded result;
    tla_status status = make_probe(r, &probe, &result);
    if (!status && !tla_segment_cache_free(probe.cache, address, NULL))
        *pending = can_serve(&probe, probe.cache, request);
    free_probe(&probe);
    return status;
}

/* A free that completes at once stands beside its completion. */
static tla_status free_requested(replayer *r, const torch_entry *e) {
    size_t here = r->at;
    bool pending = true;
    tla_status status = TLA_OK;
    agree(r);
    const torch_entry *next = next_entry(r);
    if (next && next->action == TORCH_FREE_COMPLETED && next->address == e->address)
        status = was_pending(r, e->address, &pending);
    if (!status && pending) status = tla_segment_cache_begin_use(r->cache, e->address);
    if (!status) status = tla_segment_cache_free(r->cache, e->address, NULL);
    if (!status && !pending) agree(r);
    if (status != TLA_NOT_ALLOCATED) return status;
    r->at = here;
    r->result->equal--;
    return differ(r, "no block is allocated there");
}

static tla_status free_completed(replayer *r, const torch_entry *e) {
    bool waited, driver_called;
    tla_status status = waited_for_streams(r, &waited);
    if (status) return status;
    if (waited) return request(r, request_ahead(r, &driver_called));
    status = tla_segment_cache_end_use(r->cache, e->address, NULL);
    if (status == TLA_NOT_ALLOCATED) return differ(r, "no freed block there is used by another stream");
    agree(r);
    return status;
}

/* A snapshot tells the active bytes at its moment; of older blocks a little may not be known. */
static void check_snapshot(replayer *r, const torch_entry *e) {
    uint64_t active = tla_segment_cache_get_stats(r->cache).active;
    if (e->nbytes >= active && e->nbytes - active <= r->uncertain) return;
    differ(r, "%" PRIu64 " active bytes", active);
    snprintf(r->result->first.recorded, sizeof r->result->first.recorded, "snapshot of %" PRIu64 " active bytes",
             e->nbytes);
}

static tla_status play_entry(replayer *r, const torch_entry *e) {
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

/* The end */

typedef struct end_block {
    uint64_t address, nbytes, requested;
    torch_state state;
    bool any_request;
} end_block;

static int by_address(const void *a, const void *b) {
    const end_block *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static tla_status compare_blocks(replayer *r, end_block *recorded, const tla_segment_block_info *own,
                                 size_t own_count) {
    size_t count = r->device->block_count, k = 0;
    static const char *const names[] = {"inactive", "allocated", "pending"};
    qsort(recorded, count, sizeof *recorded, by_address);
    for (size_t i = 0; i < own_count; i++) {
        const tla_segment_block_info *b = &own[i];
        if (b->state == TLA_SEGMENT_UNMAPPED) continue;
        torch_state state = b->state == TLA_SEGMENT_FREE        ? TORCH_INACTIVE
                            : b->state == TLA_SEGMENT_ALLOCATED ? TORCH_ALLOCATED
                                                                : TORCH_PENDING;
        bool same = k < count && recorded[k].address == b->address && recorded[k].nbytes == b->nbytes &&
                    recorded[k].state == state &&
                    (state == TORCH_INACTIVE || recorded[k].any_request || recorded[k].requested == b->requested);
        if (!same) {
            snprintf(r->result->end_difference, sizeof r->result->end_difference,
                     "replayed %s block of %" PRIu64 " bytes at %" PRIu64 ", recorded %s", names[state], b->nbytes,
                     b->address, k < count ? names[recorded[k].state] : "no more");
            return TLA_OK;
        }
        k++;
    }
    r->result->end_state_equal = k == count;
    if (k < count)
        snprintf(r->result->end_difference, sizeof r->result->end_difference,
                 "recorded %s block of %" PRIu64 " bytes at %" PRIu64 ", replayed no more", names[recorded[k].state],
                 recorded[k].nbytes, recorded[k].address);
    return TLA_OK;
}

static tla_status compare_end(replayer *r) {
    const torch_device *d = r->device;
    tla_segment_block_info *own = NULL;
    size_t own_count = 0;
    end_block *recorded = malloc((d->block_count + 1) * sizeof *recorded);
    tla_status status = recorded ? tla_segment_cache_blocks(r->cache, &own, &own_count) : TLA_NO_HOST_MEMORY;
    if (!status) {
        for (size_t i = 0; i < d->block_count; i++)
            recorded[i] = (end_block){d->blocks[i].address, d->blocks[i].nbytes, d->blocks[i].requested,
                                      d->blocks[i].state, d->blocks[i].requested_is_size};
        status = compare_blocks(r, recorded, own, own_count);
    }
    free(recorded);
    free(own);
    return status;
}

static tla_status play(replayer *r) {
    tla_status status = TLA_OK;
    while (!status && !r->result->differs && r->at < r->device->entry_count)
        status = play_entry(r, &r->device->entries[r->at]);
    if (status == TLA_NO_HOST_MEMORY) return status;
    if (r->result->differs || status == ABANDONED) return TLA_OK; /* or whoever watched has seen enough */
    if (status) return status;
    watched(r, r->device->entry_count, false);
    return compare_end(r);
}

/* One replay. *shortest is the shortest range that had no room for a request as it was recorded. */
static tla_status play_once(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                            const torch_recorded_options *options, const tla_segment_cache_config *config,
                            torch_recorded *result, uint64_t *shortest) {
    *result = (torch_recorded){.device = device, .entries = snapshot->devices[device].comparable};
    replayer r = {.snapshot = snapshot,
                  .device = &snapshot->devices[device],
                  .options = options,
                  .result = result,
                  .config = *config,
                  .uncertain = start->uncertain << 20,
                  .shortest = UINT64_MAX};
    connect(&r);
    tla_status status = tla_segment_cache_create(&r.config, &r.cache);
    if (!status) status = torch_start_restore(snapshot, start, r.config.device_bytes, r.cache);
    if (!status) {
        tla_segment_cache_on_synchronize(r.cache, synchronize, &r);
        status = play(&r);
        result->stats = tla_segment_cache_get_stats(r.cache);
    }
    tla_segment_cache_abandon(r.cache);
    *shortest = r.shortest;
    return status;
}

/* Again with all ranges shorter, the device being the same for all, when one was found to be: from the longest that it
 * can have been down in steps of the small granule, until a length agrees with the whole recording. Of none the best
 * one counts. Nobody watches but the last replay. */
static tla_status play_until_ranges_fit(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                                        const torch_recorded_options *options, tla_segment_cache_config *config,
                                        torch_recorded *result) {
    static const uint64_t step = 2 << 20, entries_max = 20000000;
    torch_recorded_options silent = *options;
    torch_recorded best = {0};
    uint64_t shortest, length = UINT64_MAX, best_bytes = config->device_bytes, replayed = 0;
    silent.watch = NULL;
    tla_status status = TLA_OK;
    for (bool first = true;; first = false) {
        status = play_once(snapshot, device, start, &silent, config, result, &shortest);
        if (status) return status;
        if (first || result->equal > best.equal || (!result->differs && result->end_state_equal)) {
            best = *result;
            best_bytes = config->device_bytes;
        }
        if (shortest < length) length = shortest;
        replayed += result->entries;
        if (!result->differs || length == UINT64_MAX || length <= step || replayed > entries_max) break;
        config->device_bytes = length / 9 * 8;
        length -= step;
    }
    *result = best;
    config->device_bytes = best_bytes;
    if (!options->watch) return TLA_OK;
    return play_once(snapshot, device, start, options, config, result, &shortest);
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
    tla_status status = play_until_ranges_fit(snapshot, device, start, options, &config, result);
    if (status)
        return tla_error_set(error, status, "%s: device %zu cannot be replayed: %s", snapshot->name, device,
                             tla_status_text(status));
    return TLA_OK;
}
