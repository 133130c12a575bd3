// Timelines against a naive list of busy intervals.
#include "tlmalloc/timing/timeline.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <random>

namespace {

struct timeline : tla_timeline {
    timeline() : tla_timeline{} {}
    ~timeline() { tla_timeline_destroy(this); }
    timeline(const timeline &) = delete;
    timeline &operator=(const timeline &) = delete;
};

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
    void take(uint64_t start, uint64_t duration) {
        if (duration > 0) busy[start] = start + duration;
    }
    uint64_t free_at() const { return busy.empty() ? 0 : busy.rbegin()->second; }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_fresh_timeline_is_free_from_time_0) {
    timeline t;
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 10), 0u);
    BOOST_CHECK_EQUAL(t.free_at, 10u);
    BOOST_CHECK_EQUAL(t.gap_count, 0u);
}

BOOST_AUTO_TEST_CASE(requests_that_meet_are_served_one_after_the_other) {
    timeline t;
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 5, 10), 5u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 5, 10), 15u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 7, 1), 25u);
}

BOOST_AUTO_TEST_CASE(an_earlier_request_that_is_simulated_later_takes_the_gap) {
    timeline t;
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 100, 10), 100u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 20, 30), 20u); // splits [0, 100)
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 10, 20), 50u); // [10, 20) is too short
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 20), 0u);   // fills [0, 20) exactly
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 30), 70u);  // fills [70, 100) exactly
    BOOST_CHECK_EQUAL(t.gap_count, 0u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 1), 110u);
}

BOOST_AUTO_TEST_CASE(a_duration_of_0_takes_nothing) {
    timeline t;
    tla_timeline_reserve(&t, 10, 10);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 3, 0), 3u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 10, 0), 20u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 50, 0), 50u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 50, 0), 50u);
    BOOST_CHECK_EQUAL(t.free_at, 20u);
    BOOST_CHECK_EQUAL(t.gap_count, 1u);
}

BOOST_AUTO_TEST_CASE(no_gap_is_forgotten_that_a_request_can_reach) {
    timeline t;
    for (uint64_t i = 1; i <= 1000; i++)
        tla_timeline_reserve(&t, 20 * i, 10); // gap [20i - 10, 20i)
    BOOST_CHECK_EQUAL(t.gap_count, 1000u);
    for (uint64_t i = 1000; i > 1; i--)
        BOOST_REQUIRE_EQUAL(tla_timeline_reserve(&t, 20 * i - 10, 10), 20 * i - 10);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 20), 0u);
    BOOST_CHECK_EQUAL(t.gap_count, 0u);
}

BOOST_AUTO_TEST_CASE(forgetting_drops_the_gaps_that_are_over) {
    timeline t;
    for (uint64_t i = 1; i <= 1000; i++)
        tla_timeline_reserve(&t, 20 * i, 10);
    tla_timeline_forget_now(&t, 15); // into the first gap, [0, 20)
    BOOST_CHECK_EQUAL(t.gap_count, 1000u);
    tla_timeline_forget_now(&t, 20 * 500);
    BOOST_CHECK_EQUAL(t.gap_count, 500u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 20 * 500, 10), 20u * 501 - 10);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 10), 20u * 502 - 10); // too late: what is left, and no overlap
    tla_timeline_forget_now(&t, UINT64_MAX);
    BOOST_CHECK_EQUAL(t.gap_count, 0u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 10), 20u * 1000 + 10);
}

BOOST_AUTO_TEST_CASE(in_order_of_arrival_a_request_waits_for_those_before_it) {
    timeline t;
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 100, 10), 100u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 105, 10), 110u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 300, 10), 300u);
    tla_order order = tla_timeline_order(&t);
    BOOST_CHECK_EQUAL(order.late, 0u);
    BOOST_CHECK_EQUAL(order.displaced_ps, 0u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 200, 10), 310u); // ought not to come: takes no gap, and is counted
    order = tla_timeline_order(&t);
    BOOST_CHECK_EQUAL(order.late, 1u);
    BOOST_CHECK_EQUAL(order.displaced_ps, 110u);
    BOOST_CHECK_EQUAL(order.worst_ps, 110u);
    BOOST_CHECK_EQUAL(tla_timeline_host_bytes(&t), 0u);
}

BOOST_AUTO_TEST_CASE(the_end_of_time_saturates) {
    timeline t;
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, UINT64_MAX - 1, 10), UINT64_MAX - 1);
    BOOST_CHECK_EQUAL(t.free_at, UINT64_MAX);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, UINT64_MAX - 1, 10), UINT64_MAX);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 0, 10), 0u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 0, 10), UINT64_MAX);
}

// Arrivals in several shapes, forgetting now and then: every start is that of a list of all bookings.
BOOST_AUTO_TEST_CASE(a_timeline_serves_as_a_list_of_all_bookings) {
    for (unsigned seed = 0; seed < 60; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            timeline t;
            busy_list all;
            const uint64_t reach = 1 + random() % 20000, longest = 1 + random() % 200;
            const bool idle = seed % 2, jumps = seed % 3 == 0;
            size_t most_gaps = 0;
            for (uint64_t i = 0, now = 0; i < 1200; i++) {
                const uint64_t earliest =
                    jumps && random() % 4 == 0 ? all.free_at() + random() % 300 : now + random() % reach;
                const uint64_t duration = random() % 5 == 0 ? random() % 3 : random() % longest;
                const uint64_t expected = all.first_fit(earliest, duration);
                BOOST_REQUIRE_EQUAL(tla_timeline_reserve(&t, earliest, duration), expected);
                all.take(expected, duration);
                most_gaps = std::max(most_gaps, t.gap_count);
                now += random() % (idle ? 200 : 20);
                if (random() % 20 == 0) tla_timeline_forget_now(&t, now);
                tla_timeline_forget(&t, now);
                BOOST_REQUIRE_EQUAL(t.free_at, all.free_at());
            }
            if (reach > 10000 && idle) BOOST_REQUIRE_GT(most_gaps, 8u);
        }
    }
}

BOOST_AUTO_TEST_CASE(ten_million_bookings_take_no_more_memory_than_what_they_can_reach) {
    timeline t;
    std::mt19937_64 random(1);
    size_t most_bytes = 0;
    for (uint64_t i = 0, now = 0; i < 10'000'000; i++, now += 12) {
        tla_timeline_forget(&t, now);
        tla_timeline_reserve(&t, now + random() % 4096, 10); // about 340 are ahead
        if (i % 1000 == 0) most_bytes = std::max(most_bytes, tla_timeline_host_bytes(&t));
    }
    BOOST_TEST_MESSAGE("at most " << most_bytes << " bytes");
    BOOST_CHECK_LE(most_bytes, 128u << 10);
    BOOST_CHECK_GT(tla_timeline_order(&t).late, 1'000'000u);
}

BOOST_AUTO_TEST_CASE(forgetting_early_and_often_does_not_change_when_requests_are_served) {
    std::mt19937 random(7);
    timeline forgets, keeps;
    for (uint64_t i = 0, now = 0; i < 20'000; i++, now += random() % 30) {
        const uint64_t earliest = now + random() % 2000, duration = 1 + random() % 20;
        tla_timeline_forget_now(&forgets, now);
        BOOST_REQUIRE_EQUAL(tla_timeline_reserve(&forgets, earliest, duration),
                            tla_timeline_reserve(&keeps, earliest, duration));
    }
    const tla_order order = tla_timeline_order(&forgets), expected = tla_timeline_order(&keeps);
    BOOST_CHECK_EQUAL(order.late, expected.late);
    BOOST_CHECK_EQUAL(order.displaced_ps, expected.displaced_ps);
    BOOST_CHECK_EQUAL(order.worst_ps, expected.worst_ps);
    BOOST_CHECK_GT(order.displaced_ps, 0u);
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
