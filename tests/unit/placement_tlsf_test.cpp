// Two-level segregated fit.
#include "placement_arena.hpp"
#include "placement_differential.hpp"

BOOST_AUTO_TEST_CASE(tlsf_takes_what_was_freed_last_in_the_first_class_that_is_sure_to_fit) {
    placement_arena a(TLA_TLSF, 100000);
    a.leave_free({{1000, 100}, {2000, 101}, {3000, 5000}});
    // 100 and 101 bytes are of one class, 100 .. 101; the last one freed is at its head
    BOOST_CHECK_EQUAL(a.alloc(100), 2000u);
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 1u);
    BOOST_CHECK_EQUAL(a.work.probes, 1u);
    BOOST_CHECK_EQUAL(a.work.splits, 1u);
    BOOST_CHECK_EQUAL(a.alloc(100), 1000u);
    BOOST_CHECK_EQUAL(a.alloc(100), 3000u);
    BOOST_CHECK_EQUAL(a.work.probes, 3u); // the class's word, the first level, the word it points to
}

BOOST_AUTO_TEST_CASE(tlsf_fails_where_only_a_block_of_the_requests_own_class_is_left) {
    placement_arena a(TLA_TLSF, 10000);
    a.leave_free({{1000, 1001}}); // class 992 .. 1007
    BOOST_CHECK_EQUAL(a.try_alloc(1001), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 0u);
    BOOST_CHECK_EQUAL(a.work.probes, 2u);
    BOOST_CHECK_EQUAL(a.alloc(992), 1000u);
}

BOOST_AUTO_TEST_CASE(tlsf_searches_for_an_aligned_block_with_room_to_move) {
    placement_arena a(TLA_TLSF, 10000);
    a.leave_free({{64, 64}, {1000, 512}});
    BOOST_CHECK_EQUAL(a.alloc(64, 64), 1024u); // 64..128 would do, but 64 + 63 bytes are looked for
    BOOST_CHECK_EQUAL(a.work.splits, 2u);
    BOOST_CHECK_EQUAL(a.free_blocks(), 3u);
}

BOOST_AUTO_TEST_CASE(tlsf_is_its_reference) {
    check_against_reference(TLA_TLSF, 38);
}
