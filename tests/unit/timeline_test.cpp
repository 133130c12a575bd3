// A resource with one server, and bytes at a bandwidth.
#include "tlmalloc/base/timeline.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <vector>

BOOST_AUTO_TEST_CASE(a_fresh_timeline_is_free_from_time_0) {
    tla_timeline t{};
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 0, 10), 0u);
    BOOST_CHECK_EQUAL(t.free_at, 10u);
}

BOOST_AUTO_TEST_CASE(a_request_waits_for_those_before_it) {
    tla_timeline t{};
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 100, 10), 100u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 105, 10), 110u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 105, 1), 120u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 300, 10), 300u);
}

BOOST_AUTO_TEST_CASE(a_request_that_comes_late_takes_no_gap) {
    tla_timeline t{};
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 300, 10), 300u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 200, 10), 310u);
}

BOOST_AUTO_TEST_CASE(a_duration_of_0_takes_nothing) {
    tla_timeline t{};
    tla_timeline_serve(&t, 10, 10);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 10, 0), 20u);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 50, 0), 50u);
    BOOST_CHECK_EQUAL(t.free_at, 20u);
}

BOOST_AUTO_TEST_CASE(the_end_of_time_saturates) {
    tla_timeline t{};
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, UINT64_MAX - 1, 10), UINT64_MAX - 1);
    BOOST_CHECK_EQUAL(t.free_at, UINT64_MAX);
    BOOST_CHECK_EQUAL(tla_timeline_serve(&t, 0, 10), UINT64_MAX);
}

// Every request again from the list of all before it: it starts behind the latest end of those, or when it arrives.
BOOST_AUTO_TEST_CASE(a_timeline_serves_as_a_list_of_all_requests) {
    for (unsigned seed = 0; seed < 60; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            tla_timeline t{};
            std::vector<uint64_t> ends;
            const uint64_t longest = 1 + random() % 200, apart = 1 + random() % 200;
            for (uint64_t i = 0, arrival = 0; i < 1200; i++, arrival += random() % apart) {
                const uint64_t duration = random() % 5 == 0 ? 0 : random() % longest;
                uint64_t expected = arrival;
                for (uint64_t end : ends)
                    expected = std::max(expected, end);
                BOOST_REQUIRE_EQUAL(tla_timeline_serve(&t, arrival, duration), expected);
                if (duration > 0) ends.push_back(expected + duration);
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
