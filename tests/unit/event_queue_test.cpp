// event_queue.h: events come out by time, resource, port and order of posting, beside a sorted list.
#include "tlmalloc/base/event_queue.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

namespace {

using queue = std::unique_ptr<tla_event_queue, void (*)(tla_event_queue *)>;

queue make() {
    tla_event_queue *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_event_queue_create(&made), TLA_OK);
    return {made, tla_event_queue_destroy};
}

void do_nothing(void *, std::uint64_t) {}

void post(const queue &q, std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, std::uintptr_t name) {
    const tla_event event{at_ps, resource, port, do_nothing, reinterpret_cast<void *>(name)};
    BOOST_REQUIRE_EQUAL(tla_event_queue_post(q.get(), &event), TLA_OK);
}

std::uintptr_t take(const queue &q) {
    tla_event event{};
    return tla_event_queue_take(q.get(), &event) ? reinterpret_cast<std::uintptr_t>(event.context) : 0;
}

// Times ahead are drawn from [0, horizon) below `many` events; beside a map that is sorted by the whole key. Of several
// horizons each holds for so many steps in turn.
void beside_a_sorted_list(const std::vector<std::uint64_t> &horizons, unsigned many, unsigned seed, unsigned steps) {
    BOOST_TEST_MESSAGE("horizon " << horizons.front() << ", seed " << seed);
    const std::uintptr_t in_turn = 200'000;
    std::mt19937_64 random(seed);
    const queue q = make();
    std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t>, std::uintptr_t> list;
    std::uint64_t now = 0;
    for (std::uintptr_t name = 1; name < steps; name++) {
        const std::uint64_t horizon = horizons[name / in_turn % horizons.size()];
        if (list.size() < 1 + random() % many) {
            const std::uint64_t ahead = random() % (random() % 20 ? horizon : horizon << random() % 18);
            const std::uint64_t at = now + (random() % 4 ? ahead : ahead / 1000 * 1000);
            const auto resource = static_cast<std::uint32_t>(random() % 5),
                       port = static_cast<std::uint32_t>(random() % 3);
            post(q, at, resource, port, name);
            list.emplace(std::make_tuple(at, resource, port, name), name);
        } else {
            BOOST_REQUIRE_EQUAL(tla_event_queue_next_ps(q.get()), std::get<0>(list.begin()->first));
            BOOST_REQUIRE_EQUAL(take(q), list.begin()->second);
            now = std::get<0>(list.begin()->first);
            list.erase(list.begin());
        }
        BOOST_REQUIRE_EQUAL(tla_event_queue_count(q.get()), list.size());
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(an_empty_queue_has_no_next_event) {
    const queue q = make();
    BOOST_CHECK_EQUAL(tla_event_queue_next_ps(q.get()), UINT64_MAX);
    tla_event event{};
    BOOST_CHECK(!tla_event_queue_take(q.get(), &event));
}

BOOST_AUTO_TEST_CASE(resource_port_and_order_of_posting_decide_between_events_of_one_time) {
    const queue q = make();
    post(q, 7, 2, 0, 5);
    post(q, 7, 1, 9, 3);
    post(q, 7, 1, 9, 4);
    post(q, 7, 1, 8, 2);
    post(q, 6, 9, 9, 1);
    for (std::uintptr_t name = 1; name <= 5; name++)
        BOOST_CHECK_EQUAL(take(q), name);
}

BOOST_AUTO_TEST_CASE(an_event_before_the_next_one_is_taken_first_though_that_has_been_looked_at) {
    const queue q = make();
    post(q, 1'000'000'000, 0, 0, 2);
    BOOST_CHECK_EQUAL(tla_event_queue_next_ps(q.get()), 1'000'000'000);
    post(q, 5, 0, 0, 1);
    BOOST_CHECK_EQUAL(tla_event_queue_next_ps(q.get()), 5);
    BOOST_CHECK_EQUAL(take(q), 1);
    BOOST_CHECK_EQUAL(take(q), 2);
}

BOOST_AUTO_TEST_CASE(times_up_to_the_last_one_have_a_place) {
    const queue q = make();
    post(q, UINT64_MAX - 1, 0, 0, 3);
    post(q, UINT64_MAX / 2, 0, 0, 2);
    post(q, 0, 0, 0, 1);
    for (std::uintptr_t name = 1; name <= 3; name++)
        BOOST_CHECK_EQUAL(take(q), name);
}

BOOST_AUTO_TEST_CASE(random_events_come_out_as_from_a_sorted_list) {
    for (unsigned seed = 1; seed <= 6; seed++)
        for (const std::uint64_t horizon : {1u, 100u, 100'000u, 100'000'000u})
            beside_a_sorted_list({horizon}, seed % 2 ? 30 : 3000, seed, 100'000);
}

// The days of the calendar become shorter and longer while events are in it.
BOOST_AUTO_TEST_CASE(random_events_that_come_densely_and_sparsely_in_turn_come_out_as_from_a_sorted_list) {
    for (unsigned seed = 1; seed <= 3; seed++)
        beside_a_sorted_list({1'000'000'000, 100}, 2000, seed, 1'000'000);
}

// Many events in a day halve the length of days. What was in the calendar may then lie just beyond its 16384 days, and
// a place there is the place of today.
BOOST_AUTO_TEST_CASE(events_around_the_end_of_a_calendar_of_shorter_days_come_in_order) {
    const queue q = make();
    const std::uint64_t day = 256, shorter = 128, reach = 16384;
    std::uintptr_t name = 1;
    for (; name <= 20'000; name++)
        post(q, day + name % day, 0, 0, name);
    for (const std::uint64_t ahead : {reach + 3, reach + 2, reach + 1, reach, reach / 2})
        post(q, ahead * shorter, 0, 0, name++);
    std::uint64_t now = 0;
    for (tla_event event{}; tla_event_queue_take(q.get(), &event); now = event.at_ps)
        BOOST_REQUIRE_GE(event.at_ps, now);
    BOOST_CHECK_EQUAL(now, (reach + 3) * shorter);
}

// Two islands of two resources and one, left and caught up with at random, beside a list that is sorted by the whole
// key: what is taken is always the first of the island, or of all that is not left behind.
BOOST_AUTO_TEST_CASE(events_of_islands_wait_and_come_out_in_the_same_order) {
    using key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t>;
    for (unsigned seed = 1; seed <= 20; seed++) {
        std::mt19937_64 random(seed);
        const queue q = make();
        std::map<key, std::uintptr_t> list;
        std::uint32_t islands[2] = {0, 0};
        for (std::uint32_t &island : islands)
            BOOST_REQUIRE_EQUAL(tla_event_queue_add_island(q.get(), &island), TLA_OK);
        const std::uint32_t home[] = {0, islands[0], islands[0], islands[1], 0};
        for (std::uint32_t resource = 1; resource < 4; resource++)
            BOOST_REQUIRE_EQUAL(tla_event_queue_put_on_island(q.get(), resource, home[resource]), TLA_OK);
        BOOST_CHECK_EQUAL(tla_event_queue_island_of(q.get(), 2), islands[0]);
        BOOST_CHECK_EQUAL(tla_event_queue_island_of(q.get(), 4), 0u);
        BOOST_CHECK_EQUAL(tla_event_queue_island_of(q.get(), 4'000'000), 0u);
        key now{0, 0, 0, 0};
        const auto first_of = [&](auto wanted) {
            auto at = list.begin();
            while (at != list.end() && !wanted(home[std::get<1>(at->first)]))
                ++at;
            return at;
        };
        const auto is_left = [&](std::uint32_t island) { return tla_event_queue_is_left(q.get(), island); };
        unsigned left = 0;
        for (std::uintptr_t name = 1; name < 5'000; name++) {
            const std::uint32_t island = islands[random() % 2];
            switch (random() % 8) {
            case 0: { // leave: nothing of it may be in the queue
                const bool waits = first_of([&](std::uint32_t of) { return of == island; }) != list.end();
                const bool may = !is_left(island) && !waits;
                BOOST_REQUIRE_EQUAL(tla_event_queue_leave(q.get(), island), may);
                left += may;
                break;
            }
            case 1: { // catch up with the time of the queue
                if (!is_left(island)) break;
                const tla_event until{std::get<0>(now), std::get<1>(now), std::get<2>(now), nullptr, nullptr};
                for (tla_event event{}; tla_event_queue_take_left(q.get(), island, &until, &event);) {
                    const auto expected = first_of([&](std::uint32_t of) { return of == island; });
                    BOOST_REQUIRE(expected != list.end());
                    BOOST_REQUIRE_EQUAL(reinterpret_cast<std::uintptr_t>(event.context), expected->second);
                    list.erase(expected);
                }
                const auto next = first_of([&](std::uint32_t of) { return of == island; });
                BOOST_REQUIRE(next == list.end() || std::make_tuple(std::get<0>(next->first), std::get<1>(next->first),
                                                                    std::get<2>(next->first)) >=
                                                        std::make_tuple(until.at_ps, until.resource, until.port));
                BOOST_REQUIRE_EQUAL(tla_event_queue_join(q.get(), island), TLA_OK);
                BOOST_REQUIRE(!is_left(island));
                break;
            }
            case 2:
            case 3: { // post
                const std::uint64_t at = std::get<0>(now) + random() % 1000;
                const auto resource = static_cast<std::uint32_t>(random() % 5),
                           port = static_cast<std::uint32_t>(random() % 3);
                post(q, at, resource, port, name);
                list.emplace(key{at, resource, port, name}, name);
                break;
            }
            default: { // take
                const auto expected = first_of([&](std::uint32_t of) { return !is_left(of); });
                BOOST_REQUIRE_EQUAL(take(q), expected == list.end() ? 0 : expected->second);
                if (expected == list.end()) break;
                now = expected->first;
                list.erase(expected);
            }
            }
            BOOST_REQUIRE_EQUAL(tla_event_queue_count(q.get()), list.size());
        }
        BOOST_CHECK_GT(left, 10u);
    }
}
