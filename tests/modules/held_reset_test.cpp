// Resets that last. Whatever a controller does by itself begins at their end, at the times of a new controller.
#include "object_commands.hpp"

#include <memory>

using namespace object_commands;

namespace {

constexpr std::uint64_t us = 1'000'000, s = 1'000'000 * us, step = 700'000;
constexpr unsigned steps = 100;

std::uint64_t now() {
    return to_ps(sc_core::sc_time_stamp());
}

void wait_until(std::uint64_t ps) {
    if (ps > now()) sc_core::wait(from_ps(ps - now()));
    sc_core::wait(sc_core::SC_ZERO_TIME);
    sc_core::wait(sc_core::SC_ZERO_TIME);
}

// A controller on a reset line.
struct subject : sc_core::sc_module {
    subject(sc_core::sc_module_name name, const memory_controller::config &config) : sc_module(name), of(config) {
        of.controller.reset_in.bind(line);
        of.slice.reset_in.bind(line);
        of.controller.grown = [this](tla_memory_kind, const tla_arena_stats &arena, std::uint64_t done_ps) {
            said.insert(said.end(), {done_ps - start_ps, arena.capacity});
        };
    }

    void call() {
        of.controller.reset();
        of.slice.reset();
    }
    void hold_for(std::uint64_t ps) {
        line = true;
        sc_core::wait(from_ps(ps));
        line = false;
    }

    // Stores a block under a key, as the only one who holds it.
    void put(std::uint64_t key) {
        constexpr std::uint64_t nbytes = 48 << 10;
        const tla_completion got = of.cpu.command(0, alloc_command(TLA_HBM, nbytes));
        said.insert(said.end(), {static_cast<std::uint64_t>(got.status), got.value, now() - start_ps});
        if (got.status) return;
        tla_command command = group(TLA_OP_PUT);
        command.key = key, command.count = 1, command.blocks[0].pa = {got.value};
        of.cpu.command(0, command);
        of.cpu.command(0, free_command(got.value, nbytes));
    }

    void use(unsigned i) {
        sc_core::sc_time ahead;
        if (i % 4 == 0) of.data.write(hbm(0), bytes(8 << 10), ahead);
        sc_core::wait(ahead);
        said.push_back(now() - start_ps);
        if (i % 5 == 1) put(i);
    }

    // Accesses, commands, and looks at the controller, at fixed times from now on.
    void live(unsigned count) {
        start_ps = now();
        said.clear();
        const std::uint64_t passes = of.controller.get_statistics(TLA_HBM).passes;
        const auto look = [&] {
            const memory_controller::statistics seen = of.controller.get_statistics(TLA_HBM);
            said.insert(said.end(),
                        {seen.arena.capacity, seen.arena.free, seen.passes - passes, seen.objects.cache.entries});
        };
        for (unsigned i = 0; i < count; i++) {
            wait_until(start_ps + i * step);
            use(i);
            look();
        }
        wait_until(start_ps + 40 * s);
        look();
    }

    bench of;
    sc_core::sc_signal<bool> line{"line"};
    std::vector<std::uint64_t> said;
    std::uint64_t start_ps = 0;
};

// How a controller that has lived for some steps, or for none, is reset.
struct way {
    const char *name;
    unsigned steps;
    std::function<void(subject &)> reset;
};

const way ways[] = {
    {"no_reset", 0, [](subject &) {}},
    {"call", 5, [](subject &one) { one.call(); }},
    {"held_1_ps", 7, [](subject &one) { one.hold_for(1); }},
    {"held_from_the_beginning_of_time", 0, [](subject &one) { one.hold_for(9 * us); }},
    {"held_between_pins", 11, [](subject &one) { one.hold_for(333'000); }},
    {"held_longer_than_an_interval", 40, [](subject &one) { one.hold_for(2500 * 1000); }},
    {"held_longer_than_growth_takes", 3, [](subject &one) { one.hold_for(100 * us); }},
    {"held_longer_than_attempts_wait", 100, [](subject &one) { one.hold_for(70 * s); }},
    {"held_beside_a_call", 20,
     [](subject &one) {
         one.line = true;
         sc_core::wait(from_ps(us));
         one.call();
         sc_core::wait(from_ps(us));
         one.line = false;
     }},
    {"held_again_at_once", 21,
     [](subject &one) {
         one.hold_for(3 * us);
         sc_core::wait(sc_core::SC_ZERO_TIME);
         sc_core::wait(sc_core::SC_ZERO_TIME);
         one.hold_for(4 * us);
     }},
};

// Returns what a new controller says.
std::vector<std::uint64_t> check_all_ways(const memory_controller::config &config) {
    std::vector<std::unique_ptr<subject>> all;
    for (const way &how : ways) {
        all.push_back(std::make_unique<subject>(how.name, config));
        subject &one = *all.back();
        one.of.cpu.body = [&one, &how] {
            for (unsigned i = 0; i < how.steps; i++) {
                wait_until(i * step);
                one.use(i);
            }
            how.reset(one);
            sc_core::wait(sc_core::SC_ZERO_TIME);
            sc_core::wait(sc_core::SC_ZERO_TIME);
            BOOST_CHECK(!one.of.controller.in_reset());
            one.live(steps);
        };
    }
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    const std::vector<std::uint64_t> &expected = all[0]->said;
    for (const std::unique_ptr<subject> &one : all) {
        BOOST_CHECK(one->of.cpu.finished);
        BOOST_TEST_CONTEXT(one->basename()) {
            BOOST_CHECK_EQUAL_COLLECTIONS(one->said.begin(), one->said.end(), expected.begin(), expected.end());
        }
    }
    return expected;
}

memory_controller::config growing(tla_front front, std::uint64_t chunk_ps) {
    memory_controller::config config = priced();
    config.memory.of[TLA_HBM].policy = tla_stack_policy_of(front, TLA_FIRST_FIT);
    tla_front_sizes &sizes = config.memory.of[TLA_HBM].front;
    sizes.initial = sizes.segment = 256 << 10;
    sizes.chunk = 16 << 10, sizes.commit = 32 << 10, sizes.chunk_ps = chunk_ps;
    return config;
}

// Whether all bytes of the slice are there in the end.
bool is_whole(const std::vector<std::uint64_t> &said) {
    return said[said.size() - 4] == slice_bytes;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_lazy_memory_commits_from_the_end_of_a_reset_on) {
    BOOST_CHECK(is_whole(check_all_ways(growing(TLA_FRONT_LAZY, us))));
}

BOOST_AUTO_TEST_CASE(chunks_wait_for_accesses_from_the_end_of_a_reset_on) {
    memory_controller::config config = growing(TLA_FRONT_LAZY, us);
    config.pin_wait_ps = 5 * us;
    BOOST_CHECK(is_whole(check_all_ways(config)));
}

BOOST_AUTO_TEST_CASE(segments_appear_from_the_end_of_a_reset_on) {
    BOOST_CHECK(is_whole(check_all_ways(growing(TLA_FRONT_SEGMENTED, 3 * us))));
}

BOOST_AUTO_TEST_CASE(attempts_that_fail_begin_anew_at_the_end_of_a_reset) {
    memory_controller::config config = growing(TLA_FRONT_SEGMENTED, 3 * us);
    config.memory.of[TLA_HBM].front.failures = 1;
    BOOST_CHECK(is_whole(check_all_ways(config)));
}

BOOST_AUTO_TEST_CASE(intervals_of_passes_begin_at_the_end_of_a_reset) {
    memory_controller::config config = priced();
    config.watermark = {300, 200, 900'000};
    const std::vector<std::uint64_t> said = check_all_ways(config);
    BOOST_CHECK_GT(said[said.size() - 2], 5u); // passes
}

BOOST_AUTO_TEST_CASE(a_memory_that_grows_with_passes_begins_anew_at_the_end_of_a_reset) {
    memory_controller::config config = growing(TLA_FRONT_LAZY, 500'000);
    config.watermark = {200, 300, 1'300'000};
    const std::vector<std::uint64_t> said = check_all_ways(config);
    BOOST_CHECK_GT(said[said.size() - 2], 5u);
    BOOST_CHECK(is_whole(said));
}
