/* A pseudo-channel with banks or without, offered one burst after the other. */
#include "traffic/channel.h"

#include "tlmalloc/dram/channels.h"

#include <stdlib.h>

struct traffic_channel {
    tla_hbm *banks; /* NULL: without */
    tla_flat_channels *flat;
    tla_hbm_listener listener;
    uint64_t clock_ps;
    /* Without banks: the ends of the reads in flight, a ring for as many as the window allows, oldest first. */
    uint64_t *reads;
    uint32_t window, first, count;
    tla_hbm_stats stats;
};

static tla_status create_flat(traffic_channel *channel, const tla_hbm_config *timing) {
    const tla_flat_channels_config config = tla_flat_channels_of(timing, 1);
    channel->clock_ps = timing->tck_ps;
    channel->window = timing->window;
    channel->reads = malloc((timing->window + (size_t)1) * sizeof *channel->reads);
    return channel->reads ? tla_flat_channels_create(&config, &channel->flat) : TLA_NO_HOST_MEMORY;
}

tla_status traffic_channel_create(const tla_hbm_config *timing, const tla_hbm_listener *listener, traffic_channel **out,
                                  tla_error *error) {
    *out = NULL;
    tla_status status = tla_hbm_check(timing, error);
    if (status != TLA_OK) return status;
    traffic_channel *channel = calloc(1, sizeof *channel);
    if (channel == NULL) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for a pseudo-channel");
    channel->listener = *listener;
    if (timing->model == TLA_HBM_BANKS)
        status = tla_hbm_create(timing, listener, &channel->banks, error);
    else if ((status = create_flat(channel, timing)) != TLA_OK)
        tla_error_set(error, status, "no host memory for a pseudo-channel");
    if (status == TLA_OK)
        *out = channel;
    else
        traffic_channel_destroy(channel);
    return status;
}

void traffic_channel_destroy(traffic_channel *channel) {
    if (channel == NULL) return;
    tla_hbm_destroy(channel->banks);
    tla_flat_channels_destroy(channel->flat);
    free(channel->reads);
    free(channel);
}

/* Whether the window has a place at this time; else *free_ps is when it has. */
static bool has_place(traffic_channel *channel, uint64_t at_ps, uint64_t *free_ps) {
    for (; channel->count > 0 && channel->reads[channel->first] <= at_ps; channel->count--)
        channel->first = (channel->first + 1) % channel->window;
    if (channel->count < channel->window) return true;
    *free_ps = channel->reads[channel->first];
    return false;
}

static tla_status offer_flat(traffic_channel *channel, const tla_hbm_request *request, uint64_t *accepted_ps) {
    const uint64_t clock = channel->clock_ps;
    const uint64_t at_ps = (request->at_ps / clock + (request->at_ps % clock != 0)) * clock;
    const bool read = request->op == TLA_HBM_READ, windowed = read && channel->window > 0;
    if (windowed && !has_place(channel, at_ps, accepted_ps)) return TLA_BUSY;
    const uint64_t end_ps = tla_flat_channels_access(channel->flat, !read, request->address, 1, at_ps);
    if (windowed) channel->reads[(channel->first + channel->count++) % channel->window] = end_ps;
    (*(read ? &channel->stats.reads : &channel->stats.writes))++;
    channel->stats.last_end_ps = end_ps;
    channel->listener.done(channel->listener.context, request->tag, request->op, end_ps);
    *accepted_ps = at_ps;
    return TLA_OK;
}

tla_status traffic_channel_offer(traffic_channel *channel, const tla_hbm_request *request, uint64_t *accepted_ps) {
    return channel->banks ? tla_hbm_offer(channel->banks, request, accepted_ps)
                          : offer_flat(channel, request, accepted_ps);
}

uint64_t traffic_channel_drain(traffic_channel *channel) {
    return channel->banks ? tla_hbm_drain(channel->banks) : channel->stats.last_end_ps;
}

tla_hbm_stats traffic_channel_stats(const traffic_channel *channel) {
    return channel->banks ? tla_hbm_get_stats(channel->banks) : channel->stats;
}

tla_hbm_open_time traffic_channel_open_time(const traffic_channel *channel, uint64_t until_ps) {
    return channel->banks ? tla_hbm_get_open_time(channel->banks, until_ps) : (tla_hbm_open_time){0};
}
