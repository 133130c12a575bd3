// Best fit.
#include "placement_arena.hpp"
#include "placement_differential.hpp"

BOOST_AUTO_TEST_CASE(best_fit_takes_the_smallest_block_that_is_large_enough) {
    placement_arena a(TLA_BEST_FIT, 1000);
    a.leave_free({{100, 50}, {200, 30}, {300, 40}});
    BOOST_CHECK_EQUAL(a.alloc(25), 200u);
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 3u); // nothing fits exactly: the walk sees all of the list
    BOOST_CHECK_EQUAL(a.work.splits, 1u);
}

BOOST_AUTO_TEST_CASE(best_fit_takes_the_lowest_of_equal_blocks_and_ends_its_walk_there) {
    placement_arena a(TLA_BEST_FIT, 1000);
    a.leave_free({{700, 30}, {100, 50}, {200, 30}});
    BOOST_CHECK_EQUAL(a.alloc(30), 200u);
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 2u);
    BOOST_CHECK_EQUAL(a.work.splits, 0u);
    BOOST_CHECK_EQUAL(a.alloc(30), 700u);
}

BOOST_AUTO_TEST_CASE(best_fit_passes_over_a_block_in_which_the_alignment_leaves_no_room) {
    placement_arena a(TLA_BEST_FIT, 1000);
    a.leave_free({{100, 40}, {200, 90}});
    BOOST_CHECK_EQUAL(a.alloc(30, 128), 256u);
    BOOST_CHECK_EQUAL(a.work.splits, 2u); // 200..256 and 286..290 stay
    BOOST_CHECK_EQUAL(a.free_blocks(), 3u);
}

BOOST_AUTO_TEST_CASE(best_fit_is_its_reference) {
    check_against_reference(TLA_BEST_FIT, 33);
}
