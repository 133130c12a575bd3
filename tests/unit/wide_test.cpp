// Products and quotients of 128 bits: what hosts of 32 bits get is what a compiler with such a type computes.
#include "model/base/wide.h"

#include <boost/test/unit_test.hpp>

#include <random>
#include <vector>

namespace {

__extension__ typedef unsigned __int128 native;

void check(std::uint64_t a, std::uint64_t b, std::uint64_t divisor) {
    const native product = native{a} * b;
    const tla_wide ours = wide_product_by_halves(a, b), usual = wide_product(a, b);
    BOOST_REQUIRE_EQUAL(ours.high, static_cast<std::uint64_t>(product >> 64));
    BOOST_REQUIRE_EQUAL(ours.low, static_cast<std::uint64_t>(product));
    BOOST_REQUIRE(usual.high == ours.high && usual.low == ours.low);
    if (divisor == 0) return;
    const native quotient = product / divisor;
    const std::uint64_t expected = quotient > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(quotient);
    std::uint64_t rest = 0, usual_rest = 0;
    BOOST_REQUIRE_EQUAL(wide_quotient_by_bits(ours, divisor, &rest), expected);
    BOOST_REQUIRE_EQUAL(wide_quotient(ours, divisor, &usual_rest), expected);
    BOOST_REQUIRE_EQUAL(rest, static_cast<std::uint64_t>(product % divisor));
    BOOST_REQUIRE_EQUAL(usual_rest, rest);
    BOOST_REQUIRE_EQUAL(wide_ratio(a, b, divisor), expected);
}

} // namespace

BOOST_AUTO_TEST_CASE(products_and_quotients_of_128_bits_are_those_of_the_compiler) {
    const std::vector<std::uint64_t> edges = {
        0, 1, 2, 3, UINT32_MAX, 1ull << 32, 1ull << 63, INT64_MAX, UINT64_MAX, UINT64_MAX - 1, 1'000'000'000'000};
    for (const std::uint64_t a : edges)
        for (const std::uint64_t b : edges)
            for (const std::uint64_t divisor : edges)
                check(a, b, divisor);
    std::mt19937_64 random(32);
    for (int i = 0; i < 200'000; i++)
        check(random() >> random() % 64, random() >> random() % 64, random() >> random() % 64);
}
