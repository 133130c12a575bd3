// Buddies in RTL beside the core: the same blocks, and exactly the cycles that the core's receipt says.
#include "buddies.h"
#include "buddies_answer_not_held.h"
#include "buddies_lost_merge.h"
#include "buddies_short_split.h"
#include "many_buddies.h"

#include "engine_beside_core.hpp"

namespace {

const engine_facts facts{TLA_BUDDY, "rtl_buddy", UINT64_MAX};

} // namespace

BOOST_AUTO_TEST_CASE(buddies_of_random_operations_1e5_are_the_core_s_in_the_cycles_of_its_receipts) {
    side_by_side<many_buddies> both(std::uint64_t{1} << 20, facts);
    play_random(both, 3000, 100000, 11);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.failed, 100u);
    BOOST_CHECK_GT(both.refused, 100u);
}

BOOST_AUTO_TEST_CASE(buddies_of_a_memory_that_is_soon_full) {
    side_by_side<buddies> both(1024, facts);
    play_random(both, 100, 100000, 12);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.failed, 10000u);
}

BOOST_AUTO_TEST_CASE(buddies_of_ranges_that_are_no_power_of_two_and_begin_anywhere) {
    seeded_random ranges(13);
    for (std::uint64_t i = 0; i < 200; i++) {
        const std::uint64_t base = ranges.between(0, 1000), capacity = ranges.between(1, 1024 - base);
        side_by_side<buddies> both(capacity, facts, nullptr, base);
        play_random(both, std::max<std::uint64_t>(1, capacity / ranges.between(1, 20)), 500, 14 + i);
        BOOST_REQUIRE_EQUAL(both.difference, "");
    }
}

BOOST_AUTO_TEST_CASE(requests_above_the_memory_and_frees_at_an_invalid_unit_fail) {
    side_by_side<buddies> both(1000, facts);
    tla_block block{};
    for (std::uint64_t size : {std::uint64_t{513}, std::uint64_t{1024}, std::uint64_t{1025}, std::uint64_t{1} << 32})
        BOOST_CHECK(!both.take(size, &block));
    BOOST_CHECK(both.take(512, &block));
    BOOST_CHECK(!both.give_back({1024, 1}));
    BOOST_CHECK(!both.give_back({std::uint64_t{1} << 32, 1}));
    BOOST_CHECK(!both.give_back({0, 1024}));
    BOOST_CHECK(both.give_back(block));
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(buddies_wait_until_their_answers_are_taken) {
    seeded_random when(15);
    side_by_side<many_buddies> both(std::uint64_t{1} << 20, facts, &when);
    play_random(both, 3000, 20000, 16);
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(buddies_of_recorded_traces_are_the_core_s_in_the_cycles_of_its_receipts) {
    for (const std::string &path : recorded_traces())
        BOOST_TEST_CONTEXT(path) {
            side_by_side<many_buddies> both(std::uint64_t{1} << 21, facts);
            play_trace(both, path);
            BOOST_CHECK_EQUAL(both.difference, "");
            BOOST_TEST_MESSAGE(path << ": " << both.cycles() << " cycles, " << both.failed << " takes failed");
        }
}

BOOST_AUTO_TEST_CASE(a_planted_lost_merge_of_buddies_is_found) {
    side_by_side<buddies_lost_merge> both(1024, facts);
    play_random(both, 100, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_split_of_buddies_that_is_one_short_is_found) {
    side_by_side<buddies_short_split> both(1024, facts);
    play_random(both, 100, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_answer_of_buddies_that_is_not_held_is_found) {
    seeded_random when(5);
    side_by_side<buddies_answer_not_held> both(1024, facts, &when);
    play_random(both, 100, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}
