/* When a burst to an HBM pseudo-channel starts and ends.
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
#ifndef TLMALLOC_DRAM_HBM_PSEUDO_CHANNEL_H
#define TLMALLOC_DRAM_HBM_PSEUDO_CHANNEL_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * (flat_channels.h serves it); TLA_NO_HOST_MEMORY. *hbm is NULL then. */
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

#ifdef __cplusplus
}
#endif
#endif
