// reset() and the reset input of a whole npu, its host among its parts: at random moments of a job that uses all of it,
// by a pulse and by a level, and afterwards the platform does what it did at the beginning of time, when it was new:
// the same addresses, numbers and bytes, and the same times from the end of the reset on, to the picosecond.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "resetting_job.hpp"
#include "tests/unit/seeded_random.hpp"

using namespace resetting_job;

namespace {

// What a subject does is over within the simulation, and not because nothing happens any more.
void simulate(subject &s, const std::function<void()> &body) {
    bool finished = false;
    s.host().main = [&] {
        body();
        finished = true;
    };
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_CHECK(finished);
    BOOST_CHECK(s.platform.messages().deadlocked().empty());
}

void check(const std::vector<std::string> &keys, unsigned times, std::uint64_t seed) {
    subject s(keys);
    seeded_random random(seed);
    unsigned ended = 0;
    simulate(s, [&] {
        BOOST_CHECK(s.job());
        s.first = s.said;
        const std::uint64_t whole_ps = now();
        for (unsigned i = 0; i < times && s.differences < 3; i++) {
            const std::uint64_t delay_ps = random.between(0, whole_ps);
            const std::uint64_t held_ps = random.one_in(2) ? 0 : random.one_in(2) ? 2 * us : random.between(1, 5 * us);
            s.reset_after(delay_ps, held_ps, random.one_in(3));
            ended += !s.job();
            s.wait_for_reset();
            s.as_at_the_beginning("reset " + std::to_string(i) + " after " + std::to_string(delay_ps) + " of " +
                                  std::to_string(whole_ps) + " ps, held " + std::to_string(held_ps) + " ps");
        }
        BOOST_CHECK_EQUAL(s.host().resets(), times);
    });
    BOOST_CHECK_GT(ended, times / 2);
    BOOST_TEST_MESSAGE(ended << " of " << times << " jobs were ended");
}

} // namespace

BOOST_AUTO_TEST_CASE(a_platform_is_as_new_after_a_reset) {
    check({}, 40, 19);
}
BOOST_AUTO_TEST_CASE(a_platform_with_a_driver_is_as_new_after_a_reset) {
    check({"host.driver=serial", "host.driver_alloc=3 us"}, 40, 21);
}
BOOST_AUTO_TEST_CASE(a_platform_with_a_pool_is_as_new_after_a_reset) {
    check({"host.driver=per_device", "host.driver_synchronous=true", "host.pool=caching_pool", "system.sips=2",
           "host.driver_alloc=2 us"},
          40, 23);
}
BOOST_AUTO_TEST_CASE(a_platform_with_an_asynchronous_driver_is_as_new_after_a_reset) {
    check({"host.driver=asynchronous", "host.driver_alloc=3 us"}, 40, 25);
}
BOOST_AUTO_TEST_CASE(a_platform_whose_slices_a_cube_owns_is_as_new_after_a_reset) {
    check({"controller.lockstep=cube", "system.cube_mesh_width=2"}, 40, 27);
}
BOOST_AUTO_TEST_CASE(a_platform_with_the_hosts_memory_is_as_new_after_a_reset) {
    check({"host_memory.capacity=1 MiB"}, 40, 29);
}
BOOST_AUTO_TEST_CASE(a_platform_that_walks_in_memory_is_as_new_after_a_reset) {
    check({"mmu.walk=memory", "mmu.unmapped=demand", "mmu.fault_latency=5 us", "host.retries=5"}, 40, 31);
}

BOOST_AUTO_TEST_CASE(a_platform_whose_slices_a_sip_owns_is_as_new_after_a_reset) {
    check({"controller.lockstep=sip", "system.sips=2", "system.cube_mesh_width=2"}, 20, 33);
}
BOOST_AUTO_TEST_CASE(a_platform_that_runs_ahead_of_time_is_as_new_after_a_reset) {
    check({"simulation.quantum=1 us", "controller.guard=error"}, 40, 35);
}
BOOST_AUTO_TEST_CASE(a_platform_with_lists_in_memory_is_as_new_after_a_reset) {
    check({"controller.free_list=hbm", "controller.list_reserve=4 KiB"}, 40, 37);
}
BOOST_AUTO_TEST_CASE(a_platform_with_fronts_is_as_new_after_a_reset) {
    check({"controller.tcm_policy=caching_pool/first_fit"}, 40, 39);
}
BOOST_AUTO_TEST_CASE(a_platform_whose_data_occupy_links_once_is_as_new_after_a_reset) {
    check({"links.transport=once", "hbm.timing=flat", "mmu.overhead_at=call", "messages.overhead=9.5 ns"}, 40, 41);
}
BOOST_AUTO_TEST_CASE(a_platform_whose_data_occupy_links_once_and_that_walks_is_as_new_after_a_reset) {
    check({"links.transport=once", "links.routing=shortest", "system.sips=2", "simulation.quantum=1 us",
           "mmu.walk=memory", "mmu.unmapped=demand", "mmu.fault_latency=5 us", "host.retries=5"},
          40, 43);
}

namespace {

// Every few nanoseconds from the sending of a LAUNCH on, whose messages reach near PEs long before far ones.
void check_launch(std::vector<std::string> keys) {
    subject s(std::move(keys));
    unsigned ended = 0;
    simulate(s, [&] {
        BOOST_CHECK(s.job());
        s.first = s.said;
        BOOST_REQUIRE_GT(s.returns.size(), 3u);
        const std::uint64_t from_ps = s.returns[2], step_ps = 2 * ns + 507, until_ps = from_ps + 300 * ns;
        for (std::uint64_t after_ps = from_ps; after_ps < until_ps && s.differences < 3; after_ps += step_ps) {
            s.reset_after(after_ps, 0, false);
            ended += !s.job();
            s.wait_for_reset();
            s.as_at_the_beginning("a reset after " + std::to_string(after_ps) + " ps");
        }
    });
    BOOST_CHECK_GT(ended, 100u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_a_launch_leaves_no_program) {
    check_launch({"system.cube_mesh_width=3"});
}
BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_a_launch_that_runs_ahead_leaves_no_program) {
    check_launch({"system.cube_mesh_width=3", "simulation.quantum=1 us"});
}
BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_a_launch_over_links_occupied_once_leaves_no_program) {
    check_launch({"system.cube_mesh_width=3", "links.transport=once"});
}

namespace {

// At the moments at which a call of the job returns: before the host's thread hears of it, in the middle of what
// happens then, and when it has gone on.
void check_moments(const std::vector<std::string> &keys) {
    subject s(keys);
    simulate(s, [&] {
        BOOST_CHECK(s.job());
        s.first = s.said;
        const std::vector<std::uint64_t> moments = s.returns;
        BOOST_CHECK_GT(moments.size(), 8u);
        for (std::size_t i = 0; i < moments.size() && s.differences < 3; i++)
            for (unsigned deltas = 0; deltas < 4; deltas++) {
                s.reset_after(moments[i], 0, false, deltas);
                s.job();
                s.wait_for_reset();
                s.as_at_the_beginning("a reset when call " + std::to_string(i) + " returns, " + std::to_string(deltas) +
                                      " deltas on");
            }
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_reset_at_the_moment_of_an_answer_leaves_nothing_of_it) {
    check_moments({});
}
BOOST_AUTO_TEST_CASE(a_reset_at_the_moment_of_an_answer_over_links_occupied_once_leaves_nothing_of_it) {
    check_moments({"links.transport=once", "hbm.timing=flat"});
}
BOOST_AUTO_TEST_CASE(a_reset_at_the_moment_of_an_answer_leaves_nothing_of_it_in_the_driver) {
    check_moments({"host.driver=serial", "host.driver_alloc=3 us", "host.pool=caching_pool"});
}

// The line is active when the simulation begins: nothing happens before it is low, and then the platform is new.
BOOST_AUTO_TEST_CASE(a_line_that_is_active_from_the_beginning_holds_the_platform) {
    subject fresh({}), held({}, "held");
    fresh.host().main = [&] { BOOST_CHECK(fresh.job()); };
    sc_core::sc_event low;
    held.line.write(true);
    sc_core::sc_spawn([&] {
        sc_core::wait(from_ps(2 * us));
        held.line = false;
    });
    simulate(held, [&] {
        sc_core::wait(sc_core::SC_ZERO_TIME);
        BOOST_CHECK(held.platform.in_reset());
        BOOST_CHECK(!held.job());
        BOOST_CHECK_EQUAL(now(), 0u);
        BOOST_CHECK_EQUAL(held.error.status, TLA_RESET);
        BOOST_TEST_MESSAGE(held.error.text);
        held.platform.wait_for_reset();
        BOOST_CHECK_EQUAL(now(), 2 * us);
        BOOST_CHECK(held.job());
    });
    BOOST_CHECK(!fresh.said.empty());
    BOOST_CHECK(held.said == fresh.said);
}

// Refresh goes on: against a platform that was never used, and whose first job begins at the same moment.
BOOST_AUTO_TEST_CASE(a_platform_with_banks_is_after_a_reset_as_one_that_idled) {
    const std::vector<std::string> keys = {"hbm.timing=hbm3"};
    std::vector<std::unique_ptr<subject>> all;
    seeded_random random(60);
    unsigned finished = 0, ended = 0;
    for (unsigned i = 0; i < 8; i++) {
        all.push_back(std::make_unique<subject>(keys, ("npu" + std::to_string(i)).c_str()));
        subject &s = *all.back();
        const std::uint64_t after_ps = i == 0 ? 0 : random.between(1, 1500 * ns);
        s.host().main = [&s, &finished, &ended, after_ps] {
            if (after_ps > 0) {
                s.reset_after(after_ps, 0, false);
                ended += !s.job();
                s.wait_for_reset();
            }
            sc_core::wait(from_ps(20 * us - now()));
            BOOST_CHECK(s.job());
            finished++;
        };
    }
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_CHECK_EQUAL(finished, 8u);
    BOOST_CHECK_GT(ended, 4u);
    for (const auto &s : all)
        BOOST_CHECK_EQUAL_COLLECTIONS(s->said.begin(), s->said.end(), all[0]->said.begin(), all[0]->said.end());
}
