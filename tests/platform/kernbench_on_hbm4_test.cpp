// KernBench's rows on channels and on HBM4: the page has the figures of the experiment.
#include "platform/experiment_figures.hpp"

#include <sstream>

namespace {

const std::string folder = TLMALLOC_SOURCE_DIR "/configs/experiments/";

// Without the rows that take the longest.
std::string without_128_pes() {
    std::string some, line;
    bool is_in = true;
    std::istringstream file(read_text(folder + "kernbench_on_hbm4.yaml"));
    while (std::getline(file, line)) {
        if (line.rfind("  - label: ", 0) == 0) is_in = line.find("128 PEs") == std::string::npos;
        if (is_in) some += line + "\n";
    }
    const std::string from = "platform: ..";
    return some.replace(some.find(from), from.size(), "platform: " TLMALLOC_SOURCE_DIR "/configs");
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_the_figures_of_both_memories) {
    scratch_directory scratch;
    const auto found = figures_of({scratch.write("some.yaml", without_128_pes())});
    const std::string page = read_text(folder + "README.md"), channels = ", channels", hbm4 = ", hbm4";
    std::size_t rows = 0;
    for (const auto &[label, figure] : found) {
        const std::size_t end = label.rfind(channels);
        if (end == std::string::npos) continue;
        const std::string row = label.substr(0, end);
        const std::string cells =
            "| " + four_digits(figure.first) + " | " + four_digits(found.at(row + hbm4).first) + " |";
        const std::size_t at = page.find("\n| " + row + " |", page.find("## KernBench's slice on HBM4"));
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, row);
        BOOST_CHECK_MESSAGE(page.substr(at + 1, page.find('\n', at + 1) - at - 1).find(cells) != std::string::npos,
                            row + ": " + cells);
        rows++;
    }
    BOOST_CHECK_EQUAL(rows, 17u);
}
