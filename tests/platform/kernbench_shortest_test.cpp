// KernBench's open figures with the shortest paths: the page has the figures of the experiment, and without wires they
// are those of an independent event model.
#include "platform/experiment_figures.hpp"

namespace {

const std::string experiments_folder = TLMALLOC_SOURCE_DIR "/configs/experiments/";

// The experiment with other settings.
std::string shortest_with(const std::string &settings) {
    std::string text = read_text(experiments_folder + "kernbench_shortest.yaml");
    const std::string from = "platform: ..", set = "\nset:\n";
    text.replace(text.find(from), from.size(), "platform: " TLMALLOC_SOURCE_DIR "/configs");
    return text.replace(text.find(set), set.size(), set + settings);
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
