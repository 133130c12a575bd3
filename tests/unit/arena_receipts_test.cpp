// What operations cost that the arena refuses, and what they leave in its statistics.
#include "tlmalloc/arena/arena.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <vector>

namespace {

struct any_arena {
    explicit any_arena(int policy, std::uint64_t capacity) {
        tla_arena_config config{};
        config.capacity = capacity;
        config.policy = static_cast<tla_policy>(policy);
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    }
    ~any_arena() { tla_arena_destroy(arena); }
    any_arena(const any_arena &) = delete;
    any_arena &operator=(const any_arena &) = delete;

    tla_arena *arena = nullptr;
};

bool same(const tla_work &a, const tla_work &b) {
    return a.nodes_visited == b.nodes_visited && a.probes == b.probes && a.bin_searches == b.bin_searches &&
           a.list_length == b.list_length && a.splits == b.splits && a.merges == b.merges &&
           a.insert_nodes == b.insert_nodes && a.allocs == b.allocs && a.frees == b.frees &&
           a.nodes_created == b.nodes_created && a.nodes_released == b.nodes_released;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_batch_above_the_capacity_costs_as_much_as_a_failed_request_of_its_size) {
    for (int policy = 0; policy < TLA_POLICY_COUNT; policy++)
        BOOST_TEST_CONTEXT(tla_policy_name(static_cast<tla_policy>(policy))) {
            any_arena a(policy, 1 << 16);
            std::vector<tla_block> blocks(64), batch(100);
            for (tla_block &block : blocks)
                BOOST_REQUIRE_EQUAL(tla_arena_alloc(a.arena, 512, &block, nullptr), TLA_OK);
            for (std::size_t i = 0; i < blocks.size(); i += 2)
                BOOST_REQUIRE_EQUAL(tla_arena_free(a.arena, blocks[i], nullptr), TLA_OK);
            const std::uint64_t each = 1 << 12;
            for (std::size_t n : {std::size_t{17}, std::size_t{32}, std::size_t{100}}) {
                tla_work of_batch{}, of_request{};
                tla_block block;
                BOOST_CHECK_EQUAL(
                    tla_arena_alloc_batch(a.arena, each, n, TLA_BATCH_CONTIGUOUS, batch.data(), &of_batch),
                    TLA_EXHAUSTED);
                BOOST_CHECK_EQUAL(tla_arena_alloc(a.arena, each * n, &block, &of_request), TLA_EXHAUSTED);
                BOOST_CHECK(same(of_batch, of_request));
                BOOST_CHECK_GT(of_batch.list_length, 0u);
                of_batch = {};
                BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, each, n, TLA_BATCH_CARVED, batch.data(), &of_batch),
                                  TLA_EXHAUSTED);
                BOOST_CHECK_GT(of_batch.list_length, 0u);
            }
        }
}

BOOST_AUTO_TEST_CASE(a_batch_past_2_to_the_63_costs_a_search_and_is_never_served) {
    for (int policy = 0; policy < TLA_POLICY_COUNT; policy++)
        for (std::uint64_t capacity : {std::uint64_t{1} << 16, std::uint64_t{1} << 63})
            for (tla_batch kind : {TLA_BATCH_CONTIGUOUS, TLA_BATCH_CARVED})
                for (std::uint64_t nbytes : {std::uint64_t{1} << 62, std::uint64_t{1} << 63}) {
                    any_arena a(policy, capacity);
                    tla_work work{};
                    tla_block unused;
                    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, nbytes, SIZE_MAX, kind, &unused, &work),
                                      TLA_EXHAUSTED);
                    BOOST_CHECK_EQUAL(work.list_length, 1u);
                    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).used, 0u);
                    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).peak_used, 0u);
                }
}

BOOST_AUTO_TEST_CASE(a_contiguous_batch_of_the_buddies_counts_its_items_and_not_what_rounding_adds) {
    any_arena a(TLA_BUDDY, 1 << 16);
    tla_block blocks[5];
    BOOST_REQUIRE_EQUAL(tla_arena_alloc_batch(a.arena, 4096, 5, TLA_BATCH_CONTIGUOUS, blocks, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).used, 5u * 4096);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).peak_used, 5u * 4096);
}

BOOST_AUTO_TEST_CASE(exhausted_is_said_of_fewer_bytes_than_asked_for_and_fragmented_of_pieces) {
    for (int policy = 0; policy < TLA_POLICY_COUNT; policy++)
        BOOST_TEST_CONTEXT(tla_policy_name(static_cast<tla_policy>(policy))) {
            any_arena a(policy, 16 << 10);
            tla_block block, blocks[4];
            tla_error error{};
            BOOST_REQUIRE_EQUAL(tla_arena_alloc_batch(a.arena, 4096, 4, TLA_BATCH_CARVED, blocks, nullptr), TLA_OK);
            for (int i : {0, 1, 3}) // of 16 KiB, 8 and 4 are free
                BOOST_REQUIRE_EQUAL(tla_arena_free(a.arena, {static_cast<std::uint64_t>(i) * 4096, 4096}, nullptr),
                                    TLA_OK);
            BOOST_CHECK_EQUAL(tla_arena_alloc(a.arena, 9 << 10, &block, nullptr), TLA_FRAGMENTED);
            BOOST_CHECK_EQUAL(tla_arena_explain(a.arena, "arena", 9 << 10, &error), TLA_FRAGMENTED);
            BOOST_CHECK_EQUAL(error.total_free, 12u << 10);
            BOOST_CHECK_EQUAL(error.largest_free, 8u << 10);
            BOOST_CHECK_EQUAL(tla_arena_alloc(a.arena, (12 << 10) + 1, &block, nullptr), TLA_EXHAUSTED);
        }
}

BOOST_AUTO_TEST_CASE(the_text_names_the_block_that_was_looked_for_where_it_is_more_than_requested) {
    tla_error error{};
    any_arena buddies(TLA_BUDDY, 16 << 10), first(TLA_FIRST_FIT, 16 << 10), tlsf(TLA_TLSF, 1001);
    tla_block block;
    BOOST_REQUIRE_EQUAL(tla_arena_alloc(buddies.arena, 1, &block, nullptr), TLA_OK);
    tla_arena_explain(buddies.arena, "HBM", 9 << 10, &error);
    BOOST_CHECK_EQUAL(error.text, "HBM overflow: requested 9216 bytes (buddy needs a free block of 16384), 16383 free "
                                  "of 16384, largest free block 8192 (14 blocks): fragmented");
    BOOST_REQUIRE_EQUAL(tla_arena_alloc(first.arena, 8 << 10, &block, nullptr), TLA_OK);
    tla_arena_explain(first.arena, "HBM", 9 << 10, &error);
    BOOST_CHECK_EQUAL(error.text, "HBM overflow: requested 9216 bytes, 8192 free of 16384, largest free block 8192 "
                                  "(1 blocks): exhausted");
    tla_arena_explain(tlsf.arena, "HBM", 1001, &error); // the class of 1001 begins below it
    BOOST_CHECK_EQUAL(error.text, "HBM overflow: requested 1001 bytes (tlsf needs a free block of 1008), 1001 free of "
                                  "1001, largest free block 1001 (1 blocks): fragmented");
}
