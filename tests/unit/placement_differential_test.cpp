// The harness that compares placements with their references: it finds a difference and makes it short.
#include "placement_differential.hpp"

BOOST_AUTO_TEST_CASE(a_difference_is_shrunk_to_a_short_case) {
    seeded_random random(31);
    tla_arena_config config{};
    config.capacity = 4096;
    config.policy = TLA_BEST_FIT;
    const reference_maker first_fit = [](const tla_arena_config &c) -> std::unique_ptr<placement_reference> {
        return std::make_unique<list_reference>(TLA_FIRST_FIT, c.base);
    };
    placement_case c{config, first_fit, random_ops(random, {0, 4096, 1, 300}, 2000)};
    BOOST_REQUIRE(first_difference(c).has_value());
    placement_case shortest = shrink(c);
    BOOST_TEST_MESSAGE(report(shortest));
    BOOST_CHECK(first_difference(shortest).has_value());
    BOOST_CHECK_LE(shortest.ops.size(), 8u); // two allocations, a free, one more allocation, and little else
}

BOOST_AUTO_TEST_CASE(first_fit_is_its_reference) {
    check_against_reference(TLA_FIRST_FIT, 32);
}
