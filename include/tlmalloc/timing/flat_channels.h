/* Memory channels that are interleaved by burst: when an access that spans several bursts is done.
 *
 * The simplest honest model of a memory: each channel serves one burst at a time at its bandwidth, reads and writes
 * share it, bursts of consecutive addresses go to consecutive channels (KernBench ADR-0033: channel = address bits
 * above the burst, a whole burst is occupied whatever part of it is wanted). No banks, rows or refresh. */
#ifndef TLMALLOC_FLAT_CHANNELS_H
#define TLMALLOC_FLAT_CHANNELS_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/timing/hbm_pseudo_channel.h"
#include "tlmalloc/timing/order.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_flat_channels_config {
    uint32_t count;               /* power of two */
    uint32_t burst_bytes;         /* power of two */
    uint64_t burst_ps;            /* what a burst occupies a channel, > 0 (tla_transfer_ps of a bandwidth) */
    uint64_t direction_switch_ps; /* added when a channel turns from read to write or back; it begins with read */
    bool in_order;                /* accesses come in the order of their arrival: no idle gap is kept for later calls */
    uint32_t clock_ps;            /* an access begins at a multiple of it, at or after its arrival; 0 = at any time */
} tla_flat_channels_config;

/* What a timing profile without banks (TLA_HBM_CHANNEL, which tla_hbm_check has accepted) says of `count` channels. Its
 * window limits who asks (`tlmalloc traffic`), and not the channels: none ends later for it. */
tla_flat_channels_config tla_flat_channels_of(const tla_hbm_config *profile, uint32_t count, bool in_order);

typedef struct tla_flat_channels tla_flat_channels;

/* TLA_INVALID_ARGUMENT when a member breaks its rule; *channels is NULL then. */
tla_status tla_flat_channels_create(const tla_flat_channels_config *config, tla_flat_channels **channels);
void tla_flat_channels_destroy(tla_flat_channels *channels);

/* Serves [offset, offset + nbytes), nbytes > 0, that arrives at arrival_ps; returns when the last burst is done. */
uint64_t tla_flat_channels_access(tla_flat_channels *channels, bool write, uint64_t offset, uint64_t nbytes,
                                  uint64_t arrival_ps);

/* Nothing will arrive before before_ps any more: what channels keep of earlier times may be forgotten
 * (timeline.h). O(1). */
void tla_flat_channels_forget(tla_flat_channels *channels, uint64_t before_ps);

/* How far channels were from serving in order of arrival, summed over them; a burst is a booking. */
tla_order tla_flat_channels_order(const tla_flat_channels *channels);

/* Sum over the channels of the time they were occupied, turns included, in ps. */
uint64_t tla_flat_channels_busy_ps(const tla_flat_channels *channels);

#ifdef __cplusplus
}
#endif
#endif
