// Validation (ADR-0048 A2): what it catches, whom it names, and that it changes no placement.
#include "seeded_random.hpp"
#include "tlmalloc/arena/arena.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace {

struct checked_arena {
    explicit checked_arena(tla_policy policy = TLA_FIRST_FIT, uint64_t capacity = 0x10000, bool validate = true) {
        tla_arena_config config{0x1000, capacity, policy, 16, validate};
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    }
    ~checked_arena() { tla_arena_destroy(arena); }
    checked_arena(const checked_arena &) = delete;
    checked_arena &operator=(const checked_arena &) = delete;

    tla_block alloc(uint64_t nbytes, tla_owner owner = {0, 0, 0}) {
        tla_block block{};
        tla_arena_set_owner(arena, owner);
        BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena, nbytes, &block, nullptr), TLA_OK);
        return block;
    }
    // The status of a free that must change nothing, and its text.
    tla_status refused(tla_block block) {
        tla_arena_stats before = tla_arena_get_stats(arena);
        tla_work work{};
        tla_status status = tla_arena_free(arena, block, &work);
        tla_arena_stats after = tla_arena_get_stats(arena);
        BOOST_CHECK(std::memcmp(&before, &after, sizeof before) == 0);
        BOOST_CHECK_EQUAL(tla_arena_check(arena, nullptr), TLA_OK);
        const tla_error *error = tla_arena_last_error(arena);
        BOOST_CHECK_EQUAL(error->status, status);
        text = error->text;
        return status;
    }
    bool told(const char *part) const { return text.find(part) != std::string::npos; }

    tla_arena *arena = nullptr;
    std::string text;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_double_free_is_caught_and_the_second_one_named) {
    checked_arena a;
    tla_block block = a.alloc(64, {7, 3, 100});
    tla_arena_set_owner(a.arena, {8, 4, 200});
    BOOST_REQUIRE_EQUAL(tla_arena_free(a.arena, block, nullptr), TLA_OK);
    tla_arena_set_owner(a.arena, {9, 5, 300});
    BOOST_CHECK_EQUAL(a.refused(block), TLA_NOT_ALLOCATED);
    BOOST_CHECK(a.told("tag 9, by 5 at time 300"));
}

BOOST_AUTO_TEST_CASE(a_requester_that_did_not_say_who_it_is_is_unknown) {
    checked_arena a;
    tla_block block = a.alloc(64, {7, UINT64_MAX, 100});
    BOOST_CHECK_EQUAL(a.refused({block.offset, 32}), TLA_SIZE_MISMATCH);
    BOOST_CHECK(a.told("tag 7, allocated by an unknown initiator at time 100"));
    BOOST_REQUIRE_EQUAL(tla_arena_free(a.arena, block, nullptr), TLA_OK);
    tla_arena_set_owner(a.arena, {9, UINT64_MAX, 300});
    BOOST_CHECK_EQUAL(a.refused(block), TLA_NOT_ALLOCATED);
    BOOST_CHECK(a.told("tag 9, by an unknown initiator at time 300"));
}

BOOST_AUTO_TEST_CASE(a_wrong_size_names_who_allocated_the_block) {
    checked_arena a;
    tla_block block = a.alloc(256, {7, 3, 120000});
    BOOST_CHECK_EQUAL(a.refused({block.offset, 128}), TLA_SIZE_MISMATCH);
    BOOST_CHECK(a.told("tag 7, allocated by 3 at time 120000"));
    BOOST_CHECK_EQUAL(a.refused({block.offset, 512}), TLA_SIZE_MISMATCH);
    BOOST_CHECK_EQUAL(tla_arena_free(a.arena, {block.offset, 250}, nullptr), TLA_OK); // rounds up to 256 as alloc did
}

BOOST_AUTO_TEST_CASE(a_partial_free_and_an_overlapping_free_give_different_errors) {
    checked_arena a;
    tla_block first = a.alloc(256, {1, 11, 5});
    a.alloc(256, {2, 12, 6});
    BOOST_CHECK_EQUAL(a.refused({first.offset + 64, 64}), TLA_SIZE_MISMATCH);
    BOOST_CHECK(a.told("only a part of"));
    BOOST_CHECK(a.told("tag 1, allocated by 11 at time 5"));
    BOOST_CHECK_EQUAL(a.refused({first.offset + 128, 256}), TLA_OVERLAP);
    BOOST_CHECK(a.told("tag 1, allocated by 11"));
    BOOST_CHECK_EQUAL(a.refused({first.offset + 1024, 64}), TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(a_foreign_range_is_rejected_with_and_without_validation) {
    for (bool validate : {false, true}) {
        checked_arena a(TLA_FIRST_FIT, 0x10000, validate);
        BOOST_CHECK_EQUAL(a.refused({0, 64}), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(a.refused({0x11000, 64}), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(a.refused({0x10ff0, 64}), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(a.refused({UINT64_MAX - 15, 64}), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(a.refused({0x1000, UINT64_MAX}), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(a.refused({0x1000, 64}), TLA_NOT_ALLOCATED);
    }
}

BOOST_AUTO_TEST_CASE(without_validation_a_free_is_trusted_as_d2_says) {
    checked_arena a(TLA_FIRST_FIT, 0x10000, false);
    tla_block block = a.alloc(256);
    BOOST_CHECK_EQUAL(tla_arena_free(a.arena, {block.offset + 64, 64}, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_find(a.arena, block.offset, &block, nullptr), TLA_UNSUPPORTED);
}

BOOST_AUTO_TEST_CASE(a_leak_names_the_first_block_that_is_left) {
    checked_arena a;
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_arena_check_leaks(a.arena, &error), TLA_OK);
    tla_block first = a.alloc(32, {1, 1, 1});
    a.alloc(64, {42, 6, 999});
    a.alloc(64, {43, 6, 999});
    BOOST_REQUIRE_EQUAL(tla_arena_free(a.arena, first, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_check_leaks(a.arena, &error), TLA_LEAK);
    BOOST_CHECK_EQUAL(std::string(error.text), "128 bytes in 2 blocks are still allocated, the first 64 bytes at 4128 "
                                               "(tag 42, allocated by 6 at time 999)");
}

BOOST_AUTO_TEST_CASE(the_owner_of_any_byte_of_a_live_block_is_found) {
    checked_arena a;
    a.alloc(64, {1, 2, 3});
    tla_block second = a.alloc(64, {4, 5, 6}), found{};
    tla_owner owner{};
    BOOST_CHECK_EQUAL(tla_arena_find(a.arena, second.offset + 63, &found, &owner), TLA_OK);
    BOOST_CHECK_EQUAL(found.offset, second.offset);
    BOOST_CHECK_EQUAL(owner.tag, 4u);
    BOOST_CHECK_EQUAL(owner.who, 5u);
    BOOST_CHECK_EQUAL(owner.time, 6u);
    BOOST_CHECK_EQUAL(tla_arena_find(a.arena, second.offset + 64, &found, &owner), TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(a_batch_with_one_bad_block_frees_none) {
    for (tla_policy policy : {TLA_FIRST_FIT, TLA_BUDDY}) {
        checked_arena a(policy);
        tla_block blocks[3] = {a.alloc(64), a.alloc(64), a.alloc(64)};
        uint64_t used = tla_arena_get_stats(a.arena).used;
        tla_block twice[3] = {blocks[0], blocks[2], blocks[0]};
        BOOST_CHECK_EQUAL(tla_arena_free_batch(a.arena, twice, 3, nullptr), TLA_NOT_ALLOCATED);
        tla_block half[2] = {blocks[1], {blocks[2].offset, 32}};
        BOOST_CHECK_EQUAL(tla_arena_free_batch(a.arena, half, 2, nullptr), TLA_SIZE_MISMATCH);
        BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).used, used);
        BOOST_CHECK_EQUAL(tla_arena_free_batch(a.arena, blocks, 3, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_arena_check_leaks(a.arena, nullptr), TLA_OK);
    }
}

BOOST_AUTO_TEST_CASE(validation_changes_no_placement_of_any_policy) {
    seeded_random random(61);
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        checked_arena on(static_cast<tla_policy>(p)), off(static_cast<tla_policy>(p), 0x10000, false);
        std::vector<tla_block> live;
        for (int i = 0; i < 20000; i++) {
            tla_work work_on{}, work_off{};
            tla_block x{}, y{};
            tla_status status_on, status_off;
            uint64_t choice = random.between(0, 99);
            if (choice < 50) {
                uint64_t nbytes = random.between(1, 700);
                status_on = tla_arena_alloc(on.arena, nbytes, &x, &work_on);
                status_off = tla_arena_alloc(off.arena, nbytes, &y, &work_off);
                if (status_on == TLA_OK) live.push_back(x);
            } else if (choice < 53) {
                uint64_t nbytes = random.between(1, 100);
                tla_block xs[5], ys[5];
                status_on = tla_arena_alloc_batch(on.arena, nbytes, 5, TLA_BATCH_CARVED, xs, &work_on);
                status_off = tla_arena_alloc_batch(off.arena, nbytes, 5, TLA_BATCH_CARVED, ys, &work_off);
                if (status_on == TLA_OK) {
                    BOOST_REQUIRE(std::memcmp(xs, ys, sizeof xs) == 0);
                    live.insert(live.end(), xs, xs + 5);
                }
            } else if (!live.empty()) {
                std::size_t which = random.between(0, live.size() - 1);
                status_on = tla_arena_free(on.arena, live[which], &work_on);
                status_off = tla_arena_free(off.arena, live[which], &work_off);
                live[which] = live.back();
                live.pop_back();
            } else {
                continue;
            }
            BOOST_REQUIRE_EQUAL(status_on, status_off);
            BOOST_REQUIRE_EQUAL(x.offset, y.offset);
            BOOST_REQUIRE(std::memcmp(&work_on, &work_off, sizeof work_on) == 0);
            if (i % 500 == 0) {
                tla_error error{};
                BOOST_REQUIRE_MESSAGE(tla_arena_check(on.arena, &error) == TLA_OK, error.text);
            }
        }
    }
}
