// Offset bins in RTL beside the core: the same blocks, and exactly the cycles that the core's receipt says.
#include "bins_answer_not_held.h"
#include "bins_lost_merge.h"
#include "bins_not_forwarded_down.h"
#include "bins_not_forwarded_up.h"
#include "bins_short_split.h"
#include "offset_bins.h"
#include "offset_bins_rounded.h"

#include "engine_beside_core.hpp"

namespace {

const engine_facts exact{TLA_OFFSET_BINS, "rtl_offset_bins", TLA_RTL_NODES},
    rounded{TLA_OFFSET_BINS_ROUNDED, "rtl_offset_bins", TLA_RTL_NODES};

engine_facts with(engine_facts facts, std::uint64_t nodes) {
    facts.nodes = nodes;
    return facts;
}

} // namespace

BOOST_AUTO_TEST_CASE(offset_bins_of_random_operations_1e5_are_the_core_s_in_the_cycles_of_its_receipts) {
    side_by_side<offset_bins> both(1 << 18, exact);
    play_random(both, 3000, 100000, 21);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.failed, 100u);
    BOOST_CHECK_GT(both.refused, 100u);
    side_by_side<offset_bins_rounded> and_rounded(1 << 18, rounded);
    play_random(and_rounded, 3000, 100000, 21);
    BOOST_CHECK_EQUAL(and_rounded.difference, "");
    BOOST_CHECK_GT(and_rounded.failed, 100u);
    BOOST_CHECK_GT(and_rounded.refused, 100u);
}

BOOST_AUTO_TEST_CASE(offset_bins_of_a_memory_that_is_soon_full_and_of_few_nodes) {
    side_by_side<offset_bins> both(1 << 14, with(exact, 100));
    play_random(both, 500, 100000, 22);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.failed, both.without_node + 1000);
    BOOST_CHECK_GT(both.without_node, 1000u);
    side_by_side<offset_bins_rounded> and_rounded(1 << 14, with(rounded, 100));
    play_random(and_rounded, 500, 100000, 22);
    BOOST_CHECK_EQUAL(and_rounded.difference, "");
    BOOST_CHECK_GT(and_rounded.without_node, 1000u);
}

BOOST_AUTO_TEST_CASE(offset_bins_of_any_number_of_nodes_of_ranges_that_begin_anywhere) {
    seeded_random ranges(23);
    for (std::uint64_t i = 0; i < 200; i++) {
        const std::uint64_t base = ranges.between(0, 1000), nodes = ranges.between(2, 1024),
                            capacity = ranges.between(1, std::uint64_t{1} << ranges.between(0, 20)),
                            largest = std::max<std::uint64_t>(1, capacity / ranges.between(1, 20));
        side_by_side<offset_bins> both(capacity, with(exact, nodes), nullptr, base);
        play_random(both, largest, 500, 24 + i);
        BOOST_REQUIRE_EQUAL(both.difference, "");
        side_by_side<offset_bins_rounded> and_rounded(capacity, with(rounded, nodes - 1), nullptr, base);
        play_random(and_rounded, largest, 500, 24 + i);
        BOOST_REQUIRE_EQUAL(and_rounded.difference, "");
    }
}

// Sizes of equal bins meet in one stack, next to each other or not.
BOOST_AUTO_TEST_CASE(free_neighbours_in_one_stack_are_joined) {
    for (std::uint64_t seed = 25; seed < 35; seed++) {
        side_by_side<offset_bins> both(60, exact);
        play_random(both, 3, 10000, seed);
        BOOST_CHECK_EQUAL(both.difference, "");
    }
}

BOOST_AUTO_TEST_CASE(requests_up_to_the_largest_bin_and_above_it) {
    side_by_side<offset_bins> both(TLA_RTL_BINS, exact);
    tla_block block{};
    for (const std::uint64_t size : {TLA_RTL_BINS + 1, std::uint64_t{1} << 32, (std::uint64_t{1} << 33) - 1})
        BOOST_CHECK(!both.take(size, &block));
    BOOST_CHECK(both.take(TLA_RTL_BINS, &block));
    BOOST_CHECK(both.give_back(block));
    for (std::uint64_t size = 1; size < TLA_RTL_BINS / 2; size = size * 9 / 8 + 1) {
        BOOST_CHECK(both.take(size, &block));
        BOOST_CHECK(both.give_back(block));
    }
    BOOST_CHECK_EQUAL(both.difference, "");
}

// The figures of the engine, whatever its heap: 4 cycles and 3 for a rest, 2 and 1 for refusals, 5 and 3 for a merge.
BOOST_AUTO_TEST_CASE(an_operation_of_offset_bins_takes_so_many_cycles) {
    side_by_side<offset_bins> both(47, with(exact, 4));
    tla_block first{}, second{}, third{}, none{};
    BOOST_CHECK(both.take(16, &first));
    BOOST_CHECK(both.take(16, &second));
    BOOST_CHECK(!both.take(1, &none)); // three of the nodes are in use, and one is never used
    BOOST_CHECK(both.give_back(first));
    BOOST_CHECK(!both.take(1, &none));
    BOOST_CHECK(both.give_back(second));
    BOOST_CHECK(!both.take(47, &none)); // in the bin of 44
    BOOST_CHECK(both.take(44, &third));
    BOOST_CHECK(both.give_back(third));
    const std::vector<std::uint64_t> takes{7, 7, 1, 1, 2, 7}, frees{5, 11, 8};
    BOOST_CHECK_EQUAL_COLLECTIONS(both.take_cycles.begin(), both.take_cycles.end(), takes.begin(), takes.end());
    BOOST_CHECK_EQUAL_COLLECTIONS(both.free_cycles.begin(), both.free_cycles.end(), frees.begin(), frees.end());
    side_by_side<offset_bins> whole(47, exact);
    BOOST_CHECK(whole.take(44, &first));
    BOOST_CHECK(whole.take(3, &second));
    BOOST_CHECK_EQUAL(whole.take_cycles.back(), 4u);
    BOOST_CHECK_EQUAL(both.difference + whole.difference, "");
}

BOOST_AUTO_TEST_CASE(offset_bins_wait_until_their_answers_are_taken) {
    seeded_random when(26);
    side_by_side<offset_bins> both(1 << 16, exact, &when);
    play_random(both, 3000, 20000, 27);
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(offset_bins_of_recorded_traces_are_the_core_s_in_the_cycles_of_its_receipts) {
    for (const std::string &path : recorded_traces())
        BOOST_TEST_CONTEXT(path) {
            side_by_side<offset_bins> both(std::uint64_t{1} << 22, exact);
            play_trace(both, path);
            BOOST_CHECK_EQUAL(both.difference, "");
            side_by_side<offset_bins_rounded> and_rounded(std::uint64_t{1} << 22, rounded);
            play_trace(and_rounded, path);
            BOOST_CHECK_EQUAL(and_rounded.difference, "");
            BOOST_TEST_MESSAGE(path << ": " << both.cycles() << " cycles, " << both.failed << " takes failed");
        }
}

BOOST_AUTO_TEST_CASE(a_planted_lost_merge_of_offset_bins_is_found) {
    side_by_side<bins_lost_merge> both(1024, exact);
    play_random(both, 100, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_split_of_offset_bins_that_is_one_short_is_found) {
    side_by_side<bins_short_split> both(1024, exact);
    play_random(both, 100, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_answer_of_offset_bins_that_is_not_held_is_found) {
    seeded_random when(5);
    side_by_side<bins_answer_not_held> both(1024, exact, &when);
    play_random(both, 100, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(planted_links_of_a_right_neighbour_as_they_were_are_found) {
    side_by_side<bins_not_forwarded_down> down(60, exact);
    play_random(down, 3, 10000, 25);
    BOOST_CHECK_NE(down.difference, "");
    side_by_side<bins_not_forwarded_up> up(60, exact);
    play_random(up, 3, 10000, 25);
    BOOST_CHECK_NE(up.difference, "");
}
