/* `tlmalloc replay TRACE`: what an allocator does with a recorded sequence of allocations. */
#include "replay/replay.h"

#include "cli/commands.h"
#include "cli/json_writer.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/overrides.h"
#include "cli/progress.h"
#include "cli/read_text.h"
#include "replay/controller_replay.h"
#include "replay/recording.h"
#include "replay/replay_files.h"
#include "replay/segment_option.h"
#include "tlmalloc/arena/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct replay_options {
    const char *trace_path, *config_path, *snapshot_path, *placements_path, *map_path, *json_path, *vcd_path,
        *table_path;
    tla_stack_policy policy; /* of --policy */
    bool has_policy;
    uint64_t capacity;       /* 0: not given */
    uint64_t align;          /* likewise */
    double speed;            /* likewise */
    allocator_list compared; /* none: no comparison */
    bool as_recorded;
    bool has_memory;
    tla_memory_kind memory; /* of --memory; TLA_HBM: not given */
    int device;             /* of a recording; TRACE_FIRST_DEVICE: not given; AS_RECORDED_ALL_DEVICES */
    const char *settings;   /* of segment_cache; NULL: not given */
    const char *version;    /* of PyTorch; likewise */
    text_list set;
} replay_options;

static tla_status replay(const replay_options *options, tla_error *error);
static tla_status replay_as_recorded(const replay_options *options, bool *equal, tla_error *error);

/* The command line */

static void read_speed(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    double *speed = member;
    char *end;
    *speed = strtod(text, &end);
    if (end == text || *end || !(*speed > 0) || !(*speed < 1e18))
        argument_error(state, "--%s: found '%s', expected a positive number", option->name, text);
}

static void read_memory(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    replay_options *o = member;
    int kind = 0;
    while (kind < TLA_MEMORY_KIND_COUNT && strcmp(text, tla_memory_kind_name((tla_memory_kind)kind)) != 0)
        kind++;
    if (kind == TLA_MEMORY_KIND_COUNT)
        argument_error(state, "--%s: found '%s', expected hbm, tcm, sram, m_cpu or host", option->name, text);
    o->memory = (tla_memory_kind)kind;
    o->has_memory = true;
}

static void read_device(const struct argp_state *state, const option_row *option, const char *text, void *device) {
    if (strcmp(text, "all") == 0)
        *(int *)device = AS_RECORDED_ALL_DEVICES;
    else
        option_device(state, option, text, device);
}

static void read_policy(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    replay_options *o = member;
    option_allocator(state, option, text, &o->policy);
    o->has_policy = true;
}

static void check_as_recorded(const struct argp_state *state, const replay_options *o) {
    if (o->capacity || o->snapshot_path || o->config_path || o->has_policy || o->compared.count || o->align ||
        o->has_memory || o->speed > 0 || o->set.count || o->placements_path || o->map_path || o->vcd_path ||
        o->table_path)
        argument_error(
            state, "--as-recorded takes only --device, --settings, --pytorch and --json: the recording sets the rest");
}

static void check_combination(const struct argp_state *state, const void *read) {
    const replay_options *o = read;
    bool somewhere = o->snapshot_path || o->config_path;
    if (!o->trace_path) argument_error(state, "expected a TRACE");
    if (o->as_recorded) {
        check_as_recorded(state, o);
        return;
    }
    if (o->device == AS_RECORDED_ALL_DEVICES) argument_error(state, "--device all needs --as-recorded");
    if (!o->capacity && !somewhere)
        argument_error(state, "expected --capacity SIZE, --from SNAPSHOT or --config CONFIG");
    if (o->capacity && somewhere)
        argument_error(state, "--capacity contradicts --from and --config, which set the size");
    if (o->has_memory && !o->config_path) argument_error(state, "--memory needs --config, which has memories");
    if (o->vcd_path && (!o->config_path || o->compared.count))
        argument_error(state, "--vcd needs --config and excludes --compare: only the simulated controller has time");
    if (o->table_path && !o->compared.count) argument_error(state, "--table needs --compare: one replay has no table");
    const tla_front front = tla_stack_front(o->policy);
    if (!o->config_path && !o->compared.count && front == TLA_FRONT_NONE && o->set.count)
        argument_error(state, "--set needs --config, --compare, or a front as --policy");
    if (!o->config_path && !o->compared.count && o->speed > 0)
        argument_error(state, "--speed needs --config or --compare");
    if (o->config_path && !o->compared.count && (o->settings || o->version))
        argument_error(state, "%s contradicts --config: a controller's segment_cache has PyTorch's defaults",
                       o->settings ? "--settings" : "--pytorch");
    if (o->settings && !o->compared.count && front != TLA_FRONT_SEGMENT_CACHE)
        argument_error(state, "--settings needs --policy segment_cache or --compare");
    if (o->version && !o->compared.count && front != TLA_FRONT_SEGMENT_CACHE)
        argument_error(state, "--pytorch needs --policy segment_cache, --compare or --as-recorded");
    if (o->snapshot_path && o->align) argument_error(state, "--align contradicts --from, which sets the alignment");
    if (o->compared.count && o->has_policy)
        argument_error(state, "--policy contradicts --compare, which names the policies");
}

#define AT(member) offsetof(replay_options, member)

static const option_row option_table[] = {
    {.help = "Target (one of these):"},
    {"capacity", 0, "SIZE", option_size, AT(capacity),
     "an arena of this size (\"1 GiB\", or bytes), in the core alone: fast, without simulated time"},
    {"from", 0, "SNAPSHOT", option_text, AT(snapshot_path),
     "an aged arena that `tlmalloc age` wrote; with --config, the initial free list"},
    {"config", 0, "CONFIG", option_text, AT(config_path),
     "the simulated controller of PE 0 and a memory (--memory), with simulated time"},
    {"memory", 0, "NAME", read_memory, 0,
     "with --config: hbm (default) or tcm of PE 0, sram or m_cpu of its cube, or host"},
    {.help = "Replay:"},
    {"policy", 0, "NAME", read_policy, 0,
     "placement, front, or FRONT/PLACEMENT (default first_fit, or that of CONFIG)"},
    {"compare", 0, "all|NAME,...", option_allocators, AT(compared),
     "compare placements and fronts (every: each front over each placement), in the core, in one table; --placements "
     "and --map write a file for each, such as p.NAME.csv"},
    {"align", 0, "N", option_align, AT(align), "round requests up to a multiple of N, a power of two (default 1)"},
    {"speed", 0, "X", read_speed, AT(speed), "commands arrive X times as fast as recorded (default 1)"},
    {"as-recorded", 0, NULL, option_flag, AT(as_recorded),
     "replay PyTorch's recording on segment_cache with the recorded answers of the driver, and compare entry by entry"},
    {"device", 0, "N|all", read_device, AT(device),
     "device of PyTorch's recording (default: the first with recorded entries); all with --as-recorded",
     .expected = ", or all"},
    {"settings", 0, "TEXT", option_segment_settings, AT(settings),
     "settings of segment_cache, as in PYTORCH_CUDA_ALLOC_CONF (default: those of the recording)"},
    {"pytorch", 0, "VERSION", option_segment_version, AT(version),
     "version of PyTorch whose rules segment_cache follows: 2.1 or later, newest (default), or 193400"},
    {"set", 0, "KEY=VALUE", option_each, AT(set),
     "override a key of the configuration: path.to.key=value (repeatable)"},
    {.help = "Output:"},
    {"placements", 0, "FILE", option_text, AT(placements_path),
     "write id,offset,bytes,nodes_visited for each allocation"},
    {"map", 0, "FILE.svg", option_text, AT(map_path), "draw the occupied addresses over time"},
    {"json", 0, "FILE", option_text, AT(json_path), "write the report"},
    {"table", 0, "FILE", option_text, AT(table_path), "with --compare: write the rows in Markdown, without host times"},
    {"vcd", 0, "FILE", option_text, AT(vcd_path),
     "with --config: write the waveform of the controller and its slice: a VCD, or an FST if FILE ends in .fst"},
    {0}};

static const char description[] =
    "Replays an allocation trace: events (time_ns,op,id,bytes with op alloc or free), a memory snapshot of PyTorch "
    "(pickle), a log of RMM, or MiniMalloc's buffers (id,lower,upper,size); plain or gzip.\v"
    "An allocation that does not fit is a result, not an error: the command counts it and ignores its free.\n"
    "Exit status: 0 the trace was replayed, 1 a file cannot be read or written, 2 bad usage, a bad trace, a bad "
    "configuration.";

static const command_line parser = {
    "TRACE", description, option_table, {"TRACE", .read = argument_once, .member = AT(trace_path)}, check_combination};

int tlmalloc_replay(int argc, char **argv) {
    replay_options options = {.device = TRACE_FIRST_DEVICE};
    command_line_read(&parser, argc, argv, &options);
    tla_error error = {0};
    bool equal = true;
    tla_status status = options.as_recorded ? replay_as_recorded(&options, &equal, &error) : replay(&options, &error);
    if (status && error.text[0]) fprintf(stderr, "%s: %s\n", argv[0], error.text);
    text_list_clear(&options.set);
    return !status && !equal ? CLI_FAILED : cli_exit_status(status);
}

/* The player of recordings; NULL: none. */
static replay_recording *play_recording;

void replay_recordings_by(replay_recording *player) {
    play_recording = player;
}

static tla_status replay_as_recorded(const replay_options *options, bool *equal, tla_error *error) {
    FILE *json = NULL;
    if (!play_recording) return tla_error_set(error, TLA_UNSUPPORTED, "--as-recorded: %s", TRACE_NO_TORCH);
    output_protect(options->trace_path);
    tla_status status = output_open("--json", options->json_path, &json, error);
    if (!status)
        status = play_recording(options->trace_path, options->device, options->settings, options->version,
                                output_table(), json, equal, error);
    return status ? status : output_commit(error);
}

/* The replay. Output files are opened before it, so that a path that cannot be written is reported at once. */

typedef struct replay_state {
    replay_request request;
    replay_files files[ALLOCATOR_LIST_MAX]; /* of each allocator, or of the only one */
    FILE *json, *vcd, *table;               /* NULL: not asked for */
    char *snapshot;                         /* text */
} replay_state;

/* Loads the configuration with --set and --policy; findings are reported as they are found, so error may stay empty. */
static tla_status load_config(const replay_options *options, replay_request *request, tla_error *error) {
    text_list set = {0};
    char name[ALLOCATOR_NAME_MAX], policy[sizeof name + 48], alignment[64];
    /* A trace requests tensors: on the core `mixed` has all of the memory for them, unless --set changes that. */
    bool good = options->config_path || text_list_add(&set, "controller.hbm_front.buffers=0 B");
    for (size_t i = 0; i < options->set.count && good; i++)
        good = text_list_add(&set, options->set.items[i]);
    if (options->config_path && options->has_policy) {
        tla_stack_policy_print(options->policy, name, sizeof name);
        snprintf(policy, sizeof policy, "controller.%s_policy=%s", tla_memory_kind_name(options->memory), name);
        good = good && text_list_add(&set, policy);
    }
    if (options->config_path && options->align) {
        snprintf(alignment, sizeof alignment, "controller.alignment=%" PRIu64 " B", options->align);
        good = good && text_list_add(&set, alignment);
    }
    tla_status status = good ? overrides_load(&set, options->config_path, &request->config)
                             : tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the options");
    text_list_clear(&set);
    return status;
}

/* The arena of a snapshot file; its policy too, unless another is asked for. */
static tla_status load_snapshot(const replay_options *options, replay_state *state, tla_error *error) {
    replay_request *request = &state->request;
    size_t length;
    tla_status status = read_text(options->snapshot_path, ARENA_SNAPSHOT_BYTES_MAX, &state->snapshot, &length, error);
    if (status) return status;
    tla_arena_config found;
    tla_error inner;
    status = tla_arena_snapshot_config(state->snapshot, length, &found, &inner);
    if (status) return tla_error_set(error, status, "%s: %s", options->snapshot_path, inner.text);
    request->snapshot_path = options->snapshot_path;
    request->arena = (allocator_config){.capacity = found.capacity,
                                        .alignment = found.alignment,
                                        .sizes = request->arena.sizes,
                                        .snapshot = state->snapshot,
                                        .snapshot_length = length,
                                        .segment_settings = options->settings,
                                        .segment_version = options->version};
    if (!options->has_policy && !options->config_path)
        tla_stack_policy_print(found.policy, request->policy, sizeof request->policy);
    return TLA_OK;
}

/* Returns the stack of a memory of the configuration. */
static tla_stack_config stack_of(const tla_config *config, tla_memory_kind memory) {
    tla_pe_memory_config all = config->controller.memory;
    all.of[TLA_SRAM].bytes = config->sram.capacity;
    all.of[TLA_M_CPU_MEMORY].bytes = config->m_cpu_memory.capacity;
    all.of[TLA_HOST_MEMORY].bytes = config->host_memory.capacity;
    return tla_pe_memory_stack_config(&all, memory);
}

/* Determines the arena: from the options, the configuration, the snapshot. */
static tla_status resolve_arena(const replay_options *options, replay_state *state, tla_error *error) {
    replay_request *request = &state->request;
    request->arena =
        (allocator_config){.capacity = options->capacity, .alignment = options->align ? options->align : 1};
    if (options->config_path) {
        const tla_stack_config stack = stack_of(&request->config, options->memory);
        request->arena.capacity = stack.capacity;
        request->arena.alignment = stack.alignment;
        tla_stack_policy_print(stack.policy, request->policy, sizeof request->policy);
    }
    request->arena.sizes = stack_of(&request->config, options->memory).sizes;
    request->arena.segment_settings = options->settings;
    request->arena.segment_version = options->version;
    return options->snapshot_path ? load_snapshot(options, state, error) : TLA_OK;
}

static tla_status open_files(const replay_options *options, replay_state *state, tla_error *error) {
    const allocator_list *compared = &state->request.compared;
    output_protect(options->trace_path);
    output_protect(options->snapshot_path);
    tla_status status = output_open("--json", options->json_path, &state->json, error);
    if (!status) status = output_open("--table", options->table_path, &state->table, error);
    if (!status) status = output_open_waveform("--vcd", options->vcd_path, &state->vcd, error);
    for (size_t i = 0; i < compared->count && !status; i++)
        status = replay_files_open(options->placements_path, options->map_path, compared->names[i], true,
                                   &state->files[i], error);
    return status || compared->count ? status
                                     : replay_files_open(options->placements_path, options->map_path,
                                                         state->request.policy, false, state->files, error);
}

static tla_status resolve(const replay_options *options, replay_state *state, tla_error *error) {
    replay_request *request = &state->request;
    *request = (replay_request){.trace_path = options->trace_path,
                                .speed = options->speed > 0 ? options->speed : 1,
                                .simulated = options->config_path && !options->compared.count,
                                .memory = options->memory,
                                .compared = options->compared};
    tla_stack_policy_print(options->policy, request->policy, sizeof request->policy); /* first fit, if none is given */
    bool configured =
        options->config_path || options->compared.count || tla_stack_front(options->policy) != TLA_FRONT_NONE;
    tla_status status = configured ? load_config(options, request, error) : TLA_OK;
    if (!status) status = resolve_arena(options, state, error);
    return status ? status : open_files(options, state, error);
}

static tla_status replay_once(const replay_request *request, FILE *vcd, const alloc_trace *trace, replay_result *result,
                              tla_error *error) {
    if (request->simulated)
        return controller_replay(trace, &request->config, request->arena.snapshot, request->arena.snapshot_length,
                                 request->memory, request->speed, vcd, result, error);
    trace_allocator made;
    tla_status status = allocator_create(request->policy, &request->arena, &made, error);
    if (!status) status = trace_replay(trace, &made, NULL, result, error);
    allocator_destroy(&made);
    return status;
}

static tla_status play_and_report(replay_state *state, const alloc_trace *trace, tla_error *error) {
    const replay_request *request = &state->request;
    const bool compared = request->compared.count;
    json_t *report = NULL;
    replay_result result = {0};
    FILE *table = output_table();
    tla_status status = compared ? replay_compare(table, request, trace, state->files, state->table, &report, error)
                                 : replay_once(request, state->vcd, trace, &result, error);
    if (!status && !compared) {
        report = replay_to_json(request, &result);
        status = replay_files_write(state->files, request, request->policy, trace, &result, error);
    }
    if (!status) status = json_write(report, 0, state->json, error);
    if (!status && !compared) {
        replay_print_failures(stderr, trace, &result);
        replay_print(table, request, trace, &result);
    }
    if (!status) status = output_commit(error);
    json_decref(report);
    replay_result_clear(&result);
    return status;
}

static tla_status replay(const replay_options *options, tla_error *error) {
    replay_state state = {.json = NULL};
    alloc_trace trace = {0};
    tla_status status = resolve(options, &state, error);
    allocator_config *arena = &state.request.arena;
    progress_begin("reading the trace", NULL);
    if (!status) status = trace_load_device(options->trace_path, options->device, &trace, error);
    if (!status && !arena->segment_settings) arena->segment_settings = trace.settings;
    if (!status) status = play_and_report(&state, &trace, error);
    free(state.snapshot);
    trace_unload(&trace);
    return status;
}
