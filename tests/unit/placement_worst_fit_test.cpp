// Worst fit.
#include "placement_arena.hpp"
#include "placement_differential.hpp"
#include "tlmalloc/base/work.h"

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

BOOST_AUTO_TEST_CASE(worst_fit_searches_the_next_largest_block_after_every_answer_that_changes_its_list) {
    placement_arena a(TLA_WORST_FIT, 1000);
    a.leave_free({{100, 50}, {300, 80}, {500, 80}});
    const auto check = [&a](std::uint64_t requests, std::uint64_t nodes, std::uint64_t behind) {
        BOOST_CHECK_EQUAL(a.engine.requests, requests);
        BOOST_CHECK_EQUAL(a.engine.walk_nodes, nodes);
        BOOST_CHECK_EQUAL(a.engine.walks_behind, behind > 0);
        BOOST_CHECK_EQUAL(a.engine.walk_nodes_behind, behind);
    };
    a.alloc(10);
    check(1, 3, 3);
    BOOST_CHECK_EQUAL(a.try_alloc(81), TLA_FRAGMENTED); // it has waited, and leaves nothing behind
    check(1, 0, 0);
    a.free(700, 10);
    check(1, 4, 4);
    tla_block blocks[2];
    a.begin();
    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, 80, 1, TLA_BATCH_CARVED, blocks, &a.work), TLA_OK);
    BOOST_CHECK_EQUAL(a.engine.walks, 1u);
    check(1, 3, 3);
    // On one receipt the second request waits for the walk behind the first.
    a.begin();
    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, 20, 2, TLA_BATCH_CARVED, blocks, &a.work), TLA_OK);
    BOOST_CHECK_EQUAL(a.engine.walks, 2u);
    check(2, 6, 3);
    tla_cost_profile price{};
    price.fixed_ps = 1;
    price.walk_ps = 10;
    price.walk_node_ps = 100;
    BOOST_CHECK_EQUAL(tla_cost_price(&price, &a.work), 311u);
    BOOST_CHECK_EQUAL(tla_cost_behind(&price, &a.work), 310u);
}

BOOST_AUTO_TEST_CASE(worst_fit_is_its_reference) {
    check_against_reference(TLA_WORST_FIT, 35);
}
