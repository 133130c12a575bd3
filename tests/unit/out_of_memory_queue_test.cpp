// An event queue with an island when the host's memory ends: what is refused is not there, and all else is, in order.
#include "host_memory/failing.hpp"
#include "tlmalloc/base/event_queue.h"

#include <map>
#include <random>
#include <tuple>

namespace {

using list = std::map<std::tuple<std::uint64_t, std::uint32_t, std::uintptr_t>, std::uintptr_t>;

// Posts to resources 1, on the island, and 2; returns how many were refused.
std::size_t post(tla_event_queue *queue, unsigned seed, std::uintptr_t first, list &there) {
    std::mt19937 random(seed);
    std::size_t refused = 0;
    for (std::uintptr_t name = first; name < first + 400; name++) {
        const tla_event event{10 + random() % 100'000'000, 1 + static_cast<std::uint32_t>(random() % 2), 0, nullptr,
                              reinterpret_cast<void *>(name)};
        if (tla_event_queue_post(queue, &event))
            refused++;
        else
            there.emplace(std::make_tuple(event.at_ps, event.resource, name), name);
    }
    return refused;
}

} // namespace

BOOST_AUTO_TEST_CASE(events_fail_or_stay_in_order_without_host_memory) {
    const std::size_t before = host_memory::live();
    std::size_t refused = 0, not_joined = 0;
    for (std::size_t n = 0; n < 14; n++) {
        tla_event_queue *queue = nullptr;
        std::uint32_t island = 0;
        BOOST_REQUIRE_EQUAL(tla_event_queue_create(&queue), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_event_queue_add_island(queue, &island), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_event_queue_put_on_island(queue, 1, island), TLA_OK);
        BOOST_REQUIRE(tla_event_queue_leave(queue, island));
        list there;
        host_memory::fail_from(n, true);
        refused += post(queue, static_cast<unsigned>(n), 1, there);
        host_memory::stop();
        BOOST_CHECK_EQUAL(post(queue, static_cast<unsigned>(n), 1000, there), 0u);
        BOOST_CHECK_EQUAL(tla_event_queue_count(queue), there.size());
        host_memory::fail_from(n % 3, true);
        const tla_status status = tla_event_queue_join(queue, island);
        host_memory::stop();
        if (status) {
            not_joined++;
            BOOST_CHECK_EQUAL(status, TLA_NO_HOST_MEMORY);
            BOOST_CHECK(tla_event_queue_is_left(queue, island));
            BOOST_CHECK_EQUAL(tla_event_queue_join(queue, island), TLA_OK);
        }
        BOOST_CHECK(!tla_event_queue_is_left(queue, island));
        for (const auto &[key, name] : there) {
            tla_event event{};
            BOOST_REQUIRE(tla_event_queue_take(queue, &event));
            BOOST_REQUIRE_EQUAL(reinterpret_cast<std::uintptr_t>(event.context), name);
        }
        BOOST_CHECK_EQUAL(tla_event_queue_count(queue), 0u);
        tla_event_queue_destroy(queue);
    }
    BOOST_CHECK_GT(refused, 0u);
    BOOST_CHECK_GT(not_joined, 0u);
    for (std::size_t n = 0; n < 2; n++) { // nothing is made of an island without memory
        tla_event_queue *queue = nullptr;
        std::uint32_t island = 0;
        BOOST_REQUIRE_EQUAL(tla_event_queue_create(&queue), TLA_OK);
        host_memory::fail_from(0, true);
        BOOST_CHECK_EQUAL(n ? tla_event_queue_put_on_island(queue, 7, 0) : tla_event_queue_add_island(queue, &island),
                          TLA_NO_HOST_MEMORY);
        host_memory::stop();
        BOOST_CHECK_EQUAL(tla_event_queue_island_of(queue, 7), 0u);
        tla_event_queue_destroy(queue);
    }
    BOOST_CHECK_EQUAL(host_memory::live(), before);
}
