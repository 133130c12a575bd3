// `tlmalloc report REPORT [REPORT2]`: a page for the browser, in one file, of one run or of two side by side.
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/config_json.h"
#include "cli/output.h"
#include "cli/size_argument.h"
#include "report/event_columns.hpp"
#include "report/report_input.h"
#include "report/report_page.hpp"
#include "report/report_topology.h"
#include "tlmalloc/version.h"

#include <cstring>
#include <memory>
#include <vector>

namespace {

using namespace tlmalloc;

using json_pointer = std::unique_ptr<json_t, decltype(&json_decref)>;

struct options {
    std::vector<const char *> reports, logs; // a log for each report, the first for the first
    const char *output = "report.html";
    std::uint64_t limit = std::uint64_t{256} << 20;
    d3_files d3;
};

enum { KEY_D3 = 256, KEY_LIMIT };

const argp_option option_table[] = {
    {"output", 'o', "FILE.html", 0, "the page (default: report.html)", 0},
    {"events", 'e', "FILE", 0, "the event log of the run (`run --events'); repeated, of the second report's", 0},
    {"limit", KEY_LIMIT, "SIZE", 0, "write no page that is larger (default: 256 MiB)", 0},
    {"d3", KEY_D3, "DIR", 0, "where d3.min.js of d3 3.5 is and its licence, copyright (default: Debian's libjs-d3)", 0},
    {nullptr, 0, nullptr, 0, nullptr, 0}};

error_t parse_option(int key, char *text, argp_state *state) {
    auto &o = *static_cast<options *>(state->input);
    switch (key) {
    case 'o':
        o.output = text;
        return 0;
    case 'e':
        if (o.logs.size() == 2)
            argument_error(state, "--events: found a third, '%s', expected one for each REPORT", text);
        o.logs.push_back(text);
        return 0;
    case KEY_LIMIT:
        o.limit = size_argument(state, "--limit", text);
        return 0;
    case KEY_D3:
        o.d3 = {std::string(text) + "/d3.min.js", std::string(text) + "/copyright"};
        return 0;
    case ARGP_KEY_ARG:
        if (o.reports.size() == 2)
            argument_error(state, "found a third argument '%s', expected one or two REPORTs", text);
        o.reports.push_back(text);
        return 0;
    case ARGP_KEY_END:
        if (o.reports.empty()) argument_error(state, "expected a REPORT, as commands write with --json");
        if (o.logs.size() > o.reports.size()) argument_error(state, "--events: expected one for each REPORT at most");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const argp parser = {option_table,
                     parse_option,
                     "REPORT [REPORT2]",
                     "Writes a page for the browser, one file that loads nothing from anywhere, of a report that "
                     "another command wrote as JSON; with a second report of the same command both stand in it "
                     "side by side, with what differs.\v"
                     "Exit status: 0 the page is written, 1 a file cannot be read or written, 2 bad usage or a bad "
                     "report, or a page larger than the limit.",
                     nullptr,
                     nullptr,
                     nullptr};

// What the page knows of one report.
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
    for (const char *path : o.reports) {
        const char *found = nullptr;
        json_t *report = nullptr;
        const tla_status status = report_input_read(path, &found, &report, error);
        const json_pointer owner(report, &json_decref);
        if (status) return status;
        if (!kind->empty() && *kind != found)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%.200s: found a report of `tlmalloc %s', expected one of `tlmalloc %s' as the first",
                                 path, found, kind->c_str());
        *kind = found;
        json_array_append_new(runs, run_to_json(path, found, report));
    }
    return TLA_OK;
}

// Reads the logs, which are of these runs, into elements of the page.
tla_status add_logs(const options &o, json_t *runs, const std::string &kind, std::string *elements, tla_error *error) {
    for (std::size_t i = 0; i < o.logs.size(); i++) {
        if (kind != "run")
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "--events: found reports of `tlmalloc %s', expected of "
                                 "`tlmalloc run'",
                                 kind.c_str());
        event_columns columns;
        if (const tla_status status = read_event_columns(o.logs[i], &columns, error)) return status;
        json_t *const run = json_array_get(runs, i);
        const json_t *const report = json_object_get(run, "report");
        const json_t *const end = json_object_get(columns.head.get(), "end_ps");
        const std::size_t kernels = json_array_size(json_object_get(report, "kernels"));
        if (!json_equal(end, json_object_get(report, "sim_time_ps")) ||
            kernels > json_array_size(json_object_get(columns.head.get(), "pes")))
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "%.200s: found a log of another run, expected that of %.150s: its end or its PEs differ", o.logs[i],
                o.reports[i]);
        json_object_set(run, "events", columns.head.get());
        add_bytes_element(*elements, "tlmalloc-events-" + std::to_string(i), columns.bytes);
    }
    return TLA_OK;
}

tla_status write_page(const options &o, tla_error *error) {
    std::FILE *out = nullptr;
    for (const char *path : o.reports)
        output_protect(path);
    for (const char *path : o.logs)
        output_protect(path);
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
    if ((status = make_page(o.d3, elements, &page, error))) return status;
    if (page.size() > o.limit)
        return tla_error_set(error, TLA_LIMIT, "%.200s: the page would have %zu bytes, expected at most %ju (--limit)",
                             o.output, page.size(), static_cast<std::uintmax_t>(o.limit));
    std::fwrite(page.data(), 1, page.size(), out);
    std::fprintf(output_table(), "%s: %.1f MB, open it in a browser\n", o.output,
                 static_cast<double>(page.size()) / 1e6);
    return output_commit(error);
}

} // namespace

int tlmalloc_report(int argc, char **argv) {
    options o;
    parse_arguments(&parser, argc, argv, &o);
    tla_error error{};
    const tla_status status = write_page(o, &error);
    if (status && error.text[0]) std::fprintf(stderr, "%s: %s\n", argv[0], error.text);
    return cli_exit_status(status);
}
