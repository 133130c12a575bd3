// The table of `tlmalloc reproduce engines` on the page of experiments, and laws between its rows.
#ifndef TLMALLOC_TESTS_PLATFORM_ENGINE_TABLE_HPP
#define TLMALLOC_TESTS_PLATFORM_ENGINE_TABLE_HPP

#include "platform/experiment_figures.hpp"

#include <vector>

namespace engine_table {

inline const std::string experiments = TLMALLOC_SOURCE_DIR "/configs/experiments/";
inline const std::vector<std::string> engines{"first fit, 1 cycle a node",
                                              "first fit, 2 cycles a node",
                                              "worst fit",
                                              "buddies",
                                              "buddies, 8192 units",
                                              "offset bins",
                                              "offset bins, rounded",
                                              "first fit, firmware",
                                              "buddies, 8192 units, firmware",
                                              "offset bins, firmware",
                                              "offset bins, rounded, firmware"};

inline std::string text_of(double value, int digits) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

// A row of the page's table.
inline std::string line_of(const std::string &program, const std::string &engine,
                           const std::map<std::string, double> &of) {
    std::string line = "| " + program + " | " + engine + " |";
    for (const char *command : {"alloc", "free"})
        for (const char *figure : {"_p50", "_p99", "_max"})
            line += " " + text_of(of.at(command + std::string(figure)), 0) + " |";
    line += " " + text_of(of.at("behind"), 1) + " | " + (of.at("area") > 0 ? text_of(of.at("area"), 0) : "-") + " |";
    for (const char *figure : {"refused", "fragmented", "no_node"})
        line += " " + text_of(of.at(figure), 0) + " |";
    return line + " " + text_of(of.at("external"), 1) + " | " + text_of(of.at("internal"), 1) + " |";
}

inline void check_page(const row_figures &found, const std::string &program, const std::string &prefix) {
    const std::string page = read_text(experiments + "README.md");
    for (const std::string &engine : engines) {
        const std::string line = line_of(program, engine, found.at(prefix + engine));
        BOOST_CHECK_MESSAGE(contains(page, "\n" + line + "\n"), "not on the page: " << line);
    }
}

// Laws of every program.
inline void check_laws(const row_figures &found, const std::string &prefix) {
    const auto at = [&](const std::string &engine, const char *figure) { return found.at(prefix + engine).at(figure); };
    for (const std::string &engine : engines) {
        BOOST_CHECK_LE(at(engine, "alloc_p50"), at(engine, "alloc_p99"));
        BOOST_CHECK_LE(at(engine, "alloc_p99"), at(engine, "alloc_max"));
        BOOST_CHECK_LE(at(engine, "fragmented") + at(engine, "no_node"), at(engine, "refused"));
        BOOST_CHECK_EQUAL(at(engine, "behind") > 0, engine == "worst fit");
    }
    for (const char *figure : {"refused", "fragmented", "external", "internal"}) { // one policy, one list of decisions
        BOOST_CHECK_EQUAL(at("first fit, 1 cycle a node", figure), at("first fit, 2 cycles a node", figure));
        BOOST_CHECK_EQUAL(at("first fit, 1 cycle a node", figure), at("first fit, firmware", figure));
        BOOST_CHECK_EQUAL(at("buddies, 8192 units", figure), at("buddies, 8192 units, firmware", figure));
    }
    for (const char *figure : {"alloc_p50", "alloc_max", "free_p50", "free_max"}) {
        BOOST_CHECK_LE(at("first fit, 1 cycle a node", figure), at("first fit, 2 cycles a node", figure));
        BOOST_CHECK_LE(at("first fit, 2 cycles a node", figure), at("first fit, firmware", figure));
        BOOST_CHECK_LE(at("buddies, 8192 units", figure), at("buddies, 8192 units, firmware", figure));
    }
    for (const char *bins : {"offset bins", "offset bins, rounded"}) {
        BOOST_CHECK_LE(at(bins, "alloc_max"), 7);
        BOOST_CHECK_LE(at(bins, "free_max"), 11);
        const std::string firmware = bins + std::string(", firmware");
        BOOST_CHECK_LE(at(firmware, "alloc_max"), 370);
        BOOST_CHECK_LE(at(firmware, "free_max"), 352);
        for (const char *figure : {"refused", "fragmented", "no_node", "external", "internal"})
            BOOST_CHECK_EQUAL(at(bins, figure), at(firmware, figure));
    }
    BOOST_CHECK_LE(at("worst fit", "alloc_max"), 3);
}

} // namespace engine_table
#endif
