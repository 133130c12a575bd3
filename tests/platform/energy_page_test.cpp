// The energy of DRAM beside others: the pages have the figures of the experiment.
#include "platform/experiment_figures.hpp"

BOOST_AUTO_TEST_CASE(the_pages_have_the_energies_of_the_experiment) {
    const std::string page = read_text(TLMALLOC_SOURCE_DIR "/configs/experiments/README.md"),
                      profiles = read_text(TLMALLOC_SOURCE_DIR "/configs/energy/README.md");
    std::size_t rows = 0;
    for (const auto &[label, figure] : figures_of({TLMALLOC_SOURCE_DIR "/configs/experiments/energy.yaml"})) {
        char text[64];
        if (label.rfind("HBM2, ", 0) == 0) {
            std::snprintf(text, sizeof text, " | %.3f | ", figure.first);
            BOOST_CHECK_MESSAGE(page.find("\n| " + label + text) != std::string::npos, label + text);
            rows++;
        } else if (label.rfind("HBM4, ", 0) == 0) {
            std::snprintf(text, sizeof text, " %.2f", figure.first);
            BOOST_CHECK_MESSAGE(page.find(text) != std::string::npos, text);
            BOOST_CHECK_MESSAGE(profiles.find(text) != std::string::npos, text);
            rows++;
        }
    }
    BOOST_CHECK_EQUAL(rows, 13u);
}
