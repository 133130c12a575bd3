// Timelines and their figures when the host's memory ends: accuracy is lost, never correctness.
#include "host_memory/failing.hpp"
#include "tlmalloc/timing/timeline.h"

#include <algorithm>
#include <random>
#include <vector>

namespace {

// Random requests, from the n-th allocation on without host memory: no two overlap, none is served before it arrives,
// and what costs no memory stays exact. Returns how many allocations failed.
std::size_t serve_without_memory(unsigned seed, std::size_t n, bool all_later) {
    std::mt19937 random(seed);
    tla_timeline t{};
    std::vector<tla_booking> all;
    std::uint64_t late = 0, latest = 0;
    host_memory::fail_from(n, all_later);
    std::size_t failed = 0;
    for (std::uint64_t i = 0, now = 0; i < 300; i++, now += random() % 30) {
        const std::uint64_t arrival = now + random() % 3000, duration = 1 + random() % 20;
        tla_timeline_forget(&t, now);
        all.push_back({arrival, tla_timeline_reserve(&t, arrival, duration), duration});
        late += arrival < latest;
        latest = std::max(latest, arrival);
        if (!all_later && i % 20 == 19) { // now and then
            failed += host_memory::stop();
            host_memory::fail_from(i % 3, i % 2);
        }
    }
    failed += host_memory::stop();
    BOOST_CHECK_EQUAL(tla_timeline_order(&t).late, late);
    tla_timeline_destroy(&t);
    BOOST_CHECK(std::all_of(all.begin(), all.end(), [](const tla_booking &b) { return b.start_ps >= b.arrival_ps; }));
    std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.start_ps < b.start_ps; });
    BOOST_CHECK(std::adjacent_find(all.begin(), all.end(), [](const auto &a, const auto &b) {
                    return a.start_ps + a.duration_ps > b.start_ps;
                }) == all.end());
    return failed;
}

} // namespace

BOOST_AUTO_TEST_CASE(without_host_memory_requests_wait_but_never_overlap) {
    const std::size_t before = host_memory::live();
    for (unsigned seed = 0; seed < 10; seed++)
        for (bool all_later : {true, false})
            for (std::size_t n = 0; n < 12; n++) {
                BOOST_TEST_CONTEXT("seed " << seed << ", allocation " << n << ", all later ones " << all_later)
                BOOST_CHECK_GT(serve_without_memory(seed, n, all_later), 0u);
            }
    BOOST_CHECK_EQUAL(host_memory::live(), before);
}

BOOST_AUTO_TEST_CASE(without_host_memory_at_all_a_timeline_serves_in_order_of_the_calls) {
    tla_timeline t{};
    host_memory::fail_from(0, true);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 100, 10), 100u);
    BOOST_CHECK_EQUAL(tla_timeline_reserve(&t, 20, 10), 110u); // the gap [0, 100) is lost
    BOOST_CHECK_EQUAL(t.gap_count, 0u);
    const tla_order order = tla_timeline_order(&t);
    host_memory::stop();
    BOOST_CHECK_EQUAL(order.late, 1u);
    BOOST_CHECK_EQUAL(tla_timeline_host_bytes(&t), 0u);
    tla_timeline_destroy(&t);
}

BOOST_AUTO_TEST_CASE(figures_that_cannot_be_sorted_are_those_of_the_settled_bookings) {
    tla_timeline t{};
    tla_timeline_reserve(&t, 100, 10); // ought to be at 105
    tla_timeline_reserve(&t, 95, 10);  // is at 110, ought to be at 95
    host_memory::fail_from(0, true);
    tla_order order = tla_timeline_order(&t);
    BOOST_CHECK_EQUAL(host_memory::stop(), 1u);
    BOOST_CHECK_EQUAL(order.late, 1u);
    BOOST_CHECK_EQUAL(order.displaced_ps, 0u);
    order = tla_timeline_order(&t);
    BOOST_CHECK_EQUAL(order.displaced_ps, 20u);
    BOOST_CHECK_EQUAL(order.worst_ps, 15u);
    tla_timeline_destroy(&t);
}
