// Ranges, and compaction beside a kernel, on a platform: `tlmalloc reproduce`, the page's tables, and runs with ranges.
#include "platform/experiment_figures.hpp"

#include <algorithm>
#include <cstdio>
#include <jansson.h>
#include <map>
#include <sstream>

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/";

using columns = std::vector<const char *>;
const columns of_ranges{"fresh_misses", "aged_misses", "compacted_misses",
                        "fresh_kernel", "aged_kernel", "compacted_kernel"};
const columns of_compaction{"kernel", "lost", "moved", "longest_stop"};

// The rows of an experiment whose labels contain one of these texts.
std::string some_rows(const std::string &name, const std::vector<std::string> &texts) {
    std::string some;
    std::istringstream file(read_text(configs + "experiments/" + name));
    for (std::string line; std::getline(file, line);)
        if (line.rfind("  - {label", 0) != 0 ||
            std::any_of(texts.begin(), texts.end(), [&](const std::string &text) { return contains(line, text); }))
            some += line + "\n";
    for (const std::string from : {": ../npu", ": ../traces"})
        if (const std::size_t at = some.find(from); at != some.npos) some.replace(at, 5, ": " + configs);
    return some;
}

void check_page(const row_figures &found, const columns &of) {
    const std::string page = read_text(configs + "experiments/README.md");
    for (const auto &[label, figure] : found) {
        std::string line = "\n| " + label + " |";
        for (const char *column : of)
            line += " " + four_digits(figure.at(column)) + " |";
        BOOST_CHECK_MESSAGE(contains(page, line + "\n"), line);
    }
}

} // namespace

// The rows of small pages without ranges and with the most.
BOOST_AUTO_TEST_CASE(ranges_spare_a_kernel_most_of_its_walks_as_the_page_says) {
    scratch_directory scratch;
    const row_figures found =
        all_figures_of(scratch.write("some.yaml", some_rows("ranges.yaml", {"\"4 KiB, no", "\"4 KiB, 64"})));
    BOOST_REQUIRE_EQUAL(found.size(), 2u);
    check_page(found, of_ranges);
    for (const char *column : of_ranges)
        BOOST_CHECK_LT(found.at("4 KiB, 64 ranges").at(column), found.at("4 KiB, no ranges").at(column));
}

BOOST_AUTO_TEST_CASE(every_figure_of_the_pages_table_is_reproduced) {
    for (const auto &[name, of] : {std::pair{"ranges", of_ranges}, std::pair{"compaction_felt", of_compaction}}) {
        const row_figures found = all_figures_of(configs + "experiments/" + name + ".yaml");
        BOOST_CHECK_EQUAL(found.size(), 12u);
        check_page(found, of);
    }
}

BOOST_AUTO_TEST_CASE(a_kernel_loses_time_to_compaction_as_the_page_says) {
    scratch_directory scratch;
    const row_figures found =
        all_figures_of(scratch.write("some.yaml", some_rows("compaction_felt.yaml", {"\"2 MiB, stop, 10 GB/s"})));
    BOOST_REQUIRE_EQUAL(found.size(), 1u);
    check_page(found, of_compaction);
    char lost[80];
    std::snprintf(lost, sizeof lost, "block by\n%.0f %%", found.begin()->second.at("lost"));
    BOOST_CHECK(contains(read_text(configs + "../README.md"), lost));
    BOOST_CHECK_GT(found.begin()->second.at("moved"), 0);
}

BOOST_AUTO_TEST_CASE(a_run_reports_ranges_if_it_has_them_and_no_word_of_them_otherwise) {
    const auto run = [](const std::string &ranges) {
        scratch_directory scratch;
        const command_result ran =
            run_tlmalloc({"run", configs + "npu_small.yaml", "--kernel", "vector_add", "--set", "mmu.walk=flat",
                          "--set", "mmu.page_size=4 KiB", "--set", "workload.elements_per_pe=32768", "--set",
                          "mmu.ranges=" + ranges, "--json", scratch.path("r.json"), "--vcd", scratch.path("w.vcd")});
        BOOST_REQUIRE_MESSAGE(ran.status == 0, ran.err);
        return std::make_pair(read_text(scratch.path("r.json")), read_text(scratch.path("w.vcd")));
    };
    const auto without = run("0"), with = run("8");
    for (const std::string *text : {&without.first, &without.second})
        BOOST_CHECK(!contains(*text, "range_"));
    BOOST_CHECK(contains(with.second, " range_hits "));
    json_t *report = json_loads(with.first.c_str(), 0, nullptr), *row;
    BOOST_REQUIRE(report);
    std::size_t i;
    json_array_foreach(json_object_get(report, "mmus"), i, row) {
        const auto number = [row](const char *key) { return json_integer_value(json_object_get(row, key)); };
        BOOST_CHECK_GT(number("range_hits"), 0);
        BOOST_CHECK_GT(number("range_fills"), 0);
        BOOST_CHECK_GT(number("range_drops"), 0); // the host unmaps tensors
        BOOST_CHECK_GE(number("hits") + number("range_hits") + number("misses"), number("lookups"));
    }
    json_decref(report);
}
