// How far bookings are from the order of arrival, against a naive replay of all of them.
#include "tlmalloc/config.h"
#include "tlmalloc/timing/banked_channels.h"
#include "tlmalloc/timing/fabric.h"
#include "tlmalloc/timing/flat_channels.h"
#include "tlmalloc/timing/timeline.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace {

struct timeline : tla_timeline {
    timeline() : tla_timeline{} {}
    ~timeline() { tla_timeline_destroy(this); }
    timeline(const timeline &) = delete;
    timeline &operator=(const timeline &) = delete;
};

tla_order replay(std::vector<tla_booking> bookings) {
    tla_order order{};
    for (size_t i = 0; i < bookings.size(); i++)
        order.late += std::any_of(bookings.begin(), bookings.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](const tla_booking &b) { return b.arrival_ps > bookings[i].arrival_ps; });
    std::stable_sort(bookings.begin(), bookings.end(),
                     [](const tla_booking &a, const tla_booking &b) { return a.arrival_ps < b.arrival_ps; });
    uint64_t free_ps = 0;
    for (const tla_booking &b : bookings) {
        const uint64_t start = std::max(free_ps, b.arrival_ps);
        const uint64_t displaced = start > b.start_ps ? start - b.start_ps : b.start_ps - start;
        order.displaced_ps += displaced;
        order.worst_ps = std::max(order.worst_ps, displaced);
        free_ps = start + b.duration_ps;
    }
    return order;
}

void check_equal(const tla_order &found, const tla_order &expected) {
    BOOST_REQUIRE_EQUAL(found.late, expected.late);
    BOOST_REQUIRE_EQUAL(found.displaced_ps, expected.displaced_ps);
    BOOST_REQUIRE_EQUAL(found.worst_ps, expected.worst_ps);
}

} // namespace

BOOST_AUTO_TEST_CASE(bookings_in_order_of_arrival_are_not_displaced) {
    timeline t;
    std::mt19937 random(3);
    for (uint64_t i = 0, at = 0; i < 10'000; i++, at += random() % 20)
        tla_timeline_reserve(&t, at, 1 + random() % 20);
    check_equal(tla_timeline_order(&t), {0, 0, 0});
}

BOOST_AUTO_TEST_CASE(who_comes_late_and_whom_it_would_have_held_up_are_both_displaced) {
    timeline t;
    tla_timeline_reserve(&t, 100, 10); // ought to be at 109, behind the next
    tla_timeline_reserve(&t, 99, 10);  // starts at 110, ought to be at 99: [0, 100) has no 10 from 99 on
    check_equal(tla_timeline_order(&t), {1, 9 + 11, 11});
    tla_timeline_reserve(&t, 0, 10); // takes its gap: nobody's start moves
    check_equal(tla_timeline_order(&t), {2, 9 + 11, 11});
}

BOOST_AUTO_TEST_CASE(figures_are_those_of_a_replay_of_all_bookings) {
    for (unsigned seed = 0; seed < 100; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            timeline t;
            std::vector<tla_booking> all;
            const uint64_t reach = 1 + random() % 3000, step = 1 + random() % 40;
            for (uint64_t i = 0, now = 0; i < 400; i++) {
                const uint64_t arrival = now + (seed % 4 ? random() % reach : 0), duration = random() % 40;
                const uint64_t start = tla_timeline_reserve(&t, arrival, duration);
                if (duration > 0) all.push_back({arrival, start, duration});
                now += random() % step;
                if (random() % 10 == 0) tla_timeline_forget_now(&t, now);
                if (random() % 25 == 0) check_equal(tla_timeline_order(&t), replay(all));
            }
            check_equal(tla_timeline_order(&t), replay(all));
        }
    }
}

// Initiators that take turns, each a quantum ahead: long runs, as they are merged.
BOOST_AUTO_TEST_CASE(runs_of_many_initiators_are_put_in_order) {
    for (const size_t initiators : {2u, 3u, 7u, 16u}) {
        BOOST_TEST_CONTEXT(initiators << " initiators") {
            timeline t;
            std::vector<tla_booking> all;
            for (uint64_t now = 0; now < 3000; now += 1000)
                for (size_t who = 0; who < initiators; who++)
                    for (uint64_t at = now + who; at < now + 1000; at += 50)
                        all.push_back({at, tla_timeline_reserve(&t, at, 5), 5});
            check_equal(tla_timeline_order(&t), replay(all));
        }
    }
}

BOOST_AUTO_TEST_CASE(figures_of_resources_add_up) {
    tla_order sum{1, 100, 50};
    const tla_order more{2, 70, 60}, endless{0, UINT64_MAX, 10};
    tla_order_add(&sum, &more);
    check_equal(sum, {3, 170, 60});
    tla_order_add(&sum, &endless);
    check_equal(sum, {3, UINT64_MAX, 60});
}

BOOST_AUTO_TEST_CASE(links_sum_the_figures_of_what_they_saw) {
    const tla_fabric_node nodes[3] = {};
    const tla_fabric_link links[] = {
        {0, 1, 1000, 1'000'000'000'000, 0}, {1, 2, 0, 1'000'000'000'000, 0}, {2, 0, 0, 1'000'000'000'000, 0}};
    tla_fabric *fabric = nullptr;
    BOOST_REQUIRE_EQUAL(tla_fabric_create(nodes, 3, links, 3, 256, &fabric), TLA_OK);
    const auto send = [&](uint64_t at_ps) {
        tla_fabric_access access{0, 2, 0, true, nullptr, nullptr, nullptr};
        uint64_t arrival = 0;
        BOOST_REQUIRE_EQUAL(tla_fabric_send_request(fabric, &access, 100, at_ps, &arrival), TLA_OK);
        return arrival;
    };
    send(500); // 100 ps on each link, from 500 and 1600 on
    check_equal(tla_fabric_order(fabric), {0, 0, 0});
    BOOST_CHECK_EQUAL(send(450), 600u + 100 + 1000 + 100);     // after it, 150 and then 0 ps later than it ought to be
    check_equal(tla_fabric_order(fabric), {1, 150 + 50, 150}); // the second link sees 1700 after 1600: in order
    tla_fabric_forget(fabric, 1'000'000);
    send(1'000'000);
    check_equal(tla_fabric_order(fabric), {1, 150 + 50, 150});
    tla_fabric_destroy(fabric);
}

BOOST_AUTO_TEST_CASE(links_in_order_of_arrival_keep_nothing_and_count_who_comes_late) {
    const tla_fabric_node nodes[2] = {};
    const tla_fabric_link links[] = {{0, 1, 1000, 1'000'000'000'000, 0}, {1, 0, 0, 1'000'000'000'000, 0}};
    tla_fabric *fabric = nullptr;
    BOOST_REQUIRE_EQUAL(tla_fabric_create(nodes, 2, links, 2, 256, &fabric), TLA_OK);
    const tla_fabric_host at_once = {
        nullptr, [](void *, uint64_t at, uint32_t, uint64_t, tla_flit *flit) { tla_fabric_arrive(flit, at); },
        [](void *, void *there, uint64_t) { ++*static_cast<int *>(there); }};
    tla_fabric_set_host(fabric, &at_once);
    int there = 0;
    for (uint64_t at : {500u, 550u, 900u, 880u}) {
        tla_fabric_access access{0, 1, 0, true, nullptr, nullptr, nullptr};
        BOOST_REQUIRE_EQUAL(tla_fabric_enter_request(fabric, &access, 100, at, 0, &there), TLA_OK);
    }
    BOOST_CHECK_EQUAL(there, 4);
    check_equal(tla_fabric_order(fabric), {1, 120, 120}); // 880 is served at 1000
    tla_fabric_destroy(fabric);
}

BOOST_AUTO_TEST_CASE(channels_sum_the_figures_of_their_bursts) {
    for (const bool in_order : {false, true}) {
        const tla_flat_channels_config config{2, 256, 1000, 0, in_order, 0};
        tla_flat_channels *channels = nullptr;
        BOOST_REQUIRE_EQUAL(tla_flat_channels_create(&config, &channels), TLA_OK);
        tla_flat_channels_access(channels, false, 0, 1024, 10'000); // two bursts on each channel, to 12000
        check_equal(tla_flat_channels_order(channels), {0, 0, 0});
        const uint64_t done = tla_flat_channels_access(channels, false, 0, 256, 5000);
        BOOST_CHECK_EQUAL(done, in_order ? 13'000u : 6000u); // the gap is only there where calls may be late
        check_equal(tla_flat_channels_order(channels), in_order ? tla_order{1, 7000, 7000} : tla_order{1, 0, 0});
        tla_flat_channels_destroy(channels);
    }
}

// What the header says of the estimate: a data bus first come first served, in both orders.
BOOST_AUTO_TEST_CASE(banks_are_held_against_their_data_bus_in_both_orders) {
    tla_banked_channels_config config{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("hbm2", &config.timing), TLA_OK);
    config.count = 2;
    config.capacity = 1 << 20;
    const uint64_t burst_bytes = config.timing.burst_bytes;
    const uint64_t burst_ps = uint64_t{config.timing.burst_cycles} * config.timing.tck_ps;
    for (unsigned seed = 0; seed < 20; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            tla_banked_channels *channels = nullptr;
            BOOST_REQUIRE_EQUAL(tla_banked_channels_create(&config, &channels, nullptr), TLA_OK);
            std::vector<tla_booking> bookings[2];
            uint64_t free_ps[2] = {};
            const uint64_t reach = seed % 4 ? 200'000 : 1;
            for (uint64_t i = 0, now = 0; i < 300; i++, now += random() % 5000) {
                const uint64_t at = now + random() % reach, first = random() % 1024, bursts = 1 + random() % 9;
                tla_banked_channels_forget(channels, now);
                tla_banked_channels_access(channels, random() % 3 ? TLA_HBM_READ : TLA_HBM_WRITE, first * burst_bytes,
                                           bursts * burst_bytes, at);
                uint64_t of[2] = {};
                for (uint64_t burst = first; burst < first + bursts; burst++)
                    of[burst % 2]++;
                for (int c : {0, 1}) {
                    if (of[c] == 0) continue;
                    bookings[c].push_back({at, std::max(at, free_ps[c]), of[c] * burst_ps});
                    free_ps[c] = bookings[c].back().start_ps + of[c] * burst_ps;
                }
            }
            tla_order expected = replay(bookings[0]);
            const tla_order other = replay(bookings[1]);
            tla_order_add(&expected, &other);
            check_equal(tla_banked_channels_order(channels), expected);
            BOOST_CHECK_EQUAL(expected.late == 0, seed % 4 == 0);
            tla_banked_channels_destroy(channels);
        }
    }
}
