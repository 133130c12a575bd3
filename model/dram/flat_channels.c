/* Burst-interleaved channels as timelines. */
#include "base/numbers.h"
#include "tlmalloc/dram/channels.h"

#include "tlmalloc/base/timeline.h"

#include <stdlib.h>

typedef struct channel {
    tla_timeline timeline;
    bool write; /* direction of the last burst */
} channel;

struct tla_flat_channels {
    tla_flat_channels_config config;
    uint64_t busy_ps;
    uint32_t burst_bits;
    channel channel[];
};

tla_flat_channels_config tla_flat_channels_of(const tla_hbm_config *profile, uint32_t count) {
    return (tla_flat_channels_config){.count = count,
                                      .burst_bytes = profile->burst_bytes,
                                      .burst_ps = (uint64_t)profile->burst_cycles * profile->tck_ps,
                                      .direction_switch_ps = (uint64_t)profile->rtw * profile->tck_ps,
                                      .clock_ps = profile->tck_ps};
}

tla_status tla_flat_channels_create(const tla_flat_channels_config *config, tla_flat_channels **out) {
    *out = NULL;
    if (!is_power_of_two(config->count) || !is_power_of_two(config->burst_bytes)) return TLA_INVALID_ARGUMENT;
    tla_flat_channels *channels = calloc(1, sizeof *channels + config->count * sizeof channels->channel[0]);
    if (!channels) return TLA_NO_HOST_MEMORY;
    channels->config = *config;
    channels->burst_bits = (uint32_t)__builtin_ctz(config->burst_bytes);
    *out = channels;
    return TLA_OK;
}

void tla_flat_channels_destroy(tla_flat_channels *channels) {
    free(channels);
}

static uint64_t serve_burst(tla_flat_channels *channels, channel *ch, bool write, uint64_t arrival_ps) {
    const uint64_t duration =
        channels->config.burst_ps + (ch->write != write ? channels->config.direction_switch_ps : 0);
    ch->write = write;
    channels->busy_ps += duration;
    return tla_timeline_serve(&ch->timeline, arrival_ps, duration) + duration;
}

static uint64_t next_edge(uint64_t at_ps, uint64_t clock_ps) {
    return (at_ps / clock_ps + (at_ps % clock_ps != 0)) * clock_ps;
}

uint64_t tla_flat_channels_access(tla_flat_channels *channels, bool write, uint64_t offset, uint64_t nbytes,
                                  uint64_t arrival_ps) {
    const uint64_t first = offset >> channels->burst_bits, last = (offset + nbytes - 1) >> channels->burst_bits;
    const uint32_t mask = channels->config.count - 1;
    if (channels->config.clock_ps > 1) arrival_ps = next_edge(arrival_ps, channels->config.clock_ps);
    uint64_t done = serve_burst(channels, &channels->channel[first & mask], write, arrival_ps);
    for (uint64_t burst = first + 1; burst <= last; burst++) {
        const uint64_t end = serve_burst(channels, &channels->channel[burst & mask], write, arrival_ps);
        if (end > done) done = end;
    }
    return done;
}

uint64_t tla_flat_channels_busy_ps(const tla_flat_channels *channels) {
    return channels->busy_ps;
}
