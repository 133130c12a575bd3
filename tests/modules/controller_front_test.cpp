// Memory controllers with fronts: what a command gives, costs and leaves is what the stack of the core does.
#include "controller_against_core.hpp"

#include <boost/test/results_collector.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// HBM and TCM of a PE.
void check_pe_against_core(tla_stack_policy policy, unsigned operations) {
    BOOST_TEST_CONTEXT(stacks::name_of(policy))
    check_against_core<bench>(with_front(policy), {TLA_HBM, TLA_TCM}, operations);
}

// The host's memory, in a process of its own, as a simulation wants, under all stacks that this is the front of; over
// first fit, and of placements alone, by as many requests as others.
void check_host_against_core(tla_front front) {
    for (const tla_stack_policy policy : stacks::all_policies()) {
        if (tla_stack_front(policy) != front) continue;
        const bool is_plain = front == TLA_FRONT_NONE || tla_stack_placement(policy) == TLA_FIRST_FIT;
        const unsigned operations = is_plain ? 100000 : 10000;
        const pid_t child = fork();
        BOOST_REQUIRE(child >= 0);
        if (child == 0) {
            try {
                check_against_core<host_bench>(host_bench::of_host(with_front(policy)), {TLA_HOST_MEMORY}, operations);
            } catch (...) {
                _exit(1);
            }
            const auto &results =
                boost::unit_test::results_collector.results(boost::unit_test::framework::current_test_case().p_id);
            _exit(results.p_assertions_failed == 0 && results.p_assertions_passed > operations ? 0 : 1);
        }
        int status = 1;
        BOOST_REQUIRE(waitpid(child, &status, 0) == child);
        BOOST_CHECK_MESSAGE(status == 0, stacks::name_of(policy) << ": " << status);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_placement_gives_the_host_what_it_gives_on_the_core) {
    check_host_against_core(TLA_FRONT_NONE);
}
BOOST_AUTO_TEST_CASE(every_caching_pool_gives_the_host_what_it_gives_on_the_core) {
    check_host_against_core(TLA_FRONT_CACHING_POOL);
}
BOOST_AUTO_TEST_CASE(every_segment_cache_gives_the_host_what_it_gives_on_the_core) {
    check_host_against_core(TLA_FRONT_SEGMENT_CACHE);
}
BOOST_AUTO_TEST_CASE(every_growing_pool_gives_the_host_what_it_gives_on_the_core) {
    check_host_against_core(TLA_FRONT_GROWING_POOL);
}
BOOST_AUTO_TEST_CASE(a_slot_pool_gives_the_host_what_it_gives_on_the_core) {
    check_host_against_core(TLA_FRONT_SLOT_POOL);
}
BOOST_AUTO_TEST_CASE(every_mixed_front_gives_the_host_what_it_gives_on_the_core) {
    check_host_against_core(TLA_FRONT_MIXED);
}
BOOST_AUTO_TEST_CASE(every_lazy_front_gives_the_host_what_it_gives_on_the_core) {
    check_host_against_core(TLA_FRONT_LAZY);
}

BOOST_AUTO_TEST_CASE(a_caching_pool_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_pe_against_core(over(TLA_FRONT_CACHING_POOL), 100000);
}

BOOST_AUTO_TEST_CASE(a_segment_cache_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_pe_against_core(over(TLA_FRONT_SEGMENT_CACHE), 100000);
}

BOOST_AUTO_TEST_CASE(a_growing_pool_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_pe_against_core(over(TLA_FRONT_GROWING_POOL), 100000);
}

BOOST_AUTO_TEST_CASE(a_slot_pool_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_pe_against_core(over(TLA_FRONT_SLOT_POOL), 100000);
}

BOOST_AUTO_TEST_CASE(mixed_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_pe_against_core(over(TLA_FRONT_MIXED), 100000);
}

BOOST_AUTO_TEST_CASE(lazy_gives_1e5_random_requests_what_it_gives_on_the_core_at_that_time) {
    check_pe_against_core(over(TLA_FRONT_LAZY, TLA_NEXT_FIT), 100000);
}

BOOST_AUTO_TEST_CASE(a_caching_pool_over_best_fit_gives_random_requests_what_it_gives_on_the_core) {
    check_pe_against_core(over(TLA_FRONT_CACHING_POOL, TLA_BEST_FIT), 5000);
}

BOOST_AUTO_TEST_CASE(lazy_over_first_fit_gives_random_requests_what_it_gives_on_the_core) {
    check_pe_against_core(over(TLA_FRONT_LAZY), 5000);
}

BOOST_AUTO_TEST_CASE(memory_grows_while_nobody_asks_and_a_commit_takes_its_turn_at_the_engine) {
    memory_controller::config config = with_front(over(TLA_FRONT_LAZY));
    config.memory.of[TLA_TCM].policy = TLA_FIRST_FIT;
    config.cost = {};
    config.cost.fixed_ps = 300;
    config.memory.of[TLA_HBM].front.chunk_ps = 500; // a commit of 64 KiB each 1000 ps, from 128 KiB on
    bench b(config);
    const auto committed = [&] { return b.controller.get_statistics(TLA_HBM).arena.capacity >> 10; };
    b.run([&] {
        const auto wait_until = [](std::uint64_t at_ps) {
            sc_core::wait(from_ps(at_ps - to_ps(sc_core::sc_time_stamp())));
        };
        wait_until(999);
        BOOST_CHECK_EQUAL(committed(), 128u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 192 << 10)).status, TLA_EXHAUSTED);
        // Until 1299; the commit of 1000 waited for it and ended at 1599, and this one waits for that.
        wait_until(1300);
        BOOST_CHECK_EQUAL(committed(), 192u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 192 << 10)).status, TLA_OK);
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), 1899u);
        wait_until(3700); // in between nobody asks
        BOOST_CHECK_EQUAL(committed(), 320u);
        wait_until(100000);
        BOOST_CHECK_EQUAL(committed(), 1024u);
    });
    const memory_controller::statistics s = b.controller.get_statistics(TLA_HBM);
    BOOST_CHECK_EQUAL(s.commits, 14u);
    BOOST_CHECK_EQUAL(s.busy_ps, 16u * 300);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).commits, 0u);
}

BOOST_AUTO_TEST_CASE(an_untouched_controller_says_what_its_front_has) {
    for (const auto &[front, blocks, largest] :
         {std::tuple{TLA_FRONT_CACHING_POOL, 1u, slice_bytes}, std::tuple{TLA_FRONT_SLOT_POOL, 32u, slice_bytes / 32},
          std::tuple{TLA_FRONT_MIXED, 2u, slice_bytes - (64 << 10)}}) {
        memory_controller::config config = with_front(over(front));
        sc_core::sc_get_curr_simcontext(); // one of its own for each
        memory_controller controller(sc_core::sc_gen_unique_name("controller"), config);
        const memory_controller::statistics s = controller.get_statistics(TLA_HBM);
        BOOST_CHECK_EQUAL(s.arena.free, slice_bytes);
        BOOST_CHECK_EQUAL(s.arena.free_blocks, blocks);
        BOOST_CHECK_EQUAL(s.arena.largest_free, largest);
    }
}

BOOST_AUTO_TEST_CASE(guarded_memory_knows_blocks_behind_a_front_as_they_were_asked_for) {
    for (const tla_front front : {TLA_FRONT_CACHING_POOL}) {
        memory_controller::config config = with_front(over(front));
        config.guard = TLA_GUARD_ERROR;
        config.poison = true;
        bench b(config);
        b.run([&] {
            const tla_completion given = b.cpu.command(0, alloc_command(TLA_HBM, 100)); // 512 in its class
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(b.data.write(given.value, bytes(100, 1), delay), tlm::TLM_OK_RESPONSE);
            BOOST_CHECK_EQUAL(b.data.write(given.value + 100, bytes(1, 1), delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
            catch_up_with(delay);
            BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(given.value, 512)).status, TLA_SIZE_MISMATCH);
            BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(given.value, 100)).status, TLA_OK);
            BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(given.value, 100)).status, TLA_NOT_ALLOCATED);
            bytes data(100);
            BOOST_CHECK_EQUAL(b.data.read(given.value, data, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE); // after free
            catch_up_with(delay);
            bytes all(512);
            b.data.debug(tlm::TLM_READ_COMMAND, given.value, all);
            BOOST_CHECK(all == bytes(512, 0xdd)); // as granted
            const tla_completion again = b.cpu.command(0, alloc_command(TLA_HBM, 200));
            BOOST_CHECK_EQUAL(again.value, given.value); // from its list
            data.resize(200);
            BOOST_CHECK_EQUAL(b.data.read(again.value, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE); // never written
        });
        const memory_controller::statistics s = b.controller.get_statistics(TLA_HBM);
        BOOST_CHECK_EQUAL(s.out_of_bounds, 1u);
        BOOST_CHECK_EQUAL(s.use_after_free, 1u);
        BOOST_CHECK_EQUAL(s.never_written, 1u);
    }
}

BOOST_AUTO_TEST_CASE(what_a_front_cannot_stand_is_refused_by_name_when_the_controller_is_built) {
    const auto refusal = [](const memory_controller::config &config) {
        try {
            memory_controller controller("controller", config);
        } catch (const sc_core::sc_report &report) {
            return std::string(report.get_msg());
        }
        return std::string("none");
    };
    memory_controller::config config = with_front(over(TLA_FRONT_SLOT_POOL));
    config.memory.of[TLA_HBM].front.slot = 3 << 10;
    BOOST_CHECK_NE(refusal(config).find("HBM: found slots of 3072 bytes, expected slots that divide the 1048576 bytes"),
                   std::string::npos);
    config = with_front(over(TLA_FRONT_CACHING_POOL));
    config.free_list = TLA_LIST_SRAM;
    BOOST_CHECK_NE(refusal(config).find("a free list in memory needs first, best, next or worst fit without a front"),
                   std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_fault_plan_refuses_a_trim_as_every_command) {
    memory_controller::config config = with_front(over(TLA_FRONT_CACHING_POOL));
    BOOST_REQUIRE_EQUAL(tla_fault_plan_parse("refuse rate=1000000", &config.faults, nullptr), TLA_OK);
    bench b(config);
    b.run([&] { BOOST_CHECK_EQUAL(b.cpu.command(0, trim_command(TLA_HBM)).status, TLA_BUSY); });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).trims, 0u);
}

BOOST_AUTO_TEST_CASE(a_trim_where_there_is_no_front_has_nothing_to_give_back) {
    bench b;
    b.run([&] {
        const tla_completion done = b.cpu.command(0, trim_command(TLA_TCM));
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK_EQUAL(done.nbytes, 0u);
        BOOST_CHECK_EQUAL(done.total_free, tcm_bytes - reserve);
        BOOST_CHECK_EQUAL(done.largest_free, tcm_bytes - reserve);
    });
}

BOOST_AUTO_TEST_CASE(an_alloc_that_fails_says_what_a_trim_gives_back_if_that_helps) {
    memory_controller::config config = with_front(over(TLA_FRONT_CACHING_POOL));
    bench b(config);
    b.run([&] {
        const tla_completion half = b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes / 2));
        b.cpu.command(0, free_command(half.value, slice_bytes / 2));
        const tla_completion none = b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes));
        BOOST_CHECK_EQUAL(none.status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(none.value, slice_bytes / 2);
        BOOST_CHECK_EQUAL(none.total_free, slice_bytes);
        BOOST_CHECK_EQUAL(none.largest_free, slice_bytes / 2);
        BOOST_CHECK_EQUAL(none.nbytes, slice_bytes);
        b.cpu.command(0, trim_command(TLA_HBM));
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes)).status, TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(an_alloc_that_no_trim_helps_says_so_and_what_it_takes) {
    bench b(with_front(over(TLA_FRONT_CACHING_POOL)));
    b.run([&] {
        const tla_completion half = b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes / 2));
        b.cpu.command(0, free_command(half.value, slice_bytes / 2));
        b.cpu.command(0, alloc_command(TLA_HBM, 512));
        const tla_completion none = b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes / 2 + 512));
        BOOST_CHECK_EQUAL(none.value, 0u);
        if (none.nbytes > none.total_free) BOOST_CHECK_EQUAL(none.status, TLA_EXHAUSTED);
        b.cpu.command(0, trim_command(TLA_HBM));
        BOOST_CHECK_NE(b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes / 2 + 512)).status, TLA_OK);
    });
}
