/* Burst-interleaved pseudo-channels with banks. */
#include "tlmalloc/hbm_channels.h"

#include <inttypes.h>
#include <stdlib.h>

struct tla_hbm_channels {
    tla_hbm_config timing;
    uint64_t latency_ps[2];
    uint32_t instances, instance_bits, burst_bits;
    tla_hbm *instance[];
};

static bool power_of_two(uint64_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

/* Rows do not change the timing, only how far addresses reach: more row bits on top of the map. */
static tla_status cover(const tla_hbm_channels_config *config, tla_hbm_config *timing, tla_error *error) {
    *timing = config->timing;
    const tla_status status = tla_hbm_check(timing, error);
    if (status != TLA_OK) return status;
    if (!power_of_two(config->count) || config->count < timing->row_bus_sharers)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "found %" PRIu32 " pseudo-channels, expected a power of two, at least the %" PRIu32
                             " that share a row-command bus",
                             config->count, timing->row_bus_sharers);
    if (timing->model == TLA_HBM_CHANNEL) return TLA_OK;
    const uint64_t row_of_all =
        (uint64_t)config->count * timing->bank_groups * timing->banks_per_group * timing->row_bytes;
    uint64_t rows = timing->rows;
    uint32_t bits = 0;
    for (; rows * row_of_all < config->capacity && rows < UINT32_MAX; rows *= 2)
        bits++;
    tla_hbm_map *map = &timing->map;
    if (bits == 0) return TLA_OK;
    timing->rows = rows <= UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
    if (map->pieces[map->count - 1].field != TLA_HBM_FIELD_ROW) {
        if (map->count == TLA_HBM_MAP_MAX)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "the address map has no place for %" PRIu32 " more rows",
                                 bits);
        map->pieces[map->count].field = TLA_HBM_FIELD_ROW;
        map->pieces[map->count++].bits = 0;
    }
    map->pieces[map->count - 1].bits += bits;
    if (tla_hbm_check(timing, NULL) != TLA_OK)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "found a capacity of %" PRIu64 " bytes for %" PRIu32
                             " pseudo-channels, which takes more rows than a bank can have",
                             config->capacity, config->count);
    return TLA_OK;
}

tla_status tla_hbm_channels_check(const tla_hbm_channels_config *config, tla_error *error) {
    tla_hbm_config timing;
    return cover(config, &timing, error);
}

/* What one burst takes on a pseudo-channel that has done nothing yet. */
static tla_status measure_latency(tla_hbm_channels *channels, tla_hbm_op op, tla_error *error) {
    tla_hbm *idle = NULL;
    const tla_status status = tla_hbm_create(&channels->timing, NULL, &idle, error);
    tla_hbm_transfer transfer;
    if (status == TLA_OK && tla_hbm_access(idle, 0, op, 0, 1, &transfer) == TLA_OK)
        channels->latency_ps[op] = transfer.last_end_ps;
    tla_hbm_destroy(idle);
    return status;
}

tla_status tla_hbm_channels_create(const tla_hbm_channels_config *config, tla_hbm_channels **out, tla_error *error) {
    *out = NULL;
    tla_hbm_config timing;
    tla_status status = cover(config, &timing, error);
    if (status != TLA_OK) return status;
    const uint32_t sharers = timing.model == TLA_HBM_BANKS ? timing.row_bus_sharers : 1;
    const uint32_t instances = config->count / sharers;
    tla_hbm_channels *channels = calloc(1, sizeof *channels + instances * sizeof channels->instance[0]);
    if (channels == NULL) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no memory for the pseudo-channels");
    channels->timing = timing;
    channels->instances = instances;
    channels->instance_bits = (uint32_t)__builtin_ctz(instances);
    channels->burst_bits = (uint32_t)__builtin_ctz(timing.burst_bytes);
    for (uint32_t i = 0; i < instances && status == TLA_OK; i++)
        status = tla_hbm_create(&timing, NULL, &channels->instance[i], error);
    if (status == TLA_OK) status = measure_latency(channels, TLA_HBM_READ, error);
    if (status == TLA_OK) status = measure_latency(channels, TLA_HBM_WRITE, error);
    if (status == TLA_OK)
        *out = channels;
    else
        tla_hbm_channels_destroy(channels);
    return status;
}

void tla_hbm_channels_destroy(tla_hbm_channels *channels) {
    if (channels == NULL) return;
    for (uint32_t i = 0; i < channels->instances; i++)
        tla_hbm_destroy(channels->instance[i]);
    free(channels);
}

uint64_t tla_hbm_channels_access(tla_hbm_channels *channels, tla_hbm_op op, uint64_t offset, uint64_t nbytes,
                                 uint64_t arrival_ps) {
    const uint64_t first = offset >> channels->burst_bits, last = (offset + nbytes - 1) >> channels->burst_bits;
    uint64_t done = arrival_ps;
    /* bursts of one instance follow each other in its own address space: one transfer each */
    for (uint64_t burst = first; burst <= last && burst < first + channels->instances; burst++) {
        const uint64_t address = burst >> channels->instance_bits << channels->burst_bits;
        const uint64_t bursts = ((last - burst) >> channels->instance_bits) + 1;
        tla_hbm_transfer transfer = {0};
        tla_hbm_access(channels->instance[burst & (channels->instances - 1)], arrival_ps, op, address,
                       bursts << channels->burst_bits, &transfer);
        if (transfer.last_end_ps > done) done = transfer.last_end_ps;
    }
    return done;
}

uint32_t tla_hbm_channels_bank_of(const tla_hbm_channels *channels, uint64_t offset) {
    const uint64_t burst = offset >> channels->burst_bits;
    return tla_hbm_bank_of(channels->instance[0], burst >> channels->instance_bits << channels->burst_bits);
}

tla_hbm_stats tla_hbm_channels_get_stats(const tla_hbm_channels *channels) {
    tla_hbm_stats sum = {0};
    for (uint32_t i = 0; i < channels->instances; i++) {
        const tla_hbm_stats s = tla_hbm_get_stats(channels->instance[i]);
        sum.reads += s.reads;
        sum.writes += s.writes;
        sum.row_hits += s.row_hits;
        sum.row_misses += s.row_misses;
        sum.row_conflicts += s.row_conflicts;
        sum.forwarded += s.forwarded;
        sum.refreshes += s.refreshes;
        sum.closed_form += s.closed_form;
        if (s.last_end_ps > sum.last_end_ps) sum.last_end_ps = s.last_end_ps;
    }
    return sum;
}

uint64_t tla_hbm_channels_busy_ps(const tla_hbm_channels *channels) {
    const tla_hbm_stats s = tla_hbm_channels_get_stats(channels);
    return (s.reads + s.writes - s.forwarded) * channels->timing.burst_cycles * channels->timing.tck_ps;
}

uint64_t tla_hbm_channels_latency_ps(const tla_hbm_channels *channels, tla_hbm_op op) {
    return channels->latency_ps[op];
}
