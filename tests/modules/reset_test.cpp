// Resets: in the middle of commands, walks, accesses and transfers, twice, held for a time; and that a module is as new
// afterwards: what it answers is what one answers that was never used.
#include "reset_platform.hpp"
#include "tests/unit/seeded_random.hpp"

#include <iostream>

using namespace reset_platform;

namespace {

using answers = std::vector<std::uint64_t>;

void say(answers &said, const tla_completion &c, const sc_core::sc_time &delay) {
    said.insert(said.end(), {std::uint64_t(c.status), std::uint64_t(c.opcode), c.value, c.nbytes, c.total_free,
                             c.largest_free, c.nodes_visited, c.service_ps, local_ps(delay)});
}

// Random commands of all kinds, and accesses to what they brought; everything that comes back is said.
void use(bench &b, seeded_random &random, unsigned count, answers &said, std::uint64_t first_ps) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
    for (unsigned i = 0; i < count; i++) {
        const std::size_t one = live.empty() ? 0 : random.between(0, live.size() - 1);
        const std::uint64_t nbytes = random.between(1, 40) * 100, kind = random.between(1, 10);
        at(first_ps + i * 5000 * ns); // whatever came before: the same time in every run
        sc_core::sc_time delay;
        if (live.empty() || kind <= 5) {
            const tla_memory_kind memory = kind == 5 ? TLA_TCM : TLA_HBM;
            const tla_completion c = b.cpu.command(0, alloc_command(memory, nbytes), delay);
            say(said, c, delay);
            if (!c.status) live.emplace_back(c.value, nbytes);
        } else if (kind <= 8) {
            tla_command command = free_command(live[one].first, live[one].second);
            if (kind == 8) command.opcode = random.one_in(2) ? TLA_OP_REF : TLA_OP_PIN;
            const tla_completion c = b.cpu.command(0, command, delay);
            say(said, c, delay);
            if (!c.status && kind < 8 && c.value == 0) live.erase(live.begin() + static_cast<std::ptrdiff_t>(one));
        } else {
            bytes word(8, static_cast<std::uint8_t>(i));
            const auto status =
                kind == 9 ? b.data.write(live[one].first, word, delay) : b.data.read(live[one].first, word, delay);
            said.insert(said.end(), {std::uint64_t(status), word[0], word[7], local_ps(delay)});
        }
    }
}

struct place : sc_core::sc_module { // several benches in a simulation
    bench of;
    place(sc_core::sc_module_name name, const memory_controller::config &config) : sc_module(name), of(config) {}
};

// Whether a controller with its slice and TCM, used, reset and used again, answers what untouched ones do.
void check_as_new(const memory_controller::config &config) {
    place used("used", config), untouched("untouched", config);
    answers said[2];
    const std::uint64_t again = 2'000'000 * ns;
    used.of.cpu.body = [&] {
        seeded_random first(1), second(2);
        answers before;
        use(used.of, first, 300, before, 0);
        BOOST_CHECK_GT(used.of.controller.get_statistics(TLA_HBM).arena.used, 0u);
        used.of.controller.reset();
        used.of.slice.reset();
        used.of.memory.reset();
        at(again - 500'000 * ns); // what a controller has under way
        BOOST_CHECK(!used.of.controller.in_reset() && !used.of.slice.in_reset());
        BOOST_CHECK_EQUAL(used.of.controller.get_statistics(TLA_HBM).arena.used, 0u);
        BOOST_CHECK(used.of.controller.is_as_at_the_beginning(TLA_HBM));
        use(used.of, second, 300, said[0], again);
    };
    untouched.of.cpu.body = [&] {
        seeded_random second(2);
        use(untouched.of, second, 300, said[1], again);
    };
    simulate({&used.of.cpu, &untouched.of.cpu});
    BOOST_CHECK_GT(said[0].size(), 2000u);
    BOOST_CHECK_EQUAL_COLLECTIONS(said[0].begin(), said[0].end(), said[1].begin(), said[1].end());
}

memory_controller::config priced() {
    memory_controller::config config = small();
    config.cost.fixed_ps = 20 * ns;
    config.cost.node_ps = 1 * ns;
    return config;
}

} // namespace

// --- as new ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_controller_that_was_reset_answers_as_a_new_one) {
    check_as_new(priced());
}
BOOST_AUTO_TEST_CASE(a_caching_front_has_forgotten_what_it_kept) {
    memory_controller::config config = priced();
    config.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_BEST_FIT);
    check_as_new(config);
}
BOOST_AUTO_TEST_CASE(a_segment_cache_has_forgotten_what_it_kept) {
    memory_controller::config config = priced();
    config.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_SEGMENT_CACHE, TLA_FIRST_FIT);
    config.memory.of[TLA_HBM].front.segment = 100 << 10;
    check_as_new(config);
}
BOOST_AUTO_TEST_CASE(a_guard_has_forgotten_whose_what_was) {
    memory_controller::config config = priced();
    config.guard = TLA_GUARD_ERROR;
    check_as_new(config);
}
BOOST_AUTO_TEST_CASE(a_list_in_registers_beside_the_sram_begins_anew) {
    memory_controller::config config = priced();
    config.free_list = TLA_LIST_SRAM;
    config.node_latency_ps = 2 * ns;
    config.list_reserve = 64 << 10;
    check_as_new(config);
}
BOOST_AUTO_TEST_CASE(a_list_in_the_slice_with_a_cache_begins_anew) {
    memory_controller::config config = priced();
    config.free_list = TLA_LIST_HBM;
    config.list_reserve = 64 << 10;
    config.node_cache = 4;
    check_as_new(config);
}
BOOST_AUTO_TEST_CASE(a_list_in_the_slice_begins_anew) {
    memory_controller::config config = priced();
    config.free_list = TLA_LIST_HBM;
    config.list_reserve = 64 << 10;
    check_as_new(config);
}
BOOST_AUTO_TEST_CASE(an_engine_in_firmware_begins_anew) {
    memory_controller::config config = priced();
    config.engine = TLA_ENGINE_FIRMWARE;
    config.engine_nodes = 64;
    check_as_new(config);
}
BOOST_AUTO_TEST_CASE(an_engine_in_rtl_begins_anew) {
    const char *const rtl = "controller.engine=rtl";
    tla_config built{};
    if (tla_config_load(nullptr, &rtl, 1, &built, nullptr, nullptr)) {
        std::cout << "test skipped: Verilator is not here" << std::endl;
        return;
    }
    memory_controller::config config = priced();
    config.engine = TLA_ENGINE_RTL;
    check_as_new(config);
}
BOOST_AUTO_TEST_CASE(a_fault_plan_begins_anew) {
    memory_controller::config config = priced();
    BOOST_REQUIRE_EQUAL(tla_fault_injection_parse("refuse rate=100000", &config.faults, nullptr), TLA_OK);
    check_as_new(config);
}

// A memory that grows does so from the end of the reset on, as one that began then.
BOOST_AUTO_TEST_CASE(a_lazy_memory_grows_from_the_end_of_the_reset_on) {
    memory_controller::config config = priced();
    config.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_LAZY, TLA_FIRST_FIT);
    config.memory.of[TLA_HBM].front.initial = 64 << 10;
    config.memory.of[TLA_HBM].front.chunk = config.memory.of[TLA_HBM].front.commit = 64 << 10;
    config.memory.of[TLA_HBM].front.chunk_ps = 1000 * ns;
    bench b(config);
    std::uint64_t committed[4]{};
    b.run([&] {
        const auto now = [&] { return b.controller.get_statistics(TLA_HBM).arena.capacity; };
        at(2500 * ns);
        committed[0] = now();
        b.controller.reset();
        committed[1] = now();
        at(2500 * ns + 2500 * ns);
        committed[2] = now();
        at(100'000 * ns);
        committed[3] = now();
    });
    BOOST_CHECK_GT(committed[0], 64u << 10);
    BOOST_CHECK_EQUAL(committed[1], 64u << 10);
    BOOST_CHECK_EQUAL(committed[2], committed[0]);
    BOOST_CHECK_EQUAL(committed[3], slice_bytes);
}

BOOST_AUTO_TEST_CASE(bytes_are_zero_again_and_pointers_are_withdrawn) {
    bench b;
    b.run([&] {
        const std::uint64_t block = b.cpu.command(0, alloc_command(TLA_HBM, 4096)).value;
        b.data.write(block, pattern(4096));
        b.data.write(tcm_at(0), {1, 2, 3});
        const std::uint8_t *direct = b.data.pointer_to(block);
        BOOST_REQUIRE(direct);
        b.controller.reset(); // the memory is another module
        BOOST_REQUIRE_EQUAL(b.data.lost.size(), 2u);
        BOOST_CHECK(b.data.lost[0] == std::make_pair(hbm(0), hbm(slice_bytes - 1)));
        BOOST_CHECK(b.data.lost[1] == std::make_pair(tcm_at(0), tcm_at(tcm_bytes - 1)));
        BOOST_CHECK(b.data.read(block, 4096) == pattern(4096));
        b.slice.reset();
        b.memory.reset();
        BOOST_CHECK_EQUAL(b.data.lost.size(), 4u); // by way of the controller
        BOOST_CHECK(b.data.read(block, 4096) == bytes(4096, 0));
        BOOST_CHECK(b.data.read(tcm_at(0), 3) == bytes(3, 0));
        BOOST_CHECK_EQUAL(*direct, 0); // who keeps a pointer all the same reads no other memory
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(block, 4096)).status, TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes)).value, hbm(0));
    });
}

// --- commands --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(commands_in_flight_are_ended_with_a_status) {
    bench b(priced());
    b.run([&] {
        sc_core::sc_time delay;
        tla_command command = alloc_command(TLA_HBM, 100);
        command.correlation_id = 7;
        command.request_id = 9;
        b.cpu.command(0, command);                  // done and read
        b.cpu.post(TLA_PORT_BYTES, command, delay); // decided, its time is not over
        b.cpu.post(2 * TLA_PORT_BYTES, command, delay);
        bytes half(TLA_COMMAND_MAX_BYTES);
        std::size_t length = 0;
        tla_command_encode(&command, half.data(), half.size(), &length);
        half.resize(16);
        b.cpu.write(3 * TLA_PORT_BYTES, half, delay); // and one that is only begun
        reports().clear();
        b.controller.reset();
        b.controller.reset(); // twice in a row
        BOOST_CHECK_EQUAL(b.controller.resets(), 2u);
        for (const std::uint64_t port : {0u, 1u, 2u}) {
            sc_core::sc_time now;
            BOOST_CHECK_EQUAL(b.cpu.state(port * TLA_PORT_BYTES, now), TLA_PORT_DONE);
            const tla_completion ended = b.cpu.completion(port * TLA_PORT_BYTES, now);
            BOOST_CHECK_EQUAL(local_ps(now), to_ps(sc_core::sc_time_stamp())); // nobody waits any longer
            BOOST_CHECK_EQUAL(ended.status, TLA_RESET);
            BOOST_CHECK_EQUAL(ended.correlation_id, 7u);
            BOOST_CHECK_EQUAL(ended.request_id, 9u);
            BOOST_CHECK(ended.opcode == TLA_OP_ALLOC && ended.value == 0 && ended.nbytes == 0);
        }
        sc_core::sc_time now;
        BOOST_CHECK_EQUAL(b.cpu.state(3 * TLA_PORT_BYTES, now), TLA_PORT_IDLE); // the descriptor begins anew
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 0u);
        const tla_completion first = b.cpu.command(3 * TLA_PORT_BYTES, command, now = {});
        BOOST_CHECK_EQUAL(first.value, hbm(0));
        BOOST_CHECK_EQUAL(local_ps(now) - to_ps(sc_core::sc_time_stamp()), first.service_ps); // the queue is empty
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_held_reset_rejects_writes_and_accesses_and_permits_reads_of_ports) {
    platform s("s", platform::walking());
    s.cpu.body = [&] {
        s.cpu.command(0, alloc_command(TLA_HBM, 100));
        sc_core::sc_time delay;
        s.line = true;
        sc_core::wait(from_ps(100 * ns));
        BOOST_CHECK(s.controller.in_reset() && s.slice.in_reset() && s.mmu.in_reset());
        BOOST_CHECK_EQUAL(s.controller.get_statistics(TLA_HBM).arena.free_blocks, 1u);
        BOOST_CHECK_EQUAL(s.cpu.post(0, alloc_command(TLA_HBM, 100), delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(s.cpu.completion(0, delay).status, TLA_RESET);
        bytes word(4, 0xee);
        BOOST_CHECK_EQUAL(s.data.read(s.hbm(0), word, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(s.through.read(0, word, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK(word == bytes(4, 0xee));
        BOOST_CHECK(s.data.pointer_to(s.hbm(0)) == nullptr);
        BOOST_CHECK_EQUAL(s.data.debug(tlm::TLM_READ_COMMAND, s.hbm(0), word), 4u);
        BOOST_CHECK_EQUAL(s.dma.transfer({pe_dma::direction::read, {0}, {0}, 1, 64, 64}, delay), TLA_RESET);
        s.line = false;
        sc_core::wait(from_ps(1));
        BOOST_CHECK(!s.controller.in_reset());
        BOOST_CHECK_EQUAL(s.cpu.command(0, alloc_command(TLA_HBM, 100)).value, s.hbm(0));
        BOOST_CHECK_EQUAL(s.data.read(s.hbm(0), word, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(s.data.pointer_to(s.hbm(0)) != nullptr);
    };
    run(s);
    BOOST_CHECK_EQUAL(s.controller.resets(), 1u);
}

// One command walks its list in the slice, others wait for it.
BOOST_AUTO_TEST_CASE(a_reset_during_a_walk_of_the_free_list_ends_it_and_all_commands_after_it) {
    platform::config config = platform::walking();
    config.controller.free_list = TLA_LIST_HBM;
    config.controller.list_reserve = 16 << 10;
    config.controller.queue_depth = 2;
    config.mmu.walk = TLA_WALK_IDEAL;
    platform s("s", config);
    s.cpu.body = [&] {
        for (int i = 0; i < 20; i++)
            s.cpu.command(0, alloc_command(TLA_HBM, 100));
        for (int i = 0; i < 20; i += 2)
            s.cpu.command(0, free_command(s.hbm(100u * unsigned(i)), 100));
        const std::uint64_t begin = to_ps(sc_core::sc_time_stamp());
        sc_core::sc_time delay;
        for (const std::uint64_t port : {0u, 2u, 3u}) // one walks, two wait
            s.cpu.post(port * TLA_PORT_BYTES, alloc_command(TLA_HBM, 150), delay = {});
        sc_core::wait(from_ps(60 * ns)); // the walk is at its second node
        s.controller.reset();
        BOOST_CHECK(s.controller.in_reset());
        for (const std::uint64_t port : {0u, 2u, 3u}) {
            BOOST_CHECK_EQUAL(s.cpu.completion(port * TLA_PORT_BYTES, delay = {}).status, TLA_RESET);
            BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), begin + 60 * ns);
        }
        BOOST_CHECK_EQUAL(s.cpu.post(0, alloc_command(TLA_HBM, 1), delay = {}), tlm::TLM_GENERIC_ERROR_RESPONSE);
        sc_core::wait(from_ps(5000 * ns));
        BOOST_CHECK(!s.controller.in_reset());
        BOOST_CHECK_EQUAL(s.controller.get_statistics(TLA_HBM).arena.free_blocks, 1u);
        BOOST_CHECK_EQUAL(s.cpu.command(0, alloc_command(TLA_HBM, 1)).value, s.hbm(0));
    };
    // A writer that waits for a place in the queue.
    s.other.body = [&] { at(4000 * ns); };
    run(s);
}

BOOST_AUTO_TEST_CASE(a_write_that_waits_for_a_place_in_the_queue_completes_and_its_command_is_ended) {
    platform::config config = platform::walking();
    config.controller.free_list = TLA_LIST_HBM;
    config.controller.list_reserve = 16 << 10;
    config.controller.queue_depth = 1;
    config.mmu.walk = TLA_WALK_IDEAL;
    platform s("s", config);
    bool written = false;
    s.cpu.body = [&] {
        sc_core::sc_time delay;
        s.cpu.command(0, alloc_command(TLA_HBM, 100));
        at(10'000 * ns);
        for (const std::uint64_t port : {0u, 2u})
            s.cpu.post(port * TLA_PORT_BYTES, alloc_command(TLA_HBM, 150), delay = {});
        at(10'050 * ns);
        BOOST_CHECK(!written);
        s.controller.reset();
        sc_core::wait(from_ps(1));
        BOOST_CHECK(written);
    };
    s.other.body = [&] {
        at(10'001 * ns);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(s.other.post(3 * TLA_PORT_BYTES, alloc_command(TLA_HBM, 150), delay), tlm::TLM_OK_RESPONSE);
        written = true;
        BOOST_CHECK_EQUAL(s.other.completion(3 * TLA_PORT_BYTES, delay).status, TLA_RESET);
        sc_core::wait(from_ps(10'000 * ns));
        BOOST_CHECK_EQUAL(s.other.completion(3 * TLA_PORT_BYTES, delay = {}).status, TLA_RESET); // and stays so
        BOOST_CHECK_EQUAL(s.controller.get_statistics(TLA_HBM).arena.used, 0u);
    };
    run(s);
}

// --- accesses --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_reset_answers_outstanding_accesses_and_rejects_later_accesses_until_then) {
    platform s("s", platform::walking());
    s.data.body = [&] {
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(s.data.write(s.hbm(0), {5}, delay), tlm::TLM_OK_RESPONSE); // 3 + 40 + 8 ns
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), 51 * ns);
        bytes word(1, 0xee);
        sc_core::wait(from_ps(1));
        BOOST_CHECK(!s.slice.in_reset() && !s.controller.in_reset());
        BOOST_CHECK_EQUAL(s.data.read(s.hbm(0), word, delay = {}), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(word[0], 0); // it was written before the reset was over
    };
    s.cpu.body = [&] {
        at(20 * ns);
        s.line = true;
        at(21 * ns);
        s.line = false;
        at(22 * ns);
        BOOST_CHECK(s.slice.in_reset() && s.controller.in_reset() && !s.local.in_reset());
        bytes word(1, 0xee);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(s.through.read(0, word, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE); // no mapping
        tlm::tlm_generic_payload payload;
        BOOST_CHECK(s.data.pointer_to(s.hbm(0)) == nullptr);
        at(60 * ns);
        BOOST_CHECK(s.data.pointer_to(s.hbm(0)) != nullptr);
    };
    run(s);
}

// --- mappings --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(mappings_are_forgotten_and_their_pointers_withdrawn) {
    platform::config config = platform::walking();
    config.mmu.walk = TLA_WALK_IDEAL;
    platform s("s", config);
    s.driver.body = [&s] {
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(s.map({{0x10000, s.hbm(0), 4096}}).status, TLA_OK);
        bytes word(4);
        BOOST_CHECK_EQUAL(s.through.read(0x10000, word, delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(delay);
        BOOST_CHECK(s.through.pointer_to(0x10000) != nullptr);
        s.mmu.reset();
        BOOST_REQUIRE_GE(s.through.lost.size(), 1u);
        BOOST_CHECK(s.through.lost.back() == std::make_pair(std::uint64_t{0}, UINT64_MAX));
        BOOST_CHECK(s.through.pointer_to(0x10000) == nullptr);
        BOOST_CHECK_EQUAL(s.through.read(0x10000, word, delay = {}), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(s.mmu.get_statistics().table.mapped_bytes, 0u);
        BOOST_CHECK_EQUAL(s.map({{0x10000, s.hbm(4096), 4096}}).status, TLA_OK); // nothing overlaps
        BOOST_CHECK_EQUAL(s.through.read(0x10000, word, delay = {}), tlm::TLM_OK_RESPONSE);
    };
    run(s);
}

BOOST_AUTO_TEST_CASE(ranges_are_forgotten_with_the_mappings) {
    platform::config config = platform::walking();
    config.mmu.ranges = 4;
    platform s("s", config);
    s.driver.body = [&s] {
        sc_core::sc_time delay;
        bytes word(4);
        const auto range_hits_from = [&](std::uint64_t pa) {
            BOOST_CHECK_EQUAL(s.map({{0x10000, pa, 8 * 4096}}).status, TLA_OK);
            for (const std::uint64_t va : {0x10000u, 0x12000u}) {
                BOOST_CHECK_EQUAL(s.through.read(va, word, delay = {}), tlm::TLM_OK_RESPONSE);
                sc_core::wait(delay);
            }
            return s.mmu.get_statistics().ranges.hits;
        };
        BOOST_CHECK_EQUAL(range_hits_from(s.hbm(0)), 1u);
        s.mmu.reset();
        BOOST_CHECK_EQUAL(s.mmu.get_statistics().ranges.valid, 0u);
        BOOST_CHECK_EQUAL(s.through.read(0x12000, word, delay = {}), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(range_hits_from(s.hbm(64 * 4096)), 1u);
    };
    run(s);
}

// All modules by one line: the walk goes on to its end, or finds that the memory refuses it.
BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_a_walk_answers_waiting_accesses) {
    platform s("s", platform::walking());
    bool answered = false;
    s.driver.body = [&] {
        BOOST_CHECK_EQUAL(s.map({{0x10000, s.hbm(0x40000), 4096}}).status, TLA_OK);
        at(50'000 * ns);
        s.line = true;
        sc_core::wait(from_ps(50 * ns));
        s.line = false;
    };
    s.through.body = [&] {
        at(49'950 * ns); // a walk of four reads, 51 ns each, of which the first is answered
        bytes word(4, 0xee);
        sc_core::sc_time delay;
        const auto status = s.through.read(0x10000, word, delay);
        answered = true;
        BOOST_CHECK_EQUAL(status, tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_LE(to_ps(sc_core::sc_time_stamp()), 50'100 * ns);
        at(60'000 * ns);
        BOOST_CHECK(!s.mmu.in_reset() && !s.controller.in_reset());
        BOOST_CHECK_EQUAL(s.controller.get_statistics(TLA_HBM).arena.used, 0u); // the tables are gone, too
        BOOST_CHECK_EQUAL(s.through.read(0x10000, word, delay = {}), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        sc_core::wait(delay);
        BOOST_CHECK_EQUAL(s.map({{0x10000, s.hbm(0x40000), 4096}}).status, TLA_OK);
        BOOST_CHECK_EQUAL(s.through.read(0x10000, word, delay = {}), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(word == bytes(4, 0));
    };
    run(s);
    BOOST_CHECK(answered);
}

// The MMU alone: its command is in the middle of writing entries.
BOOST_AUTO_TEST_CASE(a_map_that_is_under_way_is_ended_and_not_done) {
    platform s("s", platform::walking());
    s.driver.body = [&] {
        sc_core::sc_time delay;
        s.driver.post(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0x10000, s.hbm(0x40000), 4096}}), delay);
        sc_core::wait(from_ps(30 * ns));
        s.mmu.reset();
        BOOST_CHECK_EQUAL(s.driver.completion(0, delay = {}).status, TLA_RESET);
        BOOST_CHECK(s.mmu.in_reset());
        at(20'000 * ns);
        BOOST_CHECK(!s.mmu.in_reset());
        bytes word(4);
        BOOST_CHECK_EQUAL(s.through.read(0x10000, word, delay = {}), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        sc_core::wait(delay);
        BOOST_CHECK_EQUAL(s.map({{0x10000, s.hbm(0x40000), 4096}}).status, TLA_OK);
        BOOST_CHECK_EQUAL(s.through.read(0x10000, word, delay = {}), tlm::TLM_OK_RESPONSE);
    };
    run(s);
}

BOOST_AUTO_TEST_CASE(an_access_that_waits_for_a_mapping_of_the_host_is_answered) {
    platform::config config = platform::walking();
    config.mmu.walk = TLA_WALK_IDEAL;
    config.mmu.unmapped = TLA_UNMAPPED_DEMAND;
    platform s("s", config);
    unsigned asked = 0;
    s.faults.serve = [&](const page_fault &, sc_core::sc_time &) { return ++asked > 0; }; // promised, and never done
    s.through.body = [&] {
        bytes word(4);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(s.through.read(0x10000, word, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), 100 * ns); // and not after fault_patience_ps
        sc_core::wait(from_ps(1));
        BOOST_CHECK(!s.mmu.in_reset());
    };
    s.cpu.body = [&] {
        at(100 * ns);
        s.mmu.reset();
        BOOST_CHECK(s.mmu.in_reset());
    };
    run(s);
    BOOST_CHECK_EQUAL(asked, 1u);
}

// --- transfers -------------------------------------------------------------------------------------------------------

// Every chunk is whole: as before the transfer, or as after it. Whether all, some or none has been moved is open.
void check_reset_in_a_transfer(bool line) {
    platform::config config = platform::walking();
    config.mmu.walk = TLA_WALK_IDEAL;
    platform s("s", config);
    const std::uint64_t nbytes = 32 << 10, chunk = pe_dma::config().chunk;
    tla_status status = TLA_OK;
    s.data.body = [&] {
        bytes source = pattern(nbytes);
        BOOST_CHECK_EQUAL(s.data.debug(tlm::TLM_WRITE_COMMAND, 0, source), nbytes); // the TCM
        at(1000 * ns);
        sc_core::sc_time delay;
        status = s.dma.transfer({pe_dma::direction::write, {s.hbm(0)}, {0}, 1, nbytes, nbytes}, delay);
        BOOST_CHECK_EQUAL(status, TLA_RESET);
        sc_core::wait(delay);
        sc_core::wait(from_ps(1));
        at(5000 * ns); // the line is not active any more
        BOOST_CHECK(!s.dma.in_reset());
        bytes there(nbytes);
        BOOST_CHECK_EQUAL(s.data.debug(tlm::TLM_READ_COMMAND, s.hbm(0), there), nbytes);
        std::size_t moved = 0;
        for (std::uint64_t i = 0; i < nbytes; i += chunk) {
            const auto first = there.begin() + static_cast<std::ptrdiff_t>(i), last = first + std::ptrdiff_t(chunk);
            const bool whole = std::equal(first, last, source.begin() + static_cast<std::ptrdiff_t>(i));
            BOOST_CHECK(whole || bytes(first, last) == bytes(chunk, 0));
            moved += whole;
        }
        if (line)
            BOOST_CHECK_EQUAL(moved, 0u); // the memory was reset, too
        else
            BOOST_CHECK(moved > 0 && moved < nbytes / chunk);
        if (line) return;
        status = s.dma.transfer({pe_dma::direction::write, {s.hbm(0)}, {0}, 1, nbytes, nbytes}, delay = {});
        BOOST_CHECK_EQUAL(status, TLA_OK);
        s.data.debug(tlm::TLM_READ_COMMAND, s.hbm(0), there);
        BOOST_CHECK(there == source);
    };
    s.cpu.body = [&] {
        at(1000 * ns + 100 * ns);
        if (!line) {
            s.dma.reset();
            return;
        }
        s.line = true;
        sc_core::wait(from_ps(2000 * ns));
        s.line = false;
    };
    run(s);
}
BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_a_transfer_leaves_no_chunk_half_done) {
    check_reset_in_a_transfer(false);
}
BOOST_AUTO_TEST_CASE(a_platforms_reset_line_leaves_nothing_of_a_transfer) {
    check_reset_in_a_transfer(true);
}
