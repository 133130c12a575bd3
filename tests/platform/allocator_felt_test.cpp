// `tlmalloc reproduce allocator_felt`: platform/results.md has the figures that it prints, and so has the picture.
#include "platform/command_line.hpp"

#include <cmath>
#include <jansson.h>
#include <sstream>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/", experiment = source + "configs/experiments/allocator_felt.yaml";

std::string text_of(const json_t *model) {
    if (!json_is_real(model)) return "-";
    char text[32];
    const double value = json_real_value(model);
    std::snprintf(text, sizeof text, value >= 1e4 ? "%.0f" : "%.4g", value);
    return text;
}

// Lines of the page's table, by the report of an experiment that shows all figures.
std::vector<std::string> lines_of(const std::string &file) {
    scratch_directory scratch;
    const command_result run = run_tlmalloc({"reproduce", file, "--json", scratch.path("r.json")});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    json_t *report = json_load_file(scratch.path("r.json").c_str(), 0, nullptr);
    BOOST_REQUIRE(report);
    json_t *rows = json_object_get(json_array_get(json_object_get(report, "experiments"), 0), "rows"), *row;
    std::vector<std::string> lines;
    const std::size_t figures = 6, count = json_array_size(rows) / figures;
    std::size_t i;
    json_array_foreach(rows, i, row) {
        if (i < count) lines.push_back(std::string("| ") + json_string_value(json_object_get(row, "label")) + " |");
        lines[i % count] += " " + text_of(json_object_get(row, "model")) + " |";
    }
    json_decref(report);
    return lines;
}

} // namespace

// Some rows of the file: the memory with banks and large pages.
BOOST_AUTO_TEST_CASE(prices_and_an_aged_heap_change_a_kernel_as_the_results_say) {
    std::string some;
    std::istringstream file(read_text(experiment));
    for (std::string line; std::getline(file, line);) {
        const bool wanted = contains(line, "hbm3, 2 MiB, fresh, rtl_list_1c") || contains(line, "fresh, fw_list") ||
                            contains(line, "hbm3, 2 MiB, aged, rtl_list_1c");
        if (line.rfind("  - {label", 0) != 0 || wanted) some += line + "\n";
    }
    for (const std::string from : {": ../npu", ": ../traces"})
        some.replace(some.find(from), 5, ": " + source + "configs/");
    scratch_directory scratch;
    const std::vector<std::string> lines = lines_of(scratch.write("some.yaml", some));
    BOOST_CHECK_EQUAL(lines.size(), 4u);
    const std::string page = read_text(source + "platform/results.md");
    for (const std::string &line : lines)
        BOOST_CHECK_MESSAGE(contains(page, "\n" + line + "\n"), line);
}

BOOST_AUTO_TEST_CASE(every_figure_of_the_results_is_reproduced_and_stands_in_their_picture) {
    const std::string page = read_text(source + "platform/results.md"),
                      picture = read_text(source + "waveforms/allocator_felt.svg");
    const std::vector<std::string> lines = lines_of(experiment);
    BOOST_CHECK_GE(lines.size(), 18u);
    for (const std::string &line : lines) {
        BOOST_CHECK_MESSAGE(contains(page, "\n" + line + "\n"), line);
        std::istringstream cells(line.substr(2));
        std::string label, kernel, share;
        for (std::string *cell : {&label, &kernel, &share})
            std::getline(cells, *cell, '|');
        for (const std::string &figure : {kernel, share})
            BOOST_CHECK_MESSAGE(contains(picture, ">" + figure.substr(1, figure.size() - 2) + "<"), line);
    }
}
