/* Memory channels that are interleaved by burst: when an access that spans several bursts is done.
 *
 * The simplest honest model of a memory: each channel serves one burst at a time at its bandwidth, reads and writes
 * share it, bursts of consecutive addresses go to consecutive channels (KernBench ADR-0033: channel = address bits
 * above the burst, a whole burst is occupied whatever part of it is wanted). No banks, rows or refresh. */
#ifndef TLMALLOC_DRAM_FLAT_CHANNELS_H
#define TLMALLOC_DRAM_FLAT_CHANNELS_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/dram/hbm_pseudo_channel.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_flat_channels_config {
    uint32_t count;       /* power of two */
    uint32_t burst_bytes; /* power of two */
    uint64_t burst_ps;    /* what a burst occupies a channel, > 0 (tla_transfer_ps in timeline.h, of a bandwidth) */
    uint64_t direction_switch_ps; /* added when a channel turns from read to write or back; it begins with read */
    uint32_t clock_ps;            /* an access begins at a multiple of it, at or after its arrival; 0 = at any time */
} tla_flat_channels_config;

/* What a timing profile without banks (TLA_HBM_CHANNEL, which tla_hbm_check has accepted) says of `count` channels. Its
 * window limits who asks (`tlmalloc traffic`), and not the channels: none ends later for it. */
tla_flat_channels_config tla_flat_channels_of(const tla_hbm_config *profile, uint32_t count);

typedef struct tla_flat_channels tla_flat_channels;

/* TLA_INVALID_ARGUMENT when a member breaks its rule; *channels is NULL then. */
tla_status tla_flat_channels_create(const tla_flat_channels_config *config, tla_flat_channels **channels);
void tla_flat_channels_destroy(tla_flat_channels *channels);

/* Serves [offset, offset + nbytes), nbytes > 0, that arrives at arrival_ps, behind the accesses before it: accesses
 * come in the order of their arrival. Returns when the last burst is done. */
uint64_t tla_flat_channels_access(tla_flat_channels *channels, bool write, uint64_t offset, uint64_t nbytes,
                                  uint64_t arrival_ps);

/* Sum over the channels of the time they were occupied, turns included, in ps. */
uint64_t tla_flat_channels_busy_ps(const tla_flat_channels *channels);

#ifdef __cplusplus
}
#endif
#endif
