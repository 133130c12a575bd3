// Memory controllers with fronts: what a command takes, and how memory that grows takes its turn.
#include "../unit/seeded_random.hpp"
#include "object_commands.hpp"

#include <memory>
#include <vector>

using namespace object_commands;

namespace {

// Every memory of a controller with this stack.
memory_controller::config with_front(tla_stack_policy policy) {
    memory_controller::config config = small();
    config.memory.of[TLA_HBM].policy = config.memory.of[TLA_TCM].policy = config.memory.of[TLA_HOST_MEMORY].policy =
        policy;
    config.memory.of[TLA_HBM].front = config.memory.of[TLA_HOST_MEMORY].front = {
        80 << 10, 32 << 10, 64 << 10, 128 << 10, 32 << 10, 64 << 10, 1000000000, 0};
    config.memory.of[TLA_TCM].front = {10 << 10, 1 << 10, 4 << 10, 0, 4 << 10, 8 << 10, 700000000, 1};
    if (tla_stack_front(policy) == TLA_FRONT_SEGMENTED) config.memory.of[TLA_TCM].front.initial = 1;
    // Every event has a price of its own.
    tla_cost_profile &cost = config.cost;
    cost = {};
    cost.fixed_ps = 1000003;
    std::uint64_t price = 101;
    for (std::uint64_t tla_cost_profile::*unit :
         {&tla_cost_profile::node_ps, &tla_cost_profile::insert_node_ps, &tla_cost_profile::probe_ps,
          &tla_cost_profile::bin_search_ps, &tla_cost_profile::split_ps, &tla_cost_profile::merge_ps,
          &tla_cost_profile::metadata_line_ps, &tla_cost_profile::walk_ps, &tla_cost_profile::walk_node_ps,
          &tla_cost_profile::class_lookup_ps, &tla_cost_profile::list_pop_ps, &tla_cost_profile::list_push_ps,
          &tla_cost_profile::slot_ps, &tla_cost_profile::driver_call_ps})
        cost.*unit = price += 1009;
    return config;
}

tla_stack_policy over(tla_front front, tla_policy placement = TLA_FIRST_FIT) {
    return tla_stack_policy_of(front, placement);
}

tla_command trim_command(tla_memory_kind kind) {
    tla_command command{};
    command.opcode = TLA_OP_TRIM;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.memory = kind;
    return command;
}

// Random commands to a controller, and to another in C alone: what each takes is the price of that one's receipt.
void check_times(tla_stack_policy policy, unsigned operations) {
    const memory_controller::config config = with_front(policy);
    bench b(config);
    tla_controller_config core{};
    core.memory = config.memory;
    core.owner_port = TLA_CONTROLLER_NO_OWNER;
    tla_controller *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_controller_create(&core, &made), TLA_OK);
    const std::unique_ptr<tla_controller, void (*)(tla_controller *)> beside(made, tla_controller_destroy);
    std::vector<tla_completion> live;
    seeded_random random(29);
    b.run([&] {
        for (unsigned i = 0; i < operations; i++) {
            const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
            tla_command command = alloc_command(random.one_in(4) ? TLA_TCM : TLA_HBM, random.between(1, 1 << 14));
            const bool frees = !live.empty() && random.one_in(2);
            if (frees) {
                std::swap(live[random.between(0, live.size() - 1)], live.back());
                command = free_command(live.back().value, live.back().nbytes);
                live.pop_back();
            }
            tla_controller_outcome outcome{};
            std::uint64_t at_ps = 0;
            while (!tla_controller_commit(made, now_ps, &at_ps, &outcome)) {
            }
            tla_controller_execute(made, 0, TLA_WHO_UNKNOWN, &command, now_ps, &outcome);
            const tla_completion answer = b.cpu.command(0, command);
            BOOST_REQUIRE_EQUAL(tla_status_name(answer.status), tla_status_name(outcome.completion.status));
            BOOST_REQUIRE_EQUAL(answer.value, outcome.completion.value);
            BOOST_REQUIRE_EQUAL(answer.service_ps, tla_cost_price(&config.cost, &outcome.work));
            if (!answer.status && !frees) live.push_back(answer);
        }
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_commands_time_is_the_price_of_its_receipt_with_a_caching_pool) {
    check_times(over(TLA_FRONT_CACHING_POOL, TLA_BEST_FIT), 5000);
}
BOOST_AUTO_TEST_CASE(a_commands_time_is_the_price_of_its_receipt_with_a_segment_cache) {
    check_times(over(TLA_FRONT_SEGMENT_CACHE), 5000);
}
BOOST_AUTO_TEST_CASE(a_commands_time_is_the_price_of_its_receipt_with_mixed) {
    check_times(over(TLA_FRONT_MIXED), 5000);
}
BOOST_AUTO_TEST_CASE(a_commands_time_is_the_price_of_its_receipt_with_lazy) {
    check_times(over(TLA_FRONT_LAZY, TLA_NEXT_FIT), 5000);
}
BOOST_AUTO_TEST_CASE(a_commands_time_is_the_price_of_its_receipt_with_segments) {
    check_times(over(TLA_FRONT_SEGMENTED), 5000);
}
BOOST_AUTO_TEST_CASE(a_commands_time_is_the_price_of_its_receipt_with_linear_regions) {
    check_times(over(TLA_FRONT_LINEAR_REGIONS, TLA_BUDDY), 5000);
}
BOOST_AUTO_TEST_CASE(a_commands_time_is_the_price_of_its_receipt_with_interleaving_regions) {
    check_times(over(TLA_FRONT_INTERLEAVING_REGIONS), 5000);
}
BOOST_AUTO_TEST_CASE(a_commands_time_is_the_price_of_its_receipt_with_worst_fit) {
    check_times(TLA_WORST_FIT, 5000);
}

// Worst fit looks for its next largest block behind its answer. A command of the same list waits for that, one of
// another list does not.
BOOST_AUTO_TEST_CASE(a_command_waits_for_the_walk_behind_the_answer_before) {
    memory_controller::config config = with_front(TLA_WORST_FIT);
    config.cost = {};
    config.cost.fixed_ps = 300;
    config.cost.walk_ps = 5000;
    bench b(config);
    b.run([&] {
        const auto takes = [&](tla_memory_kind kind) {
            const std::uint64_t begin_ps = to_ps(sc_core::sc_time_stamp());
            BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(kind, 64)).status, TLA_OK);
            return to_ps(sc_core::sc_time_stamp()) - begin_ps;
        };
        BOOST_CHECK_EQUAL(takes(TLA_HBM), 300u);
        BOOST_CHECK_EQUAL(takes(TLA_TCM), 300u);
        BOOST_CHECK_EQUAL(takes(TLA_HBM), 5000u - 300 + 300);
        sc_core::wait(from_ps(5000));
        BOOST_CHECK_EQUAL(takes(TLA_HBM), 300u);
        b.controller.reset();
        sc_core::wait(from_ps(1));
        BOOST_CHECK_EQUAL(takes(TLA_HBM), 300u); // nothing goes on behind a reset
    });
}

BOOST_AUTO_TEST_CASE(memory_grows_without_requests_and_a_commit_waits_for_the_engine) {
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

BOOST_AUTO_TEST_CASE(an_unused_controller_reports_the_bytes_of_its_front) {
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

BOOST_AUTO_TEST_CASE(bins_report_the_free_bytes_that_they_prove_beside_the_real_ones) {
    memory_controller::config config = with_front(over(TLA_FRONT_NONE, TLA_OFFSET_BINS));
    config.engine_nodes = 3; // of which one is never used
    config.memory.of[TLA_TCM].policy = over(TLA_FRONT_CACHING_POOL, TLA_OFFSET_BINS_ROUNDED);
    config.memory.of[TLA_HOST_MEMORY].policy = over(TLA_FRONT_NONE);
    bench b(config);
    const auto is = [&](std::uint64_t real, std::uint64_t proven_free, std::uint64_t proven_largest) {
        BOOST_CHECK_EQUAL(statistic_of(b.controller, "largest_free_bytes"), real);
        BOOST_CHECK_EQUAL(statistic_of(b.controller, "proven_free_bytes"), proven_free);
        BOOST_CHECK_EQUAL(statistic_of(b.controller, "proven_largest_bytes"), proven_largest);
    };
    is(slice_bytes, slice_bytes, slice_bytes); // a size of a bin
    b.run([&] {
        tla_completion first = b.cpu.command(0, alloc_command(TLA_HBM, 1000));
        BOOST_REQUIRE_EQUAL(first.status, TLA_OK);
        is(slice_bytes - 1000, 0, 0); // no node is left
        BOOST_REQUIRE_EQUAL(b.cpu.command(0, free_command(first.value, 1000)).status, TLA_OK);
        is(slice_bytes, slice_bytes, slice_bytes);
    });
    std::size_t proving = 0;
    for (const statistics_group &part : b.controller.list_statistics())
        for (const statistic &s : part.statistics)
            proving += std::string(s.name) == "proven_free_bytes";
    BOOST_CHECK_EQUAL(proving, 2u); // of both memories with bins
}

BOOST_AUTO_TEST_CASE(guarded_memory_knows_the_requested_sizes_of_blocks_behind_a_front) {
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

BOOST_AUTO_TEST_CASE(the_constructor_rejects_sizes_that_a_front_does_not_support) {
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
    BOOST_CHECK_NE(refusal(config).find("HBM: slots of 3072 bytes: must divide the 1048576 bytes"), std::string::npos);
    config = with_front(over(TLA_FRONT_CACHING_POOL));
    config.free_list = TLA_LIST_SRAM;
    BOOST_CHECK_NE(refusal(config).find("a free list in memory needs first, best, next or worst fit without a front"),
                   std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_fault_plan_refuses_a_trim_as_every_command) {
    memory_controller::config config = with_front(over(TLA_FRONT_CACHING_POOL));
    BOOST_REQUIRE_EQUAL(tla_fault_injection_parse("refuse rate=1000000", &config.faults, nullptr), TLA_OK);
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

BOOST_AUTO_TEST_CASE(a_failed_alloc_reports_the_bytes_of_a_trim_if_a_trim_helps) {
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

BOOST_AUTO_TEST_CASE(a_failed_alloc_reports_its_block_if_no_trim_helps) {
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
