/* The effect of a command on the spacings of later ones, and on the bursts that wait. */
#include "candidates.h"

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

/* Closes a row at a cycle; another may be opened `rp` cycles later. */
static void close_bank(struct pseudo_channel *pc, uint32_t index, uint64_t at, uint32_t rp) {
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
    bank->act_ok = later(bank->act_ok, at + rp);
}

static void take_row_bus(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at, uint32_t cycles) {
    hbm->row_bus_free = at + cycles;
    if (hbm->one_bus) hbm->column_bus_free = hbm->row_bus_free;
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
    hbm->stats.activates_for[pc->direction][request->purpose]++;
    pc->open_banks |= UINT64_C(1) << index;
    pc->opened_banks[pc->direction] |= UINT64_C(1) << index;
    bank->column_ok[TLA_HBM_READ] = at + c->rcd_rd;
    bank->column_ok[TLA_HBM_WRITE] = at + c->rcd_wr;
    bank->pre_ok = at + c->ras;
    bank->act_ok = at + c->rc;
    pc->groups[bank->group].act_ok = at + c->rrd_l;
    pc->act_ok = later(pc->act_ok, at + c->rrd_s);
    pc->activates[pc->next_activate] = at + c->faw;
    pc->next_activate = (pc->next_activate + 1) % FAW_ACTIVATES;
    for (int op = 0; op < OPS; op++)
        find_hit(pc, index, (tla_hbm_op)op, bank->queues[op].head);
    if (c->aad != 0) {
        pc->second_act = at + c->act_cycles;
        pc->second_act_by = at + c->aad;
        pc->second_act_bank = index;
    }
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

static void issue_for_refresh(tla_hbm *hbm, struct pseudo_channel *pc) {
    const tla_hbm_config *c = &hbm->config;
    const uint64_t at = pc->row.at;
    const uint32_t index = pc->row.bank;
    const tla_hbm_command command = (tla_hbm_command)pc->row.command;
    struct bank *bank = &pc->banks[index];
    tell(hbm, pc, command, at, index, 0);
    switch (command) {
    case TLA_HBM_PRE:
        close_bank(pc, index, at, c->rp);
        hbm->stats.precharges++;
        pc->pre_ok = at + c->ppd;
        break;
    case TLA_HBM_PRE_ALL:
        for (uint64_t m = pc->open_banks; m != 0; m &= m - 1)
            close_bank(pc, (uint32_t)__builtin_ctzll(m), at, c->rp_ab);
        hbm->stats.precharges_all++;
        pc->pre_ok = at + c->ppd;
        break;
    case TLA_HBM_REF_ALL:
        for (uint32_t i = 0; i < hbm->bank_count; i++) {
            pc->banks[i].act_ok = at + c->rfc;
            pc->banks[i].closed_by_conflict = false;
        }
        next_refresh(hbm, pc);
        break;
    default: /* TLA_HBM_REF_BANK */
        bank->act_ok = at + c->rfc_pb;
        bank->closed_by_conflict = false;
        pc->act_ok = later(pc->act_ok, at + c->rrefd);
        next_refresh(hbm, pc);
        break;
    }
}

void tla_hbm_issue_row(tla_hbm *hbm, struct pseudo_channel *pc) {
    const tla_hbm_config *c = &hbm->config;
    const uint64_t at = pc->row.at;
    const uint32_t index = pc->row.bank;
    pc->now = at;
    if (row_is_act(pc)) {
        take_row_bus(hbm, pc, at, c->act_cycles);
        activate(hbm, pc, at, index);
        if (pc->column.valid) consider_column(hbm, pc, index, pc->direction);
        return;
    }
    take_row_bus(hbm, pc, at, c->pre_cycles);
    if (pc->row.age == 0) {
        issue_for_refresh(hbm, pc);
        return;
    }
    close_bank(pc, index, at, c->rp);
    hbm->stats.precharges++;
    pc->banks[index].closed_by_conflict = true;
    pc->pre_ok = at + c->ppd;
    if (pc->column.bank == index) pc->column.valid = false; /* its hits wait for the row again */
    tell(hbm, pc, TLA_HBM_PRE, at, index, 0);
}

void tla_hbm_issue_second_act(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at) {
    pc->now = at;
    pc->second_act = NEVER;
    take_row_bus(hbm, pc, at, hbm->config.act_cycles);
    tell(hbm, pc, TLA_HBM_ACT_2, at, pc->second_act_bank, pc->banks[pc->second_act_bank].open_row);
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

void tla_hbm_finish(tla_hbm *hbm, const struct request *request, tla_hbm_op op, uint64_t end) {
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

void tla_hbm_space_more_columns(const tla_hbm *hbm, struct pseudo_channel *pc, uint32_t group, tla_hbm_op op,
                                uint64_t at) {
    const tla_hbm_config *c = &hbm->config;
    uint64_t *write_ok = &pc->groups[group].column_ok[TLA_HBM_WRITE];
    *write_ok = later(*write_ok, at + (op == TLA_HBM_READ ? c->rtw_l : c->ccd_l_wr));
    const uint32_t stack_groups = c->bank_groups / c->stack_ids;
    for (uint32_t g = 0; g < c->bank_groups; g++)
        if (g / stack_groups != group / stack_groups)
            pc->groups[g].column_ok[op] = later(pc->groups[g].column_ok[op], at + c->ccd_r);
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

void tla_hbm_issue_column(tla_hbm *hbm, struct pseudo_channel *pc) {
    const uint64_t at = pc->column.at;
    const uint32_t index = pc->column.bank;
    const uint64_t bit = UINT64_C(1) << index;
    const tla_hbm_op op = (tla_hbm_op)pc->column.op;
    struct bank *bank = &pc->banks[index];
    struct bank_queue *queue = &bank->queues[op];
    const uint16_t slot = queue->hit;
    struct request *request = &pc->requests[slot];
    pc->now = at;
    pc->column.valid = false;
    if (hbm->one_bus) take_row_bus(hbm, pc, at, hbm->config.column_cycles);

    const uint64_t end = tla_hbm_space_columns(hbm, pc, bank, op, at);
    if (hbm->more_column_rules) tla_hbm_space_more_columns(hbm, pc, bank->group, op, at);
    if (op == TLA_HBM_READ && hbm->config.window != 0) {
        pc->in_flight[(pc->in_flight_first + pc->in_flight_count) & pc->in_flight_mask] = end + 1;
        pc->in_flight_count++;
    }
    hbm->stats.commands_for[op][request->purpose]++;
    hbm->row_states[request->row_state]++;

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
    if (close) close_bank(pc, index, bank->pre_ok, hbm->config.rp); /* the device itself waits until it may */
    choose_direction(hbm, pc);
    if (pc->row.valid) {
        const uint64_t barred = refreshing_banks(hbm, pc);
        /* the precharge of this bank, or of all for a refresh, became later */
        if (pc->row.bank == index || barred == UINT64_MAX)
            pc->row.valid = false;
        else if ((pc->queued_banks[pc->direction] & ~barred & bit) != 0)
            consider_row(hbm, pc, index);
    }
    tla_hbm_finish(hbm, request, op, end);
}
