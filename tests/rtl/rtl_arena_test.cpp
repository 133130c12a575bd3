// The engines in RTL behind an arena: every kind of request is placed as without, at the price of the profile.
#include "engine_behind_arena.hpp"
#include "modules/memory/rtl_engine.hpp"
#include "tlmalloc/config.h"

#include <string>

namespace {

tla_cost_profile prices_of(const char *profile) {
    const std::string text = std::string("controller.cost.profile=") + profile;
    const char *const set = text.c_str();
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, &set, 1, &config, nullptr, nullptr), TLA_OK);
    return config.controller.cost;
}

tla_engine engine_of(tla_policy policy, unsigned node_cycles, std::uint64_t units) {
    tla_engine engine{};
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tlmalloc::make_rtl_engine(policy, node_cycles, units, &engine, &error) == TLA_OK, error.text);
    return engine;
}

void check(tla_policy policy, unsigned node_cycles, std::uint64_t units, int operations) {
    const tla_engine engine = engine_of(policy, node_cycles, units);
    arena_pair both(engine, units, prices_of(engine.name), true);
    both.play(operations, 31 + units);
    BOOST_CHECK_GT(both.failed, 10u);
    BOOST_CHECK_GT(both.refused, 10u);
    BOOST_CHECK(policy == TLA_BUDDY || both.unaligned > 0);
    BOOST_CHECK_GT(both.batches, 10u);
}

} // namespace

BOOST_AUTO_TEST_CASE(first_fit_in_rtl_serves_an_arena) {
    check(TLA_FIRST_FIT, 1, 4000, 10000);
    check(TLA_FIRST_FIT, 2, 4000, 3000);
}

BOOST_AUTO_TEST_CASE(worst_fit_in_rtl_serves_an_arena) {
    check(TLA_WORST_FIT, 1, 4000, 10000);
}

BOOST_AUTO_TEST_CASE(offset_bins_in_rtl_serve_an_arena) {
    check(TLA_OFFSET_BINS, 1, 4000, 10000);
    check(TLA_OFFSET_BINS_ROUNDED, 2, 4000, 10000);
}

// Without a node, also for a request that no arena of this capacity serves, the engine and the arena refuse alike.
BOOST_AUTO_TEST_CASE(offset_bins_in_rtl_run_out_of_nodes_as_their_arena_does) {
    const tla_arena_config config{0, 1000, TLA_OFFSET_BINS, 1, false};
    tla_arena *arena = nullptr;
    tla_error error{};
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    const tla_engine engine = engine_of(TLA_OFFSET_BINS, 1, 1000);
    BOOST_REQUIRE_MESSAGE(tla_arena_drive(arena, &engine, 4, &error) == TLA_OK, error.text);
    tla_block first{}, second{}, none{};
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 2000, &none, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 100, &first, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 100, &second, nullptr), TLA_OK);
    tla_engine_work beside{};
    tla_work work{};
    work.engine = &beside;
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 8, &none, &work), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_arena_last_error(arena)->text,
                      "allocation of 8 bytes: needs a node, but none of the 4 nodes of offset_bins is left");
    BOOST_CHECK_EQUAL(beside.cycles, 1u);
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 2000, &none, nullptr), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_arena_serves_after(arena, &second, 1, 800), 100u);
    BOOST_CHECK_EQUAL(tla_arena_free(arena, second, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 8, &none, nullptr), TLA_OK);
    BOOST_CHECK(!tla_arena_difference(arena));
    tla_arena_destroy(arena);
}

BOOST_AUTO_TEST_CASE(offset_bins_in_rtl_take_over_live_blocks_whose_sizes_are_known) {
    for (const bool validates : {false, true}) {
        const tla_arena_config config{0, 1000, TLA_OFFSET_BINS_ROUNDED, 1, validates};
        tla_arena *arena = nullptr;
        tla_error error{};
        tla_block blocks[3];
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        for (tla_block &block : blocks)
            BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena, 100, &block, nullptr), TLA_OK);
        tla_engine engine = engine_of(TLA_OFFSET_BINS_ROUNDED, 1, 1000);
        if (!validates) {
            BOOST_CHECK_EQUAL(tla_arena_drive(arena, &engine, 5, &error), TLA_UNSUPPORTED);
            BOOST_CHECK_EQUAL(error.text,
                              "engine rtl_offset_bins cannot take over live blocks without their sizes: use an arena "
                              "that validates, or one without live blocks");
            BOOST_CHECK(!tla_arena_is_driven(arena));
            BOOST_REQUIRE_EQUAL(tla_arena_free(arena, blocks[1], nullptr), TLA_OK); // each is a range now
        }
        BOOST_REQUIRE_MESSAGE(tla_arena_drive(arena, &engine, 5, &error) == TLA_OK, error.text);
        if (validates) BOOST_CHECK_EQUAL(tla_arena_free(arena, blocks[1], nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_arena_free(arena, blocks[2], nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_arena_free(arena, blocks[0], nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_arena_alloc(arena, 960, &blocks[0], nullptr), TLA_OK);
        BOOST_CHECK(!tla_arena_difference(arena));
        tla_arena_destroy(arena);
    }
}

BOOST_AUTO_TEST_CASE(buddies_in_rtl_serve_an_arena) {
    for (const std::uint64_t units : {100u, 1000u, 4096u})
        check(TLA_BUDDY, 1, units, 5000);
}

// More units than those that take little of the host.
BOOST_AUTO_TEST_CASE(many_buddies_in_rtl_serve_an_arena) {
    check(TLA_BUDDY, 1, 10000, 1000);
}

BOOST_AUTO_TEST_CASE(an_engine_that_is_not_built_in_rtl_is_rejected) {
    tla_engine engine{};
    tla_error error{};
    BOOST_CHECK_EQUAL(tlmalloc::make_rtl_engine(TLA_BEST_FIT, 1, 100, &engine, &error), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(error.text, "no engine in RTL supports best_fit with 1 cycles a node");
    BOOST_CHECK_EQUAL(tlmalloc::make_rtl_engine(TLA_WORST_FIT, 2, 100, &engine, &error), TLA_UNSUPPORTED);
    BOOST_CHECK(!engine.serve);
}
