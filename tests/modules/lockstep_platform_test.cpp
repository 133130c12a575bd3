// One decision for all slices of a cube or a SIP, on whole platforms: what the host makes, what the slices say, what is
// refused.
#include "platform_bench.hpp"
#include "tlmalloc/modules/command_sender.hpp"

#include <set>

using namespace platform_benches;

namespace {

// Two cubes of two PEs with slices of 1 MiB.
struct bench : platform_bench {
    explicit bench(const std::string &scope, const std::vector<std::string> &more = {})
        : platform_bench({"system.cube_mesh_width=2", "controller.lockstep=" + scope}, more) {}

    void run(const std::function<void()> &body) {
        platform_bench::run([&] {
            body();
            BOOST_CHECK_EQUAL(platform.host().cleanup(&error), TLA_OK);
        });
    }

    tensor *make(std::uint64_t nbytes, const std::vector<pe_location> &pes, spread kind = spread::split) {
        return platform_bench::make(nbytes, TLA_HBM, pes, kind);
    }

    std::uint64_t used(unsigned pe) const { return platform.pes()[pe]->controller.get_statistics(TLA_HBM).arena.used; }
    // Of a block, in its slice.
    std::uint64_t offset(const shard &s) const {
        const unsigned pe = s.where.cube * 2 + s.where.pe;
        tla_memory_kind kind{};
        std::uint64_t result = 0;
        const memory_controller::config c = controller_config(config, platform.pes()[pe]->where);
        BOOST_REQUIRE_EQUAL(tla_pe_memory_locate(&c.memory, s.pa, s.nbytes, &kind, &result), TLA_OK);
        BOOST_REQUIRE_EQUAL(kind, TLA_HBM);
        return result;
    }
    tla_completion send(std::uint64_t port, const tla_command &command) {
        tla_completion completion{};
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(send_command(platform.host().out, port, command, completion, delay), completion.status);
        sc_core::wait(delay);
        return completion;
    }
};

const pe_location pe0{0, 0, 0}, pe1{0, 0, 1}, pe2{0, 1, 0}, pe3{0, 1, 1};

void check_blocks(const std::string &scope) {
    bench b(scope, {});
    b.run([&] {
        tensor *all = b.make(10'000, {pe0, pe1, pe2, pe3});
        BOOST_REQUIRE(all);
        for (const shard &s : all->shards)
            BOOST_CHECK_EQUAL(b.offset(s), 0u);
        for (unsigned pe = 0; pe < 4; pe++)
            BOOST_CHECK_EQUAL(b.used(pe), 2500u);
        tensor *one = b.make(1000, {pe1}); // takes as much of every slice of its owner
        BOOST_REQUIRE(one);
        BOOST_CHECK_EQUAL(b.offset(one->shards[0]), 2500u);
        BOOST_CHECK_EQUAL(b.used(0), 3500u);
        BOOST_CHECK_EQUAL(b.used(3), scope == "sip" ? 3500u : 2500u);
        tensor *other = b.make(100, {pe3});
        BOOST_REQUIRE(other);
        BOOST_CHECK_EQUAL(b.offset(other->shards[0]), scope == "sip" ? 3500u : 2500u);
        tensor *uneven = b.make(7, {pe0, pe1, pe0, pe1}); // two parts each, of 2, 2, 2 and 1 byte
        BOOST_REQUIRE(uneven);
        BOOST_CHECK_EQUAL(b.offset(uneven->shards[0]), b.offset(uneven->shards[1]));
        BOOST_CHECK_EQUAL(b.offset(uneven->shards[2]), b.offset(uneven->shards[3]));
        BOOST_CHECK_EQUAL(b.offset(uneven->shards[2]), b.offset(uneven->shards[0]) + 2);
        const bytes data = pattern(10'000);
        BOOST_CHECK_EQUAL(b.platform.host().write_tensor(*all, data.data(), &b.error), TLA_OK);
        bytes back(10'000);
        BOOST_CHECK_EQUAL(b.platform.host().read_tensor(*all, back.data(), &b.error), TLA_OK);
        BOOST_CHECK(back == data);
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(one, &b.error), TLA_OK);
        tensor *again = b.make(4000, {pe0, pe1, pe2, pe3});
        BOOST_REQUIRE(again);
        BOOST_CHECK_EQUAL(b.offset(again->shards[0]), 2500u); // fills the hole
    });
    for (unsigned pe = 0; pe < 4; pe++)
        BOOST_CHECK_EQUAL(b.used(pe), 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_parts_of_a_tensor_lie_at_one_offset_in_every_slice_of_a_cube) {
    check_blocks("cube");
}

BOOST_AUTO_TEST_CASE(the_parts_of_a_tensor_lie_at_one_offset_in_every_slice_of_a_sip) {
    check_blocks("sip");
}

BOOST_AUTO_TEST_CASE(the_last_answer_of_an_owner_is_about_all_its_slices) {
    bench b("sip");
    b.run([&] { // and cleans up
        tensor *all = b.make(10'000, {pe0, pe1, pe2, pe3});
        BOOST_REQUIRE(all && b.make(1000, {pe0}));
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(all, &b.error), TLA_OK); // leaves a hole before the other
    });
}

BOOST_AUTO_TEST_CASE(a_decision_begins_at_a_cycle_of_the_engine) {
    bench b("cube", {"controller.cost.clock=1 us"});
    b.run([&] {
        BOOST_REQUIRE(b.make(1000, {pe0}));
        // The list begins at 1 us and takes 2 cycles, the slices begin at 4 us and take one.
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()) / 1000000, 5u);
    });
}

BOOST_AUTO_TEST_CASE(an_allocation_that_does_not_fit_takes_no_memory_in_any_slice) {
    bench b("cube");
    b.run([&] {
        BOOST_CHECK(!b.make(3 << 20, {pe0, pe2})); // 1.5 MiB of slices of 1 MiB
        BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
        BOOST_CHECK_NE(std::string(b.error.text).find("HBM of sip0.cube0.pe0"), std::string::npos);
        tensor *most = b.make(1 << 20, {pe0});
        BOOST_REQUIRE(most);
        BOOST_CHECK(!b.make(1, {pe1})); // its slice is as full
        BOOST_CHECK(b.make(1 << 20, {pe3}));
        BOOST_CHECK_EQUAL(b.used(2), 1u << 20);
    });
}

BOOST_AUTO_TEST_CASE(a_single_slice_gives_nothing_to_anybody_but_its_owner) {
    bench b("sip");
    b.run([&] {
        tensor *t = b.make(4000, {pe0, pe1, pe2, pe3});
        BOOST_REQUIRE(t);
        tla_paddr port{};
        BOOST_REQUIRE_EQUAL(tla_memory_kind_control(TLA_HBM, 0, 0, 0, TLA_PORT_OF_HOST * TLA_PORT_BYTES, &port),
                            TLA_OK);
        tla_command command{};
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.memory = TLA_HBM;
        command.nbytes = 1000;
        command.pa = t->shards[0].pa;
        for (const tla_opcode opcode : {TLA_OP_ALLOC, TLA_OP_FREE, TLA_OP_TRIM, TLA_OP_PLACE}) {
            command.opcode = opcode;
            BOOST_CHECK_EQUAL(b.send(port.value, command).status, TLA_UNSUPPORTED);
        }
        BOOST_CHECK_EQUAL(b.used(0), 1000u);
        command.opcode = TLA_OP_ALLOC; // the TCM is its own
        command.memory = TLA_TCM;
        const tla_completion tile = b.send(port.value, command);
        BOOST_CHECK_EQUAL(tile.status, TLA_OK);
        command.opcode = TLA_OP_PLACE;
        command.pa = {tile.value + 2000};
        BOOST_CHECK_EQUAL(b.send(port.value, command).status, TLA_UNSUPPORTED);
        command.opcode = TLA_OP_FREE;
        command.pa = {tile.value};
        BOOST_CHECK_EQUAL(b.send(port.value, command).status, TLA_OK);
        // Nor does an M_CPU own anything where the SIP does.
        BOOST_REQUIRE_EQUAL(tla_paddr_m_cpu_control(0, 0, TLA_PORT_OF_HOST * TLA_PORT_BYTES, &port), TLA_OK);
        command.opcode = TLA_OP_ALLOC;
        command.target = TLA_TARGET_M_CPU;
        command.memory = TLA_HBM;
        BOOST_CHECK_EQUAL(b.send(port.value, command).status, TLA_BAD_COMMAND);
        tla_error error{};
        BOOST_CHECK_EQUAL(b.platform.pes()[0]->controller.restore(TLA_HBM, "{}", &error), TLA_UNSUPPORTED);
    });
}

BOOST_AUTO_TEST_CASE(an_owner_returns_the_offset_and_undoes_commands_that_one_slice_fails) {
    bench b("sip", {"faults.plan=refuse pe=3 rate=1000000", "host.retries=0"});
    b.run([&] {
        tla_paddr port{};
        BOOST_REQUIRE_EQUAL(tla_paddr_io_cpu_control(0, TLA_PORT_OF_HOST * TLA_PORT_BYTES, &port), TLA_OK);
        tla_command command{};
        command.target = TLA_TARGET_IO_CPU;
        command.opcode = TLA_OP_ALLOC;
        command.memory = TLA_HBM;
        command.nbytes = 1000;
        const tla_completion refused = b.send(port.value, command);
        BOOST_CHECK_EQUAL(refused.status, TLA_BUSY);
        BOOST_CHECK_EQUAL(refused.failed_at.kind, TLA_LOCATION_PE);
        BOOST_CHECK_EQUAL(refused.failed_at.cube, 1u);
        BOOST_CHECK_EQUAL(refused.failed_at.pe, 1u);
        BOOST_CHECK_EQUAL(refused.total_free, 1u << 20);
        for (unsigned pe = 0; pe < 4; pe++)
            BOOST_CHECK_EQUAL(b.used(pe), 0u);
        BOOST_CHECK(!b.make(100, {pe0}));
        BOOST_CHECK_EQUAL(b.status, TLA_BUSY);
    });
}

BOOST_AUTO_TEST_CASE(with_faults_that_pass_everything_is_given_back_in_the_end) {
    bench b("cube", {"faults.plan=refuse rate=200000", "host.retries=50"});
    b.run([&] {
        for (unsigned i = 0; i < 20; i++) {
            tensor *t = b.make(1000 + 37 * i, {pe0, pe1, pe2, pe3});
            BOOST_REQUIRE_MESSAGE(t, b.error.text);
            if (i % 3 == 0) BOOST_CHECK_EQUAL(b.platform.host().free_tensor(t, &b.error), TLA_OK);
        }
    });
    std::uint64_t refusals = 0;
    for (unsigned pe = 0; pe < 4; pe++) {
        BOOST_CHECK_EQUAL(b.used(pe), 0u);
        refusals += b.platform.pes()[pe]->controller.refused();
    }
    BOOST_CHECK_GT(refusals, 0u);
}
