/* Pseudo-channels with banks, interleaved by burst: when an access that spans several of them is done.
 *
 * What flat_channels.h is to timelines: one tla_hbm (hbm_pseudo_channel.h) for every pseudo-channel, or for the two
 * that share a row-command bus; bursts of consecutive addresses go to consecutive ones.
 *
 * A read ends when the data of its last burst is through. A write ends when the write buffer has accepted its last
 * burst, as the timing core says: reads go first there, and whoever waited for the data of a write beside a stream of
 * reads could wait for ever. A full buffer accepts nothing, so that writes feel the bandwidth.
 *
 * Two ways to use them, one for each tla_banked_channels:
 *
 * tla_banked_channels_access serves an access when it is called, so a pseudo-channel takes accesses in the order of the
 * calls: the bursts of one read are reordered among themselves and with the writes that are buffered, and an access
 * that is called later but arrives earlier is accepted as soon as the commands before it are issued.
 *
 * tla_banked_channels_arrive takes accesses in the order in which they arrive, and tla_banked_channels_run lets time
 * come: a pseudo-channel is offered its bursts in the order of their arrival, one a clock, and reorders all that it has
 * accepted as its queue and window allow. This is what `tlmalloc traffic` does for one pseudo-channel, with the same
 * times. */
#ifndef TLMALLOC_BANKED_CHANNELS_H
#define TLMALLOC_BANKED_CHANNELS_H

#include "tlmalloc/timing/hbm_pseudo_channel.h"
#include "tlmalloc/timing/order.h"

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

/* Reads or writes [offset, offset + nbytes), nbytes > 0 and inside the capacity, arriving at arrival_ps; returns when
 * the access ends. Bursts are whole, whatever part of them is wanted. */
uint64_t tla_banked_channels_access(tla_banked_channels *channels, tla_hbm_op op, uint64_t offset, uint64_t nbytes,
                                    uint64_t arrival_ps);

/* An access that arrives at arrival_ps, not before any time that has been run to; its end is told by the call of
 * tla_banked_channels_run that finds it, with this tag. TLA_NO_HOST_MEMORY: it was not taken. */
tla_status tla_banked_channels_arrive(tla_banked_channels *channels, tla_hbm_op op, uint64_t offset, uint64_t nbytes,
                                      uint64_t arrival_ps, void *tag);

/* Groups of pseudo-channels that run on their own: one for each, or for the two that share a row-command bus. */
uint32_t tla_banked_channels_groups(const tla_banked_channels *channels);

/* When a group has something to do next (offer a burst, find an end); UINT64_MAX when nothing waits. */
uint64_t tla_banked_channels_next_ps(tla_banked_channels *channels, uint32_t group);

/* Lets now_ps come for a group. done(context, tag, end_ps) is called for every access whose end is known by then: that
 * its last burst is accepted, or has its place on the data bus; end_ps can lie ahead. done must not call the same
 * channels. With tla_banked_channels_access there is nothing to be told, and done may be NULL. */
void tla_banked_channels_run(tla_banked_channels *channels, uint32_t group, uint64_t now_ps,
                             void (*done)(void *context, void *tag, uint64_t end_ps), void *context);

/* Nothing will arrive before before_ps any more. O(1). */
void tla_banked_channels_forget(tla_banked_channels *channels, uint64_t before_ps);

/* How far pseudo-channels were from taking accesses in order of arrival, summed over them; an access is one booking of
 * each pseudo-channel that it touches. `late` is exact. Times are an estimate: what the order of the calls does to
 * banks cannot be told without simulating them a second time, so the other two compare a server that is the data bus
 * alone (bursts at full rate, first come first served) in the order of the calls with the same in the order of arrival.
 * Rows that conflict make the true displacement longer, reads that are reordered make it shorter. */
tla_order tla_banked_channels_order(const tla_banked_channels *channels);

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
