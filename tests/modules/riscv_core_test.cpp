// riscv_core: the firmware behind a mailbox takes the time that it takes on the hart alone, and sleeps for nothing.
#include "platform/examples/mailbox_device.hpp"
#include "riscv/start_firmware.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/modules/riscv_core.hpp"
#include "unit/seeded_random.hpp"

#include <memory>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

// Whoever asks.
struct asker : sc_core::sc_module {
    mailbox_device mailbox{"mailbox"};
    std::function<void()> body;
    tla_mailbox answer{};
    bool finished = false;

    SC_CTOR(asker) { SC_THREAD(run); }

    // Picoseconds from the interrupt to the write of the status.
    std::uint64_t ask(tla_mailbox_operation operation, std::uint64_t offset, std::uint64_t size) {
        const std::uint64_t begin_ps = to_ps(sc_core::sc_time_stamp());
        answer = mailbox.ask(operation, offset, size);
        return mailbox.answered_ps() - begin_ps;
    }

  private:
    void run() {
        if (body) body();
        finished = true;
    }
};

struct bench {
    explicit bench(const riscv_core::config &config = {}) : core("core", config) {
        core.out.bind(device.mailbox.in);
        core.interrupt.bind(line);
        device.mailbox.interrupt.bind(line);
    }
    void load(const std::vector<std::uint32_t> &words) {
        BOOST_REQUIRE_EQUAL(core.load(TLA_FIRMWARE_BASE, words.data(), words.size() * 4), TLA_OK);
    }
    void load_firmware() {
        BOOST_REQUIRE_EQUAL(core.load(TLA_FIRMWARE_BASE, tla_firmware_first_fit.bytes, tla_firmware_first_fit.nbytes),
                            TLA_OK);
    }
    void run() {
        sc_core::sc_report_handler::set_handler(keep_report);
        reports().clear();
        sc_core::sc_start();
        BOOST_CHECK(device.finished || !device.body);
    }

    sc_core::sc_signal<bool, sc_core::SC_MANY_WRITERS> line{"line"}; // the device in its thread and in the core's
    asker device{"device"};
    riscv_core core;
};

} // namespace

BOOST_AUTO_TEST_CASE(requests_take_the_cycles_that_they_take_on_the_hart_alone) {
    riscv_core::config config;
    config.clock_ps = 700;
    config.ahead = 50; // within a request
    bench b(config);
    b.load_firmware();
    b.device.body = [&] {
        const std::uint64_t capacity = 1 << 16;
        const started_firmware alone_on_a_hart = start_firmware(tla_firmware_first_fit, capacity, 1024);
        seeded_random random(1);
        sc_core::wait(from_ps(700 * 1000));
        b.device.ask(TLA_MAILBOX_BEGIN, 1024, capacity);
        std::vector<tla_block> live;
        for (int i = 0; i < 2000; i++) {
            const std::size_t which = live.empty() ? 0 : random.between(0, live.size() - 1);
            const bool take = live.empty() || random.one_in(2);
            const tla_block block = take ? tla_block{0, random.between(1, 900)} : live[which];
            const tla_mailbox_operation operation = take ? TLA_MAILBOX_TAKE : TLA_MAILBOX_GIVE_BACK;
            // Asleep or not yet, on an edge of the clock or not: the request waits for the edge.
            if (random.one_in(2)) sc_core::wait(from_ps(random.between(1, 100000)));
            const std::uint64_t late = (700 - to_ps(sc_core::sc_time_stamp()) % 700) % 700;
            const tla_firmware_answer alone =
                ask_firmware(alone_on_a_hart.get(), operation, block.offset, block.nbytes);
            const std::uint64_t took_ps = b.device.ask(operation, block.offset, block.nbytes);
            BOOST_CHECK_EQUAL(took_ps, late + alone.cycles * 700);
            BOOST_CHECK_EQUAL(b.device.answer.answer_status, std::uint64_t{alone.status});
            BOOST_CHECK_EQUAL(b.device.answer.answer_offset, alone.offset);
            if (alone.status) continue;
            if (take) {
                live.push_back({alone.offset, block.nbytes});
            } else {
                live[which] = live.back();
                live.pop_back();
            }
        }
        BOOST_CHECK_EQUAL(b.core.get_statistics().interrupts, 2001u);
    };
    b.run();
    BOOST_CHECK(reports().empty());
    BOOST_CHECK_EQUAL(b.core.get_statistics().writes, 2 * 2001u);
    BOOST_CHECK_EQUAL(b.core.get_statistics().reads, 3 * 2001u);
}

BOOST_AUTO_TEST_CASE(answers_of_the_bus_are_waited_for_up_to_the_next_edge) {
    std::uint64_t at_once = 0, slow = 0;
    bench b;
    b.load_firmware();
    b.device.body = [&] {
        sc_core::wait(from_ps(1000000));
        b.device.ask(TLA_MAILBOX_BEGIN, 1024, 100);
        sc_core::wait(from_ps(1000000));
        at_once = b.device.ask(TLA_MAILBOX_TAKE, 0, 10);
        sc_core::wait(from_ps(1000000));
        b.device.mailbox.latency_ps = 1300;
        slow = b.device.ask(TLA_MAILBOX_TAKE, 0, 10);
    };
    b.run();
    BOOST_CHECK_EQUAL(slow, at_once + 4 * 2000); // three reads and the write of the offset
}

BOOST_AUTO_TEST_CASE(asleep_a_core_costs_no_event) {
    bench b;
    b.load_firmware();
    b.device.body = [&] {
        sc_core::wait(from_ps(1000000));
        const sc_dt::uint64 deltas = sc_core::sc_delta_count();
        const std::uint64_t instructions = b.core.get_statistics().instructions;
        sc_core::wait(sc_core::sc_time(1, sc_core::SC_SEC));
        BOOST_CHECK_EQUAL(sc_core::sc_delta_count() - deltas, 1u); // this thread's own
        BOOST_CHECK_EQUAL(b.core.get_statistics().instructions, instructions);
    };
    b.run(); // and ends: nothing is left to do
    BOOST_CHECK(sc_core::sc_time_stamp() < sc_core::sc_time(1.1, sc_core::SC_SEC));
}

BOOST_AUTO_TEST_CASE(a_level_that_stays_is_served_again) {
    bench b;
    // wfi; addi a0, a0, 1; ld a1, 0(a2); j -12: never answers
    b.load({0x10000637 /* lui a2, 0x10000 */, 0x10500073, 0x00150513, 0x00063583, 0xff5ff06f});
    b.device.body = [&] {
        b.device.mailbox.interrupt.write(true);
        sc_core::wait(from_ps(100000));
        b.device.mailbox.interrupt.write(false);
        sc_core::wait(from_ps(100000));
        const std::uint64_t served = tla_riscv_register(&b.core.hart(), 10);
        BOOST_CHECK_GT(served, 10u);
        sc_core::wait(from_ps(100000));
        BOOST_CHECK_EQUAL(tla_riscv_register(&b.core.hart(), 10), served);
    };
    b.run();
}

BOOST_AUTO_TEST_CASE(an_endless_loop_lets_other_modules_continue) {
    bench b;
    b.load({0x0000006f});
    b.device.body = [] {
        sc_core::wait(from_ps(1000000));
        sc_core::sc_stop();
    };
    b.run();
    BOOST_CHECK(sc_core::sc_time_stamp() < from_ps(30000000));
}

BOOST_AUTO_TEST_CASE(an_access_with_an_error_response_is_a_fault_that_stops_the_core) {
    bench b;
    b.load({0x10000637, 0x02863503 /* ld a0, 40(a2) */});
    b.run();
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0], "/tlmalloc/riscv_core/fault: core: TLA_BUS_ERROR at pc 0x80000004, instruction "
                                    "0x2863503, address 0x10000028");
    BOOST_CHECK_EQUAL(b.core.get_statistics().instructions, 1u);
}

BOOST_AUTO_TEST_CASE(an_illegal_instruction_is_a_fault_that_stops_the_core) {
    bench b;
    b.load({0x00000013, 0x30451073 /* csrw mie, a0 */});
    b.run();
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0],
                      "/tlmalloc/riscv_core/fault: core: TLA_UNSUPPORTED at pc 0x80000004, instruction 0x30451073");
    BOOST_CHECK(sc_core::sc_time_stamp() == from_ps(1000));
}

// --- reset -----------------------------------------------------------------------------------------------------------

namespace {

// A core on which the firmware runs; and one that is asked something, is reset a time later, asleep, executing or in an
// access, and is asked the same then.
struct reset_bench : sc_core::sc_module {
    bench of;
    sc_core::sc_signal<bool> reset{"reset"};
    std::vector<std::uint64_t> said;

    reset_bench(const std::string &name, std::uint64_t later_ps)
        : sc_module(sc_core::sc_module_name(name.c_str())), of(clocked()) {
        of.core.reset_in.bind(reset);
        of.load_firmware();
        of.device.mailbox.latency_ps = 1300;
        of.device.body = [this, later_ps] {
            if (later_ps) disturb(later_ps);
            sc_core::wait(from_ps(70'000'000) - sc_core::sc_time_stamp());
            seeded_random random(3);
            for (int i = 0; i < 20; i++) {
                said.push_back(i ? of.device.ask(TLA_MAILBOX_TAKE, 0, random.between(1, 900))
                                 : of.device.ask(TLA_MAILBOX_BEGIN, 1024, 1 << 16));
                said.push_back(of.device.answer.answer_offset);
                said.push_back(of.device.answer.answer_status);
                sc_core::wait(from_ps(random.between(1, 100'000)));
            }
        };
    }

  private:
    static riscv_core::config clocked() {
        riscv_core::config config;
        config.clock_ps = 700;
        return config;
    }

    void disturb(std::uint64_t later_ps) {
        sc_core::wait(from_ps(7'000'000));
        of.device.ask(TLA_MAILBOX_BEGIN, 1024, 1 << 16);
        of.device.mailbox.begin(TLA_MAILBOX_TAKE, 0, 100); // whose answer nobody waits for
        sc_core::wait(from_ps(later_ps));
        reset = true;
        sc_core::wait(from_ps(10'000));
        BOOST_CHECK(of.core.in_reset());
        BOOST_CHECK_EQUAL(tla_riscv_instructions(&of.core.hart()), 0u);
        BOOST_CHECK_EQUAL(tla_riscv_pc(&of.core.hart()), TLA_FIRMWARE_BASE);
        of.device.mailbox.withdraw();
        of.load_firmware(); // its data as they were
        reset = false;
        sc_core::wait(from_ps(1));
        BOOST_CHECK(!of.core.in_reset());
        BOOST_CHECK_EQUAL(of.core.resets(), 1u);
    }
};

} // namespace

// Every 130 ps of the first 50 ns of a request, and later ones: what follows is what a core answers that was not reset.
BOOST_AUTO_TEST_CASE(a_core_that_was_reset_begins_again_as_a_new_one) {
    std::vector<std::unique_ptr<reset_bench>> benches;
    for (std::uint64_t later_ps = 0; later_ps < 50'000; later_ps += 130)
        benches.push_back(std::make_unique<reset_bench>("b" + std::to_string(later_ps), later_ps));
    for (const std::uint64_t later_ps : {70'000u, 100'000u, 1'000'000u})
        benches.push_back(std::make_unique<reset_bench>("b" + std::to_string(later_ps), later_ps));
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_REQUIRE_EQUAL(benches[0]->said.size(), 60u);
    for (const auto &b : benches)
        BOOST_CHECK_MESSAGE(b->said == benches[0]->said, b->name());
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_reset_ends_a_fault_and_an_endless_loop_and_statistics_continue) {
    bench b;
    sc_core::sc_signal<bool> reset("reset");
    b.core.reset_in.bind(reset);
    b.load({0x00150513 /* addi a0, a0, 1 */, 0x30451073 /* csrw mie, a0 */});
    b.device.body = [&] {
        sc_core::wait(from_ps(10'500));
        BOOST_CHECK_EQUAL(tla_riscv_register(&b.core.hart(), 10), 1u);
        b.load({0x00150513, 0x0000006f /* j 0 */});
        b.core.reset();
        b.core.reset(); // twice
        sc_core::wait(from_ps(100'000));
        BOOST_CHECK_EQUAL(tla_riscv_register(&b.core.hart(), 10), 1u);
        b.load({0x00150513, 0x30451073});
        reset = true;
        sc_core::wait(from_ps(100'000));
        b.core.reset(); // no end of the one that is held
        sc_core::wait(from_ps(100'000));
        BOOST_CHECK(b.core.in_reset());
        BOOST_CHECK_EQUAL(tla_riscv_register(&b.core.hart(), 10), 0u);
        reset = false;
    };
    b.run();
    BOOST_REQUIRE_EQUAL(reports().size(), 2u);
    BOOST_CHECK_EQUAL(reports()[0], reports()[1]); // the fault, at the same place
    BOOST_CHECK_GT(b.core.get_statistics().instructions, 20u);
    BOOST_CHECK_EQUAL(tla_riscv_instructions(&b.core.hart()), 1u);
    BOOST_CHECK_EQUAL(b.core.resets(), 3u);
}

BOOST_AUTO_TEST_CASE(the_first_instruction_after_a_reset_takes_its_time) {
    bench b;
    b.load({0x00150513 /* addi a0, a0, 1 */, 0x30451073 /* csrw mie, a0: a fault */});
    b.device.body = [&] {
        sc_core::wait(from_ps(10'000));
        BOOST_CHECK_EQUAL(reports().size(), 1u);
        b.core.reset();
        sc_core::wait(from_ps(999));
        BOOST_CHECK_EQUAL(reports().size(), 1u);
        sc_core::wait(from_ps(2));
        BOOST_CHECK_EQUAL(reports().size(), 2u);
    };
    b.run();
}

BOOST_AUTO_TEST_CASE(a_core_with_an_invalid_configuration_is_rejected) {
    riscv_core::config config;
    config.clock_ps = 0;
    check_refused([&] { riscv_core core("core", config); },
                  "/tlmalloc/riscv_core/config: timing.instruction, clock_ps and ahead must be above 0");
    config.clock_ps = 1;
    config.memory_bytes = 3;
    check_refused([&] { riscv_core core("core", config); },
                  "/tlmalloc/riscv_core/config: a memory of 3 bytes: an argument is out of range");
}
