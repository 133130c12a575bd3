/* Completion times of accesses to memory channels: bursts to one pseudo-channel of HBM, and accesses to several
 * channels, without banks and with banks. */
#ifndef TLMALLOC_DRAM_CHANNELS_H
#define TLMALLOC_DRAM_CHANNELS_H

#include "tlmalloc/base/purpose.h"
#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- A pseudo-channel ---
 *
 * The start and end of bursts to an HBM pseudo-channel.
 *
 * The model has banks, bank groups and open rows, every JEDEC spacing between commands, and refresh. It has a request
 * queue with first-ready first-come scheduling and a write buffer with watermarks. It is event-driven: it works per
 * command, not per clock. Time advances only inside the calls, as far as they need it. Times at the interface are
 * picoseconds, inside cycles of tCK. One owner at a time.
 *
 * Conventions (those of the cycle-accurate reference runs):
 *
 * - The channel accepts at most one burst per tCK and pseudo-channel.
 * - A read lasts from acceptance to the end of its data; a write is done when it is accepted.
 * - Reads have priority until the writes exceed the high watermark or no read is left. Writes then have priority until
 *   they fall below the low watermark.
 * - A row that was opened for a burst serves it before another burst closes the row, even after a change of direction.
 * - Row and column commands have separate buses, or one bus carries all. A command takes effect in its last cycle on
 * the bus.
 * - A read of a line that waits in the write buffer is served from there in the next cycle. */

typedef enum tla_hbm_op { TLA_HBM_READ, TLA_HBM_WRITE } tla_hbm_op;
enum { TLA_HBM_OPS = 2 };

typedef enum tla_hbm_model {
    TLA_HBM_BANKS,   /* the complete model above: tla_hbm */
    TLA_HBM_CHANNEL, /* only a data bus, whose changes of direction take `rtw`, as in KernBench: tla_flat_channels */
    TLA_HBM_MODEL_COUNT
} tla_hbm_model;

typedef enum tla_hbm_refresh {
    TLA_HBM_REFRESH_NONE,
    TLA_HBM_REFRESH_ALL_BANK, /* every refi: all banks closed and busy for rfc */
    TLA_HBM_REFRESH_PER_BANK, /* every refi / banks: the next bank closed and busy for rfc_pb */
    TLA_HBM_REFRESH_COUNT
} tla_hbm_refresh;

typedef enum tla_hbm_page_policy {
    TLA_HBM_PAGE_OPEN,   /* a row stays open until another row of its bank is needed */
    TLA_HBM_PAGE_CLOSED, /* auto-precharge with the last queued burst of a row */
    TLA_HBM_PAGE_POLICY_COUNT
} tla_hbm_page_policy;

/* Rows that were opened for a burst, and have not served it, when an all-bank refresh is due. */
typedef enum tla_hbm_before_refresh {
    TLA_HBM_BEFORE_REFRESH_CLOSE, /* are closed */
    TLA_HBM_BEFORE_REFRESH_USE,   /* serve that burst first */
    TLA_HBM_BEFORE_REFRESH_COUNT
} tla_hbm_before_refresh;

/* A row may be closed for an older burst of its bank only when no queued burst hits it. */
#define TLA_HBM_ROW_HITS_ALL UINT32_MAX

/* Names as in configuration files: "banks", "channel"; "none", "all_bank", "per_bank"; "open", "closed"; "close",
 * "use". NULL for an unknown value. */
const char *tla_hbm_model_name(tla_hbm_model model);
const char *tla_hbm_refresh_name(tla_hbm_refresh refresh);
const char *tla_hbm_page_policy_name(tla_hbm_page_policy policy);
const char *tla_hbm_before_refresh_name(tla_hbm_before_refresh rule);

/* The field that an address bit selects. */
typedef enum tla_hbm_field {
    TLA_HBM_FIELD_PSEUDO_CHANNEL, /* "pc" */
    TLA_HBM_FIELD_BANK_GROUP,     /* "bg" */
    TLA_HBM_FIELD_BANK,           /* "ba" */
    TLA_HBM_FIELD_COLUMN,         /* "co", in bursts */
    TLA_HBM_FIELD_ROW,            /* "ro" */
    TLA_HBM_FIELD_COUNT
} tla_hbm_field;

enum { TLA_HBM_MAP_MAX = 16, TLA_HBM_BANKS_MAX = 64, TLA_HBM_GROUPS_MAX = 16, TLA_HBM_QUEUE_MAX = 4096 };

/* The field of each address bit, from the least significant bit above the burst. A field may have several pieces. */
typedef struct tla_hbm_map {
    uint32_t count;
    struct {
        tla_hbm_field field;
        uint32_t bits;
    } pieces[TLA_HBM_MAP_MAX];
} tla_hbm_map;

/* Timing of a pseudo-channel, in cycles of tCK unless a unit is given. The names are those of JESD235/JESD238 without
 * the t. */
typedef struct tla_hbm_config {
    tla_hbm_model model;   /* TLA_HBM_CHANNEL uses only tck_ps, the bursts, rtw and window */
    uint32_t tck_ps;       /* 1 .. */
    uint32_t burst_bytes;  /* power of two */
    uint32_t burst_cycles; /* data-bus cycles of a burst; 0 without banks: a burst takes no time */

    uint32_t bus_bytes; /* that a burst transfers, with metadata; 0: burst_bytes */

    uint32_t bank_groups, banks_per_group, rows; /* powers of two; all groups, over the stack IDs */
    uint32_t stack_ids;                          /* power of two: the highest bits of a bank group's number */
    uint32_t row_bytes;                          /* power of two */
    tla_hbm_map map;

    uint32_t cl, cwl; /* column command to first data */
    uint32_t rcd_rd, rcd_wr, rp, ras, rc;
    uint32_t rp_ab; /* precharge of all banks to ACT; 0: rp */
    uint32_t ppd;   /* precharge to precharge of any bank; 0: as the bus allows */
    uint32_t rrd_s, rrd_l, faw;
    uint32_t ccd_s, ccd_l;
    uint32_t ccd_l_wr;     /* write command to write command of the same bank group; 0: ccd_l */
    uint32_t ccd_r;        /* between stack IDs; 0: ccd_s */
    uint32_t wtr_s, wtr_l; /* end of write data to read command */
    uint32_t rtw;          /* read command to write command */
    uint32_t rtw_l;        /* ... of the same bank group; 0: rtw */
    uint32_t rtp, wr;      /* read command, end of write data, to precharge */

    uint32_t command_buses; /* 1: one for all commands; 2: one for row and one for column commands */
    /* Cycles of commands on their bus. A command takes effect in its last one, from which all spacings count. */
    uint32_t act_cycles, pre_cycles, column_cycles; /* ACT; precharge and refresh; read and write */
    /* 0, or an ACT is two commands of act_cycles each: spacings count from the first, and the second begins within so
     * many cycles of it, before the next ACT. It lets other commands go first if it can. */
    uint32_t aad;

    tla_hbm_refresh refresh;
    uint32_t refi, rfc;
    uint32_t rfc_pb, rrefd; /* per-bank refresh: busy time of the bank; refresh to ACT or refresh of another bank */

    tla_hbm_before_refresh before_refresh;

    tla_hbm_page_policy page_policy;
    uint32_t row_hits; /* a row that served so many bursts is closed for a burst older than its hits, >= 1 */
    uint32_t read_queue, write_queue;               /* entries, 1 .. TLA_HBM_QUEUE_MAX */
    uint32_t write_high_percent, write_low_percent; /* watermarks, of write_queue */
    uint32_t window;          /* reads accepted and not yet answered; 0 = limited only by the queue */
    uint32_t row_bus_sharers; /* 1; 2 = two pseudo-channels (address field "pc") share one row-command bus */
} tla_hbm_config;

/* Parses an address map: "m1", "m2", "m3", or fields with widths from the least significant bit, "bg2,co5,ba2,ro14".
 * The order of m1 is bank group, bank, column, row. That of m2 is column, bank group, bank, row. That of m3 is bank
 * group, column, bank, row. Their widths are those that `config` needs. TLA_SYNTAX with a text; config->map is then
 * unchanged. The widths are checked by tla_hbm_check. */
tla_status tla_hbm_map_parse(const char *text, tla_hbm_config *config, tla_error *error);

/* Prints the map in the format of tla_hbm_map_parse; size as in snprintf. */
void tla_hbm_map_print(const tla_hbm_map *map, char *text, size_t size);

/* Checks whether the parameters are consistent. TLA_INVALID_ARGUMENT; the text names the contradicting members. */
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
    TLA_HBM_REF_BANK,
    TLA_HBM_ACT_2 /* the second command of an ACT */
} tla_hbm_command;

/* Callbacks of the owner, from inside the calls; members may be NULL. They must not call the same tla_hbm. */
typedef struct tla_hbm_listener {
    void *context;
    /* The data of a burst ends at end_ps. Called when that is known, before the time is reached; bursts of different
     * rows overtake each other. */
    void (*done)(void *context, uint64_t tag, tla_hbm_op op, uint64_t end_ps);
    /* A DRAM command was issued; bank counts through all bank groups, row is that of ACT. */
    void (*command)(void *context, uint32_t pseudo_channel, tla_hbm_command command, uint64_t cycle, uint32_t bank,
                    uint32_t row);
} tla_hbm_listener;

typedef struct tla_hbm tla_hbm;

/* The call copies listener (may be NULL). TLA_INVALID_ARGUMENT as tla_hbm_check, or for a profile without banks
 * (tla_flat_channels serves it); TLA_NO_HOST_MEMORY. After an error *hbm is NULL. */
tla_status tla_hbm_create(const tla_hbm_config *config, const tla_hbm_listener *listener, tla_hbm **hbm,
                          tla_error *error);
void tla_hbm_destroy(tla_hbm *hbm);

/* Returns the bytes that the address map covers; burst addresses lie below. */
uint64_t tla_hbm_capacity(const tla_hbm *hbm);

typedef struct tla_hbm_request {
    uint64_t at_ps; /* not accepted before */
    uint64_t address;
    uint64_t tag; /* passed to done() */
    tla_hbm_op op;
    tla_purpose purpose; /* for which commands are counted */
} tla_hbm_request;

/* Offers one burst at at_ps, or at the first cycle after the time that is already simulated. TLA_OK: the channel
 * accepted it at *accepted_ps. TLA_BUSY: queue or window is full; nothing was accepted, and the caller should retry at
 * *accepted_ps. TLA_OUT_OF_RANGE: address past the capacity. May call done() for earlier bursts. */
tla_status tla_hbm_offer(tla_hbm *hbm, const tla_hbm_request *request, uint64_t *accepted_ps);

/* As tla_hbm_offer, repeated until there is space: it never returns TLA_BUSY. */
tla_status tla_hbm_submit(tla_hbm *hbm, const tla_hbm_request *request, uint64_t *accepted_ps);

/* Executes all commands before until_ps. */
void tla_hbm_advance(tla_hbm *hbm, uint64_t until_ps);

/* Returns a time before which no burst ends that done() has not yet reported; UINT64_MAX when no burst is queued. A
 * caller that waits for this time and advances to it misses no completion. */
uint64_t tla_hbm_next_end(tla_hbm *hbm);

/* Executes all queued bursts; returns the end of the last data of all accepted bursts (0: no burst was accepted). */
uint64_t tla_hbm_drain(tla_hbm *hbm);

/* Acceptance and completion of a transfer of many bursts. */
typedef struct tla_hbm_transfer {
    uint64_t first_accepted_ps, last_accepted_ps;
    uint64_t first_end_ps, last_end_ps; /* data on the bus, for reads and writes */
} tla_hbm_transfer;

/* Reads or writes [address, address + nbytes) by bursts in address order, as fast as the channel accepts them from
 * at_ps on. Runs until the last burst has its place on the data bus; done() is not called for them. If the channel is
 * idle, all rows are open, and no listener receives commands, the call computes the same result without visiting the
 * bursts. TLA_INVALID_ARGUMENT for 0 bytes, TLA_OUT_OF_RANGE past the capacity. */
tla_status tla_hbm_access(tla_hbm *hbm, uint64_t at_ps, tla_hbm_op op, tla_purpose purpose, uint64_t address,
                          uint64_t nbytes, tla_hbm_transfer *transfer);

typedef struct tla_hbm_stats {
    uint64_t reads, writes;  /* bursts accepted */
    uint64_t row_hits;       /* bursts that found their row open */
    uint64_t row_misses;     /* ... that found their bank closed */
    uint64_t row_conflicts;  /* ... that had to close another row first */
    uint64_t forwarded;      /* reads served from the write buffer */
    uint64_t refreshes;      /* refresh commands: all-bank, or one bank each */
    uint64_t activates;      /* ACT commands */
    uint64_t precharges;     /* PRE commands of one bank; a bank that precharges after its burst needs none */
    uint64_t precharges_all; /* PRE commands of all banks, for a refresh */
    uint64_t read_commands, write_commands; /* RD and WR; forwarded reads need none, queued bursts have had none */
    /* The same by tla_hbm_op and tla_purpose of a burst: of the one that RD or WR serves, and of the one for which ACT
     * opens the row. */
    uint64_t commands_for[TLA_HBM_OPS][TLA_PURPOSE_COUNT], activates_for[TLA_HBM_OPS][TLA_PURPOSE_COUNT];
    uint64_t closed_form; /* bursts whose time was computed without visiting them */
    uint64_t last_end_ps; /* end of the latest data so far */
} tla_hbm_stats;

tla_hbm_stats tla_hbm_get_stats(const tla_hbm *hbm);

/* Time that rows have been open, from each ACT to the precharge. */
typedef struct tla_hbm_open_time {
    uint64_t all_closed_ps; /* in which no bank had an open row, summed over the pseudo-channels */
    uint64_t open_bank_ps;  /* in which banks had an open row, summed over the banks */
} tla_hbm_open_time;

/* Returns the times from 0 to until_ps; execute the commands before until_ps first (tla_hbm_advance). A precharge that
 * a burst has ordered, and that comes after until_ps, is taken as done. */
tla_hbm_open_time tla_hbm_get_open_time(const tla_hbm *hbm, uint64_t until_ps);

/* Returns the statistics, and in *open_time the times, that a channel has at until_ps if nothing is queued, and nothing
 * is offered until then: it refreshes. Nothing changes. */
tla_hbm_stats tla_hbm_stats_at(const tla_hbm *hbm, uint64_t until_ps, tla_hbm_open_time *open_time);

/* Returns the bank, 0 .. bank_groups * banks_per_group - 1, of an address by the map. */
uint32_t tla_hbm_bank_of(const tla_hbm *hbm, uint64_t address);

/* --- Channels without banks ---
 *
 * Memory channels that are interleaved by burst: the end of an access that spans several bursts.
 *
 * This is the simplest honest model of a memory. Each channel serves one burst at a time at its bandwidth, and reads
 * and writes share it. Bursts of consecutive addresses use consecutive channels (KernBench ADR-0033). The channel is
 * the address bits above the burst, and an access to a part of a burst occupies the whole burst. The model has no
 * banks, rows or refresh. */

typedef struct tla_flat_channels_config {
    uint32_t count;       /* power of two */
    uint32_t burst_bytes; /* power of two */
    uint64_t burst_ps;    /* time that a burst occupies a channel (tla_transfer_ps in timeline.h, of a bandwidth) */
    uint64_t direction_switch_ps; /* added when a channel switches between read and write; it begins with read */
    uint32_t clock_ps;            /* an access begins at a multiple of it, at or after its arrival; 0 = at any time */
} tla_flat_channels_config;

/* Returns the configuration of `count` channels with a timing profile without banks (TLA_HBM_CHANNEL, accepted by
 * tla_hbm_check). Its window limits the requester (`tlmalloc traffic`), and not the channels: no access ends later
 * because of it. */
tla_flat_channels_config tla_flat_channels_of(const tla_hbm_config *profile, uint32_t count);

typedef struct tla_flat_channels tla_flat_channels;

/* TLA_INVALID_ARGUMENT when a member breaks its rule; *channels is NULL then. */
tla_status tla_flat_channels_create(const tla_flat_channels_config *config, tla_flat_channels **channels);
void tla_flat_channels_destroy(tla_flat_channels *channels);

/* Serves [offset, offset + nbytes), nbytes > 0, that arrives at arrival_ps, after the earlier accesses. Accesses must
 * be passed in the order of their arrival. Returns the end of the last burst. */
uint64_t tla_flat_channels_access(tla_flat_channels *channels, bool write, uint64_t offset, uint64_t nbytes,
                                  uint64_t arrival_ps);

/* Returns the sum over the channels of their occupied time, including switches, in ps. */
uint64_t tla_flat_channels_busy_ps(const tla_flat_channels *channels);

/* --- Channels with banks ---
 *
 * Pseudo-channels with banks, interleaved by burst: the end of an access that spans several pseudo-channels.
 *
 * They use one tla_hbm for every pseudo-channel, or for the two that share a row-command bus, in place of a timeline.
 * Bursts of consecutive addresses use consecutive pseudo-channels.
 *
 * A read ends when the data of its last burst ends. A write ends when the write buffer has accepted its last burst, as
 * in the timing core. Reads have priority there, so the data of a write beside a stream of reads might never be
 * written. A full buffer accepts nothing, so that the bandwidth limits writes.
 *
 * The call tla_banked_channels_arrive accepts accesses in the order of their arrival, and tla_banked_channels_run
 * advances time. A pseudo-channel receives its bursts in the order of their arrival, one per clock. It reorders the
 * accepted bursts as its queue and window allow. `tlmalloc traffic` does the same for one pseudo-channel, with the same
 * times. */

typedef struct tla_banked_channels_config {
    tla_hbm_config timing; /* timing of one pseudo-channel; gains rows where its own do not cover the capacity */
    uint32_t count;        /* pseudo-channels: a power of two, at least timing.row_bus_sharers */
    uint64_t capacity;     /* total bytes of all pseudo-channels */
} tla_banked_channels_config;

typedef struct tla_banked_channels tla_banked_channels;

/* Checks a configuration. TLA_INVALID_ARGUMENT with a text for an invalid count, and for a profile that is inconsistent
 * (tla_hbm_check) or has no banks. The same error reports a capacity that needs more rows than a bank can have. */
tla_status tla_banked_channels_check(const tla_banked_channels_config *config, tla_error *error);

/* As tla_banked_channels_check, or TLA_NO_HOST_MEMORY; *channels is NULL then. */
tla_status tla_banked_channels_create(const tla_banked_channels_config *config, tla_banked_channels **channels,
                                      tla_error *error);
void tla_banked_channels_destroy(tla_banked_channels *channels);

/* Passes a read or a write of [offset, offset + nbytes) that arrives at arrival_ps; nbytes > 0, inside the capacity.
 * The arrival must not precede a time that was already run. Bursts are whole, even for a part of a burst. The call of
 * tla_banked_channels_run that finds the end of the access reports it, with this tag. TLA_NO_HOST_MEMORY: the access
 * was not accepted. */
tla_status tla_banked_channels_arrive(tla_banked_channels *channels, tla_hbm_op op, tla_purpose purpose,
                                      uint64_t offset, uint64_t nbytes, uint64_t arrival_ps, void *tag);

/* Returns the number of groups of pseudo-channels that run independently: one for each, or for the two that share a
 * row-command bus. */
uint32_t tla_banked_channels_groups(const tla_banked_channels *channels);

/* Returns the time at which a group next has work (a burst to offer, an end to find); UINT64_MAX when nothing waits. */
uint64_t tla_banked_channels_next_ps(tla_banked_channels *channels, uint32_t group);

/* Advances a group to now_ps. For every access whose end is then known, the call reports done(context, tag, end_ps).
 * The end is known when the last burst was accepted, or has its place on the data bus. The time end_ps can lie in the
 * future. The callback must not call the same channels. */
void tla_banked_channels_run(tla_banked_channels *channels, uint32_t group, uint64_t now_ps,
                             void (*done)(void *context, void *tag, uint64_t end_ps), void *context);

/* Returns the bank of a byte in its pseudo-channel (tla_hbm_bank_of). */
uint32_t tla_banked_channels_bank_of(const tla_banked_channels *channels, uint64_t offset);

/* Returns the sum over all pseudo-channels; last_end_ps is the latest. Row hits and misses are counted when a burst is
 * served, and therefore do not yet include bursts that wait in a write buffer. */
tla_hbm_stats tla_banked_channels_get_stats(const tla_banked_channels *channels);

/* Returns the sums at until_ps, and those of tla_hbm_get_open_time in *open_time. A group in which nothing is queued
 * counts with the refreshes that it makes until then, one with queued bursts as of its last run. Nothing changes. */
tla_hbm_stats tla_banked_channels_stats_at(const tla_banked_channels *channels, uint64_t until_ps,
                                           tla_hbm_open_time *open_time);

/* Returns the sum over the pseudo-channels of the time their data bus was occupied, in ps. */
uint64_t tla_banked_channels_busy_ps(const tla_banked_channels *channels);

/* Returns the time of an access to one burst with a closed bank, on an idle pseudo-channel, in ps. Returns 0 for a
 * write, which is accepted at once. */
uint64_t tla_banked_channels_latency_ps(const tla_banked_channels *channels, tla_hbm_op op);

#ifdef __cplusplus
}
#endif
#endif
