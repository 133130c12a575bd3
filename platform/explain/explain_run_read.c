/* Reads the parts of a report that an explanation needs. */
#include "explain/explain_run.h"

#include "cli/read_text.h"
#include "tlmalloc/version.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define REPORT_BYTES_MAX ((size_t)1 << 30)

typedef struct reader {
    const char *path, *text; /* text: to find lines in */
    tla_error *error;
} reader;

/* The line on which a key stands first; 1 where it does not. */
static unsigned line_of(const char *text, const char *key) {
    char quoted[64];
    unsigned line = 1;
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *const found = strstr(text, quoted);
    for (const char *at = text; found && at < found; at++)
        line += *at == '\n';
    return line;
}

/* Reports a finding in the part of the report that begins with this key. */
static tla_status __attribute__((format(printf, 4, 5)))
wrong(const reader *r, tla_status status, const char *key, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tla_error_set(r->error, status, "%.200s:%u: %s", r->path, line_of(r->text, key), text);
}

bool is_run_report(const char *path) {
    /* How reports begin, as they are written and with sorted keys; no recording of PyTorch begins so. */
    static const char *const firsts[] = {"\"sim_time_ps\"", "\"config\"",  "\"trace\"",  "\"experiments\"", "\"name\"",
                                         "\"arena\"",       "\"version\"", "\"report\"", "\"command\""};
    char begin[256] = {0};
    struct stat what;
    if (stat(path, &what) || !S_ISREG(what.st_mode)) return false;
    FILE *const file = fopen(path, "rb");
    if (!file) return false;
    const size_t length = fread(begin, 1, sizeof begin - 1, file);
    fclose(file);
    const char *at = begin;
    if (length >= 3 && memcmp(begin, "\xef\xbb\xbf", 3) == 0) at += 3;
    while (isspace((unsigned char)*at))
        at++;
    if (*at++ != '{') return false;
    while (isspace((unsigned char)*at))
        at++;
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        const size_t there = strlen(at), whole = strlen(firsts[i]);
        if (there > 2 && strncmp(at, firsts[i], there < whole ? there : whole) == 0) return true;
    }
    return false;
}

/* A number that is not negative; TLA_SYNTAX when `object` has none under this key. */
static tla_status number_of(const reader *r, const char *part, const json_t *object, const char *key,
                            uint64_t *number) {
    const json_t *const value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return wrong(r, TLA_SYNTAX, part, "%s: \"%s\" is missing, or not a number from 0 on", part, key);
    *number = (uint64_t)json_integer_value(value);
    return TLA_OK;
}

static time_topic topic_of(tla_time_kind kind) {
    static const time_topic topics[TLA_TIME_KIND_COUNT] = {[TLA_TIME_OTHER] = TOPIC_OTHER,
                                                           [TLA_TIME_DISPATCH] = TOPIC_DISPATCH,
                                                           [TLA_TIME_ALLOC] = TOPIC_ALLOCATION,
                                                           [TLA_TIME_ALLOC_QUEUE] = TOPIC_ALLOCATION_QUEUE,
                                                           [TLA_TIME_ENGINE_QUEUE] = TOPIC_ENGINES,
                                                           [TLA_TIME_ISSUE] = TOPIC_ISSUE,
                                                           [TLA_TIME_LOOKUP] = TOPIC_LOOKUPS,
                                                           [TLA_TIME_WALK] = TOPIC_WALKS,
                                                           [TLA_TIME_FAULT] = TOPIC_FAULTS,
                                                           [TLA_TIME_MOVE] = TOPIC_MOVES,
                                                           [TLA_TIME_LINK] = TOPIC_LINKS,
                                                           [TLA_TIME_BANK] = TOPIC_MEMORY,
                                                           [TLA_TIME_TCM] = TOPIC_TCM,
                                                           [TLA_TIME_TILE] = TOPIC_TILES,
                                                           [TLA_TIME_ARITHMETIC] = TOPIC_ARITHMETIC,
                                                           [TLA_TIME_MESSAGE_WAIT] = TOPIC_MESSAGE_WAIT,
                                                           [TLA_TIME_MESSAGE_CREDIT] = TOPIC_CREDIT,
                                                           [TLA_TIME_MESSAGE] = TOPIC_MESSAGES,
                                                           [TLA_TIME_HOST_ALLOC] = TOPIC_ALLOCATION,
                                                           [TLA_TIME_HOST_COMMAND] = TOPIC_COMMANDS,
                                                           [TLA_TIME_HOST_MAP] = TOPIC_MAPPING,
                                                           [TLA_TIME_HOST_COPY] = TOPIC_COPIES,
                                                           [TLA_TIME_HOST_LAUNCH] = TOPIC_LAUNCH};
    return topics[kind];
}

static tla_time_kind kind_of(const char *name) {
    int kind = 0;
    while (kind < TLA_TIME_KIND_COUNT && strcmp(tla_time_kind_name((tla_time_kind)kind), name) != 0)
        kind++;
    return (tla_time_kind)kind;
}

/* Rows come with the longest first, so the first places are those with most. */
static void add_place(topic_share *share, const json_t *row, const char *name, uint64_t ps) {
    if (share->place_count++ >= TOPIC_PLACES_MAX) return;
    const json_t *const unit = json_object_get(row, "unit_ps");
    share->places[share->place_count - 1] = (topic_place){name,
                                                          ps,
                                                          json_is_integer(unit),
                                                          (uint64_t)json_integer_value(json_object_get(row, "channel")),
                                                          (uint64_t)json_integer_value(json_object_get(row, "bank")),
                                                          (uint64_t)json_integer_value(unit)};
}

static int by_time(const void *left, const void *right) {
    const topic_share *const a = left, *const b = right;
    if (a->ps != b->ps) return a->ps > b->ps ? -1 : 1;
    return a->topic < b->topic ? -1 : 1;
}

/* Fills the shares in from the rows of `object`, which make all of the time, or the report has been changed. */
static tla_status read_shares(const reader *r, const char *part, const json_t *object, run_explained *out) {
    const json_t *const rows = json_object_get(object, "went");
    topic_share all[TOPIC_COUNT] = {0};
    uint64_t sum = 0;
    if (!json_is_array(rows) || json_array_size(rows) == 0)
        return wrong(r, TLA_SYNTAX, part,
                     "%s: the account of the time (\"went\") is missing, expected a report of this version, of a run "
                     "whose kernels have started",
                     part);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *const row = json_array_get(rows, i);
        const char *const name = json_string_value(json_object_get(row, "kind"));
        const char *const place = json_string_value(json_object_get(row, "place"));
        uint64_t ps = 0;
        const tla_time_kind kind = name ? kind_of(name) : TLA_TIME_KIND_COUNT;
        if (kind == TLA_TIME_KIND_COUNT)
            return wrong(r, TLA_SYNTAX, part,
                         "%s: found a time of kind \"%.40s\" (went[%zu]), expected a kind such as %s", part,
                         name ? name : "", i, "\"alloc\" or \"walk\"");
        const tla_status status = number_of(r, part, row, "ps", &ps);
        if (status) return status;
        topic_share *const share = &all[topic_of(kind)];
        share->ps += ps;
        sum += ps;
        if (place) add_place(share, row, place, ps);
    }
    if (sum != out->end_ps - out->begin_ps)
        return wrong(r, TLA_SYNTAX, part,
                     "%s: the times add up to %" PRIu64 " ps, expected %" PRIu64 ": the report was edited: run again",
                     part, sum, out->end_ps - out->begin_ps);
    for (int i = 0; i < TOPIC_COUNT; i++) {
        all[i].topic = (time_topic)i;
        if (all[i].ps) out->shares[out->share_count++] = all[i];
    }
    qsort(out->shares, out->share_count, sizeof *out->shares, by_time);
    return TLA_OK;
}

static tla_status check_kind(const reader *r, const json_t *report) {
    const char *const version = json_string_value(json_object_get(report, "version"));
    if (!json_is_array(json_object_get(report, "kernels")) || !json_is_object(json_object_get(report, "config")))
        return wrong(r, TLA_SYNTAX, "", "found a report of another command, expected one of `tlmalloc run --json'");
    if (!version)
        return wrong(r, TLA_SYNTAX, "version", "found no \"version\", expected a report of version %s: run again",
                     tla_version());
    if (strcmp(version, tla_version()) != 0)
        return wrong(r, TLA_SYNTAX, "version", "found a report of version %.40s, expected %s: run again", version,
                     tla_version());
    return TLA_OK;
}

/* All kernels of a run are the same. */
static tla_status check_kernel(const reader *r, const json_t *kernels, const char *kernel, run_explained *out) {
    out->kernel = json_string_value(json_object_get(json_array_get(kernels, 0), "name"));
    if (!out->kernel) return wrong(r, TLA_SYNTAX, "kernels", "kernels: the first kernel has no name: run again");
    if (kernel && strcmp(kernel, out->kernel) != 0)
        return wrong(r, TLA_NOT_FOUND, "kernels", "found kernel '%.60s', expected the kernel of the run, %.60s", kernel,
                     out->kernel);
    return TLA_OK;
}

static tla_status read_one(const reader *r, const json_t *kernels, int64_t pe, run_explained *out) {
    const size_t count = json_array_size(kernels);
    if ((uint64_t)pe >= count)
        return wrong(r, TLA_NOT_FOUND, "kernels", "unknown PE %" PRId64 ", expected 0 to %zu", pe, count - 1);
    const json_t *const row = json_array_get(kernels, (size_t)pe);
    char part[40];
    snprintf(part, sizeof part, "kernels[%" PRId64 "]", pe);
    tla_status status = number_of(r, "kernels", row, "start_ps", &out->begin_ps);
    if (!status) status = number_of(r, "kernels", row, "end_ps", &out->end_ps);
    out->pe = json_string_value(json_object_get(row, "pe"));
    if (!status && (!out->pe || out->end_ps < out->begin_ps))
        status =
            wrong(r, TLA_SYNTAX, "kernels", "%s: the PE is missing, or the end is before the start: run again", part);
    if (!status && out->begin_ps > 0 && out->end_ps == out->begin_ps)
        status = wrong(r, TLA_NOT_FOUND, "kernels",
                       "%s: the kernel on %.60s took no time, because its program had no work: name another PE", part,
                       out->pe);
    return status ? status : read_shares(r, "kernels", row, out);
}

static tla_status read_path(const reader *r, const json_t *report, run_explained *out) {
    const json_t *const path = json_object_get(report, "critical_path");
    out->pe = json_string_value(json_object_get(path, "pe"));
    if (!out->pe)
        return wrong(r, TLA_SYNTAX, "critical_path",
                     "critical_path: the path from start to end is missing: the kernels of this run did not start, or "
                     "were stopped; read \"message\" in the report, and run again");
    const tla_status status = number_of(r, "critical_path", path, "end_ps", &out->end_ps);
    return status ? status : read_shares(r, "critical_path", path, out);
}

tla_status explain_run_read(const char *path, const char *kernel, int64_t pe, json_t **report, run_explained *out,
                            tla_error *error) {
    char *text = NULL;
    size_t length = 0;
    json_error_t problem;
    *report = NULL;
    *out = (run_explained){.path = path, .of_one_pe = pe >= 0, .pe_number = pe};
    tla_status status = read_text(path, REPORT_BYTES_MAX, &text, &length, error);
    if (status) return status;
    const reader r = {path, text, error};
    *report = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (!*report) {
        status = tla_error_set(error, TLA_SYNTAX, "%.200s:%d:%d: invalid JSON (%.100s), expected a complete report",
                               path, problem.line, problem.column, problem.text);
    } else {
        const json_t *const kernels = json_object_get(*report, "kernels");
        status = check_kind(&r, *report);
        out->report = *report;
        out->config = json_object_get(*report, "config");
        if (!status) status = check_kernel(&r, kernels, kernel, out);
        if (!status) status = pe >= 0 ? read_one(&r, kernels, pe, out) : read_path(&r, *report, out);
    }
    free(text);
    return status;
}
