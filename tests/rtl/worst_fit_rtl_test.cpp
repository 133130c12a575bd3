// Worst fit in RTL, with the largest block at hand, beside the core: the same blocks, and exactly the cycles to an
// answer that the core's receipt says. The walk behind the answer is on the receipt too: what comes meanwhile waits as
// long as that says, whether commands come one right after the other or with pauses (`when`).
#include "worst_answer_not_held.h"
#include "worst_lost_merge.h"
#include "worst_one_cycle.h"
#include "worst_short_split.h"

#include "engine_beside_core.hpp"

namespace {

const engine_facts facts{TLA_WORST_FIT, "rtl_worst_fit", 1 << 10};
const engine_facts eight_nodes{TLA_WORST_FIT, "rtl_worst_fit", 8};

} // namespace

BOOST_AUTO_TEST_CASE(worst_fit_of_random_operations_1e5_is_the_core_s_in_the_cycles_of_its_receipts) {
    side_by_side<worst_one_cycle> both(std::uint64_t{1} << 20, facts);
    play_random(both, 3000, 100000, 21);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.failed, 100u);
    BOOST_CHECK_GT(both.refused, 100u);
    BOOST_CHECK_GT(both.waited(), 1000000u);
}

BOOST_AUTO_TEST_CASE(worst_fit_of_small_blocks_takes_the_lowest_of_equals) {
    side_by_side<worst_one_cycle> both(500, facts);
    play_random(both, 4, 50000, 22);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.failed, 1000u);
}

BOOST_AUTO_TEST_CASE(worst_fit_fails_a_free_without_a_node_for_its_range_and_changes_nothing) {
    side_by_side<worst_one_cycle> both(4096, eight_nodes);
    play_random(both, 100, 50000, 23);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.without_node, 100u);
}

BOOST_AUTO_TEST_CASE(worst_fit_waits_until_its_answers_are_taken) {
    seeded_random when(24);
    side_by_side<worst_one_cycle> both(std::uint64_t{1} << 20, facts, &when);
    play_random(both, 3000, 20000, 25);
    BOOST_CHECK_EQUAL(both.difference, "");
}

BOOST_AUTO_TEST_CASE(worst_fit_of_recorded_traces_is_the_core_s_in_the_cycles_of_its_receipts) {
    for (const std::string &path : recorded_traces())
        BOOST_TEST_CONTEXT(path) {
            side_by_side<worst_one_cycle> both(std::uint64_t{1} << 25, facts);
            play_trace(both, path);
            BOOST_CHECK_EQUAL(both.difference, "");
            BOOST_TEST_MESSAGE(path << ": " << both.cycles() << " cycles, and " << both.waited() << " waited");
        }
}

BOOST_AUTO_TEST_CASE(a_planted_lost_merge_of_worst_fit_is_found) {
    side_by_side<worst_lost_merge> both(std::uint64_t{1} << 20, facts);
    play_random(both, 3000, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_split_of_worst_fit_that_is_one_short_is_found) {
    side_by_side<worst_short_split> both(std::uint64_t{1} << 20, facts);
    play_random(both, 3000, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}

BOOST_AUTO_TEST_CASE(a_planted_answer_of_worst_fit_that_is_not_held_is_found) {
    seeded_random when(5);
    side_by_side<worst_answer_not_held> both(std::uint64_t{1} << 20, facts, &when);
    play_random(both, 3000, 1000, 1);
    BOOST_CHECK_NE(both.difference, "");
}
