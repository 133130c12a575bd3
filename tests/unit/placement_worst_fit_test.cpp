// Worst fit.
#include "placement_arena.hpp"
#include "placement_differential.hpp"

BOOST_AUTO_TEST_CASE(worst_fit_takes_the_largest_block_and_the_lowest_of_equals) {
    placement_arena a(TLA_WORST_FIT, 1000);
    a.leave_free({{100, 50}, {300, 80}, {500, 80}});
    BOOST_CHECK_EQUAL(a.alloc(10), 300u);
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 3u); // the whole list, always
    BOOST_CHECK_EQUAL(a.alloc(10), 500u);
    BOOST_CHECK_EQUAL(a.alloc(10), 310u);
}

BOOST_AUTO_TEST_CASE(worst_fit_takes_the_largest_block_in_which_the_alignment_leaves_room) {
    placement_arena a(TLA_WORST_FIT, 2000);
    a.leave_free({{10, 120}, {256, 100}, {512, 110}});
    BOOST_CHECK_EQUAL(a.alloc(100, 256), 512u); // 10..130 is larger but holds no multiple of 256
}

BOOST_AUTO_TEST_CASE(worst_fit_is_its_reference) {
    check_against_reference(TLA_WORST_FIT, 35);
}
