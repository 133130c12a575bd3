// The cube's other memories, its SRAM and its M_CPU's (ADR-0048 D7): allocated by command, by the host, used by
// kernels.
#include "platform_bench.hpp"
#include "tlmalloc/modules/command_sender.hpp"

using namespace platform_benches;

namespace {

const std::uint64_t kib = 1024;

// Two cubes of two PEs with an SRAM of 64 KiB and an M_CPU memory of 16 KiB.
struct bench : platform_bench {
    explicit bench(const std::vector<std::string> &more = {})
        : platform_bench({"system.cube_mesh_width=2", "sram.capacity=64 KiB", "m_cpu_memory.capacity=16 KiB"}, more) {}

    const cube_memory &memory(unsigned cube, tla_memory_kind kind) const {
        return *platform.cube_memories()[2 * cube + (kind == TLA_M_CPU_MEMORY)];
    }
    std::uint64_t used(unsigned cube, tla_memory_kind kind) const {
        return memory(cube, kind).controller.get_statistics(kind).arena.used;
    }
};

const pe_location pe0{0, 0, 0}, pe1{0, 0, 1}, pe2{0, 1, 0};

std::uint64_t address(tla_memory_kind kind, unsigned cube, std::uint64_t offset) {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(
        kind == TLA_SRAM ? tla_paddr_sram(0, cube, offset, &pa) : tla_paddr_m_cpu_memory(0, cube, offset, &pa), TLA_OK);
    return pa.value;
}

void a_tensor_lies_there(tla_memory_kind kind) {
    bench b;
    b.run([&] {
        BOOST_CHECK(!b.memory(0, kind).controller.has_allocators()); // lazily, as a PE's
        const std::size_t length = 10'001;
        tensor *t = b.make(length, kind);
        BOOST_REQUIRE(t);
        BOOST_REQUIRE_EQUAL(t->shards.size(), 4u);
        BOOST_CHECK_EQUAL(t->shards[0].pa.value, address(kind, 0, 0));
        BOOST_CHECK_EQUAL(t->shards[1].pa.value, address(kind, 0, 2501)); // the PEs of a cube share it
        BOOST_CHECK_EQUAL(t->shards[2].pa.value, address(kind, 1, 0));
        BOOST_CHECK_EQUAL(b.used(0, kind), 5001u);
        BOOST_CHECK_EQUAL(b.used(1, kind), 5000u);
        const bytes data = pattern(length);
        b.write(t, data);
        BOOST_CHECK(b.read(t) == data);
        for (const shard &s : t->shards) {
            const auto first = data.begin() + static_cast<std::ptrdiff_t>(s.offset);
            BOOST_CHECK(b.look(s.pa.value, s.nbytes) == bytes(first, first + static_cast<std::ptrdiff_t>(s.nbytes)));
        }
        BOOST_CHECK_EQUAL(b.memory(0, kind).memory.get_statistics().bytes_written, 5001u);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 1u + 2 + 4 + 1); // the tensor, two memories, MMUs, virtual addresses
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
        BOOST_CHECK_EQUAL(b.used(0, kind) + b.used(1, kind), 0u);
    });
    BOOST_CHECK(reports().empty());
}

// From HBM to SRAM, from there to the M_CPUs' memories, and back to HBM.
void kernels_move_bytes(const std::vector<std::string> &more = {}) {
    bench b(more);
    b.run([&] {
        const std::uint64_t part = 1024, length = 4 * part;
        tensor *const hbm = b.make(length, TLA_HBM), *const sram = b.make(length, TLA_SRAM),
                      *const m_cpu = b.make(length, TLA_M_CPU_MEMORY), *const back = b.make(length, TLA_HBM);
        BOOST_REQUIRE(hbm && sram && m_cpu && back);
        const bytes data = pattern(length, 5);
        b.write(hbm, data);
        const auto copy = [&](const tensor *from, const tensor *to) {
            BOOST_CHECK_EQUAL(b.platform.host().launch(0, {from->va.value, to->va.value, part}, &b.error), TLA_OK);
        };
        copy(hbm, sram);
        copy(sram, m_cpu);
        copy(m_cpu, back);
        for (const tensor *t : {sram, m_cpu, back})
            BOOST_CHECK(b.read(t) == data);
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    });
    BOOST_CHECK(reports().empty());
}

void it_is_filled_and_given_back(tla_memory_kind kind, const std::string &where, std::uint64_t capacity) {
    bench b;
    b.run([&] {
        const std::uint64_t block = 4 * kib;
        std::vector<tensor *> live;
        while (tensor *t = b.make(block, kind, {pe0}))
            live.push_back(t);
        BOOST_CHECK_EQUAL(live.size(), capacity / block);
        BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
        const std::string text = b.error.text;
        BOOST_CHECK_MESSAGE(text.rfind("tensor t: " + where + " overflow: requested 4096 bytes, 0 free", 0) == 0, text);
        BOOST_CHECK(b.make(2 * block, kind, {pe0, pe1}) == nullptr); // what they share is told once
        BOOST_CHECK_MESSAGE(
            std::string(b.error.text).find("; 2 of 2 shards do not fit: they need 8192 bytes, but 0 are free") !=
                std::string::npos,
            b.error.text);
        BOOST_CHECK(b.make(block, kind, {pe2}) != nullptr); // the other cube has one of its own
        BOOST_CHECK(b.make(block, TLA_HBM, {pe0}) != nullptr);
        // Every second one goes, so that there is room, but not for two.
        for (std::size_t i = 0; i < live.size(); i += 2)
            BOOST_CHECK_EQUAL(b.platform.host().free_tensor(live[i], &b.error), TLA_OK);
        BOOST_CHECK(b.make(2 * block, kind, {pe1}) == nullptr);
        BOOST_CHECK_EQUAL(b.status, TLA_FRAGMENTED);
        BOOST_CHECK_EQUAL(b.error.largest_free, block);
        const std::string free = std::to_string((live.size() + 1) / 2 * block);
        BOOST_CHECK(b.make(4 * block, kind, {pe0, pe1}) == nullptr);
        BOOST_CHECK_MESSAGE(std::string(b.error.text).find(", but " + free + " are free") != std::string::npos,
                            b.error.text);
        BOOST_CHECK(b.make(block, kind, {pe1}) != nullptr);
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    });
}

// A controller of its own, without a platform.
struct alone {
    alone(tla_memory_kind kind, tla_guard_mode guard = TLA_GUARD_OFF, bool validate = true)
        : memory("memory", memory_config()), controller("controller", controller_config(kind, guard, validate)) {
        (kind == TLA_SRAM ? controller.sram : controller.m_cpu_memory).bind(memory.in);
        cpu.out.bind(controller.control);
        data.out.bind(controller.in);
    }
    static tcm::config memory_config() {
        tcm::config config;
        config.capacity = 64 * kib;
        return config;
    }
    static memory_controller::config controller_config(tla_memory_kind kind, tla_guard_mode guard, bool validate) {
        memory_controller::config config;
        config.memory.of[TLA_HBM].bytes = config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
        (kind == TLA_SRAM ? config.memory.of[TLA_SRAM].bytes : config.memory.of[TLA_M_CPU_MEMORY].bytes) = 64 * kib;
        config.memory.validate = validate;
        config.guard = guard;
        return config;
    }
    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu, &data});
    }
    tcm memory;
    memory_controller controller;
    initiator cpu{"cpu"}, data{"data"};
};

void bad_frees_are_refused(tla_memory_kind kind) {
    alone a(kind);
    a.run([&] {
        const tla_completion first = a.cpu.command(0, alloc_command(kind, 100)),
                             second = a.cpu.command(0, alloc_command(kind, 100));
        BOOST_CHECK_EQUAL(first.value, address(kind, 0, 0));
        BOOST_CHECK_EQUAL(second.value, address(kind, 0, 100));
        BOOST_CHECK_GT(second.service_ps, 0u); // the engine is priced as a PE's
        const auto free = [&](std::uint64_t pa, std::uint64_t nbytes) {
            return a.cpu.command(0, free_command(pa, nbytes)).status;
        };
        BOOST_CHECK_EQUAL(free(first.value, 99), TLA_SIZE_MISMATCH);
        BOOST_CHECK_EQUAL(free(first.value + 1, 99), TLA_SIZE_MISMATCH);     // inside a block
        BOOST_CHECK_EQUAL(free(address(kind, 1, 0), 100), TLA_OUT_OF_RANGE); // of another cube
        BOOST_CHECK_EQUAL(free(address(kind == TLA_SRAM ? TLA_M_CPU_MEMORY : TLA_SRAM, 0, 0), 100), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(free(address(kind, 0, 64 * kib), 1), TLA_OUT_OF_RANGE); // past its end
        tla_paddr window{};
        tla_paddr_m_cpu_control(0, 0, 0, &window);
        BOOST_CHECK_EQUAL(free(window.value, 1), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(free(first.value, 0), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(free(first.value, 100), TLA_OK);
        BOOST_CHECK_EQUAL(free(first.value, 100), TLA_NOT_ALLOCATED);
        // Other memories than its own.
        for (const tla_memory_kind other : {TLA_HBM, TLA_TCM, TLA_SRAM, TLA_M_CPU_MEMORY})
            if (other != kind) BOOST_CHECK_EQUAL(a.cpu.command(0, alloc_command(other, 100)).status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(a.cpu.command(0, alloc_command(kind, 64 * kib)).status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(free(second.value, 100), TLA_OK);
        BOOST_CHECK(a.controller.is_as_at_the_beginning(kind));
        const memory_controller::statistics s = a.controller.get_statistics(kind);
        BOOST_CHECK_EQUAL(s.allocs, 3u);
        BOOST_CHECK_EQUAL(s.failed, 1u + 8);
        BOOST_CHECK_EQUAL(a.controller.list_statistics().size(), 4u); // what others asked for is not lost
        // Data past its end, and in the window before it, leads nowhere.
        sc_core::sc_time delay;
        for (const std::uint64_t pa : {address(kind, 0, 64 * kib - 8), window.value})
            BOOST_CHECK_EQUAL(a.data.write(pa, bytes(16), delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    });
}

void accesses_are_guarded(tla_memory_kind kind) {
    alone a(kind, TLA_GUARD_ERROR);
    a.run([&] {
        const std::uint64_t pa = a.cpu.command(0, alloc_command(kind, 100)).value;
        sc_core::sc_time delay;
        bytes read(100);
        BOOST_CHECK_EQUAL(a.data.read(pa, read, delay), tlm::TLM_GENERIC_ERROR_RESPONSE); // never written
        BOOST_CHECK_EQUAL(a.data.write(pa, pattern(100), delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(delay);
        delay = sc_core::SC_ZERO_TIME;
        BOOST_CHECK(a.data.read(pa, 100) == pattern(100));
        BOOST_CHECK_EQUAL(a.data.write(pa + 1, bytes(100), delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(a.cpu.command(0, free_command(pa, 100)).status, TLA_OK);
        BOOST_CHECK_EQUAL(a.data.read(pa, read, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    });
    const memory_controller::statistics s = a.controller.get_statistics(kind);
    BOOST_CHECK_EQUAL(s.never_written, 1u);
    BOOST_CHECK_EQUAL(s.out_of_bounds, 1u);
    BOOST_CHECK_EQUAL(s.use_after_free, 1u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_tensor_lies_in_srams_and_is_read_back_byte_for_byte) {
    a_tensor_lies_there(TLA_SRAM);
}
BOOST_AUTO_TEST_CASE(a_tensor_lies_in_the_memories_of_m_cpus_and_is_read_back_byte_for_byte) {
    a_tensor_lies_there(TLA_M_CPU_MEMORY);
}

BOOST_AUTO_TEST_CASE(kernels_move_bytes_between_all_memories) {
    kernels_move_bytes();
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_between_all_memories_that_are_guarded) {
    kernels_move_bytes({"controller.guard=error", "controller.poison=true"});
}
BOOST_AUTO_TEST_CASE(kernels_move_bytes_between_all_memories_with_lists_in_memory) {
    kernels_move_bytes({"controller.free_list=hbm", "controller.list_reserve=4 KiB"});
}

BOOST_AUTO_TEST_CASE(an_sram_is_filled_and_given_back) {
    it_is_filled_and_given_back(TLA_SRAM, "SRAM of sip0.cube0", 64 * kib);
}
BOOST_AUTO_TEST_CASE(the_memory_of_an_m_cpu_is_filled_and_given_back) {
    it_is_filled_and_given_back(TLA_M_CPU_MEMORY, "M_CPU memory of sip0.cube0", 16 * kib);
}

BOOST_AUTO_TEST_CASE(an_sram_rejects_bad_frees_and_allocations_of_other_memories) {
    bad_frees_are_refused(TLA_SRAM);
}
BOOST_AUTO_TEST_CASE(an_m_cpu_rejects_bad_frees_and_allocations_of_other_memories) {
    bad_frees_are_refused(TLA_M_CPU_MEMORY);
}

BOOST_AUTO_TEST_CASE(accesses_to_an_sram_are_guarded) {
    accesses_are_guarded(TLA_SRAM);
}
BOOST_AUTO_TEST_CASE(accesses_to_the_memory_of_an_m_cpu_are_guarded) {
    accesses_are_guarded(TLA_M_CPU_MEMORY);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_replicated_has_a_copy_in_the_sram_of_every_cube) {
    bench b;
    b.run([&] {
        tensor *t = b.make(4096, TLA_SRAM, {}, spread::replicate);
        BOOST_REQUIRE(t);
        const bytes data = pattern(4096, 9);
        b.write(t, data);
        BOOST_CHECK_EQUAL(b.used(0, TLA_SRAM), 4096u);
        BOOST_CHECK_EQUAL(b.used(1, TLA_SRAM), 4096u);
        for (unsigned cube : {0u, 1u})
            BOOST_CHECK(b.look(address(TLA_SRAM, cube, 0), 4096) == data);
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    });
}

BOOST_AUTO_TEST_CASE(pages_on_demand_come_from_the_sram_of_the_cube_that_touches_them) {
    bench b({"mmu.unmapped=demand"});
    b.run([&] {
        tensor *from = b.make(4 * 4096, TLA_HBM), *to = b.make(4 * 4096, TLA_SRAM, {}, spread::demand);
        BOOST_REQUIRE(from && to);
        const bytes data = pattern(4 * 4096, 3);
        b.write(from, data);
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {from->va.value, to->va.value, 4096}, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.used(0, TLA_SRAM), 2 * 4096u);
        BOOST_CHECK_EQUAL(b.used(1, TLA_SRAM), 2 * 4096u);
        BOOST_CHECK(b.read(to) == data);
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_tensor_may_lie_in_tcms) {
    bench b;
    b.run([&] {
        tensor *t = b.make(4096, TLA_TCM);
        BOOST_REQUIRE(t);
        b.write(t, pattern(4096));
        BOOST_CHECK(b.read(t) == pattern(4096));
        BOOST_CHECK_EQUAL(b.platform.pes()[3]->controller.get_statistics(TLA_TCM).arena.used, 1024u);
        BOOST_CHECK(b.make(63 << 20, TLA_TCM) == nullptr);
        BOOST_CHECK_EQUAL(std::string(b.error.text).rfind("tensor t: TCM of sip0.cube0.pe0 overflow: ", 0), 0u);
        BOOST_CHECK(b.make(1, TLA_MEMORY_KIND_COUNT) == nullptr);
        BOOST_CHECK_EQUAL(b.error.text, "tensor t: unknown memory 5");
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_block_that_is_not_released_is_a_leak) {
    bench b;
    b.run([&] {
        const tla_command command = alloc_command(TLA_SRAM, 64);
        tla_paddr port{};
        tla_memory_kind_control(TLA_SRAM, 0, 1, 0, 0, &port);
        sc_core::sc_time delay;
        tla_completion done{};
        BOOST_CHECK_EQUAL(send_command(b.platform.host().out, port.value, command, done, delay), TLA_OK);
        sc_core::wait(delay);
        BOOST_CHECK_EQUAL(done.value, address(TLA_SRAM, 1, 0));
        BOOST_CHECK_EQUAL(b.platform.leaks(), 1u);
    });
}
