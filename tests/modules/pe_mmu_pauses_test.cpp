// PAUSE, REMAP and RESUME of a pe_mmu: accesses wait while a block moves, and find its bytes in the new place.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "fault_handler.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

#include <random>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

constexpr std::uint64_t page = 4096, memory_bytes = 1 << 20, price_ps = 100'000, va = 0x100000;

pe_mmu::config pausing(std::uint64_t fixed_ps = price_ps) {
    pe_mmu::config config = bare<pe_mmu>();
    config.page_size = page;
    config.pauses = true;
    config.cost.fixed_ps = fixed_ps;
    return config;
}

hbm_slice::config slice_config() {
    hbm_slice::config config = bare<hbm_slice>();
    config.capacity = memory_bytes;
    return config;
}

memory_controller::config controller_config() {
    memory_controller::config config = bare<memory_controller>();
    config.memory.layout = TLA_LAYOUT_PLAIN;
    config.memory.of[TLA_HBM].bytes = memory_bytes;
    config.memory.of[TLA_TCM] = {};
    return config;
}

// A memory for several initiators, whose physical addresses begin at 0.
struct shared_memory {
    shared_memory() { controller.slice.bind(slice.in); }
    hbm_slice slice{"slice", slice_config()};
    memory_controller controller{"controller", controller_config()};
    initiator unused{"unused"};
};

std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

void wait_until(std::uint64_t at_ps) {
    if (at_ps > now_ps()) sc_core::wait(from_ps(at_ps - now_ps()));
}

// `cpu` accesses by virtual address, `driver` commands, `mover` accesses the memory behind the MMU.
struct bench {
    explicit bench(const pe_mmu::config &config = pausing()) : mmu("mmu", config) {
        mmu.out.bind(memory.controller.in);
        memory.unused.out.bind(memory.controller.control);
        mmu.fault.bind(faults.in);
        cpu.out.bind(mmu.in);
        driver.out.bind(mmu.control);
        mover.out.bind(memory.controller.in);
        faults.serve = [](const page_fault &, sc_core::sc_time &) { return false; };
    }
    void run() {
        reports().clear();
        simulate({&cpu, &driver, &mover});
    }
    tla_completion send(tla_opcode opcode, std::uint64_t at, std::uint64_t pa, std::uint64_t nbytes) {
        return driver.command(0, map_command(TLA_TARGET_PE_MMU, opcode, {{at, pa, nbytes}}));
    }
    // When a read that begins now has been answered.
    std::uint64_t read_until(std::uint64_t at, std::size_t nbytes) {
        sc_core::sc_time delay;
        bytes data(nbytes);
        BOOST_CHECK_EQUAL(cpu.read(at, data, delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(delay);
        return now_ps();
    }

    shared_memory memory;
    pe_mmu mmu;
    fault_handler faults{"faults"};
    initiator cpu{"cpu"}, driver{"driver"}, mover{"mover"};
};

constexpr std::uint64_t start_ps = 1'000'000; // after the first MAP

} // namespace

BOOST_AUTO_TEST_CASE(a_pause_is_done_when_the_accesses_before_it_have_been_answered) {
    bench b(pausing(1000));
    std::uint64_t answered_ps = 0, paused_ps = 0;
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, page);
        wait_until(start_ps + 1000);
        const tla_completion done = b.send(TLA_OP_PAUSE, va, 0, page);
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK_EQUAL(done.nbytes, 1u);
        paused_ps = now_ps();
        BOOST_CHECK_EQUAL(done.service_ps, paused_ps - start_ps - 1000);
    };
    b.cpu.body = [&] {
        wait_until(start_ps);
        answered_ps = b.read_until(va, page);
    };
    b.run();
    BOOST_CHECK_GT(answered_ps, start_ps + 1000 + 1000); // else the price hides it
    BOOST_CHECK_EQUAL(paused_ps, answered_ps);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().pauses, 1u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().paused, 0u);
}

BOOST_AUTO_TEST_CASE(a_pause_without_accesses_takes_its_price) {
    bench b;
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, page);
        const std::uint64_t sent_ps = now_ps();
        BOOST_CHECK_EQUAL(b.send(TLA_OP_PAUSE, va, 0, page).service_ps, price_ps);
        BOOST_CHECK_EQUAL(now_ps(), sent_ps + price_ps);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_RESUME, va, 0, page).service_ps, price_ps);
        BOOST_CHECK_EQUAL(now_ps(), sent_ps + 2 * price_ps);
    };
    b.run();
}

BOOST_AUTO_TEST_CASE(an_access_waits_from_its_arrival_until_the_range_is_resumed) {
    bench b;
    std::uint64_t resumed_ps = 0, took_ps = 0, answered_ps = 0, beside_ps = 0, entered_ps = 0;
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, 2 * page);
        b.send(TLA_OP_PAUSE, va, 0, page);
        wait_until(start_ps + 5'000'000);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_REMAP, va, 8 * page, page).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_RESUME, va, 0, page).status, TLA_OK);
        resumed_ps = now_ps();
    };
    b.cpu.body = [&] {
        wait_until(start_ps);
        took_ps = b.read_until(va + page, 64) - start_ps; // not paused
        beside_ps = now_ps();
        tla_access_times times{};
        transaction_part part;
        part.times = &times;
        bytes data(64);
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(va);
        payload.set_data_ptr(data.data());
        payload.set_data_length(64);
        payload.set_streaming_width(64);
        payload.set_extension(&part);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.send(payload, delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(delay);
        payload.clear_extension(&part);
        answered_ps = now_ps();
        entered_ps = times.entered_ps;
    };
    b.run();
    BOOST_CHECK_EQUAL(entered_ps, resumed_ps);
    BOOST_CHECK_GT(took_ps, 0u);
    BOOST_CHECK_EQUAL(answered_ps, resumed_ps + took_ps);
    const pe_mmu::statistics s = b.mmu.get_statistics();
    BOOST_CHECK_EQUAL(s.paused, 1u);
    BOOST_CHECK_EQUAL(s.paused_ps, resumed_ps - beside_ps);
    BOOST_CHECK_EQUAL(s.remaps, 1u);
    BOOST_CHECK_EQUAL(s.stale_accesses, 0u);
}

BOOST_AUTO_TEST_CASE(commands_about_pauses_that_cannot_be_executed_are_rejected) {
    bench b;
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, page);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_RESUME, va, 0, page).status, TLA_NOT_FOUND);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_PAUSE, va, 0, page).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_PAUSE, va + 8, 0, 8).status, TLA_OVERLAP);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_REMAP, va, 0, 2 * page).status, TLA_UNMAPPED);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_RESUME, va, 0, 8).status, TLA_NOT_FOUND);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_RESUME, va, 0, page).status, TLA_OK);
    };
    b.run();
    BOOST_REQUIRE_EQUAL(reports().size(), 4u);
    BOOST_CHECK_EQUAL(reports()[0], "/tlmalloc/pe_mmu/command: mmu: range 0: 0x100000 is not paused with 4096 bytes");
    BOOST_CHECK_EQUAL(reports()[1],
                      "/tlmalloc/pe_mmu/command: mmu: range 0: part of [0x100008, 0x10000f] is paused already");
}

BOOST_AUTO_TEST_CASE(an_mmu_without_pauses_says_so) {
    pe_mmu::config config = pausing();
    config.pauses = false;
    bench b(config);
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, page);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_PAUSE, va, 0, page).status, TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_RESUME, va, 0, page).status, TLA_UNSUPPORTED);
    };
    b.run();
    BOOST_REQUIRE_EQUAL(reports().size(), 2u);
    BOOST_CHECK_EQUAL(reports()[0], "/tlmalloc/pe_mmu/command: mmu: this MMU has no pauses (config.pauses)");
}

namespace {

void check_remap(const pe_mmu::config &config) {
    bench b(config);
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, page);
        b.mover.write(0, pattern(64, 1));
        b.mover.write(page, pattern(64, 2));
        BOOST_CHECK(b.cpu.read(va, 64) == pattern(64, 1));
        BOOST_CHECK_EQUAL(b.send(TLA_OP_MAP, va, page, page).status, TLA_OVERLAP);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_REMAP, va, page, page).status, TLA_OK);
        BOOST_CHECK(b.cpu.read(va, 64) == pattern(64, 2));
        BOOST_CHECK_EQUAL(b.send(TLA_OP_TAKE_BACK, va, page, page).status, TLA_OK);
        BOOST_CHECK(b.cpu.read(va, 64) == pattern(64, 1));
    };
    b.run();
}

} // namespace

BOOST_AUTO_TEST_CASE(a_remap_needs_no_right_to_remap_and_leads_to_the_new_place) {
    check_remap(pausing());
}

BOOST_AUTO_TEST_CASE(a_remap_leaves_nothing_of_the_old_place_in_a_tlb) {
    pe_mmu::config config = pausing();
    config.walk = TLA_WALK_FLAT;
    config.tlb_l1.entries = 4;
    check_remap(config);
}

BOOST_AUTO_TEST_CASE(an_access_that_waits_for_the_host_does_not_hold_up_a_pause) {
    pe_mmu::config config = pausing();
    config.unmapped = TLA_UNMAPPED_DEMAND;
    bench b(config);
    std::uint64_t asked_ps = 0, paused_ps = 0, answered_ps = 0, resumed_ps = 0;
    sc_core::sc_event asked, served;
    b.faults.serve = [&](const page_fault &fault, sc_core::sc_time &) {
        BOOST_CHECK_EQUAL(fault.va, va + page);
        asked_ps = now_ps();
        asked.notify();
        sc_core::wait(served);
        return true;
    };
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, page);
        sc_core::wait(asked); // of an access to both pages
        BOOST_CHECK_EQUAL(b.send(TLA_OP_PAUSE, va, 0, page).status, TLA_OK);
        paused_ps = now_ps();
        b.send(TLA_OP_MAP, va + page, page, page);
        served.notify();
        sc_core::wait(3, sc_core::SC_US); // served, and paused still
        BOOST_CHECK_EQUAL(b.send(TLA_OP_RESUME, va, 0, page).status, TLA_OK);
        resumed_ps = now_ps();
    };
    b.cpu.body = [&] {
        wait_until(start_ps);
        answered_ps = b.read_until(va + page - 64, 128);
    };
    b.run();
    BOOST_CHECK_EQUAL(paused_ps, asked_ps + price_ps);
    BOOST_CHECK_GT(answered_ps, resumed_ps);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().paused, 1u);
}

BOOST_AUTO_TEST_CASE(pointers_to_a_paused_range_are_withdrawn_and_given_again_when_it_is_resumed) {
    bench b;
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, 2 * page);
        BOOST_CHECK(b.cpu.pointer_to(va));
        b.send(TLA_OP_PAUSE, va, 0, page);
        BOOST_REQUIRE_EQUAL(b.cpu.lost.size(), 1u);
        BOOST_CHECK_EQUAL(b.cpu.lost[0].first, va);
        BOOST_CHECK(!b.cpu.pointer_to(va));
        BOOST_CHECK(b.cpu.pointer_to(va + page));
        b.send(TLA_OP_REMAP, va, 4 * page, page);
        BOOST_CHECK(!b.cpu.pointer_to(va));
        b.cpu.lost.clear();
        b.send(TLA_OP_RESUME, va, 0, page);
        sc_core::wait(1, sc_core::SC_NS);
        BOOST_REQUIRE(!b.cpu.lost.empty()); // who was refused may ask again
        BOOST_CHECK_EQUAL(b.cpu.lost[0].first, va);
        const std::uint8_t *const pointer = b.cpu.pointer_to(va);
        BOOST_REQUIRE(pointer);
        b.mover.write(4 * page, pattern(8));
        BOOST_CHECK(std::equal(pointer, pointer + 8, pattern(8).begin()));
    };
    b.run();
}

BOOST_AUTO_TEST_CASE(a_pointer_to_the_other_part_of_a_page_leads_to_no_paused_byte) {
    bench b;
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, page);
        b.send(TLA_OP_PAUSE, va, 0, page / 2);
        BOOST_CHECK(!b.cpu.pointer_to(va + page / 2));
        b.send(TLA_OP_RESUME, va, 0, page / 2);
        sc_core::wait(1, sc_core::SC_NS);
        BOOST_REQUIRE_EQUAL(b.cpu.lost.size(), 1u); // who was refused may ask again
        BOOST_CHECK_EQUAL(b.cpu.lost[0].first, va + page / 2);
        BOOST_CHECK(b.cpu.pointer_to(va + page / 2));
    };
    b.run();
}

BOOST_AUTO_TEST_CASE(a_reset_ends_pauses_and_the_accesses_that_wait) {
    bench b;
    sc_core::sc_signal<bool> reset{"reset"};
    b.mmu.reset_in.bind(reset);
    bool answered = false;
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, page);
        b.send(TLA_OP_PAUSE, va, 0, page);
        wait_until(start_ps + 1'000'000);
        BOOST_CHECK(!answered);
        reset.write(true);
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK(answered);
        reset.write(false);
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_MAP, va, 0, page).status, TLA_OK);
        b.read_until(va, 64); // nothing is paused any more
    };
    b.cpu.body = [&] {
        wait_until(start_ps);
        bytes data(64);
        sc_core::sc_time delay;
        b.cpu.read(va, data, delay);
        sc_core::wait(delay);
        answered = true;
    };
    b.run();
}

BOOST_AUTO_TEST_CASE(a_reset_ends_a_pause_that_waits_for_accesses) {
    bench b(pausing(1000));
    sc_core::sc_signal<bool> reset{"reset"};
    b.mmu.reset_in.bind(reset);
    b.driver.body = [&] {
        b.send(TLA_OP_MAP, va, 0, page);
        wait_until(start_ps);
        b.send(TLA_OP_PAUSE, va, 0, page);
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK_EQUAL(b.send(TLA_OP_MAP, va, 0, page).status, TLA_OK);
        b.read_until(va, 64);
    };
    b.cpu.body = [&] {
        wait_until(start_ps);
        b.read_until(va, page);
    };
    b.mover.body = [&] {
        wait_until(start_ps + 2000);
        reset.write(true);
        sc_core::wait(100, sc_core::SC_NS);
        reset.write(false);
    };
    b.run();
}

// --- blocks that move ------------------------------------------------------------------------------------------------

namespace {

enum class mistake { none, no_pause, no_remap_of_one, resumed_before_the_copy };

// Two PEs write bytes of their own in a block of two pages and read all of it, while the block moves between two
// places. Returns how many reads found a byte that nobody had written last.
unsigned wrong_bytes(mistake planted, unsigned seed, std::uint64_t *waited = nullptr) {
    constexpr std::uint64_t block = 2 * page, chunk = 256, moves = 20;
    pe_mmu::config config = pausing();
    config.walk = TLA_WALK_FLAT;
    config.tlb_l1.entries = 2;
    shared_memory memory;
    pe_mmu mmus[2] = {{"mmu0", config}, {"mmu1", config}};
    initiator cpus[2] = {initiator{"cpu0"}, initiator{"cpu1"}},
              drivers[2] = {initiator{"driver0"}, initiator{"driver1"}}, mover("mover");
    mover.out.bind(memory.controller.in);
    memory.unused.out.bind(memory.controller.control);
    for (unsigned i = 0; i < 2; i++) {
        mmus[i].out.bind(memory.controller.in);
        cpus[i].out.bind(mmus[i].in);
        drivers[i].out.bind(mmus[i].control);
    }
    bytes truth(block);
    unsigned wrong = 0;
    bool over = false;
    for (unsigned i = 0; i < 2; i++)
        cpus[i].body = [&, i] {
            std::mt19937 generator(seed + i);
            const auto random = [&generator] { return static_cast<unsigned>(generator()); };
            sc_core::wait(1, sc_core::SC_US); // until it is mapped
            while (!over) {
                const std::uint64_t at = random() % (block / 16) * 16 + 8 * i; // its own half of 16 bytes
                if (random() % 2) {
                    const bytes data = pattern(8, random() % 1000);
                    cpus[i].write(va + at, data);
                    std::copy(data.begin(), data.end(), truth.begin() + static_cast<std::ptrdiff_t>(at));
                } else {
                    const bytes data = cpus[i].read(va + at, 8);
                    wrong += !std::equal(data.begin(), data.end(), truth.begin() + static_cast<std::ptrdiff_t>(at));
                }
                sc_core::wait(1 + random() % 50, sc_core::SC_NS);
            }
        };
    mover.body = [&] {
        const auto all = [&](tla_opcode opcode, std::uint64_t pa) {
            for (unsigned i = 0; i < 2; i++) {
                if (i == 1 && opcode == TLA_OP_REMAP && planted == mistake::no_remap_of_one) continue;
                const tla_command command = map_command(TLA_TARGET_PE_MMU, opcode, {{va, pa, block}});
                BOOST_CHECK_EQUAL(drivers[i].command(0, command).status, TLA_OK);
            }
        };
        std::uint64_t from = 0, to = 16 * page;
        all(TLA_OP_MAP, from);
        for (std::uint64_t n = 0; n < moves; n++, std::swap(from, to)) {
            sc_core::wait(2, sc_core::SC_US);
            if (planted != mistake::no_pause) all(TLA_OP_PAUSE, 0);
            if (planted == mistake::resumed_before_the_copy) all(TLA_OP_RESUME, 0);
            for (std::uint64_t at = 0; at < block; at += chunk)
                mover.write(to + at, mover.read(from + at, chunk));
            all(TLA_OP_REMAP, to);
            if (planted == mistake::none || planted == mistake::no_remap_of_one) all(TLA_OP_RESUME, 0);
            mover.write(from, bytes(block, 0xdd)); // somebody else's now
        }
        sc_core::wait(2, sc_core::SC_US);
        over = true;
    };
    simulate({&cpus[0], &cpus[1], &drivers[0], &drivers[1], &mover});
    if (waited) *waited = mmus[0].get_statistics().paused + mmus[1].get_statistics().paused;
    return wrong;
}

} // namespace

BOOST_AUTO_TEST_CASE(two_pes_find_the_bytes_of_a_block_that_moves_between_their_accesses) {
    std::uint64_t waited = 0;
    BOOST_CHECK_EQUAL(wrong_bytes(mistake::none, 1, &waited), 0u);
    BOOST_CHECK_GT(waited, 20u);
}

BOOST_AUTO_TEST_CASE(a_block_that_moves_without_a_pause_loses_writes) {
    BOOST_CHECK_GT(wrong_bytes(mistake::no_pause, 2), 0u);
}

BOOST_AUTO_TEST_CASE(a_block_that_one_mmu_does_not_remap_has_old_bytes) {
    BOOST_CHECK_GT(wrong_bytes(mistake::no_remap_of_one, 3), 0u);
}

BOOST_AUTO_TEST_CASE(a_block_that_is_resumed_before_its_copy_loses_writes) {
    BOOST_CHECK_GT(wrong_bytes(mistake::resumed_before_the_copy, 4), 0u);
}
