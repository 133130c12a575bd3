/* Plays a trace on an allocator of the core. */
#include "replay/trace_replay.h"

#include "cli/progress.h"
#include "tlmalloc/base/work.h"
#include "tlmalloc/command/control_port.h"

#include <stdlib.h>

enum { EVENTS_BETWEEN_PROGRESS = 4096, TIMED_RUNS = 3 };

typedef struct player {
    const alloc_trace *trace;
    trace_allocator *allocator;
    const replay_timing *timing; /* may be NULL */
    tla_command_queue engine;
    uint64_t list_ready_ps; /* end of the work that the list does behind its last answer */
    replay_result *result;
    tla_error *error;
} player;

static tla_status play(player *p);

tla_status trace_replay(const alloc_trace *trace, trace_allocator *allocator, const replay_timing *timing,
                        replay_result *result, tla_error *error) {
    tla_status status = replay_result_create(trace, timing != NULL, result, error);
    if (status) return status;
    player p = {.trace = trace, .allocator = allocator, .timing = timing, .result = result, .error = error};
    if (timing) p.engine = (tla_command_queue){.depth = timing->queue_depth, .clock_ps = timing->cost.clock_ps};
    double begin = host_seconds();
    status = play(&p);
    result->wall_s = host_seconds() - begin;
    result->reserved_bytes = allocator_reserved(allocator);
    if (status)
        replay_result_clear(result);
    else
        replay_result_finish(result);
    return status;
}

static bool failed_for_want_of_memory(tla_status status) {
    return status == TLA_EXHAUSTED || status == TLA_FRAGMENTED || status == TLA_LIMIT || status == TLA_UNSUPPORTED ||
           status == TLA_OUT_OF_RANGE; /* of segments: never */
}

static tla_status play_alloc(player *p, size_t index, tla_work *work) {
    trace_allocator *a = p->allocator;
    const trace_allocation *asked = &p->trace->allocations[index];
    tla_block granted;
    tla_status status = allocator_take(a, asked, &granted, work);
    if (!status) {
        replay_result_alloc(p->result, p->trace, index, granted, work->nodes_visited);
    } else if (failed_for_want_of_memory(status)) {
        tla_error *why = replay_result_failure(p->result, index, work->nodes_visited);
        if (why) allocator_explain(a, asked->nbytes, why);
    } else {
        return tla_error_set(p->error, status, "%s: allocation %zu of the trace: %s", a->name, index + 1,
                             tla_status_text(status));
    }
    return TLA_OK;
}

static tla_status play_free(player *p, size_t index, tla_work *work) {
    trace_allocator *a = p->allocator;
    const placement *placed = &p->result->placements[index];
    tla_status status = allocator_free(a, placed->offset, p->trace->allocations[index].nbytes, work);
    if (status)
        return tla_error_set(p->error, status, "%s: free of allocation %zu of the trace: %s", a->name, index + 1,
                             tla_status_text(status));
    replay_result_free(p->result, p->trace, index);
    return TLA_OK;
}

/* Charges a command that is done to the engine, and keeps its latency. */
static tla_status charge(player *p, size_t event, const tla_work *work) {
    uint64_t arrival;
    tla_status status = replay_arrival_ps(p->trace, event, p->timing->speed, &arrival, p->error);
    if (status) return status;
    if (work->engine->requests > 0) tla_command_queue_wait(&p->engine, p->list_ready_ps);
    tla_service service = tla_command_queue_serve(&p->engine, arrival, tla_cost_price(&p->timing->cost, work));
    if (work->engine->requests > 0) p->list_ready_ps = service.done_ps + tla_cost_behind(&p->timing->cost, work);
    const trace_event *e = &p->trace->events[event];
    if (e->is_free)
        p->result->free_latencies[p->result->frees - 1] = service.done_ps - arrival;
    else
        p->result->latencies[e->allocation] = service.done_ps - arrival;
    p->result->sim_time_ps = service.done_ps;
    p->result->busy_ps = p->engine.busy_ps;
    return TLA_OK;
}

static tla_status play(player *p) {
    progress_line progress = progress_begin("replay", "events");
    tla_status status = TLA_OK;
    for (size_t i = 0; i < p->trace->event_count && !status; i++) {
        const trace_event *event = &p->trace->events[i];
        if (event->is_free && p->result->placements[event->allocation].offset == PLACEMENT_FAILED) continue;
        tla_engine_work engine = {0};
        tla_work work = {.engine = &engine};
        status = (event->is_free ? play_free : play_alloc)(p, event->allocation, &work);
        if (!status && p->timing) status = charge(p, i, &work);
        if (i % EVENTS_BETWEEN_PROGRESS == 0) progress_update(&progress, i, p->trace->event_count);
    }
    progress_end(&progress);
    return status;
}

/* One run of nothing but the calls; failed allocations have a granted size of 0. */
static double run_calls(const alloc_trace *trace, trace_allocator *a, tla_block *granted) {
    tla_work work = {0};
    double begin = host_seconds();
    for (size_t i = 0; i < trace->event_count; i++) {
        size_t index = trace->events[i].allocation;
        const trace_allocation *asked = &trace->allocations[index];
        if (!trace->events[i].is_free) {
            if (allocator_take(a, asked, &granted[index], &work)) granted[index].nbytes = 0;
        } else if (granted[index].nbytes) {
            allocator_free(a, granted[index].offset, asked->nbytes, &work);
        }
    }
    return host_seconds() - begin;
}

tla_status trace_replay_ns_per_op(const alloc_trace *trace, const char *name, const allocator_config *config,
                                  double *ns_per_op, tla_error *error) {
    tla_block *granted = malloc((trace->allocation_count + 1) * sizeof *granted);
    if (!granted) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the placements");
    double best = 0;
    tla_status status = TLA_OK;
    for (int run = 0; run < TIMED_RUNS && !status; run++) {
        trace_allocator made;
        status = allocator_create(name, config, &made, error);
        if (status) break;
        double seconds = run_calls(trace, &made, granted);
        if (run == 0 || seconds < best) best = seconds;
        allocator_destroy(&made);
    }
    free(granted);
    *ns_per_op = trace->event_count ? 1e9 * best / (double)trace->event_count : 0.0;
    return status;
}
