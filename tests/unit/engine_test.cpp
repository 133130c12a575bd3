// engine: what stands behind an arena is asked what the core decides, and its cycles are the price.
#include "naive_engine.hpp"
#include "seeded_random.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/base/work.h"
#include "tlmalloc/memory/pe_memory.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

struct arena_deleter {
    void operator()(tla_arena *arena) const { tla_arena_destroy(arena); }
};
using arena_ptr = std::unique_ptr<tla_arena, arena_deleter>;

arena_ptr make(tla_policy policy, std::uint64_t capacity, std::uint64_t alignment = 1, std::uint64_t base = 0,
               bool validate = false) {
    const tla_arena_config config{base, capacity, policy, alignment, validate};
    tla_arena *arena = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    return arena_ptr(arena);
}

arena_ptr driven(naive_engine &engine, std::uint64_t capacity, std::uint64_t alignment = 1, std::uint64_t base = 0,
                 std::uint64_t nodes = 0) {
    arena_ptr arena = make(TLA_FIRST_FIT, capacity, alignment, base);
    const tla_engine made = engine.as_engine();
    BOOST_REQUIRE_EQUAL(tla_arena_drive(arena.get(), &made, nodes, nullptr), TLA_OK);
    return arena;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> free_blocks(const tla_arena *arena) {
    std::vector<tla_block> blocks(tla_arena_get_stats(arena).free_blocks);
    blocks.resize(tla_arena_free_blocks(arena, 0, blocks.data(), blocks.size()));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> result;
    for (const tla_block &b : blocks)
        result.push_back({b.offset, b.nbytes});
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(with_an_engine_an_arena_places_as_without_one_and_its_cycles_are_the_price) {
    seeded_random random(71);
    naive_engine engine;
    const std::uint64_t unit = 64, base = 4096, capacity = 64 * 3000, nodes = 12;
    const arena_ptr with = driven(engine, capacity, unit, base, nodes),
                    without = make(TLA_FIRST_FIT, capacity, unit, base);
    BOOST_REQUIRE_EQUAL(tla_arena_drive(without.get(), nullptr, nodes, nullptr), TLA_OK);
    std::vector<tla_block> live;
    std::uint64_t refused = 0, without_node = 0;
    for (int i = 0; i < 20000; i++) {
        tla_engine_work asked{};
        tla_work a{}, b{};
        a.engine = &asked;
        if (live.empty() || random.one_in(2)) {
            const std::uint64_t nbytes = random.between(1, 64 * 90);
            tla_block here{}, there{};
            const tla_status status = tla_arena_alloc(with.get(), nbytes, &here, &a);
            BOOST_REQUIRE_EQUAL(status, tla_arena_alloc(without.get(), nbytes, &there, &b));
            BOOST_REQUIRE_EQUAL(here.offset, there.offset);
            if (!status) live.push_back({here.offset, nbytes});
            refused += status != TLA_OK;
        } else {
            const std::size_t which = random.between(0, live.size() - 1);
            const tla_status status = tla_arena_free(with.get(), live[which], &a);
            BOOST_REQUIRE_EQUAL(status, tla_arena_free(without.get(), live[which], &b));
            if (!status) live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
            without_node += status == TLA_LIMIT;
        }
        // The naive engine takes what the list's prices say; the price is its cycles and nothing beside them.
        BOOST_REQUIRE_EQUAL(asked.cycles, engine.last_cycles);
        BOOST_REQUIRE_EQUAL(tla_cost_price(&naive_engine::prices, &a), tla_cost_price(&naive_engine::prices, &b));
        BOOST_REQUIRE_EQUAL(a.nodes_visited, b.nodes_visited);
        BOOST_REQUIRE(free_blocks(with.get()) == free_blocks(without.get()));
    }
    BOOST_CHECK_GT(refused, 10u);
    BOOST_CHECK_GT(without_node, 10u);
    BOOST_CHECK(!tla_arena_difference(with.get()));
    BOOST_CHECK_EQUAL(tla_arena_get_stats(with.get()).used, tla_arena_get_stats(without.get()).used);
}

BOOST_AUTO_TEST_CASE(a_difference_is_an_error_with_the_operation_and_both_results) {
    naive_engine engine;
    const arena_ptr arena = driven(engine, 64 * 100, 64);
    tla_block a{}, b{};
    tla_work work{};
    BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena.get(), 640, &a, &work), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena.get(), 640, &b, &work), TLA_OK);
    engine.next = [](tla_engine_answer &answer) { answer.offset++; };
    tla_block c{};
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), 100, &c, &work), TLA_ENGINE_DIFFERS);
    BOOST_CHECK_EQUAL(tla_arena_last_error(arena.get())->text,
                      "engine naive, operation 3: allocate 2, in units of 64 bytes: the engine answers done at 21, the "
                      "core done at 20");
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).used, 1280u);
    BOOST_REQUIRE(tla_arena_difference(arena.get()));
    BOOST_CHECK_EQUAL(tla_arena_difference(arena.get())->text, std::string(tla_arena_last_error(arena.get())->text));
    // It is asked no more: what is taken can be given back, and nothing more be taken.
    const std::uint64_t asked = engine.asked;
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), 100, &c, &work), TLA_ENGINE_DIFFERS);
    BOOST_CHECK_EQUAL(tla_arena_free(arena.get(), a, &work), TLA_ENGINE_DIFFERS);
    BOOST_CHECK_EQUAL(tla_arena_free(arena.get(), b, &work), TLA_ENGINE_DIFFERS);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).used, 0u);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).free_blocks, 1u);
    BOOST_CHECK_EQUAL(tla_arena_free(arena.get(), a, &work), TLA_NOT_ALLOCATED); // a refusal is one
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).used, 0u);
    BOOST_CHECK_EQUAL(engine.asked, asked);
}

BOOST_AUTO_TEST_CASE(a_wrong_status_and_a_missing_response_are_differences) {
    const auto text_of = [](const std::function<void(tla_engine_answer &)> &change, tla_status silent) {
        naive_engine engine;
        const arena_ptr arena = driven(engine, 100);
        tla_block block{};
        BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena.get(), 10, &block, nullptr), TLA_OK);
        engine.next = change;
        engine.silent = silent;
        BOOST_CHECK_EQUAL(tla_arena_free(arena.get(), block, nullptr), TLA_ENGINE_DIFFERS);
        BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).used, 0u); // the core has decided
        return std::string(tla_arena_last_error(arena.get())->text);
    };
    const std::string what = "engine naive, operation 2: release 10 at 0, in units of 1 bytes: the engine answers ";
    BOOST_CHECK_EQUAL(text_of([](tla_engine_answer &a) { a.status = TLA_ENGINE_NO_NODE; }, TLA_OK),
                      what + "no node, the core done");
    BOOST_CHECK_EQUAL(text_of([](tla_engine_answer &a) { std::memset(&a.status, 9, 1); }, TLA_OK),
                      what + "status 9, the core done");
    BOOST_CHECK_EQUAL(text_of(nullptr, TLA_TIMEOUT), what + "with an error (it sleeps), the core done");
}

BOOST_AUTO_TEST_CASE(an_engine_takes_a_used_arena_over_and_follows_a_snapshot) {
    arena_ptr arena = make(TLA_FIRST_FIT, 1000);
    tla_block blocks[10];
    for (tla_block &block : blocks)
        BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena.get(), 100, &block, nullptr), TLA_OK);
    for (int i = 1; i < 10; i += 3)
        BOOST_REQUIRE_EQUAL(tla_arena_free(arena.get(), blocks[i], nullptr), TLA_OK);
    naive_engine engine;
    const tla_engine made = engine.as_engine();
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_arena_drive(arena.get(), &made, 2, &error), TLA_LIMIT);
    BOOST_CHECK_EQUAL(error.text, "3 free blocks need more than the 2 nodes of the free list");
    BOOST_REQUIRE_EQUAL(tla_arena_drive(arena.get(), &made, 3, &error), TLA_OK);
    BOOST_CHECK(engine.list ==
                (std::vector<std::pair<std::uint64_t, std::uint64_t>>{{100, 100}, {400, 100}, {700, 100}}));
    tla_block block{};
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), 60, &block, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(block.offset, 100u);
    const std::string four =
        "tlmalloc-arena 1\npolicy first_fit\nbase 0\ncapacity 1000\nalignment 1\npeak 1000\ncursor 0\n"
        "free 4\n0 10\n20 10\n40 10\n60 10\nend\n";
    BOOST_CHECK_EQUAL(tla_arena_restore(arena.get(), four.data(), four.size(), &error), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).free, 240u); // as it was, with its engine
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), 40, &block, nullptr), TLA_OK);
    const std::string one =
        "tlmalloc-arena 1\npolicy first_fit\nbase 0\ncapacity 1000\nalignment 1\npeak 1000\ncursor 0\n"
        "free 1\n20 30\nend\n";
    BOOST_CHECK_EQUAL(tla_arena_restore(arena.get(), one.data(), one.size(), &error), TLA_OK);
    tla_engine_work asked{};
    tla_work work{};
    work.engine = &asked;
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), 30, &block, &work), TLA_OK);
    BOOST_CHECK_EQUAL(block.offset, 20u);
    BOOST_CHECK_GT(asked.cycles, 0u);
}

BOOST_AUTO_TEST_CASE(an_operation_that_an_engine_does_not_support_is_rejected_by_name) {
    naive_engine engine;
    const tla_engine made = engine.as_engine();
    const auto refused = [&](const arena_ptr &arena, std::uint64_t nodes) {
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_arena_drive(arena.get(), &made, nodes, &error), TLA_UNSUPPORTED);
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(refused(make(TLA_BEST_FIT, 100), 0),
                      "engine naive implements first_fit, but the arena's policy is best_fit");
    BOOST_CHECK_EQUAL(refused(make(TLA_BUDDY, 64), 0),
                      "engine naive implements first_fit, but the arena's policy is buddy");
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_arena_drive(make(TLA_BUDDY, 64).get(), nullptr, 8, &error), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(error.text, "buddy keeps no single list whose nodes could be limited");
    BOOST_CHECK_EQUAL(refused(make(TLA_TLSF, 64), 0),
                      "tlsf keeps no single list whose nodes could be limited or walked");
    BOOST_CHECK_EQUAL(refused(make(TLA_FIRST_FIT, 100), 65), "engine naive supports at most 64 nodes, not 65");
    BOOST_CHECK_EQUAL(refused(make(TLA_FIRST_FIT, (std::uint64_t{1} << 33) + 1), 0),
                      "engine naive supports 1 .. 8589934592 units, but the arena has 8589934593 of 1 bytes");
    BOOST_CHECK_EQUAL(refused(make(TLA_FIRST_FIT, 100, 64), 0),
                      "engine naive: the arena's 100 bytes must be a multiple of 64");
    const arena_ptr arena = driven(engine, 1000, 8);
    BOOST_CHECK_EQUAL(refused(arena, 0), "the arena already has an engine or a node limit");
    tla_block block{};
    BOOST_CHECK_EQUAL(tla_arena_alloc_aligned(arena.get(), 8, 16, &block, nullptr), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(tla_arena_reserve(arena.get(), {8, 8}, nullptr), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(
        tla_arena_last_error(arena.get())->text,
        std::string("engine naive: the engine chooses the addresses of blocks and cannot reserve a given range"));
    BOOST_CHECK_EQUAL(tla_arena_grow(arena.get(), 8, nullptr), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).free, 1000u);
}

BOOST_AUTO_TEST_CASE(more_than_there_is_at_all_is_refused_by_the_engine_too) {
    naive_engine engine;
    const arena_ptr arena = driven(engine, 64 * 100, 64);
    tla_block block{};
    tla_engine_work asked{};
    tla_work work{};
    work.engine = &asked;
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), 64 * 100 + 1, &block, &work), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(engine.asked, 1u);
    BOOST_CHECK_EQUAL(work.nodes_visited, 1u);
    BOOST_CHECK_EQUAL(asked.cycles, 2u); // 1, and one node
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), 64 * 100, &block, &work), TLA_OK);
    BOOST_CHECK_EQUAL(engine.asked, 2u);
}

BOOST_AUTO_TEST_CASE(more_than_an_engine_can_count_is_priced_by_the_receipt_and_not_asked_for) {
    naive_engine engine;
    const std::uint64_t most = engine.as_engine().capacity_max;
    const arena_ptr arena = driven(engine, most);
    tla_block block{};
    tla_engine_work asked{};
    tla_work work{};
    work.engine = &asked;
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), most + 1, &block, &work), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(engine.asked, 0u);
    BOOST_CHECK_EQUAL(work.nodes_visited, 1u);
    BOOST_CHECK_EQUAL(asked.cycles, 0u);
}

BOOST_AUTO_TEST_CASE(the_engine_serves_every_block_and_every_run_of_a_batch) {
    naive_engine engine;
    const arena_ptr arena = driven(engine, 1000, 1, 0, 4);
    tla_block blocks[4];
    tla_engine_work asked{};
    tla_work work{};
    work.engine = &asked;
    engine.behind_each = 50; // each waits for what goes on behind the one before
    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(arena.get(), 10, 4, TLA_BATCH_CARVED, blocks, &work), TLA_OK);
    BOOST_CHECK_EQUAL(engine.asked, 4u);
    BOOST_CHECK_EQUAL(asked.requests, 4u);
    BOOST_CHECK_EQUAL(asked.cycles, 4 * 2 + 3 * 50u);
    BOOST_CHECK_EQUAL(asked.cycles_behind, 50u);
    BOOST_CHECK_EQUAL(tla_arena_free_batch(arena.get(), blocks, 4, &work), TLA_OK);
    BOOST_CHECK_EQUAL(engine.asked, 5u);
    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(arena.get(), 10, 4, TLA_BATCH_CONTIGUOUS, blocks, &work), TLA_OK);
    BOOST_CHECK_EQUAL(engine.asked, 6u);
    // Not all of the carved blocks: those that were taken are given back.
    engine.next = [](tla_engine_answer &answer) { answer.offset++; };
    tla_block more[4];
    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(arena.get(), 10, 4, TLA_BATCH_CARVED, more, &work), TLA_ENGINE_DIFFERS);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).used, 40u);
    BOOST_CHECK_EQUAL(tla_arena_free_batch(arena.get(), blocks, 4, &work), TLA_ENGINE_DIFFERS);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).used, 0u);
}

// Of every policy with a list: the limit alone.
BOOST_AUTO_TEST_CASE(a_list_has_so_many_nodes_and_what_needs_one_more_changes_nothing) {
    for (const tla_policy policy : {TLA_FIRST_FIT, TLA_BEST_FIT, TLA_NEXT_FIT, TLA_WORST_FIT, TLA_FIRST_FIT_TOP})
        BOOST_TEST_CONTEXT(tla_policy_name(policy)) {
            const arena_ptr arena = make(policy, 1000, 1, 0, true), copy = make(policy, 1000, 1, 0, true);
            tla_block blocks[10];
            for (tla_block &block : blocks) {
                BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena.get(), 100, &block, nullptr), TLA_OK);
                BOOST_REQUIRE_EQUAL(tla_arena_alloc(copy.get(), 100, &block, nullptr), TLA_OK);
            }
            BOOST_REQUIRE_EQUAL(tla_arena_drive(arena.get(), nullptr, 2, nullptr), TLA_OK);
            for (const int i : {1, 5}) {
                BOOST_REQUIRE_EQUAL(tla_arena_free(arena.get(), blocks[i], nullptr), TLA_OK);
                BOOST_REQUIRE_EQUAL(tla_arena_free(copy.get(), blocks[i], nullptr), TLA_OK);
            }
            tla_work work{};
            BOOST_CHECK_EQUAL(tla_arena_free(arena.get(), blocks[8], &work), TLA_LIMIT);
            BOOST_CHECK_EQUAL(work.nodes_created, 0u);
            BOOST_CHECK_EQUAL(work.frees, 1u); // it has walked
            BOOST_CHECK(std::string(tla_arena_last_error(arena.get())->text).find("all 2 nodes are in use") !=
                        std::string::npos);
            tla_block two[] = {blocks[3], blocks[8]};
            BOOST_CHECK_EQUAL(tla_arena_free_batch(arena.get(), two, 2, nullptr), TLA_LIMIT);
            BOOST_CHECK(free_blocks(arena.get()) == free_blocks(copy.get()));
            BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).used, 800u);
            // Nothing else is otherwise: the same requests find the same blocks, and what joins can go.
            for (const unsigned nbytes : {10u, 40u, 60u, 90u}) {
                tla_block here{}, there{};
                BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), nbytes, &here, nullptr),
                                  tla_arena_alloc(copy.get(), nbytes, &there, nullptr));
                BOOST_CHECK_EQUAL(here.offset, there.offset);
            }
            BOOST_CHECK_EQUAL(tla_arena_reserve(arena.get(), {free_blocks(arena.get())[0].first + 1, 1}, nullptr),
                              free_blocks(arena.get()).size() < 2 ? TLA_OK : TLA_LIMIT);
        }
}

BOOST_AUTO_TEST_CASE(a_memory_of_a_controller_has_an_engine_for_its_list_with_a_guard_too) {
    naive_engine engine;
    tla_pe_memory_config config{};
    config.of[TLA_HBM].bytes = 1 << 20;
    config.of[TLA_TCM].bytes = 1 << 16;
    config.alignment = 64;
    config.guarded = true;
    config.guard_history = 4;
    config.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_FIRST_FIT);
    config.of[TLA_TCM].policy = tla_stack_policy_of(TLA_FRONT_MIXED, TLA_FIRST_FIT);
    config.of[TLA_HBM].front = config.of[TLA_TCM].front = {};
    config.of[TLA_TCM].front.buffers = 4096;
    tla_pe_memory *memory = nullptr;
    BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&config, &memory), TLA_OK);
    const std::unique_ptr<tla_pe_memory, void (*)(tla_pe_memory *)> owner(memory, tla_pe_memory_destroy);
    const tla_engine made = engine.as_engine();
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_pe_memory_drive(memory, TLA_TCM, &made, 0, &error), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(error.text, "TCM: front mixed keeps its own lists, which no engine supports");
    BOOST_REQUIRE_EQUAL(tla_pe_memory_drive(memory, TLA_HBM, &made, 0, &error), TLA_OK);
    tla_paddr pa{};
    tla_engine_work of_miss{}, of_hit{};
    tla_work miss{}, pushed{}, hit{};
    miss.engine = &of_miss;
    hit.engine = &of_hit;
    BOOST_CHECK_EQUAL(tla_pe_memory_alloc(memory, TLA_HBM, 1000, &pa, &miss), TLA_OK);
    BOOST_CHECK_EQUAL(engine.asked, 1u);
    BOOST_CHECK_GT(of_miss.cycles, 0u);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(memory, pa, 1000, &pushed), TLA_OK);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(memory, pa, 1000, &pushed), TLA_NOT_ALLOCATED); // by the guard
    BOOST_CHECK_EQUAL(tla_pe_memory_alloc(memory, TLA_HBM, 1000, &pa, &hit), TLA_OK);
    BOOST_CHECK_EQUAL(engine.asked, 1u); // a hit does not reach the list, and keeps its price
    BOOST_CHECK_EQUAL(of_hit.cycles, 0u);
    BOOST_CHECK_GT(tla_cost_price(&naive_engine::prices, &hit), 0u);
    BOOST_CHECK_EQUAL(tla_pe_memory_follow(memory, TLA_HBM, 16, 0), TLA_UNSUPPORTED);
}
