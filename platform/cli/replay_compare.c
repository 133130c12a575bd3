/* `tlmalloc replay --compare all`: every allocator on the same trace, one row each. */
#include "cli/config_json.h"
#include "cli/replay.h"

#include <inttypes.h>

typedef struct compare_row {
    const char *name;
    replay_result result; /* without its arrays */
    double ns_per_op;
} compare_row;

static tla_status play(const replay_request *request, const alloc_trace *trace, compare_row *row, tla_error *error) {
    replay_timing timing = {.cost = request->config.controller.cost,
                            .queue_depth = (uint32_t)request->config.controller.queue_depth,
                            .speed = request->speed};
    trace_allocator made;
    tla_status status = allocator_create(row->name, &request->arena, &made, error);
    if (status) return status;
    status = trace_replay(trace, &made, &timing, &row->result, error);
    allocator_destroy(&made);
    if (!status) status = trace_replay_ns_per_op(trace, row->name, &request->arena, &row->ns_per_op, error);
    return status;
}

static void print_row(FILE *out, const compare_row *row) {
    const replay_result *r = &row->result;
    fprintf(out, "%-14s %9.3f %8" PRIu64 " %9.1f %9.1f %12" PRIu64 " %9.1f %9.1f %9.1f\n", row->name,
            replay_reserved_over_peak(r), r->failed, 100 * replay_internal_fragmentation(r),
            100 * replay_external_fragmentation(r), r->nodes_visited, 1e-3 * (double)r->latency.p50_ps,
            1e-3 * (double)r->latency.p99_ps, row->ns_per_op);
}

static json_t *row_to_json(const compare_row *row) {
    const replay_result *r = &row->result;
    json_t *object = json_object();
    json_object_set_new(object, "policy", json_string(row->name));
    json_object_set_new(object, "reserved_over_peak", json_real(replay_reserved_over_peak(r)));
    json_object_set_new(object, "reserved_bytes", json_from_u64(r->reserved_bytes));
    json_object_set_new(object, "peak_requested_bytes", json_from_u64(r->peak_requested_bytes));
    json_object_set_new(object, "peak_used_bytes", json_from_u64(r->peak_used_bytes));
    json_object_set_new(object, "failed", json_from_u64(r->failed));
    json_object_set_new(object, "internal_fragmentation", json_real(replay_internal_fragmentation(r)));
    json_object_set_new(object, "external_fragmentation", json_real(replay_external_fragmentation(r)));
    json_object_set_new(object, "nodes_visited", json_from_u64(r->nodes_visited));
    json_object_set_new(object, "latency_p50_ps", json_from_u64(r->latency.p50_ps));
    json_object_set_new(object, "latency_p99_ps", json_from_u64(r->latency.p99_ps));
    json_object_set_new(object, "latency_max_ps", json_from_u64(r->latency.max_ps));
    json_object_set_new(object, "ns_per_op", json_real(row->ns_per_op));
    return object;
}

tla_status replay_compare(FILE *out, const replay_request *request, const alloc_trace *trace, json_t **report,
                          tla_error *error) {
    json_t *rows = json_array();
    tla_status status = TLA_OK;
    replay_print_request(out, request, trace);
    fprintf(out, "%-14s %9s %8s %9s %9s %12s %9s %9s %9s\n", "policy", "reserved", "failed", "internal", "external",
            "nodes", "p50", "p99", "host");
    fprintf(out, "%-14s %9s %8s %9s %9s %12s %9s %9s %9s\n", "", "/ peak", "", "frag. %", "frag. %", "visited",
            "ns sim.", "ns sim.", "ns / op");
    for (size_t i = 0; allocator_name(i) && !status; i++) {
        compare_row row = {.name = allocator_name(i)};
        status = play(request, trace, &row, error);
        if (status == TLA_UNSUPPORTED) { /* with this size and alignment, say: no row, and not in silence */
            fprintf(out, "%-14s %s\n", row.name, error->text);
            status = TLA_OK;
        } else if (!status) {
            print_row(out, &row);
            fflush(out);
            json_array_append_new(rows, row_to_json(&row));
        }
        replay_result_clear(&row.result);
    }
    if (!status && report) {
        *report = replay_request_to_json(request);
        json_object_set_new(*report, "allocs", json_from_u64(trace->allocation_count));
        json_object_set_new(*report, "policies", rows);
    } else {
        json_decref(rows);
    }
    return status;
}
