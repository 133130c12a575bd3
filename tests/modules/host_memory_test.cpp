// The host's memory in a platform: tensors lie there, kernels and the host move bytes to it and back over the links in
// between, and its controller is one as every other.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "platform_bench.hpp"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/modules/command_sender.hpp"

#include <set>

using namespace platform_benches;

namespace {

const std::uint64_t kib = 1024;

// Two SIPs with a cube of two PEs each, and a host with 64 KiB.
struct bench : platform_bench {
    explicit bench(const std::vector<std::string> &more = {})
        : platform_bench({"system.sips=2", "host_memory.capacity=64 KiB"}, more) {}

    void copy(const tensor *from, const tensor *to, std::uint64_t part) {
        BOOST_CHECK_EQUAL(platform.host().launch(0, {from->va.value, to->va.value, part}, &error), TLA_OK);
    }

    tlm::tlm_response_status access(std::uint64_t pa, std::size_t length) {
        bytes data(length);
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(pa);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(length));
        payload.set_streaming_width(static_cast<unsigned>(length));
        sc_core::sc_time delay;
        platform.host().out->b_transport(payload, delay);
        sc_core::wait(delay);
        return payload.get_response_status();
    }

    // Bytes that crossed the link from one node to another.
    std::uint64_t carried(const char *from, const char *to) const {
        const tla_topology &graph = platform.graph();
        std::uint64_t sum = 0;
        for (std::uint32_t i = 0; i < tla_topology_link_count(&graph); i++) {
            const tla_topology_link &link = tla_topology_links(&graph)[i];
            if (tla_topology_nodes(&graph)[link.from].name == std::string(from) &&
                tla_topology_nodes(&graph)[link.to].name == std::string(to))
                sum += tla_fabric_link_load(platform.fabric().fabric(), i).nbytes;
        }
        return sum;
    }

    const memory_controller &controller() const { return platform.memory_of_host()->controller; }
    std::uint64_t used() const { return controller().get_statistics(TLA_HOST_MEMORY).arena.used; }
};

const pe_location pe0{0, 0, 0}, pe1{0, 0, 1}, pe2{1, 0, 0};

std::uint64_t address(std::uint64_t offset) {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_host_memory(offset, &pa), TLA_OK);
    return pa.value;
}

// From HBM to the host's memory and back.
void kernels_move_bytes(const std::vector<std::string> &more = {}) {
    bench b(more);
    b.run_and_clean_up([&] {
        const std::uint64_t part = 4096, length = 4 * part;
        tensor *const hbm = b.make(length, TLA_HBM), *const away = b.make(length, TLA_HOST_MEMORY),
                      *const back = b.make(length, TLA_HBM);
        BOOST_REQUIRE(hbm && away && back);
        const bytes data = pattern(length, 5);
        b.write(hbm, data);
        const std::uint64_t before = b.carried("sip1.pcie_ep", "host");
        b.copy(hbm, away, part);
        BOOST_CHECK_GE(b.carried("sip1.pcie_ep", "host") - before, length / 2); // half of the PEs are there
        BOOST_CHECK_EQUAL(b.carried("sip0.pcie_ep", "fabric.switch0"), 0u);
        BOOST_CHECK(b.look(away->shards[0].pa.value, part) == bytes(data.begin(), data.begin() + 4096));
        b.copy(away, back, part);
        for (const tensor *t : {away, back})
            BOOST_CHECK(b.read(t) == data);
    });
    BOOST_CHECK(reports().empty());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_tensor_lies_in_the_hosts_memory_and_is_read_back_byte_for_byte) {
    bench b;
    b.run([&] {
        BOOST_CHECK(!b.controller().has_allocators()); // lazily, as a PE's
        const std::size_t length = 10'001;
        tensor *t = b.make(length, TLA_HOST_MEMORY);
        BOOST_REQUIRE(t);
        BOOST_REQUIRE_EQUAL(t->shards.size(), 4u);
        const std::uint64_t offsets[] = {0, 2501, 5001, 7501}; // of all PEs of both SIPs in the one memory
        for (std::size_t i = 0; i < 4; i++)
            BOOST_CHECK_EQUAL(t->shards[i].pa.value, address(offsets[i]));
        BOOST_CHECK_EQUAL(b.used(), length);
        const bytes data = pattern(length);
        b.write(t, data);
        BOOST_CHECK(b.read(t) == data);
        BOOST_CHECK(b.look(address(0), length) == data);
        BOOST_CHECK_EQUAL(b.platform.memory_of_host()->memory.get_statistics().bytes_written, length);
        // The host reaches its own memory by the link between the two.
        BOOST_CHECK_GE(b.carried("host", "host.memory"), length);
        BOOST_CHECK_LT(b.carried("host", "sip0.pcie_ep"), length);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 1u + 1 + 4 + 1); // the tensor, the memory, MMUs, virtual addresses
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
        BOOST_CHECK_EQUAL(b.used(), 0u);
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back) {
    kernels_move_bytes();
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_a_guarded_host_and_back) {
    kernels_move_bytes({"controller.guard=error", "controller.poison=true"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_with_lists_in_memory) {
    kernels_move_bytes({"controller.free_list=hbm", "controller.list_reserve=4 KiB"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_with_lists_in_an_sram) {
    kernels_move_bytes({"controller.free_list=sram"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_by_page_tables_in_memory) {
    kernels_move_bytes({"mmu.walk=memory"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_where_slices_are_placed_in_lockstep) {
    kernels_move_bytes({"controller.lockstep=sip"}); // of HBM alone
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_with_a_segment_cache_there) {
    kernels_move_bytes({"controller.host_policy=segment_cache/best_fit", "controller.host_front.segment=20 KiB"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_with_a_caching_pool_there) {
    kernels_move_bytes({"controller.host_policy=caching_pool/tlsf"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_with_a_growing_pool_there) {
    kernels_move_bytes({"controller.host_policy=growing_pool"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_with_slots_there) {
    kernels_move_bytes({"controller.host_policy=slot_pool", "controller.host_front.slot=8 KiB"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_with_a_mixed_front_there) {
    kernels_move_bytes({"controller.host_policy=mixed", "controller.host_front.buffers=16 KiB"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_while_its_memory_grows) {
    kernels_move_bytes({"controller.host_policy=lazy", "controller.host_front.initial=32 KiB",
                        "controller.host_front.chunk=8 KiB", "controller.host_front.commit=16 KiB"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_by_a_driver_with_a_pool) {
    kernels_move_bytes({"host.driver=per_device", "host.pool=caching_pool"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_to_the_host_and_back_by_an_asynchronous_driver) {
    kernels_move_bytes({"host.driver=asynchronous"});
}

BOOST_AUTO_TEST_CASE(the_hosts_memory_is_filled_and_given_back) {
    bench b;
    b.run_and_clean_up([&] {
        const std::uint64_t block = 4 * kib;
        std::vector<tensor *> live;
        while (tensor *t = b.make(block, TLA_HOST_MEMORY, {live.size() % 2 ? pe2 : pe0}))
            live.push_back(t);
        BOOST_CHECK_EQUAL(live.size(), 16u);
        BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
        const std::string text = b.error.text;
        BOOST_CHECK_MESSAGE(text.rfind("tensor t: host memory overflow: requested 4096 bytes, 0 free", 0) == 0, text);
        BOOST_CHECK(b.make(2 * block, TLA_HOST_MEMORY, {pe0, pe2}) == nullptr); // what they share is told once
        BOOST_CHECK_MESSAGE(
            std::string(b.error.text).find("; 2 of 2 shards do not fit: they need 8192 bytes, but 0 are free") !=
                std::string::npos,
            b.error.text);
        BOOST_CHECK(b.make(block, TLA_HBM, {pe0}) != nullptr);
        for (std::size_t i = 0; i < live.size(); i += 2)
            BOOST_CHECK_EQUAL(b.platform.host().free_tensor(live[i], &b.error), TLA_OK);
        BOOST_CHECK(b.make(2 * block, TLA_HOST_MEMORY, {pe1}) == nullptr);
        BOOST_CHECK_EQUAL(b.status, TLA_FRAGMENTED);
        BOOST_CHECK_EQUAL(b.error.largest_free, block);
        BOOST_CHECK(b.make(block, TLA_HOST_MEMORY, {pe1}) != nullptr);
    });
}

BOOST_AUTO_TEST_CASE(a_copy_for_every_cube_and_pages_on_demand_may_lie_there) {
    bench b({"mmu.unmapped=demand"});
    b.run_and_clean_up([&] {
        const bytes data = pattern(8 * kib, 9);
        tensor *copies = b.make(8 * kib, TLA_HOST_MEMORY, {}, spread::replicate);
        tensor *pages = b.make(8 * kib, TLA_HOST_MEMORY, {}, spread::demand);
        BOOST_REQUIRE(copies && pages);
        b.write(copies, data);
        BOOST_CHECK_EQUAL(b.used(), 16 * kib);
        b.copy(copies, pages, 2 * kib);
        BOOST_CHECK_EQUAL(b.used(), 24 * kib);
        BOOST_CHECK(b.read(pages) == data);
    });
}

BOOST_AUTO_TEST_CASE(kernels_may_not_write_a_tensor_there_that_is_read_only) {
    bench b;
    b.run_and_clean_up([&] {
        tensor *from = b.make(4096, TLA_HBM), *to = nullptr;
        host::sharding where{b.platform.host().everywhere().pes, spread::split, TLA_HOST_MEMORY, true};
        BOOST_REQUIRE_EQUAL(b.platform.host().create_tensor("t", 4096, 1, where, &to, &b.error), TLA_OK);
        b.write(to, pattern(4096));
        b.copy(to, from, 1024);
        BOOST_CHECK(b.read(from) == pattern(4096));
        b.write(from, bytes(4096));
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {from->va.value, to->va.value, 1024}, &b.error), TLA_BUS_ERROR);
        BOOST_CHECK(b.read(to) == pattern(4096));
    });
}

BOOST_AUTO_TEST_CASE(a_pes_dma_reaches_it_by_physical_address) {
    bench b;
    b.run_and_clean_up([&] {
        tensor *t = b.make(4096, TLA_HOST_MEMORY, {pe2});
        BOOST_REQUIRE(t);
        const tla_paddr pa = t->shards[0].pa;
        BOOST_CHECK_EQUAL(b.platform.host().pe_dma(pa, 4096, true, 0x5a, {pe2}, &b.error), TLA_OK);
        BOOST_CHECK(b.read(t) == bytes(4096, 0x5a));
        BOOST_CHECK_EQUAL(b.platform.host().pe_dma(pa, 4096, false, 0, {pe0}, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.host().pe_dma({address(64 * kib)}, 64, true, 0, {pe0}, &b.error), TLA_BUS_ERROR);
    });
}

BOOST_AUTO_TEST_CASE(an_access_outside_the_hosts_memory_is_an_address_error) {
    bench b;
    b.run([&] {
        tla_paddr control{};
        tla_paddr_host_memory_control(TLA_CONTROL_BLOCK_BYTES - 4, &control);
        BOOST_CHECK_EQUAL(b.access(address(64 * kib - 4), 4), tlm::TLM_OK_RESPONSE);
        for (const std::uint64_t pa : {address(64 * kib), address(64 * kib - 2), address(TLA_HOST_MEMORY_BYTES - 4),
                                       control.value + 4, address(0) | std::uint64_t{1} << 47})
            BOOST_CHECK_EQUAL(b.access(pa, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    });
}

BOOST_AUTO_TEST_CASE(a_host_without_memory_reports_it) {
    bench b({"host_memory.capacity=0 B"});
    BOOST_CHECK(b.platform.memory_of_host() == nullptr);
    b.run_and_clean_up([&] {
        BOOST_CHECK(b.make(64, TLA_HOST_MEMORY) == nullptr);
        BOOST_CHECK_EQUAL(b.status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.error.text,
                          "tensor t: the host has no memory in this platform: host_memory.capacity is 0 B");
        shard block{};
        BOOST_CHECK_EQUAL(b.platform.host().allocate(pe0, TLA_HOST_MEMORY, 64, &block, &b.error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.access(address(0), 4), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        tla_paddr control{};
        tla_paddr_host_memory_control(0, &control);
        BOOST_CHECK_EQUAL(b.access(control.value, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    });
}

// Threads of both SIPs ask for blocks at one time: the memory's controller has one port for the host.
static void threads_allocate_there(const std::vector<std::string> &more) {
    bench b(more);
    b.run_and_clean_up([&] {
        unsigned left = 4;
        sc_core::sc_event all_done;
        std::set<std::uint64_t> places;
        for (unsigned thread = 0; thread < 4; thread++)
            sc_core::sc_spawn([&, thread] {
                const pe_location pe{thread % 2, 0, thread / 2};
                tla_error error{};
                std::vector<shard> blocks(4);
                for (shard &block : blocks) {
                    BOOST_REQUIRE_EQUAL(b.platform.host().allocate(pe, TLA_HOST_MEMORY, 1000, &block, &error), TLA_OK);
                    places.insert(block.pa.value);
                }
                for (const shard &block : blocks)
                    BOOST_REQUIRE_EQUAL(b.platform.host().release(block, &error), TLA_OK);
                if (--left == 0) all_done.notify(sc_core::SC_ZERO_TIME);
            });
        sc_core::wait(all_done);
        BOOST_CHECK_GE(places.size(), 4u);
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(threads_of_both_sips_allocate_in_the_hosts_memory_at_one_time) {
    threads_allocate_there({});
}
BOOST_AUTO_TEST_CASE(threads_of_both_sips_allocate_there_by_a_driver_with_a_lock_for_each) {
    threads_allocate_there({"host.driver=per_device"});
}
BOOST_AUTO_TEST_CASE(threads_of_both_sips_allocate_there_from_the_pool) {
    threads_allocate_there({"host.driver=per_device", "host.pool=caching_pool"});
}
BOOST_AUTO_TEST_CASE(threads_of_both_sips_allocate_there_by_an_asynchronous_driver) {
    threads_allocate_there({"host.driver=asynchronous"});
}

// The end point stores what a PE has under way, 64 KiB, and forwards it: the first of that comes at the 128 GB/s of a
// connection, and all of it goes on at the 64 GB/s of the host's link.
BOOST_AUTO_TEST_CASE(a_transfer_to_the_host_takes_what_its_links_take) {
    bench b({"host_memory.capacity=1 MiB", "hbm.capacity_per_cube=4 MiB"});
    b.run_and_clean_up([&] {
        const std::uint64_t window = std::uint64_t{b.config.dma.chunk} * b.config.dma.outstanding;
        BOOST_REQUIRE_EQUAL(window, 64 * kib);
        for (const std::uint64_t nbytes : {64 * kib, 256 * kib, 1024 * kib}) {
            tensor *t = b.make(nbytes, TLA_HOST_MEMORY, {pe0});
            BOOST_REQUIRE(t);
            runtime::launched result;
            BOOST_CHECK_EQUAL(b.platform.host().pe_dma(t->shards[0].pa, nbytes, true, 1, {pe0}, &b.error, &result),
                              TLA_OK);
            const std::uint64_t links =
                tla_transfer_ps(window, 128'000'000'000) + tla_transfer_ps(nbytes, 64'000'000'000);
            BOOST_CHECK_GE(result.duration_ps, links);
            BOOST_CHECK_LE(result.duration_ps, links + 80'000 + 50'000 * (nbytes / window)); // nodes, wires, DDR
            BOOST_CHECK_EQUAL(b.platform.host().free_tensor(t, &b.error), TLA_OK);
        }
    });
}

BOOST_AUTO_TEST_CASE(tables_that_go_after_the_last_tensor_in_hbm_are_no_leak) {
    bench b({"mmu.walk=memory"});
    b.run_and_clean_up([&] {
        BOOST_CHECK(b.make(1024, TLA_HOST_MEMORY)); // freed last, and with it the tables in the slices
        BOOST_CHECK(b.make(1024, TLA_HBM));
    });
}

BOOST_AUTO_TEST_CASE(a_block_of_the_host_that_is_not_released_is_a_leak) {
    bench b;
    b.run([&] {
        const tla_command command = alloc_command(TLA_HOST_MEMORY, 64);
        tla_paddr port{};
        tla_memory_kind_control(TLA_HOST_MEMORY, 0, 0, 0, 0, &port);
        sc_core::sc_time delay;
        tla_completion done{};
        BOOST_CHECK_EQUAL(send_command(b.platform.host().out, port.value, command, done, delay), TLA_OK);
        sc_core::wait(delay);
        BOOST_CHECK_EQUAL(done.value, address(0));
        BOOST_CHECK_GT(done.service_ps, 0u);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 1u);
    });
}
