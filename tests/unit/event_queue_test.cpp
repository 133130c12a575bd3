// event_queue.h: events come out by time, resource, port and order of posting, beside a sorted list.
#include "tlmalloc/detail/event_queue.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <random>
#include <tuple>

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

// Times ahead are drawn from [0, horizon) below `many` events; beside a map that is sorted by the whole key.
void beside_a_sorted_list(std::uint64_t horizon, unsigned many, unsigned seed, unsigned steps) {
    BOOST_TEST_MESSAGE("horizon " << horizon << ", seed " << seed);
    std::mt19937_64 random(seed);
    const queue q = make();
    std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t>, std::uintptr_t> list;
    std::uint64_t now = 0;
    for (std::uintptr_t name = 1; name < steps; name++) {
        if (list.size() < 1 + random() % many) {
            const std::uint64_t ahead = random() % 50 ? random() % horizon : random() % (horizon * 100'000);
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
            beside_a_sorted_list(horizon, seed % 2 ? 30 : 3000, seed, 100'000);
}
