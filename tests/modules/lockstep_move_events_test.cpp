// The events of blocks that move in slices with an owner: each block is followed to its new place, also the one that
// the owner has placed there before.
#include "platform_bench.hpp"
#include "run/event_recorder.hpp"

#include <map>
#include <set>

using namespace platform_benches;

namespace {

// Follows the blocks of memory controllers by their rows alone, as a reader of the log does.
struct follower : event_sink {
    void begin(const event_names &) override {}
    void add(const memory_command &event) override {
        if (event.memory != TLA_HBM || !event.free_bytes || event.of.status) return; // the owner's rows have no block
        const tla_opcode op = event.of.op;
        if (op != TLA_OP_PLACE && op != TLA_OP_FREE && op != TLA_OP_MOVE) return;
        BOOST_REQUIRE(event.block && event.address);
        if (op == TLA_OP_PLACE) {
            BOOST_CHECK(at.emplace(*event.block, *event.address).second);
            return;
        }
        BOOST_CHECK_EQUAL(at.at(*event.block), *event.address);
        if (op == TLA_OP_FREE) at.erase(*event.block);
    }
    void add(const block_move &event) override {
        BOOST_REQUIRE(event.block);
        BOOST_CHECK_EQUAL(at.at(*event.block), event.what.from.pa.value);
        BOOST_CHECK_EQUAL(event.what.nbytes, 1000u);
        at[*event.block] = event.what.to.pa.value;
        rows[event.in_exchange]++;
        if (event.in_exchange) {
            BOOST_CHECK_EQUAL(event.module, moved.module);
            BOOST_CHECK_EQUAL(event.what.from.pa.value, moved.what.to.pa.value);
            BOOST_CHECK_EQUAL(event.what.to.pa.value, moved.what.from.pa.value);
            BOOST_CHECK_EQUAL(event.what.begun_ps, moved.what.freed_ps);
            BOOST_CHECK_EQUAL(event.what.freed_ps, moved.what.freed_ps);
        }
        moved = event;
        check_addresses(event.in_exchange);
    }
    void add(const move_stop &) override {}
    void add(const fault_service &) override {}
    void add(const page_exit &) override {}
    void add(const mapping_command &) override {}
    void add(const launch_command &) override {}
    void add(const troubled_access &) override {}
    void add(const time_interval &) override {}
    void add(const dma_transfer &) override {}
    void add(const message_delivery &) override {}
    void end(const run_end &) override {}

    void check_addresses(bool are_different) const {
        std::set<std::uint64_t> addresses;
        for (const auto &[block, address] : at)
            addresses.insert(address);
        BOOST_CHECK_EQUAL(addresses.size(), at.size() - (are_different ? 0 : 1));
    }

    std::map<std::uint64_t, std::uint64_t> at; // addresses of live blocks, by number
    std::size_t rows[2] = {};                  // of moves, and of their exchanges
    block_move moved{};
};

void check_events(const std::string &scope) {
    platform_bench b({"system.cube_mesh_width=2", "controller.lockstep=" + scope, "controller.move=stop"}, {});
    const tl_kernel_info kernel{};
    const kernel_choice choice{&kernel, "none", {}};
    workload work(b.platform, choice, {}, workload::on_demand::none);
    work.keep_accounts();
    follower f;
    event_recorder recorder;
    recorder.tell(f, UINT64_MAX);
    recorder.follow(b.platform, work);
    b.run_and_clean_up([&] {
        tensor *t = b.make(4000, TLA_HBM), *other = b.make(4000, TLA_HBM);
        BOOST_REQUIRE(t && other);
        for (unsigned i = 0; i < 3; i++)
            for (tensor *which : {t, other})
                BOOST_CHECK_MESSAGE(!b.platform.host().move(which, i, TLA_HBM, &b.error), b.error.text);
        BOOST_CHECK_EQUAL(f.at.size(), 8u); // of two tensors in four slices
        for (const auto &[block, address] : f.at) {
            const auto is_here = [address](const tensor *which) {
                return std::any_of(which->shards.begin(), which->shards.end(),
                                   [address](const shard &s) { return s.pa.value == address; });
            };
            BOOST_CHECK(is_here(t) || is_here(other));
        }
    });
    recorder.finish(b.platform, work);
    BOOST_CHECK(f.at.empty());
    BOOST_CHECK_EQUAL(f.rows[0], scope == "sip" ? 24u : 12u);
    BOOST_CHECK_EQUAL(f.rows[1], f.rows[0]);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_log_follows_both_blocks_that_exchange_their_places_in_the_slices_of_a_cube) {
    check_events("cube");
}

BOOST_AUTO_TEST_CASE(the_log_follows_both_blocks_that_exchange_their_places_in_the_slices_of_a_sip) {
    check_events("sip");
}
