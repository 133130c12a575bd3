/* `tlmalloc plan FILE`: offsets for buffers whose lifetimes are known. */
#include "plan/plan.h"

#include "cli/commands.h"
#include "cli/json_writer.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "model/base/suggest.h"
#include "model/config/value.h"
#include "plan/plan_program.h"
#include "replay/occupancy_map.h"

#include <stdlib.h>
#include <string.h>

enum { EXIT_IMPOSSIBLE = 1, EXIT_NOT_FOUND = 3, LIMIT_DEFAULT_S = 60 };

#define IO_START_LARGEST ((uint64_t)1 << 62)

typedef struct plan_options {
    plan_request request;
    const char *csv_path, *json_path, *map_path;
    int device;
    bool limited;
} plan_options;

/* The command line */

static const char *method_name(uint64_t index) {
    if (index < TLA_PLAN_METHOD_COUNT) return tla_plan_method_name((tla_plan_method)index);
    return index == TLA_PLAN_METHOD_COUNT ? "best" : index == TLA_PLAN_METHOD_COUNT + 1 ? "exact" : NULL;
}

static const char *mode_name(uint64_t index) {
    return tla_address_mode_name((tla_address_mode)index);
}

/* The index of a name. */
static uint64_t read_name(const struct argp_state *state, const option_row *option, const char *text,
                          const char *(*name)(uint64_t index)) {
    uint64_t index = 0;
    while (name(index) && strcmp(name(index), text) != 0)
        index++;
    if (!name(index))
        argument_error(state, "--%s: found '%s', expected one of: %s%s", option->name, text, tla_all_names(name).text,
                       tla_did_you_mean(text, name).text);
    return index;
}

static void read_method(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    plan_request *request = member;
    const uint64_t index = read_name(state, option, text, method_name);
    request->best = index == TLA_PLAN_METHOD_COUNT;
    request->exact = index == TLA_PLAN_METHOD_COUNT + 1;
    if (index < TLA_PLAN_METHOD_COUNT) request->method = (tla_plan_method)index;
}

static void read_mode(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    *(tla_address_mode *)member = (tla_address_mode)read_name(state, option, text, mode_name);
}

static void read_limit(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    plan_options *o = member;
    char *end;
    uint64_t time_ps;
    tla_error found;
    o->limited = true;
    o->request.limit_s = strtod(text, &end);
    if (*text >= '0' && *text <= '9' && *end == 0 && o->request.limit_s < 1e9) return;
    if (tla_number_parse(TLA_VALUE_TIME, text, &time_ps, &found))
        argument_error(state, "--%s: found '%s', expected seconds, or a time with a unit (s, ms, us, ns, ps)",
                       option->name, text);
    o->request.limit_s = 1e-12 * (double)time_ps;
}

static void check_combination(const struct argp_state *state, const void *read) {
    const plan_options *o = read;
    const plan_request *request = &o->request;
    if (!request->trace_path) argument_error(state, "expected a FILE");
    if (request->exact && !request->capacity && !request->minimize)
        argument_error(state, "expected --capacity SIZE, --minimize, or a heuristic as --method");
    if (!request->exact && request->minimize)
        argument_error(state, "--minimize needs --method exact: only it searches");
    if (request->io_start && request->mode != TLA_ADDRESS_IO_ALONE)
        argument_error(state, "--io-start needs --address-mode io_alone: only it moves inputs and outputs there");
    if (request->io_start > IO_START_LARGEST) argument_error(state, "--io-start: expected at most 2^62");
    if (!request->exact && o->limited) argument_error(state, "--time-limit needs --method exact: only it searches");
}

#define AT(member) offsetof(plan_options, member)

static const option_row option_table[] = {
    {"capacity", 0, "SIZE", option_size, AT(request.capacity), "size that the plan must fit (\"1 MiB\", or bytes)"},
    {"method", 0, "NAME", read_method, AT(request),
     "exact (the default): search for a plan, or for a proof that no plan exists; best: the lowest plan of all "
     "heuristics; or one heuristic: stack, fit_first, size_order, tflm_greedy, greedy_area, greedy_lifetime, "
     "greedy_conflicts, lowest_first, xnnpack, xnnpack_repaired"},
    {"minimize", 0, NULL, option_flag, AT(request.minimize), "search for the lowest plan; --capacity is optional then"},
    {"time-limit", 0, "S", read_limit, 0,
     "time limit of the search, in seconds or with a unit (\"500 ms\"); 0: the heuristics only (default 60)"},
    {"device", 0, "N", option_device, AT(device),
     "device of PyTorch's recording (default: the first with recorded entries)"},
    {"address-mode", 0, "NAME", read_mode, AT(request.mode),
     "of a program: where its inputs and outputs lie: basic (the default), io_tag, io_tag_fuse, io_alone, io_reloc"},
    {"io-start", 0, "ADDRESS", option_size, AT(request.io_start),
     "of a program with --address-mode io_alone: inputs and outputs move there, and the others down to 0"},
    {"literal", 0, NULL, option_flag, AT(request.literal),
     "of a program: keep values as long as TPU-MLIR does, with its faults"},
    {"align", 0, "SIZE", option_align, AT(request.alignment),
     "of a program: sizes are rounded up to a multiple, a power of two (default 1)"},
    {"output", 'o', "OUT.csv", option_text, AT(csv_path), "write the table with the offset of every buffer"},
    {"map", 0, "FILE.svg", option_text, AT(map_path), "draw the occupied addresses over time"},
    {"json", 0, "FILE", option_text, AT(json_path), "write the report"},
    {0}};

static const char description[] =
    "Plans offsets for buffers with known lifetimes. FILE is MiniMalloc's table: id,lower,upper,size and, optionally, "
    "alignment, hint, gaps, offset. A given offset stays. FILE may also be any trace that `replay' reads, with its "
    "recorded lifetimes. Or it is a program whose values share bytes: id,operands,size and, optionally, view, from, "
    "io.\v"
    "A plan that is found is the same for every limit. Every plan is checked and fits the capacity.\n"
    "Exit status: 0 a plan was found, 1 no plan exists (proved), or a file cannot be read or written, 2 bad usage or a "
    "bad file, 3 neither the heuristic nor the search within its time found a plan.";

static const command_line parser = {"FILE",
                                    description,
                                    option_table,
                                    {"FILE", .read = argument_once, .member = AT(request.trace_path)},
                                    check_combination};

/* The plan */

typedef struct plan_files {
    FILE *csv, *json, *map;
} plan_files;

static tla_status open_files(const plan_options *options, plan_files *files, tla_error *error) {
    output_protect(options->request.trace_path);
    tla_status status = output_open("--output", options->csv_path, &files->csv, error);
    if (!status) status = output_open("--map", options->map_path, &files->map, error);
    return status ? status : output_open("--json", options->json_path, &files->json, error);
}

/* Draws the map of a replay whose allocations lie where the plan puts them. */
static tla_status draw(const plan_options *options, const lifetime_list *list, const plan_result *result, FILE *map,
                       tla_error *error) {
    const char *slash = strrchr(options->request.trace_path, '/');
    char title[300];
    alloc_trace trace;
    replay_result played = {0};
    tla_status status = lifetimes_to_trace(list, &trace, error);
    if (!status) status = replay_result_create(&trace, false, &played, error);
    for (size_t i = 0; i < trace.allocation_count && !status; i++)
        played.placements[i] = (placement){.offset = result->offsets[trace.allocations[i].id],
                                           .granted_bytes = trace.allocations[i].nbytes};
    snprintf(title, sizeof title, "%s: plan by %s", slash ? slash + 1 : options->request.trace_path, result->method);
    if (!status) status = occupancy_map_write(map, title, &trace, &played, error);
    replay_result_clear(&played);
    trace_unload(&trace);
    return status;
}

/* A plan of buffers, which may be those of a program. */
typedef struct made_plan {
    lifetime_list list;
    plan_program program;
    plan_result result;
} made_plan;

/* The buffers that are planned. */
static const lifetime_list *planned_of(const made_plan *made) {
    return made->list.views ? &made->program.planned : &made->list;
}

static tla_status write_files(const plan_options *options, const made_plan *made, plan_files *files, tla_error *error) {
    const plan_result *result = &made->result;
    tla_status status = TLA_OK;
    if (result->verdict == PLAN_FOUND) {
        if (files->csv)
            lifetimes_write(&made->list, made->list.views ? made->program.addresses : result->offsets, files->csv);
        if (files->map) status = draw(options, planned_of(made), result, files->map, error);
    } else {
        output_drop(files->csv);
        output_drop(files->map);
    }
    if (status) return status;
    json_t *report = plan_to_json(&options->request, planned_of(made), result);
    if (made->list.views)
        json_object_set_new(report, "program", plan_program_to_json(&made->program, result->verdict == PLAN_FOUND));
    status = json_write(report, 0, files->json, error);
    json_decref(report);
    return status;
}

static tla_status load(const plan_options *options, made_plan *made, tla_error *error) {
    const plan_request *request = &options->request;
    progress_begin("reading the file", NULL);
    const tla_status status = lifetimes_load(request->trace_path, options->device, &made->list, error);
    if (status || made->list.views)
        return status ? status : plan_program_reduce(request, &made->list, &made->program, error);
    return request->mode || request->literal || request->alignment
               ? tla_error_set(
                     error, TLA_UNSUPPORTED,
                     "%s: --address-mode, --literal and --align need a program, a table with the column operands",
                     request->trace_path)
               : TLA_OK;
}

static tla_status find(const plan_options *options, made_plan *made, tla_error *error) {
    progress_begin("the search for a plan", NULL);
    const tla_status status = plan_find(&options->request, planned_of(made), &made->result, error);
    if (status || !made->list.views || made->result.verdict != PLAN_FOUND) return status;
    return plan_program_complete(&options->request, &made->result, &made->program, error);
}

static tla_status plan(const char *command, const plan_options *options, plan_verdict *verdict, tla_error *error) {
    plan_files files = {NULL, NULL, NULL};
    made_plan made = {.result.verdict = PLAN_NOT_FOUND};
    tla_status status = open_files(options, &files, error);
    FILE *table = output_table();
    if (!status) status = load(options, &made, error);
    if (!status) status = find(options, &made, error);
    if (!status) status = write_files(options, &made, &files, error);
    *verdict = made.result.verdict;
    if (!status) plan_print(table, &options->request, planned_of(&made), &made.result);
    if (!status && made.list.views) plan_program_print(table, &made.program, *verdict == PLAN_FOUND);
    if (!status) status = output_commit(error);
    if (!status && *verdict != PLAN_FOUND) {
        fprintf(stderr, "%s: ", command);
        plan_print_refusal(stderr, &options->request, planned_of(&made), &made.result);
    }
    plan_result_clear(&made.result);
    plan_program_clear(&made.program);
    lifetimes_clear(&made.list);
    return status;
}

int tlmalloc_plan(int argc, char **argv) {
    plan_options options = {.request = {.exact = true, .limit_s = LIMIT_DEFAULT_S}, .device = TRACE_FIRST_DEVICE};
    command_line_read(&parser, argc, argv, &options);
    tla_error error = {0};
    plan_verdict verdict;
    tla_status status = plan(argv[0], &options, &verdict, &error);
    if (status) {
        if (error.text[0]) fprintf(stderr, "%s: %s\n", argv[0], error.text);
        return cli_exit_status(status);
    }
    return verdict == PLAN_FOUND ? CLI_OK : verdict == PLAN_IMPOSSIBLE ? EXIT_IMPOSSIBLE : EXIT_NOT_FOUND;
}
