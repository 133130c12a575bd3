/* `tlmalloc replay TRACE`: what an allocator does with a recorded sequence of allocations. */
#include "cli/arena_replay.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/overrides.h"

#include <argp.h>
#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

typedef struct replay_options {
    const char *trace_path, *config_path, *placements_path, *json_path;
    uint64_t capacity; /* 0: not given */
    uint64_t align;
    tla_policy policy;
    bool policy_given;
    double speed;
    overrides set;
} replay_options;

static tla_status replay(const replay_options *options, tla_error *error);

/* The command line */

enum { KEY_CAPACITY = 256, KEY_POLICY, KEY_ALIGN, KEY_PLACEMENTS, KEY_JSON, KEY_SET };

static const struct argp_option option_table[] = {
    {"capacity", KEY_CAPACITY, "SIZE", 0, "replay on the core alone, on an arena of this size (\"1 GiB\")", 0},
    {"policy", KEY_POLICY, "NAME", 0, "placement policy (default first_fit)", 0},
    {"align", KEY_ALIGN, "N", 0, "round requests up to a multiple of N, a power of two (default 1)", 0},
    {"placements", KEY_PLACEMENTS, "FILE", 0, "write id,offset,bytes,nodes_visited for each allocation", 0},
    {"json", KEY_JSON, "FILE", 0, "write the report", 0},
    {0}};

/* A size on the command line: with a unit as in a configuration, or a bare number of bytes. */
static uint64_t parse_size(struct argp_state *state, const char *option, const char *text) {
    uint64_t value = 0;
    if (isdigit((unsigned char)text[0]) && strspn(text, "0123456789") == strlen(text)) {
        for (const char *p = text; *p; p++) {
            uint64_t digit = (uint64_t)(*p - '0');
            if (value > (UINT64_MAX - digit) / 10)
                argp_error(state, "%s: found '%s', expected at most 2^63 bytes", option, text);
            value = 10 * value + digit;
        }
    } else {
        tla_error found;
        if (tla_parse_size(text, &value, &found)) argp_error(state, "%s: %s", option, found.text);
    }
    if (value == 0 || value > (UINT64_C(1) << 63))
        argp_error(state, "%s: found '%s', expected 1 byte to 2^63 bytes", option, text);
    return value;
}

static tla_policy parse_policy(struct argp_state *state, const char *text) {
    char names[200] = "";
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        const char *name = tla_policy_name((tla_policy)p);
        if (strcmp(text, name) == 0) return (tla_policy)p;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    argp_error(state, "--policy: found '%s', expected one of: %s", text, names);
    return TLA_FIRST_FIT;
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    replay_options *options = state->input;
    switch (key) {
    case KEY_CAPACITY:
        options->capacity = parse_size(state, "--capacity", text);
        return 0;
    case KEY_POLICY:
        options->policy = parse_policy(state, text);
        options->policy_given = true;
        return 0;
    case KEY_ALIGN:
        options->align = parse_size(state, "--align", text);
        if (options->align & (options->align - 1))
            argp_error(state, "--align: found '%s', expected a power of two", text);
        return 0;
    case KEY_PLACEMENTS:
        options->placements_path = text;
        return 0;
    case KEY_JSON:
        options->json_path = text;
        return 0;
    case ARGP_KEY_ARG:
        if (options->trace_path) argp_error(state, "found a second argument '%s', expected one TRACE", text);
        options->trace_path = text;
        return 0;
    case ARGP_KEY_END:
        if (!options->trace_path) argp_error(state, "expected a TRACE");
        if (!options->capacity) argp_error(state, "expected --capacity SIZE");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char description[] =
    "Replays an allocation trace (time_ns,op,id,bytes; op is alloc or free; .csv or .csv.gz).\v"
    "An allocation that does not fit is a result, not an error: it is counted and its free is ignored.\n"
    "Exit status: 0 the trace was played, 1 a file cannot be read or written, 2 bad usage or a bad trace.";

int tlmalloc_replay(int argc, char **argv) {
    replay_options options = {.align = 1, .policy = TLA_FIRST_FIT, .speed = 1.0};
    const struct argp parser = {option_table, parse_option, "TRACE", description, 0, 0, 0};
    argp_err_exit_status = CLI_BAD_INPUT;
    argp_parse(&parser, argc, argv, 0, NULL, &options);
    tla_error error;
    tla_status status = replay(&options, &error);
    if (status) fprintf(stderr, "tlmalloc replay: %s\n", error.text);
    overrides_clear(&options.set);
    return cli_exit_status(status);
}

/* The report */

static void print_table(const replay_options *options, const alloc_trace *trace, const replay_result *result) {
    for (uint64_t i = 0; i < result->failed && i < REPLAY_FAILURES_TOLD; i++) {
        const replay_failure *failure = &result->failures[i];
        fprintf(stderr, "id %" PRIu64 ": %s\n", trace->allocations[failure->allocation].id, failure->error.text);
    }
    if (result->failed > REPLAY_FAILURES_TOLD)
        fprintf(stderr, "... and %" PRIu64 " more\n", result->failed - REPLAY_FAILURES_TOLD);
    double events = (double)(result->allocs + result->frees);
    printf("trace          %s\n", options->trace_path);
    printf("arena          %" PRIu64 " bytes, %s, requests rounded to %" PRIu64 "\n", options->capacity,
           tla_policy_name(options->policy), options->align);
    printf("allocations    %" PRIu64 "\n", result->allocs);
    printf("frees          %" PRIu64 "\n", result->frees);
    printf("failed         %" PRIu64 "\n", result->failed);
    printf("peak used      %" PRIu64 " bytes\n", result->peak_used_bytes);
    printf("nodes visited  %" PRIu64 " (%.1f an allocation)\n", result->nodes_visited,
           result->allocs ? (double)result->nodes_visited / (double)result->allocs : 0.0);
    printf("host time      %.3f ms (%.0f ns an event)\n", 1e3 * result->wall_s,
           events > 0 ? 1e9 * result->wall_s / events : 0.0);
}

static void print_id(FILE *out, const trace_allocation *allocation) {
    if (allocation->id_text)
        fputs(allocation->id_text, out);
    else
        fprintf(out, "%" PRIu64, allocation->id);
}

static void write_placements(FILE *out, const alloc_trace *trace, const replay_result *result) {
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

static json_t *integer(uint64_t value) {
    return json_integer((json_int_t)value);
}

static tla_status write_json(FILE *out, const replay_options *options, const replay_result *result, tla_error *error) {
    json_t *report = json_pack("{s:s, s:{s:o, s:s, s:o}, s:o, s:o, s:o, s:o, s:o, s:f}",                           //
                               "trace", options->trace_path,                                                       //
                               "config", "capacity_bytes", integer(options->capacity),                             //
                               "policy", tla_policy_name(options->policy), "align_bytes", integer(options->align), //
                               "allocs", integer(result->allocs), "frees", integer(result->frees),                 //
                               "failed", integer(result->failed),                                                  //
                               "peak_used_bytes", integer(result->peak_used_bytes),                                //
                               "nodes_visited", integer(result->nodes_visited), "wall_s", result->wall_s);
    if (!report)
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the report (or a path that is not UTF-8)");
    json_dumpf(report, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(report);
    return TLA_OK;
}

/* The replay. Output files are opened before it, so that a path that cannot be written is told at once. */

static tla_status write_outputs(const replay_options *options, const alloc_trace *trace, const replay_result *result,
                                output *placements, output *json, tla_error *error) {
    if (placements->stream) write_placements(placements->stream, trace, result);
    tla_status status = json->stream ? write_json(json->stream, options, result, error) : TLA_OK;
    if (!status) status = output_commit(placements, error);
    if (!status) status = output_commit(json, error);
    return status;
}

static tla_status replay(const replay_options *options, tla_error *error) {
    alloc_trace trace;
    replay_result result = {0};
    output placements = {0}, json = {0};
    tla_status status = trace_load(options->trace_path, &trace, error);
    if (!status && options->placements_path) status = output_open(&placements, options->placements_path, error);
    if (!status && options->json_path) status = output_open(&json, options->json_path, error);
    tla_arena_config arena = {.base = 0, .capacity = options->capacity, .policy = options->policy};
    if (!status) status = arena_replay(&trace, &arena, options->align, &result, error);
    if (!status) status = write_outputs(options, &trace, &result, &placements, &json, error);
    if (!status) print_table(options, &trace, &result);
    output_discard(&placements);
    output_discard(&json);
    replay_result_clear(&result);
    trace_unload(&trace);
    return status;
}
