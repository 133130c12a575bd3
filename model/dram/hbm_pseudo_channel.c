/* A pseudo-channel, or two that share a row-command bus: life, acceptance of bursts, and how far time has come. */
#include "hbm_internal.h"

#include <stdlib.h>
#include <string.h>

/* Spacings from the first cycle of a command to the first cycle of the next, and values that others stand for. */
static tla_hbm_config between_first_cycles(const tla_hbm_config *config) {
    tla_hbm_config c = *config;
    const uint32_t act = c.act_cycles - 1, column = c.column_cycles - 1, pre = c.pre_cycles - 1;
    if (c.rp_ab == 0) c.rp_ab = c.rp;
    if (c.rtw_l == 0) c.rtw_l = c.rtw;
    if (c.ccd_l_wr == 0) c.ccd_l_wr = c.ccd_l;
    if (c.ccd_r == 0) c.ccd_r = c.ccd_s;
    c.rcd_rd += act - column;
    c.rcd_wr += act - column;
    c.ras += act - pre;
    c.rp -= act - pre;
    c.rp_ab -= act - pre;
    c.rfc -= act - pre;
    c.rfc_pb -= act - pre;
    c.rrefd -= act - pre;
    c.cl += column;
    c.cwl += column;
    c.rtp += column - pre;
    c.wr -= pre;
    c.wtr_s -= column;
    c.wtr_l -= column;
    return c;
}

static void start_pseudo_channel(const tla_hbm *hbm, struct pseudo_channel *pc, uint32_t index) {
    const tla_hbm_config *c = &hbm->config;
    pc->index = index;
    pc->refresh_due = c->refresh == TLA_HBM_REFRESH_NONE       ? NEVER
                      : c->refresh == TLA_HBM_REFRESH_ALL_BANK ? c->refi
                                                               : c->refi / hbm->bank_count;
    pc->refresh_at = NEVER;
    pc->second_act = NEVER;
    for (uint32_t i = 0; i < hbm->bank_count; i++) {
        struct bank *bank = &pc->banks[i];
        bank->group = (uint8_t)(i / c->banks_per_group);
        bank->open_row = NO_ROW;
        for (int op = 0; op < OPS; op++)
            bank->queues[op] = (struct bank_queue){NO_REQUEST, NO_REQUEST, NO_REQUEST};
    }
    const uint32_t slots = c->read_queue + c->write_queue;
    for (uint32_t i = 0; i < slots; i++)
        pc->requests[i].next = i + 1 < slots ? (uint16_t)(i + 1) : NO_REQUEST;
}

tla_status tla_hbm_create(const tla_hbm_config *config, const tla_hbm_listener *listener, tla_hbm **out,
                          tla_error *error) {
    *out = NULL;
    const tla_status status = tla_hbm_check(config, error);
    if (status != TLA_OK) return status;
    if (config->model != TLA_HBM_BANKS)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "the profile has no banks: use flat channels");
    tla_hbm *hbm = calloc(1, sizeof *hbm);
    if (hbm == NULL) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for a pseudo-channel");
    hbm->config = between_first_cycles(config);
    if (listener != NULL) hbm->listener = *listener;
    tla_hbm_decoder_build(config, &hbm->decoder);
    hbm->pc_count = config->row_bus_sharers;
    hbm->bank_count = config->bank_groups * config->banks_per_group;
    hbm->refresh_extra = config->act_cycles - config->pre_cycles;
    hbm->one_bus = config->command_buses == 1;
    const tla_hbm_config *c = &hbm->config;
    hbm->more_column_rules = c->rtw_l > c->rtw || c->ccd_l_wr > c->ccd_l || c->ccd_r > c->ccd_s;
    hbm->write_high = config->write_queue * config->write_high_percent / 100;
    hbm->write_low = (config->write_queue * config->write_low_percent + 99) / 100;
    uint32_t ring = 1;
    while (ring < config->window)
        ring *= 2;
    for (uint32_t i = 0; i < hbm->pc_count; i++) {
        struct pseudo_channel *pc = &hbm->pcs[i];
        pc->in_flight = malloc(ring * sizeof *pc->in_flight);
        pc->in_flight_mask = ring - 1;
        pc->requests = calloc(config->read_queue + config->write_queue, sizeof *pc->requests);
        if (pc->in_flight == NULL || pc->requests == NULL) {
            tla_hbm_destroy(hbm);
            return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the queues of a pseudo-channel");
        }
        start_pseudo_channel(hbm, pc, i);
    }
    *out = hbm;
    return TLA_OK;
}

void tla_hbm_destroy(tla_hbm *hbm) {
    if (hbm == NULL) return;
    for (uint32_t i = 0; i < 2; i++) {
        free(hbm->pcs[i].in_flight);
        free(hbm->pcs[i].requests);
    }
    free(hbm);
}

uint64_t tla_hbm_capacity(const tla_hbm *hbm) {
    const uint32_t bits = hbm->decoder.line_bits + hbm->decoder.burst_bits;
    return bits < 64 ? UINT64_C(1) << bits : UINT64_MAX;
}

static bool has_room(const tla_hbm_config *c, struct pseudo_channel *pc, uint64_t at, tla_hbm_op op) {
    if (op == TLA_HBM_WRITE) return pc->queued[TLA_HBM_WRITE] < c->write_queue;
    if (pc->queued[TLA_HBM_READ] >= c->read_queue) return false;
    if (c->window == 0) return true;
    retire_reads(pc, at);
    return pc->queued[TLA_HBM_READ] + pc->in_flight_count < c->window;
}

tla_status tla_hbm_accept(tla_hbm *hbm, struct pseudo_channel *pc, uint64_t at, uint64_t line,
                          const tla_hbm_request *asked, struct transfer *transfer, uint64_t *accepted) {
    const tla_hbm_config *c = &hbm->config;
    const tla_hbm_op op = asked->op;
    if (at < pc->next_accept) at = pc->next_accept;
    if (at < pc->now) at = pc->now;
    tla_hbm_run_until(hbm, at);
    if (!has_room(c, pc, at, op)) {
        /* a read in flight frees its window place at its end; a command frees a queue place */
        const bool window_full = op == TLA_HBM_READ && pc->queued[TLA_HBM_READ] < c->read_queue;
        *accepted = window_full && pc->in_flight_count > 0 ? pc->in_flight[pc->in_flight_first]
                                                           : tla_hbm_next_event(hbm, pc) + 1;
        return TLA_BUSY;
    }
    tla_hbm_enqueue(hbm, pc, at, line, asked, transfer);
    pc->next_accept = at + 1;
    *accepted = at;
    if (op == TLA_HBM_READ)
        hbm->stats.reads++;
    else
        hbm->stats.writes++;
    return TLA_OK;
}

uint32_t tla_hbm_bank_of(const tla_hbm *hbm, uint64_t address) {
    return decode(hbm->decoder.bank, hbm->decoder.bank_pieces, address >> hbm->decoder.burst_bits);
}

static uint64_t to_cycle(const tla_hbm *hbm, const struct pseudo_channel *pc, uint64_t at_ps) {
    const uint64_t tck = hbm->config.tck_ps;
    if (at_ps <= pc->next_accept * tck) return pc->next_accept; /* spares the division where it cannot matter */
    return at_ps / tck + (at_ps % tck != 0);
}

static struct pseudo_channel *channel_of(tla_hbm *hbm, uint64_t line) {
    return &hbm->pcs[hbm->pc_count == 2 ? decode(&hbm->decoder.pseudo_channel, 1, line) : 0];
}

tla_status tla_hbm_offer(tla_hbm *hbm, const tla_hbm_request *request, uint64_t *accepted_ps) {
    const uint64_t line = request->address >> hbm->decoder.burst_bits;
    if (line >> hbm->decoder.line_bits != 0) return TLA_OUT_OF_RANGE;
    struct pseudo_channel *pc = channel_of(hbm, line);
    uint64_t cycle = 0;
    const tla_status status = tla_hbm_accept(hbm, pc, to_cycle(hbm, pc, request->at_ps), line, request, NULL, &cycle);
    *accepted_ps = cycle * hbm->config.tck_ps;
    return status;
}

tla_status tla_hbm_submit(tla_hbm *hbm, const tla_hbm_request *request, uint64_t *accepted_ps) {
    const uint64_t line = request->address >> hbm->decoder.burst_bits;
    if (line >> hbm->decoder.line_bits != 0) return TLA_OUT_OF_RANGE;
    struct pseudo_channel *pc = channel_of(hbm, line);
    uint64_t cycle = to_cycle(hbm, pc, request->at_ps);
    while (tla_hbm_accept(hbm, pc, cycle, line, request, NULL, &cycle) == TLA_BUSY) {
    }
    *accepted_ps = cycle * hbm->config.tck_ps;
    return TLA_OK;
}

void tla_hbm_advance(tla_hbm *hbm, uint64_t until_ps) {
    const uint64_t tck = hbm->config.tck_ps;
    tla_hbm_run_until(hbm, until_ps / tck + (until_ps % tck != 0));
}

uint64_t tla_hbm_next_end(tla_hbm *hbm) {
    uint64_t earliest = NEVER;
    for (uint32_t i = 0; i < hbm->pc_count; i++) {
        const uint64_t end = tla_hbm_earliest_data(hbm, &hbm->pcs[i]);
        if (end < earliest) earliest = end;
    }
    return earliest == NEVER ? NEVER : earliest * hbm->config.tck_ps;
}

static bool idle(const tla_hbm *hbm) {
    for (uint32_t i = 0; i < hbm->pc_count; i++)
        if (hbm->pcs[i].queued[TLA_HBM_READ] + hbm->pcs[i].queued[TLA_HBM_WRITE] > 0) return false;
    return true;
}

uint64_t tla_hbm_drain(tla_hbm *hbm) {
    while (!idle(hbm))
        tla_hbm_step(hbm, NEVER);
    return hbm->last_end * hbm->config.tck_ps;
}

tla_status tla_hbm_access(tla_hbm *hbm, uint64_t at_ps, tla_hbm_op op, tla_purpose purpose, uint64_t address,
                          uint64_t nbytes, tla_hbm_transfer *out) {
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    const uint64_t capacity = tla_hbm_capacity(hbm);
    if (address >= capacity || nbytes > capacity - address) return TLA_OUT_OF_RANGE;
    const uint64_t first = address >> hbm->decoder.burst_bits;
    const uint64_t last = (address + nbytes - 1) >> hbm->decoder.burst_bits;
    const uint64_t tck = hbm->config.tck_ps;
    struct pseudo_channel *pc = channel_of(hbm, first);
    if (tla_hbm_open_rows(hbm, to_cycle(hbm, pc, at_ps), op, purpose, first, last - first + 1, out)) return TLA_OK;

    const tla_hbm_request asked = {.op = op, .purpose = purpose};
    struct transfer transfer = {.times = {.first_end_ps = NEVER}, .pending = last - first + 1};
    for (uint64_t line = first; line <= last; line++) {
        pc = channel_of(hbm, line);
        uint64_t cycle = to_cycle(hbm, pc, at_ps);
        while (tla_hbm_accept(hbm, pc, cycle, line, &asked, &transfer, &cycle) == TLA_BUSY) {
        }
        if (line == first) transfer.times.first_accepted_ps = cycle * tck;
        if (cycle * tck > transfer.times.last_accepted_ps) transfer.times.last_accepted_ps = cycle * tck;
    }
    while (transfer.pending > 0)
        tla_hbm_step(hbm, NEVER);
    *out = transfer.times;
    return TLA_OK;
}

tla_hbm_stats tla_hbm_get_stats(const tla_hbm *hbm) {
    tla_hbm_stats stats = hbm->stats;
    stats.row_hits = hbm->row_states[ROW_HIT];
    stats.row_misses = hbm->row_states[ROW_MISS];
    stats.row_conflicts = hbm->row_states[ROW_CONFLICT];
    for (int i = 0; i < TLA_PURPOSE_COUNT; i++) {
        stats.activates += stats.activates_for[TLA_HBM_READ][i] + stats.activates_for[TLA_HBM_WRITE][i];
        stats.read_commands += stats.commands_for[TLA_HBM_READ][i];
        stats.write_commands += stats.commands_for[TLA_HBM_WRITE][i];
    }
    stats.last_end_ps = hbm->last_end * hbm->config.tck_ps;
    return stats;
}

/* The part of until_ps that lies behind a cycle. */
static uint64_t since(const tla_hbm *hbm, uint64_t cycle, uint64_t until_ps) {
    const uint64_t at_ps = cycle * hbm->config.tck_ps;
    return until_ps > at_ps ? until_ps - at_ps : 0;
}

tla_hbm_open_time tla_hbm_get_open_time(const tla_hbm *hbm, uint64_t until_ps) {
    tla_hbm_open_time sum = {0};
    for (uint32_t i = 0; i < hbm->pc_count; i++) {
        const struct pseudo_channel *pc = &hbm->pcs[i];
        sum.all_closed_ps += pc->all_closed * hbm->config.tck_ps;
        sum.open_bank_ps += pc->open_sum * hbm->config.tck_ps;
        if (pc->open_banks == 0) sum.all_closed_ps += since(hbm, pc->last_close, until_ps);
        for (uint64_t m = pc->open_banks; m != 0; m &= m - 1)
            sum.open_bank_ps += since(hbm, pc->banks[__builtin_ctzll(m)].opened, until_ps);
    }
    return sum;
}

tla_hbm_stats tla_hbm_stats_at(const tla_hbm *hbm, uint64_t until_ps, tla_hbm_open_time *open_time) {
    tla_hbm idle = *hbm; /* shares the queues with the original; where they are empty, no command looks at them */
    idle.listener = (tla_hbm_listener){0};
    tla_hbm_advance(&idle, until_ps);
    *open_time = tla_hbm_get_open_time(&idle, until_ps);
    return tla_hbm_get_stats(&idle);
}
