// Snapshots: what is written is read again and goes on as before; damaged text changes nothing.
#include "seeded_random.hpp"
#include "tlmalloc/arena/arena.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using arena_pointer = std::unique_ptr<tla_arena, decltype(&tla_arena_destroy)>;

arena_pointer make(const tla_arena_config &config) {
    tla_arena *arena = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    return {arena, tla_arena_destroy};
}

std::string text_of(const tla_arena *arena) {
    std::size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_arena_snapshot(arena, nullptr, 0, &length), TLA_LIMIT);
    std::string text(length + 1, '?');
    BOOST_REQUIRE_EQUAL(tla_arena_snapshot(arena, &text[0], text.size(), &length), TLA_OK);
    BOOST_CHECK_EQUAL(text[length], '\0');
    text.resize(length);
    return text;
}

// The same random operations on each of several arenas; returns what they answered.
class exercise {
  public:
    explicit exercise(uint64_t seed) : random(seed) {}
    void run(const std::vector<tla_arena *> &arenas, int steps) {
        for (int i = 0; i < steps; i++) {
            bool give = !live.empty() && random.between(0, 99) < 47;
            uint64_t nbytes = random.between(1, 900);
            std::size_t which = live.empty() ? 0 : random.between(0, live.size() - 1);
            tla_block first{};
            tla_status first_status = TLA_OK;
            tla_work first_work{};
            for (std::size_t a = 0; a < arenas.size(); a++) {
                tla_block block{};
                tla_work work{};
                tla_status status = give ? tla_arena_free(arenas[a], live[which], &work)
                                         : tla_arena_alloc(arenas[a], nbytes, &block, &work);
                if (a == 0) {
                    first = block;
                    first_status = status;
                    first_work = work;
                }
                BOOST_REQUIRE_EQUAL(status, first_status);
                BOOST_REQUIRE_EQUAL(block.offset, first.offset);
                BOOST_REQUIRE(std::memcmp(&work, &first_work, sizeof work) == 0);
            }
            if (give) {
                live[which] = live.back();
                live.pop_back();
            } else if (first_status == TLA_OK) {
                live.push_back(first);
            }
        }
    }
    std::vector<tla_block> live;

  private:
    seeded_random random;
};

const char *const small =
    "tlmalloc-arena 1\npolicy first_fit\nbase 0\ncapacity 65536\nalignment 1\npeak 8192\ncursor 0\n"
    "free 1\n8192 57344\nlive 1\n0 8192 7 3 120000\nend\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_snapshot_is_the_text_that_its_header_shows) {
    arena_pointer arena = make({0, 65536, TLA_FIRST_FIT, 1, true});
    tla_block block{};
    tla_arena_set_owner(arena.get(), {7, 3, 120000});
    BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena.get(), 8192, &block, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(text_of(arena.get()), small);
    arena_pointer again = make({0, 65536, TLA_FIRST_FIT, 1, true});
    BOOST_REQUIRE_EQUAL(tla_arena_restore(again.get(), small, std::strlen(small), nullptr), TLA_OK);
    tla_owner owner{};
    BOOST_REQUIRE_EQUAL(tla_arena_find(again.get(), 100, &block, &owner), TLA_OK);
    BOOST_CHECK_EQUAL(owner.time, 120000u);
    BOOST_CHECK_EQUAL(text_of(again.get()), small);
}

BOOST_AUTO_TEST_CASE(an_aged_arena_of_any_policy_continues_from_its_snapshot_as_the_original) {
    for (int p = 0; p < TLA_POLICY_COUNT; p++)
        for (bool validate : {false, true}) {
            tla_arena_config config{4096, 100000, static_cast<tla_policy>(p), 4, validate};
            arena_pointer original = make(config), copy = make(config);
            exercise load(71);
            load.run({original.get()}, 5000);
            std::string text = text_of(original.get());
            tla_error error{};
            BOOST_REQUIRE_MESSAGE(tla_arena_restore(copy.get(), text.data(), text.size(), &error) == TLA_OK,
                                  error.text);
            BOOST_CHECK_EQUAL(text_of(copy.get()), text);
            tla_arena_stats x = tla_arena_get_stats(original.get()), y = tla_arena_get_stats(copy.get());
            BOOST_CHECK(std::memcmp(&x, &y, sizeof x) == 0);
            load.run({original.get(), copy.get()}, 5000);
            BOOST_CHECK_EQUAL(text_of(copy.get()), text_of(original.get()));
        }
}

BOOST_AUTO_TEST_CASE(any_policy_takes_over_the_heap_that_first_fit_aged) {
    arena_pointer aged = make({0, 100000, TLA_FIRST_FIT, 1, false});
    exercise load(72);
    load.run({aged.get()}, 5000);
    std::string text = text_of(aged.get());
    for (int p = 0; p < TLA_POLICY_COUNT; p++) {
        arena_pointer arena = make({0, 100000, static_cast<tla_policy>(p), 1, false});
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_arena_restore(arena.get(), text.data(), text.size(), &error) == TLA_OK, error.text);
        BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).used, tla_arena_get_stats(aged.get()).used);
        BOOST_CHECK_EQUAL(tla_arena_check(arena.get(), &error), TLA_OK);
    }
}

BOOST_AUTO_TEST_CASE(a_snapshot_tells_its_configuration) {
    tla_arena_config config{};
    BOOST_REQUIRE_EQUAL(tla_arena_snapshot_config(small, std::strlen(small), &config, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(config.capacity, 65536u);
    BOOST_CHECK_EQUAL(config.policy, TLA_FIRST_FIT);
    BOOST_CHECK(config.validate);
}

BOOST_AUTO_TEST_CASE(a_snapshot_that_does_not_suit_the_arena_is_rejected) {
    tla_error error{};
    std::size_t n = std::strlen(small);
    arena_pointer smaller = make({0, 4096, TLA_FIRST_FIT});
    BOOST_CHECK_EQUAL(tla_arena_restore(smaller.get(), small, n, &error), TLA_INVALID_ARGUMENT);
    arena_pointer coarse = make({0, 65536, TLA_FIRST_FIT, 16384});
    BOOST_CHECK_EQUAL(tla_arena_restore(coarse.get(), small, n, &error), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(error.text, "the snapshot has blocks that policy first_fit with alignment 16384 cannot produce: "
                                  "age the trace with this policy and alignment");
    std::string silent(small);
    silent.erase(silent.find("live"), std::strlen("live 1\n0 8192 7 3 120000\n"));
    arena_pointer strict = make({0, 65536, TLA_FIRST_FIT, 1, true});
    BOOST_CHECK_EQUAL(tla_arena_restore(strict.get(), silent.data(), silent.size(), &error), TLA_UNSUPPORTED);
    arena_pointer trusting = make({0, 65536, TLA_FIRST_FIT, 1, false});
    BOOST_CHECK_EQUAL(tla_arena_restore(trusting.get(), silent.data(), silent.size(), &error), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(trusting.get()).used, 8192u);
}

BOOST_AUTO_TEST_CASE(damage_is_reported_with_line_found_and_expected) {
    struct {
        const char *from, *to, *text;
    } damages[] = {
        {"tlmalloc-arena 1", "tlmalloc-arena 2", "line 1: found \"tlmalloc-arena 2\", expected \"tlmalloc-arena 1\""},
        {"first_fit", "first_fits", "line 2: found \"first_fits\", expected \"policy\" and the name of a policy"},
        {"base 0", "base 00", "line 3: found \"00\", expected \"base\" and a number"},
        {"base 0", "base -1", "line 3: found \"-1\", expected \"base\" and a number"},
        {"capacity 65536", "capacity 99999999999999999999",
         "line 4: found \"99999999999999999999\", expected \"capacity\" and a number"},
        {"alignment 1", "alignment 3",
         "line 5: found \"alignment 3\", expected a range below 2^63 and an alignment that is a power of two and "
         "divides the base"},
        {"peak 8192", "peak 8191", "peak 8191: must be at least the 8192 bytes in use and at most the capacity"},
        {"cursor 0", "cursor 65537", "cursor 65537: must be an offset inside the arena"},
        {"free 1", "free 1000000000000",
         "line 8: found \"free 1000000000000\", expected a count that matches the entries that follow"},
        {"8192 57344", "8192 57345", "line 9: found \"8192 57345\", expected a block inside the arena"},
        {"8192 57344", "8192 0", "line 9: found \"8192 0\", expected a block inside the arena"},
        {"8192 57344", "8192  57344", "line 9: found \"8192  57344\", expected offset and size"},
        {"0 8192 7", "0 8193 7", "line 12: found \"end\", expected live blocks that cover exactly what is not free"},
        {"0 8192 7", "1 8192 7", "free block of 57344 bytes at 8192: overlaps another block or touches a free one"},
        {"120000\n", "120000 \n", "line 11: found \"0 8192 7 3 120000 \", expected offset, size, tag, who and time"},
        {"end\n", "en\n", "line 12: found \"en\", expected \"end\""},
        {"end\n", "end\nmore", "line 13: found \"more\", expected nothing after \"end\""},
        {"free 1\n8192 57344", "free 2\n8192 50000\n58192 7344",
         "free block of 7344 bytes at 58192: overlaps another block or touches a free one"},
    };
    arena_pointer arena = make({0, 65536, TLA_FIRST_FIT, 1, true});
    BOOST_REQUIRE_EQUAL(tla_arena_restore(arena.get(), small, std::strlen(small), nullptr), TLA_OK);
    for (const auto &damage : damages) {
        std::string text(small);
        text.replace(text.find(damage.from), std::strlen(damage.from), damage.to);
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_arena_restore(arena.get(), text.data(), text.size(), &error), TLA_SYNTAX);
        BOOST_CHECK_EQUAL(std::string(error.text), damage.text);
        BOOST_CHECK_EQUAL(text_of(arena.get()), small);
    }
    for (std::size_t n = 0; n < std::strlen(small); n++) // cut off anywhere
        BOOST_CHECK_EQUAL(tla_arena_restore(arena.get(), small, n, nullptr), TLA_SYNTAX);
}
