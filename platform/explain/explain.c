/* `tlmalloc explain FILE`: options, and who does what: a recording of PyTorch, an arena, or the report of a run. */
#include "explain/explain.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "explain/explain_run.h"
#include "replay/segment_option.h"
#include "trace/trace.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct explain_options {
    const char *path, *json_path, *map_path;
    int device; /* -1: not given */
    explain_when when;
    uint64_t entry, capacity; /* capacity 0: not given */
    uint64_t request;         /* of an arena; 0: not given */
    const char *kernel;       /* of a report; NULL: not given */
    int64_t pe;               /* of a report; -1: not given */
    bool compare, second_search;
    const char *version; /* of PyTorch; NULL: not given */
    const char *settings[EXPLAIN_SETTINGS_MAX / 2];
    size_t settings_count;
} explain_options;

static void read_when(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    explain_options *o = member;
    char *end;
    if (strcmp(text, "oom") == 0 || strcmp(text, "peak") == 0) {
        o->when = text[0] == 'o' ? EXPLAIN_OOM : EXPLAIN_PEAK;
        return;
    }
    o->when = EXPLAIN_ENTRY;
    o->entry = strtoull(text, &end, 10);
    if (end == text || *end || text[0] == '-')
        argument_error(state, "--%s: found '%s', expected an entry number, oom or peak", option->name, text);
}

static void read_settings(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    explain_options *o = member;
    if (o->settings_count == sizeof o->settings / sizeof o->settings[0])
        argument_error(state, "--%s: expected at most %zu times", option->name, o->settings_count);
    option_segment_settings(state, option, text, &o->settings[o->settings_count++]);
    o->compare = true;
}

static bool asks_about_a_recording(const explain_options *o) {
    return o->when != EXPLAIN_DEFAULT || o->compare || o->capacity || o->map_path || o->device >= 0 || o->version ||
           o->second_search;
}

static void check_arguments(const struct argp_state *state, const void *read) {
    const explain_options *o = read;
    if (!o->path) argument_error(state, "expected a FILE: a recording, an arena or a report");
    if (o->request && (asks_about_a_recording(o) || o->kernel || o->pe >= 0))
        argument_error(state, "--request explains an arena and excludes all options but --json");
    if ((o->kernel || o->pe >= 0) && asks_about_a_recording(o))
        argument_error(state, "--kernel and --pe explain a report and exclude all options but --json");
}

#define AT(member) offsetof(explain_options, member)

static const option_row option_table[] = {
    {"device", 0, "N", option_device, AT(device), "device of the recording (default: the first with recorded entries)"},
    {"at", 0, "ENTRY|oom|peak", read_when, 0,
     "moment to explain: an entry, counted from 0; the last oom; or the peak of allocated bytes (default: oom, else "
     "peak)"},
    {"capacity", 0, "SIZE", option_size, AT(capacity),
     "bytes that the allocator may reserve (default: from the recording)"},
    {"compare", 0, NULL, option_flag, AT(compare),
     "replay the program with other settings, even if memory did not run out"},
    {"second-search", 0, NULL, option_flag, AT(second_search),
     "in these replays, search the cached blocks once more after cached memory was released, as an immediate retry "
     "does; PyTorch does not"},
    {"settings", 0, "TEXT", read_settings, 0,
     "one more setting to compare, as in PYTORCH_CUDA_ALLOC_CONF (repeatable)"},
    {"pytorch", 0, "VERSION", option_segment_version, AT(version),
     "version of PyTorch whose rules apply: 2.1 or later, newest (default), or 193400"},
    {"request", 0, "SIZE", option_size, AT(request),
     "for an arena that `tlmalloc age` wrote: explain why a request of SIZE fails"},
    {"map", 0, "FILE.svg", option_text, AT(map_path), "draw the segments at that moment"},
    {"kernel", 0, "NAME|FILE", option_text, AT(kernel),
     "for a report of `tlmalloc run': the kernel; or your own kernel file that the run used, to try changes with it"},
    {"pe", 0, "N", option_number, AT(pe),
     "for a report: explain the time of this PE's kernel (default: of the critical path)", 0, INT32_MAX,
     "a PE number from 0 on"},
    {"json", 0, "FILE", option_text, AT(json_path), "write the report"},
    {0}};

static const char description[] =
    "Explains a PyTorch recording, an aged arena, or the report of a run. For a recording "
    "(torch.cuda.memory._dump_snapshot) it prints the memory that was reserved but unusable when memory ran out, or at "
    "another moment. It also prints what kept that memory, and which settings would have served the request. For a "
    "snapshot without history it prints the memory of the segments. For an "
    "arena that `tlmalloc age` wrote, and --request, it prints why the arena cannot serve the request. For a report "
    "that `tlmalloc run --json` wrote, it prints where the kernels spent their time along the critical path, the most "
    "that each part costs, and what to change first.\v"
    "Exit status: 0 the file was explained, 1 a file cannot be read or written, 2 bad usage, a bad recording or "
    "report.";

/* The reader of recordings; NULL: none. */
static explain_recording *recording;

void explain_recordings_by(explain_recording *explainer) {
    recording = explainer;
}

/* An arena, and text that is not JSON, are not recordings: their errors name the files that the command explains. The
 * reader of recordings handles files that cannot be read, are empty or compressed. */
static tla_status check_kind(const char *path, tla_error *error) {
    char begin[16] = "";
    struct stat what;
    FILE *const file = stat(path, &what) == 0 && S_ISREG(what.st_mode) ? fopen(path, "rb") : NULL;
    const size_t length = file ? fread(begin, 1, sizeof begin - 1, file) : 0;
    if (file) fclose(file);
    if (strcmp(begin, "tlmalloc-arena ") == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%.200s: an arena of `tlmalloc age` needs --request SIZE",
                             path);
    if (length && isgraph((unsigned char)begin[0]) && begin[0] != '{' && begin[0] != '[' &&
        !trace_pickle_begins(begin, length))
        return tla_error_set(
            error, TLA_SYNTAX,
            "%.200s:1:1: found '%c', expected a report of `tlmalloc run --json`, an arena of `tlmalloc "
            "age` or a memory snapshot of PyTorch",
            path, begin[0]);
    return TLA_OK;
}

static tla_status explain_the_recording(const explain_options *o, FILE *map, FILE *json, tla_error *error) {
    if (!recording)
        return tla_error_set(error, TLA_UNSUPPORTED, "%.200s: not a report of a run, and no recording can be read: %s",
                             o->path, TRACE_NO_TORCH);
    const explain_question question = {.path = o->path,
                                       .device = o->device,
                                       .when = o->when,
                                       .entry = o->entry,
                                       .capacity = o->capacity,
                                       .second_search = o->second_search,
                                       .compare = o->compare || o->second_search,
                                       .version = o->version,
                                       .settings = o->settings,
                                       .settings_count = o->settings_count};
    return recording(&question, map, json, error);
}

static tla_status explain(const explain_options *o, tla_error *error) {
    FILE *map = NULL, *json = NULL;
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
                                 "%.200s: the report of a run excludes all options but --kernel, --pe and --json",
                                 o->path);
        status = explain_run(o->path, o->kernel, o->pe, output_table(), json, error);
        return status ? status : output_commit(error);
    }
    if (!status) status = check_kind(o->path, error);
    return status ? status : explain_the_recording(o, map, json, error);
}

static const command_line parser = {
    "FILE", description, option_table, {"FILE", .read = argument_once, .member = AT(path)}, check_arguments};

int tlmalloc_explain(int argc, char **argv) {
    explain_options options = {.device = -1, .pe = -1};
    command_line_read(&parser, argc, argv, &options);
    tla_error error = {0};
    tla_status status = explain(&options, &error);
    if (status && error.text[0]) fprintf(stderr, "%s: %s\n", argv[0], error.text);
    return cli_exit_status(status);
}
