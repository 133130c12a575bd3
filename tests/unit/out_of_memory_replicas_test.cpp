// Replicas on a host without memory: a request is given some of its replicas, or nothing has changed.
#include "host_memory/owner.hpp"

#include "tlmalloc/cache/replicas.h"

using namespace host_memory;

namespace {

constexpr std::uint32_t segments = 3;

// Arenas that check frees, so that allocations need host memory. Each has live bytes with holes of a byte between.
struct segmented {
    segmented(std::uint64_t live, std::uint64_t holes) {
        tla_arena_config config{};
        config.capacity = 4096;
        config.policy = TLA_OFFSET_BINS_ROUNDED;
        config.validate = true;
        for (std::uint32_t i = 0; i < segments; i++) {
            BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arenas[i].made), TLA_OK);
            set[i] = arenas[i].made;
        }
        const tla_arena_set all{set, segments};
        BOOST_REQUIRE_EQUAL(tla_replicas_create(&all, TLA_REPLICAS_FREE_RATIO_FIRST, &replicas.made), TLA_OK);
        for (std::uint64_t i = 0; i < live + holes; i++)
            BOOST_REQUIRE_EQUAL(alloc(1), TLA_OK);
        for (std::uint64_t i = 1; i < 2 * holes; i += 2)
            for (std::uint32_t segment = 0; segment < segments; segment++)
                BOOST_REQUIRE_EQUAL(tla_replicas_free(replicas.made, {segment, {i, 1}}, nullptr), TLA_OK);
    }
    tla_status alloc(std::uint64_t nbytes) {
        tla_replica found[segments];
        tla_replica_result result{};
        const tla_replica_request request{nbytes, segments, 0, 0, nullptr, nullptr, {1, 2}};
        return tla_replicas_alloc(replicas.made, &request, found, &result, nullptr);
    }
    std::string look() const {
        std::string text;
        for (std::uint32_t i = 0; i < segments; i++) {
            tla_block free[128]; // more than there are
            const std::size_t count = tla_arena_free_blocks(set[i], 0, free, 128);
            text += line(tla_replicas_used(replicas.made, i), tla_arena_get_stats(set[i]).used);
            for (std::size_t j = 0; j < count; j++)
                text += line(free[j].offset, free[j].nbytes);
        }
        return text;
    }

    owner<tla_arena, tla_arena_destroy> arenas[segments];
    tla_arena *set[segments];
    owner<tla_replicas, tla_replicas_destroy> replicas;
};

} // namespace

BOOST_AUTO_TEST_CASE(replicas_that_cannot_be_made_are_none) {
    const tla_arena_config config{0, 4096, TLA_OFFSET_BINS_ROUNDED, 1, false};
    owner<tla_arena, tla_arena_destroy> arena;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena.made), TLA_OK);
    check_creation<owner<tla_replicas, tla_replicas_destroy>>("replicas", [&](tla_replicas **made) {
        const tla_arena_set set{&arena.made, 1};
        return tla_replicas_create(&set, TLA_REPLICAS_RANDOM, made);
    });
}

BOOST_AUTO_TEST_CASE(replicas_come_and_go_or_say_that_there_is_no_host_memory) {
    std::size_t allocs = 0, frees = 0;
    for (std::uint64_t holes = 0; holes < 80; holes++) {
        const auto make = [&] { return std::make_unique<segmented>(holes + 1, holes); };
        const auto full = [&] { return std::make_unique<segmented>(holes, 0); };
        const auto look = [](segmented &o) { return o.look(); };
        for (const std::uint64_t nbytes : {1u, 8u})
            allocs += exhaust(
                "alloc", full, [&](segmented &o) { return o.alloc(nbytes); }, look);
        frees += exhaust(
            "free", make,
            [&](segmented &o) {
                return tla_replicas_free(o.replicas.made, {2, {holes ? 2u : 0u, 1}}, nullptr);
            },
            look);
    }
    BOOST_CHECK_GT(allocs, 2u);
    BOOST_CHECK_GT(frees, 0u);
}
