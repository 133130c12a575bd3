/* `tlmalloc replay --compare`: several allocators on the same trace, one row each. */
#include "cli/config_json.h"
#include "cli/progress.h"
#include "replay/replay_files.h"
#include "replay/replay_fit.h"

#include <inttypes.h>
#include <string.h>

typedef struct compare_row {
    size_t number;
    const char *name;
    replay_result result;
    replay_fit fit;
    double ns_per_op;
} compare_row;

static tla_status play(const replay_request *request, const alloc_trace *trace, compare_row *row,
                       progress_line *progress, tla_error *error) {
    replay_timing timing = {.cost = request->config.controller.cost,
                            .queue_depth = request->config.controller.queue_depth,
                            .speed = request->speed};
    trace_allocator made;
    tla_status status = allocator_create(row->name, &request->arena, &made, error);
    if (status) return status;
    status = trace_replay(trace, &made, &timing, &row->result, error);
    allocator_destroy(&made);
    progress_update(progress, row->number, request->compared.count); /* after the replay's own */
    if (!status && !request->compared.every)
        status = replay_find_fit(trace, row->name, &request->arena, &row->fit, error);
    if (!status) status = trace_replay_ns_per_op(trace, row->name, &request->arena, &row->ns_per_op, error);
    return status;
}

/* The prices by name, in picoseconds an event. */
typedef void (*price_visit)(void *context, const char *name, uint64_t ps);

static void each_price(const tla_cost_profile *cost, price_visit visit, void *context) {
    visit(context, "fixed", cost->fixed_ps);
    visit(context, "node", cost->node_ps);
    visit(context, "insert_node", cost->insert_node_ps);
    visit(context, "probe", cost->probe_ps);
    visit(context, "bin_search", cost->bin_search_ps);
    visit(context, "split", cost->split_ps);
    visit(context, "merge", cost->merge_ps);
    visit(context, "metadata_line", cost->metadata_line_ps);
    visit(context, "free", cost->free_ps);
    visit(context, "node_created", cost->node_created_ps);
    visit(context, "node_released", cost->node_released_ps);
    visit(context, "walk", cost->walk_ps);
    visit(context, "walk_node", cost->walk_node_ps);
    visit(context, "class_lookup", cost->class_lookup_ps);
    visit(context, "list_pop", cost->list_pop_ps);
    visit(context, "list_push", cost->list_push_ps);
    visit(context, "slot", cost->slot_ps);
    visit(context, "driver_call", cost->driver_call_ps);
}

static void print_price(void *context, const char *name, uint64_t ps) {
    if (ps) fprintf(context, ", %s %g", name, 1e-3 * (double)ps);
}

static void price_to_json(void *context, const char *name, uint64_t ps) {
    json_object_set_new(context, name, json_from_u64(ps));
}

/* Returns the width of the column of names. */
static int width_of(const replay_request *request) {
    size_t width = 14;
    for (size_t i = 0; i < request->compared.count; i++) {
        const size_t length = strlen(request->compared.names[i]);
        if (length > width) width = length;
    }
    return (int)width;
}

static void print_head(FILE *out, const replay_request *request, const alloc_trace *trace) {
    const int width = width_of(request);
    replay_print_request(out, request, trace);
    fprintf(out, "prices in ns     of controller.cost");
    each_price(&request->config.controller.cost, print_price, out);
    fprintf(out, "\n%-*s %15s %9s %9s %9s %9s %12s %9s %9s %12s %9s\n", width, "policy", "fits in", "reserved",
            "failed", "internal", "external", "nodes", "p50", "p99", "total", "host");
    fprintf(out, "%-*s %15s %9s %9s %9s %9s %12s %9s %9s %12s %9s\n", width, "", "bytes", "/ peak", "", "frag. %",
            "frag. %", "visited", "ns sim.", "ns sim.", "us sim.", "ns / op");
}

static void print_row(FILE *out, const compare_row *row, int width) {
    const replay_result *r = &row->result;
    char fits[24] = "-";
    if (row->fit.capacity) snprintf(fits, sizeof fits, "%" PRIu64, row->fit.capacity);
    fprintf(out, "%-*s %15s %9.3f %8" PRIu64 "%c %9.1f %9.1f %12" PRIu64 " %9.1f %9.1f %12.3f %9.1f\n", width,
            row->name, fits, replay_reserved_over_peak(r), r->failed, r->failed ? '!' : ' ',
            100 * replay_internal_fragmentation(r), 100 * replay_external_fragmentation(r), r->nodes_visited,
            1e-3 * (double)r->latency.p50_ps, 1e-3 * (double)r->latency.p99_ps, 1e-6 * (double)r->latency.total_ps,
            row->ns_per_op);
}

/* Prints notes on the columns. */
static void print_foot(FILE *out, const replay_request *request, bool any_failed, uint64_t resolution) {
    if (any_failed)
        fprintf(out, "! requests failed: the row covers only served requests, so do not compare it with a row without "
                     "failures\n");
    if (request->arena.snapshot)
        fprintf(out, "fits in: not searched, because the snapshot sets the size\n");
    else if (request->compared.every)
        fprintf(out, "fits in: not searched with every: name stacks to search\n");
    else if (resolution)
        fprintf(out,
                "fits in: a size without failures, to within %" PRIu64
                " bytes. A larger size is not always better: it can fail again\n",
                resolution);
}

/* The table as markdown: what does not change from run to run. */
static void table_head(FILE *table) {
    if (!table) return;
    fputs("| stack | failed | reserved / peak | p50, ns | p99, ns | max, ns | engine busy, us | callers waited, us |\n"
          "|---|---:|---:|---:|---:|---:|---:|---:|\n",
          table);
}

static void table_row(FILE *table, const compare_row *row) {
    const replay_result *r = &row->result;
    if (!table) return;
    fprintf(table, "| `%s` | %" PRIu64 " | %.3f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", row->name, r->failed,
            replay_reserved_over_peak(r), 1e-3 * (double)r->latency.p50_ps, 1e-3 * (double)r->latency.p99_ps,
            1e-3 * (double)r->latency.max_ps, 1e-6 * (double)r->busy_ps, 1e-6 * (double)r->latency.total_ps);
}

static json_t *row_to_json(const compare_row *row) {
    const replay_result *r = &row->result;
    json_t *object = json_object();
    json_object_set_new(object, "policy", json_string(row->name));
    json_object_set_new(object, "complete", json_boolean(r->failed == 0));
    json_object_set_new(object, "fits_bytes", row->fit.capacity ? json_from_u64(row->fit.capacity) : json_null());
    json_object_set_new(object, "fails_bytes",
                        row->fit.capacity && row->fit.failed ? json_from_u64(row->fit.failed) : json_null());
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
    json_object_set_new(object, "latency_total_ps", json_from_u64(r->latency.total_ps));
    json_object_set_new(object, "busy_ps", json_from_u64(r->busy_ps));
    json_object_set_new(object, "ns_per_op", json_real(row->ns_per_op));
    return object;
}

static json_t *report_of(const replay_request *request, const alloc_trace *trace, uint64_t resolution, json_t *rows) {
    json_t *report = replay_request_to_json(request), *prices = json_object();
    each_price(&request->config.controller.cost, price_to_json, prices);
    json_object_set_new(report, "prices_ps", prices);
    json_object_set_new(report, "fits_resolution_bytes", resolution ? json_from_u64(resolution) : json_null());
    json_object_set_new(report, "allocs", json_from_u64(trace->allocation_count));
    json_object_set(report, "policies", rows);
    return report;
}

tla_status replay_compare(FILE *out, const replay_request *request, const alloc_trace *trace,
                          struct replay_files *files, FILE *table, json_t **report, tla_error *error) {
    json_t *rows = json_array();
    tla_status status = TLA_OK;
    bool any_failed = false;
    uint64_t resolution = 0;
    progress_line progress = progress_begin("compare", "policies");
    print_head(out, request, trace);
    table_head(table);
    for (size_t i = 0; i < request->compared.count && !status; i++) {
        compare_row row = {.number = i, .name = request->compared.names[i]};
        progress_update(&progress, i, request->compared.count);
        status = play(request, trace, &row, &progress, error);
        progress_end(&progress);
        if (status == TLA_UNSUPPORTED) { /* for example with this size and alignment: no row, but a message */
            fprintf(out, "%-*s %s\n", width_of(request), row.name, error->text);
            replay_files_drop(&files[i]);
            status = TLA_OK;
        } else if (!status) {
            print_row(out, &row, width_of(request));
            table_row(table, &row);
            fflush(out);
            json_array_append_new(rows, row_to_json(&row));
            any_failed |= row.result.failed > 0;
            if (row.fit.capacity && (!resolution || row.fit.resolution < resolution)) /* of slots it is coarser */
                resolution = row.fit.resolution;
            status = replay_files_write(&files[i], request, row.name, trace, &row.result, error);
        }
        replay_result_clear(&row.result);
    }
    if (!status) print_foot(out, request, any_failed, resolution);
    if (!status && report) *report = report_of(request, trace, resolution, rows);
    json_decref(rows);
    return status;
}
