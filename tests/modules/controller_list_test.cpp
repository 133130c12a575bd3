// Free lists in memory: the time of their accesses, what stands in the slice, and how kernels and the engine meet.
#include "controller_bench.hpp"

#include <algorithm>

using namespace controller_bench;

namespace {

memory_controller::config listed(tla_free_list_place place, std::uint64_t cache = 0) {
    memory_controller::config config = small();
    config.free_list = place;
    config.node_latency_ps = 500;
    config.list_reserve = 16 << 10;
    config.node_cache = cache;
    config.cost.fixed_ps = 10'000;
    return config;
}

// Ten blocks, every other one freed: five holes and the rest.
std::vector<std::uint64_t> make_holes(bench &b) {
    std::vector<std::uint64_t> blocks;
    for (int i = 0; i < 10; i++)
        blocks.push_back(b.cpu.command(0, alloc_command(TLA_HBM, 1000)).value);
    for (std::size_t i = 0; i < 10; i += 2)
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(blocks[i], 1000)).status, TLA_OK);
    return blocks;
}

std::uint64_t number(const bytes &data, std::size_t at, int count) {
    std::uint64_t value = 0;
    for (int i = count; i-- > 0;)
        value = value << 8 | data[at + static_cast<std::size_t>(i)];
    return value;
}

const std::uint64_t burst_ps = 8000; // 256 bytes at 32 GB/s: what one node's access occupies

} // namespace

BOOST_AUTO_TEST_CASE(in_sram_every_access_to_a_node_takes_its_latency) {
    bench b(listed(TLA_LIST_SRAM));
    b.run([&] {
        make_holes(b);
        // six nodes read, one written
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 2000)).service_ps, 10'000u + 7 * 500);
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().reads + b.slice.get_statistics().writes, 0u);
}

BOOST_AUTO_TEST_CASE(in_hbm_every_access_to_a_node_is_a_transaction_after_the_one_before) {
    bench b(listed(TLA_LIST_HBM));
    b.run([&] {
        make_holes(b);
        const std::uint64_t reads = b.slice.get_statistics().reads, writes = b.slice.get_statistics().writes;
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 2000)).service_ps, 10'000u + 7 * burst_ps);
        BOOST_CHECK_EQUAL(b.slice.get_statistics().reads - reads, 6u);
        BOOST_CHECK_EQUAL(b.slice.get_statistics().writes - writes, 1u);
    });
    const memory_controller::statistics s = b.controller.get_statistics(TLA_HBM);
    BOOST_CHECK_EQUAL(s.list_reads, b.slice.get_statistics().reads);
    BOOST_CHECK_EQUAL(s.list_writes, b.slice.get_statistics().writes);
    BOOST_CHECK_EQUAL(s.list_ps, (s.list_reads + s.list_writes) * burst_ps);
    BOOST_CHECK_EQUAL(s.list_errors, 0u);
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(the_list_stands_in_the_slice) {
    bench b(listed(TLA_LIST_HBM));
    b.run([&] {
        const std::vector<std::uint64_t> blocks = make_holes(b);
        // the first allocation's node is slot 0; the hole at 0 got a fresh slot, and so on
        bytes node(TLA_LIST_NODE_BYTES);
        std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
        for (std::uint64_t slot = 1; slot != TLA_LIST_END && found.size() < 100; slot = number(node, 12, 4)) {
            b.data.debug(tlm::TLM_READ_COMMAND, hbm(slice_bytes - (16 << 10) + slot * TLA_LIST_NODE_BYTES), node);
            found.emplace_back(number(node, 0, 6), number(node, 6, 6));
        }
        const std::uint64_t end = slice_bytes - (16 << 10);
        const std::vector<std::pair<std::uint64_t, std::uint64_t>> expected{
            {0, 1000}, {2000, 1000}, {4000, 1000}, {6000, 1000}, {8000, 1000}, {10'000, end - 10'000}};
        BOOST_CHECK(found == expected);
    });
}

BOOST_AUTO_TEST_CASE(a_node_cache_saves_the_reads_of_a_list_that_fits_it) {
    bench b(listed(TLA_LIST_HBM, 16));
    b.run([&] {
        make_holes(b);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 2000)).service_ps, 10'000u + 6 * 500 + burst_ps);
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().reads, 0u);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).list_hits, b.controller.get_statistics(TLA_HBM).list_reads);
}

BOOST_AUTO_TEST_CASE(placements_do_not_depend_on_where_the_list_is) {
    // One simulation: three controllers, the same commands.
    bench b(listed(TLA_LIST_HBM));
    memory_controller::config other = listed(TLA_LIST_REGISTERS);
    hbm_slice slice("other_slice", bench::slice_config());
    tcm memory("other_tcm", bench::tcm_config());
    memory_controller registers("registers", other);
    initiator cpu("other_cpu"), data("other_data");
    registers.slice.bind(slice.in);
    registers.tcm.bind(memory.in);
    cpu.out.bind(registers.control);
    data.out.bind(registers.in);
    b.run([&] {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
        const bytes choices = pattern(2000);
        for (std::size_t i = 0; i < choices.size(); i += 2) {
            if (choices[i] % 3 != 0 || live.empty()) {
                const tla_command command = alloc_command(TLA_HBM, std::uint64_t{choices[i + 1]} * 7 + 1);
                const tla_completion here = b.cpu.command(0, command), there = cpu.command(0, command);
                BOOST_REQUIRE_EQUAL(here.value, there.value);
                BOOST_REQUIRE_EQUAL(here.nodes_visited, there.nodes_visited);
                live.emplace_back(here.value, here.nbytes);
            } else {
                const std::size_t which = choices[i + 1] % live.size();
                for (initiator *sender : {&b.cpu, &cpu})
                    BOOST_REQUIRE_EQUAL(sender->command(0, free_command(live[which].first, live[which].second)).status,
                                        TLA_OK);
                live.erase(live.begin() + static_cast<long>(which));
            }
        }
    });
}

// A kernel's DMA and the allocator at the same time: the sum of the times each of them takes.
BOOST_AUTO_TEST_CASE(dma_and_the_engine_slow_each_other_down) {
    std::uint64_t alone_dma = 0, alone_engine = 0, both_dma = 0, both_engine = 0;
    bench b(listed(TLA_LIST_HBM));
    const auto stream = [&](std::uint64_t &took) { // 200 lines that keep all pseudo-channels busy
        const std::uint64_t begin = to_ps(sc_core::sc_time_stamp());
        for (int i = 0; i < 200; i++) {
            sc_core::sc_time delay;
            b.data.write(hbm(0), pattern(4096), delay);
            sc_core::wait(delay);
        }
        took = to_ps(sc_core::sc_time_stamp()) - begin;
    };
    const auto allocate = [&](std::uint64_t &took) {
        for (int i = 0; i < 20; i++) {
            const tla_completion answer = b.cpu.command(0, alloc_command(TLA_HBM, 2000));
            took += answer.service_ps;
            b.cpu.command(0, free_command(answer.value, 2000));
        }
    };
    b.run(
        [&] {
            make_holes(b);
            allocate(alone_engine);
            sc_core::wait(sc_core::sc_time(50, sc_core::SC_US) - sc_core::sc_time_stamp());
            sc_core::wait(50, sc_core::SC_US); // the stream is alone
            allocate(both_engine);
        },
        [&] {
            sc_core::wait(50, sc_core::SC_US);
            stream(alone_dma);
            sc_core::wait(sc_core::sc_time(100, sc_core::SC_US) - sc_core::sc_time_stamp());
            stream(both_dma);
        });
    BOOST_TEST_MESSAGE("engine " << alone_engine << " -> " << both_engine << " ps, DMA " << alone_dma << " -> "
                                 << both_dma << " ps");
    BOOST_CHECK_GT(both_engine, alone_engine);
    BOOST_CHECK_GT(both_dma, alone_dma);
}

BOOST_AUTO_TEST_CASE(an_overwritten_node_is_counted_and_reported) {
    bench b(listed(TLA_LIST_HBM));
    b.run([&] {
        b.cpu.command(0, alloc_command(TLA_HBM, 1000));
        b.data.write(hbm(slice_bytes - (16 << 10)), bytes(4, 0xff)); // node 0
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 1000)).value, hbm(1000));
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).list_errors, 1u);
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0],
                      "/tlmalloc/memory_controller/free_list: controller: node 0 differs from the value written");
}

BOOST_AUTO_TEST_CASE(a_list_of_buddies_cannot_lie_in_memory) {
    memory_controller::config config = listed(TLA_LIST_HBM);
    config.memory.of[TLA_HBM].policy = TLA_BUDDY;
    check_refused([&] { memory_controller controller("controller", config); },
                  "/tlmalloc/memory_controller/config: a free list in memory needs first, best, next or worst fit "
                  "without a front, and a list_reserve of at least two nodes");
}
