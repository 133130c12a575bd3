// model/rtl/README.md: what recorded traces take of each engine, in cycles, and how much memory they need with its
// policy.
#include "many_buddies.h"
#include "many_offset_bins.h"
#include "one_cycle.h"
#include "two_cycles.h"
#include "worst_one_cycle.h"

#include "engine_beside_core.hpp"
#include "replay/replay_fit.h"
#include "scratch_directory.hpp"

#include <cstdio>
#include <map>

namespace {

const std::uint64_t units = std::uint64_t{1} << 22; // 2 GiB, on which every policy serves every trace

std::string mean_and_p99(std::vector<std::uint64_t> cycles) {
    std::sort(cycles.begin(), cycles.end());
    const std::uint64_t sum = std::accumulate(cycles.begin(), cycles.end(), std::uint64_t{0});
    char text[64];
    std::snprintf(text, sizeof text, "%.1f | %llu", static_cast<double>(sum) / static_cast<double>(cycles.size()),
                  static_cast<unsigned long long>(cycles[(cycles.size() * 99 + 99) / 100 - 1]));
    return text;
}

// The smallest memory on which no request of the trace failed, in MiB.
std::string needed(const std::string &path, const char *policy) {
    static std::map<std::string, std::string> known;
    std::string &text = known[path + policy];
    if (!text.empty()) return text;
    alloc_trace trace{};
    tla_error error{};
    BOOST_REQUIRE_EQUAL(trace_load(path.c_str(), &trace, &error), TLA_OK);
    allocator_config config{};
    config.alignment = unit;
    replay_fit fit{};
    BOOST_REQUIRE_EQUAL(replay_find_fit(&trace, policy, &config, &fit, &error), TLA_OK);
    trace_unload(&trace);
    char number[32];
    std::snprintf(number, sizeof number, "%.1f", static_cast<double>(fit.capacity) / (1 << 20));
    return text = number;
}

template <class Engine>
std::string row(const std::string &path, const char *name, const char *policy, engine_facts facts) {
    side_by_side<Engine> both(units, facts);
    play_trace(both, path);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_EQUAL(both.failed, 0u);
    const std::size_t slash = path.rfind('/') + 1;
    char waited[32];
    std::snprintf(waited, sizeof waited, "%.1f",
                  static_cast<double>(both.waited()) /
                      static_cast<double>(both.take_cycles.size() + both.free_cycles.size()));
    return "| " + path.substr(slash, path.find('.', slash) - slash) + " | " + name + " | " +
           mean_and_p99(both.take_cycles) + " | " + mean_and_p99(both.free_cycles) + " | " + waited + " | " +
           needed(path, policy) + " |";
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_what_every_trace_takes_of_every_engine) {
    const std::string page = read_text(TLMALLOC_SOURCE_DIR "/model/rtl/README.md");
    for (const std::string &path : recorded_traces())
        for (const std::string &line :
             {row<one_cycle>(path, "first fit, 1 cycle a node", "first_fit", {TLA_FIRST_FIT, "rtl_list_1c", 1024}),
              row<two_cycles>(path, "first fit, 2 cycles a node", "first_fit", {TLA_FIRST_FIT, "rtl_list_2c", 1024}),
              row<worst_one_cycle>(path, "worst fit", "worst_fit", {TLA_WORST_FIT, "rtl_worst_fit", 1024}),
              row<many_buddies>(path, "buddies", "buddy", {TLA_BUDDY, "rtl_buddy", UINT64_MAX}),
              row<many_offset_bins>(path, "offset bins", "offset_bins", {TLA_OFFSET_BINS, "rtl_offset_bins", 4096})})
            BOOST_CHECK_MESSAGE(page.find(line + "\n") != std::string::npos, "not on the page: " << line);
}
