// Tiles of a tiling beside loops that enumerate them.
#include "model/kernel/tiling.h"
#include "seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>

namespace {

tla_tiling plan_of(std::uint32_t m, std::uint32_t k, std::uint32_t n, std::uint32_t tm, std::uint32_t tk,
                   std::uint32_t tn) {
    const std::uint32_t size[] = {m, k, n}, tile[] = {tm, tk, tn};
    tla_tiling tiling{};
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_tiling_make(&tiling, size, tile, &error) == TLA_OK, error.text);
    return tiling;
}

// Every element of every step, in the order in which three loops meet them.
void check(const tla_tiling &tiling) {
    std::uint64_t index = 0, output = 0;
    for (std::uint32_t row = 0; row < tiling.m; row += tiling.tile_m)
        for (std::uint32_t column = 0; column < tiling.n; column += tiling.tile_n, output++)
            for (std::uint32_t deep = 0; deep < tiling.k; deep += tiling.tile_k, index++) {
                const tla_tile_step step = tla_tiling_step(&tiling, index);
                BOOST_REQUIRE_EQUAL(step.output, output);
                BOOST_REQUIRE_EQUAL(step.row, row);
                BOOST_REQUIRE_EQUAL(step.column, column);
                BOOST_REQUIRE_EQUAL(step.deep, deep);
                BOOST_REQUIRE_EQUAL(step.rows, std::min(tiling.tile_m, tiling.m - row));
                BOOST_REQUIRE_EQUAL(step.columns, std::min(tiling.tile_n, tiling.n - column));
                BOOST_REQUIRE_EQUAL(step.depth, std::min(tiling.tile_k, tiling.k - deep));
                BOOST_REQUIRE_EQUAL(step.first, deep == 0);
                BOOST_REQUIRE_EQUAL(step.last, tiling.k - deep <= tiling.tile_k);
                if (!step.last) continue;
                const tla_tile_step last = tla_tiling_output(&tiling, output);
                BOOST_REQUIRE_EQUAL(last.output, output);
                BOOST_REQUIRE_EQUAL(last.row, row);
                BOOST_REQUIRE_EQUAL(last.columns, step.columns);
                BOOST_REQUIRE_EQUAL(last.deep, deep);
            }
    BOOST_CHECK_EQUAL(tiling.steps, index);
    BOOST_CHECK_EQUAL(tiling.outputs, output);
}

} // namespace

BOOST_AUTO_TEST_CASE(kernbench_has_48_tiles_of_k) {
    const tla_tiling tiling = plan_of(32, 3072, 32, 32, 64, 32);
    BOOST_CHECK_EQUAL(tiling.steps, 48u);
    BOOST_CHECK_EQUAL(tiling.outputs, 1u);
    check(tiling);
    const tla_tiling cube = plan_of(256, 256, 256, 32, 64, 32);
    BOOST_CHECK_EQUAL(cube.steps, 8u * 8 * 4);
    check(cube);
}

BOOST_AUTO_TEST_CASE(random_plans_are_what_three_loops_enumerate) {
    seeded_random random(1);
    for (int round = 0; round < 2000; round++) {
        std::uint32_t v[6];
        for (std::uint32_t &value : v)
            value = static_cast<std::uint32_t>(random.between(1, 40));
        BOOST_TEST_CONTEXT("round " << round) {
            check(plan_of(v[0], v[1], v[2], v[3], v[4], v[5]));
        }
    }
}

BOOST_AUTO_TEST_CASE(sizes_at_the_end_of_their_range_do_not_wrap) {
    const std::uint32_t most = UINT32_MAX;
    const tla_tiling tiling = plan_of(most, most, most, most - 1, most, 3);
    const tla_tile_step last = tla_tiling_step(&tiling, tiling.steps - 1);
    BOOST_CHECK_EQUAL(last.row, most - 1);
    BOOST_CHECK_EQUAL(last.rows, 1u);
    BOOST_CHECK_EQUAL(last.column, most - 3);
    BOOST_CHECK_EQUAL(last.columns, 3u);
    BOOST_CHECK_EQUAL(last.depth, most);
}

BOOST_AUTO_TEST_CASE(an_invalid_tiling_is_rejected_and_leaves_the_plan) {
    tla_tiling tiling{};
    tiling.m = 77;
    tla_error error{};
    const std::uint32_t ones[] = {1, 1, 1}, none[] = {4, 0, 4}, huge[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    BOOST_CHECK_EQUAL(tla_tiling_make(&tiling, none, ones, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(std::string(error.text), "k = 0 in tiles of 1: both must be above 0");
    BOOST_CHECK_EQUAL(tla_tiling_make(&tiling, ones, none, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_tiling_make(&tiling, huge, ones, &error), TLA_LIMIT);
    BOOST_CHECK_EQUAL(std::string(error.text), "4294967295 x 4294967295 x 4294967295 tiles: must be fewer than 2^63");
    BOOST_CHECK_EQUAL(tiling.m, 77u);
}
