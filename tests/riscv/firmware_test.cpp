// The firmware beside the core: the same blocks, in the instructions and cycles that the core's receipt says.
#include "engine_plays.hpp"
#include "firmware_beside_core.hpp"
#include "least_squares.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

namespace {

const std::uint64_t most = tla_firmware_first_fit.nodes_max;

struct side_by_side : firmware_beside_core {
    explicit side_by_side(std::uint64_t capacity, std::uint64_t nodes = most)
        : firmware_beside_core(tla_firmware_first_fit, capacity, nodes) {}
};

// What units of a receipt take, in cycles or instructions; what is not here is 0.
struct prices {
    double fixed, node, split, released, free, insert_node, created;

    double of(const measurement &m) const {
        const auto count = [](std::uint64_t n) { return static_cast<double>(n); };
        return fixed + node * count(m.work.nodes_visited) + split * count(m.work.splits) +
               released * count(m.work.nodes_released) + free * count(m.work.frees) +
               insert_node * count(m.work.insert_nodes) + created * count(m.work.nodes_created);
    }
};

std::ostream &operator<<(std::ostream &out, const prices &p) {
    return out << "fixed " << p.fixed << ", node " << p.node << ", split " << p.split << ", node_released "
               << p.released << ", free " << p.free << ", insert_node " << p.insert_node << ", node_created "
               << p.created;
}

// The regression: allocations first; of frees what is left when the price of a node that went is taken off.
prices regression(const std::vector<measurement> &all, std::uint64_t measurement::*what) {
    std::vector<observation> takes, frees;
    for (const measurement &m : all)
        if (!m.free)
            takes.push_back({{1, double(m.work.nodes_visited), double(m.work.splits), double(m.work.nodes_released)},
                             double(m.*what)});
    const std::vector<double> take = least_squares(takes);
    for (const measurement &m : all)
        if (m.free)
            frees.push_back({{1, double(m.work.insert_nodes), double(m.work.nodes_created)},
                             double(m.*what) - take[3] * double(m.work.nodes_released)});
    const std::vector<double> free = least_squares(frees);
    return {take[0], take[1], take[2], take[3], free[0] - take[0], free[1], free[2]};
}

std::vector<measurement> play(std::uint64_t seed) {
    side_by_side both(std::uint64_t{1} << 20);
    play_random(both, 3000, 100000, seed);
    BOOST_REQUIRE_EQUAL(both.difference, "");
    return both.measured;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_operations_1e5_place_as_the_core) {
    side_by_side both(std::uint64_t{1} << 20);
    play_random(both, 3000, 100000, 1);
    BOOST_CHECK_EQUAL(both.difference, "");
    BOOST_CHECK_GT(both.refused, 100u);
    BOOST_CHECK_GT(both.failed, 100u);
}

BOOST_AUTO_TEST_CASE(recorded_traces_are_placed_as_by_the_core) {
    for (const std::string &path : recorded_traces())
        BOOST_TEST_CONTEXT(path) {
            side_by_side both(std::uint64_t{1} << 25);
            play_trace(both, path);
            BOOST_CHECK_EQUAL(both.difference, "");
            BOOST_CHECK_GT(both.measured.size(), 1000u);
            BOOST_TEST_MESSAGE(path << ": " << both.cycles() << " cycles");
        }
}

BOOST_AUTO_TEST_CASE(a_free_without_a_node_for_its_range_fails_and_changes_nothing) {
    side_by_side few(4096, 8);
    play_random(few, 100, 50000, 4);
    BOOST_CHECK_EQUAL(few.difference, "");
    BOOST_CHECK_GT(few.without_node, 100u);

    side_by_side all(std::uint64_t{1} << 33);
    std::vector<tla_block> blocks(2 * most + 100);
    for (tla_block &block : blocks)
        BOOST_REQUIRE(all.take(8, &block));
    for (std::size_t i = 0; i < blocks.size(); i += 2) // no two touch; the rest of the range has a node, too
        all.give_back(blocks[i]);
    BOOST_CHECK_EQUAL(all.without_node, 51u);
    BOOST_CHECK_EQUAL(all.free_blocks(), most);
    for (std::size_t i = 1; i < blocks.size(); i += 2)
        all.give_back(blocks[i]);
    BOOST_CHECK_EQUAL(all.difference, "");
}

// Firmware of one's own that does not work.
BOOST_AUTO_TEST_CASE(firmware_that_fails_is_reported_and_the_process_continues) {
    const started_firmware works = start_firmware(tla_firmware_first_fit, 100, 1);
    tla_error error{};
    for (const std::uint64_t count : {std::uint64_t{0}, most + 1, UINT64_MAX}) {
        BOOST_CHECK_EQUAL(tla_firmware_engine_restart(works.get(), 100, count, &error), TLA_LIMIT);
        BOOST_CHECK_EQUAL(error.text,
                          "firmware fw_list does not support 100 units with " + std::to_string(count) + " free blocks");
    }
    BOOST_CHECK_EQUAL(tla_firmware_engine_restart(works.get(), 100, most, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(ask_firmware(works.get(), TLA_MAILBOX_TAKE, 0, 100).status, TLA_MAILBOX_DONE);

    struct row {
        std::vector<std::uint32_t> code;
        tla_status status;
        std::string text;
    };
    const std::vector<row> rows{
        {{0x0000006f /* j . */}, TLA_TIMEOUT, "no response after 67108864 instructions, pc 0x80000000"},
        {{0x10500073 /* wfi */, 0xffdff06f /* j -4 */},
         TLA_TIMEOUT,
         "no response after 67108864 instructions, pc 0x80000000"},
        {{0x00000013, 0x00000073 /* ecall */},
         TLA_UNSUPPORTED,
         "TLA_UNSUPPORTED at pc 0x80000004, instruction 0x73, address 0x80000004"},
        {{0x10000637 /* lui a2, 0x10000 */, 0x00063023 /* sd zero, 0(a2): the operation */},
         TLA_PERMISSION,
         "TLA_PERMISSION at pc 0x80000004, instruction 0x63023, address 0x10000000"},
        {{0x10000637, 0x00062503 /* lw a0, 0(a2) */},
         TLA_OUT_OF_RANGE,
         "TLA_OUT_OF_RANGE at pc 0x80000004, instruction 0x62503, address 0x10000000"},
        {{0x10000637, 0x02863503 /* ld a0, 40(a2) */},
         TLA_OUT_OF_RANGE,
         "TLA_OUT_OF_RANGE at pc 0x80000004, instruction 0x2863503, address 0x10000028"},
        {{0x10500073, 0x10000637, 0x00900513 /* li a0, 9 */, 0x02a63023 /* sd a0, 32(a2) */, 0xff1ff06f /* j -16 */},
         TLA_WRONG_RESULT,
         "unknown status 9"}};
    tla_riscv_timing timing;
    tla_riscv_timing_defaults(&timing);
    for (const row &r : rows)
        BOOST_TEST_CONTEXT(r.text) {
            const tla_firmware firmware{"own",
                                        TLA_FIRST_FIT,
                                        100,
                                        10,
                                        reinterpret_cast<const unsigned char *>(r.code.data()),
                                        r.code.size() * 4};
            tla_firmware_engine *engine = nullptr;
            BOOST_REQUIRE_EQUAL(tla_firmware_engine_create(&firmware, &timing, &engine), TLA_OK);
            for (int again = 0; again < 2; again++) {
                BOOST_CHECK_EQUAL(tla_firmware_engine_restart(engine, 100, 10, &error), r.status);
                BOOST_CHECK_EQUAL(error.text, r.text);
            }
            tla_firmware_engine_destroy(engine);
        }
    const std::vector<unsigned char> large(TLA_FIRMWARE_MEMORY_BYTES + 1);
    const tla_firmware too_large{"large", TLA_FIRST_FIT, 100, 10, large.data(), large.size()};
    tla_firmware_engine *engine = nullptr;
    BOOST_CHECK_EQUAL(tla_firmware_engine_create(&too_large, &timing, &engine), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(!engine);
}

BOOST_AUTO_TEST_CASE(receipts_say_the_instructions_and_cycles_of_another_seed) {
    const std::vector<measurement> one = play(1), other = play(2);
    for (const auto what : {&measurement::instructions, &measurement::cycles}) {
        const prices p = regression(one, what);
        const auto price = [&p](const measurement &m) { return p.of(m); };
        const residual takes = residual_of(other, what, price, false), frees = residual_of(other, what, price, true);
        BOOST_TEST_MESSAGE((what == &measurement::cycles ? "cycles: " : "instructions: ")
                           << p << "; allocations " << takes.measured << ", residual " << takes.most << "; frees "
                           << frees.measured << ", residual " << frees.most);
        BOOST_CHECK_LT(takes.most, 0.01);
        BOOST_CHECK_LE(frees.most, 15);
    }
}

BOOST_AUTO_TEST_CASE(the_profile_fw_list_is_what_is_measured) {
    const tla_cost_profile cost = prices_of_profile("fw_list");
    const prices p = regression(play(1), &measurement::cycles);
    check_prices({cost.fixed_ps, cost.node_ps, cost.split_ps, cost.node_released_ps, cost.free_ps, cost.insert_node_ps,
                  cost.node_created_ps, cost.merge_ps, cost.probe_ps},
                 {p.fixed, p.node, p.split, p.released, p.free, p.insert_node, p.created, 0, 0});
    check_operations(play(2), cost, 0, 10);

    side_by_side full(100); // a free that finds nothing free has no block to look at
    tla_block all{};
    BOOST_REQUIRE(full.take(100, &all));
    full.give_back(all);
    const measurement &only = full.measured.back();
    BOOST_CHECK_EQUAL(only.cycles + 18, tla_cost_price(&cost, &only.work) / cost.clock_ps);
}
