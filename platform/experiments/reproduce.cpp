// `tlmalloc reproduce [NAME]`: runs experiments and compares them with published figures.
#include "cli/commands.h"
#include "cli/gnuplot.h"
#include "cli/installed.hpp"
#include "cli/json_writer.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report_words.hpp"
#include "experiments/experiment_plot.hpp"
#include "experiments/experiment_simulation.hpp"
#include "model/base/suggest.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace {

using namespace tlmalloc;

// Returns the folder of experiments: in the command's working directory, otherwise the folder installed beside the
// program.
std::string experiments_folder() {
    const char *const here = "configs/experiments";
    std::error_code problem;
    if (std::filesystem::is_directory(here, problem)) return here;
    return installed(std::filesystem::path(TLMALLOC_DATA) / here);
}

// Returns the folder of data that are not installed: beside the repository, like its own folders.
std::string data_folder(const std::string &experiments) {
    std::error_code problem;
    const std::filesystem::path folder = std::filesystem::canonical(experiments, problem);
    return (folder / "../../../shared/data").lexically_normal().string();
}

// The arguments of the command line; nullptr: not given.
struct arguments {
    const char *name, *from, *data, *json, *plot;
};

const option_row option_table[] = {
    {"json", 'j', "FILE", option_text, offsetof(arguments, json), "write the rows as JSON"},
    {"plot", 'p', "DIR", option_text, offsetof(arguments, plot),
     "write data, a gnuplot script and, if gnuplot is installed, an SVG for each experiment"},
    {"from", 'f', "DIR", option_text, offsetof(arguments, from),
     "directory of the experiments (default: configs/experiments, here or as installed with tlmalloc)"},
    {"data", 'd', "DIR", option_text, offsetof(arguments, data),
     "directory of data that tlmalloc does not include (default: shared/data beside the repository); rows without "
     "their data are skipped"},
    {}};

void read_name(const argp_state *state, const option_row *option, const char *text, void *name) {
    argument_once(state, option, text, name);
    if (!*text) argument_error(state, "found an empty NAME, expected an experiment, or no NAME for all experiments");
}

const command_line parser = {
    "[NAME]",
    "Runs the experiment NAME, or all short experiments, and compares each row with the published value. NAME is the "
    "name of a file in --from without .yaml, the part of that name in front of an underscore, or a path. Long "
    "experiments run only by name. Exit status 1: a row is outside its bound.",
    option_table,
    {"NAME", 0, nullptr, read_name, offsetof(arguments, name)},
    nullptr};

// With what stands for nothing.
struct options {
    std::string name, from, data;
    const char *json, *plot;

    explicit options(const arguments &said)
        : name(said.name ? said.name : ""), from(experiments_folder()), data(said.data ? said.data : data_folder(from)),
          json(said.json), plot(said.plot) {
        if (said.from) from = said.from;
    }
};

// All experiments in a folder, by name.
std::vector<std::string> files_in(const std::string &folder) {
    std::vector<std::string> files;
    std::error_code problem;
    for (const auto &entry : std::filesystem::directory_iterator(folder, problem))
        if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

void refuse_name(const options &o, const std::vector<std::string> &files) {
    tla_nearest nearest = tla_nearest_to(o.name.c_str());
    std::string names;
    for (const std::string &file : files) {
        const std::string name = std::filesystem::path(file).stem().string();
        tla_nearest_try(&nearest, name.c_str(), name.size());
        names += " " + name;
    }
    print_message("tlmalloc reproduce: found '%s', expected an experiment of %s:%s%s%s%s", o.name.c_str(),
                  o.from.c_str(), names.c_str(), nearest.found ? ", did you mean \"" : "",
                  nearest.found ? nearest.name.text : "", nearest.found ? "\"?" : "");
}

// Finds the files to run. No files, and a message: CLI_FAILED if no file exists, CLI_BAD_INPUT for an unknown name.
int find_files(const options &o, std::vector<std::string> &files) {
    if (o.name.find('/') != std::string::npos || o.name.find(".yaml") != std::string::npos) { // a path
        files = {o.name};
        return CLI_OK;
    }
    files = files_in(o.from);
    if (files.empty()) {
        print_message("tlmalloc reproduce: %s has no experiments: name another folder with --from", o.from.c_str());
        return CLI_FAILED;
    }
    if (o.name.empty()) return CLI_OK;
    std::vector<std::string> named;
    for (const std::string &file : files) {
        const std::string name = std::filesystem::path(file).stem().string();
        if (name == o.name || name.compare(0, o.name.size() + 1, o.name + "_") == 0) named.push_back(file);
    }
    if (named.empty()) {
        refuse_name(o, files);
        return CLI_BAD_INPUT;
    }
    files = named;
    return CLI_OK;
}

experiment_result compare(const experiment_row &row, double model) {
    experiment_result r;
    r.model = model;
    r.missed = row.at_most && row.missing.empty() && !(model <= *row.at_most);
    if (!row.reference || !row.missing.empty()) return r;
    const double reference = *row.reference;
    r.deviation_pct = reference != 0 ? 100 * (model - reference) / reference : model == 0 ? 0 : 100;
    r.missed = row.bound_pct && std::abs(*r.deviation_pct) > *row.bound_pct;
    return r;
}

// Returns remarks about a row's figure for readers, a line each.
std::vector<std::string> remarks(const experiment_row &row) {
    std::vector<std::string> lines;
    if (!row.missing.empty()) lines.push_back("skipped: " + row.missing + " is missing (--data)");
    if (row.reference_is == standing::input)
        lines.push_back("fitted input: this shows only that the configuration takes effect");
    if (row.reference && !row.bound_pct) lines.push_back("no bound: reported only");
    if (!row.note.empty()) lines.push_back(row.note);
    return lines;
}

// Prints so many digits; large numbers as whole numbers.
std::string number_text(double value, int digits = 4) {
    char text[32] = "-";
    if (std::isnan(value)) return text;
    if (std::abs(value) >= 1e4 && std::abs(value) < 1e12)
        std::snprintf(text, sizeof text, "%.0f", value);
    else
        std::snprintf(text, sizeof text, "%.*g", digits, value);
    return text;
}

// As many digits as the reference has, four at least.
int digits_of(const experiment_row &row) {
    int digits = 4;
    if (row.reference)
        while (digits < 9 && number_text(*row.reference, digits) != number_text(*row.reference, 9))
            digits++;
    return digits;
}

// The rows of the file with all of their figures side by side.
void print_figures(std::FILE *out, const experiment &e, const std::vector<experiment_result> &results) {
    const std::size_t figures = e.workload->figures.size(), count = e.rows.size() / figures;
    std::fprintf(out, "%-44s", "");
    for (std::size_t i = 0; i < figures; i++)
        std::fprintf(out, " %16s", e.workload->figures[i]);
    std::fprintf(out, "\n%-44s", "");
    for (std::size_t i = 0; i < figures; i++)
        std::fprintf(out, " %16s", e.workload->units[i]);
    std::fprintf(out, "\n");
    for (std::size_t row = 0; row < count; row++) {
        std::fprintf(out, "%-44s", e.rows[row].label.c_str());
        for (std::size_t i = 0; i < figures; i++) {
            const double model = results[i * count + row].model;
            std::fprintf(out, " %16s", number_text(model).c_str());
        }
        std::fprintf(out, "\n");
        for (const std::string &remark : remarks(e.rows[row]))
            std::fprintf(out, "    %s\n", remark.c_str());
    }
    std::fprintf(out, "\n");
}

void print(std::FILE *out, const experiment &e, const std::vector<experiment_result> &results) {
    std::fprintf(out, "%s: %s\n", e.name.c_str(), e.about.c_str());
    if (e.all_figures) return print_figures(out, e, results);
    for (std::size_t i = 0; i < e.rows.size(); i++) {
        const experiment_row &row = e.rows[i];
        if (i == 0 || row.unit != e.rows[i - 1].unit)
            std::fprintf(out, "%-44s %12s %12s %10s %8s  %-11s  %s\n", row.unit.c_str(), "model", "reference",
                         "deviation", "bound", "standing", "source");
        const auto shown = [](const std::optional<double> &value, const char *format) {
            char text[32] = "-";
            if (value) std::snprintf(text, sizeof text, format, *value);
            return std::string(text);
        };
        const int digits = digits_of(row);
        std::fprintf(out, "%-44s %12s %12s %10s %8s  %-11s  %s%s%s\n", row.label.c_str(),
                     number_text(results[i].model, digits).c_str(),
                     row.reference ? number_text(*row.reference, digits).c_str() : "-",
                     shown(results[i].deviation_pct, "%+.2f %%").c_str(),
                     row.at_most ? shown(row.at_most, "<= %.3g").c_str() : shown(row.bound_pct, "%.3g %%").c_str(),
                     standing_name(row.reference_is), row.source.c_str(), row.fitted ? " (fitted)" : "",
                     results[i].missed ? "  MISSED" : "");
        for (const std::string &remark : remarks(row))
            std::fprintf(out, "    %s\n", remark.c_str());
    }
    std::fprintf(out, "\n");
}

json_t *real_or_null(const std::optional<double> &value) {
    return value ? json_real(*value) : json_null();
}

json_t *to_json(const experiment &e, const std::vector<experiment_result> &results) {
    json_t *rows = json_array();
    for (std::size_t i = 0; i < e.rows.size(); i++) {
        const experiment_row &row = e.rows[i];
        json_t *object = json_object();
        json_object_set_new(object, "label", json_string(row.label.c_str()));
        json_object_set_new(object, "figure", json_string(e.figure_name(row).c_str()));
        json_object_set_new(object, "model", std::isnan(results[i].model) ? json_null() : json_real(results[i].model));
        json_object_set_new(object, "standing", json_string(standing_name(row.reference_is)));
        json_object_set_new(object, "reference", real_or_null(row.reference));
        const bool published = row.reference_is == standing::published;
        json_object_set_new(object, "published", published ? real_or_null(row.reference) : json_null());
        json_object_set_new(object, "unit", json_string(row.unit.c_str()));
        json_object_set_new(object, "deviation_pct", real_or_null(results[i].deviation_pct));
        json_object_set_new(object, "bound_pct", real_or_null(row.bound_pct));
        json_object_set_new(object, "at_most", real_or_null(row.at_most));
        json_object_set_new(object, "fitted", json_boolean(row.fitted));
        json_object_set_new(object, "source", json_string(row.source.c_str()));
        json_object_set_new(object, "note", json_string(row.note.c_str()));
        json_object_set_new(object, "skipped", json_boolean(!row.missing.empty()));
        json_array_append_new(rows, object);
    }
    json_t *object = json_object();
    json_object_set_new(object, "name", json_string(e.name.c_str()));
    json_object_set_new(object, "rows", rows);
    return object;
}

struct outputs {
    std::FILE *json = nullptr;
    std::vector<plot_files> plots; // one an experiment, with --plot
};

tla_status open_outputs(const options &o, const std::vector<experiment> &experiments, outputs &files,
                        tla_error &error) {
    tla_status status = output_open("--json", o.json, &files.json, &error);
    if (!status && o.plot) status = output_make_directory(o.plot, &error);
    if (status || !o.plot) return status;
    const bool picture = gnuplot_is_there();
    for (const experiment &e : experiments) {
        files.plots.emplace_back();
        if ((status = open_plot(o.plot, e, picture, files.plots.back(), error))) break;
    }
    return status;
}

int fail(const tla_error &error, tla_status status) {
    std::fprintf(stderr, "tlmalloc reproduce: %s\n", error.text);
    return cli_exit_status(status);
}

// Without names, removes the experiments that take long; a user names them to run them.
void leave_long_ones_out(std::vector<experiment> &experiments, std::string &names) {
    const auto first = std::stable_partition(experiments.begin(), experiments.end(),
                                             [](const experiment &e) { return !e.takes_long; });
    for (auto e = first; e != experiments.end(); ++e)
        names += " " + e->name;
    experiments.erase(first, experiments.end());
}

// Removes experiments whose workload this build lacks. A named one is rejected: returns its exit status, else CLI_OK.
int leave_missing_out(const options &o, std::vector<experiment> &experiments, std::string &names) {
    for (auto e = experiments.begin(); e != experiments.end();) {
        if (!e->workload->missing) {
            ++e;
            continue;
        }
        if (!o.name.empty()) {
            print_message("tlmalloc reproduce: %s: workload %s: %s", e->name.c_str(), e->workload->name,
                          e->workload->missing);
            return CLI_BAD_INPUT;
        }
        names += std::string("Not run: ") + e->name + ": " + e->workload->missing + "\n";
        e = experiments.erase(e);
    }
    return CLI_OK;
}

int reproduce(const options &o) {
    std::vector<experiment> experiments;
    std::vector<std::string> files;
    if (const int exit_status = find_files(o, files)) return exit_status;
    tla_status status = TLA_OK;
    for (const std::string &file : files) {
        experiments.emplace_back();
        const tla_status loaded = load_experiment(file, o.data, experiments.back());
        if (!status) status = loaded;
    }
    if (status) return cli_exit_status(status);
    std::string left_out, missing;
    if (const int exit_status = leave_missing_out(o, experiments, missing)) return exit_status;
    if (o.name.empty()) leave_long_ones_out(experiments, left_out);
    outputs made;
    tla_error error{};
    if ((status = open_outputs(o, experiments, made, error))) return fail(error, status);
    std::FILE *const table = output_table();
    std::vector<std::vector<double>> figures;
    if (!simulate_all(experiments, figures)) return CLI_FAILED;
    bool good = true;
    json_t *list = json_array();
    for (std::size_t i = 0; i < experiments.size(); i++) {
        std::vector<experiment_result> results;
        for (std::size_t j = 0; j < experiments[i].rows.size(); j++) {
            results.push_back(compare(experiments[i].rows[j], figures[i][j]));
            good = good && !results.back().missed;
        }
        print(table, experiments[i], results);
        json_array_append_new(list, to_json(experiments[i], results));
        if (o.plot) good = plot(made.plots[i], experiments[i], results) && good;
    }
    if (!left_out.empty()) std::fprintf(table, "Long experiments, which run only when named:%s\n", left_out.c_str());
    std::fputs(missing.c_str(), table);
    json_t *report = json_object();
    json_object_set_new(report, "experiments", list);
    status = json_write(report, 9, made.json, &error);
    json_decref(report);
    if (!status) status = output_commit(&error);
    if (status) return fail(error, status);
    return good ? CLI_OK : CLI_FAILED;
}

void report(const sc_core::sc_report &r, const sc_core::sc_actions &actions) {
    if (r.get_severity() >= sc_core::SC_WARNING) std::fprintf(stderr, "tlmalloc reproduce: %s\n", words_of(r).c_str());
    if (actions & sc_core::SC_THROW) throw r;
}

} // namespace

int tlmalloc_reproduce(int argc, char **argv) {
    arguments said{};
    command_line_read(&parser, argc, argv, &said);
    const options o(said);
    sc_core::sc_report_handler::set_handler(report);
    try {
        return reproduce(o);
    } catch (const sc_core::sc_report &) {
        return CLI_FAILED; // the handler has reported it
    }
}
