// Fragmentation measures, on an arena of 1000 bytes with free blocks of 10, 20 and 70 bytes.
#include "tlmalloc/arena/arena.h"

#include <boost/test/unit_test.hpp>

namespace {

struct pieces {
    pieces() {
        tla_arena_config config{0, 1000, TLA_FIRST_FIT};
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_arena_reserve(arena, {0, 1000}, nullptr), TLA_OK);
        for (tla_block hole : {tla_block{100, 10}, tla_block{200, 20}, tla_block{300, 70}})
            BOOST_REQUIRE_EQUAL(tla_arena_free(arena, hole, nullptr), TLA_OK);
    }
    ~pieces() { tla_arena_destroy(arena); }
    pieces(const pieces &) = delete;
    pieces &operator=(const pieces &) = delete;
    tla_arena *arena = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(external_fragmentation_is_what_the_largest_block_leaves) {
    pieces p;
    tla_arena_stats s = tla_arena_get_stats(p.arena);
    BOOST_CHECK_EQUAL(tla_arena_fragmentation_permille(&s), 300u); // 1 - 70/100
    tla_arena_stats huge{};
    huge.free = uint64_t{1} << 63;
    huge.largest_free = uint64_t{1} << 62;
    BOOST_CHECK_EQUAL(tla_arena_fragmentation_permille(&huge), 500u);
    tla_arena_stats nothing{};
    BOOST_CHECK_EQUAL(tla_arena_fragmentation_permille(&nothing), 0u);
}

BOOST_AUTO_TEST_CASE(the_histogram_counts_blocks_by_powers_of_two) {
    pieces p;
    tla_free_histogram h{};
    tla_arena_histogram(p.arena, &h);
    BOOST_CHECK_EQUAL(h.blocks[3], 1u); // 10
    BOOST_CHECK_EQUAL(h.blocks[4], 1u); // 20
    BOOST_CHECK_EQUAL(h.nbytes[6], 70u);
    uint64_t blocks = 0, nbytes = 0;
    for (int i = 0; i < 64; i++) {
        blocks += h.blocks[i];
        nbytes += h.nbytes[i];
    }
    BOOST_CHECK_EQUAL(blocks, 3u);
    BOOST_CHECK_EQUAL(nbytes, 100u);
}

// fragmentation_index() of Linux, mm/vmstat.c, with bytes for pages.
BOOST_AUTO_TEST_CASE(gormans_index_tells_lack_of_memory_from_fragmentation) {
    pieces p;
    BOOST_CHECK_EQUAL(tla_fragmentation_index(p.arena, 70), -1000);
    BOOST_CHECK_EQUAL(tla_fragmentation_index(p.arena, 80), 1000 - (1000 + 1250) / 3);  // enough is free: in pieces
    BOOST_CHECK_EQUAL(tla_fragmentation_index(p.arena, 1000), 1000 - (1000 + 100) / 3); // 634
    BOOST_REQUIRE_EQUAL(tla_arena_reserve(p.arena, {100, 10}, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_arena_reserve(p.arena, {200, 20}, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_fragmentation_index(p.arena, 80), 0); // one block, too small: there is no memory
    BOOST_REQUIRE_EQUAL(tla_arena_reserve(p.arena, {300, 70}, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_fragmentation_index(p.arena, 80), 0);
}

BOOST_AUTO_TEST_CASE(the_unusable_share_is_what_lies_in_blocks_too_small) {
    pieces p;
    BOOST_CHECK_EQUAL(tla_unusable_permille(p.arena, 10), 0u);
    BOOST_CHECK_EQUAL(tla_unusable_permille(p.arena, 11), 100u);
    BOOST_CHECK_EQUAL(tla_unusable_permille(p.arena, 21), 300u);
    BOOST_CHECK_EQUAL(tla_unusable_permille(p.arena, 71), 1000u);
}
