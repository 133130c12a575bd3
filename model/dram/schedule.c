/* The choice of the next command, and its effect on the spacings: the event loop of a pseudo-channel.
 *
 * Two candidates are kept, the next column command and the next row command, each the one that is legal first, of
 * several the one whose burst is oldest (first-ready first-come). A candidate stays valid until something happens that
 * can change it; a new one only has to be compared. */
#include "base/numbers.h"
#include "hbm_internal.h"

static uint64_t column_time(const struct pseudo_channel *pc, uint32_t index, tla_hbm_op op) {
    const struct bank *bank = &pc->banks[index];
    const uint64_t own = later(bank->column_ok[op], pc->groups[bank->group].column_ok[op]);
    return later(later(own, pc->column_ok[op]), pc->now);
}

static uint64_t row_time(const tla_hbm *hbm, const struct pseudo_channel *pc, uint32_t index) {
    const struct bank *bank = &pc->banks[index];
    const uint64_t floor = later(pc->now, hbm->row_bus_free);
    if (bank->open_row != NO_ROW) return later(floor, bank->pre_ok);
    const uint64_t own = later(bank->act_ok, pc->groups[bank->group].act_ok);
    const uint64_t at = later(later(own, floor), later(pc->act_ok, pc->activates[pc->next_activate]));
    /* an ACT must not push a waiting refresh away, or a busy channel would never refresh */
    const bool collides = pc->refresh_at != NEVER && at + hbm->config.rrd_l + hbm->act_extra > pc->refresh_at;
    return collides ? later(at, pc->refresh_at + hbm->config.rrefd - hbm->act_extra) : at;
}

static void consider(struct candidate *best, uint64_t at, uint64_t age, uint32_t bank, tla_hbm_op op) {
    if (at < best->at || (at == best->at && age < best->age)) {
        best->at = at;
        best->age = age;
        best->bank = bank;
        best->op = op;
    }
}

static void consider_column(struct pseudo_channel *pc, uint32_t bank, tla_hbm_op op) {
    const struct bank_queue *queue = &pc->banks[bank].queues[op];
    consider(&pc->column, column_time(pc, bank, op), pc->requests[queue->hit].age, bank, op);
}

/* Banks whose row was opened for a burst that still waits: nothing but a refresh closes them. */
static uint64_t opened_banks(const struct pseudo_channel *pc) {
    return pc->opened_banks[TLA_HBM_READ] | pc->opened_banks[TLA_HBM_WRITE];
}

/* The oldest burst of the bank needs a row command, and may have it. */
static bool wants_row(const tla_hbm *hbm, const struct pseudo_channel *pc, uint32_t index) {
    const struct bank *bank = &pc->banks[index];
    const struct bank_queue *queue = &bank->queues[pc->direction];
    if (queue->head == NO_REQUEST || (opened_banks(pc) >> index & 1) != 0) return false;
    return queue->hit == NO_REQUEST || (queue->head != queue->hit && bank->served >= hbm->config.row_hits);
}

static void consider_row(const tla_hbm *hbm, struct pseudo_channel *pc, uint32_t bank) {
    if (!wants_row(hbm, pc, bank)) return;
    const struct bank_queue *queue = &pc->banks[bank].queues[pc->direction];
    consider(&pc->row, row_time(hbm, pc, bank), pc->requests[queue->head].age, bank, pc->direction);
}

/* Banks that a refresh in progress takes away from the bursts. */
static uint64_t refreshing_banks(const tla_hbm *hbm, const struct pseudo_channel *pc) {
    if (!pc->refreshing) return 0;
    return hbm->config.refresh == TLA_HBM_REFRESH_ALL_BANK ? UINT64_MAX : UINT64_C(1) << pc->refresh_bank;
}

/* Banks that an all-bank refresh leaves open until they have served the burst that they were opened for. */
static uint64_t used_before_refresh(const tla_hbm *hbm, const struct pseudo_channel *pc) {
    const tla_hbm_config *c = &hbm->config;
    const bool use = c->before_refresh == TLA_HBM_BEFORE_REFRESH_USE && c->refresh == TLA_HBM_REFRESH_ALL_BANK;
    return use && pc->refreshing ? opened_banks(pc) : 0;
}

static void find_column(const tla_hbm *hbm, struct pseudo_channel *pc) {
    const tla_hbm_op op = pc->direction, other = op == TLA_HBM_READ ? TLA_HBM_WRITE : TLA_HBM_READ;
    const uint64_t barred = refreshing_banks(hbm, pc), used = used_before_refresh(hbm, pc);
    pc->column = (struct candidate){.at = NEVER, .age = NEVER, .valid = true};
    for (uint64_t m = pc->hit_banks[op] & (~barred | (used & pc->opened_banks[op])); m != 0; m &= m - 1)
        consider_column(pc, (uint32_t)__builtin_ctzll(m), op);
    for (uint64_t m = pc->opened_banks[other] & (~barred | used); m != 0; m &= m - 1)
        consider_column(pc, (uint32_t)__builtin_ctzll(m), other);
}

static void find_refresh(const tla_hbm *hbm, struct pseudo_channel *pc) {
    const uint64_t floor = later(pc->now, hbm->row_bus_free);
    const bool all = hbm->config.refresh == TLA_HBM_REFRESH_ALL_BANK;
    const uint64_t closing = pc->open_banks & refreshing_banks(hbm, pc);
    uint64_t at = floor;
    tla_hbm_command command;
    if (used_before_refresh(hbm, pc) != 0) {
        command = TLA_HBM_PRE_ALL;
        at = NEVER;
    } else if (closing != 0) {
        command = all ? TLA_HBM_PRE_ALL : TLA_HBM_PRE;
        /* a precharge of all banks also waits for those that precharge by themselves */
        for (uint32_t i = 0; i < hbm->bank_count; i++)
            if (all || i == pc->refresh_bank) at = later(at, pc->banks[i].pre_ok);
    } else if (all) {
        command = TLA_HBM_REF_ALL;
        for (uint32_t i = 0; i < hbm->bank_count; i++)
            at = later(at, pc->banks[i].act_ok + hbm->act_extra);
    } else {
        command = TLA_HBM_REF_BANK;
        const struct bank *bank = &pc->banks[pc->refresh_bank];
        at = later(at, later(bank->act_ok, later(pc->act_ok, pc->groups[bank->group].act_ok)) + hbm->act_extra);
        pc->refresh_at = at;
    }
    /* age 0: of commands that are legal at the same time the refresh goes first */
    pc->row = (struct candidate){.at = at, .age = 0, .bank = pc->refresh_bank, .command = command, .valid = true};
}

static void find_row(const tla_hbm *hbm, struct pseudo_channel *pc) {
    pc->refresh_at = NEVER;
    if (pc->refreshing)
        find_refresh(hbm, pc);
    else
        pc->row = (struct candidate){.at = NEVER, .age = NEVER, .valid = true};
    uint64_t candidates = pc->queued_banks[pc->direction] & ~refreshing_banks(hbm, pc);
    if (hbm->config.row_hits == TLA_HBM_ROW_HITS_ALL) candidates &= ~pc->hit_banks[pc->direction];
    for (uint64_t m = candidates; m != 0; m &= m - 1)
        consider_row(hbm, pc, (uint32_t)__builtin_ctzll(m));
}

static void refind(struct pseudo_channel *pc) {
    pc->column.valid = pc->row.valid = false;
}

static void update(const tla_hbm *hbm, struct pseudo_channel *pc) {
    if (!pc->column.valid) find_column(hbm, pc);
    if (!pc->row.valid) find_row(hbm, pc);
}

uint64_t tla_hbm_next_event(tla_hbm *hbm, struct pseudo_channel *pc) {
    update(hbm, pc);
    uint64_t at = pc->column.at < pc->row.at ? pc->column.at : pc->row.at;
    if (!pc->refreshing && pc->refresh_due <= at) at = later(pc->refresh_due, pc->now);
    return at;
}

uint64_t tla_hbm_earliest_data(tla_hbm *hbm, struct pseudo_channel *pc) {
    if (pc->queued[TLA_HBM_READ] + pc->queued[TLA_HBM_WRITE] == 0) return NEVER;
    update(hbm, pc);
    const tla_hbm_config *c = &hbm->config;
    const uint32_t latency = (c->cl < c->cwl ? c->cl : c->cwl) + c->burst_cycles;
    const uint32_t rcd = (c->rcd_rd < c->rcd_wr ? c->rcd_rd : c->rcd_wr) + hbm->act_extra;
    const uint64_t by_column = pc->column.at == NEVER ? NEVER : pc->column.at + latency;
    const uint64_t by_row = pc->row.at == NEVER ? NEVER : pc->row.at + rcd + latency;
    return by_column < by_row ? by_column : by_row;
}

/* Reads first; writes when they pass the high watermark or no read is left, until they are under the low one. */
static void choose_direction(const tla_hbm *hbm, struct pseudo_channel *pc) {
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

/* The oldest burst from `from` on that wants the open row becomes the queue's hit. */
static void find_hit(struct pseudo_channel *pc, uint32_t index, tla_hbm_op op, uint16_t from) {
    struct bank *bank = &pc->banks[index];
    while (from != NO_REQUEST && pc->requests[from].row != bank->open_row)
        from = pc->requests[from].next;
    bank->queues[op].hit = from;
    if (from == NO_REQUEST)
        pc->hit_banks[op] &= ~(UINT64_C(1) << index);
    else
        pc->hit_banks[op] |= UINT64_C(1) << index;
}

static void tell(const tla_hbm *hbm, const struct pseudo_channel *pc, tla_hbm_command command, uint64_t at,
                 uint32_t bank, uint32_t row) {
    if (hbm->listener.command != NULL) hbm->listener.command(hbm->listener.context, pc->index, command, at, bank, row);
}

static void close_bank(const tla_hbm *hbm, struct pseudo_channel *pc, uint32_t index, uint64_t at) {
    struct bank *bank = &pc->banks[index];
    bank->open_row = NO_ROW;
    pc->open_banks &= ~(UINT64_C(1) << index);
    pc->open_sum += at - bank->opened;
    pc->last_close = later(pc->last_close, at);
    for (int op = 0; op < OPS; op++) {
        bank->queues[op].hit = NO_REQUEST;
        pc->hit_banks[op] &= ~(UINT64_C(1) << index);
        pc->opened_banks[op] &= ~(UINT64_C(1) << index);
    }
    bank->act_ok = later(bank->act_ok, at + hbm->config.rp - hbm->act_extra);
}

static void take_row_bus(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at, uint32_t cycles) {
    hbm->row_bus_free = at + cycles;
    hbm->row_bus_turn = pc->index ^ 1u;
    for (uint32_t i = 0; i < hbm->pc_count; i++)
        hbm->pcs[i].row.valid = false;
}

static void activate(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at, uint32_t index) {
    const tla_hbm_config *c = &hbm->config;
    struct bank *bank = &pc->banks[index];
    struct request *request = &pc->requests[bank->queues[pc->direction].head];
    request->row_state = bank->closed_by_conflict ? ROW_CONFLICT : ROW_MISS;
    bank->closed_by_conflict = false;
    bank->open_row = request->row;
    bank->served = 0;
    bank->opened = at;
    if (pc->open_banks == 0 && at > pc->last_close) pc->all_closed += at - pc->last_close;
    hbm->stats.activates++;
    pc->open_banks |= UINT64_C(1) << index;
    pc->opened_banks[pc->direction] |= UINT64_C(1) << index;
    const uint64_t effect = at + hbm->act_extra;
    bank->column_ok[TLA_HBM_READ] = effect + c->rcd_rd;
    bank->column_ok[TLA_HBM_WRITE] = effect + c->rcd_wr;
    bank->pre_ok = effect + c->ras;
    bank->act_ok = at + c->rc;
    pc->groups[bank->group].act_ok = at + c->rrd_l;
    pc->act_ok = later(pc->act_ok, at + c->rrd_s);
    pc->activates[pc->next_activate] = at + c->faw;
    pc->next_activate = (pc->next_activate + 1) % FAW_ACTIVATES;
    for (int op = 0; op < OPS; op++)
        find_hit(pc, index, (tla_hbm_op)op, bank->queues[op].head);
    tell(hbm, pc, TLA_HBM_ACT, at, index, bank->open_row);
}

static void next_refresh(tla_hbm *hbm, struct pseudo_channel *pc) {
    const tla_hbm_config *c = &hbm->config;
    pc->refresh_number++;
    pc->refreshing = false;
    hbm->stats.refreshes++;
    if (c->refresh == TLA_HBM_REFRESH_ALL_BANK) {
        pc->refresh_due += c->refi;
    } else {
        pc->refresh_bank = (pc->refresh_bank + 1) % hbm->bank_count;
        pc->refresh_due = (pc->refresh_number + 1) * c->refi / hbm->bank_count;
    }
    refind(pc);
}

static void issue_row(tla_hbm *hbm, struct pseudo_channel *pc) {
    const tla_hbm_config *c = &hbm->config;
    const struct candidate chosen = pc->row;
    const uint64_t at = chosen.at;
    const bool for_refresh = chosen.age == 0;
    struct bank *bank = &pc->banks[chosen.bank];
    pc->now = at;
    const bool is_act = !for_refresh && bank->open_row == NO_ROW;
    take_row_bus(hbm, pc, at, is_act ? c->act_cycles : 1);
    if (is_act) {
        activate(hbm, pc, at, chosen.bank);
        if (pc->column.valid) consider_column(pc, chosen.bank, pc->direction);
        return;
    }
    if (!for_refresh) {
        close_bank(hbm, pc, chosen.bank, at);
        hbm->stats.precharges++;
        bank->closed_by_conflict = true;
        if (pc->column.bank == chosen.bank) pc->column.valid = false; /* its hits wait for the row again */
        tell(hbm, pc, TLA_HBM_PRE, at, chosen.bank, 0);
        return;
    }
    tell(hbm, pc, chosen.command, at, chosen.bank, 0);
    switch (chosen.command) {
    case TLA_HBM_PRE:
        close_bank(hbm, pc, chosen.bank, at);
        hbm->stats.precharges++;
        break;
    case TLA_HBM_PRE_ALL:
        hbm->stats.precharges_all++;
        for (uint64_t m = pc->open_banks; m != 0; m &= m - 1)
            close_bank(hbm, pc, (uint32_t)__builtin_ctzll(m), at);
        break;
    case TLA_HBM_REF_ALL:
        for (uint32_t i = 0; i < hbm->bank_count; i++) {
            pc->banks[i].act_ok = at + c->rfc - hbm->act_extra;
            pc->banks[i].closed_by_conflict = false;
        }
        next_refresh(hbm, pc);
        break;
    default: /* TLA_HBM_REF_BANK */
        bank->act_ok = at + c->rfc_pb - hbm->act_extra;
        bank->closed_by_conflict = false;
        pc->act_ok = later(pc->act_ok, at + c->rrefd - hbm->act_extra);
        next_refresh(hbm, pc);
        break;
    }
}

static void unlink_request(struct pseudo_channel *pc, struct bank_queue *queue, uint16_t slot) {
    struct request *request = &pc->requests[slot];
    if (request->previous == NO_REQUEST)
        queue->head = request->next;
    else
        pc->requests[request->previous].next = request->next;
    if (request->next == NO_REQUEST)
        queue->tail = request->previous;
    else
        pc->requests[request->next].previous = request->previous;
    request->next = pc->free_request;
    pc->free_request = slot;
}

static void finish(tla_hbm *hbm, const struct request *request, tla_hbm_op op, uint64_t end) {
    const uint64_t end_ps = end * hbm->config.tck_ps;
    if (end > hbm->last_end) hbm->last_end = end;
    if (request->transfer != NULL) {
        tla_hbm_transfer *times = &request->transfer->times;
        if (end_ps < times->first_end_ps) times->first_end_ps = end_ps;
        if (end_ps > times->last_end_ps) times->last_end_ps = end_ps;
        request->transfer->pending--;
    } else if (hbm->listener.done != NULL) {
        hbm->listener.done(hbm->listener.context, request->tag, op, end_ps);
    }
}

uint64_t tla_hbm_space_columns(const tla_hbm *hbm, struct pseudo_channel *pc, struct bank *bank, tla_hbm_op op,
                               uint64_t at) {
    const tla_hbm_config *c = &hbm->config;
    struct bank_group *group = &pc->groups[bank->group];
    group->column_ok[op] = later(group->column_ok[op], at + c->ccd_l);
    pc->column_ok[op] = later(pc->column_ok[op], at + c->ccd_s);
    if (op == TLA_HBM_READ) {
        bank->pre_ok = later(bank->pre_ok, at + c->rtp);
        pc->column_ok[TLA_HBM_WRITE] = later(pc->column_ok[TLA_HBM_WRITE], at + c->rtw);
        return at + c->cl + c->burst_cycles;
    }
    const uint64_t end = at + c->cwl + c->burst_cycles;
    bank->pre_ok = later(bank->pre_ok, end + c->wr);
    pc->column_ok[TLA_HBM_READ] = later(pc->column_ok[TLA_HBM_READ], end + c->wtr_s);
    group->column_ok[TLA_HBM_READ] = later(group->column_ok[TLA_HBM_READ], end + c->wtr_l);
    return end;
}

static void issue_column(tla_hbm *hbm, struct pseudo_channel *pc) {
    const uint64_t at = pc->column.at;
    const uint32_t index = pc->column.bank;
    const uint64_t bit = UINT64_C(1) << index;
    const tla_hbm_op op = pc->column.op;
    struct bank *bank = &pc->banks[index];
    struct bank_queue *queue = &bank->queues[op];
    const uint16_t slot = queue->hit;
    struct request *request = &pc->requests[slot];
    pc->now = at;
    pc->column.valid = false;

    const uint64_t end = tla_hbm_space_columns(hbm, pc, bank, op, at);
    if (op == TLA_HBM_READ && hbm->config.window != 0) {
        pc->in_flight[(pc->in_flight_first + pc->in_flight_count) & pc->in_flight_mask] = end + 1;
        pc->in_flight_count++;
    }
    hbm->stats.read_commands += op == TLA_HBM_READ;
    hbm->stats.write_commands += op == TLA_HBM_WRITE;
    hbm->stats.row_hits += request->row_state == ROW_HIT;
    hbm->stats.row_misses += request->row_state == ROW_MISS;
    hbm->stats.row_conflicts += request->row_state == ROW_CONFLICT;

    const uint16_t next = request->next;
    unlink_request(pc, queue, slot);
    pc->queued[op]--;
    if (queue->head == NO_REQUEST) pc->queued_banks[op] &= ~bit;
    find_hit(pc, index, op, next);
    pc->opened_banks[op] &= ~bit;
    bank->served++;

    const bool close = hbm->config.page_policy == TLA_HBM_PAGE_CLOSED &&
                       ((pc->hit_banks[TLA_HBM_READ] | pc->hit_banks[TLA_HBM_WRITE]) & bit) == 0;
    tell(hbm, pc, op == TLA_HBM_READ ? (close ? TLA_HBM_RDA : TLA_HBM_RD) : (close ? TLA_HBM_WRA : TLA_HBM_WR), at,
         index, request->row);
    if (close) close_bank(hbm, pc, index, bank->pre_ok); /* the device itself waits until it may */
    choose_direction(hbm, pc);
    /* the precharge of this bank, or of all for a refresh, became later */
    if (pc->row.bank == index || refreshing_banks(hbm, pc) == UINT64_MAX) pc->row.valid = false;
    if (pc->row.valid && (refreshing_banks(hbm, pc) & bit) == 0) consider_row(hbm, pc, index);
    finish(hbm, request, op, end);
}

void tla_hbm_enqueue(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at, uint64_t line, tla_hbm_op op, uint64_t tag,
                     struct transfer *transfer) {
    const uint32_t index = decode(hbm->decoder.bank, hbm->decoder.bank_pieces, line);
    const uint64_t bit = UINT64_C(1) << index;
    struct bank *bank = &pc->banks[index];
    pc->now = at;

    struct request incoming = {.tag = tag,
                               .age = ++hbm->accepted,
                               .line = line,
                               .transfer = transfer,
                               .row = decode(hbm->decoder.row, hbm->decoder.row_pieces, line),
                               .next = NO_REQUEST,
                               .bank = (uint8_t)index,
                               .row_state = ROW_HIT};
    if (op == TLA_HBM_READ) {
        for (uint16_t w = bank->queues[TLA_HBM_WRITE].head; w != NO_REQUEST; w = pc->requests[w].next) {
            if (pc->requests[w].line != line) continue;
            hbm->stats.forwarded++;
            finish(hbm, &incoming, op, at + 1);
            return;
        }
    }

    struct bank_queue *queue = &bank->queues[op];
    const uint16_t slot = pc->free_request;
    pc->free_request = pc->requests[slot].next;
    incoming.previous = queue->tail;
    pc->requests[slot] = incoming;
    if (queue->tail == NO_REQUEST)
        queue->head = slot;
    else
        pc->requests[queue->tail].next = slot;
    queue->tail = slot;

    const bool had_queue = (pc->queued_banks[op] & bit) != 0;
    pc->queued_banks[op] |= bit;
    pc->queued[op]++;
    const bool new_hit = queue->hit == NO_REQUEST && incoming.row == bank->open_row;
    if (new_hit) {
        queue->hit = slot;
        pc->hit_banks[op] |= bit;
    }
    choose_direction(hbm, pc);
    if (op != pc->direction || (refreshing_banks(hbm, pc) & bit) != 0) return;
    if (new_hit) {
        if (pc->column.valid) consider_column(pc, index, op);
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

static void process(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at) {
    if (!pc->refreshing && pc->refresh_due <= at) {
        pc->refreshing = true;
        pc->now = at;
        refind(pc);
    } else if (pc->column.at == at && !closes_before_hit(pc)) {
        issue_column(hbm, pc);
    } else {
        issue_row(hbm, pc);
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
