// Offset bins as firmware beside the core: the same blocks, in the instructions and cycles that the core's receipt
// says.
#include "engine_plays.hpp"
#include "firmware_beside_core.hpp"
#include "least_squares.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

namespace {

const std::vector<const tla_firmware *> kinds{&tla_firmware_offset_bins, &tla_firmware_offset_bins_rounded};
const std::uint64_t units = std::uint64_t{1} << 20, most = TLA_FIRMWARE_NODES;

struct prices {
    double fixed, bin_search, node, probe, split, free, merge;

    double of(const measurement &m) const {
        return fixed + bin_search * double(m.work.bin_searches) + node * double(m.work.nodes_visited) +
               probe * double(m.work.probes) + split * double(m.work.splits) + free * double(m.work.frees) +
               merge * double(m.work.merges);
    }
};

// Allocations first; of frees what is left when the fixed part is taken off.
prices regression(const std::vector<measurement> &all, std::uint64_t measurement::*what) {
    std::vector<observation> takes, frees;
    for (const measurement &m : all)
        if (m.free)
            frees.push_back({{1, double(m.work.merges)}, double(m.*what)});
        else
            takes.push_back({{1, double(m.work.bin_searches), double(m.work.nodes_visited), double(m.work.probes),
                              double(m.work.splits)},
                             double(m.*what)});
    const std::vector<double> take = least_squares(takes), free = least_squares(frees);
    return {take[0], take[1], take[2], take[3], take[4], free[0] - take[0], free[1]};
}

std::vector<measurement> play(const tla_firmware &firmware, std::uint64_t seed) {
    firmware_beside_core both(firmware, units, most);
    play_random(both, 3000, 100000, seed);
    BOOST_REQUIRE_EQUAL(both.difference, "");
    return both.measured;
}

} // namespace

BOOST_AUTO_TEST_CASE(offset_bins_of_random_operations_1e5_place_as_the_core) {
    for (const tla_firmware *kind : kinds)
        for (const std::uint64_t nodes : {most, std::uint64_t{8}}) {
            firmware_beside_core both(*kind, nodes == most ? units : 4096, nodes);
            play_random(both, nodes == most ? 3000 : 800, 100000, 1);
            BOOST_CHECK_EQUAL(both.difference, "");
            BOOST_CHECK_GT(both.refused, 100u);
            BOOST_CHECK_GT(both.failed, 100u);
            BOOST_CHECK(nodes == most || both.without_node > 100);
        }
}

BOOST_AUTO_TEST_CASE(recorded_traces_are_placed_in_offset_bins_as_by_the_core) {
    for (const std::string &path : recorded_traces())
        for (const tla_firmware *kind : kinds) {
            firmware_beside_core both(*kind, std::uint64_t{1} << 22, most);
            play_trace(both, path);
            BOOST_CHECK_EQUAL(both.difference, "");
            BOOST_CHECK_GT(both.measured.size(), 1000u);
        }
}

BOOST_AUTO_TEST_CASE(sizes_of_bins_and_memories_up_to_the_last_bin_are_placed_as_by_the_core) {
    for (const tla_firmware *kind : kinds) {
        for (std::uint64_t capacity = 1; capacity <= TLA_FIRMWARE_BINS; capacity += capacity / 3 + 1) {
            firmware_beside_core both(*kind, capacity, most);
            play_random(both, std::max<std::uint64_t>(1, capacity / 5), 300, capacity);
            BOOST_REQUIRE_EQUAL(both.difference, "");
        }
        firmware_beside_core both(*kind, TLA_FIRMWARE_BINS, most);
        tla_block block{};
        BOOST_CHECK(!both.take(TLA_FIRMWARE_BINS + 1, &block));
        BOOST_CHECK(both.take(TLA_FIRMWARE_BINS, &block));
        BOOST_CHECK(!both.take(1, &block));
        BOOST_CHECK(both.give_back({0, TLA_FIRMWARE_BINS}));
        BOOST_CHECK_EQUAL(both.difference, "");
    }
}

// The table of live blocks stands in front of the firmware.
BOOST_AUTO_TEST_CASE(a_free_of_no_live_block_does_not_reach_the_firmware) {
    tla_riscv_timing timing;
    tla_riscv_timing_defaults(&timing);
    tla_engine engine{};
    BOOST_REQUIRE_EQUAL(tla_firmware_engine_for_arena(&tla_firmware_offset_bins_rounded, &timing, &engine), TLA_OK);
    BOOST_REQUIRE_EQUAL(engine.restart(engine.state, 1000, most, nullptr), TLA_OK);
    const auto serve = [&](const tla_engine_request &request) {
        tla_engine_answer answer{};
        BOOST_REQUIRE_EQUAL(engine.serve(engine.state, &request, &answer, nullptr), TLA_OK);
        return answer;
    };
    BOOST_CHECK_EQUAL(serve({false, 0, 64, false}).offset, 0u);
    BOOST_CHECK_EQUAL(serve({false, 0, 64, false}).offset, 64u);
    for (const tla_engine_request &wrong : {tla_engine_request{true, 0, 63, false},
                                            {true, 1, 63, false},
                                            {true, 128, 64, false},
                                            {true, 64 + (std::uint64_t{1} << 32), 64, false}})
        BOOST_CHECK_EQUAL(serve(wrong).status, TLA_ENGINE_NOT_TAKEN);
    BOOST_CHECK_EQUAL(serve({true, 64, 64, false}).status, TLA_ENGINE_DONE);
    BOOST_CHECK_EQUAL(serve({true, 64, 64, false}).status, TLA_ENGINE_NOT_TAKEN);
    engine.destroy(engine.state);
}

BOOST_AUTO_TEST_CASE(memories_and_nodes_above_the_limits_of_offset_bins_are_rejected) {
    const started_firmware engine = start_firmware(tla_firmware_offset_bins_rounded, 1000, most);
    BOOST_CHECK_EQUAL(tla_firmware_engine_restart(engine.get(), TLA_FIRMWARE_BINS + 1, most, nullptr), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_firmware_engine_restart(engine.get(), 1000, most + 1, nullptr), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_firmware_engine_restart(engine.get(), 1000, 0, nullptr), TLA_LIMIT);
    const started_firmware other = start_firmware(tla_firmware_offset_bins, 1000, 2); // one node is never used
    BOOST_CHECK_EQUAL(ask_firmware(other.get(), TLA_MAILBOX_TAKE, 0, 64).status, TLA_MAILBOX_NO_NODE);
    BOOST_CHECK_EQUAL(tla_firmware_engine_restart(other.get(), 1000, 1, nullptr), TLA_LIMIT);
}

BOOST_AUTO_TEST_CASE(receipts_of_offset_bins_say_the_instructions_and_cycles_of_another_seed) {
    for (const tla_firmware *kind : kinds) {
        const std::vector<measurement> one = play(*kind, 1), other = play(*kind, 2);
        for (const auto what : {&measurement::instructions, &measurement::cycles}) {
            const prices p = regression(one, what);
            const auto price = [&p](const measurement &m) { return p.of(m); };
            const residual takes = residual_of(other, what, price, false),
                           frees = residual_of(other, what, price, true);
            BOOST_TEST_MESSAGE((what == &measurement::cycles ? "cycles" : "instructions")
                               << ": fixed " << p.fixed << ", bin_search " << p.bin_search << ", node " << p.node
                               << ", probe " << p.probe << ", split " << p.split << ", free " << p.free << ", merge "
                               << p.merge << "; allocations " << takes.measured << ", residual " << takes.most
                               << "; frees " << frees.measured << ", residual " << frees.most);
            BOOST_CHECK_LE(takes.most, 2);
            BOOST_CHECK_LE(frees.most, 2);
        }
    }
}

// Both kinds run the same image.
BOOST_AUTO_TEST_CASE(the_profile_fw_offset_bins_is_what_is_measured) {
    const tla_cost_profile cost = prices_of_profile("fw_offset_bins");
    const prices p = regression(play(tla_firmware_offset_bins, 1), &measurement::cycles);
    check_prices({cost.fixed_ps, cost.bin_search_ps, cost.node_ps, cost.probe_ps, cost.split_ps, cost.free_ps,
                  cost.merge_ps, cost.insert_node_ps, cost.node_created_ps, cost.node_released_ps},
                 {p.fixed, p.bin_search, p.node, p.probe, p.split, p.free, p.merge, 0, 0, 0});
    for (const tla_firmware *kind : kinds)
        check_operations(play(*kind, 2), cost, 0, 2);
}
