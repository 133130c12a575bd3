// Binary buddies.
#include "placement_arena.hpp"
#include "placement_differential.hpp"

BOOST_AUTO_TEST_CASE(buddies_round_up_to_a_power_of_two_and_count_it_as_used) {
    placement_arena a(TLA_BUDDY, 1024);
    tla_block block{};
    BOOST_REQUIRE_EQUAL(tla_arena_alloc(a.arena, 100, &block, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(block.nbytes, 128u);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).used, 128u);
    a.free(block.offset, 100); // the size that was asked for is rounded up again
    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).used, 0u);
}

BOOST_AUTO_TEST_CASE(buddies_halve_a_block_and_join_the_halves_again) {
    placement_arena a(TLA_BUDDY, 1024);
    BOOST_CHECK_EQUAL(a.alloc(128), 0u);
    BOOST_CHECK_EQUAL(a.work.splits, 3u); // 1024 -> 512 -> 256 -> 128
    BOOST_CHECK_EQUAL(a.work.probes, 4u); // the lists of 128, 256, 512 and 1024 bytes
    BOOST_CHECK_EQUAL(a.free_blocks(), 3u);
    BOOST_CHECK_EQUAL(a.alloc(200), 256u);
    a.free(0, 128);
    BOOST_CHECK_EQUAL(a.work.merges, 1u); // 0..256; its buddy is in use
    a.free(256, 256);
    BOOST_CHECK_EQUAL(a.work.merges, 2u);
    BOOST_CHECK_EQUAL(a.free_blocks(), 1u);
}

BOOST_AUTO_TEST_CASE(buddies_cut_a_range_that_is_no_power_of_two_into_several_blocks) {
    placement_arena a(TLA_BUDDY, 1000);
    BOOST_CHECK_EQUAL(a.free_blocks(), 6u); // 512 + 256 + 128 + 64 + 32 + 8
    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).largest_free, 512u);
    BOOST_CHECK_EQUAL(a.try_alloc(600), TLA_FRAGMENTED); // needs 1024, and 1000 are free
    BOOST_CHECK_EQUAL(a.try_alloc(1001), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(a.alloc(300), 0u);
    BOOST_CHECK_EQUAL(a.try_alloc(300), TLA_FRAGMENTED); // needs 512, 488 are free
    BOOST_CHECK_EQUAL(a.alloc(150), 512u);
    BOOST_REQUIRE_EQUAL(tla_arena_grow(a.arena, 24, nullptr), TLA_OK);
    a.free(0, 300);
    a.free(512, 150);
    BOOST_CHECK_EQUAL(a.free_blocks(), 1u); // what growth completes is one block
}

BOOST_AUTO_TEST_CASE(buddies_reject_a_fixed_range_that_is_not_a_buddy_block) {
    placement_arena a(TLA_BUDDY, 1024);
    BOOST_CHECK_EQUAL(tla_arena_reserve(a.arena, {64, 128}, nullptr), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(tla_arena_reserve(a.arena, {128, 128}, &a.work), TLA_OK);
    BOOST_CHECK_EQUAL(a.work.splits, 3u);
    BOOST_CHECK_EQUAL(tla_arena_reserve(a.arena, {0, 256}, nullptr), TLA_OVERLAP);
    BOOST_CHECK_EQUAL(tla_arena_free(a.arena, {64, 128}, nullptr), TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(buddies_serve_an_alignment_by_its_order_and_keep_the_rest) {
    placement_arena a(TLA_BUDDY, 4096);
    BOOST_CHECK_EQUAL(a.alloc(16), 0u);
    BOOST_CHECK_EQUAL(a.alloc(16, 1024), 1024u);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).used, 32u);
}

BOOST_AUTO_TEST_CASE(buddies_are_their_reference) {
    check_against_reference(TLA_BUDDY, 37);
}
