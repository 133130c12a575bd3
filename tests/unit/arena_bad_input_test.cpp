// Arguments that no arena can take: each has a status and a text, and nothing changes.
#include "tlmalloc/arena/arena.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>

namespace {

constexpr uint64_t limit = uint64_t{1} << 63;

struct any_arena {
    explicit any_arena(tla_policy policy, uint64_t base = 0, uint64_t capacity = 4096) {
        tla_arena_config config{base, capacity, policy};
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        before = tla_arena_get_stats(arena);
    }
    ~any_arena() {
        tla_arena_stats after = tla_arena_get_stats(arena);
        BOOST_CHECK(std::memcmp(&before, &after, sizeof before) == 0);
        tla_arena_destroy(arena);
    }
    any_arena(const any_arena &) = delete;
    any_arena &operator=(const any_arena &) = delete;
    std::string last() const { return tla_arena_last_error(arena)->text; }

    tla_arena *arena = nullptr;
    tla_arena_stats before{};
};

tla_status create(uint64_t base, uint64_t capacity, int policy, uint64_t alignment = 1) {
    tla_arena_config config{base, capacity, static_cast<tla_policy>(policy), alignment};
    tla_arena *arena = nullptr;
    tla_status status = tla_arena_create(&config, &arena);
    BOOST_CHECK_EQUAL(arena != nullptr, status == TLA_OK);
    tla_arena_destroy(arena);
    return status;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_policy_has_a_name_that_leads_back_to_it) {
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        tla_policy policy = TLA_POLICY_COUNT;
        BOOST_CHECK(tla_policy_from_name(tla_policy_name(static_cast<tla_policy>(p)), &policy));
        BOOST_CHECK_EQUAL(policy, p);
    }
    tla_policy policy = TLA_BUDDY;
    BOOST_CHECK(!tla_policy_from_name("worst", &policy));
    BOOST_CHECK_EQUAL(policy, TLA_BUDDY);
    BOOST_CHECK(tla_policy_name(TLA_POLICY_COUNT) == nullptr);
}

BOOST_AUTO_TEST_CASE(configurations_outside_their_range_make_no_arena) {
    BOOST_CHECK_EQUAL(create(0, 4096, TLA_POLICY_COUNT), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(create(0, 4096, -1), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(create(1, limit, TLA_FIRST_FIT), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(create(limit, 0, TLA_FIRST_FIT), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(create(0, 4096, TLA_FIRST_FIT, 24), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(create(8, 4096, TLA_FIRST_FIT, 16), TLA_INVALID_ARGUMENT);
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        BOOST_CHECK_EQUAL(create(0, limit, p), TLA_OK);
        BOOST_CHECK_EQUAL(create(limit - 1, 1, p), TLA_OK);
        BOOST_CHECK_EQUAL(create(0, 0, p), TLA_OK);
    }
}

BOOST_AUTO_TEST_CASE(sizes_of_zero_and_of_more_than_2_to_the_63_are_rejected) {
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        any_arena a(static_cast<tla_policy>(p));
        tla_block block{1, 2};
        tla_work work{};
        BOOST_CHECK_EQUAL(tla_arena_alloc(a.arena, 0, &block, &work), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(a.last(), "size must be at least 1 byte");
        BOOST_CHECK_EQUAL(tla_arena_alloc(a.arena, limit + 1, &block, &work), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(a.last(), "size of 9223372036854775809 bytes: must be at most 2^63");
        BOOST_CHECK_EQUAL(tla_arena_alloc(a.arena, UINT64_MAX, &block, &work), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_arena_alloc(a.arena, limit, &block, &work), TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(tla_arena_reserve(a.arena, {0, 0}, &work), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_arena_free(a.arena, {0, 0}, &work), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, 0, 3, TLA_BATCH_CARVED, &block, &work), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, limit, SIZE_MAX, TLA_BATCH_CONTIGUOUS, &block, &work),
                          TLA_EXHAUSTED);
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_arena_explain(a.arena, "arena", 0, &error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_arena_explain(a.arena, "arena", limit, &error), TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(block.offset, 1u);
        BOOST_CHECK_EQUAL(block.nbytes, 2u);
    }
}

BOOST_AUTO_TEST_CASE(an_alignment_that_is_not_a_power_of_two_is_rejected) {
    any_arena a(TLA_FIRST_FIT);
    tla_block block{};
    for (uint64_t alignment : {uint64_t{0}, uint64_t{3}, uint64_t{4095}, UINT64_MAX}) {
        BOOST_CHECK_EQUAL(tla_arena_alloc_aligned(a.arena, 1, alignment, &block, nullptr), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(a.last(), "alignment " + std::to_string(alignment) + " must be a power of two");
    }
}

BOOST_AUTO_TEST_CASE(an_alignment_beyond_the_arena_fits_only_where_a_multiple_lies) {
    any_arena a(TLA_FIRST_FIT, 4096, 4096);
    tla_block block{};
    BOOST_CHECK_EQUAL(tla_arena_alloc_aligned(a.arena, 1, limit, &block, nullptr), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(tla_arena_alloc_aligned(a.arena, 1, 16384, &block, nullptr), TLA_FRAGMENTED);
}

BOOST_AUTO_TEST_CASE(growth_past_2_to_the_63_is_rejected) {
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        any_arena a(static_cast<tla_policy>(p));
        BOOST_CHECK_EQUAL(tla_arena_grow(a.arena, 0, nullptr), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_arena_grow(a.arena, limit - 4095, nullptr), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(a.last(), "growth by 9223372036854771713 bytes at 4096: the arena would end past 2^63");
        BOOST_CHECK_EQUAL(tla_arena_grow(a.arena, UINT64_MAX, nullptr), TLA_OUT_OF_RANGE);
    }
}

BOOST_AUTO_TEST_CASE(a_range_that_was_never_allocated_cannot_be_freed) {
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        any_arena a(static_cast<tla_policy>(p));
        tla_block batch[2] = {{0, 64}, {64, 64}};
        BOOST_CHECK_EQUAL(tla_arena_free(a.arena, {0, 64}, nullptr), TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(a.last(), "free of 64 bytes at 0: part of the range is already free");
        BOOST_CHECK_EQUAL(tla_arena_free_batch(a.arena, batch, 2, nullptr), TLA_NOT_ALLOCATED);
    }
}

BOOST_AUTO_TEST_CASE(the_whole_of_2_to_the_63_can_be_taken_and_given_back) {
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        any_arena a(static_cast<tla_policy>(p), 0, limit);
        tla_block block{};
        tla_status status = tla_arena_alloc(a.arena, limit, &block, nullptr);
        BOOST_CHECK_MESSAGE(status == TLA_OK, tla_policy_name(static_cast<tla_policy>(p)));
        if (status == TLA_OK) {
            BOOST_CHECK_EQUAL(tla_arena_free(a.arena, block, nullptr), TLA_OK);
            a.before.peak_used = limit;
        }
    }
}

BOOST_AUTO_TEST_CASE(the_last_byte_below_2_to_the_63_is_a_block_like_any_other) {
    any_arena a(TLA_FIRST_FIT, limit - 100, 100);
    for (uint64_t i = 0; i < 100; i++) {
        tla_block block{};
        BOOST_REQUIRE_EQUAL(tla_arena_alloc(a.arena, 1, &block, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(block.offset, limit - 100 + i);
    }
    for (uint64_t i = 0; i < 100; i += 2) // odd offsets stay, the last byte is one
        BOOST_REQUIRE_EQUAL(tla_arena_free(a.arena, {limit - 100 + i, 1}, nullptr), TLA_OK);
    for (uint64_t i = 99; i < 100; i -= 2)
        BOOST_REQUIRE_EQUAL(tla_arena_free(a.arena, {limit - 100 + i, 1}, nullptr), TLA_OK);
    a.before.peak_used = 100;
}
