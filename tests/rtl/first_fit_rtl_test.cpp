// First fit in RTL beside the core: the same blocks, and exactly the cycles that the core's receipt says.
#include "answer_not_held.h"
#include "lost_merge.h"
#include "one_cycle.h"
#include "short_split.h"
#include "two_cycles.h"

#include "engine_beside_core.hpp"

namespace {

const engine_facts one_cycle_a_node{TLA_FIRST_FIT, "rtl_list_1c", 1 << 10};
const engine_facts two_cycles_a_node{TLA_FIRST_FIT, "rtl_list_2c", 1 << 10};
const engine_facts eight_nodes{TLA_FIRST_FIT, "rtl_list_1c", 8};

} // namespace

BOOST_AUTO_TEST_CASE(random_operations_1e5_place_as_the_core_in_the_cycles_of_its_receipts) {
    side_by_side<one_cycle> both(std::uint64_t{1} << 20, one_cycle_a_node);
    play_random(both, 3000, 100000, 1);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.refused, 100u);
}

BOOST_AUTO_TEST_CASE(with_two_cycles_a_node_too) {
    side_by_side<two_cycles> both(std::uint64_t{1} << 20, two_cycles_a_node);
    play_random(both, 3000, 100000, 2);
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(offsets_of_33_bits_are_placed_as_any) {
    side_by_side<one_cycle> both((std::uint64_t{1} << 33) - 1, one_cycle_a_node);
    play_random(both, std::uint64_t{1} << 27, 20000, 3);
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_free_without_a_node_for_its_range_fails_and_changes_nothing) {
    side_by_side<one_cycle> both(4096, eight_nodes);
    play_random(both, 100, 50000, 4);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.without_node, 100u);
}

BOOST_AUTO_TEST_CASE(a_list_has_the_configured_number_of_nodes_up_to_the_number_that_is_built) {
    for (const std::uint64_t nodes : {1u, 2u, 3u, 64u, 100u, 1023u, 1024u}) {
        side_by_side<one_cycle> both(2 * 1024 + 2, {TLA_FIRST_FIT, "rtl_list_1c", nodes});
        std::vector<tla_block> live(2 * 1024 + 2);
        for (tla_block &block : live)
            BOOST_REQUIRE(both.take(1, &block));
        for (std::size_t i = 0; i < 2 * nodes; i += 2) // no two of them touch
            BOOST_CHECK(both.give_back(live[i]));
        BOOST_CHECK(!both.give_back(live[2 * nodes]));
        BOOST_CHECK(both.give_back(live[1])); // joins two
        BOOST_CHECK(nodes == 1 || both.give_back(live[2 * nodes]));
        BOOST_CHECK_EQUAL(both.difference, "");
        BOOST_CHECK_EQUAL(both.without_node, 1u);
    }
}

BOOST_AUTO_TEST_CASE(answers_wait_until_they_are_taken) {
    seeded_random when(5);
    side_by_side<one_cycle> both(std::uint64_t{1} << 20, one_cycle_a_node, &when);
    play_random(both, 3000, 20000, 6);
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(recorded_traces_are_placed_as_by_the_core_in_the_cycles_of_its_receipts) {
    for (const std::string &path : recorded_traces())
        BOOST_TEST_CONTEXT(path) {
            side_by_side<one_cycle> one(std::uint64_t{1} << 25, one_cycle_a_node);
            play_trace(one, path);
            BOOST_CHECK_EQUAL(one.difference, "");
            side_by_side<two_cycles> two(std::uint64_t{1} << 25, two_cycles_a_node);
            play_trace(two, path);
            BOOST_CHECK_EQUAL(two.difference, "");
            BOOST_TEST_MESSAGE(path << ": " << one.cycles() << " and " << two.cycles() << " cycles");
        }
}

BOOST_AUTO_TEST_CASE(a_planted_lost_merge_is_found) {
    side_by_side<lost_merge> both(std::uint64_t{1} << 20, one_cycle_a_node);
    play_random(both, 3000, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_split_that_is_one_short_is_found) {
    side_by_side<short_split> both(std::uint64_t{1} << 20, one_cycle_a_node);
    play_random(both, 3000, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_answer_that_is_not_held_is_found) {
    seeded_random when(5);
    side_by_side<answer_not_held> both(std::uint64_t{1} << 20, one_cycle_a_node, &when);
    play_random(both, 3000, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}
