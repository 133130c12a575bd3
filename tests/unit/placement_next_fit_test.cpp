// Next fit.
#include "placement_arena.hpp"
#include "placement_differential.hpp"

BOOST_AUTO_TEST_CASE(next_fit_continues_at_its_last_position_and_wraps_once) {
    placement_arena a(TLA_NEXT_FIT, 1000);
    a.leave_free({{100, 50}, {300, 50}, {500, 50}});
    BOOST_CHECK_EQUAL(a.alloc(40), 100u);
    BOOST_CHECK_EQUAL(a.alloc(40), 300u);        // first fit finds 300 too, but having looked at 140..150 again
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 2u); // 140, 300
    BOOST_CHECK_EQUAL(a.alloc(5), 340u);
    BOOST_CHECK_EQUAL(a.alloc(50), 500u);
    BOOST_CHECK_EQUAL(a.alloc(10), 140u); // around: nothing is left behind 550
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 1u);
    BOOST_CHECK_EQUAL(a.alloc(5), 345u);
}

BOOST_AUTO_TEST_CASE(next_fit_follows_the_block_that_its_pointer_is_joined_into) {
    placement_arena a(TLA_NEXT_FIT, 1000);
    BOOST_CHECK_EQUAL(a.alloc(100), 0u);
    BOOST_CHECK_EQUAL(a.alloc(100), 100u);
    a.free(0, 100);
    BOOST_CHECK_EQUAL(a.alloc(50), 200u); // not the hole in front
    a.free(100, 100);
    a.free(200, 50); // 0..1000 is one block again, the pointer (250) inside of it
    BOOST_CHECK_EQUAL(a.alloc(10), 0u);
}

BOOST_AUTO_TEST_CASE(next_fit_is_its_reference) {
    check_against_reference(TLA_NEXT_FIT, 34);
}
