// KernBench's figures of its older transport, and its open figures with the shortest paths: pages have the figures of
// the experiments, and without wires the paths are those of an independent event model.
#include "platform/experiment_figures.hpp"
#include "today.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace {

const std::string experiments_folder = TLMALLOC_SOURCE_DIR "/configs/experiments/";

// An experiment with other settings.
std::string experiment_with(const std::string &name, const std::string &settings) {
    std::string text = read_text(experiments_folder + name + ".yaml");
    const std::string from = "platform: ..", set = "\nset:\n";
    text.replace(text.find(from), from.size(), "platform: " TLMALLOC_SOURCE_DIR "/configs");
    return text.replace(text.find(set), set.size(), set + settings);
}

std::string shortest_with(const std::string &settings) {
    return experiment_with("kernbench_transport_routing", settings);
}

const std::string row_begins = "  - label: ";

// The rows of an experiment, each with its label.
std::vector<std::string> rows_of(const std::string &text) {
    std::vector<std::string> rows;
    for (std::size_t at = text.find(row_begins); at != std::string::npos;) {
        const std::size_t next = text.find(row_begins, at + 1);
        rows.push_back(text.substr(at, next - at));
        at = next;
    }
    return rows;
}

std::string section_of(const std::string &title) {
    const std::string page = read_text(experiments_folder + "README.md");
    const std::size_t begin = page.find("## " + title);
    BOOST_REQUIRE(begin != std::string::npos);
    return page.substr(begin, page.find("\n## ", begin + 1) - begin);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_the_figures_of_the_shortest_paths) {
    scratch_directory scratch;
    const auto found = figures_of({scratch.write("some.yaml", shortest_with(""))});
    const std::string page = read_text(experiments_folder + "README.md");
    const std::size_t section = page.find("## KernBench's open figures with the shortest paths");
    BOOST_REQUIRE(section != std::string::npos);
    for (const auto &[label, figure] : found) {
        const std::size_t at = page.find("\n| " + label + ", " + figure.second + " |", section);
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, label);
        const std::string row = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
        BOOST_CHECK_MESSAGE(contains(row, " | " + four_digits(figure.first) + " | "), row);
    }
    BOOST_CHECK_EQUAL(found.size(), 7u);
}

// One event model had these before the platform did: 573.0 for 13 routers and 18 ports each way, and 973.5.
BOOST_AUTO_TEST_CASE(without_wires_the_shortest_paths_take_573_and_973_5) {
    scratch_directory scratch;
    const auto found = figures_of({scratch.write("no_wires.yaml", shortest_with("  links.wire: 0 ns\n"))});
    BOOST_CHECK_CLOSE(found.at("16 KiB to the farthest cube").first, 573.0, 1e-9);
    BOOST_CHECK_CLOSE(found.at("eight PEs, each to its like in the next cube").first, 973.5, 1e-9);
    const double hot = found.at("128 PEs on one slice").first;
    BOOST_CHECK_MESSAGE(hot >= 134.2 && hot <= 134.7, hot);
}

// Nearly all rows of the all-reduce differ from others by its slots, and have the time of a whole platform.
BOOST_AUTO_TEST_CASE(the_page_has_the_figures_of_the_older_transport) {
    scratch_directory scratch;
    std::vector<std::string> files;
    for (const char *name : {"kernbench_transport", "kernbench_transport_messages"})
        files.push_back(scratch.write(std::string(name) + ".yaml", experiment_with(name, "")));
    if (all_is_tested()) {
        const std::string text = experiment_with("kernbench_transport_all_reduce", "");
        std::string some = text.substr(0, text.find(row_begins));
        for (const std::string &row : rows_of(text))
            if (contains(row, "slots in the TCM")) some += row;
        files.push_back(scratch.write("kernbench_transport_all_reduce.yaml", some));
        files.push_back(
            scratch.write("kernbench_transport_root.yaml", experiment_with("kernbench_transport_root", "")));
    }
    const std::string section = section_of("KernBench's older transport");
    std::size_t rows = 0;
    for (const std::string &file : files)
        for (const auto &[label, figure] : figures_of({file})) {
            const std::size_t at = section.find("\n| " + label + " | ");
            if (at == std::string::npos) continue; // by its terms, or held out
            const std::string row = section.substr(at + 1, section.find('\n', at + 1) - at - 1);
            BOOST_CHECK_MESSAGE(contains(row, " | " + four_digits(figure.first) + " | "), row);
            rows++;
        }
    BOOST_CHECK_EQUAL(rows, all_is_tested() ? 12u : 7u);
}

// From the rows at 96 KiB, which have neither a published figure nor a bound.
BOOST_AUTO_TEST_CASE(the_page_has_the_gains_by_the_middle) {
    if (!all_is_tested()) return; // minutes
    scratch_directory scratch;
    const auto found = figures_of({scratch.write("root.yaml", experiment_with("kernbench_transport_root", ""))});
    const auto gain = [&](const std::string &sips) {
        const double corner = found.at("96 KiB, " + sips + " of SIPs, by the corner").first,
                     middle = found.at("96 KiB, " + sips + " of SIPs, by the middle").first;
        char text[16];
        std::snprintf(text, sizeof text, "%.1f", (corner - middle) / corner * 100);
        return std::string(text);
    };
    const std::string section = section_of("KernBench's older transport");
    BOOST_CHECK_MESSAGE(contains(section, "here they gain " + gain("ring") + " and " + gain("mesh") + " %"),
                        gain("ring") << " and " << gain("mesh"));
}

// 84 to 46,224 ns: one of the 16 a day, all of them with TLMALLOC_ALL.
BOOST_AUTO_TEST_CASE(differences_of_slots_agree_as_closely_as_the_page_says) {
    const std::string text = experiment_with("kernbench_transport_all_reduce", ""),
                      section = section_of("KernBench's older transport"), within = "All of them agree within ";
    std::vector<std::string> differences;
    std::vector<double> published;
    for (const std::string &row : rows_of(text)) {
        if (!contains(row, " after TCM")) continue;
        differences.push_back(row);
        published.push_back(std::stod(row.substr(row.find("published: ") + 11)));
    }
    BOOST_REQUIRE_EQUAL(differences.size(), 16u);
    BOOST_CHECK_EQUAL(*std::min_element(published.begin(), published.end()), 84);
    BOOST_CHECK_EQUAL(*std::max_element(published.begin(), published.end()), 46224);
    BOOST_CHECK(contains(section, "16\ndifferences from the TCM (84 to 46,224 ns). " + within));
    const double bound = std::stod(section.substr(section.find(within) + within.size()));
    std::string some = text.substr(0, text.find(row_begins));
    for (const std::string &row : some_of_today(differences, 16))
        some += row;
    scratch_directory scratch;
    double worst = 0;
    for (const auto &[label, figure] : figures_of({scratch.write("some.yaml", some)})) {
        const auto row = std::find_if(differences.begin(), differences.end(), [&, name = label](const std::string &r) {
            return contains(r, row_begins + name + "\n");
        });
        BOOST_REQUIRE_MESSAGE(row != differences.end(), label);
        const double should = published[static_cast<std::size_t>(row - differences.begin())];
        worst = std::max(worst, std::abs(figure.first - should) / should * 100);
    }
    BOOST_CHECK_MESSAGE(worst <= bound, worst << " %");
    if (all_is_tested()) BOOST_CHECK_MESSAGE(worst > bound - 0.01, worst << " %, and the page says " << bound);
}

// With a bound, and beside a published figure.
BOOST_AUTO_TEST_CASE(pages_count_the_figures_of_the_older_transport_as_the_experiments_do) {
    std::size_t fitted = 0, predicted = 0;
    for (const char *name : {"kernbench_transport", "kernbench_transport_messages", "kernbench_transport_all_reduce",
                             "kernbench_transport_root"})
        for (const std::string &row : rows_of(read_text(experiments_folder + name + ".yaml")))
            if (contains(row, "\n    published: ") && contains(row, "\n    bound: "))
                (contains(row, "\n    fitted: true") ? fitted : predicted)++;
    const std::string all = std::to_string(fitted + predicted),
                      of_fitted = std::to_string(fitted) + " are fitted, and ",
                      of_predicted = std::to_string(predicted) + " are predictions within 0.7 %";
    const auto words_of = [](std::string text) {
        std::replace(text.begin(), text.end(), '\n', ' ');
        return text;
    };
    BOOST_CHECK(contains(words_of(section_of("KernBench's older transport")),
                         all + " published figures have a bound: " + of_fitted + of_predicted));
    BOOST_CHECK(contains(words_of(read_text(TLMALLOC_SOURCE_DIR "/platform/results.md")),
                         "compares " + all + " figures of [KernBench's older transport]"));
    BOOST_CHECK(
        contains(words_of(read_text(TLMALLOC_SOURCE_DIR "/platform/results.md")), ": " + of_fitted + of_predicted));
    BOOST_CHECK(
        contains(words_of(read_text(TLMALLOC_SOURCE_DIR "/README.md")), all + " of its older transport within 0.7 %"));
}
