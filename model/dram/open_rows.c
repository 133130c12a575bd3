/* A run of bursts whose rows are all open, on a channel where nothing else waits, in closed form.
 *
 * The bursts then leave in order, one every `spacing` cycles from the acceptance of the first on. The state that the
 * event loop would have left (spacings, window places, statistics) is computed from the last burst of each bank. Cases
 * that do not fit exactly go to the event loop. */
#include "hbm_internal.h"

/* Cycles from one column command of the run to the next; 0 when they are not evenly spaced. */
static uint64_t run_spacing(const tla_hbm *hbm, tla_hbm_op op, uint64_t first, uint64_t last) {
    const struct address_decoder *d = &hbm->decoder;
    const tla_hbm_config *c = &hbm->config;
    const uint64_t ccd_l = op == TLA_HBM_READ ? c->ccd_l : c->ccd_l_wr;
    if (first >> d->group_shift == last >> d->group_shift) return ccd_l; /* one bank group */
    if (c->ccd_r == c->ccd_s && d->group_period > 1 && (uint64_t)d->group_period * c->ccd_s >= ccd_l) return c->ccd_s;
    return 0;
}

/* The last line of the run in every bank it touches, from the end of the run backwards. */
struct bank_walk {
    const tla_hbm *hbm;
    uint64_t first, low, high; /* the lines of the piece being walked, in which the bank bits do not change */
    uint64_t chunks_left;
    uint32_t groups, group; /* lines to visit in it, one a bank group; the next one */
};

static void enter_chunk(struct bank_walk *walk, uint64_t high) {
    const struct address_decoder *d = &walk->hbm->decoder;
    walk->high = high;
    walk->low = high >> d->bank_shift << d->bank_shift;
    if (walk->low < walk->first) walk->low = walk->first;
    const uint64_t lines = walk->high - walk->low + 1;
    const uint32_t period = d->group_period > 0 ? d->group_period : 1;
    walk->groups = lines < period ? (uint32_t)lines : period;
    walk->group = 0;
}

static struct bank_walk walk_banks(const tla_hbm *hbm, uint64_t first, uint64_t last) {
    struct bank_walk walk = {.hbm = hbm, .first = first};
    /* one more than a period: the chunk at the end may lack some bank groups */
    walk.chunks_left = hbm->decoder.bank_period == 0 ? UINT64_MAX : (uint64_t)hbm->decoder.bank_period + 1;
    enter_chunk(&walk, last);
    return walk;
}

static bool next_bank(struct bank_walk *walk, uint64_t *line) {
    if (walk->group == walk->groups) {
        if (walk->low == walk->first || --walk->chunks_left == 0) return false;
        enter_chunk(walk, walk->low - 1);
    }
    *line = walk->high - walk->group++;
    return true;
}

/* Nothing of the run waits: banks open at its row, and every column spacing over by cycle `at`. */
static bool all_ready(const tla_hbm *hbm, const struct pseudo_channel *pc, uint64_t at, tla_hbm_op op, uint64_t first,
                      uint64_t last) {
    const uint32_t row = decode(hbm->decoder.row, hbm->decoder.row_pieces, first);
    if (pc->column_ok[op] > at) return false;
    struct bank_walk walk = walk_banks(hbm, first, last);
    uint64_t line;
    while (next_bank(&walk, &line)) {
        const struct bank *bank = &pc->banks[decode(hbm->decoder.bank, hbm->decoder.bank_pieces, line)];
        if (bank->open_row != row || bank->column_ok[op] > at || pc->groups[bank->group].column_ok[op] > at)
            return false;
    }
    return true;
}

/* When the last burst is accepted: one a cycle, held back by the queue and by the window. NEVER when the window would
 * hold back a command, so that the run would not be evenly spaced. */
static uint64_t last_acceptance(const tla_hbm *hbm, const struct pseudo_channel *pc, uint64_t at, tla_hbm_op op,
                                uint64_t count, uint64_t spacing) {
    const tla_hbm_config *c = &hbm->config;
    const uint64_t queue = op == TLA_HBM_READ ? c->read_queue : c->write_queue;
    uint64_t accepted = at + count - 1;
    if (count > queue) {
        const uint64_t freed = at + (count - 1 - queue) * spacing + 1;
        if (freed > accepted) accepted = freed;
    }
    if (op == TLA_HBM_WRITE || c->window == 0) return accepted;
    const uint64_t window = c->window, latency = c->cl + c->burst_cycles;
    if (window * spacing < latency + 1) return NEVER;
    if (count > window) {
        const uint64_t freed = at + (count - 1 - window) * spacing + latency + 1;
        if (freed > accepted) accepted = freed;
    }
    /* places of reads from before the run that are still on their way */
    for (uint64_t k = 0; k < pc->in_flight_count; k++) {
        const uint64_t waiting = window - pc->in_flight_count + k; /* burst of the run that takes this one's place */
        if (waiting >= count) break;
        const uint64_t freed = pc->in_flight[(pc->in_flight_first + k) & pc->in_flight_mask];
        if (freed > at + waiting * spacing) return NEVER;
        if (freed + (count - 1 - waiting) > accepted) accepted = freed + (count - 1 - waiting);
    }
    return accepted;
}

bool tla_hbm_open_rows(tla_hbm *hbm, uint64_t at, tla_hbm_op op, tla_purpose purpose, uint64_t first, uint64_t count,
                       tla_hbm_transfer *out) {
    const tla_hbm_config *c = &hbm->config;
    struct pseudo_channel *pc = &hbm->pcs[0];
    const uint64_t last = first + count - 1;
    if (hbm->pc_count != 1 || hbm->one_bus || c->page_policy != TLA_HBM_PAGE_OPEN || hbm->listener.command != NULL)
        return false;
    if (c->row_hits != 1 && c->row_hits != TLA_HBM_ROW_HITS_ALL) return false; /* the bursts of each bank count */
    if (first >> hbm->decoder.row_shift != last >> hbm->decoder.row_shift) return false;
    const uint64_t spacing = run_spacing(hbm, op, first, last);
    if (spacing == 0) return false;
    if (at < pc->next_accept) at = pc->next_accept;
    if (at < pc->now) at = pc->now;
    if (pc->queued[TLA_HBM_READ] + pc->queued[TLA_HBM_WRITE] > 0) return false;
    tla_hbm_run_until(hbm, at);
    const uint64_t last_command = at + (count - 1) * spacing;
    if (pc->refreshing || last_command >= pc->refresh_due || !all_ready(hbm, pc, at, op, first, last)) return false;
    retire_reads(pc, at);
    const uint64_t accepted = last_acceptance(hbm, pc, at, op, count, spacing);
    if (accepted == NEVER) return false;

    uint64_t line, end = 0;
    struct bank_walk walk = walk_banks(hbm, first, last);
    while (next_bank(&walk, &line)) {
        struct bank *bank = &pc->banks[decode(hbm->decoder.bank, hbm->decoder.bank_pieces, line)];
        const uint64_t command = at + (line - first) * spacing;
        const uint64_t this_end = tla_hbm_space_columns(hbm, pc, bank, op, command);
        if (hbm->more_column_rules) tla_hbm_space_more_columns(hbm, pc, bank->group, op, command);
        if (this_end > end) end = this_end;
    }
    const uint64_t latency = end - last_command;
    if (op == TLA_HBM_READ && c->window != 0) {
        retire_reads(pc, accepted);
        uint64_t still = count < c->window ? count : c->window;
        for (uint64_t i = count - still; i < count; i++) {
            if (at + i * spacing + latency + 1 <= accepted) continue;
            pc->in_flight[(pc->in_flight_first + pc->in_flight_count++) & pc->in_flight_mask] =
                at + i * spacing + latency + 1;
        }
    }
    pc->direction = op;
    pc->now = last_command;
    pc->next_accept = accepted + 1;
    pc->column.valid = pc->row.valid = false;
    if (end > hbm->last_end) hbm->last_end = end;
    hbm->accepted += count;
    if (op == TLA_HBM_READ)
        hbm->stats.reads += count;
    else
        hbm->stats.writes += count;
    hbm->stats.commands_for[op][purpose] += count;
    hbm->row_states[ROW_HIT] += count;
    hbm->stats.closed_form += count;
    *out = (tla_hbm_transfer){at * c->tck_ps, accepted * c->tck_ps, (at + latency) * c->tck_ps, end * c->tck_ps};
    return true;
}
