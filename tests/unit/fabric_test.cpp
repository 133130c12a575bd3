// The fabric against the text of its header, and against all paths of small random graphs.
#include "tlmalloc/timing/fabric.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

namespace {

struct destroy {
    void operator()(tla_fabric *fabric) const { tla_fabric_destroy(fabric); }
};
using fabric_ptr = std::unique_ptr<tla_fabric, destroy>;

constexpr uint64_t GB = 1'000'000'000;

fabric_ptr make(uint32_t nodes, const std::vector<tla_fabric_link> &links) {
    tla_fabric *fabric = nullptr;
    BOOST_REQUIRE_EQUAL(tla_fabric_create(nodes, links.data(), links.size(), &fabric), TLA_OK);
    return fabric_ptr(fabric);
}

uint64_t send(const fabric_ptr &fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t at) {
    uint64_t arrival = 0;
    BOOST_REQUIRE_EQUAL(tla_fabric_send(fabric.get(), from, to, nbytes, at, &arrival), TLA_OK);
    return arrival;
}

uint64_t carried(const fabric_ptr &fabric, size_t link) {
    uint64_t nbytes, busy;
    tla_fabric_link_load(fabric.get(), link, &nbytes, &busy);
    return nbytes;
}

uint64_t occupied(const fabric_ptr &fabric, size_t link) {
    uint64_t nbytes, busy;
    tla_fabric_link_load(fabric.get(), link, &nbytes, &busy);
    return busy;
}

// A path as the order of the header ranks it.
using path = std::tuple<uint64_t, size_t, std::vector<size_t>>; // latency, links, link numbers from the source on

// The best of all simple paths, by trying them.
struct all_paths {
    const std::vector<tla_fabric_link> &links;
    uint32_t to;
    std::vector<bool> visited;
    std::vector<size_t> taken;
    std::optional<path> best;

    void from(uint32_t node, uint64_t latency) {
        if (node == to) {
            path found{latency, taken.size(), taken};
            if (!best || found < *best) best = found;
            return;
        }
        visited[node] = true;
        for (size_t i = 0; i < links.size(); i++) {
            if (links[i].from != node || visited[links[i].to]) continue;
            taken.push_back(i);
            from(links[i].to, latency + links[i].latency_ps);
            taken.pop_back();
        }
        visited[node] = false;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_transfer_costs_each_latency_once_and_the_slowest_link) {
    auto fabric = make(3, {{0, 1, 500, 64 * GB}, {1, 2, 700, 32 * GB}});
    BOOST_CHECK_EQUAL(send(fabric, 0, 2, 256, 1000), 1000u + 500 + 700 + 8000);
    BOOST_CHECK_EQUAL(occupied(fabric, 0), 4000u);
    BOOST_CHECK_EQUAL(occupied(fabric, 1), 8000u);
    BOOST_CHECK_EQUAL(carried(fabric, 0), 256u);
    BOOST_CHECK_EQUAL(carried(fabric, 1), 256u);
}

BOOST_AUTO_TEST_CASE(a_request_without_data_pays_latency_and_occupies_nothing) {
    auto fabric = make(2, {{0, 1, 500, GB}});
    send(fabric, 0, 1, 1000, 0);
    BOOST_CHECK_EQUAL(send(fabric, 0, 1, 0, 10), 510u);
    BOOST_CHECK_EQUAL(carried(fabric, 0), 1000u);
}

BOOST_AUTO_TEST_CASE(from_a_node_to_itself_costs_nothing) {
    auto fabric = make(2, {{0, 1, 500, GB}, {1, 0, 500, GB}});
    BOOST_CHECK_EQUAL(send(fabric, 1, 1, 1 << 20, 77), 77u);
    uint64_t latency = 1;
    uint32_t links = 1;
    BOOST_REQUIRE_EQUAL(tla_fabric_path(fabric.get(), 1, 1, &latency, &links), TLA_OK);
    BOOST_CHECK_EQUAL(latency, 0u);
    BOOST_CHECK_EQUAL(links, 0u);
    BOOST_CHECK_EQUAL(carried(fabric, 0) + carried(fabric, 1), 0u);
}

BOOST_AUTO_TEST_CASE(two_transfers_over_one_link_share_it_one_after_the_other) {
    auto fabric = make(4, {{0, 2, 0, 100 * GB}, {1, 2, 0, 100 * GB}, {2, 3, 100, 32 * GB}});
    BOOST_CHECK_EQUAL(send(fabric, 0, 3, 256, 0), 8100u);
    BOOST_CHECK_EQUAL(send(fabric, 1, 3, 256, 0), 16'100u);
    BOOST_CHECK_EQUAL(occupied(fabric, 2), 16'000u);
}

BOOST_AUTO_TEST_CASE(the_two_directions_of_a_wire_do_not_disturb_each_other) {
    auto fabric = make(2, {{0, 1, 100, 32 * GB}, {1, 0, 100, 32 * GB}});
    BOOST_CHECK_EQUAL(send(fabric, 0, 1, 256, 0), 8100u);
    BOOST_CHECK_EQUAL(send(fabric, 1, 0, 256, 0), 8100u);
}

BOOST_AUTO_TEST_CASE(latency_decides_then_the_number_of_links_then_the_lowest_link_number) {
    // 0 -> 3: by 1 (100), by 2 (90), directly (200)
    auto by_latency = make(4, {{0, 1, 50, GB}, {1, 3, 50, GB}, {0, 2, 45, GB}, {2, 3, 45, GB}, {0, 3, 200, GB}});
    send(by_latency, 0, 3, 8, 0);
    BOOST_CHECK_EQUAL(carried(by_latency, 2), 8u);
    BOOST_CHECK_EQUAL(carried(by_latency, 3), 8u);

    auto by_links = make(4, {{0, 1, 50, GB}, {1, 3, 50, GB}, {0, 3, 100, GB}});
    send(by_links, 0, 3, 8, 0);
    BOOST_CHECK_EQUAL(carried(by_links, 2), 8u);

    auto by_number = make(4, {{2, 3, 10, GB}, {0, 1, 10, GB}, {0, 2, 10, GB}, {1, 3, 10, GB}, {1, 3, 10, GB}});
    send(by_number, 0, 3, 8, 0);
    BOOST_CHECK_EQUAL(carried(by_number, 1), 8u);
    BOOST_CHECK_EQUAL(carried(by_number, 3), 8u);
}

BOOST_AUTO_TEST_CASE(no_path_and_no_node_are_errors) {
    auto fabric = make(3, {{0, 1, 1, GB}});
    uint64_t arrival = 42, latency = 42;
    uint32_t links = 42;
    BOOST_CHECK_EQUAL(tla_fabric_send(fabric.get(), 1, 0, 8, 0, &arrival), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_fabric_send(fabric.get(), 0, 2, 8, 0, &arrival), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_fabric_send(fabric.get(), 0, 3, 8, 0, &arrival), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_fabric_send(fabric.get(), 3, 0, 8, 0, &arrival), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_fabric_path(fabric.get(), 1, 0, &latency, &links), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(arrival, 42u);
    BOOST_CHECK_EQUAL(latency, 42u);
    BOOST_CHECK_EQUAL(links, 42u);
    BOOST_CHECK_EQUAL(carried(fabric, 0), 0u);
    BOOST_CHECK_EQUAL(carried(fabric, 1), 0u); // no such link
}

BOOST_AUTO_TEST_CASE(bad_links_are_refused) {
    for (tla_fabric_link bad : {tla_fabric_link{0, 2, 1, GB}, tla_fabric_link{2, 0, 1, GB}, tla_fabric_link{0, 1, 1, 0},
                                tla_fabric_link{0, 1, UINT64_MAX, GB}}) {
        tla_fabric_link links[] = {{0, 1, 1, GB}, bad};
        int dummy;
        tla_fabric *fabric = reinterpret_cast<tla_fabric *>(&dummy);
        BOOST_CHECK_EQUAL(tla_fabric_create(2, links, 2, &fabric), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!fabric);
    }
    tla_fabric_destroy(nullptr);
    tla_fabric *empty = nullptr;
    BOOST_REQUIRE_EQUAL(tla_fabric_create(0, nullptr, 0, &empty), TLA_OK);
    tla_fabric_destroy(empty);
}

BOOST_AUTO_TEST_CASE(time_saturates_instead_of_wrapping) {
    auto fabric = make(2, {{0, 1, 1000, 1}});
    BOOST_CHECK_EQUAL(send(fabric, 0, 1, 1, UINT64_MAX - 10), UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(paths_are_the_best_of_all_paths) {
    for (unsigned seed = 0; seed < 300; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            auto nodes = uint32_t(2 + random() % 6);
            std::vector<tla_fabric_link> links(random() % 16);
            for (auto &link : links)
                link = {uint32_t(random() % nodes), uint32_t(random() % nodes), random() % 4, GB};
            auto fabric = make(nodes, links);
            for (uint32_t from = 0; from < nodes; from++) {
                for (uint32_t to = 0; to < nodes; to++) {
                    all_paths naive{links, to, std::vector<bool>(nodes), {}, {}};
                    naive.from(from, 0);
                    uint64_t latency = 0, arrival = 0;
                    uint32_t hops = 0;
                    tla_status status = tla_fabric_path(fabric.get(), from, to, &latency, &hops);
                    BOOST_REQUIRE_EQUAL(status, naive.best ? TLA_OK : TLA_OUT_OF_RANGE);
                    if (!naive.best) continue;
                    BOOST_REQUIRE_EQUAL(latency, std::get<0>(*naive.best));
                    BOOST_REQUIRE_EQUAL(hops, std::get<1>(*naive.best));
                    std::vector<uint64_t> before(links.size());
                    for (size_t i = 0; i < links.size(); i++)
                        before[i] = carried(fabric, i);
                    BOOST_REQUIRE_EQUAL(tla_fabric_send(fabric.get(), from, to, 1, 0, &arrival), TLA_OK);
                    const auto &taken = std::get<2>(*naive.best);
                    for (size_t i = 0; i < links.size(); i++) {
                        bool used = std::find(taken.begin(), taken.end(), i) != taken.end();
                        BOOST_REQUIRE_EQUAL(carried(fabric, i) - before[i], used ? 1u : 0u);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_mesh_of_a_thousand_nodes_is_routed_in_both_dimensions) {
    const uint32_t width = 32;
    std::vector<tla_fabric_link> links;
    for (uint32_t y = 0; y < width; y++) {
        for (uint32_t x = 0; x < width; x++) {
            uint32_t node = y * width + x;
            if (x + 1 < width) links.push_back({node, node + 1, 10, GB}), links.push_back({node + 1, node, 10, GB});
            if (y + 1 < width)
                links.push_back({node, node + width, 10, GB}), links.push_back({node + width, node, 10, GB});
        }
    }
    auto fabric = make(width * width, links);
    for (uint32_t to = 0; to < width * width; to++) {
        for (uint32_t from : {0u, 31u, 500u, 1023u}) {
            uint64_t latency = 0;
            uint32_t hops = 0;
            BOOST_REQUIRE_EQUAL(tla_fabric_path(fabric.get(), from, to, &latency, &hops), TLA_OK);
            int dx = int(from % width) - int(to % width), dy = int(from / width) - int(to / width);
            BOOST_REQUIRE_EQUAL(hops, unsigned(std::abs(dx) + std::abs(dy)));
            BOOST_REQUIRE_EQUAL(latency, 10u * hops);
        }
    }
}
