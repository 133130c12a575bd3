/* When accesses to memory channels are done: bursts to one pseudo-channel of HBM, and accesses to several channels,
 * without banks and with them. */
#ifndef TLMALLOC_DRAM_CHANNELS_H
#define TLMALLOC_DRAM_CHANNELS_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- A pseudo-channel ---
 *
 * When a burst to an HBM pseudo-channel starts and ends.
 *
 * Banks, bank groups and open rows, every JEDEC spacing between commands, refresh, a request queue with first-ready
 * first-come scheduling and a write buffer with watermarks. Event-driven: work per command, none per clock. Nothing
 * moves by itself: time passes inside the calls, as far as they need it. Times at the interface are picoseconds, inside
 * cycles of tCK. One owner at a time.
 *
 * Conventions (those of the cycle-accurate reference runs): at most one burst is accepted per tCK and pseudo-channel; a
 * read lasts from acceptance to the end of its data; a write is done when it is accepted; reads go first until the
 * writes pass the high watermark or no read is left, then writes go until they fall under the low watermark. Row and
 * column commands have a bus each. An ACT takes two row-command cycles and takes effect in the second. A read of a line
 * that waits in the write buffer is answered from there in the next cycle. */

typedef enum tla_hbm_op { TLA_HBM_READ, TLA_HBM_WRITE } tla_hbm_op;

typedef enum tla_hbm_model {
    TLA_HBM_BANKS,   /* everything above: tla_hbm */
    TLA_HBM_CHANNEL, /* a data bus alone, whose changes of direction take `rtw`, as KernBench's: tla_flat_channels */
    TLA_HBM_MODEL_COUNT
} tla_hbm_model;

typedef enum tla_hbm_refresh {
    TLA_HBM_REFRESH_NONE,
    TLA_HBM_REFRESH_ALL_BANK, /* every refi: all banks closed and busy for rfc */
    TLA_HBM_REFRESH_PER_BANK, /* every refi / banks: the next bank closed and busy for rfc_pb */
    TLA_HBM_REFRESH_COUNT
} tla_hbm_refresh;

typedef enum tla_hbm_page_policy {
    TLA_HBM_PAGE_OPEN,   /* a row stays open until another one of its bank is wanted */
    TLA_HBM_PAGE_CLOSED, /* auto-precharge with the last queued burst of a row */
    TLA_HBM_PAGE_POLICY_COUNT
} tla_hbm_page_policy;

/* Names as in configuration files: "banks", "channel"; "none", "all_bank", "per_bank"; "open", "closed". NULL for a
 * value that is none. */
const char *tla_hbm_model_name(tla_hbm_model model);
const char *tla_hbm_refresh_name(tla_hbm_refresh refresh);
const char *tla_hbm_page_policy_name(tla_hbm_page_policy policy);

/* What an address bit selects. */
typedef enum tla_hbm_field {
    TLA_HBM_FIELD_PSEUDO_CHANNEL, /* "pc" */
    TLA_HBM_FIELD_BANK_GROUP,     /* "bg" */
    TLA_HBM_FIELD_BANK,           /* "ba" */
    TLA_HBM_FIELD_COLUMN,         /* "co", in bursts */
    TLA_HBM_FIELD_ROW,            /* "ro" */
    TLA_HBM_FIELD_COUNT
} tla_hbm_field;

enum { TLA_HBM_MAP_MAX = 16, TLA_HBM_BANKS_MAX = 64, TLA_HBM_GROUPS_MAX = 16, TLA_HBM_QUEUE_MAX = 4096 };

/* Which address bit is what, from the least significant bit above the burst; a field may stand in several pieces. */
typedef struct tla_hbm_map {
    uint32_t count;
    struct {
        tla_hbm_field field;
        uint32_t bits;
    } pieces[TLA_HBM_MAP_MAX];
} tla_hbm_map;

/* Timing of a pseudo-channel; cycles of tCK where no unit is given. Named as in JESD235/JESD238 without the t. */
typedef struct tla_hbm_config {
    tla_hbm_model model;   /* TLA_HBM_CHANNEL has tck_ps, the bursts, rtw and window only */
    uint32_t tck_ps;       /* 1 .. */
    uint32_t burst_bytes;  /* power of two */
    uint32_t burst_cycles; /* data-bus cycles of a burst */

    uint32_t bank_groups, banks_per_group, rows; /* powers of two */
    uint32_t row_bytes;                          /* power of two */
    tla_hbm_map map;

    uint32_t cl, cwl; /* column command to first data */
    uint32_t rcd_rd, rcd_wr, rp, ras, rc;
    uint32_t rrd_s, rrd_l, faw;
    uint32_t ccd_s, ccd_l;
    uint32_t wtr_s, wtr_l; /* end of write data to read command */
    uint32_t rtw;          /* read command to write command */
    uint32_t rtp, wr;      /* read command, end of write data, to precharge */
    uint32_t act_cycles;   /* row-command cycles of an ACT; it takes effect in the last one */

    tla_hbm_refresh refresh;
    uint32_t refi, rfc;
    uint32_t rfc_pb, rrefd; /* per-bank refresh: busy time of the bank; refresh to ACT or refresh of another bank */

    tla_hbm_page_policy page_policy;
    uint32_t read_queue, write_queue;               /* entries, 1 .. TLA_HBM_QUEUE_MAX */
    uint32_t write_high_percent, write_low_percent; /* watermarks, of write_queue */
    uint32_t window;          /* reads accepted and not yet answered; 0 = no limit but the queue */
    uint32_t row_bus_sharers; /* 1; 2 = two pseudo-channels (address field "pc") share one row-command bus */
} tla_hbm_config;

/* Reads an address map: "m1", "m2", "m3" (bank group, bank, column, row; column, bank group, bank, row; bank group,
 * column, bank, row, in the widths that `config` needs) or fields with widths from the least significant bit,
 * "bg2,co5,ba2,ro14". TLA_SYNTAX with a text; config->map is not touched then. Whether the widths fit is checked by
 * tla_hbm_check. */
tla_status tla_hbm_map_parse(const char *text, tla_hbm_config *config, tla_error *error);

/* The map as tla_hbm_map_parse reads it; size as snprintf. */
void tla_hbm_map_print(const tla_hbm_map *map, char *text, size_t size);

/* Says whether the parameters agree with each other. TLA_INVALID_ARGUMENT; the text names the members that contradict.
 */
tla_status tla_hbm_check(const tla_hbm_config *config, tla_error *error);

typedef enum tla_hbm_command {
    TLA_HBM_ACT,
    TLA_HBM_PRE,
    TLA_HBM_PRE_ALL,
    TLA_HBM_RD,
    TLA_HBM_RDA,
    TLA_HBM_WR,
    TLA_HBM_WRA,
    TLA_HBM_REF_ALL,
    TLA_HBM_REF_BANK
} tla_hbm_command;

/* What the owner wants to be told, from inside the calls; members may be NULL. They must not call the same tla_hbm. */
typedef struct tla_hbm_listener {
    void *context;
    /* The data of a burst is through at end_ps. Called when that is known, before the time comes; bursts of different
     * rows overtake each other. */
    void (*done)(void *context, uint64_t tag, tla_hbm_op op, uint64_t end_ps);
    /* A DRAM command was issued; bank counts through all bank groups, row is that of ACT. */
    void (*command)(void *context, uint32_t pseudo_channel, tla_hbm_command command, uint64_t cycle, uint32_t bank,
                    uint32_t row);
} tla_hbm_listener;

typedef struct tla_hbm tla_hbm;

/* listener may be NULL and is copied. TLA_INVALID_ARGUMENT as tla_hbm_check, or for a profile without banks
 * (tla_flat_channels serves it); TLA_NO_HOST_MEMORY. *hbm is NULL then. */
tla_status tla_hbm_create(const tla_hbm_config *config, const tla_hbm_listener *listener, tla_hbm **hbm,
                          tla_error *error);
void tla_hbm_destroy(tla_hbm *hbm);

/* Bytes that the address map covers; burst addresses lie below. */
uint64_t tla_hbm_capacity(const tla_hbm *hbm);

typedef struct tla_hbm_request {
    uint64_t at_ps; /* not accepted before */
    uint64_t address;
    uint64_t tag; /* given back by done() */
    tla_hbm_op op;
} tla_hbm_request;

/* Offers one burst at at_ps, or at the first cycle after what has been simulated already. TLA_OK: *accepted_ps is when
 * it was accepted. TLA_BUSY: queue or window is full; nothing was taken, and *accepted_ps is when it is worth offering
 * again. TLA_OUT_OF_RANGE: address past the capacity. May call done() for earlier bursts. */
tla_status tla_hbm_offer(tla_hbm *hbm, const tla_hbm_request *request, uint64_t *accepted_ps);

/* As tla_hbm_offer, again and again until there is room. */
tla_status tla_hbm_submit(tla_hbm *hbm, const tla_hbm_request *request, uint64_t *accepted_ps);

/* Lets all commands before until_ps happen. */
void tla_hbm_advance(tla_hbm *hbm, uint64_t until_ps);

/* No burst that done() has not named yet ends before this time; UINT64_MAX when none is queued. A caller that lets this
 * time come and advances to it misses no completion. */
uint64_t tla_hbm_next_end(tla_hbm *hbm);

/* Works off all queued bursts; returns when the last data of all that was ever accepted is through (0: nothing was). */
uint64_t tla_hbm_drain(tla_hbm *hbm);

/* When a transfer of many bursts was accepted and answered. */
typedef struct tla_hbm_transfer {
    uint64_t first_accepted_ps, last_accepted_ps;
    uint64_t first_end_ps, last_end_ps; /* data on the bus, for reads and writes */
} tla_hbm_transfer;

/* Reads or writes [address, address + nbytes) by bursts in address order, as fast as they are accepted from at_ps on,
 * and runs until the last of them has its place on the data bus; done() is not called for them. Where the channel is
 * quiet and all rows are open (and nobody listens to commands) the result is computed without visiting the bursts, and
 * is the same.
 * TLA_INVALID_ARGUMENT for 0 bytes, TLA_OUT_OF_RANGE past the capacity. */
tla_status tla_hbm_access(tla_hbm *hbm, uint64_t at_ps, tla_hbm_op op, uint64_t address, uint64_t nbytes,
                          tla_hbm_transfer *transfer);

typedef struct tla_hbm_stats {
    uint64_t reads, writes; /* bursts accepted */
    uint64_t row_hits;      /* bursts that found their row open */
    uint64_t row_misses;    /* ... that found their bank closed */
    uint64_t row_conflicts; /* ... that had to close another row first */
    uint64_t forwarded;     /* reads answered from the write buffer */
    uint64_t refreshes;     /* refresh commands: all-bank, or one bank each */
    uint64_t closed_form;   /* bursts whose time was computed without visiting them */
    uint64_t last_end_ps;   /* end of the latest data so far */
} tla_hbm_stats;

tla_hbm_stats tla_hbm_get_stats(const tla_hbm *hbm);

/* The bank, 0 .. bank_groups * banks_per_group - 1, in which an address lies by the map. */
uint32_t tla_hbm_bank_of(const tla_hbm *hbm, uint64_t address);

/* --- Channels without banks ---
 *
 * Memory channels that are interleaved by burst: when an access that spans several bursts is done.
 *
 * The simplest honest model of a memory: each channel serves one burst at a time at its bandwidth, reads and writes
 * share it, bursts of consecutive addresses go to consecutive channels (KernBench ADR-0033: channel = address bits
 * above the burst, a whole burst is occupied whatever part of it is wanted). No banks, rows or refresh. */

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

/* --- Channels with banks ---
 *
 * Pseudo-channels with banks, interleaved by burst: when an access that spans several of them is done.
 *
 * What channels without banks are to timelines: one tla_hbm for every pseudo-channel, or for the two that share a
 * row-command bus; bursts of consecutive addresses go to consecutive ones.
 *
 * A read ends when the data of its last burst is through. A write ends when the write buffer has accepted its last
 * burst, as the timing core says: reads go first there, and whoever waited for the data of a write beside a stream of
 * reads could wait for ever. A full buffer accepts nothing, so that writes feel the bandwidth.
 *
 * tla_banked_channels_arrive takes accesses in the order in which they arrive, and tla_banked_channels_run lets time
 * come: a pseudo-channel is offered its bursts in the order of their arrival, one a clock, and reorders all that it has
 * accepted as its queue and window allow. This is what `tlmalloc traffic` does for one pseudo-channel, with the same
 * times. */

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
