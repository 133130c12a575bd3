/* The reports of one replay: a table to read, JSON, the placements. */
#include "cli/config_json.h"
#include "cli/message.h"
#include "replay/controller_replay.h"
#include "replay/replay.h"

#include <inttypes.h>

void replay_print_request(FILE *out, const replay_request *request, const alloc_trace *trace) {
    print_escaped(out, "trace            %s", request->trace_path);
    if (trace->remark[0]) fprintf(out, "\n                 ");
    print_escaped(out, "%s", trace->remark);
    fputc('\n', out);
    if (request->simulated)
        fprintf(out, "controller       %s of %" PRIu64 " bytes", controller_replay_memory(request->memory),
                request->arena.capacity);
    else
        fprintf(out, "arena            %" PRIu64 " bytes", request->arena.capacity);
    if (request->snapshot_path) print_escaped(out, " as in %s", request->snapshot_path);
    if (!request->compared.count) fprintf(out, ", %s", request->policy);
    if (request->arena.alignment > 1) fprintf(out, ", aligned to %" PRIu64, request->arena.alignment);
    fputc('\n', out);
}

void replay_print(FILE *out, const replay_request *request, const alloc_trace *trace, const replay_result *result) {
    double allocs = result->allocs ? (double)result->allocs : 1, events = allocs + (double)result->frees;
    replay_print_request(out, request, trace);
    fprintf(out, "allocations      %" PRIu64 "\n", result->allocs);
    fprintf(out, "frees            %" PRIu64 "\n", result->frees);
    fprintf(out, "failed           %" PRIu64 "\n", result->failed);
    fprintf(out, "peak used        %" PRIu64 " bytes (%" PRIu64 " as requested)\n", result->peak_used_bytes,
            result->peak_requested_bytes);
    fprintf(out, "reserved         %" PRIu64 " bytes, %.3f of the peak requested\n", result->reserved_bytes,
            replay_reserved_over_peak(result));
    fprintf(out, "nodes visited    %" PRIu64 " (%.1f an allocation)\n", result->nodes_visited,
            (double)result->nodes_visited / allocs);
    if (result->timed) {
        fprintf(out, "latency          p50 %.3f ns, p99 %.3f ns, max %.3f ns, total %.3f us\n",
                1e-3 * (double)result->latency.p50_ps, 1e-3 * (double)result->latency.p99_ps,
                1e-3 * (double)result->latency.max_ps, 1e-6 * (double)result->latency.total_ps);
        fprintf(out, "simulated time   %.6f s\n", 1e-12 * (double)result->sim_time_ps);
    }
    fprintf(out, "host time        %.3f ms (%.0f ns an event)\n", 1e3 * result->wall_s, 1e9 * result->wall_s / events);
}

static void print_id(FILE *out, const trace_allocation *allocation) {
    if (allocation->id_text)
        fputs(allocation->id_text, out);
    else
        fprintf(out, "%" PRIu64, allocation->id);
}

void replay_print_failures(FILE *out, const alloc_trace *trace, const replay_result *result) {
    for (uint64_t i = 0; i < result->failed && i < REPLAY_FAILURES_TOLD; i++) {
        const replay_failure *failure = &result->failures[i];
        fputs("id ", out);
        print_id(out, &trace->allocations[failure->allocation]);
        fprintf(out, ": %s\n", failure->error.text);
    }
    if (result->failed > REPLAY_FAILURES_TOLD)
        fprintf(out, "... and %" PRIu64 " more\n", result->failed - REPLAY_FAILURES_TOLD);
}

void replay_write_placements(FILE *out, const alloc_trace *trace, const replay_result *result) {
    fputs("id,offset,bytes,nodes_visited\n", out);
    for (size_t i = 0; i < trace->allocation_count; i++) {
        const trace_allocation *allocation = &trace->allocations[i];
        const placement *placed = &result->placements[i];
        print_id(out, allocation);
        if (placed->offset == PLACEMENT_FAILED)
            fprintf(out, ",-,%" PRIu64 ",%" PRIu64 "\n", allocation->nbytes, placed->nodes_visited);
        else
            fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", placed->offset, allocation->nbytes,
                    placed->nodes_visited);
    }
}

json_t *replay_request_to_json(const replay_request *request) {
    json_t *report = json_object();
    json_object_set_new(report, "trace", json_from_text(request->trace_path));
    json_t *config = request->simulated ? config_to_json(&request->config) : json_object();
    json_object_set_new(report, "config", config);
    if (request->simulated) {
        json_object_set_new(report, "speed", json_real(request->speed));
    } else {
        json_object_set_new(config, "capacity_bytes", json_from_u64(request->arena.capacity));

        if (!request->compared.count) json_object_set_new(config, "policy", json_string(request->policy));
    }
    if (request->snapshot_path) json_object_set_new(report, "from", json_from_text(request->snapshot_path));
    json_object_set_new(report, "align_bytes", json_from_u64(request->arena.alignment));
    return report;
}

static json_t *latency_to_json(const replay_latency *latency) {
    return json_pack("{s:o, s:o, s:o, s:o}", "p50", json_from_u64(latency->p50_ps), "p99",
                     json_from_u64(latency->p99_ps), "max", json_from_u64(latency->max_ps), "total",
                     json_from_u64(latency->total_ps));
}

json_t *replay_to_json(const replay_request *request, const replay_result *result) {
    json_t *report = replay_request_to_json(request);
    json_object_set_new(report, "allocs", json_from_u64(result->allocs));
    json_object_set_new(report, "frees", json_from_u64(result->frees));
    json_object_set_new(report, "failed", json_from_u64(result->failed));
    json_object_set_new(report, "peak_used_bytes", json_from_u64(result->peak_used_bytes));
    json_object_set_new(report, "peak_requested_bytes", json_from_u64(result->peak_requested_bytes));
    json_object_set_new(report, "reserved_bytes", json_from_u64(result->reserved_bytes));
    json_object_set_new(report, "nodes_visited", json_from_u64(result->nodes_visited));
    json_object_set_new(report, "wall_s", json_real(result->wall_s));
    if (result->timed) {
        json_object_set_new(report, "sim_time_ps", json_from_u64(result->sim_time_ps));
        json_object_set_new(report, "latency_ps", latency_to_json(&result->latency));
        json_object_set_new(report, "free_latency_ps", latency_to_json(&result->free_latency));
    }
    return report;
}
