// Commands that a fault plan refuses: who sends them again, what that takes, and that nothing is lost meanwhile.
#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"

using namespace tlmalloc;
using namespace test_initiator;

namespace {

tla_config settings(std::vector<const char *> overrides) {
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                        TLA_OK);
    return config;
}

struct bench {
    explicit bench(std::vector<const char *> overrides) : platform("npu", settings(with(std::move(overrides))), {}) {}

    static std::vector<const char *> with(std::vector<const char *> overrides) {
        overrides.push_back("system.pes_per_cube=2");
        overrides.push_back("mmu.page_size=4 KiB");
        return overrides;
    }

    void run(std::function<void()> body) {
        bool finished = false;
        platform.host().main = [&] {
            body();
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }

    tla_status make(std::uint64_t nbytes, tensor **made) {
        return platform.host().create_tensor("t", nbytes, 1, platform.host().everywhere(), made, &error);
    }

    std::uint64_t used() const {
        std::uint64_t bytes = 0;
        for (const pe_unit *pe : platform.pes())
            bytes += pe->controller.get_statistics(TLA_HBM).arena.used;
        return bytes;
    }

    std::uint64_t mmu_retries() const {
        std::uint64_t count = 0;
        for (const pe_unit *pe : platform.pes())
            count += pe->mmu.get_statistics().retries;
        return count;
    }

    npu platform;
    tla_error error{};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_failed_allocation_is_repeated_after_the_delay) {
    std::uint64_t plain_ps = 0;
    {
        bench b({"faults.plan=refuse at=0ns pe=1", "host.retries=1", "host.retry_delay=500 ns"});
        b.run([&] {
            tensor *first = nullptr, *second = nullptr;
            BOOST_CHECK_EQUAL(b.make(8192, &first), TLA_OK);
            BOOST_CHECK_EQUAL(b.make(8192, &second), TLA_OK); // nothing is refused any more
            plain_ps = second->alloc_ps;
            // The VA range is asked for once; the delay and a second round trip are what the refusal cost.
            BOOST_CHECK_GT(first->alloc_ps, plain_ps + 500'000);
            BOOST_CHECK_LT(first->alloc_ps, 2 * plain_ps + 500'000);
            BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        });
        BOOST_CHECK_EQUAL(b.platform.host().retries(), 1u);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    }
}

BOOST_AUTO_TEST_CASE(an_allocation_that_fails_too_often_leaves_nothing_allocated) {
    bench b({"faults.plan=refuse rate=1000000 pe=1", "host.retries=4"});
    b.run([&] {
        tensor *t = nullptr;
        BOOST_CHECK_EQUAL(b.make(8192, &t), TLA_BUSY);
        BOOST_CHECK_EQUAL(b.error.text,
                          "tensor t: HBM of sip0.cube0.pe1: rejected by the fault plan (correlation 1, request 3)");
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.platform.host().retries(), 4u);
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
}

BOOST_AUTO_TEST_CASE(a_failed_table_allocation_is_not_reported_as_a_limit) {
    bench b({"faults.plan=refuse at=1us pe=0", "host.retries=0", "mmu.walk=memory"});
    b.run([&] {
        tensor *t = nullptr;
        BOOST_CHECK_EQUAL(b.make(8192, &t), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(t, &b.error), TLA_OK);
        const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
        if (now < 1'000'000) sc_core::wait(from_ps(1'000'000 - now));
        tla_completion block{};
        sc_core::sc_time delay;
        tla_paddr port{};
        tla_paddr_pe_control(0, 0, 0, TLA_CONTROL_PE_MMU, 6 * TLA_PORT_BYTES, &port);
        const tla_command map =
            map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{std::uint64_t{4} << 30, 0, 4096}}); // its table is refused
        BOOST_CHECK_EQUAL(send_command(b.platform.host().out, port.value, map, block, delay), TLA_BUSY);
        sc_core::wait(delay);
        BOOST_CHECK_EQUAL(reports().back(),
                          "/tlmalloc/pe_mmu/command: npu.sip0.cube0.pe0.mmu: entry 0, va 0x100000000..0x100000fff: a "
                          "page table cannot be allocated: busy: retry later");
    });
    BOOST_CHECK_EQUAL(b.used(), 0u);
}

BOOST_AUTO_TEST_CASE(tables_whose_free_fails_are_freed_before_the_command_completes) {
    // Every command of PE 0 in a stretch of time is refused, and nobody tries again at once.
    bench b({"faults.plan=refuse at=2us pe=0; refuse at=2us pe=0; refuse at=2us pe=0", "host.retries=0",
             "mmu.walk=memory"});
    b.run([&] {
        tensor *t = nullptr;
        BOOST_CHECK_EQUAL(b.make(8192, &t), TLA_OK);
        const std::uint64_t with_tables = b.used();
        BOOST_CHECK_GT(with_tables, 8192u);
        const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
        if (now < 2'000'000) sc_core::wait(from_ps(2'000'000 - now));
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(t, &b.error), TLA_OK); // three tables of PE 0 are refused
        BOOST_CHECK_EQUAL(b.used(), 0u);
        BOOST_CHECK_EQUAL(b.make(8192, &t), TLA_OK);
        BOOST_CHECK_EQUAL(b.used(), with_tables); // and are not missing any more
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(t, &b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.used(), 0u);
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
}

BOOST_AUTO_TEST_CASE(random_failures_of_tables_and_blocks_leak_nothing) {
    bench b({"faults.plan=refuse rate=200000", "host.retries=30", "mmu.walk=memory", "faults.seed=7"});
    b.run([&] {
        for (unsigned round = 0; round < 40; round++) {
            tensor *t[4] = {};
            for (std::size_t i = 0; i < 4; i++)
                BOOST_CHECK_EQUAL(b.make(1000 + 9000 * i, &t[i]), TLA_OK);
            for (std::size_t i = 0; i < 4; i++)
                BOOST_CHECK_EQUAL(b.platform.host().free_tensor(t[(i + round) % 4], &b.error), TLA_OK);
            BOOST_CHECK_EQUAL(b.used(), 0u);
        }
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_GT(b.platform.host().retries(), 20u);
    BOOST_CHECK_GT(b.mmu_retries(), 20u);
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
}

// Three nodes, one of them for an allocation: of five blocks the second and the fourth cannot both be free.
BOOST_AUTO_TEST_CASE(a_free_that_finds_no_node_for_its_block_is_sent_again_at_clean_up) {
    bench b({"controller.free_list=hbm", "controller.list_reserve=48 B", "host.retries=1"});
    b.run([&] {
        host &cpu = b.platform.host();
        tensor *t[5] = {};
        for (tensor *&made : t)
            BOOST_REQUIRE_EQUAL(b.make(8192, &made), TLA_OK);
        BOOST_CHECK_EQUAL(cpu.free_tensor(t[1], &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(cpu.free_tensor(t[3], &b.error), TLA_LIMIT);
        BOOST_CHECK_EQUAL(
            b.error.text,
            "tensor t: free in HBM of sip0.cube0.pe0: the free list has no node for another block: "
            "controller.list_reserve or controller.engine_nodes limits its nodes (correlation 7, request 27)");
        BOOST_CHECK_EQUAL(b.used(), 4 * 8192u);
        BOOST_CHECK_EQUAL(cpu.cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.used(), 0u);
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
}

// The middle one of three blocks is owed first: it gets its node when the other two have joined their neighbours.
BOOST_AUTO_TEST_CASE(frees_that_wait_for_one_another_are_sent_in_rounds) {
    bench b({"controller.free_list=hbm", "controller.list_reserve=48 B"});
    b.run([&] {
        host &cpu = b.platform.host();
        tensor *t[8] = {};
        for (tensor *&made : t)
            BOOST_REQUIRE_EQUAL(b.make(8192, &made), TLA_OK);
        BOOST_CHECK_EQUAL(cpu.free_tensor(t[0], &b.error), TLA_OK);
        for (tensor *owed : {t[4], t[3], t[5]})
            BOOST_CHECK_EQUAL(cpu.free_tensor(owed, &b.error), TLA_LIMIT);
        BOOST_CHECK_EQUAL(b.used(), 7 * 8192u);
        BOOST_CHECK_EQUAL(cpu.cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
}
