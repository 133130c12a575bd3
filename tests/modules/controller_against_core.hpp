// A memory controller beside stacks of the core that serve the same memories: random requests get, cost and leave the
// same.
#ifndef TLMALLOC_TESTS_MODULES_CONTROLLER_AGAINST_CORE_HPP
#define TLMALLOC_TESTS_MODULES_CONTROLLER_AGAINST_CORE_HPP

#include "../unit/seeded_random.hpp"
#include "../unit/stacks.hpp"
#include "controller_bench.hpp"

// Every memory of a controller with this stack.
inline memory_controller::config with_front(tla_stack_policy policy) {
    memory_controller::config config = small();
    config.memory.of[TLA_HBM].policy = config.memory.of[TLA_TCM].policy = config.memory.of[TLA_HOST_MEMORY].policy =
        policy;
    config.memory.of[TLA_HBM].front = config.memory.of[TLA_HOST_MEMORY].front = {
        80 << 10, 32 << 10, 64 << 10, 128 << 10, 32 << 10, 64 << 10, 1000000000};
    config.memory.of[TLA_TCM].front = {10 << 10, 1 << 10, 4 << 10, 0, 4 << 10, 8 << 10, 700000000};
    // Every event has a price of its own.
    tla_cost_profile &cost = config.cost;
    cost = {};
    cost.fixed_ps = 1000003;
    std::uint64_t price = 101;
    for (std::uint64_t tla_cost_profile::*unit :
         {&tla_cost_profile::node_ps, &tla_cost_profile::insert_node_ps, &tla_cost_profile::probe_ps,
          &tla_cost_profile::split_ps, &tla_cost_profile::merge_ps, &tla_cost_profile::metadata_line_ps,
          &tla_cost_profile::walk_ps, &tla_cost_profile::walk_node_ps, &tla_cost_profile::class_lookup_ps,
          &tla_cost_profile::list_pop_ps, &tla_cost_profile::list_push_ps, &tla_cost_profile::slot_ps,
          &tla_cost_profile::driver_call_ps})
        cost.*unit = price += 1009;
    return config;
}

inline tla_stack_policy over(tla_front front, tla_policy placement = TLA_FIRST_FIT) {
    return tla_stack_policy_of(front, placement);
}

inline tla_command trim_command(tla_channel channel) {
    tla_command command{};
    command.opcode = TLA_OP_TRIM;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.channel = channel;
    return command;
}

// A receipt with that of the list's engine.
struct receipt : tla_work {
    receipt() : tla_work{} { engine = &beside; }
    receipt(const receipt &) = delete;
    tla_engine_work beside{};
};

// Sends random requests about these memories to the controller of a bench (controller_bench.hpp), and checks every
// completion against a stack of the core.
template <typename Bench>
void check_against_core(const memory_controller::config &config, const std::vector<tla_channel> &channels,
                        unsigned operations) {
    Bench b(config);
    std::vector<stacks::stack_pointer> made;
    for (const tla_channel channel : channels)
        made.push_back(stacks::make(tla_pe_memory_stack_config(&config.memory, channel)));
    const auto address = [&](std::size_t c, std::uint64_t offset) {
        tla_paddr pa{};
        BOOST_REQUIRE_EQUAL(tla_pe_memory_address(&config.memory, channels[c], offset, &pa), TLA_OK);
        return pa.value;
    };
    const auto advance = [&] { // a command finds what was due when it arrived
        for (const auto &stack : made)
            BOOST_REQUIRE_EQUAL(tla_stack_advance(stack.get(), to_ps(sc_core::sc_time_stamp()), nullptr), TLA_OK);
    };
    struct block {
        std::size_t channel;
        std::uint64_t offset, nbytes;
    };
    std::vector<block> live;
    seeded_random random(29);
    std::uint64_t failures = 0;
    const auto check = [&](const tla_completion &answer, std::size_t c, tla_status status, const tla_work &work) {
        const tla_arena_stats now = tla_stack_get_stats(made[c].get()).memory;
        BOOST_REQUIRE_EQUAL(tla_status_name(answer.status), tla_status_name(status));
        BOOST_REQUIRE_EQUAL(answer.service_ps, tla_cost_price(&config.cost, &work));
        BOOST_REQUIRE_EQUAL(answer.nodes_visited, work.nodes_visited);
        BOOST_REQUIRE_EQUAL(answer.total_free, now.free);
        BOOST_REQUIRE_EQUAL(answer.largest_free, now.largest_free);
    };
    const auto give_back = [&](const block &of) {
        receipt work;
        const tla_completion answer = b.cpu.command(0, free_command(address(of.channel, of.offset), of.nbytes));
        check(answer, of.channel, tla_stack_free(made[of.channel].get(), {of.offset, of.nbytes}, &work), work);
    };
    b.run([&] {
        for (unsigned i = 0; i < operations; i++) {
            advance();
            if (!live.empty() && random.one_in(2)) {
                std::swap(live[random.between(0, live.size() - 1)], live.back());
                give_back(live.back());
                live.pop_back();
                continue;
            }
            const std::size_t c = random.between(0, channels.size() - 1);
            static const tla_memory_format formats[] = {TLA_FORMAT_UNDEFINED, TLA_FORMAT_KV_MLA,
                                                        TLA_FORMAT_BINARY_BUFFER};
            const std::uint64_t most = std::uint64_t{1} << random.between(1, channels[c] == TLA_TCM ? 14 : 18);
            const tla_stack_request request{random.between(1, most), random.between(0, 2),
                                            formats[random.between(0, 2)]};
            tla_command command = alloc_command(channels[c], request.nbytes);
            command.format = request.format;
            command.stream = static_cast<std::uint32_t>(request.stream);
            tla_block granted{};
            receipt work;
            const tla_completion answer = b.cpu.command(0, command);
            const tla_status status = tla_stack_alloc(made[c].get(), &request, &granted, &work);
            check(answer, c, status, work);
            const bool shortage = status == TLA_EXHAUSTED || status == TLA_FRAGMENTED;
            const std::uint64_t promised = shortage ? tla_stack_trim_serves(made[c].get(), &request) : 0;
            BOOST_REQUIRE_EQUAL(answer.value, status ? promised : address(c, granted.offset));
            if (shortage) BOOST_REQUIRE_EQUAL(answer.nbytes, tla_stack_takes(made[c].get(), &request));
            failures += status != TLA_OK;
            if (!status) live.push_back({c, granted.offset, request.nbytes});
            if (i % 5000 == 4999) { // and goes on
                receipt trimmed;
                std::uint64_t given_back = 0;
                const tla_completion done = b.cpu.command(0, trim_command(channels[c]));
                check(done, c, tla_stack_trim(made[c].get(), &given_back, &trimmed), trimmed);
                BOOST_REQUIRE_EQUAL(done.nbytes, given_back);
            }
        }
        for (const block &last : live) {
            advance();
            give_back(last);
        }
        for (const tla_channel channel : channels) {
            BOOST_CHECK(b.controller.is_as_at_the_beginning(channel)); // as far as a front lets it
            const memory_controller::statistics s = b.controller.get_statistics(channel);
            BOOST_CHECK_EQUAL(s.arena.used, 0u);
            const tla_completion done = b.cpu.command(0, trim_command(channel));
            BOOST_CHECK_EQUAL(done.nbytes, s.held);
            BOOST_CHECK_EQUAL(b.controller.get_statistics(channel).held, 0u);
            BOOST_CHECK(b.controller.is_as_at_the_beginning(channel));
        }
    });
    BOOST_CHECK_GT(failures, 0u);
}

#endif
