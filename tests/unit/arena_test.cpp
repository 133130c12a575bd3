// The arena against the text of ADR-0048 D1.
#include "tlmalloc/arena/arena.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(first_fit_reuses_the_hole_it_fits) {
    tla_arena *arena = nullptr;
    tla_arena_config config{0, 0x4000, TLA_FIRST_FIT};
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    tla_block a{}, b{}, c{};
    BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena, 0x1000, &a, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena, 0x1000, &b, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_arena_free(arena, a, nullptr), TLA_OK);
    tla_work work{};
    BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena, 0x800, &c, &work), TLA_OK);
    BOOST_CHECK_EQUAL(c.offset, 0u);
    BOOST_CHECK_EQUAL(work.nodes_visited, 1u);
    tla_arena_destroy(arena);
}
