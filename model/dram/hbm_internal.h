/* The state of a pseudo-channel, shared by the files of model/dram. All times are cycles of tCK. */
#ifndef TLMALLOC_MODEL_DRAM_HBM_INTERNAL_H
#define TLMALLOC_MODEL_DRAM_HBM_INTERNAL_H

#include "tlmalloc/dram/channels.h"

#define NEVER UINT64_MAX
#define NO_ROW UINT32_MAX
#define NO_REQUEST UINT16_MAX
#define NO_BANK UINT8_MAX

enum { FAW_ACTIVATES = 4, OPS = TLA_HBM_OPS };

/* How a burst found its row. */
enum row_state { ROW_HIT, ROW_MISS, ROW_CONFLICT, ROW_STATES };

/* A tla_hbm_access on its way. */
struct transfer {
    tla_hbm_transfer times;
    uint64_t pending; /* bursts whose end is not known */
};

struct request {
    uint64_t tag;
    uint64_t age;              /* order of acceptance */
    uint64_t line;             /* address in bursts */
    struct transfer *transfer; /* of tla_hbm_access, else NULL */
    uint32_t row;
    uint16_t next, previous; /* in the queue of its bank and direction; next also links the free slots */
    uint8_t bank, row_state, purpose;
};

/* Bursts of one bank and direction, oldest first. */
struct bank_queue {
    uint16_t head, tail;
    uint16_t hit; /* the oldest that wants the open row */
};

struct bank {
    uint64_t act_ok, pre_ok, column_ok[OPS]; /* no earlier because of this bank's own commands */
    uint32_t open_row;
    uint32_t served; /* bursts, since the ACT */
    uint64_t opened; /* cycle of the ACT */
    uint8_t group;
    bool closed_by_conflict; /* and not activated or refreshed since */
    struct bank_queue queues[OPS];
};

struct bank_group {
    uint64_t act_ok, column_ok[OPS];
};

/* The next command of a bus, as far as it is known. */
struct candidate {
    uint64_t at, age; /* NEVER = none */
    uint8_t bank;
    uint8_t op;      /* tla_hbm_op: direction of the burst */
    uint8_t command; /* tla_hbm_command, of a refresh */
    bool valid;
};

struct pseudo_channel {
    uint64_t now;         /* the last event or acceptance */
    uint64_t next_accept; /* one burst a cycle */
    struct candidate column, row;
    uint64_t queued_banks[OPS], hit_banks[OPS]; /* bit masks */
    uint64_t open_banks;
    uint64_t opened_banks[OPS]; /* of these, the ones whose row was opened for a burst that still waits */
    uint32_t queued[OPS];
    tla_hbm_op direction; /* whose bursts are being served */

    uint64_t act_ok, pre_ok, column_ok[OPS];
    uint64_t second_act, second_act_by; /* the second command of an ACT: not before, else NEVER, and not after */
    uint32_t second_act_bank;
    uint64_t activates[FAW_ACTIVATES]; /* earliest moment each of the last four stops counting against tFAW */
    uint32_t next_activate;

    uint64_t refresh_due, refresh_number;
    uint64_t refresh_at; /* when a per-bank refresh that only waits for its moment will be issued, else NEVER */
    uint32_t refresh_bank;
    bool refreshing;

    uint64_t *in_flight; /* ring: cycles in which the window places of reads on their way are free again, in order */
    uint32_t in_flight_mask, in_flight_first, in_flight_count;

    uint64_t open_sum, all_closed; /* cycles of banks whose row is closed again, and without an open row */
    uint64_t last_close;           /* the latest precharge so far */

    struct bank_group groups[TLA_HBM_GROUPS_MAX];
    struct bank banks[TLA_HBM_BANKS_MAX];
    struct request *requests;
    uint16_t free_request;
    uint32_t index;
};

/* A piece of the address map, ready to be cut out of a line number. */
struct map_piece {
    uint32_t shift, to;
    uint64_t mask;
};

struct address_decoder {
    uint32_t bank_pieces, row_pieces;
    struct map_piece bank[TLA_HBM_MAP_MAX], row[TLA_HBM_MAP_MAX];
    struct map_piece pseudo_channel;
    uint32_t line_bits, burst_bits;
    uint32_t group_period; /* lines after which the bank group repeats, when the groups take the lowest bits; else 0 */
    uint32_t row_shift, group_shift, bank_shift; /* lowest bit of each; line_bits if the field is missing */
    uint32_t bank_period; /* times 2^bank_shift lines: the bank repeats; 0 = the bank bits are not in one piece */
};

struct tla_hbm {
    /* Commands take effect in their last cycles. Here the spacings are those between their first cycles, and none that
     * stands for another value is 0. */
    tla_hbm_config config;
    tla_hbm_listener listener;
    struct address_decoder decoder;
    uint32_t pc_count, bank_count;
    uint32_t refresh_extra; /* cycles by which an ACT is longer than a REF, which takes effect as much earlier */
    bool one_bus;
    bool more_column_rules; /* rtw_l, ccd_l_wr or ccd_r exceeds the value that it stands beside */
    uint32_t write_high, write_low;
    uint64_t row_bus_free;
    uint64_t column_bus_free; /* as row_bus_free if they are one bus, else 0: ccd_s keeps column commands apart */
    uint32_t row_bus_turn;    /* the pseudo-channel that goes first when both want the row bus */
    uint64_t accepted;        /* ages */
    tla_hbm_stats stats;      /* without those of rows, and without sums over purposes */
    uint64_t row_states[ROW_STATES]; /* bursts by row_state */
    uint64_t last_end;               /* cycles */
    struct pseudo_channel pcs[2];
};

/* Address decoding (hbm_map.c). */
void tla_hbm_decoder_build(const tla_hbm_config *config, struct address_decoder *decoder);

static inline uint32_t decode(const struct map_piece *pieces, uint32_t count, uint64_t line) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; i++)
        value |= ((line >> pieces[i].shift) & pieces[i].mask) << pieces[i].to;
    return (uint32_t)value;
}

/* Scheduling (schedule.c). */
uint64_t tla_hbm_next_event(tla_hbm *hbm, struct pseudo_channel *pc);    /* cycle of the next command or refresh */
uint64_t tla_hbm_earliest_data(tla_hbm *hbm, struct pseudo_channel *pc); /* lower bound of the next unknown end */
bool tla_hbm_step(tla_hbm *hbm, uint64_t limit);      /* executes one event before limit, if one is due */
void tla_hbm_run_until(tla_hbm *hbm, uint64_t limit); /* all of them */
void tla_hbm_enqueue(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at, uint64_t line, const tla_hbm_request *asked,
                     struct transfer *transfer);

/* Effects of commands (issue.c): of the candidates, whose moment has come, and of the second command of an ACT. */
void tla_hbm_issue_row(tla_hbm *hbm, struct pseudo_channel *pc);
void tla_hbm_issue_column(tla_hbm *hbm, struct pseudo_channel *pc);
void tla_hbm_issue_second_act(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at);
void tla_hbm_finish(tla_hbm *hbm, const struct request *request, tla_hbm_op op, uint64_t end);

/* Spacings that most parts do not have, if more_column_rules: of a bank group in one direction or into the other, and
 * between stack IDs. */
void tla_hbm_space_more_columns(const tla_hbm *hbm, struct pseudo_channel *pc, uint32_t group, tla_hbm_op op,
                                uint64_t at);

/* All others after a column command; returns the end of its data. */
uint64_t tla_hbm_space_columns(const tla_hbm *hbm, struct pseudo_channel *pc, struct bank *bank, tla_hbm_op op,
                               uint64_t at);

/* One burst at or after cycle `at`: TLA_OK and *accepted, or TLA_BUSY and when to try again (hbm_pseudo_channel.c).
 * Time and address of the request are not looked at. */
tla_status tla_hbm_accept(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at, uint64_t line,
                          const tla_hbm_request *asked, struct transfer *transfer, uint64_t *accepted);

/* Computes the whole transfer when nothing can interfere; false, and nothing changed, otherwise (open_rows.c). */
bool tla_hbm_open_rows(tla_hbm *hbm, uint64_t at, tla_hbm_op op, tla_purpose purpose, uint64_t line, uint64_t count,
                       tla_hbm_transfer *transfer);

/* Takes back the window places that are free in cycle `at`: the one after the end of the data. */
static inline void retire_reads(struct pseudo_channel *pc, uint64_t at) {
    while (pc->in_flight_count > 0 && pc->in_flight[pc->in_flight_first] <= at) {
        pc->in_flight_first = (pc->in_flight_first + 1) & pc->in_flight_mask;
        pc->in_flight_count--;
    }
}

#endif
