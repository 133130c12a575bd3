// An arena that is committed in the background, with pins that wait for submissions in flight.
#include "seeded_random.hpp"
#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/cache/partition.h"

#include <boost/test/unit_test.hpp>
#include <utility>
#include <vector>

namespace {

using interval = std::pair<std::uint64_t, std::uint64_t>;

// An arena, and the submissions that its caller has noted until a time.
struct paced {
    paced(const tla_lazy_arena_config &config, std::uint64_t wait, std::vector<interval> all)
        : submissions(std::move(all)) {
        BOOST_REQUIRE_EQUAL(tla_lazy_arena_create(&config, &arena), TLA_OK);
        const tla_lazy_pacer pacer{wait,
                                   [](void *self, std::uint64_t from) {
                                       return tla_submissions_idle(&static_cast<paced *>(self)->noted, from);
                                   },
                                   this};
        tla_lazy_arena_pace(arena, &pacer);
    }
    paced(const paced &) = delete;
    ~paced() {
        tla_lazy_arena_destroy(arena);
        tla_submissions_clear(&noted);
    }
    // What has begun or ended before `now`, and perhaps what is still to come.
    void note(std::uint64_t now, std::uint64_t ahead) {
        for (std::size_t i = 0; i < submissions.size(); i++) {
            if (begun.size() == i) begun.push_back(false), ended.push_back(false);
            if (!begun[i] && submissions[i].first < now + ahead) {
                BOOST_REQUIRE_EQUAL(tla_submissions_begin(&noted, submissions[i].first), TLA_OK);
                begun[i] = true;
            }
            if (begun[i] && !ended[i] && submissions[i].second < now + ahead) {
                tla_submissions_end(&noted, submissions[i].second);
                ended[i] = true;
            }
        }
    }
    std::uint64_t bytes() const { return tla_lazy_arena_get_stats(arena).capacity; }

    const std::vector<interval> submissions;
    std::vector<bool> begun, ended;
    tla_submissions noted{};
    tla_lazy_arena *arena = nullptr;
};

tla_lazy_arena_config of(std::uint64_t chunks, std::uint64_t in_commit, std::uint64_t pin) {
    tla_lazy_arena_config config{};
    config.final_bytes = 16 * chunks;
    config.chunk_bytes = 16;
    config.commit_bytes = 16 * in_commit;
    config.chunk_ps = pin;
    config.policy = TLA_FIRST_FIT;
    return config;
}

} // namespace

BOOST_AUTO_TEST_CASE(chunks_are_pinned_as_in_the_example_of_the_reference) { // pins of 3, wait 4: 4 7 10 13 16 19
    const std::vector<interval> busy{{0, 5}, {8, 9}, {20, 50}};
    const std::vector<std::uint64_t> begins{4, 7, 10, 13, 16, 19};
    paced p(of(6, 1, 3), 4, busy);
    std::uint64_t when = 0, ready = 0;
    for (std::uint64_t now = 0, commits = 0; now < 60; now++) {
        p.note(now, 0);
        tla_lazy_arena_pin(p.arena, now);
        const bool more = tla_lazy_arena_next_commit(p.arena, &when);
        const bool due = commits < begins.size() && begins[commits] + 3 == now;
        BOOST_REQUIRE_EQUAL(more && when <= now, due);
        if (due) BOOST_REQUIRE_EQUAL(when, now);
        BOOST_REQUIRE_EQUAL(tla_lazy_arena_advance(p.arena, now, nullptr), TLA_OK);
        commits += due;
        BOOST_REQUIRE_EQUAL(p.bytes(), 16 * commits);
    }
    BOOST_CHECK(!tla_lazy_arena_next_commit(p.arena, &when));
    BOOST_CHECK_EQUAL(tla_lazy_arena_waited(p.arena, &ready), 4u); // of the first one
    BOOST_CHECK_EQUAL(ready, 22u);
}

BOOST_AUTO_TEST_CASE(without_a_wait_pins_follow_each_other) {
    paced p(of(4, 2, 10), 0, {{0, 1000}});
    std::uint64_t when = 0;
    p.note(1, 0);
    BOOST_CHECK(tla_lazy_arena_next_commit(p.arena, &when));
    BOOST_CHECK_EQUAL(when, 20u);
    BOOST_CHECK_EQUAL(tla_lazy_arena_advance(p.arena, 40, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(p.bytes(), 64u);
}

// A pacer that looks at every tick, against one that is asked only at the times that it gives, and at some others, by a
// caller who knows some of what is to come.
BOOST_AUTO_TEST_CASE(random_commits_come_when_a_look_at_every_tick_would_let_them) {
    seeded_random random(244);
    std::uint64_t waits = 0;
    for (int round = 0; round < 4000; round++) {
        std::vector<interval> busy;
        for (std::uint64_t n = random.between(0, 12), at = 0; n > 0; n--) {
            at += random.between(0, 12);
            busy.emplace_back(at, at + random.between(0, 15));
        }
        const std::uint64_t pin = random.between(1, 9), wait = random.between(1, 20), chunks = random.between(1, 12),
                            in_commit = random.between(1, 3), ahead = random.between(0, 10);
        std::vector<std::uint64_t> expected; // times of commits
        std::uint64_t ready = 0, waited = 0;
        for (std::uint64_t n = 1; n <= chunks; n++) {
            std::uint64_t now = ready;
            const auto in_flight = [&] {
                for (const auto &[begin, end] : busy)
                    if (now >= begin && now < end) return true;
                return false;
            };
            while (in_flight() && now - ready < wait)
                now++;
            waited += now - ready;
            ready = now + pin;
            if (n % in_commit == 0 || n == chunks) expected.push_back(ready);
        }
        waits += waited;
        paced p(of(chunks, in_commit, pin), wait, busy);
        std::vector<std::uint64_t> found;
        std::uint64_t now = 0, when = 0;
        p.note(now, ahead);
        while (tla_lazy_arena_next_commit(p.arena, &when)) {
            now = random.one_in(2) ? when : std::min(when, now + random.between(0, 5));
            p.note(now, ahead);
            tla_lazy_arena_pin(p.arena, now);
            BOOST_REQUIRE(tla_lazy_arena_next_commit(p.arena, &when));
            if (when > now) continue;
            found.push_back(when);
            BOOST_REQUIRE_EQUAL(tla_lazy_arena_advance(p.arena, when, nullptr), TLA_OK);
        }
        BOOST_REQUIRE_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());
        BOOST_REQUIRE_EQUAL(tla_lazy_arena_waited(p.arena, &when), waited);
        BOOST_REQUIRE_EQUAL(p.bytes(), 16 * chunks);
    }
    BOOST_CHECK_GT(waits, 1000u);
}
