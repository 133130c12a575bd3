// Memory controllers whose memory is cut into segments or regions: what time adds, and what is never served.
#include "object_commands.hpp"

using namespace object_commands;

namespace {

constexpr std::uint64_t us = 1'000'000, s = 1'000'000 * us, segment = 256 << 10;

// One segment from the beginning, and three by attempts of 2 us.
memory_controller::config growing(std::uint64_t failures) {
    memory_controller::config config = priced();
    config.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_SEGMENTED, TLA_FIRST_FIT);
    config.memory.of[TLA_HBM].front.initial = config.memory.of[TLA_HBM].front.segment = segment;
    config.memory.of[TLA_HBM].front.chunk_ps = 2 * us;
    config.memory.of[TLA_HBM].front.failures = failures;
    return config;
}

void wait_until(std::uint64_t ps) {
    sc_core::wait(from_ps(ps - to_ps(sc_core::sc_time_stamp())));
    sc_core::wait(sc_core::SC_ZERO_TIME);
    sc_core::wait(sc_core::SC_ZERO_TIME);
}

struct one : bench {
    using bench::bench;

    tla_status alloc(std::uint64_t nbytes) { return cpu.command(0, alloc_command(TLA_HBM, nbytes)).status; }
    void check(std::uint64_t at_ps, std::uint64_t segments) {
        wait_until(at_ps);
        BOOST_CHECK_EQUAL(statistic_of(controller, "committed_bytes"), segments * segment);
        BOOST_CHECK_EQUAL(statistic_of(controller, "commits"), segments - 1);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_segment_is_there_after_its_attempt_and_the_engine_takes_it_over) {
    one b(growing(0));
    b.run([&] {
        b.check(2 * us - 1, 1);
        BOOST_CHECK_EQUAL(b.alloc(segment), TLA_OK); // it arrives before the end of the attempt, which waits for it
        const std::uint64_t done_ps = to_ps(sc_core::sc_time_stamp());
        BOOST_CHECK_EQUAL(done_ps, 2 * us - 1 + 10'000 + 1000);
        BOOST_CHECK_EQUAL(b.alloc(segment), TLA_OK);
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), done_ps + 10'000 + 10'000 + 1000);
        b.check(6 * us - 1, 3);
        BOOST_CHECK_EQUAL(b.alloc(2 * segment), TLA_OUT_OF_RANGE);
        b.check(100 * us, 4);
    });
}

BOOST_AUTO_TEST_CASE(attempts_that_fail_take_the_engine_but_add_nothing) {
    one b(growing(1));
    b.run([&] {
        const auto busy = [&] { return b.controller.get_statistics(TLA_HBM).busy_ps; };
        b.check(2 * us, 1);
        BOOST_CHECK_EQUAL(busy(), 10'000u);
        b.check(10 * s + 4 * us - 1, 1);
        BOOST_CHECK_EQUAL(busy(), 10'000u);
        b.check(10 * s + 4 * us, 2);
        BOOST_CHECK_EQUAL(busy(), 20'000u);
        b.check(100 * s, 4); // each after one failure
        BOOST_CHECK_EQUAL(busy(), 60'000u);
    });
}

BOOST_AUTO_TEST_CASE(a_request_that_never_fits_costs_no_walk_and_a_refused_one_does) {
    one b(growing(0));
    b.run([&] {
        const tla_completion never = b.cpu.command(0, alloc_command(TLA_HBM, segment + 1));
        BOOST_CHECK_EQUAL(never.status, TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(never.service_ps, 10'000u);
        BOOST_CHECK_EQUAL(b.alloc(1000), TLA_OK);
        const tla_completion refused = b.cpu.command(0, alloc_command(TLA_HBM, segment));
        BOOST_CHECK_EQUAL(refused.status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(refused.service_ps, 11'000u);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).failed, 2u);
    });
}

BOOST_AUTO_TEST_CASE(an_evict_of_more_than_a_segment_leaves_all_objects) {
    one b(growing(3));
    b.run([&] {
        for (std::uint64_t key = 0; key < 2; key++) {
            const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, segment / 2)).value;
            tla_command put = group(TLA_OP_PUT);
            put.key = key, put.count = 1, put.blocks[0].pa = {pa};
            BOOST_CHECK_EQUAL(b.cpu.command(0, put).status, TLA_OK);
            BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(pa, segment / 2)).value, 1u);
        }
        tla_command evict = group(TLA_OP_EVICT);
        evict.nbytes = segment + 1;
        BOOST_CHECK_EQUAL(b.cpu.command(0, evict).status, TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(statistic_of(b.controller, "cached_objects"), 2u);
        evict.nbytes = segment;
        BOOST_CHECK_EQUAL(b.cpu.command(0, evict).status, TLA_OK);
        BOOST_CHECK_EQUAL(statistic_of(b.controller, "cached_objects"), 0u);
    });
}

BOOST_AUTO_TEST_CASE(segments_appear_anew_after_a_reset) {
    one b(growing(0));
    b.run([&] {
        b.check(5 * us, 3);
        b.controller.reset();
        wait_until(5 * us + 1);
        BOOST_CHECK_EQUAL(statistic_of(b.controller, "committed_bytes"), segment);
        wait_until(9 * us + 1);
        BOOST_CHECK_EQUAL(statistic_of(b.controller, "committed_bytes"), 3 * segment);
    });
}

BOOST_AUTO_TEST_CASE(blocks_of_a_batch_choose_their_regions_one_by_one_and_all_are_free_if_one_fails) {
    memory_controller::config config = priced();
    config.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_INTERLEAVING_REGIONS, TLA_FIRST_FIT);
    config.memory.of[TLA_HBM].front.segment = slice_bytes / 2;
    one b(config);
    b.run([&] {
        tla_command batch = group(TLA_OP_ALLOC_BATCH);
        batch.nbytes = slice_bytes / 4;
        batch.count = 4;
        batch.batch = TLA_BATCH_CARVED;
        BOOST_REQUIRE_EQUAL(b.cpu.command(0, batch).status, TLA_OK);
        const std::vector<std::uint64_t> at = addresses_at(b.cpu, 0, 4);
        BOOST_CHECK_EQUAL(at[1] - at[0], slice_bytes / 2);
        BOOST_CHECK_EQUAL(at[2] - at[0], slice_bytes / 4);
        BOOST_CHECK_EQUAL(at[3] - at[0], 3 * slice_bytes / 4);
        BOOST_CHECK_EQUAL(b.cpu.command(0, batch).status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(statistic_of(b.controller, "free_bytes"), 0u);
    });
}
