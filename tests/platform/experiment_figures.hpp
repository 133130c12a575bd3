// What `tlmalloc reproduce` finds, by label.
#ifndef TLMALLOC_TESTS_EXPERIMENT_FIGURES_HPP
#define TLMALLOC_TESTS_EXPERIMENT_FIGURES_HPP

#include "platform/command_line.hpp"

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

#endif
