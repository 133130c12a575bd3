/* The target of traffic: one pseudo-channel with banks, or the two that share a row-command bus (channels.h), or a
 * channel without banks whose reads in flight a window limits. */
#ifndef TLMALLOC_PLATFORM_TRAFFIC_CHANNEL_H
#define TLMALLOC_PLATFORM_TRAFFIC_CHANNEL_H

#include "tlmalloc/dram/channels.h"

typedef struct traffic_channel traffic_channel;

/* The window of two pseudo-channels is one for both. listener->done is called for every burst, from inside the calls.
 * Errors as tla_hbm_create; *channel is NULL then. */
tla_status traffic_channel_create(const tla_hbm_config *timing, const tla_hbm_listener *listener,
                                  traffic_channel **channel, tla_error *error);
void traffic_channel_destroy(traffic_channel *channel);

/* As tla_hbm_offer, but the caller offers no burst before a clock has passed since the last was accepted, and every
 * address is in range. */
tla_status traffic_channel_offer(traffic_channel *channel, const tla_hbm_request *request, uint64_t *accepted_ps);

/* Executes the queued bursts; returns the end of the last data. */
uint64_t traffic_channel_drain(traffic_channel *channel);

tla_hbm_stats traffic_channel_stats(const traffic_channel *channel);

/* As tla_hbm_get_open_time; zeros without banks. */
tla_hbm_open_time traffic_channel_open_time(const traffic_channel *channel, uint64_t until_ps);

#endif
