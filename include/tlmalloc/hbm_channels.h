/* Pseudo-channels with banks, interleaved by burst: when an access that spans several of them is done.
 *
 * What channels.h is to timelines: one tla_hbm (hbm_timing.h) for every pseudo-channel, or for the two that share a
 * row-command bus; bursts of consecutive addresses go to consecutive ones. An access is served when it is called, so a
 * pseudo-channel takes accesses in the order of the calls: the bursts of one access are reordered among themselves, and
 * an access that is called later but arrives earlier is accepted as soon as the commands before it are issued. */
#ifndef TLMALLOC_HBM_CHANNELS_H
#define TLMALLOC_HBM_CHANNELS_H

#include "tlmalloc/hbm_timing.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_hbm_channels_config {
    tla_hbm_config timing; /* of one pseudo-channel; gets more rows where its own do not cover the capacity */
    uint32_t count;        /* pseudo-channels: a power of two, at least timing.row_bus_sharers */
    uint64_t capacity;     /* bytes in all of them */
} tla_hbm_channels_config;

typedef struct tla_hbm_channels tla_hbm_channels;

/* TLA_INVALID_ARGUMENT with a text: the count, a profile that contradicts itself (tla_hbm_check), or a capacity that
 * would take more rows than a bank can have. */
tla_status tla_hbm_channels_check(const tla_hbm_channels_config *config, tla_error *error);

/* As tla_hbm_channels_check, or TLA_NO_HOST_MEMORY; *channels is NULL then. */
tla_status tla_hbm_channels_create(const tla_hbm_channels_config *config, tla_hbm_channels **channels,
                                   tla_error *error);
void tla_hbm_channels_destroy(tla_hbm_channels *channels);

/* Reads or writes [offset, offset + nbytes), nbytes > 0 and inside the capacity, arriving at arrival_ps; returns when
 * the data of the last burst is through. Bursts are whole, whatever part of them is wanted. */
uint64_t tla_hbm_channels_access(tla_hbm_channels *channels, tla_hbm_op op, uint64_t offset, uint64_t nbytes,
                                 uint64_t arrival_ps);

/* The bank of its pseudo-channel in which a byte lies (tla_hbm_bank_of). */
uint32_t tla_hbm_channels_bank_of(const tla_hbm_channels *channels, uint64_t offset);

/* Sum over all pseudo-channels; last_end_ps is the latest. */
tla_hbm_stats tla_hbm_channels_get_stats(const tla_hbm_channels *channels);

/* Sum over the pseudo-channels of the time their data bus was occupied, in ps. */
uint64_t tla_hbm_channels_busy_ps(const tla_hbm_channels *channels);

/* Time of an access to one burst whose bank is closed, on an idle pseudo-channel, in ps. */
uint64_t tla_hbm_channels_latency_ps(const tla_hbm_channels *channels, tla_hbm_op op);

#ifdef __cplusplus
}
#endif
#endif
