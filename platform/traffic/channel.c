/* A pseudo-channel with banks or without, offered one burst after the other. */
#include "traffic/channel.h"

#include "tlmalloc/dram/channels.h"

#include <stdlib.h>

struct traffic_channel {
    tla_hbm *banks; /* NULL: without */
    tla_flat_channels *flat;
    tla_hbm_listener listener;
    uint64_t clock_ps;
    /* Without banks: the ends of the reads in flight, a ring for as many as the window allows, oldest first. Two
     * pseudo-channels with one window: when the places of reads whose ends are known are free again, in no order. */
    uint64_t *reads;
    uint32_t window, first, count;
    uint32_t ends_unknown; /* accepted reads without a place in `reads` */
    tla_hbm_stats stats;
};

static void done_in_window(void *context, uint64_t tag, tla_hbm_op op, uint64_t end_ps) {
    traffic_channel *channel = context;
    if (op == TLA_HBM_READ) {
        channel->ends_unknown--;
        channel->reads[channel->count++] = end_ps + channel->clock_ps;
    }
    channel->listener.done(channel->listener.context, tag, op, end_ps);
}

/* Each pseudo-channel would have a window of its own; here both have one together. */
static tla_status create_sharers(traffic_channel *channel, const tla_hbm_config *timing, tla_error *error) {
    const tla_hbm_listener listener = {.context = channel, .done = done_in_window};
    tla_hbm_config config = *timing;
    config.window = 0;
    channel->clock_ps = timing->tck_ps;
    channel->window = timing->window;
    channel->reads = malloc(timing->window * sizeof *channel->reads);
    if (channel->reads == NULL) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for a pseudo-channel");
    return tla_hbm_create(&config, &listener, &channel->banks, error);
}

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
    if (timing->model == TLA_HBM_BANKS && timing->row_bus_sharers == 2 && timing->window > 0)
        status = create_sharers(channel, timing, error);
    else if (timing->model == TLA_HBM_BANKS)
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

static uint64_t next_cycle_ps(const traffic_channel *channel, uint64_t at_ps) {
    return (at_ps / channel->clock_ps + (at_ps % channel->clock_ps != 0)) * channel->clock_ps;
}

static tla_status offer_flat(traffic_channel *channel, const tla_hbm_request *request, uint64_t *accepted_ps) {
    const uint64_t at_ps = next_cycle_ps(channel, request->at_ps);
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

/* Whether the window of two pseudo-channels has a place for a read; else *free_ps is when it may have. */
static bool has_shared_place(traffic_channel *channel, uint64_t at_ps, uint64_t *free_ps) {
    tla_hbm_advance(channel->banks, at_ps);
    *free_ps = UINT64_MAX;
    for (uint32_t i = 0; i < channel->count;) {
        if (channel->reads[i] <= at_ps) {
            channel->reads[i] = channel->reads[--channel->count];
            continue;
        }
        if (channel->reads[i] < *free_ps) *free_ps = channel->reads[i];
        i++;
    }
    if (channel->ends_unknown + channel->count < channel->window) return true;
    const uint64_t end_ps = channel->ends_unknown > 0 ? tla_hbm_next_end(channel->banks) : UINT64_MAX;
    if (end_ps < *free_ps) *free_ps = end_ps;
    return false;
}

static tla_status offer_sharers(traffic_channel *channel, const tla_hbm_request *request, uint64_t *accepted_ps) {
    const bool read = request->op == TLA_HBM_READ;
    if (read && !has_shared_place(channel, next_cycle_ps(channel, request->at_ps), accepted_ps)) return TLA_BUSY;
    channel->ends_unknown += read; /* before the offer, in which the read may be answered */
    const tla_status status = tla_hbm_offer(channel->banks, request, accepted_ps);
    if (status != TLA_OK) channel->ends_unknown -= read;
    return status;
}

tla_status traffic_channel_offer(traffic_channel *channel, const tla_hbm_request *request, uint64_t *accepted_ps) {
    if (channel->banks && channel->reads) return offer_sharers(channel, request, accepted_ps);
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
