/* `tlmalloc explain FILE`: options, and who does what: a recording of PyTorch, an arena, or the report of a run. */
#include "explain/explain.h"

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/device_argument.h"
#include "cli/json_writer.h"
#include "cli/output.h"
#include "cli/size_argument.h"
#include "explain/explain_run.h"
#include "replay/segment_argument.h"
#include "tlmalloc/segments/segment_settings.h"

#include <stdlib.h>
#include <string.h>

typedef struct explain_options {
    const char *path, *json_path, *map_path;
    int device; /* -1: not given */
    explain_when when;
    uint64_t entry, capacity; /* capacity 0: not given */
    uint64_t request;         /* of an arena; 0: not given */
    const char *kernel;       /* of a report; NULL: not given */
    int64_t pe;               /* of a report; -1: not given */
    bool compare;
    const char *version; /* of PyTorch; NULL: not given */
    const char *settings[EXPLAIN_SETTINGS_MAX / 2];
    size_t settings_count;
} explain_options;

enum {
    KEY_DEVICE = 256,
    KEY_AT,
    KEY_CAPACITY,
    KEY_COMPARE,
    KEY_SETTINGS,
    KEY_PYTORCH,
    KEY_REQUEST,
    KEY_MAP,
    KEY_JSON,
    KEY_KERNEL,
    KEY_PE
};

static const struct argp_option option_table[] = {
    {"device", KEY_DEVICE, "N", 0, "of the recording (default: the first that recorded something)", 0},
    {"at", KEY_AT, "ENTRY|oom|peak", 0,
     "the request at an entry, counted from 0; the last oom; or when most was allocated (default: oom, else peak)", 0},
    {"capacity", KEY_CAPACITY, "SIZE", 0, "what the allocator may reserve (default: what the recording tells)", 0},
    {"compare", KEY_COMPARE, 0, 0, "play the program under other settings, also when memory was not out", 0},
    {"settings", KEY_SETTINGS, "TEXT", 0, "one more setting to compare, as in PYTORCH_CUDA_ALLOC_CONF (repeatable)", 0},
    {"pytorch", KEY_PYTORCH, "VERSION", 0, "whose rules it had: a version from 2.1 on, newest (default), or 193400", 0},
    {"request", KEY_REQUEST, "SIZE", 0, "of an arena that `tlmalloc age` wrote: why would it refuse so much?", 0},
    {"map", KEY_MAP, "FILE.svg", 0, "draw the segments at that moment", 0},
    {"kernel", KEY_KERNEL, "NAME|FILE", 0,
     "of a report of `tlmalloc run': the kernel; or the file of your own that it ran, to try changes with it", 0},
    {"pe", KEY_PE, "N", 0, "of a report: where the time of this PE's kernel went (default: of the critical path)", 0},
    {"json", KEY_JSON, "FILE", 0, "write the report", 0},
    {0}};

static void parse_when(struct argp_state *state, explain_options *o, const char *text) {
    char *end;
    if (strcmp(text, "oom") == 0 || strcmp(text, "peak") == 0) {
        o->when = text[0] == 'o' ? EXPLAIN_OOM : EXPLAIN_PEAK;
        return;
    }
    o->when = EXPLAIN_ENTRY;
    o->entry = strtoull(text, &end, 10);
    if (end == text || *end || text[0] == '-')
        argument_error(state, "--at: found '%s', expected the number of an entry, oom or peak", text);
}

static void add_settings(struct argp_state *state, explain_options *o, const char *text) {
    if (o->settings_count == sizeof o->settings / sizeof o->settings[0])
        argument_error(state, "--settings: found too many, expected at most %zu", o->settings_count);
    o->settings[o->settings_count++] = settings_argument(state, "--settings", text);
    o->compare = true;
}

static int64_t pe_argument(struct argp_state *state, const char *text) {
    char *end;
    const unsigned long long pe = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || pe > INT32_MAX)
        argument_error(state, "--pe: found '%s', expected the number of a PE, from 0", text);
    return (int64_t)pe;
}

static bool asks_about_a_recording(const explain_options *o) {
    return o->when != EXPLAIN_DEFAULT || o->compare || o->capacity || o->map_path || o->device >= 0 || o->version;
}

static error_t parse_option(int key, char *text, struct argp_state *state) {
    explain_options *o = state->input;
    switch (key) {
    case KEY_DEVICE:
        o->device = device_argument(state, text, "");
        return 0;
    case KEY_AT:
        parse_when(state, o, text);
        return 0;
    case KEY_CAPACITY:
        o->capacity = size_argument(state, "--capacity", text);
        return 0;
    case KEY_REQUEST:
        o->request = size_argument(state, "--request", text);
        return 0;
    case KEY_COMPARE:
        o->compare = true;
        return 0;
    case KEY_SETTINGS:
        add_settings(state, o, text);
        return 0;
    case KEY_PYTORCH:
        o->version = version_argument(state, "--pytorch", text);
        return 0;
    case KEY_MAP:
        o->map_path = text;
        return 0;
    case KEY_KERNEL:
        o->kernel = text;
        return 0;
    case KEY_PE:
        o->pe = pe_argument(state, text);
        return 0;
    case KEY_JSON:
        o->json_path = text;
        return 0;
    case ARGP_KEY_ARG:
        if (o->path) argument_error(state, "found a second argument '%s', expected one FILE", text);
        o->path = text;
        return 0;
    case ARGP_KEY_END:
        if (!o->path) argument_error(state, "expected a FILE: a recording, an arena or a report");
        if (o->request && (asks_about_a_recording(o) || o->kernel || o->pe >= 0))
            argument_error(state, "--request is for an arena, with --json only");
        if ((o->kernel || o->pe >= 0) && asks_about_a_recording(o))
            argument_error(state, "--kernel and --pe are for a report, with --json only");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char description[] =
    "Says what a PyTorch recording (torch.cuda.memory._dump_snapshot) had reserved and could not use when memory was "
    "out, or at another moment, what kept it, and which settings would have served the request; or, with --request, "
    "why an arena that `tlmalloc age` wrote cannot serve it; or, of a report that `tlmalloc run --json` wrote, where "
    "the "
    "time of its kernels went along the critical path, what each part costs at most, and what to change first.\v"
    "Exit status: 0 it was explained, 1 a file cannot be read or written, 2 bad usage, a bad recording or report.";

static tla_status report(const explain_options *o, const explained *e, const uint8_t *empties, FILE *map, FILE *json,
                         tla_error *error) {
    static explain_setting rows[EXPLAIN_SETTINGS_MAX];
    size_t count = 0;
    bool late = false, oom = e->request && e->request->action == TORCH_OOM;
    tla_status status = TLA_OK;
    if (o->compare || (oom && !e->impossible))
        status = explain_compare(e, empties, o->settings, o->settings_count, rows, &count, &late, error);
    if (status) return status;
    if (map) explain_map(map, e);
    json_t *object = json ? explain_to_json(o->path, e, rows, count, late) : NULL;
    status = json ? json_write(object, 0, json, error) : TLA_OK;
    json_decref(object);
    if (!status) explain_print(output_table(), e, rows, count, late);
    return status ? status : output_commit(error);
}

static tla_status explain_snapshot(const explain_options *o, torch_snapshot *snapshot, FILE *map, FILE *json,
                                   tla_error *error) {
    size_t device;
    torch_start start;
    explained e;
    tla_status status = torch_choose_device(snapshot, o->device, &device, error);
    if (status) return status;
    if (snapshot->devices[device].comparable < 2)
        return tla_error_set(error, TLA_SYNTAX,
                             "%s: found a trace of one entry, expected two: the history was not recorded",
                             snapshot->name);
    status = torch_start_find(snapshot, device, &start, error);
    if (status) return status;
    uint8_t *empties = calloc(snapshot->devices[device].entry_count + 1, 1);
    status = empties ? explain_find(snapshot, device, &start, o->when, o->entry, o->capacity, empties, &e, error)
                     : tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory to explain");
    if (!status) {
        status = report(o, &e, empties, map, json, error);
        explain_clear(&e);
    }
    free(empties);
    torch_start_clear(&start);
    return status;
}

static tla_status explain(const explain_options *o, tla_error *error) {
    FILE *map = NULL, *json = NULL;
    torch_snapshot snapshot;
    output_protect(o->path);
    tla_status status = output_open("--map", o->map_path, &map, error);
    if (!status) status = output_open("--json", o->json_path, &json, error);
    if (!status && o->request) {
        status = explain_arena(o->path, o->request, output_table(), json, error);
        return status ? status : output_commit(error);
    }
    if (!status && (o->kernel || o->pe >= 0 || is_run_report(o->path))) {
        if (asks_about_a_recording(o))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%.200s: found a report, expected --kernel, --pe and --json only", o->path);
        status = explain_run(o->path, o->kernel, o->pe, output_table(), json, error);
        return status ? status : output_commit(error);
    }
    if (!status) status = torch_snapshot_load(o->path, &snapshot, error);
    if (status) return status;
    if (o->version) status = tla_segment_version_parse(o->version, &snapshot.settings, error);
    if (!status) status = explain_snapshot(o, &snapshot, map, json, error);
    torch_snapshot_clear(&snapshot);
    return status;
}

int tlmalloc_explain(int argc, char **argv) {
    explain_options options = {.device = -1, .pe = -1};
    const struct argp parser = {option_table, parse_option, "FILE", description, 0, 0, 0};
    parse_arguments(&parser, argc, argv, &options);
    tla_error error = {0};
    tla_status status = explain(&options, &error);
    if (status && error.text[0]) fprintf(stderr, "%s: %s\n", argv[0], error.text);
    return cli_exit_status(status);
}
