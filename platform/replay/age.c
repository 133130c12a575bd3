/* `tlmalloc age TRACE`: plays a trace on an arena and writes the state that it leaves, for replays that begin with it.
 */
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "model/base/suggest.h"
#include "replay/aging.h"
#include "tlmalloc/arena/arena.h"

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

static const char *policy_name(uint64_t index) {
    return index < TLA_POLICY_COUNT ? tla_policy_name((tla_policy)index) : NULL;
}

static void read_policy(const struct argp_state *state, const option_row *option, const char *text, void *policy) {
    if (!tla_policy_from_name(text, policy))
        argument_error(state, "--%s: found '%s', expected a placement policy: %s%s", option->name, text,
                       tla_all_names(policy_name).text, tla_did_you_mean(text, policy_name).text);
}

static void read_events(const struct argp_state *state, const option_row *option, const char *text, void *events) {
    if (strcmp(text, "peak") != 0 && (!*text || text[strspn(text, "0123456789")]))
        argument_error(state, "--%s: found '%s', expected a number of events or peak", option->name, text);
    *(const char **)events = text;
}

static void check_arguments(const struct argp_state *state, const void *read) {
    const age_options *options = read;
    if (!options->trace_path) argument_error(state, "expected a TRACE");
    if (!options->capacity) argument_error(state, "expected --capacity SIZE");
    if (!options->output_path) argument_error(state, "expected --output SNAPSHOT");
}

#define AT(member) offsetof(age_options, member)

static const option_row option_table[] = {
    {"capacity", 0, "SIZE", option_size, AT(capacity), "size of the arena (\"1 GiB\", or bytes)"},
    {"policy", 0, "NAME", read_policy, AT(policy), "placement policy (default first_fit)"},
    {"align", 0, "N", option_align, AT(align), "round requests up to a multiple of N, a power of two (default 1)"},
    {"events", 0, "N|peak", read_events, AT(events),
     "stop after N events, or when the most bytes are in use (default: replay all events)"},
    {"output", 0, "SNAPSHOT", option_text, AT(output_path), "file for the state"},
    {0}};

static const char description[] =
    "Replays an allocation trace on an arena and writes the final state for `tlmalloc replay --from`. Live blocks stay "
    "occupied.\v"
    "Prints the fragmentation of the free space: the share of it outside the largest block. For each size of free "
    "blocks it prints their number, their bytes, and the share of the free bytes that a request of that size cannot "
    "use (Gorman's unusable free space index).";

static const command_line parser = {
    "TRACE", description, option_table, {"TRACE", .read = argument_once, .member = AT(trace_path)}, check_arguments};

int tlmalloc_age(int argc, char **argv) {
    age_options options = {.align = 1};
    command_line_read(&parser, argc, argv, &options);
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
    if (past_end) fprintf(out, ", the whole trace: --events requests %s", options->events);
    fputc('\n', out);
    fprintf(out, "used             %" PRIu64 " of %" PRIu64 " bytes\n", stats.used, stats.capacity);
    fprintf(out, "free             %" PRIu64 " bytes in %" PRIu64 " blocks, the largest %" PRIu64 "\n", stats.free,
            stats.free_blocks, stats.largest_free);
    fprintf(out, "fragmentation    %.1f %% of the free bytes are outside the largest block\n",
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
    if (!status) status = aging_text(tla_stack_arena(made.stack), &text, &length, error);
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
