// Passes of a memory controller at its watermark: when they are, what they cost, and what they leave.
#include "../unit/seeded_random.hpp"
#include "apart.hpp"
#include "object_commands.hpp"

using namespace object_commands;

namespace {

constexpr std::uint64_t interval = 1'000'000, eighth = slice_bytes / 8;

memory_controller::config marked(std::uint32_t permille, std::uint32_t share) {
    memory_controller::config config = priced();
    config.watermark = {permille, share, interval};
    return config;
}

// Lets the time come, and whoever waits for it run.
void wait_until(std::uint64_t ps) {
    sc_core::wait(from_ps(ps - to_ps(sc_core::sc_time_stamp())));
    sc_core::wait(sc_core::SC_ZERO_TIME);
    sc_core::wait(sc_core::SC_ZERO_TIME);
}

struct keeper : bench {
    using bench::bench;

    // Objects of an eighth of the slice, which the cache alone holds.
    void put(std::uint64_t first, std::uint64_t count) {
        for (std::uint64_t key = first; key < first + count; key++) {
            const std::uint64_t pa = cpu.command(0, alloc_command(TLA_HBM, eighth)).value;
            tla_command command = group(TLA_OP_PUT);
            command.key = key, command.count = 1, command.blocks[0].pa = {pa};
            BOOST_CHECK_EQUAL(cpu.command(0, command).status, TLA_OK);
            BOOST_CHECK_EQUAL(cpu.command(0, free_command(pa, eighth)).value, 1u);
        }
    }
    std::uint64_t objects() const { return controller.get_statistics(TLA_HBM).objects.cache.entries; }
    std::uint64_t passes() const { return controller.get_statistics(TLA_HBM).passes; }
    void check(std::uint64_t at_ps, std::uint64_t passes_until_then, std::uint64_t objects_then) {
        wait_until(at_ps);
        BOOST_CHECK_EQUAL(passes(), passes_until_then);
        BOOST_CHECK_EQUAL(objects(), objects_then);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_pass_is_at_the_multiple_of_the_interval_and_takes_the_engine_as_a_command) {
    // Two objects are looked at and freed. The second block joins the first.
    const std::uint64_t pass_ps = 10'000 + 2 * 1000 + 300;
    keeper b(marked(500, 400));
    b.run([&] {
        b.put(0, 5);
        b.check(interval - 1, 0, 5);
        const std::uint64_t busy_ps = b.controller.get_statistics(TLA_HBM).busy_ps;
        b.check(interval, 1, 3);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 3 * eighth);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).busy_ps, busy_ps + pass_ps);
        sc_core::sc_time delay;
        b.cpu.command(0, alloc_command(TLA_TCM, 1), delay); // waits for the pass
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp() + delay), interval + pass_ps + 11'000);
        b.check(4 * interval, 1, 3); // below the watermark
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "passes"), 1u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "evicted_objects"), 2u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "failed"), 0u);
}

BOOST_AUTO_TEST_CASE(passes_follow_each_other_without_a_command) {
    keeper b(marked(500, 1)); // one object each
    b.run([&] {
        b.put(0, 7);
        for (std::uint64_t pass = 1; pass <= 4; pass++) {
            b.check(pass * interval - 1, pass - 1, 8 - pass);
            b.check(pass * interval, pass, 7 - pass);
        }
        b.check(9 * interval, 4, 3);
    });
}

BOOST_AUTO_TEST_CASE(a_command_that_arrives_ahead_of_the_clock_finds_the_passes_until_then_made) {
    keeper b(marked(500, 1));
    b.run([&] {
        b.put(0, 8);
        std::uint64_t port = 0;
        const auto alloc_at = [&](std::uint64_t ps) {
            sc_core::sc_time ahead = from_ps(ps - to_ps(sc_core::sc_time_stamp()));
            return b.cpu.command(TLA_PORT_BYTES * port++, alloc_command(TLA_HBM, eighth), ahead).status;
        };
        BOOST_CHECK_EQUAL(alloc_at(interval - 1), TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(alloc_at(interval), TLA_OK);
        BOOST_CHECK_EQUAL(b.passes(), 1u);
        BOOST_CHECK_EQUAL(alloc_at(3 * interval), TLA_OK);
        BOOST_CHECK_EQUAL(b.passes(), 3u);
        b.check(3 * interval, 3, 5); // none of them again
    });
}

BOOST_AUTO_TEST_CASE(a_pass_leaves_what_is_pinned_and_the_next_one_follows_the_end_of_the_pin) {
    keeper b(marked(100, 1000));
    b.run([&] {
        const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, eighth)).value;
        tla_command put = group(TLA_OP_PUT);
        put.key = 1, put.count = 1, put.blocks[0].pa = {pa};
        b.cpu.command(0, put);
        const std::uint64_t arrival = to_ps(sc_core::sc_time_stamp());
        b.cpu.command(0, count_command(TLA_OP_PIN, pa, 3'500'000 - arrival));
        b.cpu.command(0, free_command(pa, eighth));
        b.check(interval, 1, 1);
        b.check(3'500'001, 1, 1); // the pin has ended
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).objects.pins, 0u);
        b.check(4 * interval - 1, 1, 1);
        b.check(4 * interval, 2, 0);
        BOOST_CHECK(b.controller.is_as_at_the_beginning(TLA_HBM));
    });
}

BOOST_AUTO_TEST_CASE(bytes_nodes_and_pointers_of_a_victim_go_as_with_a_free) {
    memory_controller::config config = marked(500, 1);
    config.poison = true;
    config.free_list = TLA_LIST_HBM;
    config.list_reserve = 4096;
    keeper b(config);
    b.run([&] {
        b.put(0, 4);
        b.data.write(hbm(4096), bytes(8, 7));
        BOOST_REQUIRE(b.data.pointer_to(hbm(4096)));
        const std::uint64_t writes = b.controller.get_statistics(TLA_HBM).list_writes;
        b.data.lost.clear();
        b.check(interval, 1, 3);
        sc_core::wait(1, sc_core::SC_US); // the list takes its time
        bytes eight(8);
        b.data.debug(tlm::TLM_READ_COMMAND, hbm(4096), eight);
        BOOST_CHECK(eight == bytes(8, 0xdd));
        BOOST_CHECK(!b.data.lost.empty());
        BOOST_CHECK_GT(b.controller.get_statistics(TLA_HBM).list_writes, writes);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).list_errors, 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_reset_ends_what_is_due_and_the_intervals_begin_at_its_end) {
    keeper b(marked(500, 1000));
    sc_core::sc_signal<bool> reset{"reset"};
    b.controller.reset_in.bind(reset);
    b.run([&] {
        b.put(0, 5);
        wait_until(600'000);
        reset.write(true);
        wait_until(700'000);
        reset.write(false);
        wait_until(800'000);
        b.put(10, 5);
        b.check(1'700'000 - 1, 0, 5);
        b.check(1'700'000, 1, 0);
        BOOST_CHECK(b.controller.is_as_at_the_beginning(TLA_HBM));
    });
}

BOOST_AUTO_TEST_CASE(a_controller_without_a_watermark_makes_no_pass_and_says_nothing_of_it) {
    keeper b(marked(0, 1000));
    b.run([&] {
        b.put(0, 8);
        b.check(5 * interval, 0, 8);
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "evicted_objects"), 0u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "passes"), UINT64_MAX);
}

namespace {

struct figures {
    std::uint64_t end_ps, hash, passes, evicted, busy_ps;
    char error[512];
};

// Random commands of a sender that runs ahead of the clock for a quantum at most.
figures ahead_by(std::uint64_t quantum_ps) {
    const figures f = apart<figures>("a sender that runs ahead", [&](figures &result) {
        keeper b(marked(600, 300));
        b.run([&] {
            seeded_random random(5);
            sc_core::sc_time ahead;
            const auto command = [&](const tla_command &what) {
                const tla_completion answer = b.cpu.command(0, what, ahead);
                result.hash = result.hash * 31 + answer.value + static_cast<std::uint64_t>(answer.status);
                if (to_ps(ahead) >= quantum_ps) {
                    sc_core::wait(ahead);
                    ahead = {};
                }
                return answer;
            };
            for (std::uint64_t key = 0; key < 400; key++) {
                ahead += from_ps(random.between(0, interval / 4));
                tla_command evict = group(TLA_OP_EVICT), put = group(TLA_OP_PUT), get = group(TLA_OP_GET);
                evict.nbytes = random.between(1, slice_bytes / 20);
                const std::uint64_t pa = command(evict).value;
                put.key = key, put.count = 1, put.blocks[0].pa = {pa};
                command(put);
                if (random.one_in(4)) command(count_command(TLA_OP_PIN, pa, random.between(1, 3 * interval)));
                command(free_command(pa, evict.nbytes));
                get.key = key - std::min<std::uint64_t>(key, random.between(0, 15));
                const tla_completion found = command(get);
                if (found.status == TLA_OK) command(free_command(found.value, found.nbytes));
            }
            sc_core::wait(ahead);
            result.end_ps = to_ps(sc_core::sc_time_stamp());
        });
        const memory_controller::statistics s = b.controller.get_statistics(TLA_HBM);
        result.passes = s.passes, result.evicted = s.objects.cache.evicted, result.busy_ps = s.busy_ps;
    });
    BOOST_CHECK_MESSAGE(f.error[0] == 0, f.error);
    return f;
}

} // namespace

BOOST_AUTO_TEST_CASE(passes_are_the_same_for_every_quantum) {
    const figures without = ahead_by(0);
    BOOST_CHECK_GT(without.passes, 10u);
    for (const std::uint64_t quantum_ps : {1'000u, 777'000u, 5'000'000u, 1'000'000'000u}) {
        const figures with = ahead_by(quantum_ps);
        BOOST_CHECK_EQUAL(with.end_ps, without.end_ps);
        BOOST_CHECK_EQUAL(with.hash, without.hash);
        BOOST_CHECK_EQUAL(with.passes, without.passes);
        BOOST_CHECK_EQUAL(with.evicted, without.evicted);
        BOOST_CHECK_EQUAL(with.busy_ps, without.busy_ps);
    }
}
