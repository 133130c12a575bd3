// `tlmalloc report REPORT [REPORT2]`: a page for the browser, in one file, of one run or of two side by side.
#include "cli/commands.h"
#include "cli/config_json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/event_columns.hpp"
#include "report/report_input.h"
#include "report/report_page.hpp"
#include "report/report_topology.h"
#include "tlmalloc/version.h"

#include <cstring>
#include <memory>

namespace {

using namespace tlmalloc;

using json_pointer = std::unique_ptr<json_t, decltype(&json_decref)>;

enum { RUNS_MAX = 2 };

struct options {
    const char *reports[RUNS_MAX], *logs[RUNS_MAX]; // a log for each report, the first for the first
    std::size_t report_count, log_count;
    const char *output;
    std::uint64_t limit;
    const char *d3; // nullptr: Debian's
};

void read_log(const argp_state *state, const option_row *option, const char *text, void *member) {
    auto &o = *static_cast<options *>(member);
    if (o.log_count == RUNS_MAX)
        argument_error(state, "--%s: found a third log '%s', expected one for each REPORT", option->name, text);
    o.logs[o.log_count++] = text;
}

void read_report(const argp_state *state, const option_row *, const char *text, void *member) {
    auto &o = *static_cast<options *>(member);
    if (o.report_count == RUNS_MAX)
        argument_error(state, "found a third argument '%s', expected one or two REPORTs", text);
    o.reports[o.report_count++] = text;
}

void check_arguments(const argp_state *state, const void *read) {
    const auto &o = *static_cast<const options *>(read);
    if (!o.report_count) argument_error(state, "expected a REPORT, which commands write with --json");
    if (o.log_count > o.report_count) argument_error(state, "--events: expected at most one log for each REPORT");
}

const option_row option_table[] = {
    {"output", 'o', "FILE.html", option_text, offsetof(options, output), "the page (default: report.html)"},
    {"events", 'e', "FILE", read_log, 0,
     "event log of the run (`run --events'); a second --events is the log of REPORT2"},
    {"limit", 0, "SIZE", option_size, offsetof(options, limit), "write no page larger than SIZE (default: 256 MiB)"},
    {"d3", 0, "DIR", option_text, offsetof(options, d3),
     "directory of d3.min.js (d3 3.5) and of its licence, the file copyright (default: Debian's libjs-d3)"},
    {}};

const command_line parser = {
    "REPORT [REPORT2]",
    "Writes a page for the browser from a report that another command wrote as JSON. The page is one file and loads no "
    "other. With a second report of the same command, the page shows both side by side, with their differences.\v"
    "Exit status: 0 the page was written, 1 a file cannot be read or written, 2 bad usage, a bad report, or a page "
    "larger than the limit.",
    option_table,
    {"REPORT", 0, nullptr, read_report},
    check_arguments};

// The page's data of one report.
json_t *run_to_json(const char *path, const char *kind, json_t *report) {
    json_t *run = json_object();
    json_object_set_new(run, "file", json_from_text(path));
    json_object_set_new(run, "kind", json_string(kind));
    json_object_set(run, "report", report);
    if (std::strcmp(kind, "run") == 0)
        json_object_set_new(run, "topology", report_topology(json_object_get(report, "config")));
    return run;
}

tla_status add_reports(const options &o, json_t *runs, std::string *kind, tla_error *error) {
    for (std::size_t i = 0; i < o.report_count; i++) {
        const char *const path = o.reports[i], *found = nullptr;
        json_t *report = nullptr;
        const tla_status status = report_input_read(path, &found, &report, error);
        const json_pointer owner(report, &json_decref);
        if (status) return status;
        if (!kind->empty() && *kind != found)
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "%.200s: found a report of `tlmalloc %s', expected one of `tlmalloc %s', like the first report", path,
                found, kind->c_str());
        *kind = found;
        json_array_append_new(runs, run_to_json(path, found, report));
    }
    return TLA_OK;
}

// Reads the logs, which are of these runs, into elements of the page.
tla_status add_logs(const options &o, json_t *runs, const std::string &kind, std::string *elements, tla_error *error) {
    for (std::size_t i = 0; i < o.log_count; i++) {
        if (kind != "run")
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "--events: found a report of `tlmalloc %s', expected one of `tlmalloc run'",
                                 kind.c_str());
        event_columns columns;
        if (const tla_status status = read_event_columns(o.logs[i], &columns, error)) return status;
        json_t *const run = json_array_get(runs, i);
        const json_t *const report = json_object_get(run, "report");
        const json_t *const end = json_object_get(columns.head.get(), "end_ps");
        const std::size_t kernels = json_array_size(json_object_get(report, "kernels"));
        if (!json_equal(end, json_object_get(report, "sim_time_ps")) ||
            kernels > json_array_size(json_object_get(columns.head.get(), "pes")))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%.200s: the log belongs to another run than %.150s: the end time or the PEs differ; "
                                 "pass the log of that run",
                                 o.logs[i], o.reports[i]);
        json_object_set(run, "events", columns.head.get());
        add_bytes_element(*elements, "tlmalloc-events-" + std::to_string(i), columns.bytes);
    }
    return TLA_OK;
}

d3_files d3_of(const options &o) {
    if (!o.d3) return {};
    return {std::string(o.d3) + "/d3.min.js", std::string(o.d3) + "/copyright"};
}

tla_status write_page(const options &o, tla_error *error) {
    std::FILE *out = nullptr;
    for (std::size_t i = 0; i < o.report_count; i++)
        output_protect(o.reports[i]);
    for (std::size_t i = 0; i < o.log_count; i++)
        output_protect(o.logs[i]);
    tla_status status = output_open("--output", o.output, &out, error);
    if (status) return status;
    const json_pointer data(json_object(), &json_decref);
    json_t *runs = json_array();
    json_object_set_new(data.get(), "version", json_string(tla_version()));
    json_object_set_new(data.get(), "runs", runs);
    std::string kind, elements, page;
    if ((status = add_reports(o, runs, &kind, error))) return status;
    if ((status = add_logs(o, runs, kind, &elements, error))) return status;
    if (kind == "run") json_object_set_new(data.get(), "defaults", report_defaults());
    add_data_element(elements, "tlmalloc-data", data.get());
    if ((status = make_page(d3_of(o), elements, &page, error))) return status;
    if (page.size() > o.limit)
        return tla_error_set(error, TLA_LIMIT,
                             "%.200s: the page would have %zu bytes, more than the limit of %ju: raise --limit",
                             o.output, page.size(), static_cast<std::uintmax_t>(o.limit));
    std::fwrite(page.data(), 1, page.size(), out);
    std::fprintf(output_table(), "%s: %.1f MB, open it in a browser\n", o.output,
                 static_cast<double>(page.size()) / 1e6);
    return output_commit(error);
}

} // namespace

int tlmalloc_report(int argc, char **argv) {
    options o{};
    o.output = "report.html";
    o.limit = std::uint64_t{256} << 20;
    command_line_read(&parser, argc, argv, &o);
    tla_error error{};
    const tla_status status = write_page(o, &error);
    if (status && error.text[0]) std::fprintf(stderr, "%s: %s\n", argv[0], error.text);
    return cli_exit_status(status);
}
