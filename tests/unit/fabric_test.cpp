// The fabric against the text of its header, and against all paths of small random graphs.
#include "plain_fabric.hpp"
#include "tlmalloc/base/event_queue.h"
#include "tlmalloc/fabric/fabric.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

namespace {

struct destroy {
    void operator()(tla_fabric *fabric) const { tla_fabric_destroy(fabric); }
    void operator()(tla_event_queue *queue) const { tla_event_queue_destroy(queue); }
};
using fabric_ptr = std::unique_ptr<tla_fabric, destroy>;

constexpr uint64_t GB = 1'000'000'000;

// A fabric whose time this keeps.
class network {
  public:
    network(const std::vector<tla_fabric_node> &nodes, const std::vector<tla_fabric_link> &links, uint32_t flit) {
        tla_fabric *made = nullptr;
        const auto count = static_cast<uint32_t>(nodes.size());
        BOOST_REQUIRE_EQUAL(tla_fabric_create(nodes.data(), count, links.data(), links.size(), flit, &made), TLA_OK);
        fabric_.reset(made);
        tla_event_queue *queue = nullptr;
        BOOST_REQUIRE_EQUAL(tla_event_queue_create(&queue), TLA_OK);
        events_.reset(queue);
        const tla_fabric_host host = {queue, post,
                                      [](void *, void *tag, uint64_t at) { *static_cast<uint64_t *>(tag) = at; }};
        tla_fabric_set_host(made, &host);
    }
    tla_fabric *get() const { return fabric_.get(); }

    // Sends the data of a write; *arrival is when all of it is there, after run().
    tla_status send(uint32_t from, uint32_t to, uint64_t nbytes, uint64_t at, uint64_t *arrival) {
        tla_fabric_access access{from, to, 0, true, nullptr, nullptr, nullptr};
        return tla_fabric_enter_request(get(), &access, nbytes, at, 0, arrival);
    }
    void run() {
        for (tla_event e; tla_event_queue_take(events_.get(), &e);)
            e.action(e.context, e.at_ps);
    }

  private:
    static void post(void *queue, uint64_t at, uint32_t node, uint64_t input, tla_flit *flit) {
        const auto port = static_cast<uint32_t>(input >> 32 ? (input & UINT32_MAX) + 1 : 0);
        const tla_event e = {at, node, port,
                             [](void *f, uint64_t now) { tla_fabric_arrive(static_cast<tla_flit *>(f), now); }, flit};
        BOOST_REQUIRE_EQUAL(tla_event_queue_post(static_cast<tla_event_queue *>(queue), &e), TLA_OK);
    }

    fabric_ptr fabric_;
    std::unique_ptr<tla_event_queue, destroy> events_;
};

// Nodes without overhead.
network make(uint32_t count, const std::vector<tla_fabric_link> &links, uint32_t flit = 256) {
    return {std::vector<tla_fabric_node>(count), links, flit};
}

std::vector<tla_fabric_link> both_ways(std::vector<tla_fabric_link> links) {
    for (size_t i = links.size(); i-- > 0;)
        links.push_back(
            {links[i].to, links[i].from, links[i].latency_ps, links[i].bandwidth_bytes_per_s, links[i].routing});
    return links;
}

// The data of a write, which meet what has been sent before.
uint64_t send(network &fabric, uint32_t from, uint32_t to, uint64_t nbytes, uint64_t at) {
    uint64_t arrival = 0;
    BOOST_REQUIRE_EQUAL(fabric.send(from, to, nbytes, at, &arrival), TLA_OK);
    fabric.run();
    return arrival;
}

// The links of a path that has `count` of them.
std::vector<size_t> path_links(const network &fabric, uint32_t from, uint32_t to, uint32_t count) {
    std::vector<uint32_t> links(count);
    BOOST_REQUIRE_EQUAL(tla_fabric_path_links(fabric.get(), from, to, links.data()), TLA_OK);
    return {links.begin(), links.end()};
}

uint64_t carried(const network &fabric, size_t link) {
    return tla_fabric_link_load(fabric.get(), link).nbytes;
}

uint64_t occupied(const network &fabric, size_t link) {
    return tla_fabric_link_load(fabric.get(), link).busy_ps;
}

// A path as the order of the header ranks it.
using path = std::tuple<uint64_t, uint64_t, size_t, std::vector<size_t>>; // routing, latency, links, their numbers

// The best of all simple paths, by trying them.
struct all_paths {
    const std::vector<tla_fabric_link> &links;
    uint32_t to;
    std::vector<bool> visited;
    std::vector<size_t> taken;
    std::optional<path> best;

    void from(uint32_t node, uint64_t routing, uint64_t latency) {
        if (node == to) {
            path found{routing, latency, taken.size(), taken};
            if (!best || found < *best) best = found;
            return;
        }
        visited[node] = true;
        for (size_t i = 0; i < links.size(); i++) {
            if (links[i].from != node || visited[links[i].to]) continue;
            taken.push_back(i);
            from(links[i].to, routing + links[i].routing, latency + links[i].latency_ps);
            taken.pop_back();
        }
        visited[node] = false;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_message_costs_a_flit_a_hop_and_the_rest_on_the_slowest_link) {
    auto fabric = make(3, both_ways({{0, 1, 500, 64 * GB, 0}, {1, 2, 700, 32 * GB, 0}}));
    BOOST_CHECK_EQUAL(send(fabric, 0, 2, 256, 1000), 1000u + 4000 + 500 + 8000 + 700);
    BOOST_CHECK_EQUAL(send(fabric, 0, 2, 1000, 100'000), 100'000u + 4000 + 500 + 31'250 + 700);
    BOOST_CHECK_EQUAL(occupied(fabric, 0), 4000u + 15'625);
    BOOST_CHECK_EQUAL(occupied(fabric, 1), 8000u + 31'250);
    BOOST_CHECK_EQUAL(carried(fabric, 0), 1256u);
    BOOST_CHECK_EQUAL(carried(fabric, 1), 1256u);
}

BOOST_AUTO_TEST_CASE(a_message_without_data_waits_its_turn_and_occupies_nothing) {
    auto fabric = make(2, both_ways({{0, 1, 500, GB, 0}}));
    BOOST_CHECK_EQUAL(send(fabric, 0, 1, 0, 10), 510u);
    send(fabric, 0, 1, 1000, 20);
    BOOST_CHECK_EQUAL(send(fabric, 0, 1, 0, 30), 1'000'000u + 20 + 500);
    BOOST_CHECK_EQUAL(carried(fabric, 0), 1000u);
}

BOOST_AUTO_TEST_CASE(from_a_node_to_itself_costs_nothing) {
    auto fabric = make(2, both_ways({{0, 1, 500, GB, 0}}));
    BOOST_CHECK_EQUAL(send(fabric, 1, 1, 1 << 20, 77), 77u);
    uint64_t latency = 1;
    uint32_t links = 1;
    BOOST_REQUIRE_EQUAL(tla_fabric_path(fabric.get(), 1, 1, &latency, &links), TLA_OK);
    BOOST_CHECK_EQUAL(latency, 0u);
    BOOST_CHECK_EQUAL(links, 0u);
    BOOST_CHECK_EQUAL(carried(fabric, 0) + carried(fabric, 1), 0u);
}

BOOST_AUTO_TEST_CASE(two_messages_over_one_link_share_it_one_after_the_other) {
    auto fabric = make(4, both_ways({{0, 2, 0, 100 * GB, 0}, {1, 2, 0, 100 * GB, 0}, {2, 3, 100, 32 * GB, 0}}));
    uint64_t first = 0, second = 0;
    BOOST_REQUIRE_EQUAL(fabric.send(1, 3, 256, 0, &second), TLA_OK); // the queue decides who comes first
    BOOST_REQUIRE_EQUAL(fabric.send(0, 3, 256, 0, &first), TLA_OK);
    fabric.run();
    BOOST_CHECK_EQUAL(first, 2560u + 8100);
    BOOST_CHECK_EQUAL(second, 2560u + 16'100);
    BOOST_CHECK_EQUAL(occupied(fabric, 2), 16'000u);
    BOOST_CHECK_EQUAL(tla_fabric_link_load(fabric.get(), 2).waited_ps, 8000u);
}

BOOST_AUTO_TEST_CASE(bytes_on_links_are_bytes_of_messages_times_their_links) {
    // A line of nodes, all pairs, with time in between.
    auto fabric = make(
        5,
        both_ways({{0, 1, 10, 64 * GB, 1}, {1, 2, 10, 32 * GB, 1}, {2, 3, 10, 128 * GB, 1}, {3, 4, 10, 64 * GB, 1}}));
    uint64_t at = 0, expected = 0, messages = 0;
    for (uint32_t from = 0; from < 5; from++)
        for (uint32_t to = 0; to < 5; to++) {
            const uint64_t nbytes = 1000 * from + 100 * to, hops = from < to ? to - from : from - to;
            expected += nbytes * hops;
            messages += hops;
            at = send(fabric, from, to, nbytes, at + 1'000'000);
        }
    tla_fabric_load sum{};
    for (size_t link = 0; link < 8; link++) {
        const tla_fabric_load load = tla_fabric_link_load(fabric.get(), link);
        sum.nbytes += load.nbytes;
        sum.messages += load.messages;
        sum.waited_ps += load.waited_ps;
    }
    BOOST_CHECK_EQUAL(sum.nbytes, expected);
    BOOST_CHECK_EQUAL(sum.messages, messages);
    BOOST_CHECK_EQUAL(sum.waited_ps, 0u);
}

BOOST_AUTO_TEST_CASE(the_two_directions_of_a_wire_do_not_disturb_each_other) {
    auto fabric = make(2, both_ways({{0, 1, 100, 32 * GB, 0}}));
    BOOST_CHECK_EQUAL(send(fabric, 0, 1, 256, 0), 8100u);
    BOOST_CHECK_EQUAL(send(fabric, 1, 0, 256, 0), 8100u);
}

BOOST_AUTO_TEST_CASE(overheads_are_paid_where_a_message_leaves_passes_and_ends) {
    const std::vector<tla_fabric_node> nodes = {{1000, false}, {200, false}, {30, false}};
    const auto links = both_ways({{0, 1, 4, 256 * GB, 0}, {1, 2, 5, 256 * GB, 0}});
    network fabric(nodes, links, 256);
    uint64_t latency = 0;
    uint32_t count = 0;
    BOOST_REQUIRE_EQUAL(tla_fabric_path(fabric.get(), 0, 2, &latency, &count), TLA_OK);
    BOOST_CHECK_EQUAL(latency, 1239u);
    BOOST_CHECK_EQUAL(send(fabric, 0, 2, 0, 0), 1239u);
    // the second flit passes the middle without overhead, and waits for none at the end
    BOOST_CHECK_EQUAL(send(fabric, 0, 2, 512, 10'000), 10'000u + 1239 + 3000 - 30);
}

// In closed form, whatever its size and way.
BOOST_AUTO_TEST_CASE(alone_a_message_takes_what_its_flits_take_one_by_one) {
    for (unsigned seed = 0; seed < 500; seed++) {
        std::mt19937_64 random(seed);
        std::vector<tla_fabric_node> nodes(2 + random() % 6);
        for (tla_fabric_node &n : nodes)
            n = {random() % 2 ? random() % 9000 : 0, random() % 5 == 0, 0};
        std::vector<tla_fabric_link> links;
        for (uint32_t i = 0; i + 1 < nodes.size(); i++)
            links.push_back({i, i + 1, random() % 900, (10 + random() % 500) * GB, 0});
        links = both_ways(links);
        const auto last = static_cast<uint32_t>(nodes.size() - 1);
        const uint64_t nbytes = 1 + random() % 5000, at = random() % 1000;
        const bool write = random() % 2;
        const network fabric(nodes, links, 128);
        uint64_t there = 0, back = 0;
        BOOST_REQUIRE_EQUAL(tla_fabric_alone(fabric.get(), 0, last, write ? nbytes : 0, &there), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_fabric_alone(fabric.get(), last, 0, write ? 0 : nbytes, &back), TLA_OK);
        const uint64_t end = at + there + 50 + back;
        plain::fabric flits(nodes, links, 128);
        const auto ends = flits.run({{0, last, write, 50, {{at, nbytes}}}});
        BOOST_REQUIRE_MESSAGE(end == ends[0], "seed " << seed << ": " << end << ", by flits " << ends[0]);
    }
}

BOOST_AUTO_TEST_CASE(routing_decides_then_latency_the_number_of_links_and_the_lowest_link_number) {
    // 0 -> 3: by 1 (100), by 2 (90), directly (200)
    const auto first = [](const std::vector<tla_fabric_link> &links) {
        const network fabric = make(4, links);
        uint64_t latency = 0;
        uint32_t count = 0;
        BOOST_REQUIRE_EQUAL(tla_fabric_path(fabric.get(), 0, 3, &latency, &count), TLA_OK);
        return path_links(fabric, 0, 3, count).front();
    };
    BOOST_CHECK_EQUAL(
        first({{0, 1, 50, GB, 0}, {1, 3, 50, GB, 0}, {0, 2, 45, GB, 0}, {2, 3, 45, GB, 0}, {0, 3, 200, GB, 0}}), 2u);
    BOOST_CHECK_EQUAL(
        first({{0, 1, 50, GB, 1}, {1, 3, 50, GB, 1}, {0, 2, 45, GB, 1}, {2, 3, 45, GB, 2}, {0, 3, 200, GB, 2}}),
        0u); // as far as 4, but of less latency
    BOOST_CHECK_EQUAL(first({{0, 1, 50, GB, 0}, {1, 3, 50, GB, 0}, {0, 3, 100, GB, 0}}), 2u);
    BOOST_CHECK_EQUAL(first({{2, 3, 10, GB, 0}, {0, 1, 10, GB, 0}, {0, 2, 10, GB, 0}, {1, 3, 10, GB, 0}}), 1u);
}

BOOST_AUTO_TEST_CASE(no_path_and_no_node_are_errors) {
    auto fabric = make(3, {{0, 1, 1, GB, 0}});
    uint64_t arrival = 42, latency = 42;
    uint32_t links = 42;
    for (const bool back : {false, true}) { // an access that could not be answered is not made
        BOOST_CHECK_EQUAL(fabric.send(back ? 0 : 1, back ? 1 : 0, 8, 0, &arrival), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(fabric.send(back ? 0 : 3, back ? 3 : 0, 8, 0, &arrival), TLA_INVALID_ARGUMENT);
    }
    fabric.run();
    BOOST_CHECK_EQUAL(tla_fabric_alone(fabric.get(), 1, 0, 8, &latency), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_fabric_alone(fabric.get(), 0, 3, 8, &latency), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_fabric_path(fabric.get(), 1, 0, &latency, &links), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(arrival, 42u);
    BOOST_CHECK_EQUAL(latency, 42u);
    BOOST_CHECK_EQUAL(links, 42u);
    BOOST_CHECK_EQUAL(carried(fabric, 0), 0u);
    BOOST_CHECK_EQUAL(carried(fabric, 1), 0u); // no such link
}

BOOST_AUTO_TEST_CASE(bad_links_are_rejected) {
    const std::vector<tla_fabric_node> nodes = {{UINT64_MAX, false}, {0, false}};
    const auto refused = [&](const tla_fabric_node *first, std::vector<tla_fabric_link> links, uint32_t flit) {
        int dummy;
        tla_fabric *fabric = reinterpret_cast<tla_fabric *>(&dummy);
        BOOST_CHECK_EQUAL(
            tla_fabric_create(first, first == &nodes[0] ? 2 : 1, links.data(), links.size(), flit, &fabric),
            TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!fabric);
    };
    const tla_fabric_link good = {0, 0, 1, GB, 1};
    for (tla_fabric_link bad :
         {tla_fabric_link{0, 1, 1, GB, 0}, tla_fabric_link{1, 0, 1, GB, 0}, tla_fabric_link{0, 0, 1, 0, 0},
          tla_fabric_link{0, 0, UINT64_MAX, GB, 0}, tla_fabric_link{0, 0, 1, GB, UINT64_MAX}})
        refused(&nodes[1], {good, bad}, 256);
    refused(&nodes[1], {good}, 0);
    refused(&nodes[0], {good}, 256);
    tla_fabric_destroy(nullptr);
    tla_fabric *empty = nullptr;
    BOOST_REQUIRE_EQUAL(tla_fabric_create(nullptr, 0, nullptr, 0, 1, &empty), TLA_OK);
    tla_fabric_destroy(empty);
}

BOOST_AUTO_TEST_CASE(time_saturates_instead_of_wrapping) {
    auto fabric = make(2, both_ways({{0, 1, 1000, 1, 0}}));
    BOOST_CHECK_EQUAL(send(fabric, 0, 1, 1, UINT64_MAX - 10), UINT64_MAX);
    uint64_t alone = 0;
    BOOST_REQUIRE_EQUAL(tla_fabric_alone(fabric.get(), 0, 1, 100'000'000, &alone), TLA_OK);
    BOOST_CHECK_EQUAL(alone, UINT64_MAX); // more than 2^64 ps at a byte a second
}

BOOST_AUTO_TEST_CASE(paths_are_the_best_of_all_paths) {
    for (unsigned seed = 0; seed < 300; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            auto nodes = uint32_t(2 + random() % 6);
            std::vector<tla_fabric_link> links(random() % 16);
            for (auto &link : links)
                link = {uint32_t(random() % nodes), uint32_t(random() % nodes), random() % 4, GB, random() % 3};
            auto fabric = make(nodes, links);
            std::vector<uint32_t> pairs(nodes * nodes); // whatever is asked first
            std::iota(pairs.begin(), pairs.end(), 0);
            std::shuffle(pairs.begin(), pairs.end(), random);
            for (const uint32_t pair : pairs) {
                const uint32_t from = pair / nodes, to = pair % nodes;
                all_paths naive{links, to, std::vector<bool>(nodes), {}, {}};
                naive.from(from, 0, 0);
                uint64_t latency = 0;
                uint32_t hops = 0;
                tla_status status = tla_fabric_path(fabric.get(), from, to, &latency, &hops);
                BOOST_REQUIRE_EQUAL(status, naive.best ? TLA_OK : TLA_OUT_OF_RANGE);
                if (!naive.best) continue;
                BOOST_REQUIRE_EQUAL(latency, std::get<1>(*naive.best));
                BOOST_REQUIRE_EQUAL(hops, std::get<2>(*naive.best));
                BOOST_REQUIRE(path_links(fabric, from, to, hops) == std::get<3>(*naive.best));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(ranks_of_nodes_decide_between_paths_of_equal_routing) {
    // 0 -> 3: by 1, or by 2, which is faster
    const std::vector<tla_fabric_link> links = {
        {0, 1, 50, GB, 1}, {1, 3, 50, GB, 1}, {0, 2, 45, GB, 1}, {2, 3, 4, GB, 1}};
    const auto middle = [&](const std::vector<uint32_t> &ranks, uint64_t second) {
        std::vector<tla_fabric_node> nodes(4);
        for (size_t i = 0; i < ranks.size(); i++)
            nodes[i].rank = ranks[i];
        std::vector<tla_fabric_link> changed = links;
        changed[3].routing = second;
        const network fabric(nodes, changed, 256);
        return links[path_links(fabric, 0, 3, 2).front()].to;
    };
    BOOST_CHECK_EQUAL(middle({}, 1), 2u);
    BOOST_CHECK_EQUAL(middle({9, 1, 2, 1}, 1), 1u);
    BOOST_CHECK_EQUAL(middle({9, 2, 1, 1}, 1), 2u);
    BOOST_CHECK_EQUAL(middle({9, 1, 1, 1}, 1), 1u); // the lower number
    BOOST_CHECK_EQUAL(middle({9, 1, 2, 1}, 0), 2u); // shorter
}

// Of random graphs with few lengths, so that many paths are equal, and with ranks that are equal, too.
BOOST_AUTO_TEST_CASE(paths_by_ranks_are_those_of_a_plain_search) {
    unsigned found = 0, within = 0;
    for (unsigned seed = 0; seed < 300; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            std::vector<tla_fabric_node> nodes(2 + random() % 9);
            const auto count = uint32_t(nodes.size());
            for (tla_fabric_node &node : nodes)
                node = {random() % 3 * 100, false, uint32_t(random() % 3), uint32_t(random() % 6)};
            nodes[0].rank = 1;
            std::vector<tla_fabric_link> links(random() % 30);
            for (auto &link : links)
                link = {uint32_t(random() % count),
                        uint32_t(random() % count),
                        random() % 4,
                        GB,
                        random() % 2,
                        random() % 4};
            const network fabric(nodes, links, 256);
            const plain::fabric naive(nodes, links, 256);
            std::vector<uint32_t> pairs(count * count); // whatever is asked first
            std::iota(pairs.begin(), pairs.end(), 0);
            std::shuffle(pairs.begin(), pairs.end(), random);
            for (const uint32_t pair : pairs) {
                const uint32_t from = pair / count, to = pair % count;
                std::vector<uint32_t> expected;
                bool exists = true;
                try {
                    expected = naive.path(from, to);
                } catch (const std::runtime_error &) {
                    exists = false;
                }
                uint64_t latency = 0;
                uint32_t hops = 0;
                const tla_status status = tla_fabric_path(fabric.get(), from, to, &latency, &hops);
                BOOST_REQUIRE_EQUAL(status, exists ? TLA_OK : TLA_OUT_OF_RANGE);
                if (!exists) continue;
                BOOST_REQUIRE(path_links(fabric, from, to, hops) ==
                              std::vector<size_t>(expected.begin(), expected.end()));
                uint64_t sum = from == to ? 0 : nodes[from].overhead_ps;
                for (const uint32_t link : expected)
                    sum += links[link].latency_ps + nodes[links[link].to].overhead_ps;
                BOOST_REQUIRE_EQUAL(latency, sum);
                found += from != to;
                within += from != to && nodes[from].region && nodes[from].region == nodes[to].region;
            }
        }
    }
    BOOST_CHECK_GT(found, 5000u);
    BOOST_CHECK_GT(within, 1000u);
}

BOOST_AUTO_TEST_CASE(a_mesh_of_a_thousand_nodes_is_routed_in_both_dimensions) {
    const uint32_t width = 32;
    std::vector<tla_fabric_link> links;
    for (uint32_t y = 0; y < width; y++) {
        for (uint32_t x = 0; x < width; x++) {
            uint32_t node = y * width + x;
            if (x + 1 < width) links.push_back({node, node + 1, 10, GB, 0});
            if (y + 1 < width) links.push_back({node, node + width, 10, GB, 0});
        }
    }
    auto fabric = make(width * width, both_ways(links));
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
