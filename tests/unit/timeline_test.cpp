// Timelines against a naive list of busy intervals.
#include "tlmalloc/timeline.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <random>

namespace {

// Every busy interval that there ever was, in order: start -> end.
struct busy_list {
    std::map<uint64_t, uint64_t> busy;

    uint64_t first_fit(uint64_t earliest, uint64_t duration) const {
        uint64_t start = earliest;
        for (auto [from, to] : busy) {
            if (to <= start) continue;
            if (from > start && from - start >= duration) break;
            start = to;
        }
        return start;
    }
    bool overlaps(uint64_t start, uint64_t end) const {
        for (auto [from, to] : busy)
            if (from < end && start < to) return true;
        return false;
    }
    void take(uint64_t start, uint64_t duration) {
        if (duration > 0) busy[start] = start + duration;
    }
    size_t gaps() const {
        size_t count = 0;
        uint64_t end = 0;
        for (auto [from, to] : busy) {
            count += from > end;
            end = to;
        }
        return count;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_fresh_timeline_is_free_from_time_0) {
    tla_timeline t{};
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 10), 0u);
    BOOST_CHECK_EQUAL(t.free_at, 10u);
    BOOST_CHECK_EQUAL(t.gap_count, 0u);
}

BOOST_AUTO_TEST_CASE(requests_that_meet_are_served_one_after_the_other) {
    tla_timeline t{};
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 5, 10), 5u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 5, 10), 15u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 7, 1), 25u);
}

BOOST_AUTO_TEST_CASE(an_earlier_request_that_is_simulated_later_takes_the_gap) {
    tla_timeline t{};
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 100, 10), 100u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 20, 30), 20u); // splits [0, 100)
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 10, 20), 50u); // [10, 20) is too short
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 20), 0u);   // fills [0, 20) exactly
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 30), 70u);  // fills [70, 100) exactly
    BOOST_CHECK_EQUAL(t.gap_count, 0u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 1), 110u);
}

BOOST_AUTO_TEST_CASE(a_duration_of_0_takes_nothing) {
    tla_timeline t{};
    tla_timeline_reserve(&t, 10, 10);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 3, 0), 3u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 10, 0), 20u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 50, 0), 50u);
    BOOST_CHECK_EQUAL(t.free_at, 20u);
    BOOST_CHECK_EQUAL(t.gap_count, 1u);
}

BOOST_AUTO_TEST_CASE(the_oldest_gap_is_forgotten) {
    tla_timeline t{};
    for (uint64_t i = 1; i <= TLA_TIMELINE_GAPS + 1; i++)
        tla_timeline_reserve(&t, 20 * i, 10); // gap [20i - 10, 20i)
    BOOST_CHECK_EQUAL(t.gap_count, unsigned(TLA_TIMELINE_GAPS));
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 10), 30u); // [0, 20) is forgotten, [30, 40) is the oldest known
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 11), 20u * (TLA_TIMELINE_GAPS + 1) + 10);
}

BOOST_AUTO_TEST_CASE(splitting_the_oldest_of_a_full_list_forgets_its_front) {
    tla_timeline t{};
    for (uint64_t i = 1; i <= TLA_TIMELINE_GAPS; i++)
        tla_timeline_reserve(&t, 20 * i, 10);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 5, 1), 5u); // [0, 20) would become [0, 5) and [6, 20)
    BOOST_CHECK_EQUAL(t.gap_count, unsigned(TLA_TIMELINE_GAPS));
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 1), 6u);
}

BOOST_AUTO_TEST_CASE(the_end_of_time_saturates) {
    tla_timeline t{};
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, UINT64_MAX - 1, 10), UINT64_MAX - 1);
    BOOST_CHECK_EQUAL(t.free_at, UINT64_MAX);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, UINT64_MAX - 1, 10), UINT64_MAX);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 10), 0u);
}

BOOST_AUTO_TEST_CASE(few_gaps_behave_as_a_list_of_all_gaps) {
    for (unsigned seed = 0; seed < 200; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            tla_timeline t{};
            busy_list all;
            unsigned compared = 0;
            for (int i = 0; i < 200 && all.gaps() <= TLA_TIMELINE_GAPS; i++) {
                uint64_t back = random() % 60, earliest = t.free_at > back ? t.free_at - back : 0;
                if (random() % 4 == 0) earliest = t.free_at + random() % 20;
                uint64_t duration = random() % 12, expected = all.first_fit(earliest, duration);
                BOOST_REQUIRE_EQUAL(tla_timeline_reserve(&t, earliest, duration), expected);
                all.take(expected, duration);
                compared++;
            }
            BOOST_REQUIRE_GE(compared, 8u);
        }
    }
}

BOOST_AUTO_TEST_CASE(many_gaps_never_serve_two_at_once_nor_too_early) {
    for (unsigned seed = 0; seed < 20; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            tla_timeline t{};
            busy_list all;
            for (int i = 0; i < 500; i++) {
                uint64_t earliest = random() % 5000, duration = 1 + random() % 12;
                uint64_t start = tla_timeline_reserve(&t, earliest, duration);
                BOOST_REQUIRE_GE(start, all.first_fit(earliest, duration));
                BOOST_REQUIRE(!all.overlaps(start, start + duration));
                BOOST_REQUIRE_LE(t.gap_count, unsigned(TLA_TIMELINE_GAPS));
                all.take(start, duration);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(transfer_time_is_bytes_over_bandwidth_rounded_up) {
    BOOST_CHECK_EQUAL(tla_transfer_ps(0, 1), 0u);
    BOOST_CHECK_EQUAL(tla_transfer_ps(256, 32'000'000'000), 8000u);      // a burst on a pseudo-channel
    BOOST_CHECK_EQUAL(tla_transfer_ps(16384, 256'000'000'000), 64'000u); // KernBench: 16 KiB from a PE's own slice
    BOOST_CHECK_EQUAL(tla_transfer_ps(1, 3'000'000'000'000), 1u);
    BOOST_CHECK_EQUAL(tla_transfer_ps(10, 3'000'000'000'000), 4u);
    BOOST_CHECK_EQUAL(tla_transfer_ps(UINT64_C(48) << 30, 1'000'000'000), (UINT64_C(48) << 30) * 1000);
    BOOST_CHECK_EQUAL(tla_transfer_ps((UINT64_C(48) << 30) + 1, 3'000'000'000),
                      ((UINT64_C(48) << 30) + 1) * 1000 / 3 + 1);
    BOOST_CHECK_EQUAL(tla_transfer_ps(UINT64_MAX, 1), UINT64_MAX);
}
