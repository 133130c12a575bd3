/* The moment that is explained: the recording replayed to it, the blocks that were there, and those that the retry
 * leaves. */
#include "torch/command/explained.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct seeker {
    explained *e;
    size_t entry;   /* the one that is wanted */
    uint64_t index; /* or the first request from here on */
    bool by_index, behind;
    uint64_t most; /* allocated, when the peak is sought */
    tla_status status;
} seeker;

static tla_status nothing(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)context, (void)device, (void)address, (void)nbytes, (void)work;
    return TLA_OK;
}

static tla_status nothing_mapped(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                                 tla_work *work) {
    (void)context, (void)device, (void)address, (void)nbytes, (void)granule, (void)work;
    return TLA_OK;
}

static tla_status no_memory(void *context, uint32_t device, uint64_t nbytes, uint64_t *address, tla_work *work) {
    (void)context, (void)device, (void)nbytes, (void)address, (void)work;
    return TLA_EXHAUSTED;
}

static tla_status no_range(void *context, uint32_t device, uint64_t nbytes, uint64_t granule, uint64_t *address,
                           tla_work *work) {
    (void)context, (void)device, (void)nbytes, (void)granule, (void)address, (void)work;
    return TLA_EXHAUSTED;
}

/* Computes the state after all possible releases. */
static tla_status explain_after(explained *e, const torch_moment *moment) {
    tla_segment_cache_config c = e->snapshot->settings;
    c.memory_fraction = 0;
    c.driver = (tla_upstream){.alloc = no_memory, .free = nothing};
    c.ranges = (tla_upstream_ranges){no_range, nothing, nothing_mapped, nothing_mapped, NULL};
    tla_segment_cache *copy = NULL;
    tla_segment_block_info *blocks = NULL;
    size_t count = 0;
    tla_status status = torch_cache_copy(e->snapshot, moment->cache, &c, &copy);
    for (size_t i = 1; !status && i < e->snapshot->pool_count; i++) /* a copy forgets it */
        if (moment->retired[i]) tla_segment_cache_retire_pool(copy, e->snapshot->pools[i]);
    if (!status && !moment->captured) status = tla_segment_cache_empty(copy, NULL);
    if (!status) status = tla_segment_cache_blocks(copy, &blocks, &count);
    e->retry_served = !status && e->request && e->request->action == TORCH_OOM &&
                      tla_segment_cache_can_serve_from(copy, e->gap_request.owner, e->request->stream, e->nbytes);
    if (!status) e->after = tla_gap_explain(blocks, count, &e->gap_request);
    free(blocks);
    tla_segment_cache_abandon(copy);
    return status;
}

static tla_status capture(explained *e, const torch_moment *moment) {
    const torch_device *d = &e->snapshot->devices[e->device];
    const tla_segment_cache_config *c = &e->snapshot->settings;
    e->entry = moment->entry;
    e->index = moment->index;
    e->behind = moment->behind;
    e->captured = moment->captured;
    e->request = moment->entry < d->entry_count ? &d->entries[moment->entry] : NULL;
    e->nbytes = e->request ? e->request->nbytes : 0;
    e->stats = tla_segment_cache_get_stats(moment->cache);
    e->gap_request = tla_gap_request_of(c, e->request ? e->request->stream : 0, e->nbytes ? e->nbytes : 1);
    if (e->request) e->gap_request.owner = e->snapshot->pools[e->request->pool];
    free(e->blocks);
    tla_status status = tla_segment_cache_blocks(moment->cache, &e->blocks, &e->block_count);
    if (status) return status;
    e->before = tla_gap_explain(e->blocks, e->block_count, &e->gap_request);
    e->found = true;
    return explain_after(e, moment);
}

static bool seek(void *context, const torch_moment *moment) {
    seeker *s = context;
    bool here = s->by_index ? moment->index >= s->index : moment->entry == s->entry;
    here = here && moment->behind == s->behind;
    if (!here) return false;
    s->status = capture(s->e, moment);
    return true;
}

/* The request behind which most was allocated. */
static bool seek_peak(void *context, const torch_moment *moment) {
    seeker *s = context;
    uint64_t allocated = tla_segment_cache_get_stats(moment->cache).allocated;
    if (moment->behind && allocated > s->most) {
        s->most = allocated;
        s->entry = moment->entry;
        s->behind = true;
    }
    return false;
}

static bool find_oom(const torch_device *d, size_t *entry) {
    for (*entry = d->entry_count; *entry > 0; --*entry)
        if (d->entries[*entry - 1].action == TORCH_OOM) {
            --*entry;
            return true;
        }
    return false;
}

/* Finds the bytes that the allocator could have reserved, and whether they could ever have been enough. */
static void find_capacity(explained *e, uint64_t capacity) {
    bool oom = e->request && e->request->action == TORCH_OOM;
    const char *from = "the peak of reserved memory: memory never ran out";
    e->capacity = e->start->peak_reserved;
    if (capacity) {
        e->capacity = capacity;
        from = capacity < e->before.reserved ? "as given, less than the recording had reserved at that moment"
                                             : "as given";
    } else if (oom) {
        e->capacity = torch_capacity_at(&e->snapshot->devices[e->device], e->entry);
        from = "reserved memory when memory ran out, plus the device's free memory";
    } else if (e->start->capacity) {
        e->capacity = e->start->capacity;
        from = "as at the recording's oom";
    }
    snprintf(e->capacity_from, sizeof e->capacity_from, "%s", from);
    if (!capacity && !e->start->capacity && e->whole.retries)
        snprintf(e->capacity_from, sizeof e->capacity_from,
                 "the peak of reserved memory: memory ran out %" PRIu64
                 " time%s, and each request succeeded after cached memory was released",
                 e->whole.retries, e->whole.retries == 1 ? "" : "s");
    uint64_t needed = e->before.requested + (e->behind ? 0 : e->nbytes);
    e->impossible = needed > e->capacity;
    e->short_by = e->impossible ? needed - e->capacity : 0;
}

static tla_status play(const explained *e, torch_recorded_options *options, torch_recorded *result, tla_error *error) {
    return torch_replay_recorded(e->snapshot, e->device, e->start, options, result, error);
}

static tla_status differs(const explained *e, const torch_recorded *result, tla_error *error) {
    return tla_error_set(error, TLA_SYNTAX,
                         "%s: device %zu differs before that moment, at entry %" PRIu64
                         ": recorded %s, replayed %s; see replay --as-recorded",
                         e->snapshot->name, e->device, result->first.entry, result->first.recorded,
                         result->first.replayed);
}

tla_status explain_find(const torch_snapshot *snapshot, size_t device, const torch_start *start, explain_when when,
                        uint64_t entry, uint64_t capacity, torch_inferred *inferred, explained *out, tla_error *error) {
    const torch_device *d = &snapshot->devices[device];
    *out = (explained){.snapshot = snapshot, .device = device, .start = start};
    seeker s = {.e = out, .by_index = when == EXPLAIN_ENTRY, .index = entry};
    torch_recorded result;
    torch_recorded_options options = {.watch = seek, .context = &s, .inferred = inferred};
    bool oom = find_oom(d, &s.entry);
    tla_status status = TLA_OK;
    if (when == EXPLAIN_OOM && !oom)
        return tla_error_set(error, TLA_SYNTAX, "%s: device %zu never ran out of memory: the trace has no oom entry",
                             snapshot->name, device);
    if (when == EXPLAIN_ENTRY && entry >= d->comparable)
        return tla_error_set(error, TLA_OUT_OF_RANGE, "%s: unknown entry %" PRIu64 " of device %zu, expected 0 .. %zu",
                             snapshot->name, entry, device, d->comparable - 1);
    const bool peak = when == EXPLAIN_PEAK || (when == EXPLAIN_DEFAULT && !oom);
    torch_recorded_options whole = {.watch = peak ? seek_peak : NULL, .context = &s};
    status = play(out, &whole, &result, error);
    out->whole = result.stats;
    if (!status && peak && result.differs) status = differs(out, &result, error); /* more may be allocated behind it */
    if (!status) status = play(out, &options, &result, error);
    if (!status) status = s.status;
    if (!status && !out->found) status = differs(out, &result, error);
    if (!status) find_capacity(out, capacity);
    if (status) explain_clear(out);
    return status;
}

void explain_clear(explained *e) {
    free(e->blocks);
    *e = (explained){0};
}
