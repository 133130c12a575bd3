/* `tlmalloc age TRACE`: plays a trace on an arena and writes the state that it leaves, for replays that begin with it.
 */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/size_argument.h"
#include "model/base/suggest.h"
#include "replay/aging.h"
#include "tlmalloc/arena/fragmentation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct age_options {
    const char *trace_path, *output_path, *events;
    uint64_t capacity, align;
    tla_policy policy;
} age_options;

static tla_status age(const age_options *options, tla_error *error);

/* The command line */

enum { KEY_CAPACITY = 256, KEY_POLICY, KEY_ALIGN, KEY_EVENTS, KEY_OUTPUT };

static const struct argp_option option_table[] = {
    {"capacity", KEY_CAPACITY, "SIZE", 0, "size of the arena (\"1 GiB\", or bytes)", 0},
    {"policy", KEY_POLICY, "NAME", 0, "placement policy (default first_fit)", 0},
    {"align", KEY_ALIGN, "N", 0, "round requests up to a multiple of N, a power of two (default 1)", 0},
    {"events", KEY_EVENTS, "N|peak", 0, "stop after N events, or when the trace has most in use (default: play all)",
     0},
    {"output", KEY_OUTPUT, "SNAPSHOT", 0, "where the state is written", 0},
    {0}};

static const char *policy_name(uint64_t index) {
    return index < TLA_POLICY_COUNT ? tla_policy_name((tla_policy)index) : NULL;
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    age_options *options = state->input;
    switch (key) {
    case KEY_CAPACITY:
        options->capacity = size_argument(state, "--capacity", text);
        return 0;
    case KEY_POLICY:
        if (!tla_policy_from_name(text, &options->policy))
            argument_error(state, "--policy: found '%s', expected a placement policy: %s%s", text,
                           tla_all_names(policy_name).text, tla_did_you_mean(text, policy_name).text);
        return 0;
    case KEY_ALIGN:
        options->align = size_argument(state, "--align", text);
        if (options->align & (options->align - 1))
            argument_error(state, "--align: found '%s', expected a power of two", text);
        return 0;
    case KEY_EVENTS:
        if (strcmp(text, "peak") != 0 && (!*text || text[strspn(text, "0123456789")]))
            argument_error(state, "--events: found '%s', expected a number of events or peak", text);
        options->events = text;
        return 0;
    case KEY_OUTPUT:
        options->output_path = text;
        return 0;
    case ARGP_KEY_ARG:
        if (options->trace_path) argument_error(state, "found a second argument '%s', expected one TRACE", text);
        options->trace_path = text;
        return 0;
    case ARGP_KEY_END:
        if (!options->trace_path) argument_error(state, "expected a TRACE");
        if (!options->capacity) argument_error(state, "expected --capacity SIZE");
        if (!options->output_path) argument_error(state, "expected --output SNAPSHOT");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char description[] =
    "Plays an allocation trace on an arena and writes the state that it leaves, for `tlmalloc replay --from`. What "
    "lives then stays occupied.\v"
    "Prints how broken up the free space is: the share of it outside the largest block, and for each size of free "
    "blocks their number, their bytes, and the share of the free bytes that a request of that size could not use "
    "(Gorman's unusable free space index).";

int tlmalloc_age(int argc, char **argv) {
    age_options options = {.align = 1};
    const struct argp parser = {option_table, parse_option, "TRACE", description, 0, 0, 0};
    parse_arguments(&parser, argc, argv, &options);
    tla_error error = {0};
    tla_status status = age(&options, &error);
    if (status) fprintf(stderr, "%s: %s\n", argv[0], error.text);
    return cli_exit_status(status);
}

/* The work */

static size_t count_events(const age_options *options, const alloc_trace *trace) {
    if (!options->events) return trace->event_count;
    if (strcmp(options->events, "peak") == 0) return aging_events_to_peak(trace);
    unsigned long long count =
        strtoull(options->events, NULL, 10); /* digits only; ULLONG_MAX when there are too many */
    return count < trace->event_count ? (size_t)count : trace->event_count;
}

static void print_summary(FILE *out, const age_options *options, const tla_arena *arena, const replay_result *result,
                          size_t events) {
    tla_arena_stats stats = tla_arena_get_stats(arena);
    bool past_end = options->events && strcmp(options->events, "peak") != 0 &&
                    strtoull(options->events, NULL, 10) > (unsigned long long)events;
    fprintf(out, "events           %zu (%" PRIu64 " allocations, %" PRIu64 " of them failed)", events, result->allocs,
            result->failed);
    if (past_end) fprintf(out, ", all that the trace has: --events asks for %s", options->events);
    fputc('\n', out);
    fprintf(out, "used             %" PRIu64 " of %" PRIu64 " bytes\n", stats.used, stats.capacity);
    fprintf(out, "free             %" PRIu64 " bytes in %" PRIu64 " blocks, the largest %" PRIu64 "\n", stats.free,
            stats.free_blocks, stats.largest_free);
    fprintf(out, "fragmentation    %.1f %% of what is free lies outside the largest block\n",
            0.1 * (double)tla_arena_fragmentation_permille(&stats));
    tla_free_histogram histogram;
    tla_arena_histogram(arena, &histogram);
    fprintf(out, "%20s %12s %20s %12s\n", "free blocks from", "blocks", "bytes", "unusable %");
    for (int i = 0; i < 64; i++)
        if (histogram.blocks[i])
            fprintf(out, "%20" PRIu64 " %12" PRIu64 " %20" PRIu64 " %12.1f\n", UINT64_C(1) << i, histogram.blocks[i],
                    histogram.nbytes[i], 0.1 * tla_unusable_permille(arena, UINT64_C(1) << i));
}

static tla_status age(const age_options *options, tla_error *error) {
    alloc_trace trace = {0};
    trace_allocator made = {0};
    replay_result result = {0};
    FILE *snapshot = NULL;
    size_t events = 0;
    output_protect(options->trace_path);
    tla_status status = output_open("--output", options->output_path, &snapshot, error);
    progress_begin("reading the trace", NULL);
    if (!status) status = trace_load(options->trace_path, &trace, error);
    if (!status) {
        events = count_events(options, &trace);
        const allocator_config config = {.capacity = options->capacity, .alignment = options->align};
        status = aging_play(&trace, events, options->policy, &config, &made, &result, error);
    }
    char *text = NULL;
    size_t length = 0;
    if (!status) status = aging_text(&made, &text, &length, error);
    if (!status) fwrite(text, 1, length, snapshot);
    free(text);
    FILE *table = output_table();
    if (!status) print_summary(table, options, tla_stack_arena(made.stack), &result, events);
    if (!status) status = output_commit(error);
    replay_result_clear(&result);
    allocator_destroy(&made);
    trace_unload(&trace);
    return status;
}
