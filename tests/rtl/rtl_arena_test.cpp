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
