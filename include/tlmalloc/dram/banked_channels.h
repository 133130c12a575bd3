/* Pseudo-channels with banks, interleaved by burst: when an access that spans several of them is done.
 *
 * What flat_channels.h is to timelines: one tla_hbm (hbm_pseudo_channel.h) for every pseudo-channel, or for the two
 * that share a row-command bus; bursts of consecutive addresses go to consecutive ones.
 *
 * A read ends when the data of its last burst is through. A write ends when the write buffer has accepted its last
 * burst, as the timing core says: reads go first there, and whoever waited for the data of a write beside a stream of
 * reads could wait for ever. A full buffer accepts nothing, so that writes feel the bandwidth.
 *
 * tla_banked_channels_arrive takes accesses in the order in which they arrive, and tla_banked_channels_run lets time
 * come: a pseudo-channel is offered its bursts in the order of their arrival, one a clock, and reorders all that it has
 * accepted as its queue and window allow. This is what `tlmalloc traffic` does for one pseudo-channel, with the same
 * times. */
#ifndef TLMALLOC_DRAM_BANKED_CHANNELS_H
#define TLMALLOC_DRAM_BANKED_CHANNELS_H

#include "tlmalloc/dram/hbm_pseudo_channel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_banked_channels_config {
    tla_hbm_config timing; /* of one pseudo-channel; gets more rows where its own do not cover the capacity */
    uint32_t count;        /* pseudo-channels: a power of two, at least timing.row_bus_sharers */
    uint64_t capacity;     /* bytes in all of them */
} tla_banked_channels_config;

typedef struct tla_banked_channels tla_banked_channels;

/* TLA_INVALID_ARGUMENT with a text: the count, a profile that contradicts itself (tla_hbm_check) or has no banks, or a
 * capacity that would take more rows than a bank can have. */
tla_status tla_banked_channels_check(const tla_banked_channels_config *config, tla_error *error);

/* As tla_banked_channels_check, or TLA_NO_HOST_MEMORY; *channels is NULL then. */
tla_status tla_banked_channels_create(const tla_banked_channels_config *config, tla_banked_channels **channels,
                                      tla_error *error);
void tla_banked_channels_destroy(tla_banked_channels *channels);

/* A read or a write of [offset, offset + nbytes), nbytes > 0 and inside the capacity, arrives at arrival_ps, not before
 * any time that has been run to. Bursts are whole, whatever part of them is wanted. The call of tla_banked_channels_run
 * that finds the end of the access tells it, with this tag. TLA_NO_HOST_MEMORY: the access was not taken. */
tla_status tla_banked_channels_arrive(tla_banked_channels *channels, tla_hbm_op op, uint64_t offset, uint64_t nbytes,
                                      uint64_t arrival_ps, void *tag);

/* Groups of pseudo-channels that run on their own: one for each, or for the two that share a row-command bus. */
uint32_t tla_banked_channels_groups(const tla_banked_channels *channels);

/* When a group has something to do next (offer a burst, find an end); UINT64_MAX when nothing waits. */
uint64_t tla_banked_channels_next_ps(tla_banked_channels *channels, uint32_t group);

/* Lets now_ps come for a group. done(context, tag, end_ps) is called for every access whose end is known by then: that
 * its last burst is accepted, or has its place on the data bus; end_ps can lie ahead. done must not call the same
 * channels. */
void tla_banked_channels_run(tla_banked_channels *channels, uint32_t group, uint64_t now_ps,
                             void (*done)(void *context, void *tag, uint64_t end_ps), void *context);

/* The bank of its pseudo-channel in which a byte lies (tla_hbm_bank_of). */
uint32_t tla_banked_channels_bank_of(const tla_banked_channels *channels, uint64_t offset);

/* Sum over all pseudo-channels; last_end_ps is the latest. How bursts found their rows is counted when they are served,
 * so that those which wait in a write buffer are not among them yet. */
tla_hbm_stats tla_banked_channels_get_stats(const tla_banked_channels *channels);

/* Sum over the pseudo-channels of the time their data bus was occupied, in ps. */
uint64_t tla_banked_channels_busy_ps(const tla_banked_channels *channels);

/* Time of an access to one burst whose bank is closed, on an idle pseudo-channel, in ps; 0 for a write, which is
 * accepted at once. */
uint64_t tla_banked_channels_latency_ps(const tla_banked_channels *channels, tla_hbm_op op);

#ifdef __cplusplus
}
#endif
#endif
