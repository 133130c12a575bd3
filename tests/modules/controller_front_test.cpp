// Memory controllers with fronts: what a command gives, costs and leaves is what the stack of the core does.
#include "../unit/seeded_random.hpp"
#include "controller_bench.hpp"

namespace {

std::string name_of(tla_stack_policy policy) {
    char text[64];
    tla_stack_policy_print(policy, text, sizeof text);
    return text;
}

memory_controller::config with_front(tla_stack_policy policy, time_style style = time_style::fast) {
    memory_controller::config config = small();
    config.style = style;
    config.memory.hbm_policy = config.memory.tcm_policy = policy;
    config.memory.hbm_front = {80 << 10, 32 << 10, 64 << 10, 128 << 10, 32 << 10, 64 << 10, 1000000000};
    config.memory.tcm_front = {10 << 10, 1 << 10, 4 << 10, 0, 4 << 10, 8 << 10, 700000000};
    // Every event has a price of its own.
    tla_cost_profile &cost = config.cost;
    cost = {};
    cost.fixed_ps = 1000003;
    std::uint64_t price = 101;
    for (std::uint64_t tla_cost_profile::*unit :
         {&tla_cost_profile::node_ps, &tla_cost_profile::insert_node_ps, &tla_cost_profile::probe_ps,
          &tla_cost_profile::split_ps, &tla_cost_profile::merge_ps, &tla_cost_profile::metadata_line_ps,
          &tla_cost_profile::class_lookup_ps, &tla_cost_profile::list_pop_ps, &tla_cost_profile::list_push_ps,
          &tla_cost_profile::slot_ps, &tla_cost_profile::driver_call_ps})
        cost.*unit = price += 1009;
    return config;
}

tla_stack_policy over(tla_front front, tla_policy placement = TLA_FIRST_FIT) {
    return tla_stack_policy_of(front, placement);
}

tla_command trim_command(tla_channel channel) {
    tla_command command{};
    command.opcode = TLA_OP_TRIM;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.channel = channel;
    return command;
}

// Sends random requests, and checks every completion against a stack of the core.
void check_against_core(tla_stack_policy policy, unsigned operations, time_style style) {
    BOOST_TEST_CONTEXT(name_of(policy)) {
        const memory_controller::config config = with_front(policy, style);
        bench b(config);
        tla_stack *made[2] = {};
        const tla_channel channels[] = {TLA_HBM, TLA_TCM};
        std::uint64_t (*const address_in[])(std::uint64_t) = {hbm, tcm_at};
        for (int c = 0; c < 2; c++) {
            const tla_stack_config stack = tla_pe_memory_stack_config(&config.memory, channels[c]);
            BOOST_REQUIRE_EQUAL(tla_stack_create(&stack, &made[c], nullptr), TLA_OK);
        }
        struct block {
            int channel;
            std::uint64_t offset, nbytes;
        };
        std::vector<block> live;
        seeded_random random(29);
        std::uint64_t failures = 0;
        const auto check = [&](const tla_completion &answer, int c, tla_status status, const tla_work &work) {
            const tla_arena_stats now = tla_stack_get_stats(made[c]).memory;
            BOOST_REQUIRE_EQUAL(tla_status_name(answer.status), tla_status_name(status));
            BOOST_REQUIRE_EQUAL(answer.service_ps, tla_cost_price(&config.cost, &work));
            BOOST_REQUIRE_EQUAL(answer.nodes_visited, work.nodes_visited);
            BOOST_REQUIRE_EQUAL(answer.total_free, now.free);
            BOOST_REQUIRE_EQUAL(answer.largest_free, now.largest_free);
        };
        const auto give_back = [&](const block &of) {
            tla_work work{};
            const tla_completion answer = b.cpu.command(0, free_command(address_in[of.channel](of.offset), of.nbytes));
            check(answer, of.channel, tla_stack_free(made[of.channel], {of.offset, of.nbytes}, &work), work);
        };
        b.run([&] {
            for (unsigned i = 0; i < operations; i++) {
                for (tla_stack *stack : made) // a command finds what was due when it arrived
                    BOOST_REQUIRE_EQUAL(tla_stack_advance(stack, to_ps(sc_core::sc_time_stamp()), nullptr), TLA_OK);
                if (!live.empty() && random.one_in(2)) {
                    std::swap(live[random.between(0, live.size() - 1)], live.back());
                    give_back(live.back());
                    live.pop_back();
                    continue;
                }
                const int c = static_cast<int>(random.between(0, 1));
                static const tla_memory_format formats[] = {TLA_FORMAT_UNDEFINED, TLA_FORMAT_KV_MLA,
                                                            TLA_FORMAT_BINARY_BUFFER};
                const tla_stack_request request{random.between(1, std::uint64_t{1} << random.between(1, c ? 14 : 18)),
                                                random.between(0, 2), formats[random.between(0, 2)]};
                tla_command command = alloc_command(channels[c], request.nbytes);
                command.format = request.format;
                command.stream = static_cast<std::uint32_t>(request.stream);
                tla_block granted{};
                tla_work work{};
                const tla_completion answer = b.cpu.command(0, command);
                const tla_status status = tla_stack_alloc(made[c], &request, &granted, &work);
                check(answer, c, status, work);
                BOOST_REQUIRE_EQUAL(answer.value,
                                    status ? tla_stack_get_stats(made[c]).held : address_in[c](granted.offset));
                failures += status != TLA_OK;
                if (!status) live.push_back({c, granted.offset, request.nbytes});
                if (i % 5000 == 4999) { // and goes on
                    tla_work trimmed{};
                    std::uint64_t given_back = 0;
                    const tla_completion done = b.cpu.command(0, trim_command(channels[c]));
                    check(done, c, tla_stack_trim(made[c], &given_back, &trimmed), trimmed);
                    BOOST_REQUIRE_EQUAL(done.nbytes, given_back);
                }
            }
            for (const block &last : live) {
                for (tla_stack *stack : made)
                    BOOST_REQUIRE_EQUAL(tla_stack_advance(stack, to_ps(sc_core::sc_time_stamp()), nullptr), TLA_OK);
                give_back(last);
            }
            for (int c = 0; c < 2; c++) {
                BOOST_CHECK(b.controller.is_as_at_the_beginning(channels[c])); // as far as a front lets it
                const memory_controller::statistics s = b.controller.get_statistics(channels[c]);
                BOOST_CHECK_EQUAL(s.arena.used, 0u);
                const tla_completion done = b.cpu.command(0, trim_command(channels[c]));
                BOOST_CHECK_EQUAL(done.nbytes, s.held);
                BOOST_CHECK_EQUAL(b.controller.get_statistics(channels[c]).held, 0u);
                BOOST_CHECK(b.controller.is_as_at_the_beginning(channels[c]));
            }
        });
        BOOST_CHECK_GT(failures, 0u);
        for (tla_stack *stack : made)
            tla_stack_destroy(stack);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_caching_pool_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_against_core(over(TLA_FRONT_CACHING_POOL), 100000, time_style::fast);
}

BOOST_AUTO_TEST_CASE(a_segment_cache_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_against_core(over(TLA_FRONT_SEGMENT_CACHE), 100000, time_style::fast);
}

BOOST_AUTO_TEST_CASE(a_growing_pool_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_against_core(over(TLA_FRONT_GROWING_POOL), 100000, time_style::fast);
}

BOOST_AUTO_TEST_CASE(a_slot_pool_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_against_core(over(TLA_FRONT_SLOT_POOL), 100000, time_style::fast);
}

BOOST_AUTO_TEST_CASE(mixed_gives_1e5_random_requests_what_it_gives_on_the_core) {
    check_against_core(over(TLA_FRONT_MIXED), 100000, time_style::fast);
}

BOOST_AUTO_TEST_CASE(lazy_gives_1e5_random_requests_what_it_gives_on_the_core_at_that_time) {
    check_against_core(over(TLA_FRONT_LAZY, TLA_NEXT_FIT), 100000, time_style::fast);
}

BOOST_AUTO_TEST_CASE(a_front_over_another_placement_in_the_exact_style_too) {
    check_against_core(over(TLA_FRONT_CACHING_POOL, TLA_BEST_FIT), 5000, time_style::exact);
}

BOOST_AUTO_TEST_CASE(lazy_in_the_exact_style_too) {
    check_against_core(over(TLA_FRONT_LAZY), 5000, time_style::exact);
}

static void check_growth(time_style style) {
    memory_controller::config config = with_front(over(TLA_FRONT_LAZY), style);
    config.memory.tcm_policy = TLA_FIRST_FIT;
    config.cost = {};
    config.cost.fixed_ps = 300;
    config.memory.hbm_front.chunk_ps = 500; // a commit of 64 KiB each 1000 ps, from 128 KiB on
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

BOOST_AUTO_TEST_CASE(memory_grows_while_nobody_asks_and_a_commit_takes_its_turn_at_the_engine) {
    check_growth(time_style::fast);
}

BOOST_AUTO_TEST_CASE(memory_grows_in_the_exact_style_at_the_same_times) {
    check_growth(time_style::exact);
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
            BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(given.value, 512)).status, TLA_SIZE_MISMATCH);
            BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(given.value, 100)).status, TLA_OK);
            BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(given.value, 100)).status, TLA_NOT_ALLOCATED);
            bytes data(100);
            BOOST_CHECK_EQUAL(b.data.read(given.value, data, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE); // after free
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
    config.memory.hbm_front.slot = 3 << 10;
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

BOOST_AUTO_TEST_CASE(an_alloc_that_fails_says_what_the_front_keeps) {
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
        b.cpu.command(0, trim_command(TLA_HBM));
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes)).status, TLA_OK);
    });
}
