/* The report of a plan: as text and as JSON. */
#include "cli/config_json.h"
#include "cli/message.h"
#include "plan/plan.h"

#include <inttypes.h>

enum { BUFFERS_TOLD = 8 };

static const char *verdict_name(plan_verdict verdict) {
    static const char *const names[] = {"plan", "impossible", "none_found"};
    return names[verdict];
}

static double percent_over(const plan_result *result, uint64_t height) {
    return result->bound ? 100.0 * ((double)height - (double)result->bound) / (double)result->bound : 0.0;
}

static bool is_lowest(const plan_result *result) {
    return result->planned && result->height == result->proved;
}

static void print_height(FILE *out, const char *name, const char *kind, const plan_result *result, uint64_t height) {
    fprintf(out, "  %-18s%-9s", name, kind);
    if (height == UINT64_MAX)
        fprintf(out, "%20s\n", "-");
    else
        fprintf(out, "%20" PRIu64 "  %+.2f %%\n", height, percent_over(result, height));
}

void plan_print(FILE *out, const plan_request *request, const lifetime_list *list, const plan_result *result) {
    print_escaped(out, "trace            %s", request->trace_path);
    fprintf(out, ", %zu buffer%s\n", list->count, list->count == 1 ? "" : "s");
    if (result->bound != UINT64_MAX) fprintf(out, "lower bound      %" PRIu64 " bytes\n", result->bound);
    if (result->proved > result->bound) fprintf(out, "proved bound     %" PRIu64 " bytes\n", result->proved);
    if (request->capacity) fprintf(out, "capacity         %" PRIu64 " bytes\n", request->capacity);
    if (result->planned) {
        fprintf(out, "%s      %" PRIu64 " bytes, %+.2f %% over the bound, by %s%s\n",
                result->verdict == PLAN_FOUND ? "plan       " : "best height", result->height,
                percent_over(result, result->height), result->method, is_lowest(result) ? "; no plan is lower" : "");
    }
    if (result->nodes) fprintf(out, "nodes            %" PRIu64 "\n", result->nodes);
    fprintf(out, "host time        %.3f s\n", result->wall_s);
    if (result->verdict == PLAN_IMPOSSIBLE && !result->planned) return;
    fprintf(out, "  %-18s%-9s%20s  over the bound\n", "method", "", "height");
    for (int m = 0; m < TLA_PLAN_METHOD_COUNT; m++)
        if (request->best || request->exact || (tla_plan_method)m == request->method)
            print_height(out, tla_plan_method_name((tla_plan_method)m), "planned", result, result->heights[m]);
    for (int i = 0; i < PLAN_DYNAMIC_POLICIES; i++)
        print_height(out, plan_dynamic_policy(i), "dynamic", result, result->dynamic[i]);
}

static void print_buffers(FILE *out, const lifetime_list *list, const plan_result *result) {
    for (size_t i = 0; i < result->bound_count && i < BUFFERS_TOLD; i++)
        print_escaped(out, "%s%s", i ? ", " : "", lifetimes_id(list, result->bound_buffers[i]));
    if (result->bound_count > BUFFERS_TOLD) fprintf(out, " and %zu more", result->bound_count - BUFFERS_TOLD);
}

void plan_print_refusal(FILE *out, const plan_request *request, const lifetime_list *list, const plan_result *result) {
    print_escaped(out, "%s: ", request->trace_path);
    if (result->verdict == PLAN_NOT_FOUND) {
        fprintf(out, "no plan found in %" PRIu64 " bytes", request->capacity);
        if (request->exact && request->limit_s > 0 && result->nodes == 0)
            fprintf(out, " by the heuristics; too many buffers are live at once for the search");
        else if (request->exact)
            fprintf(out, " within %g s", request->limit_s);
        else
            fprintf(out, " by --method %s", request->best ? "best" : tla_plan_method_name(request->method));
        if (result->planned) fprintf(out, "; the best height is %" PRIu64, result->height);
        fprintf(out, "; the lower bound is %" PRIu64 "\n", result->proved);
    } else if (result->clash[0] != result->clash[1]) {
        print_escaped(out, "no plan exists: buffers %s and %s are live at once and overlap at their offsets",
                      lifetimes_id(list, result->clash[0]), lifetimes_id(list, result->clash[1]));
        fputc('\n', out);
    } else if (result->bound == UINT64_MAX) {
        fprintf(out, "no plan exists: more than 2^63 bytes are live at once\n");
    } else if (result->bound > request->capacity) {
        fprintf(out, "no plan exists in %" PRIu64 " bytes: the lower bound is %" PRIu64 ", of %zu buffer%s: ",
                request->capacity, result->bound, result->bound_count,
                result->bound_count == 1 ? ", which ends there" : "s that are live at once");
        print_buffers(out, list, result);
        fputc('\n', out);
    } else {
        fprintf(out, "no plan exists in %" PRIu64 " bytes: the search tried all placements (%" PRIu64 " nodes)\n",
                request->capacity, result->nodes);
    }
}

static json_t *height_or_null(uint64_t height) {
    return height == UINT64_MAX ? json_null() : json_from_u64(height);
}

static json_t *row(const char *key, const char *name, uint64_t height) {
    json_t *made = json_object();
    json_object_set_new(made, key, json_string(name));
    json_object_set_new(made, "height", height_or_null(height));
    return made;
}

static json_t *list_buffers(const lifetime_list *list, const plan_result *result) {
    json_t *buffers = json_array();
    for (size_t i = 0; i < result->bound_count; i++)
        json_array_append_new(buffers, json_from_text(lifetimes_id(list, result->bound_buffers[i])));
    return buffers;
}

json_t *plan_to_json(const plan_request *request, const lifetime_list *list, const plan_result *result) {
    json_t *report = json_object(), *methods = json_array(), *dynamic = json_array();
    for (int m = 0; m < TLA_PLAN_METHOD_COUNT; m++)
        json_array_append_new(methods, row("method", tla_plan_method_name((tla_plan_method)m), result->heights[m]));
    for (int i = 0; i < PLAN_DYNAMIC_POLICIES; i++)
        json_array_append_new(dynamic, row("policy", plan_dynamic_policy(i), result->dynamic[i]));
    json_object_set_new(report, "trace", json_from_text(request->trace_path));
    json_object_set_new(report, "buffers", json_from_u64(list->count));
    json_object_set_new(report, "capacity_bytes", request->capacity ? json_from_u64(request->capacity) : json_null());
    json_object_set_new(report, "status", json_string(verdict_name(result->verdict)));
    json_object_set_new(report, "height", height_or_null(result->planned ? result->height : UINT64_MAX));
    json_object_set_new(report, "method", result->planned ? json_string(result->method) : json_null());
    json_object_set_new(report, "lower_bound", height_or_null(result->bound));
    json_object_set_new(report, "proved_bound", height_or_null(result->proved));
    json_object_set_new(report, "optimal", json_boolean(is_lowest(result)));
    json_object_set_new(report, "bound_buffers", list_buffers(list, result));
    json_object_set_new(report, "methods", methods);
    json_object_set_new(report, "dynamic", dynamic);
    json_object_set_new(report, "nodes", json_from_u64(result->nodes));
    json_object_set_new(report, "wall_s", json_real(result->wall_s));
    return report;
}
