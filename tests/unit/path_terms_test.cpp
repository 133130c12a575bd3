// How long data take over a path, beside a reference that follows every flit by itself.
#include "seeded_random.hpp"

#include "tlmalloc/topology/topology.h"

#include <algorithm>
#include <vector>

namespace {

constexpr std::uint64_t GB = 1000000000;
using hops = std::vector<tla_path_hop>;

tla_path_terms terms_of(const hops &path, std::uint64_t nbytes, std::uint64_t flit = 256) {
    tla_path_terms terms{};
    BOOST_REQUIRE_EQUAL(tla_path_terms_of(path.data(), path.size(), flit, nbytes, &terms), TLA_OK);
    return terms;
}

std::uint64_t transfer_ps(std::uint64_t nbytes, std::uint64_t bandwidth) {
    return (nbytes * 1000000000000 + bandwidth - 1) / bandwidth;
}

// Flit after flit, each over the whole path as far as it gets: what it waits for is when a node or a link is free of
// the ones before. Nodes that collect cut the path; what lies between two of them is gone through for all flits first.
std::uint64_t reference_ps(const hops &path, std::uint64_t nbytes, std::uint64_t flit) {
    const std::uint64_t flits = nbytes ? (nbytes + flit - 1) / flit : 1;
    std::vector<std::uint64_t> at(flits, 0), node_free(path.size(), 0), link_free(path.size(), 0);
    for (std::size_t begin = 0, end; begin < path.size(); begin = end) {
        const std::uint64_t collected = *std::max_element(at.begin(), at.end());
        for (end = begin + 1; end < path.size() && (!path[end].store_and_forward || end + 1 == path.size());)
            end++;
        for (std::uint64_t f = 0; f < flits; f++) {
            if (path[begin].store_and_forward && begin + 1 < path.size()) at[f] = collected;
            for (std::size_t hop = begin; hop < end; hop++) {
                const std::uint64_t overhead = f == 0 ? path[hop].overhead_ps : 0;
                at[f] = node_free[hop] = std::max(at[f], node_free[hop]) + overhead;
                if (hop + 1 == path.size()) break;
                const std::uint64_t bytes = nbytes == 0 ? 0 : std::min(flit, nbytes - f * flit);
                at[f] = link_free[hop] = std::max(at[f], link_free[hop]) + transfer_ps(bytes, path[hop].bandwidth);
                at[f] += path[hop].latency_ps;
            }
        }
    }
    return at.back();
}

} // namespace

// PE, router, slice: 64 flits on a link of 256 GB/s, one more on the second, and the router's 2 ns.
BOOST_AUTO_TEST_CASE(a_local_transfer_takes_its_flits_a_fill_and_an_overhead) {
    const tla_path_terms t = terms_of({{0, false, 0, 256 * GB}, {2000, false, 0, 256 * GB}, {0, false, 0, 0}}, 16384);
    BOOST_CHECK_EQUAL(t.end_ps, 64000u + 1000 + 2000);
    BOOST_CHECK_EQUAL(t.fill_ps, 2000u);
    BOOST_CHECK_EQUAL(t.drain_ps, 63000u);
    BOOST_CHECK_EQUAL(t.overhead_ps, 2000u);
    BOOST_CHECK_EQUAL(t.wire_ps + t.collected_ps + t.hidden_ps, 0u);
}

// Behind a link of half the bandwidth flits come every 2 ns: the second waits 1 ns less at a node that keeps the first.
BOOST_AUTO_TEST_CASE(delays_after_the_slowest_link_are_hidden) {
    const hops path{{0, false, 5, 128 * GB}, {2000, false, 0, 256 * GB}, {0, false, 0, 0}};
    BOOST_CHECK_EQUAL(terms_of(path, 256).end_ps, 2000u + 5 + 2000 + 1000);
    BOOST_CHECK_EQUAL(terms_of(path, 512).end_ps, 2000u + 5 + 2000 + 2000); // one behind the other
    const tla_path_terms t = terms_of(path, 16384);
    BOOST_CHECK_EQUAL(t.end_ps, 64 * 2000u + 5 + 1000);
    BOOST_CHECK_EQUAL(t.hidden_ps, 2000u);
}

BOOST_AUTO_TEST_CASE(a_flit_that_is_not_full_fills_links_for_its_own_bytes) {
    const tla_path_terms t = terms_of({{0, false, 0, 256 * GB}, {2000, false, 0, 128 * GB}, {0, false, 0, 0}}, 64);
    BOOST_CHECK_EQUAL(t.fill_ps, 250u + 500);
    BOOST_CHECK_EQUAL(t.hidden_ps, 0u);
    BOOST_CHECK_EQUAL(t.end_ps, 250u + 2000 + 500);
}

BOOST_AUTO_TEST_CASE(a_node_that_stores_and_forwards_collects_everything_first) {
    const hops path{{0, false, 0, 256 * GB}, {5000, true, 0, 512 * GB}, {0, false, 0, 0}};
    const tla_path_terms t = terms_of(path, 16384);
    BOOST_CHECK_EQUAL(t.end_ps, 64000u + 5000 + 32000);
    BOOST_CHECK_EQUAL(t.collected_ps, 63000u);
    BOOST_CHECK_EQUAL(t.drain_ps, 63u * 500);
    // At the end of a path nothing is passed on, as in the fabric, and at its beginning there is nothing to wait for.
    BOOST_CHECK_EQUAL(terms_of({{0, false, 0, 256 * GB}, {5000, true, 0, 0}}, 16384).end_ps, 64000u);
    BOOST_CHECK_EQUAL(terms_of({{5000, true, 0, 256 * GB}, {0, false, 0, 0}}, 16384).end_ps, 69000u);
}

// KernBench's V3 and V4: the bytes count once, on the slowest link, and nothing is hidden or collected.
BOOST_AUTO_TEST_CASE(one_item_pays_the_slowest_link_of_its_path_once) {
    const hops path{{7, false, 10, 256 * GB}, {5000, true, 20, 128 * GB}, {3, true, 5, 512 * GB}, {2, false, 0, 0}};
    tla_path_terms t{};
    BOOST_REQUIRE_EQUAL(tla_path_terms_once(path.data(), path.size(), 16384, &t), TLA_OK);
    BOOST_CHECK_EQUAL(t.overhead_ps, 7u + 5000 + 3 + 2);
    BOOST_CHECK_EQUAL(t.wire_ps, 35u);
    BOOST_CHECK_EQUAL(t.drain_ps, 128'000u);
    BOOST_CHECK_EQUAL(t.fill_ps + t.collected_ps + t.hidden_ps, 0u);
    BOOST_CHECK_EQUAL(t.end_ps, t.overhead_ps + t.wire_ps + t.drain_ps);
    BOOST_REQUIRE_EQUAL(tla_path_terms_once(path.data(), path.size(), 0, &t), TLA_OK);
    BOOST_CHECK_EQUAL(t.end_ps, t.overhead_ps + t.wire_ps);
    const hops without_bandwidth{{0, false, 0, 0}, {0, false, 0, 0}};
    BOOST_CHECK_EQUAL(tla_path_terms_once(without_bandwidth.data(), 2, 64, &t), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_path_terms_once(path.data(), 0, 64, &t), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(a_message_without_data_takes_overheads_and_wires) {
    const tla_path_terms t = terms_of({{7, false, 10, GB}, {5, true, 20, GB}, {3, false, 0, 0}}, 0);
    BOOST_CHECK_EQUAL(t.end_ps, 45u);
    BOOST_CHECK_EQUAL(t.fill_ps + t.drain_ps + t.collected_ps + t.hidden_ps, 0u);
    BOOST_CHECK_EQUAL(terms_of({{7, false, 0, 0}}, 1000).end_ps, 7u); // from a node to itself
}

BOOST_AUTO_TEST_CASE(random_paths_take_what_the_reference_says_and_their_terms_sum_up) {
    seeded_random random(20261122);
    for (int round = 0; round < 2000; round++) {
        hops path(random.between(1, 12));
        for (tla_path_hop &hop : path) {
            hop.overhead_ps = random.one_in(2) ? 0 : random.between(1, 9000);
            hop.store_and_forward = random.one_in(6);
            hop.latency_ps = random.between(0, 100);
            hop.bandwidth = random.between(1, 16) * 32 * GB;
        }
        const std::uint64_t flit = random.one_in(3) ? random.between(1, 300) : 256;
        const std::uint64_t nbytes = random.one_in(8) ? 0 : random.between(1, 40 * flit);
        const tla_path_terms t = terms_of(path, nbytes, flit);
        BOOST_REQUIRE_EQUAL(t.end_ps, reference_ps(path, nbytes, flit));
        BOOST_REQUIRE_EQUAL(t.end_ps,
                            t.fill_ps + t.overhead_ps + t.wire_ps + t.collected_ps + t.drain_ps - t.hidden_ps);
        BOOST_REQUIRE_LE(t.hidden_ps, t.fill_ps + t.overhead_ps + t.drain_ps + t.collected_ps);
    }
}

BOOST_AUTO_TEST_CASE(invalid_paths_are_rejected) {
    tla_path_terms terms{};
    const hops path{{0, false, 0, 0}, {0, false, 0, 0}}, good{{0, false, 0, 1}, {0, false, 0, 0}};
    BOOST_CHECK_EQUAL(tla_path_terms_of(path.data(), 0, 256, 1, &terms), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_path_terms_of(path.data(), 2, 256, 1, &terms), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_path_terms_of(good.data(), 2, 0, 1, &terms), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_path_terms_of(good.data(), 2, 1, std::uint64_t{1} << 33, &terms), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_path_terms_of(good.data(), 2, 256, 1, &terms), TLA_OK);
}
