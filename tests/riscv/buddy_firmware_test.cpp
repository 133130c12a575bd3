// Buddies as firmware beside the core: the same blocks, in the instructions and cycles that the core's receipt says.
#include "engine_plays.hpp"
#include "firmware_beside_core.hpp"
#include "least_squares.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

namespace {

const std::uint64_t units = tla_firmware_buddy.capacity_max;

struct side_by_side : firmware_beside_core {
    explicit side_by_side(std::uint64_t capacity) : firmware_beside_core(tla_firmware_buddy, capacity, UINT64_MAX) {}
};

struct prices {
    double fixed, node, probe, split, free, merge;

    double of(const measurement &m) const {
        return fixed + node * double(m.work.nodes_visited) + probe * double(m.work.probes) +
               split * double(m.work.splits) + free * double(m.work.frees) + merge * double(m.work.merges);
    }
};

// Allocations first; of frees what is left when the price of their probes is taken off.
prices regression(const std::vector<measurement> &all, std::uint64_t measurement::*what) {
    std::vector<observation> takes, frees;
    for (const measurement &m : all)
        if (!m.free)
            takes.push_back(
                {{1, double(m.work.nodes_visited), double(m.work.probes), double(m.work.splits)}, double(m.*what)});
    const std::vector<double> take = least_squares(takes);
    for (const measurement &m : all)
        if (m.free) frees.push_back({{1, double(m.work.merges)}, double(m.*what) - take[2] * double(m.work.probes)});
    const std::vector<double> free = least_squares(frees);
    return {take[0], take[1], take[2], take[3], free[0] - take[0], free[1]};
}

std::vector<measurement> play(std::uint64_t seed) {
    side_by_side both(units);
    play_random(both, 60, 100000, seed);
    BOOST_REQUIRE_EQUAL(both.difference, "");
    return both.measured;
}

} // namespace

BOOST_AUTO_TEST_CASE(buddies_of_random_operations_1e5_place_as_the_core) {
    side_by_side both(units);
    play_random(both, 200, 100000, 1);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.failed, 100u);
    BOOST_CHECK_GT(both.refused, 100u);
}

BOOST_AUTO_TEST_CASE(buddies_of_ranges_that_are_no_power_of_two_place_as_the_core) {
    seeded_random ranges(2);
    for (std::uint64_t i = 0; i < 100; i++) {
        const std::uint64_t capacity = i < 5 ? i + 1 : ranges.between(1, units);
        side_by_side both(capacity);
        play_random(both, std::max<std::uint64_t>(1, capacity / ranges.between(1, 20)), 500, 3 + i);
        BOOST_REQUIRE_EQUAL(both.difference, "");
    }
}

BOOST_AUTO_TEST_CASE(requests_above_the_memory_and_frees_at_an_invalid_unit_fail) {
    side_by_side both(1000);
    tla_block block{};
    for (const std::uint64_t size : {513u, 1024u, 1025u, 8193u})
        BOOST_CHECK(!both.take(size, &block));
    BOOST_CHECK(!both.take(std::uint64_t{1} << 32, &block));
    BOOST_CHECK(both.take(512, &block));
    BOOST_CHECK(!both.give_back({1, 2}));
    BOOST_CHECK(!both.give_back({std::uint64_t{1} << 32, 1}));
    BOOST_CHECK(!both.give_back({0, std::uint64_t{1} << 33}));
    BOOST_CHECK(both.give_back(block));
    BOOST_CHECK_EQUAL(both.difference, "");
    const started_firmware engine = start_firmware(tla_firmware_buddy, 1, 1);
    BOOST_CHECK_EQUAL(tla_firmware_engine_restart(engine.get(), units + 1, 1, nullptr), TLA_LIMIT);
}

BOOST_AUTO_TEST_CASE(receipts_of_buddies_say_the_instructions_and_cycles_of_another_seed) {
    const std::vector<measurement> one = play(1), other = play(2);
    for (const auto what : {&measurement::instructions, &measurement::cycles}) {
        const prices p = regression(one, what);
        const auto price = [&p](const measurement &m) { return p.of(m); };
        const residual takes = residual_of(other, what, price, false), frees = residual_of(other, what, price, true);
        BOOST_TEST_MESSAGE((what == &measurement::cycles ? "cycles" : "instructions")
                           << ": fixed " << p.fixed << ", node " << p.node << ", probe " << p.probe << ", split "
                           << p.split << ", free " << p.free << ", merge " << p.merge << "; allocations "
                           << takes.measured << ", residual " << takes.most << "; frees " << frees.measured
                           << ", residual " << frees.most);
        BOOST_CHECK_LE(takes.most, 15);
        BOOST_CHECK_LE(frees.most, 15);
    }
}

BOOST_AUTO_TEST_CASE(the_profile_fw_buddy_is_what_is_measured) {
    const tla_cost_profile cost = prices_of_profile("fw_buddy");
    const prices p = regression(play(1), &measurement::cycles);
    check_prices({cost.fixed_ps, cost.node_ps, cost.probe_ps, cost.split_ps, cost.free_ps, cost.merge_ps,
                  cost.insert_node_ps, cost.node_created_ps, cost.node_released_ps},
                 {p.fixed, p.node, p.probe, p.split, p.free, p.merge, 0, 0, 0});
    check_operations(play(2), cost, 1, 4);
}
