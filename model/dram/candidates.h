/* Which command comes next: its earliest moment, and the choice between bursts. Included by schedule.c and issue.c, for
 * which the functions below are a part of every command's way. */
#ifndef TLMALLOC_MODEL_DRAM_CANDIDATES_H
#define TLMALLOC_MODEL_DRAM_CANDIDATES_H

#include "base/numbers.h"
#include "hbm_internal.h"

/* A command goes no earlier than these, whatever its bank; see hbm_internal.h for the buses. */
static inline uint64_t column_floor(const tla_hbm *hbm, const struct pseudo_channel *pc, tla_hbm_op op) {
    return later(later(pc->now, hbm->column_bus_free), pc->column_ok[op]);
}

static inline uint64_t column_time(const struct pseudo_channel *pc, uint32_t index, tla_hbm_op op, uint64_t floor) {
    const struct bank *bank = &pc->banks[index];
    return later(later(bank->column_ok[op], pc->groups[bank->group].column_ok[op]), floor);
}

static inline uint64_t row_floor(const tla_hbm *hbm, const struct pseudo_channel *pc) {
    return later(pc->now, hbm->row_bus_free);
}

static inline uint64_t row_time(const tla_hbm *hbm, const struct pseudo_channel *pc, uint32_t index, uint64_t floor) {
    const struct bank *bank = &pc->banks[index];
    if (bank->open_row != NO_ROW) return later(later(floor, pc->pre_ok), bank->pre_ok);
    const uint64_t own = later(bank->act_ok, pc->groups[bank->group].act_ok);
    const uint64_t at = later(later(own, floor), later(pc->act_ok, pc->activates[pc->next_activate]));
    /* an ACT must not push a waiting refresh away, or a busy channel would never refresh */
    const bool collides = pc->refresh_at != NEVER && at + hbm->config.rrd_l + hbm->refresh_extra > pc->refresh_at;
    return collides ? later(at, pc->refresh_at + hbm->config.rrefd) : at;
}

/* Only bursts whose command comes first, or at the same time as the best, are looked at: their age decides. */
static inline void consider(struct candidate *best, uint64_t at, const struct request *burst, tla_hbm_op op) {
    if (at > best->at || (at == best->at && burst->age >= best->age)) return;
    best->at = at;
    best->age = burst->age;
    best->bank = burst->bank;
    best->op = (uint8_t)op;
}

static inline void consider_column(const tla_hbm *hbm, struct pseudo_channel *pc, uint32_t bank, tla_hbm_op op) {
    const struct request *burst = &pc->requests[pc->banks[bank].queues[op].hit];
    consider(&pc->column, column_time(pc, bank, op, column_floor(hbm, pc, op)), burst, op);
}

/* Banks whose row was opened for a burst that still waits: nothing but a refresh closes them. */
static inline uint64_t opened_banks(const struct pseudo_channel *pc) {
    return pc->opened_banks[TLA_HBM_READ] | pc->opened_banks[TLA_HBM_WRITE];
}

/* A bank with hits: its oldest burst wants another row, and enough hits have been served. */
static inline bool closes_row_of_hits(const tla_hbm *hbm, const struct bank *bank, tla_hbm_op op) {
    return bank->queues[op].head != bank->queues[op].hit && bank->served >= hbm->config.row_hits;
}

/* Of these banks, all with bursts of the direction, the ones whose oldest burst needs a row command and may have it. */
static inline uint64_t banks_that_want_rows(const tla_hbm *hbm, const struct pseudo_channel *pc, uint64_t banks) {
    const tla_hbm_op op = pc->direction;
    banks &= ~opened_banks(pc);
    const uint64_t hits = banks & pc->hit_banks[op];
    banks &= ~hits;
    if (hbm->config.row_hits == TLA_HBM_ROW_HITS_ALL) return banks;
    for (uint64_t m = hits; m != 0; m &= m - 1)
        if (closes_row_of_hits(hbm, &pc->banks[__builtin_ctzll(m)], op)) banks |= m & -m;
    return banks;
}

/* The bank has a burst of the direction. */
static inline void consider_row(const tla_hbm *hbm, struct pseudo_channel *pc, uint32_t bank) {
    if (banks_that_want_rows(hbm, pc, UINT64_C(1) << bank) == 0) return;
    const struct request *burst = &pc->requests[pc->banks[bank].queues[pc->direction].head];
    consider(&pc->row, row_time(hbm, pc, bank, row_floor(hbm, pc)), burst, pc->direction);
}

/* The next row command, if it is not part of a refresh (age 0), opens a row. */
static inline bool row_is_act(const struct pseudo_channel *pc) {
    return pc->row.age != 0 && pc->banks[pc->row.bank].open_row == NO_ROW;
}

/* Banks that a refresh in progress takes away from the bursts. */
static inline uint64_t refreshing_banks(const tla_hbm *hbm, const struct pseudo_channel *pc) {
    if (!pc->refreshing) return 0;
    return hbm->config.refresh == TLA_HBM_REFRESH_ALL_BANK ? UINT64_MAX : UINT64_C(1) << pc->refresh_bank;
}

/* Banks that an all-bank refresh leaves open until they have served the burst that they were opened for. */
static inline uint64_t used_before_refresh(const tla_hbm *hbm, const struct pseudo_channel *pc) {
    const tla_hbm_config *c = &hbm->config;
    const bool use = c->before_refresh == TLA_HBM_BEFORE_REFRESH_USE && c->refresh == TLA_HBM_REFRESH_ALL_BANK;
    return use && pc->refreshing ? opened_banks(pc) : 0;
}

static inline void refind(struct pseudo_channel *pc) {
    pc->column.valid = pc->row.valid = false;
}

/* Reads first; writes when they pass the high watermark or no read is left, until they are under the low one. */
static inline void choose_direction(const tla_hbm *hbm, struct pseudo_channel *pc) {
    const uint32_t reads = pc->queued[TLA_HBM_READ], writes = pc->queued[TLA_HBM_WRITE];
    tla_hbm_op direction = pc->direction;
    if (direction == TLA_HBM_READ) {
        if (writes > hbm->write_high || (reads == 0 && writes > 0)) direction = TLA_HBM_WRITE;
    } else if (reads > 0 && (writes < hbm->write_low || writes == 0)) {
        direction = TLA_HBM_READ;
    }
    if (direction == pc->direction) return;
    pc->direction = direction;
    refind(pc);
}

#endif
