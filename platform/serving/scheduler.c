/* The scheduler: the running and the waiting requests, and the steps in flight. */
#include "model/base/grow.h"
#include "serving/content.h"
#include "serving/scheduler_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- waiting and running ---- */

static void wait_behind(tla_scheduler *s, uint32_t request, uint32_t before) {
    sequence *q = &s->sequences[request];
    q->before = before;
    q->next = before == NOBODY ? s->first : s->sequences[before].next;
    *(before == NOBODY ? &s->first : &s->sequences[before].next) = request;
    *(q->next == NOBODY ? &s->last : &s->sequences[q->next].before) = request;
    q->waits = true;
    s->waiting_count++;
    if (s->watch.moves) s->watch.moves(s->watch.context, request, false);
}

static void leave_waiting(tla_scheduler *s, uint32_t request) {
    sequence *q = &s->sequences[request];
    *(q->before == NOBODY ? &s->first : &s->sequences[q->before].next) = q->next;
    *(q->next == NOBODY ? &s->last : &s->sequences[q->next].before) = q->before;
    q->waits = false;
    s->waiting_count--;
}

static bool has_finished(const tla_scheduler *s, uint32_t request) {
    return s->sequences[request].generated == s->requests->items[request].output_tokens;
}

/* All that have finished at once: a thousand may finish in one step. */
static void leave_running(tla_scheduler *s) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->running_count; i++)
        if (!has_finished(s, s->running[i])) s->running[kept++] = s->running[i];
    s->running_count = kept;
}

void tla_scheduler_arrive(tla_scheduler *s, uint32_t request) {
    wait_behind(s, request, s->last);
}

static uint32_t known_tokens(const tla_scheduler *s, uint32_t request) {
    return s->requests->items[request].prompt_tokens + s->sequences[request].generated;
}

/* ---- blocks ---- */

static void tell(const tla_scheduler *s, tla_block_decision_kind kind, uint32_t request, const uint32_t *blocks,
                 uint32_t count, uint32_t found, const tla_work *work) {
    if (!s->watch.blocks) return;
    const tla_block_decision decision = {kind, request, blocks, count, found, *work, NULL};
    s->watch.blocks(s->watch.context, &decision);
}

static void tell_move(const tla_scheduler *s, tla_block_decision_kind kind, uint32_t request, const uint32_t *blocks,
                      const uint32_t *host_blocks, uint32_t count, const tla_work *work) {
    if (!s->watch.blocks) return;
    const tla_block_decision decision = {kind, request, blocks, count, 0, *work, host_blocks};
    s->watch.blocks(s->watch.context, &decision);
}

/* Which of blocks that were to enter are in the index, in s->found; how many. By LMCache's rules content that was there
 * already stays where it is. */
static uint32_t entered_of(tla_scheduler *s, const uint32_t *blocks, const uint64_t *hashes, uint32_t count) {
    uint32_t entered = 0, there = 0;
    for (uint32_t i = 0; i < count; i++)
        if (s->rules.kv_rules == TLA_KV_VLLM ||
            (tla_kv_blocks_find(s->blocks, &hashes[i], 1, &there, NULL) && there == blocks[i]))
            s->found[entered++] = blocks[i];
    return entered;
}

/* Enters the full blocks of the first `tokens` tokens. */
static tla_status enter(tla_scheduler *s, uint32_t request, uint32_t tokens) {
    tla_kv_table *table = &s->sequences[request].table;
    const uint32_t before = table->entered, full = tokens / s->rules.block_tokens;
    if (!s->rules.index || full <= before) return TLA_OK;
    content_of(s->requests, s->rules.block_tokens, request, before, full, s->hashes);
    tla_work work = {0};
    const tla_status status = tla_kv_blocks_enter(s->blocks, table, s->hashes, full, &work);
    if (status) return status;
    const uint32_t entered = entered_of(s, table->blocks + before, s->hashes + before, full - before);
    tell(s, TLA_BLOCKS_ENTERED, request, s->found, entered, 0, &work);
    return TLA_OK;
}

/* The same for another manager: a request that has enough costs nothing, and no decision is reported. */
static tla_status hold(tla_scheduler *s, uint32_t request, uint64_t tokens) {
    static const tla_work nothing;
    tla_work work = {0};
    const tla_status status = tla_kv_memory_hold(s->memory, request, &s->requests->items[request], tokens, &work);
    const bool full = status == TLA_EXHAUSTED || status == TLA_FRAGMENTED;
    if (full || (!status && memcmp(&work, &nothing, sizeof work) != 0))
        tell(s, full ? TLA_BLOCKS_REFUSED : TLA_BLOCKS_ALLOCATED, request, NULL, 0, 0, &work);
    s->stats.refused_fragmented += status == TLA_FRAGMENTED;
    const uint32_t used = tla_scheduler_blocks_stats(s).referenced;
    if (used > s->memory_peak) s->memory_peak = used;
    return full ? TLA_EXHAUSTED : status;
}

/* The blocks for so many tokens; the first `found` have been looked up. */
static tla_status allocate(tla_scheduler *s, uint32_t request, uint64_t tokens, uint32_t found) {
    if (s->memory) return hold(s, request, tokens);
    tla_kv_table *table = &s->sequences[request].table;
    const uint32_t before = table->count;
    tla_work work = {0};
    s->out_count = 0;
    s->out_work = (tla_work){0};
    const tla_status status =
        tla_kv_blocks_allocate(s->blocks, table, s->found, found, blocks_for(&s->rules, tokens), &work);
    work.list_length += s->unmade;
    if (s->out_failed) return TLA_NO_HOST_MEMORY;
    if (s->out_count) tell_move(s, TLA_BLOCKS_MOVED_OUT, request, s->out, s->out_host, s->out_count, &s->out_work);
    if (!status && table->count > before)
        tell(s, TLA_BLOCKS_ALLOCATED, request, table->blocks + before, table->count - before, found, &work);
    else if (status == TLA_EXHAUSTED)
        tell(s, TLA_BLOCKS_REFUSED, request, NULL, 0, 0, &work);
    return status;
}

static void release(tla_scheduler *s, uint32_t request) {
    tla_kv_table *table = &s->sequences[request].table;
    const uint32_t count = table->count;
    tla_work work = {0};
    if (s->memory)
        (void)tla_kv_memory_release(s->memory, request, &work); /* of its memory */
    else
        tla_kv_blocks_release(s->blocks, table, &work);
    tell(s, TLA_BLOCKS_RELEASED, request, table->blocks, count, 0, &work); /* they stand there still */
    s->computed -= s->sequences[request].computed;
}

/* ---- forming a step ---- */

static tla_status schedule(tla_scheduler *s, flight *f, uint32_t request, uint32_t tokens) {
    if (!tla_grow(&f->parts, &f->room, f->count + 1, sizeof *f->parts)) return TLA_NO_HOST_MEMORY;
    sequence *q = &s->sequences[request];
    const uint32_t known = known_tokens(s, request), after = q->computed + tokens;
    f->parts[f->count++] = (tla_step_part){.request = request,
                                           .tokens = tokens,
                                           .computed = q->computed,
                                           .yields = after >= known + q->pending,
                                           .blocks = q->table.blocks,
                                           .block_count = q->table.count};
    q->computed = after;
    q->pending += after >= known + q->pending;
    s->computed += tokens;
    return enter(s, request, after < known ? after : known);
}

static void preempt_last(tla_scheduler *s) {
    const uint32_t request = s->running[--s->running_count];
    release(s, request);
    s->sequences[request].computed = 0;
    s->stats.preemptions++;
    wait_behind(s, request, NOBODY);
}

/* How many tokens a running request computes in this step. */
static uint32_t wanted(const tla_scheduler *s, uint32_t request, uint64_t budget) {
    const sequence *q = &s->sequences[request];
    const tla_serving_request *r = &s->requests->items[request];
    if (q->pending && (uint64_t)q->computed + 2 - q->pending >= (uint64_t)r->prompt_tokens + r->output_tokens)
        return 0; /* its last token is in flight */
    const uint64_t target = (uint64_t)known_tokens(s, request) + q->pending;
    return target > q->computed ? least(target - q->computed, budget) : 0;
}

/* The first part of a step: running requests continue. Returns whether a request was preempted. */
static tla_status schedule_running(tla_scheduler *s, flight *f, uint64_t *budget, bool *preempted) {
    for (uint32_t i = 0; i < s->running_count && *budget; i++) {
        const uint32_t request = s->running[i], tokens = wanted(s, request, *budget);
        if (tokens == 0) continue;
        const uint64_t after = (uint64_t)s->sequences[request].computed + tokens;
        tla_status status = allocate(s, request, after, 0);
        for (; status == TLA_EXHAUSTED && s->running_count > i; status = allocate(s, request, after, 0)) {
            s->stats.refused_running++;
            *preempted = true;
            preempt_last(s);
            if (s->running_count == i) return TLA_OK; /* this one was the last */
        }
        if (!status) status = schedule(s, f, request, tokens);
        if (status) return status;
        *budget -= tokens;
    }
    return TLA_OK;
}

/* Blocks from the start in the first tier, and behind them in the second. */
static uint32_t look_up(tla_scheduler *s, uint32_t request, uint32_t *in_host) {
    *in_host = 0;
    if (!s->rules.index) return 0;
    const uint32_t full = (known_tokens(s, request) - 1) / s->rules.block_tokens;
    tla_work work = {0};
    content_of(s->requests, s->rules.block_tokens, request, 0, full, s->hashes);
    const uint32_t found = tla_kv_blocks_find(s->blocks, s->hashes, full, s->found, &work);
    if (s->host.blocks && found < full)
        *in_host = tla_host_tier_find(&s->host, s->hashes + found, full - found, s->found_host, &work);
    tell(s, TLA_BLOCKS_LOOKED_UP, request, NULL, 0, found, &work);
    return found;
}

static bool fits(const tla_scheduler *s, uint32_t request, uint64_t tokens, uint32_t found) {
    if (s->memory) return tla_kv_memory_fits(s->memory, request, tokens);
    const tla_kv_blocks_stats stats = tla_kv_blocks_get_stats(s->blocks);
    const tla_kv_table none = {0};
    return tla_kv_blocks_needed(s->blocks, &none, s->found, found, blocks_for(&s->rules, tokens)) <=
           stats.free + stats.cached;
}

/* Holds the blocks found in the second tier, before the first tier moves out a block that could replace them. */
static tla_status begin_read(tla_scheduler *s, flight *f, uint32_t count, tla_work *work) {
    if (count == 0) return TLA_OK;
    const size_t kept = f->read_room; /* tables, with their own room */
    if (!tla_grow(&f->reads, &f->read_room, f->read_count + 1, sizeof *f->reads)) return TLA_NO_HOST_MEMORY;
    memset(f->reads + kept, 0, (f->read_room - kept) * sizeof *f->reads);
    const tla_status status = tla_host_tier_begin_read(&s->host, s->found_host, count, &f->reads[f->read_count], work);
    f->read_count += status == TLA_OK;
    return status;
}

static void end_reads(tla_scheduler *s, flight *f) {
    tla_work work = {0}; /* of the end of a read, for which no step waits */
    while (f->read_count) {
        tla_kv_table *read = &f->reads[--f->read_count];
        tell_move(s, TLA_BLOCKS_LET_GO, NOBODY, NULL, read->blocks, read->count, &work);
        tla_host_tier_end_read(&s->host, read, &work);
    }
}

static void admit(tla_scheduler *s, uint32_t request, uint32_t hit, uint32_t host_hit) {
    sequence *q = &s->sequences[request];
    leave_waiting(s, request);
    s->running[s->running_count++] = request;
    q->computed = hit + host_hit;
    s->computed += hit + host_hit;
    if (q->admitted) {
        s->stats.recomputed_tokens += known_tokens(s, request) - hit - host_hit;
    } else {
        s->stats.hit_tokens += hit;
        s->stats.host_hit_tokens += host_hit;
    }
    q->admitted = true;
    if (s->watch.moves) s->watch.moves(s->watch.context, request, true);
}

/* The second part: waiting requests are admitted, in order, as long as the memory suffices. */
static tla_status schedule_waiting(tla_scheduler *s, flight *f, uint64_t *budget) {
    while (s->first != NOBODY && *budget && s->running_count < s->rules.sequences) {
        const uint32_t request = s->first, known = known_tokens(s, request);
        uint32_t in_host;
        const uint32_t found = look_up(s, request, &in_host), hit = found * s->rules.block_tokens;
        const uint32_t host_hit = in_host * s->rules.block_tokens;
        const uint32_t tokens = least(known - hit - host_hit, *budget);
        const uint64_t after = (uint64_t)hit + host_hit + tokens;
        tla_work reading = {0};
        if (s->rules.gate && !fits(s, request, known, found)) {
            s->stats.refused_gate++;
            return TLA_OK;
        }
        tla_status status = fits(s, request, after, found) ? TLA_OK : TLA_EXHAUSTED;
        if (status == TLA_EXHAUSTED) {
            s->stats.refused_admission++;
            return TLA_OK;
        }
        status = begin_read(s, f, in_host, &reading);
        if (status == TLA_BUSY) { /* until a step in flight has been processed */
            s->stats.refused_budget++;
            return TLA_OK;
        }
        if (!status && in_host) tell_move(s, TLA_BLOCKS_HELD, request, NULL, s->found_host, in_host, &reading);
        if (!status) status = allocate(s, request, after, found);
        if (status == TLA_EXHAUSTED) { /* of another manager, which decides when it is asked */
            s->stats.refused_admission++;
            return TLA_OK;
        }
        if (status) return status;
        const tla_work nothing = {0}; /* for the decision: the receipt of the hold has the work */
        if (in_host)
            tell_move(s, TLA_BLOCKS_MOVED_IN, request, s->sequences[request].table.blocks + found, s->found_host,
                      in_host, &nothing);
        admit(s, request, hit, host_hit);
        status = schedule(s, f, request, tokens);
        if (status) return status;
        *budget -= tokens;
    }
    return TLA_OK;
}

tla_status tla_scheduler_form(tla_scheduler *s, tla_step *step) {
    flight *f = &s->flights[(s->oldest + s->in_flight) % TLA_SERVING_DEPTH_MAX];
    uint64_t budget = s->rules.step_tokens;
    bool preempted = false;
    f->count = 0;
    tla_status status = schedule_running(s, f, &budget, &preempted);
    if (!status && !preempted) status = schedule_waiting(s, f, &budget);
    if (status) return status;
    *step = (tla_step){f->parts, f->count, s->rules.step_tokens - budget};
    if (f->count == 0) return TLA_OK;
    s->stats.steps++;
    s->in_flight++;
    return TLA_OK;
}

/* ---- processing one ---- */

static void finish(tla_scheduler *s, uint32_t request) {
    sequence *q = &s->sequences[request];
    if (q->waits)
        leave_waiting(s, request);
    else
        release(s, request);
    s->stats.finished++;
}

tla_status tla_scheduler_process(tla_scheduler *s, tla_step_result *result) {
    flight *f = &s->flights[s->oldest];
    const uint64_t finished = s->stats.finished;
    *result = (tla_step_result){.who = s->yielded};
    for (size_t i = 0; i < f->count; i++) {
        const tla_step_part *part = &f->parts[i];
        if (!part->yields) continue;
        sequence *q = &s->sequences[part->request];
        const tla_serving_request *r = &s->requests->items[part->request];
        q->pending--;
        if (q->generated++ == 0) result->first_tokens += r->prompt_tokens;
        s->yielded[result->yielded++] = part->request;
        if (q->generated == r->output_tokens)
            finish(s, part->request);
        else if (!q->waits && enter(s, part->request, q->computed - q->pending))
            return TLA_NO_HOST_MEMORY;
    }
    if (s->stats.finished > finished) leave_running(s);
    end_reads(s, f);
    s->oldest = (s->oldest + 1) % TLA_SERVING_DEPTH_MAX;
    s->in_flight--;
    return TLA_OK;
}

/* ---- looking at it ---- */

uint32_t tla_scheduler_in_flight(const tla_scheduler *s) {
    return s->in_flight;
}

bool tla_scheduler_idle(const tla_scheduler *s) {
    return s->running_count == 0 && s->waiting_count == 0;
}

uint32_t tla_scheduler_generated(const tla_scheduler *s, uint32_t request) {
    return s->sequences[request].generated;
}

const tla_kv_table *tla_scheduler_table(const tla_scheduler *s, uint32_t request) {
    return &s->sequences[request].table;
}

const tla_kv_blocks *tla_scheduler_blocks(const tla_scheduler *s) {
    return s->blocks;
}

tla_host_tier_stats tla_scheduler_host_stats(const tla_scheduler *s) {
    tla_host_tier_stats stats = tla_host_tier_get_stats(&s->host);
    stats.blocks += s->host_unmade;
    stats.free += s->host_unmade;
    return stats;
}

tla_kv_blocks_stats tla_scheduler_blocks_stats(const tla_scheduler *s) {
    if (!s->memory) {
        tla_kv_blocks_stats stats = tla_kv_blocks_get_stats(s->blocks);
        stats.usable += s->unmade;
        stats.free += s->unmade;
        return stats;
    }
    const uint32_t usable = s->rules.blocks - 1;
    const uint32_t used = blocks_for(&s->rules, tla_kv_memory_get_stats(s->memory).taken);
    return (tla_kv_blocks_stats){
        .usable = usable, .free = usable - used, .referenced = used, .references = used, .peak = s->memory_peak};
}

/* A block with several references is full, and its tokens are counted once for each. */
tla_scheduler_stats tla_scheduler_get_stats(const tla_scheduler *s) {
    const tla_kv_blocks_stats blocks = tla_kv_blocks_get_stats(s->blocks);
    tla_scheduler_stats stats = s->stats;
    stats.running = s->running_count;
    stats.waiting = s->waiting_count;
    stats.slots_filled = s->computed - (blocks.references - blocks.referenced) * s->rules.block_tokens;
    return stats;
}
