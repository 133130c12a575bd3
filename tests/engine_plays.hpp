// What an allocation engine and the core are asked side by side: random requests, and recorded ones.
//
// Who is asked has take(size, &block): whether a block was taken; give_back(block): whether it is free now; difference,
// which is empty as long as both agree; free_blocks() and keeps_a_list(); and what it has counted: failed, refused,
// without_node, cycles() and waited().
#ifndef TLMALLOC_TESTS_ENGINE_PLAYS_HPP
#define TLMALLOC_TESTS_ENGINE_PLAYS_HPP

#include "shared_data.hpp"
#include "tlmalloc/arena/arena.h"
#include "trace/trace.h"
#include "unit/seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

// Random sizes and frees, one in 100 of them of what is not taken; sometimes until nothing fits, sometimes until all is
// free. Buddies are not told of what is free already, which they do not see, but of what is no block.
template <class Both>
void play_random(Both &both, std::uint64_t largest, unsigned operations, std::uint64_t seed) {
    seeded_random random(seed);
    std::vector<tla_block> live;
    const std::uint64_t at_first = both.free_blocks();
    unsigned taking = 6; // of ten
    std::uint64_t longest = 0;
    for (unsigned i = 0; i < operations && both.difference.empty(); i++) {
        if (random.one_in(2000)) taking = static_cast<unsigned>(random.between(3, 7));
        tla_block block{};
        if (live.empty() || random.between(1, 10) <= taking) {
            if (both.take(random.between(1, largest), &block)) live.push_back(block);
        } else {
            const std::size_t which = random.between(0, live.size() - 1);
            if (both.give_back(live[which])) {
                block = live[which];
                live[which] = live.back();
                live.pop_back();
                if (!random.one_in(100)) continue;
                if (!both.keeps_a_list() && block.nbytes == 1) continue;
                both.give_back({block.offset + (both.keeps_a_list() ? 0 : 1), block.nbytes});
            }
        }
        longest = std::max(longest, both.free_blocks());
    }
    // What is left goes, and all is as it was.
    while (!live.empty() && both.difference.empty()) {
        std::size_t before = live.size();
        for (std::size_t i = live.size(); i-- > 0;)
            if (both.give_back(live[i])) live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
        BOOST_REQUIRE_LT(live.size(), before);
    }
    if (both.difference.empty()) BOOST_CHECK_EQUAL(both.free_blocks(), at_first);
    BOOST_TEST_MESSAGE(both.failed << " takes failed, " << both.refused << " refused, " << both.without_node
                                   << " without a node, the longest list " << longest << ", " << both.cycles()
                                   << " cycles, and " << both.waited() << " waited");
}

// Recorded allocations, in units of 512 bytes.
const std::uint64_t unit = 512;
template <class Both>
void play_trace(Both &both, const std::string &path) {
    alloc_trace trace{};
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(trace_load(path.c_str(), &trace, &error) == TLA_OK, error.text);
    std::vector<tla_block> live(trace.allocation_count);
    for (std::size_t i = 0; i < trace.event_count && both.difference.empty(); i++) {
        const trace_event &e = trace.events[i];
        tla_block &block = live[e.allocation];
        if (!e.is_free) {
            if (!both.take((trace.allocations[e.allocation].nbytes + unit - 1) / unit, &block)) block = {};
        } else if (block.nbytes > 0) {
            both.give_back(block);
        }
    }
    trace_unload(&trace);
}

// The traces that there are: the one of the repository, and those beside it.
inline std::vector<std::string> recorded_traces() {
    std::vector<std::string> paths{TLMALLOC_SOURCE_DIR "/tests/data/lm_train.csv.gz"};
    for (const char *name : {"traces/resnet_train.csv.gz", "traces/lm_serve.csv.gz"})
        if (std::filesystem::exists(shared_data + name)) paths.push_back(shared_data + name);
    return paths;
}

#endif
