// What `tlmalloc reproduce` finds, by label.
#ifndef TLMALLOC_TESTS_EXPERIMENT_FIGURES_HPP
#define TLMALLOC_TESTS_EXPERIMENT_FIGURES_HPP

#include "platform/command_line.hpp"

#include <cstdio>
#include <jansson.h>
#include <map>

// Figures of an experiment by label, and their units.
inline std::map<std::string, std::pair<double, std::string>> figures_of(const std::vector<std::string> &arguments) {
    scratch_directory scratch;
    std::vector<std::string> command = {"reproduce", "--json", scratch.path("r.json")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const command_result run = run_tlmalloc(command);
    BOOST_CHECK_MESSAGE(run.status == 0, run.out + run.err);
    json_t *report = json_load_file(scratch.path("r.json").c_str(), 0, nullptr);
    BOOST_REQUIRE(report);
    json_t *rows = json_object_get(json_array_get(json_object_get(report, "experiments"), 0), "rows"), *row;
    std::map<std::string, std::pair<double, std::string>> found;
    std::size_t i;
    json_array_foreach(rows, i, row) found[json_string_value(json_object_get(row, "label"))] = {
        json_number_value(json_object_get(row, "model")), json_string_value(json_object_get(row, "unit"))};
    json_decref(report);
    return found;
}

// Of each row of an experiment, each figure.
using row_figures = std::map<std::string, std::map<std::string, double>>;

inline row_figures all_figures_of(const std::string &file) {
    scratch_directory scratch;
    const command_result run = run_tlmalloc({"reproduce", file, "--json", scratch.path("r.json")});
    BOOST_CHECK_MESSAGE(run.status == 0 && run.err.empty(), run.out + run.err);
    json_t *report = json_load_file(scratch.path("r.json").c_str(), 0, nullptr);
    BOOST_REQUIRE(report);
    json_t *rows = json_object_get(json_array_get(json_object_get(report, "experiments"), 0), "rows"), *row;
    row_figures found;
    std::size_t i;
    json_array_foreach(rows, i, row)
        found[json_string_value(json_object_get(row, "label"))][json_string_value(json_object_get(row, "figure"))] =
            json_number_value(json_object_get(row, "model"));
    json_decref(report);
    return found;
}

// A stream through 8 walkers, with a published value of one's choice.
inline std::string stream(const std::string &row) {
    return "name: s\nunit: GB/s\nworkload: stream\nwith: {bytes: 256 KiB}\n"
           "set: {system.pes_per_cube: 1, mmu.walk: flat}\nrows:\n  - {label: a, " +
           row + "}\n";
}

// As the tables of pages have them.
inline std::string four_digits(double value) {
    char text[32];
    std::snprintf(text, sizeof text, value >= 1e4 ? "%.0f" : "%.4g", value);
    return text;
}

#endif
