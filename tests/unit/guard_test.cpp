// Guarded memory: what is found, what is said, and random accesses against a byte-by-byte reference.
#include "tlmalloc/memory/guard.h"

#include "seeded_random.hpp"

#include <algorithm>

#include <string>
#include <vector>

namespace {

struct guarded {
    explicit guarded(uint64_t capacity = 1 << 16, size_t history = 8) {
        const tla_arena_config config{0, capacity, TLA_FIRST_FIT, 0, true};
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_guard_create(arena, history, &guard), TLA_OK);
    }
    ~guarded() {
        tla_guard_destroy(guard);
        tla_arena_destroy(arena);
    }
    guarded(const guarded &) = delete;
    guarded &operator=(const guarded &) = delete;

    uint64_t alloc(uint64_t nbytes, tla_owner owner = {0, TLA_WHO_UNKNOWN, 0}) {
        tla_block block{};
        tla_arena_set_owner(arena, owner);
        BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena, nbytes, &block, nullptr), TLA_OK);
        tla_guard_allocated(guard, block);
        return block.offset;
    }
    void release(uint64_t offset, tla_owner by = {0, TLA_WHO_UNKNOWN, 0}) {
        tla_block block{};
        tla_owner owner{};
        BOOST_REQUIRE_EQUAL(tla_arena_find(arena, offset, &block, &owner), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_arena_free(arena, block, nullptr), TLA_OK);
        tla_guard_freed(guard, block, owner, by);
    }
    tla_status check(const tla_guard_access &access) { return tla_guard_check(guard, &access, "HBM", &error); }
    tla_status write(uint64_t offset, uint64_t n, uint64_t who = TLA_WHO_UNKNOWN) {
        return check({true, offset, n, n, nullptr, 0, who, 5000});
    }
    tla_status read(uint64_t offset, uint64_t n, uint64_t who = TLA_WHO_UNKNOWN) {
        return check({false, offset, n, n, nullptr, 0, who, 5000});
    }

    tla_arena *arena = nullptr;
    tla_guard *guard = nullptr;
    tla_error error{};
};

} // namespace

BOOST_AUTO_TEST_CASE(accesses_inside_one_live_block_pass) {
    guarded g;
    const uint64_t a = g.alloc(100), b = g.alloc(50);
    BOOST_CHECK_EQUAL(g.write(a, 100), TLA_OK);
    BOOST_CHECK_EQUAL(g.write(b, 50), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(a, 100), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(b + 49, 1), TLA_OK);
}

BOOST_AUTO_TEST_CASE(an_access_past_the_end_names_the_block_even_where_another_one_follows) {
    guarded g;
    const uint64_t a = g.alloc(100, {0, tla_who(2, 7), 1000});
    g.alloc(50);
    BOOST_CHECK_EQUAL(g.write(a + 90, 16), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(std::string(g.error.text),
                      "write of 16 bytes at 90 of HBM by an unknown initiator at 5000 ps: 6 bytes past the end of the "
                      "block of 100 bytes at 0, allocated by initiator 7 of asid 2 at 1000 ps");
    BOOST_CHECK_EQUAL(g.write(a, 151), TLA_OUT_OF_BOUNDS);
}

BOOST_AUTO_TEST_CASE(an_access_where_nothing_was_ever_allocated_is_out_of_bounds) {
    guarded g;
    g.alloc(100);
    BOOST_CHECK_EQUAL(g.read(100, 1), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(std::string(g.error.text),
                      "read of 1 bytes at 100 of HBM by an unknown initiator at 5000 ps: no block is allocated there");
}

BOOST_AUTO_TEST_CASE(a_use_after_free_names_who_allocated_and_who_freed_and_when) {
    guarded g;
    const uint64_t a = g.alloc(64, {0, tla_who(1, 3), 1000});
    g.write(a, 64);
    g.release(a, {0, tla_who(1, 4), 2000});
    BOOST_CHECK_EQUAL(g.read(a + 8, 8, tla_who(1, 3)), TLA_USE_AFTER_FREE);
    BOOST_CHECK_EQUAL(std::string(g.error.text),
                      "read of 8 bytes at 8 of HBM by initiator 3 of asid 1 at 5000 ps: the block of 64 bytes at 0, "
                      "allocated by initiator 3 of asid 1 at 1000 ps was freed by initiator 4 of asid 1 at 2000 ps");
}

BOOST_AUTO_TEST_CASE(an_access_to_several_freed_blocks_names_the_last_one) {
    guarded g;
    for (uint64_t time : {100u, 200u, 300u}) {
        const uint64_t a = g.alloc(64, {0, TLA_WHO_UNKNOWN, time});
        g.release(a, {0, TLA_WHO_UNKNOWN, time + 50});
    }
    BOOST_CHECK_EQUAL(g.write(0, 8), TLA_USE_AFTER_FREE);
    BOOST_CHECK_MESSAGE(std::string(g.error.text).find("at 300 ps was freed by an unknown initiator at 350 ps") !=
                            std::string::npos,
                        g.error.text);
}

BOOST_AUTO_TEST_CASE(a_freed_block_is_forgotten_when_the_history_is_full) {
    guarded g(1 << 16, 2);
    uint64_t blocks[3];
    for (uint64_t &b : blocks)
        b = g.alloc(64);
    for (uint64_t b : blocks)
        g.release(b);
    BOOST_CHECK_EQUAL(g.read(blocks[0], 1), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(g.read(blocks[1], 1), TLA_USE_AFTER_FREE);
    BOOST_CHECK_EQUAL(g.read(blocks[2], 1), TLA_USE_AFTER_FREE);
}

BOOST_AUTO_TEST_CASE(a_read_of_unwritten_bytes_names_the_first_one) {
    guarded g;
    const uint64_t a = g.alloc(100);
    g.write(a, 33);
    g.write(a + 35, 65);
    BOOST_CHECK_EQUAL(g.read(a, 33), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(a, 100), TLA_NEVER_WRITTEN);
    BOOST_CHECK_MESSAGE(std::string(g.error.text).find("byte 33 was never written") != std::string::npos, g.error.text);
    g.release(a);
    BOOST_REQUIRE_EQUAL(g.alloc(100), a);
    BOOST_CHECK_EQUAL(g.read(a, 1), TLA_NEVER_WRITTEN); // what the block before had written does not count
}

BOOST_AUTO_TEST_CASE(a_block_belongs_to_an_address_space_and_the_unknown_are_held_to_nothing) {
    guarded g;
    const uint64_t mine = g.alloc(64, {0, tla_who(1, 3), 1000}), nobodys = g.alloc(64);
    BOOST_CHECK_EQUAL(g.write(mine, 64, tla_who(1, 9)), TLA_OK);
    BOOST_CHECK_EQUAL(g.write(mine, 64, tla_who(2, 3)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(std::string(g.error.text),
                      "write of 64 bytes at 0 of HBM by initiator 3 of asid 2 at 5000 ps: the initiator does not own "
                      "the block of 64 bytes at 0, allocated by initiator 3 of asid 1 at 1000 ps");
    BOOST_CHECK_EQUAL(g.write(mine, 64), TLA_OK);
    BOOST_CHECK_EQUAL(g.write(nobodys, 64, tla_who(2, 3)), TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_write_that_was_denied_has_written_nothing) {
    guarded g;
    const uint64_t mine = g.alloc(64, {0, tla_who(1, 3), 1000});
    BOOST_CHECK_EQUAL(g.write(mine, 64, tla_who(2, 3)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(g.read(mine, 1, tla_who(1, 3)), TLA_NEVER_WRITTEN);
    const tla_guard_access write{true, mine, 8, 8, nullptr, 0, tla_who(1, 3), 0};
    BOOST_CHECK_EQUAL(tla_guard_look(g.guard, &write, "HBM", nullptr), TLA_OK); // looked at, and not made
    BOOST_CHECK_EQUAL(g.read(mine, 1, tla_who(1, 3)), TLA_NEVER_WRITTEN);
    tla_guard_note(g.guard, &write);
    BOOST_CHECK_EQUAL(g.read(mine, 8, tla_who(1, 3)), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(mine + 8, 1, tla_who(1, 3)), TLA_NEVER_WRITTEN);
}

BOOST_AUTO_TEST_CASE(trusted_hardware_accesses_every_context_and_its_own_blocks_have_no_owner) {
    guarded g;
    const uint64_t trusted = tla_who(3, 0) | TLA_WHO_TRUSTED;
    const uint64_t theirs = g.alloc(64, {0, tla_who(1, 3), 1000}), for_three = g.alloc(64, {0, trusted, 1000}),
                   table = g.alloc(64, {0, tla_who(TLA_ASID_HARDWARE, 5) | TLA_WHO_TRUSTED, 1000});
    for (const uint64_t block : {theirs, for_three, table})
        BOOST_CHECK_EQUAL(g.write(block, 64, trusted), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(for_three, 64, tla_who(3, 9)), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(for_three, 64, tla_who(1, 3)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(g.read(table, 8, tla_who(3, 9)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(std::string(g.error.text),
                      "read of 8 bytes at 128 of HBM by initiator 9 of asid 3 at 5000 ps: the initiator does not own "
                      "the block of 64 bytes at 128, allocated by trusted initiator 5 without asid at 1000 ps");
    BOOST_CHECK_EQUAL(g.read(table + 60, 8, trusted), TLA_OUT_OF_BOUNDS); // but to bounds it is held
}

BOOST_AUTO_TEST_CASE(a_block_is_freed_by_its_context_by_the_trusted_and_by_the_unknown) {
    guarded g;
    const uint64_t mine = g.alloc(64, {0, tla_who(1, 3), 1000}), nobodys = g.alloc(64);
    const auto may = [&](uint64_t offset, uint64_t who) {
        return tla_guard_may_free(g.guard, offset, {0, who, 2000}, "TCM", &g.error);
    };
    BOOST_CHECK_EQUAL(may(mine, tla_who(1, 4)), TLA_OK);
    BOOST_CHECK_EQUAL(may(mine, tla_who(2, 4) | TLA_WHO_TRUSTED), TLA_OK);
    BOOST_CHECK_EQUAL(may(mine, TLA_WHO_UNKNOWN), TLA_OK);
    BOOST_CHECK_EQUAL(may(nobodys, tla_who(2, 3)), TLA_OK);
    BOOST_CHECK_EQUAL(may(mine, tla_who(2, 3)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(std::string(g.error.text),
                      "free of 0 of TCM by initiator 3 of asid 2 at 2000 ps: the initiator does not own the block of "
                      "64 bytes at 0, allocated by initiator 3 of asid 1 at 1000 ps");
}

BOOST_AUTO_TEST_CASE(a_transfer_that_leaves_the_block_between_two_accesses_is_out_of_bounds) {
    guarded g;
    const uint64_t a = g.alloc(100), b = g.alloc(50);
    const auto part = [&](uint64_t offset, uint64_t n, uint64_t before, uint64_t after) {
        return g.check({true, offset, n, n, nullptr, 0, TLA_WHO_UNKNOWN, 5000, before, after});
    };
    BOOST_CHECK_EQUAL(part(a, 50, 0, 50), TLA_OK);
    BOOST_CHECK_EQUAL(part(a + 50, 50, 50, 0), TLA_OK);
    BOOST_CHECK_EQUAL(part(b, 50, 0, 0), TLA_OK);
    BOOST_CHECK_EQUAL(part(a + 50, 50, 50, 1), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(
        std::string(g.error.text),
        "write of 50 bytes at 50 of HBM by an unknown initiator at 5000 ps: part of a transfer of 101 "
        "bytes at 0 that ends 1 bytes past the end of the block of 100 bytes at 0, allocated by an unknown "
        "initiator at 0 ps");
    BOOST_CHECK_EQUAL(part(b, 10, 1, 0), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_MESSAGE(std::string(g.error.text).find("that begins 1 bytes before the block of 50 bytes at 100") !=
                            std::string::npos,
                        g.error.text);
}

BOOST_AUTO_TEST_CASE(adjacent_blocks_of_one_tag_are_one_object_and_others_are_not) {
    guarded g;
    const uint64_t who = tla_who(1, 3) | TLA_WHO_TRUSTED;
    const uint64_t a = g.alloc(100, {7, who, 0});
    g.alloc(50, {7, who, 0});
    const uint64_t last = g.alloc(10, {7, who, 0});
    g.alloc(10, {8, who, 0});                           // another object
    const uint64_t untagged = g.alloc(10, {0, who, 0}); // two of none
    g.alloc(10, {0, who, 0});
    const uint64_t nobodys = g.alloc(10, {9, TLA_WHO_UNKNOWN, 0}); // tags of nobody
    g.alloc(10, {9, TLA_WHO_UNKNOWN, 0});
    const uint64_t other = g.alloc(10, {5, tla_who(1, 3), 0}); // one tag, two contexts
    g.alloc(10, {5, tla_who(2, 3), 0});
    const uint64_t me = tla_who(1, 3);
    BOOST_CHECK_EQUAL(g.write(a, 160, me), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(a + 50, 100, me), TLA_OK);
    BOOST_CHECK_EQUAL(g.write(a, 161, me), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(g.check({false, last, 10, 10, nullptr, 0, me, 0, 150, 0}), TLA_OK);
    BOOST_CHECK_EQUAL(g.check({false, last, 10, 10, nullptr, 0, me, 0, 150, 1}), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(g.write(untagged, 20, me), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(g.write(nobodys, 20, me), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(g.write(other, 20, me), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(g.write(other, 20, who), TLA_OUT_OF_BOUNDS);
}

BOOST_AUTO_TEST_CASE(disabled_bytes_are_not_touched) {
    guarded g;
    const uint64_t a = g.alloc(10);
    const uint8_t inner[] = {0, 0, 0xff, 0xff}, none[] = {0};
    BOOST_CHECK_EQUAL(g.check({true, a + 8, 4, 4, inner, 4, TLA_WHO_UNKNOWN, 0}), TLA_OUT_OF_BOUNDS); // bytes 10, 11
    BOOST_CHECK_EQUAL(g.check({true, a + 6, 4, 4, inner, 4, TLA_WHO_UNKNOWN, 0}), TLA_OK);            // bytes 8, 9
    BOOST_CHECK_EQUAL(g.read(a + 8, 2), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(a + 7, 1), TLA_NEVER_WRITTEN);
    BOOST_CHECK_EQUAL(g.check({true, 5000, 4, 4, none, 1, TLA_WHO_UNKNOWN, 0}), TLA_OK); // nothing at all
}

BOOST_AUTO_TEST_CASE(streaming_touches_the_width_only) {
    guarded g;
    const uint64_t a = g.alloc(4);
    BOOST_CHECK_EQUAL(g.check({true, a, 64, 4, nullptr, 0, TLA_WHO_UNKNOWN, 0}), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(a, 4), TLA_OK);
}

BOOST_AUTO_TEST_CASE(trusted_bytes_count_as_written) {
    guarded g(1 << 20);
    const uint64_t a = g.alloc(300'000);
    tla_guard_trust(g.guard, {a + 3, 299'990});
    BOOST_CHECK_EQUAL(g.read(a + 3, 299'990), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(a + 2, 1), TLA_NEVER_WRITTEN);
    BOOST_CHECK_EQUAL(g.read(a + 299'993, 1), TLA_NEVER_WRITTEN);
}

BOOST_AUTO_TEST_CASE(bytes_beyond_the_arena_are_not_guarded) {
    guarded g(1000);
    BOOST_CHECK_EQUAL(g.read(1000, 24), TLA_OK);
    BOOST_CHECK_EQUAL(g.read(990, 24), TLA_OUT_OF_BOUNDS);
}

// Ranges that whoever asks may name, though no memory has them: sums must not come round to a block.
BOOST_AUTO_TEST_CASE(ranges_that_end_past_2_to_the_64_are_out_of_bounds) {
    guarded g;
    const uint64_t a = g.alloc(100), unknown = TLA_WHO_UNKNOWN;
    BOOST_REQUIRE_EQUAL(g.write(a, 100), TLA_OK);
    for (const uint64_t width : {UINT64_MAX, UINT64_MAX - 9, UINT64_MAX - 5}) { // 10 + width: 9, 0 and 4
        for (const bool write : {false, true}) {
            BOOST_CHECK_EQUAL(g.check({write, a + 10, 8, width, nullptr, 0, unknown, 0}), TLA_OUT_OF_BOUNDS);
            const uint8_t enables[] = {0xff, 0, 0, 0xff};
            BOOST_CHECK_EQUAL(g.check({write, a + 10, 8, width, enables, 4, unknown, 0}), TLA_OK); // bytes 0 to 7 alone
        }
    }
    for (const uint64_t much : {UINT64_MAX, UINT64_MAX - 9, uint64_t{1} << 63, uint64_t{101}}) {
        BOOST_CHECK_EQUAL(g.check({false, a + 10, 8, 8, nullptr, 0, unknown, 0, 0, much}), TLA_OUT_OF_BOUNDS);
        BOOST_CHECK_EQUAL(g.check({false, a + 10, 8, 8, nullptr, 0, unknown, 0, much, much}), TLA_OUT_OF_BOUNDS);
    }
    const uint64_t b = g.alloc(50); // a transfer cannot begin before 0: what is said is the part that there is
    BOOST_REQUIRE_EQUAL(g.write(b, 50), TLA_OK);
    BOOST_CHECK_EQUAL(g.check({false, b, 8, 8, nullptr, 0, unknown, 0, UINT64_MAX, 0}), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(g.check({false, a, 8, 8, nullptr, 0, unknown, 0, UINT64_MAX, 0}), TLA_OK);
    // What is noted does not come round either.
    const uint64_t c = g.alloc(50);
    const tla_guard_access all{true, c, 8, UINT64_MAX, nullptr, 0, unknown, 0};
    BOOST_CHECK_EQUAL(g.read(c, 50), TLA_NEVER_WRITTEN);
    tla_guard_note(g.guard, &all);
    BOOST_CHECK_EQUAL(g.read(c, 50), TLA_OK);
}

BOOST_AUTO_TEST_CASE(an_arena_that_does_not_validate_cannot_be_guarded) {
    const tla_arena_config config{0, 1000, TLA_FIRST_FIT, 0, false};
    tla_arena *arena = nullptr;
    tla_guard *guard = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    BOOST_CHECK_EQUAL(tla_guard_create(arena, 8, &guard), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(!guard);
    tla_arena_destroy(arena);
}

BOOST_AUTO_TEST_CASE(random_accesses_are_judged_as_byte_by_byte) {
    seeded_random random(4711);
    const uint64_t capacity = 2000;
    guarded g(capacity, 1 << 12);
    enum { free_byte, freed_byte, fresh_byte, written_byte };
    std::vector<int> state(capacity, free_byte), block_of(capacity, -1);
    std::vector<uint64_t> live;
    std::vector<uint64_t> sizes;
    size_t seen[TLA_STATUS_COUNT] = {};
    for (int step = 0, next_block = 0; step < 40'000; step++) {
        if (random.one_in(4)) {
            const uint64_t n = random.between(1, 200);
            tla_block block{};
            if (live.size() < 12 && tla_arena_alloc(g.arena, n, &block, nullptr) == TLA_OK) {
                tla_guard_allocated(g.guard, block);
                for (uint64_t i = 0; i < n; i++)
                    state[block.offset + i] = fresh_byte, block_of[block.offset + i] = next_block;
                next_block++;
                live.push_back(block.offset);
                sizes.push_back(n);
            } else if (!live.empty()) {
                const size_t i = random.between(0, live.size() - 1);
                g.release(live[i]);
                for (uint64_t b = 0; b < sizes[i]; b++)
                    state[live[i] + b] = freed_byte, block_of[live[i] + b] = -1;
                live.erase(live.begin() + static_cast<long>(i));
                sizes.erase(sizes.begin() + static_cast<long>(i));
            }
            continue;
        }
        const bool write = random.one_in(2);
        const uint64_t width = random.between(1, 60), length = random.one_in(3) ? random.between(width, 120) : width;
        const uint64_t offset = random.between(0, capacity - width);
        std::vector<uint8_t> enables(random.between(1, 9));
        for (uint8_t &e : enables)
            e = random.one_in(2) ? 0xff : 0;
        const bool masked = random.one_in(2);
        // the reference: which bytes are touched, and what each of them says
        std::vector<uint64_t> touched;
        for (uint64_t i = 0; i < length; i++)
            if (!masked || enables[i % enables.size()]) touched.push_back(offset + i % width);
        tla_status expected = TLA_OK;
        if (!touched.empty()) {
            const uint64_t low = *std::min_element(touched.begin(), touched.end());
            const uint64_t high = *std::max_element(touched.begin(), touched.end());
            bool inside = true, freed = false;
            for (uint64_t b = low; b <= high; b++) {
                inside &= block_of[b] >= 0 && block_of[b] == block_of[low];
                freed |= state[b] == freed_byte;
            }
            if (!inside) {
                // what was freed once stays remembered (the history is long enough), also under other blocks
                expected = block_of[low] >= 0 ? TLA_OUT_OF_BOUNDS : TLA_USE_AFTER_FREE;
                if (expected == TLA_USE_AFTER_FREE && !freed) expected = TLA_STATUS_COUNT; // either
            } else if (write) {
                for (uint64_t b : touched)
                    state[b] = written_byte;
            } else {
                for (uint64_t b : touched)
                    if (state[b] != written_byte) expected = TLA_NEVER_WRITTEN;
            }
        }
        const tla_status found = g.check({write, offset, length, width, masked ? enables.data() : nullptr,
                                          masked ? enables.size() : 0, TLA_WHO_UNKNOWN, 0});
        if (expected == TLA_STATUS_COUNT)
            BOOST_REQUIRE(found == TLA_OUT_OF_BOUNDS || found == TLA_USE_AFTER_FREE);
        else
            BOOST_REQUIRE_EQUAL(found, expected);
        seen[found]++;
    }
    for (tla_status status : {TLA_OK, TLA_OUT_OF_BOUNDS, TLA_USE_AFTER_FREE, TLA_NEVER_WRITTEN})
        BOOST_CHECK_GT(seen[status], 200u);
}
