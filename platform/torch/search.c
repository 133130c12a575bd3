/* A search for unrecorded facts: the recording is replayed again with another length of ranges, other sizes of older
 * blocks, other pools of segments, as long as it differs and the difference moves to a later entry. */
#include "torch/replayer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The result of one replay. */
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
    if (options->inferred) {
        memset(options->inferred->marks, 0, d->entry_count);
        options->inferred->retirement_count = 0;
    }
    torch_replayer_connect(&r);
    r.retired = calloc(snapshot->pool_count, 1);
    r.retired_order = calloc(snapshot->pool_count, sizeof *r.retired_order);
    tla_status status =
        r.retired && r.retired_order ? tla_segment_cache_create(&r.config, &r.cache) : TLA_NO_HOST_MEMORY;
    if (!status) status = torch_start_restore(snapshot, start, r.config.device_bytes, r.cache);
    if (!status) {
        tla_segment_cache_on_synchronize(r.cache, torch_replayer_synchronize, &r);
        status = torch_replayer_play(&r);
        result->stats = tla_segment_cache_get_stats(r.cache);
    }
    tla_segment_cache_abandon(r.cache);
    free(r.retired);
    free(r.retired_order);
    *found = (attempt){r.shortest, r.doubt};
    return status;
}

static bool is_better(const torch_recorded *a, const torch_recorded *b) {
    return a->equal > b->equal || (!a->differs && a->end_state_equal);
}

/* The limit of replayed entries for this search. */
static const uint64_t entries_max = 20000000;

/* Replays with all ranges shorter, the device being the same for all, if a range was found to be shorter: from the
 * longest possible length down in steps of the small granule, until a length agrees with the whole recording. If no
 * length does, the best one counts. */
static tla_status play_until_ranges_fit(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                                        const torch_recorded_options *options, tla_segment_cache_config *config,
                                        uint64_t *replayed, torch_recorded *result, attempt *found) {
    static const uint64_t step = 2 << 20;
    torch_recorded best = {0};
    attempt of_best = {0};
    uint64_t length = UINT64_MAX, best_bytes = config->device_bytes;
    for (bool first = true;; first = false) {
        tla_status status = play_once(snapshot, device, start, options, config, result, found);
        if (status) return status;
        if (first || is_better(result, &best)) {
            best = *result;
            of_best = *found;
            best_bytes = config->device_bytes;
        }
        if (found->shortest < length) length = found->shortest;
        *replayed += result->entries;
        if (!result->differs || length == UINT64_MAX || length <= step || *replayed > entries_max) break;
        config->device_bytes = length / 9 * 8;
        length -= step;
    }
    *result = best;
    *found = of_best;
    config->device_bytes = best_bytes;
    return TLA_OK;
}

/* The bounds of the device's size, from the differences. */
typedef struct bounds {
    uint64_t low, high; /* ranges of a device of `low` bytes are too short, of `high` bytes too long */
} bounds;

static void narrow(bounds *b, uint64_t size, const attempt *found) {
    static const uint64_t unknown = UINT64_C(1) << 40;
    if (!size) size = unknown;
    if (found->doubt.longer > 0 && size > b->low) b->low = size;
    if (found->doubt.longer < 0 && size < b->high) b->high = size;
}

/* Again with other sizes of the device, of which ranges have their length, as long as it differs: the likely ones, then
 * by bisection. */
static tla_status play_until_device_fits(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                                         const torch_recorded_options *options, tla_segment_cache_config *config,
                                         torch_recorded *result, attempt *found) {
    static const uint64_t step = 2 << 20;
    uint64_t sizes[TORCH_SIZES_MAX], best_bytes = 0, replayed = 0;
    const size_t count = torch_likely_sizes(start, sizes);
    bounds b = {start->capacity > start->peak_reserved ? start->capacity : start->peak_reserved, UINT64_MAX};
    bool more = true;
    for (size_t i = 0; more; i++) {
        torch_recorded other;
        attempt of_other;
        config->device_bytes = i < count ? sizes[i] : b.low + (b.high - b.low) / 2;
        const uint64_t size = config->device_bytes;
        tla_status status =
            play_until_ranges_fit(snapshot, device, start, options, config, &replayed, &other, &of_other);
        if (status) return status;
        const uint64_t before = b.high - b.low;
        narrow(&b, size, &of_other);
        if (i == 0 || is_better(&other, result)) {
            *result = other;
            *found = of_other;
            best_bytes = config->device_bytes;
        }
        const bool can_halve = b.high != UINT64_MAX && b.high > b.low + step && (i < count || b.high - b.low < before);
        more = result->differs && config->expandable && replayed < entries_max && (i + 1 < count || can_halve);
    }
    config->device_bytes = best_bytes;
    return TLA_OK;
}

/* A recording that differs, and the possible errors about unrecorded facts. */
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

/* Replays with other sizes of older blocks and other pools, as long as the difference moves to a later entry. Only the
 * last replay has an observer. */
static tla_status play_until_all_fits(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                                      const torch_recorded_options *options, tla_segment_cache_config *config,
                                      torch_recorded *result) {
    torch_recorded_options silent = *options;
    silent.watch = NULL;
    search s = {
        .snapshot = snapshot, .device = device, .start = start, .options = &silent, .config = config, .best = result};
    tla_status status = play_until_device_fits(snapshot, device, start, &silent, config, result, &s.of_best);
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
    if (status || !(options->watch || options->inferred)) return status;
    return play_once(snapshot, device, start, options, config, result, &s.of_best);
}

tla_status torch_replay_recorded(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                                 const torch_recorded_options *options, torch_recorded *result, tla_error *error) {
    *result = (torch_recorded){.device = device, .entries = snapshot->devices[device].comparable};
    if (start->contradictions)
        return tla_error_set(error, TLA_SYNTAX, "%s: device %zu: the segments and the trace contradict each other: %s",
                             snapshot->name, device, start->contradiction);
    if (!snapshot->has_segments)
        return tla_error_set(error, TLA_SYNTAX,
                             "%s: 'segments' is missing, the allocator's state at the end: record with "
                             "torch.cuda.memory._dump_snapshot()",
                             snapshot->name);
    tla_segment_cache_config config = options->settings ? *options->settings : snapshot->settings;
    if (!options->settings) config.memory_fraction = 0; /* an unrecorded setting; the driver's answers imply it */
    tla_status status = play_until_all_fits(snapshot, device, start, options, &config, result);
    if (status)
        return tla_error_set(error, status, "%s: device %zu cannot be replayed: %s", snapshot->name, device,
                             tla_status_text(status));
    return TLA_OK;
}
