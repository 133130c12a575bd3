/* The loop of time: it adds arrived requests, forms steps while the limit of steps in flight allows it, and ends the
 * oldest step. Two steps follow each other without a gap, and a step is formed when the previous one begins. */
#include "serving/serve.h"

#include <stdlib.h>

#define TIME_MAX ((uint64_t)INT64_MAX)

/* A request's account since it began to run or to wait. */
typedef struct account {
    uint64_t since_ns;
    tla_step_time spent; /* of all steps until then */
    bool waits;
} account;

typedef struct step_in_flight {
    uint64_t end_ns;
    tla_step_time time;
} step_in_flight;

typedef struct run {
    const tla_serving_requests *requests;
    const tla_step_law *law;
    const tla_serve_watch *watch;
    tla_scheduler *scheduler;
    tla_serve_result *result;
    account *accounts;
    uint64_t now_ns;
    size_t arrived;
    tla_step_time spent;                           /* of the steps that have been processed */
    step_in_flight flights[TLA_SERVING_DEPTH_MAX]; /* the oldest first */
    uint32_t in_flight;
    double used, filled;       /* blocks, and tokens in a block of them, times ns */
    double used_ns;            /* time in which there was a used block */
    double unused, waiting_ns; /* unused blocks while a request waited, times ns; time in which a request waited */
} run;

static void add(tla_step_time *total, const tla_step_time *t) {
    total->allocation_ns += t->allocation_ns;
    total->mapping_ns += t->mapping_ns;
    total->transfer_ns += t->transfer_ns;
    total->compute_ns += t->compute_ns;
}

static void subtract(tla_step_time *total, const tla_step_time *t) {
    total->allocation_ns -= t->allocation_ns;
    total->mapping_ns -= t->mapping_ns;
    total->transfer_ns -= t->transfer_ns;
    total->compute_ns -= t->compute_ns;
}

/* ---- the observers of the scheduler ---- */

static void hear_blocks(void *context, const tla_block_decision *decision) {
    const run *r = context;
    if (r->law->blocks) r->law->blocks(r->law->context, decision);
    if (r->watch && r->watch->blocks) r->watch->blocks(r->watch->context, r->now_ns, decision);
}

/* Closes a request's account of its last activity, and begins the next. */
static void settle(run *r, uint32_t request, bool waits) {
    account *a = &r->accounts[request];
    tla_served *served = &r->result->requests[request];
    if (a->waits) {
        served->waited_ns += r->now_ns - a->since_ns;
    } else {
        add(&served->all, &r->spent);
        subtract(&served->all, &a->spent);
    }
    *a = (account){r->now_ns, r->spent, waits};
}

static void hear_move(void *context, uint32_t request, bool admitted) {
    run *r = context;
    tla_served *served = &r->result->requests[request];
    if (request >= r->arrived) { /* it has just arrived */
        served->queued_ns = r->now_ns;
        r->accounts[request] = (account){r->now_ns, r->spent, true};
        return;
    }
    if (admitted && served->scheduled_ns == UINT64_MAX) served->scheduled_ns = r->now_ns;
    served->preemptions += !admitted;
    settle(r, request, !admitted);
}

/* ---- time ---- */

/* Advances to a later time, and accounts for the blocks in use until then. */
static void go_to(run *r, uint64_t when_ns) {
    if (when_ns <= r->now_ns) return;
    const double elapsed = (double)(when_ns - r->now_ns);
    const tla_kv_blocks_stats blocks = tla_scheduler_blocks_stats(r->scheduler);
    const tla_scheduler_stats stats = tla_scheduler_get_stats(r->scheduler);
    r->now_ns = when_ns;
    if (stats.waiting) {
        r->unused += elapsed * (blocks.usable - blocks.referenced);
        r->waiting_ns += elapsed;
    }
    if (blocks.referenced == 0) return;
    r->used += elapsed * blocks.referenced;
    r->filled += elapsed * (double)stats.slots_filled / blocks.referenced;
    r->used_ns += elapsed;
}

static void take_in(run *r) {
    while (r->arrived < r->requests->count && r->requests->items[r->arrived].arrival_ns <= r->now_ns) {
        tla_scheduler_arrive(r->scheduler, (uint32_t)r->arrived);
        r->arrived++;
    }
}

/* Forms a step behind the one in flight; *formed: there was something to do. */
static tla_status form(run *r, bool *formed, tla_error *error) {
    tla_step step;
    tla_step_time time = {0};
    tla_status status = tla_scheduler_form(r->scheduler, &step);
    if (status) return tla_error_set(error, status, "no host memory for a step");
    *formed = step.count > 0;
    if (!*formed) return TLA_OK;
    status = r->law->time(r->law->context, &step, &time, error);
    if (status) return status;
    uint64_t start_ns = r->now_ns;
    if (r->in_flight && r->flights[r->in_flight - 1].end_ns > start_ns) start_ns = r->flights[r->in_flight - 1].end_ns;
    const uint64_t parts[] = {time.allocation_ns, time.mapping_ns, time.transfer_ns, time.compute_ns};
    uint64_t end_ns = start_ns;
    for (int i = 0; i < 4; i++) {
        if (parts[i] > TIME_MAX - end_ns)
            return tla_error_set(error, TLA_LIMIT, "a step ends later than 2^63 ns after the first arrival");
        end_ns += parts[i];
    }
    r->flights[r->in_flight++] = (step_in_flight){end_ns, time};
    return TLA_OK;
}

/* The oldest step ends. */
static tla_status process(run *r, size_t *done, tla_error *error) {
    const step_in_flight oldest = r->flights[0];
    r->flights[0] = r->flights[1];
    r->in_flight--;
    go_to(r, oldest.end_ns);
    add(&r->spent, &oldest.time);
    tla_step_result made;
    const tla_status status = tla_scheduler_process(r->scheduler, &made);
    if (status) return tla_error_set(error, status, "no host memory for the index of blocks");
    for (uint32_t i = 0; i < made.yielded; i++) {
        const uint32_t request = made.who[i], generated = tla_scheduler_generated(r->scheduler, request);
        tla_served *served = &r->result->requests[request];
        if (generated == 1) {
            settle(r, request, r->accounts[request].waits);
            served->first_ns = r->now_ns;
            served->first = served->all;
            served->waited_first_ns = served->waited_ns;
        }
        if (generated < r->requests->items[request].output_tokens) continue;
        settle(r, request, false);
        served->last_ns = r->now_ns;
        if (done) ++*done;
    }
    r->result->generated_tokens += made.yielded;
    if (!r->watch || !r->watch->step) return TLA_OK;
    const tla_scheduler_stats stats = tla_scheduler_get_stats(r->scheduler);
    const tla_kv_blocks_stats blocks = tla_scheduler_blocks_stats(r->scheduler);
    r->watch->step(r->watch->context, &(tla_served_step){.end_ns = r->now_ns,
                                                         .prompt_tokens = made.first_tokens,
                                                         .generated_tokens = made.yielded,
                                                         .running = stats.running,
                                                         .waiting = stats.waiting,
                                                         .used_blocks = blocks.referenced,
                                                         .usable_blocks = blocks.usable});
    return TLA_OK;
}

static tla_status run_all(run *r, uint32_t depth, size_t *done, tla_error *error) {
    for (;;) {
        take_in(r);
        bool formed = false;
        tla_status status = r->in_flight < depth ? form(r, &formed, error) : TLA_OK;
        if (status) return status;
        if (formed) continue;
        if (r->in_flight) {
            status = process(r, done, error);
            if (status) return status;
        } else if (r->arrived < r->requests->count) {
            go_to(r, r->requests->items[r->arrived].arrival_ns);
        } else {
            return TLA_OK;
        }
    }
}

static void sum_up(const run *r, uint32_t usable, uint32_t block_tokens) {
    tla_serve_result *result = r->result;
    result->scheduler = tla_scheduler_get_stats(r->scheduler);
    result->blocks = tla_scheduler_blocks_stats(r->scheduler);
    result->host = tla_scheduler_host_stats(r->scheduler);
    result->end_ns = r->now_ns;
    if (r->now_ns) result->mean_use = r->used / (double)r->now_ns / usable;
    if (r->waiting_ns > 0) result->mean_unused_waiting = r->unused / r->waiting_ns / usable;
    if (r->used_ns > 0) result->mean_internal_fragmentation = 1 - r->filled / r->used_ns / block_tokens;
}

tla_status tla_serve(const tla_serving_requests *requests, const tla_scheduler_rules *rules, const tla_step_law *law,
                     const tla_serve_watch *watch, size_t *done, tla_serve_result *result, tla_error *error) {
    *result = (tla_serve_result){0};
    run r = {.requests = requests, .law = law, .watch = watch, .result = result};
    r.accounts = calloc(requests->count, sizeof *r.accounts);
    result->requests = calloc(requests->count, sizeof *result->requests);
    tla_status status = r.accounts && result->requests
                            ? TLA_OK
                            : tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the run");
    for (size_t i = 0; !status && i < requests->count; i++)
        result->requests[i].scheduled_ns = UINT64_MAX;
    if (!status) {
        const tla_scheduler_watch heard = {hear_blocks, hear_move, &r};
        status = tla_scheduler_create(rules, requests, &heard, &r.scheduler, error);
    }
    if (!status) status = run_all(&r, rules->depth, done, error);
    if (!status)
        sum_up(&r, rules->blocks - 1, rules->block_tokens);
    else
        tla_serve_result_clear(result);
    tla_scheduler_destroy(r.scheduler);
    free(r.accounts);
    return status;
}

void tla_serve_result_clear(tla_serve_result *result) {
    free(result->requests);
    *result = (tla_serve_result){0};
}
