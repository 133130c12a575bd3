/* Reads reports, and finds out which command wrote them. */
#include "report/report_input.h"

#include "cli/read_text.h"
#include "tlmalloc/version.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_BYTES_MAX ((size_t)1 << 30)

/* Keys that a command writes always, and that no kind above it has all of. */
typedef struct report_kind {
    const char *name, *keys[4];
} report_kind;

static const report_kind kinds[] = {
    {"run", {"sim_time_ps", "kernels", "config", "critical_path"}},
    {"replay --config", {"trace", "speed", "latency_ps"}},
    {"replay --compare", {"trace", "policies", "prices_ps"}},
    {"replay --as-recorded", {"trace", "recorded"}},
    {"replay", {"trace", "config", "peak_used_bytes"}},
    {"serve", {"trace", "settings", "kv"}},
    {"plan", {"trace", "buffers", "methods"}},
    {"explain REPORT", {"report", "shares", "changes"}},
    {"explain --request", {"arena", "request", "served"}},
    {"explain", {"trace", "entry", "reserved"}},
    {"traffic", {"window", "bandwidth_gb_s"}},
    {"probe", {"cases", "checks"}},
    {"reproduce", {"experiments"}},
    {"study", {"factors", "figure"}},
};

static bool has_keys(const json_t *report, const report_kind *kind) {
    for (size_t i = 0; i < sizeof kind->keys / sizeof *kind->keys && kind->keys[i]; i++)
        if (!json_object_get(report, kind->keys[i])) return false;
    return true;
}

static tla_status find_kind(const char *path, const json_t *report, const char **kind, tla_error *error) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (has_keys(report, &kinds[i])) {
            *kind = kinds[i].name;
            return TLA_OK;
        }
    return tla_error_set(error, TLA_SYNTAX, "%.200s: found JSON of no command, expected a report (--json)", path);
}

/* The keys identify other reports: they have no version. */
static tla_status check_version(const char *path, const json_t *report, const char *kind, tla_error *error) {
    const char *const version = json_string_value(json_object_get(report, "version"));
    if (strcmp(kind, "run") != 0 || (version && strcmp(version, tla_version()) == 0)) return TLA_OK;
    return tla_error_set(error, TLA_SYNTAX, "%.200s: found a report of %s%.40s, expected version %s: run again", path,
                         version ? "version " : "no version", version ? version : "", tla_version());
}

/* Recognises files that users confuse with a report, and returns advice; NULL for any other file. */
static const char *other_kind(const char *text, size_t length) {
    static const struct {
        const char *begin, *says;
    } kinds_of_file[] = {
        {"{\"format\":\"tlmalloc events\"",
         "found an event log, expected a report: name the report of the run and pass the log as --events LOG"},
        {"\x1f\x8b", "found a compressed file, expected a report: pass a compressed event log as --events LOG"},
        {"SQLite format 3",
         "found results of a sweep, expected a report: write a report of them with `tlmalloc study --json'"}};
    for (size_t i = 0; i < sizeof kinds_of_file / sizeof *kinds_of_file; i++) {
        const size_t whole = strlen(kinds_of_file[i].begin);
        if (length >= whole && memcmp(text, kinds_of_file[i].begin, whole) == 0) return kinds_of_file[i].says;
    }
    return NULL;
}

tla_status report_input_read(const char *path, const char **kind, json_t **report, tla_error *error) {
    char *text = NULL;
    size_t length = 0;
    json_error_t problem;
    *report = NULL;
    tla_status status = read_text(path, REPORT_BYTES_MAX, &text, &length, error);
    if (status) return status;
    const char *const other = other_kind(text, length);
    json_t *const read = other ? NULL : json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    if (other) return tla_error_set(error, TLA_SYNTAX, "%.200s: %s", path, other);
    if (!read)
        return tla_error_set(error, TLA_SYNTAX, "%.200s:%d:%d: invalid JSON (%.100s), expected a complete report", path,
                             problem.line, problem.column, problem.text);
    status = find_kind(path, read, kind, error);
    if (!status) status = check_version(path, read, *kind, error);
    if (status)
        json_decref(read);
    else
        *report = read;
    return status;
}
