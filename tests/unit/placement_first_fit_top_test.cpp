// First fit from the top.
#include "placement_arena.hpp"
#include "placement_differential.hpp"

BOOST_AUTO_TEST_CASE(first_fit_top_takes_the_end_of_the_highest_block_that_is_large_enough) {
    placement_arena a(TLA_FIRST_FIT_TOP, 1000);
    BOOST_CHECK_EQUAL(a.alloc(100), 900u);
    BOOST_CHECK_EQUAL(a.alloc(100), 800u);
    a.free(900, 100);
    BOOST_CHECK_EQUAL(a.work.insert_nodes, 0u); // the walk begins at the top
    BOOST_CHECK_EQUAL(a.alloc(40), 960u);
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 1u);
    BOOST_CHECK_EQUAL(a.alloc(61), 739u);
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 2u);
}

BOOST_AUTO_TEST_CASE(first_fit_top_rounds_an_aligned_offset_down) {
    placement_arena a(TLA_FIRST_FIT_TOP, 1000);
    BOOST_CHECK_EQUAL(a.alloc(100, 64), 896u);
    BOOST_CHECK_EQUAL(a.free_blocks(), 2u); // 0..896 and 996..1000
}

BOOST_AUTO_TEST_CASE(first_fit_top_is_its_reference) {
    check_against_reference(TLA_FIRST_FIT_TOP, 36);
}
