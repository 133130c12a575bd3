/* The choice of the next command, and its effect on the spacings: the event loop of a pseudo-channel.
 *
 * Two candidates are kept, the next column command and the next row command, each the one that is legal first, of
 * several the one whose burst is oldest (first-ready first-come). A candidate stays valid until something happens that
 * can change it; a new one only has to be compared. Candidates and requests are written and read in place, member by
 * member: to copy one that has just been written takes the processor longer than all that is computed for it. */
#include "candidates.h"

static const struct candidate no_candidate = {.at = NEVER, .age = NEVER, .bank = NO_BANK, .valid = true};

static void consider_columns(const tla_hbm *hbm, const struct pseudo_channel *pc, tla_hbm_op op, uint64_t banks,
                             struct candidate *best) {
    const uint64_t floor = column_floor(hbm, pc, op);
    for (uint64_t m = banks; m != 0; m &= m - 1) {
        const uint32_t bank = (uint32_t)__builtin_ctzll(m);
        consider(best, column_time(pc, bank, op, floor), &pc->requests[pc->banks[bank].queues[op].hit], op);
    }
}

static void find_column(const tla_hbm *hbm, struct pseudo_channel *pc) {
    const tla_hbm_op op = pc->direction, other = op == TLA_HBM_READ ? TLA_HBM_WRITE : TLA_HBM_READ;
    uint64_t here = pc->hit_banks[op], there = pc->opened_banks[other];
    if (pc->refreshing) {
        const uint64_t barred = refreshing_banks(hbm, pc), used = used_before_refresh(hbm, pc);
        here &= ~barred | (used & pc->opened_banks[op]);
        there &= ~barred | used;
    }
    pc->column = no_candidate;
    consider_columns(hbm, pc, op, here, &pc->column);
    if (there != 0) consider_columns(hbm, pc, other, there, &pc->column);
}

static struct candidate find_refresh(const tla_hbm *hbm, struct pseudo_channel *pc) {
    const bool all = hbm->config.refresh == TLA_HBM_REFRESH_ALL_BANK;
    const uint64_t closing = pc->open_banks & refreshing_banks(hbm, pc);
    uint64_t at = row_floor(hbm, pc);
    tla_hbm_command command;
    if (used_before_refresh(hbm, pc) != 0) {
        command = TLA_HBM_PRE_ALL;
        at = NEVER;
    } else if (closing != 0) {
        command = all ? TLA_HBM_PRE_ALL : TLA_HBM_PRE;
        /* a precharge of all banks also waits for those that precharge by themselves */
        for (uint32_t i = 0; i < hbm->bank_count; i++)
            if (all || i == pc->refresh_bank) at = later(at, later(pc->pre_ok, pc->banks[i].pre_ok));
    } else if (all) {
        command = TLA_HBM_REF_ALL;
        for (uint32_t i = 0; i < hbm->bank_count; i++)
            at = later(at, pc->banks[i].act_ok + hbm->refresh_extra);
    } else {
        command = TLA_HBM_REF_BANK;
        const struct bank *bank = &pc->banks[pc->refresh_bank];
        at = later(at, later(bank->act_ok, later(pc->act_ok, pc->groups[bank->group].act_ok)) + hbm->refresh_extra);
        pc->refresh_at = at;
    }
    /* age 0: of commands that are legal at the same time the refresh goes first */
    return (struct candidate){
        .at = at, .age = 0, .bank = (uint8_t)pc->refresh_bank, .command = (uint8_t)command, .valid = true};
}

static void find_row(const tla_hbm *hbm, struct pseudo_channel *pc) {
    uint64_t banks = pc->queued_banks[pc->direction];
    pc->refresh_at = NEVER;
    pc->row = no_candidate;
    if (pc->refreshing) {
        banks &= ~refreshing_banks(hbm, pc);
        pc->row = find_refresh(hbm, pc);
    }
    const uint64_t floor = row_floor(hbm, pc);
    for (uint64_t m = banks_that_want_rows(hbm, pc, banks); m != 0; m &= m - 1) {
        const uint32_t bank = (uint32_t)__builtin_ctzll(m);
        consider(&pc->row, row_time(hbm, pc, bank, floor), &pc->requests[pc->banks[bank].queues[pc->direction].head],
                 pc->direction);
    }
}

static void update(const tla_hbm *hbm, struct pseudo_channel *pc) {
    if (!pc->column.valid) find_column(hbm, pc);
    if (!pc->row.valid) find_row(hbm, pc);
}

/* When the second command of an ACT has the bus for itself: the first free cycle. */
static uint64_t second_act_at(const tla_hbm *hbm, const struct pseudo_channel *pc) {
    return later(pc->second_act, hbm->row_bus_free);
}

uint64_t tla_hbm_next_event(tla_hbm *hbm, struct pseudo_channel *pc) {
    update(hbm, pc);
    uint64_t at = smaller(pc->column.at, pc->row.at);
    if (hbm->one_bus) at = smaller(at, second_act_at(hbm, pc));
    if (!pc->refreshing && pc->refresh_due <= at) at = later(pc->refresh_due, pc->now);
    return at;
}

uint64_t tla_hbm_earliest_data(tla_hbm *hbm, struct pseudo_channel *pc) {
    if (pc->queued[TLA_HBM_READ] + pc->queued[TLA_HBM_WRITE] == 0) return NEVER;
    update(hbm, pc);
    const tla_hbm_config *c = &hbm->config;
    const uint32_t latency = (c->cl < c->cwl ? c->cl : c->cwl) + c->burst_cycles;
    const uint32_t rcd = (c->rcd_rd < c->rcd_wr ? c->rcd_rd : c->rcd_wr);
    const uint64_t by_column = pc->column.at == NEVER ? NEVER : pc->column.at + latency;
    const uint64_t by_row = pc->row.at == NEVER ? NEVER : pc->row.at + rcd + latency;
    return by_column < by_row ? by_column : by_row;
}

void tla_hbm_enqueue(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at, uint64_t line, const tla_hbm_request *asked,
                     struct transfer *transfer) {
    const tla_hbm_op op = asked->op;
    const uint32_t index = decode(hbm->decoder.bank, hbm->decoder.bank_pieces, line);
    const uint64_t bit = UINT64_C(1) << index;
    struct bank *bank = &pc->banks[index];
    pc->now = at;

    const uint64_t age = ++hbm->accepted;
    const uint32_t row = decode(hbm->decoder.row, hbm->decoder.row_pieces, line);
    if (op == TLA_HBM_READ) {
        for (uint16_t w = bank->queues[TLA_HBM_WRITE].head; w != NO_REQUEST; w = pc->requests[w].next) {
            if (pc->requests[w].line != line) continue;
            hbm->stats.forwarded++;
            tla_hbm_finish(hbm, &(struct request){.tag = asked->tag, .transfer = transfer}, op, at + 1);
            return;
        }
    }

    struct bank_queue *queue = &bank->queues[op];
    const uint16_t slot = pc->free_request;
    struct request *incoming = &pc->requests[slot];
    pc->free_request = incoming->next;
    incoming->tag = asked->tag;
    incoming->age = age;
    incoming->line = line;
    incoming->transfer = transfer;
    incoming->row = row;
    incoming->next = NO_REQUEST;
    incoming->previous = queue->tail;
    incoming->bank = (uint8_t)index;
    incoming->row_state = ROW_HIT;
    incoming->purpose = (uint8_t)asked->purpose;
    if (queue->tail == NO_REQUEST)
        queue->head = slot;
    else
        pc->requests[queue->tail].next = slot;
    queue->tail = slot;

    const bool had_queue = (pc->queued_banks[op] & bit) != 0;
    pc->queued_banks[op] |= bit;
    pc->queued[op]++;
    const bool new_hit = queue->hit == NO_REQUEST && row == bank->open_row;
    if (new_hit) {
        queue->hit = slot;
        pc->hit_banks[op] |= bit;
    }
    choose_direction(hbm, pc);
    if (op != pc->direction || (refreshing_banks(hbm, pc) & bit) != 0) return;
    if (new_hit) {
        if (pc->column.valid) consider_column(hbm, pc, index, op);
        if (pc->row.bank == index) pc->row.valid = false; /* this bank is not to be closed now */
    } else if (!had_queue && pc->row.valid) {
        consider_row(hbm, pc, index);
    }
}

/* Both are legal now: a burst that waits longer than the hits of its bank closes their row first. */
static bool closes_before_hit(const struct pseudo_channel *pc) {
    return pc->row.at == pc->column.at && pc->row.bank == pc->column.bank && pc->row.age != 0 &&
           pc->row.age < pc->column.age;
}

/* Of the commands that could go at this time the oldest burst's, but a refresh first, and before it the burst that its
 * row was opened for. The second command of an ACT goes when no other can, or must not wait, or for another ACT. */
static void issue_on_one_bus(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at) {
    const tla_hbm_config *c = &hbm->config;
    const bool row = pc->row.at == at, column = pc->column.at == at;
    const bool opened = column && (pc->opened_banks[pc->column.op] >> pc->column.bank & 1) != 0;
    const bool column_first = column && (!row || opened || pc->column.age < pc->row.age);
    if (second_act_at(hbm, pc) == at) {
        const bool act = !column_first && row && row_is_act(pc);
        const uint32_t cycles = column_first ? c->column_cycles : c->pre_cycles;
        if ((!row && !column) || act || at + cycles > pc->second_act_by) {
            tla_hbm_issue_second_act(hbm, pc, at);
            refind(pc);
            return;
        }
    }
    if (column_first)
        tla_hbm_issue_column(hbm, pc);
    else
        tla_hbm_issue_row(hbm, pc);
    refind(pc);
}

static void process(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at) {
    if (!pc->refreshing && pc->refresh_due <= at) {
        pc->refreshing = true;
        pc->now = at;
        refind(pc);
    } else if (hbm->one_bus) {
        issue_on_one_bus(hbm, pc, at);
    } else if (pc->column.at == at && !closes_before_hit(pc)) {
        tla_hbm_issue_column(hbm, pc);
    } else {
        tla_hbm_issue_row(hbm, pc);
    }
}

bool tla_hbm_step(tla_hbm *hbm, uint64_t limit) {
    struct pseudo_channel *pc = &hbm->pcs[0];
    uint64_t at = tla_hbm_next_event(hbm, pc);
    if (hbm->pc_count == 2) {
        const uint64_t other = tla_hbm_next_event(hbm, &hbm->pcs[1]);
        if (other < at || (other == at && hbm->row_bus_turn == 1)) {
            pc = &hbm->pcs[1];
            at = other;
        }
    }
    if (at >= limit || at == NEVER) return false;
    process(hbm, pc, at);
    return true;
}

/* Nothing is queued and all rows are closed: refreshes follow each other, and only the last ones leave a trace. */
static void skip_idle_refreshes(tla_hbm *hbm, uint64_t limit) {
    const uint64_t interval = hbm->config.refi;
    if (hbm->listener.command != NULL) return; /* wants to hear of each */
    for (uint32_t i = 0; i < hbm->pc_count; i++) {
        const struct pseudo_channel *pc = &hbm->pcs[i];
        if (pc->queued_banks[TLA_HBM_READ] | pc->queued_banks[TLA_HBM_WRITE] | pc->open_banks) return;
        if (pc->refreshing || pc->refresh_due >= limit) return;
    }
    const uint32_t per_interval = hbm->config.refresh == TLA_HBM_REFRESH_PER_BANK ? hbm->bank_count : 1;
    for (uint32_t i = 0; i < hbm->pc_count; i++) {
        struct pseudo_channel *pc = &hbm->pcs[i];
        const uint64_t intervals = (limit - pc->refresh_due) / interval;
        if (intervals < 3) continue;
        const uint64_t skipped = intervals - 2;
        pc->refresh_due += skipped * interval;
        pc->refresh_number += skipped * per_interval;
        hbm->stats.refreshes += skipped * per_interval;
        refind(pc);
    }
}

void tla_hbm_run_until(tla_hbm *hbm, uint64_t limit) {
    enum { ROUND = 64, TRIES = 8 };
    uint32_t events = 0;
    while (tla_hbm_step(hbm, limit)) {
        /* After a round of refreshes an idle channel has all rows closed. Several tries in a row: in every other event
         * of an idle channel, and of two of them in three of four, a refresh has begun and not been issued. */
        if (++events % ROUND < TRIES && limit != NEVER) skip_idle_refreshes(hbm, limit);
    }
}
