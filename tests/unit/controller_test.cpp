// tla_controller: commands beside a stack for each memory, beside a naive model of references, and what follows from an
// address.
#include "commander.hpp"
#include "object_model.hpp"
#include "stacks.hpp"
#include "tlmalloc/base/work.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace {

// Every event of a list and of a front has a price of its own.
tla_cost_profile prices() {
    tla_cost_profile cost{};
    cost.fixed_ps = 1000003;
    std::uint64_t price = 101;
    for (std::uint64_t tla_cost_profile::*unit :
         {&tla_cost_profile::node_ps, &tla_cost_profile::insert_node_ps, &tla_cost_profile::probe_ps,
          &tla_cost_profile::bin_search_ps, &tla_cost_profile::split_ps, &tla_cost_profile::merge_ps,
          &tla_cost_profile::metadata_line_ps, &tla_cost_profile::walk_ps, &tla_cost_profile::walk_node_ps,
          &tla_cost_profile::class_lookup_ps, &tla_cost_profile::list_pop_ps, &tla_cost_profile::list_push_ps,
          &tla_cost_profile::slot_ps, &tla_cost_profile::driver_call_ps})
        cost.*unit = price += 1009;
    return cost;
}

tla_pe_memory_config with_front(tla_stack_policy policy) {
    tla_pe_memory_config config{};
    config.sip = 1, config.die = 2, config.pe = 3;
    config.of[TLA_HBM] = {1 << 20, 0, policy, {80 << 10, 32 << 10, 64 << 10, 128 << 10, 32 << 10, 64 << 10, 7000}, 0};
    config.of[TLA_TCM] = {64 << 10, 16 << 10, policy, {10 << 10, 1 << 10, 4 << 10, 8 << 10, 4 << 10, 8 << 10, 5000}, 0};
    config.of[TLA_HOST_MEMORY] = config.of[TLA_HBM];
    return config;
}

// Random ALLOCs, FREEs and TRIMs, and the same of stacks.
void check_beside_stacks(tla_stack_policy policy, unsigned operations) {
    const tla_memory_kind kinds[] = {TLA_HBM, TLA_TCM, TLA_HOST_MEMORY};
    const tla_cost_profile cost = prices();
    commander c(with_front(policy));
    std::vector<stacks::stack_pointer> made;
    for (const tla_memory_kind kind : kinds)
        made.push_back(stacks::make(tla_pe_memory_stack_config(&c.config, kind)));
    struct block {
        std::size_t kind;
        std::uint64_t offset, nbytes;
    };
    std::vector<block> live;
    seeded_random random(29);
    std::uint64_t failures = 0;
    const auto address = [&](std::size_t kind, std::uint64_t offset) {
        return tla_pe_memory_site_at(&c.config, kinds[kind], offset).pa.value;
    };
    const auto check = [&](const tla_completion &answer, std::size_t kind, tla_status status, const tla_work &work) {
        const tla_arena_stats now = tla_stack_get_stats(made[kind].get()).memory;
        BOOST_REQUIRE_EQUAL(tla_status_name(answer.status), tla_status_name(status));
        BOOST_REQUIRE_EQUAL(c.outcome.memory, kinds[kind]);
        BOOST_REQUIRE_EQUAL(tla_cost_price(&cost, &c.outcome.work), tla_cost_price(&cost, &work));
        BOOST_REQUIRE_EQUAL(tla_cost_behind(&cost, &c.outcome.work), tla_cost_behind(&cost, &work));
        BOOST_REQUIRE_EQUAL(answer.nodes_visited, work.nodes_visited);
        BOOST_REQUIRE_EQUAL(answer.total_free, now.free);
        BOOST_REQUIRE_EQUAL(answer.largest_free, now.largest_free);
    };
    const auto give_back = [&](const block &of) {
        receipt work;
        const std::size_t before = c.gone.size();
        const std::uint64_t granted = tla_stack_granted(made[of.kind].get(), {of.offset, of.nbytes});
        const tla_completion answer = c.about(TLA_OP_FREE, address(of.kind, of.offset), of.nbytes);
        check(answer, of.kind, tla_stack_free(made[of.kind].get(), {of.offset, of.nbytes}, &work), work);
        BOOST_REQUIRE_EQUAL(c.gone.size(), before + 1);
        BOOST_REQUIRE(c.gone.back().memory == kinds[of.kind] && c.gone.back().offset == of.offset);
        BOOST_REQUIRE_EQUAL(c.gone.back().granted, granted);
    };
    const auto grow = [&] { // a command finds what was due when it arrived
        std::uint64_t at_ps = 0;
        while (!tla_controller_commit(c.controller, c.now, &at_ps, &c.outcome)) {
        }
        for (const auto &stack : made)
            BOOST_REQUIRE_EQUAL(tla_stack_advance(stack.get(), c.now, nullptr), TLA_OK);
    };
    for (unsigned i = 0; i < operations; i++) {
        c.now += random.between(0, 9);
        grow();
        if (!live.empty() && random.one_in(2)) {
            std::swap(live[random.between(0, live.size() - 1)], live.back());
            give_back(live.back());
            live.pop_back();
            continue;
        }
        static const tla_memory_format formats[] = {TLA_FORMAT_UNDEFINED, TLA_FORMAT_KV_MLA, TLA_FORMAT_BINARY_BUFFER};
        const std::size_t kind = random.between(0, std::size(kinds) - 1);
        const std::uint64_t most = std::uint64_t{1} << random.between(1, kinds[kind] == TLA_TCM ? 14 : 18);
        const tla_stack_request request{random.between(1, most), random.between(0, 2), formats[random.between(0, 2)]};
        receipt work;
        tla_block granted{};
        const tla_completion answer = c.alloc(kinds[kind], request);
        const tla_status status = tla_stack_alloc(made[kind].get(), &request, &granted, &work);
        check(answer, kind, status, work);
        const bool shortage = status == TLA_EXHAUSTED || status == TLA_FRAGMENTED;
        const std::uint64_t promised = shortage ? tla_stack_trim_serves(made[kind].get(), &request) : 0;
        BOOST_REQUIRE_EQUAL(answer.value, status ? promised : address(kind, granted.offset));
        if (shortage) BOOST_REQUIRE_EQUAL(answer.nbytes, tla_stack_takes(made[kind].get(), &request));
        failures += status != TLA_OK;
        if (!status) live.push_back({kind, granted.offset, request.nbytes});
        if (i % 1000 == 999) {
            receipt trimmed;
            std::uint64_t given_back = 0;
            tla_command trim{};
            trim.opcode = TLA_OP_TRIM;
            trim.memory = kinds[kind];
            const tla_completion done = c.run(trim);
            check(done, kind, tla_stack_trim(made[kind].get(), &given_back, &trimmed), trimmed);
            BOOST_REQUIRE_EQUAL(done.nbytes, given_back);
        }
    }
    for (const block &last : live)
        give_back(last);
    for (const tla_memory_kind kind : kinds) {
        BOOST_CHECK(tla_controller_is_as_at_the_beginning(c.controller, kind)); // as far as a front lets it
        BOOST_CHECK_EQUAL(c.used(kind), 0u);
    }
    BOOST_CHECK_GT(failures, 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(commands_do_what_every_stack_does) {
    for (const tla_stack_policy policy : stacks::all_policies())
        BOOST_TEST_CONTEXT(stacks::name_of(policy))
    check_beside_stacks(policy, tla_stack_placement(policy) == TLA_FIRST_FIT ? 20000 : 4000);
}

BOOST_AUTO_TEST_CASE(commands_about_references_do_what_a_naive_model_does) {
    check_against_model<commander>(object_memory(), 50000);
}

BOOST_AUTO_TEST_CASE(commands_about_references_do_so_over_a_guarded_front) {
    tla_pe_memory_config config = object_memory(tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_BEST_FIT));
    config.guarded = true;
    config.guard_history = 16;
    check_against_model<commander>(config, 20000);
}

BOOST_AUTO_TEST_CASE(a_batch_and_a_key_are_their_blocks_one_by_one) {
    commander batched, single;
    tla_command take{};
    take.opcode = TLA_OP_ALLOC_BATCH;
    take.memory = TLA_TCM;
    take.nbytes = 1000, take.count = 5, take.batch = TLA_BATCH_CARVED;
    const tla_completion taken = batched.run(take);
    BOOST_REQUIRE_EQUAL(taken.status, TLA_OK);
    BOOST_CHECK_EQUAL(taken.nbytes, 5000u);
    std::vector<tla_placed_block> blocks;
    for (int i = 0; i < 5; i++)
        blocks.push_back({{single.alloc(TLA_TCM, {1000, 0, TLA_FORMAT_UNDEFINED}).value}, 1000});
    std::vector<std::uint8_t> expected(TLA_COMMAND_MAX_BYTES);
    expected.resize(tla_batch_result_encode(blocks.data(), 5, expected.data()));
    BOOST_CHECK(std::vector<std::uint8_t>(batched.outcome.result,
                                          batched.outcome.result + batched.outcome.result_length) == expected);
    tla_command put{};
    put.opcode = TLA_OP_PUT;
    put.key = 9;
    put.count = 2;
    put.blocks[0] = blocks[3], put.blocks[1] = blocks[1];
    for (const std::uint64_t added : {1u, 0u}) {
        const tla_completion done = batched.run(put);
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK_EQUAL(done.value, added);
        BOOST_CHECK_EQUAL(done.nbytes, 2000u);
    }
    tla_command give{};
    give.opcode = TLA_OP_FREE_BATCH;
    give.count = 3;
    give.blocks[0] = blocks[3], give.blocks[1] = blocks[0], give.blocks[2] = blocks[0];
    const tla_completion twice = batched.run(give);
    BOOST_CHECK_EQUAL(twice.status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(twice.value, 2u);
    give.blocks[2] = {{UINT64_MAX}, 1000};
    const tla_completion elsewhere = batched.run(give);
    BOOST_CHECK_EQUAL(elsewhere.status, TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(elsewhere.value, 2u);
    give.blocks[2] = blocks[4];
    const tla_completion given = batched.run(give);
    BOOST_CHECK_EQUAL(given.status, TLA_OK);
    BOOST_CHECK_EQUAL(given.value, 2u); // the cache holds the first
    BOOST_CHECK_EQUAL(given.nbytes, 3000u);
    BOOST_CHECK_EQUAL(batched.used(TLA_TCM), 3000u);
    tla_command get{};
    get.opcode = TLA_OP_GET;
    get.memory = TLA_TCM;
    get.key = 9;
    BOOST_CHECK_EQUAL(batched.run(get).value, blocks[3].pa.value);
    BOOST_CHECK_EQUAL(batched.about(TLA_OP_UNREF, blocks[3].pa.value).value, 1u);
    get.opcode = TLA_OP_REMOVE;
    BOOST_CHECK_EQUAL(batched.run(get).value, 2u);
    BOOST_CHECK_EQUAL(batched.used(TLA_TCM), 2000u);
}

BOOST_AUTO_TEST_CASE(the_controller_reports_freed_blocks_at_every_plain_address) {
    for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{0x8000'0000}, std::uint64_t{1} << 41,
                                     std::uint64_t{1} << 50, std::uint64_t{1} << 63}) {
        tla_pe_memory_config config = object_memory();
        config.layout = TLA_LAYOUT_PLAIN;
        config.of[TLA_HBM].base = base;
        config.of[TLA_TCM].base = base + (1 << 20);
        commander c(config);
        const std::uint64_t pa = c.alloc(TLA_HBM, {1000, 0, TLA_FORMAT_UNDEFINED}).value;
        BOOST_CHECK_EQUAL(pa, base);
        BOOST_CHECK_EQUAL(c.about(TLA_OP_FREE, pa, 1000).status, TLA_OK);
        BOOST_REQUIRE_EQUAL(c.gone.size(), 1u);
        BOOST_CHECK(c.gone[0].memory == TLA_HBM && c.gone[0].offset == 0 && c.gone[0].granted == 1000);
    }
}

BOOST_AUTO_TEST_CASE(a_trusted_free_of_a_plain_range_takes_all_its_blocks_whatever_serves_the_other_memory) {
    tla_pe_memory_config config = object_memory();
    config.layout = TLA_LAYOUT_PLAIN; // at 0, where a device's addresses have TCMs
    config.of[TLA_TCM].policy = tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_FIRST_FIT);
    config.of[TLA_TCM].base = 1 << 20;
    commander c(config);
    const std::uint64_t first = c.alloc(TLA_HBM, {100, 0, TLA_FORMAT_UNDEFINED}).value,
                        second = c.alloc(TLA_HBM, {100, 0, TLA_FORMAT_UNDEFINED}).value;
    BOOST_CHECK_EQUAL(c.about(TLA_OP_FREE, first, 200).status, TLA_OK);
    BOOST_CHECK_EQUAL(c.used(), 0u);
    BOOST_CHECK_EQUAL(c.about(TLA_OP_REF, second).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(c.stats(TLA_HBM).references, 0u);
}

BOOST_AUTO_TEST_CASE(every_command_with_an_address_rejects_an_address_outside_all_memories) {
    commander c;
    for (const tla_opcode opcode : {TLA_OP_FREE, TLA_OP_REF, TLA_OP_UNREF, TLA_OP_PIN, TLA_OP_UNPIN}) {
        BOOST_CHECK_EQUAL(c.about(opcode, UINT64_MAX, 8).status, TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(c.outcome.memory, TLA_HBM);
    }
    BOOST_CHECK_EQUAL(c.about(TLA_OP_FREE, UINT64_MAX).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(c.about(TLA_OP_PLACE, 0, 8).status, TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(c.about(TLA_OP_MAP, 0, 8).status, TLA_BAD_COMMAND);
    BOOST_CHECK_EQUAL(tla_controller_get_counts(c.controller, TLA_HBM).frees, 2u);
}

BOOST_AUTO_TEST_CASE(memories_that_grow_at_one_time_grow_in_the_order_of_their_kinds) {
    commander c(with_front(tla_stack_policy_of(TLA_FRONT_LAZY, TLA_FIRST_FIT)));
    std::vector<std::pair<std::uint64_t, int>> grown;
    std::uint64_t at_ps = 0;
    while (!tla_controller_commit(c.controller, UINT64_MAX, &at_ps, &c.outcome))
        grown.emplace_back(at_ps, c.outcome.memory);
    BOOST_CHECK(std::is_sorted(grown.begin(), grown.end()));
    const auto of_one_time =
        std::adjacent_find(grown.begin(), grown.end(), [](const auto &a, const auto &b) { return a.first == b.first; });
    BOOST_CHECK(of_one_time != grown.end());
}

// As many blocks are free as then, and as many bytes, but they lie elsewhere.
BOOST_AUTO_TEST_CASE(a_restored_memory_is_as_at_the_beginning_when_its_largest_free_block_is) {
    const auto nbytes = [](std::uint64_t n) { return tla_stack_request{n, 0, TLA_FORMAT_UNDEFINED}; };
    commander before;
    const std::uint64_t first = before.alloc(TLA_HBM, nbytes(100)).value,
                        live = before.alloc(TLA_HBM, nbytes(100)).value;
    BOOST_CHECK_EQUAL(before.about(TLA_OP_FREE, first, 100).status, TLA_OK);
    std::size_t length = 0;
    std::string text(1 << 16, 0);
    BOOST_REQUIRE_EQUAL(
        tla_arena_snapshot(tla_pe_memory_arena(before.memory, TLA_HBM), text.data(), text.size(), &length), TLA_OK);
    commander c;
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_controller_restore(c.controller, TLA_HBM, "c", text.data(), length, &error) == TLA_OK,
                          error.text);
    const auto as_then = [&] { return tla_controller_is_as_at_the_beginning(c.controller, TLA_HBM); };
    BOOST_CHECK(as_then());
    BOOST_CHECK_EQUAL(c.alloc(TLA_HBM, nbytes(100)).value, first);
    const std::uint64_t behind = c.alloc(TLA_HBM, nbytes(100)).value;
    BOOST_CHECK_EQUAL(behind, live + 100);
    BOOST_CHECK_EQUAL(c.about(TLA_OP_FREE, first, 100).status, TLA_OK);
    BOOST_CHECK(!as_then());
    BOOST_CHECK_EQUAL(c.about(TLA_OP_FREE, live, 100).status, TLA_OK);
    BOOST_CHECK(!as_then());
    BOOST_CHECK_EQUAL(c.alloc(TLA_HBM, nbytes(100)).value, first);
    BOOST_CHECK_EQUAL(c.alloc(TLA_HBM, nbytes(100)).value, live);
    BOOST_CHECK_EQUAL(c.about(TLA_OP_FREE, first, 100).status, TLA_OK);
    BOOST_CHECK_EQUAL(c.about(TLA_OP_FREE, behind, 100).status, TLA_OK);
    BOOST_CHECK(as_then());
}
