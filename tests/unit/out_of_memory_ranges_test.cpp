// Segments and regions on a host without memory: a request is served, a segment appears, or nothing has changed.
#include "host_memory/owner.hpp"

#include "tlmalloc/cache/regions.h"
#include "tlmalloc/cache/segmented_memory.h"

#include <vector>

using namespace host_memory;

namespace {

std::string free_list(const tla_arena *arena) {
    std::vector<tla_block> blocks(tla_arena_get_stats(arena).free_blocks);
    tla_arena_free_blocks(arena, 0, blocks.data(), blocks.size());
    std::string text = line(tla_arena_get_stats(arena).used, blocks.size());
    for (const tla_block &block : blocks)
        text += line(block.offset, block.nbytes);
    return text;
}

// Two segments of four that have appeared. The first one has so many holes of a byte, the second one 8 bytes.
struct segmented {
    explicit segmented(std::uint64_t holes) {
        const tla_segmented_config config{512, 1024, 256, 1, 1};
        BOOST_REQUIRE_EQUAL(tla_segmented_create(&config, &memory.made), TLA_OK);
        BOOST_REQUIRE_EQUAL(alloc(1, 504), TLA_OK);
        for (std::uint64_t i = 0; i < holes; i++)
            BOOST_REQUIRE_EQUAL(free(2 * i), TLA_OK);
    }
    tla_status alloc(std::uint64_t nbytes, std::size_t n) {
        std::vector<tla_block> blocks(n);
        return tla_segmented_alloc(memory.made, nbytes, n, blocks.data(), nullptr);
    }
    tla_status free(std::uint64_t offset) { return tla_segmented_free(memory.made, {offset, 1}, nullptr); }
    std::string look() const {
        std::uint64_t at = 0;
        std::string text = line(tla_segmented_next_attempt(memory.made, &at), at);
        for (std::uint32_t i = 0; i < tla_segmented_present(memory.made); i++)
            text += free_list(tla_segmented_arena(memory.made, i));
        return text;
    }
    owner<tla_segmented_memory, tla_segmented_destroy> memory;
};

// Two regions whose frees are checked, so that allocations need host memory. The first one has so many holes of a byte.
struct regions {
    regions(tla_policy policy, tla_region_policy order, std::uint64_t holes) {
        tla_arena_config config{};
        config.capacity = 256;
        config.policy = policy;
        config.validate = true;
        for (std::size_t i = 0; i < 2; i++) {
            BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arenas[i].made), TLA_OK);
            set[i] = arenas[i].made;
        }
        const tla_arena_set all{set, 2};
        BOOST_REQUIRE_EQUAL(tla_regions_create(&all, order, &made.made), TLA_OK);
        for (std::uint64_t i = 0; i < 256; i++) // an arena alone, whose blocks the regions do not count
            BOOST_REQUIRE_EQUAL(tla_arena_alloc(set[0], 1, &blocks[i], nullptr), TLA_OK);
        for (std::uint64_t i = 0; i < holes; i++)
            BOOST_REQUIRE_EQUAL(tla_arena_free(set[0], {2 * i, 1}, nullptr), TLA_OK);
    }
    std::string look() const {
        return line(tla_regions_count(made.made, 0), tla_regions_count(made.made, 1)) + free_list(set[0]) +
               free_list(set[1]);
    }
    owner<tla_arena, tla_arena_destroy> arenas[2];
    tla_arena *set[2];
    owner<tla_regions, tla_regions_destroy> made;
    tla_block blocks[256];
};

} // namespace

BOOST_AUTO_TEST_CASE(ranges_that_cannot_be_made_are_none) {
    check_creation<owner<tla_segmented_memory, tla_segmented_destroy>>("segments", [](tla_segmented_memory **made) {
        const tla_segmented_config config{512, 1024, 256, 1, 1};
        return tla_segmented_create(&config, made);
    });
    tla_arena_config config{};
    config.capacity = 256;
    owner<tla_arena, tla_arena_destroy> arena;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena.made), TLA_OK);
    check_creation<owner<tla_regions, tla_regions_destroy>>("regions", [&](tla_regions **made) {
        const tla_arena_set set{&arena.made, 1};
        return tla_regions_create(&set, TLA_REGIONS_LINEAR, made);
    });
}

BOOST_AUTO_TEST_CASE(a_segment_that_cannot_be_made_has_not_appeared_and_the_attempt_is_still_due) {
    const std::size_t allocations = exhaust(
        "attempt", [] { return std::make_unique<segmented>(3); },
        [](segmented &o) { return tla_segmented_attempted(o.memory.made, true, 7); },
        [](segmented &o) { return o.look(); });
    BOOST_CHECK_GT(allocations, 0u);
}

BOOST_AUTO_TEST_CASE(blocks_of_segments_come_and_go_or_the_host_has_no_memory) {
    std::size_t frees = 0;
    for (std::uint64_t holes = 0; holes < 120; holes++) {
        const auto make = [&] { return std::make_unique<segmented>(holes); };
        const auto look = [](segmented &o) { return o.look(); };
        exhaust(
            "alloc", make, [&](segmented &o) { return o.alloc(1, holes + 4); }, look);
        exhaust(
            "large", make, [&](segmented &o) { return o.alloc(2, 4); }, look);
        frees += exhaust(
            "free", make, [&](segmented &o) { return o.free(2 * holes); }, look);
    }
    BOOST_CHECK_GT(frees, 0u);
}

BOOST_AUTO_TEST_CASE(blocks_of_regions_come_and_go_or_the_host_has_no_memory) {
    for (int policy = 0; policy < TLA_POLICY_COUNT; policy++)
        for (const tla_region_policy order : {TLA_REGIONS_LINEAR, TLA_REGIONS_INTERLEAVING}) {
            std::size_t allocs = 0, frees = 0;
            for (std::uint64_t holes = 0; holes < 40; holes++) {
                const auto make = [&] {
                    return std::make_unique<regions>(static_cast<tla_policy>(policy), order, holes);
                };
                const auto look = [](regions &o) { return o.look(); };
                const std::string name = tla_policy_name(static_cast<tla_policy>(policy));
                for (const std::size_t n : {std::size_t{1}, static_cast<std::size_t>(holes) + 1})
                    allocs += exhaust(
                        name + ", alloc", make,
                        [&](regions &o) {
                            std::vector<tla_region_block> blocks(n);
                            return tla_regions_alloc(o.made.made, 1, n, blocks.data(), nullptr);
                        },
                        look);
                frees += exhaust(
                    name + ", free", make,
                    [&](regions &o) {
                        return tla_regions_free(o.made.made, {0, {2 * holes, 1}}, nullptr);
                    },
                    look);
            }
            BOOST_CHECK_GT(allocs, 0u);
            BOOST_CHECK_GT(frees, 0u);
        }
}

// LMCache counts blocks that it then frees again; bytes are as before.
BOOST_AUTO_TEST_CASE(blocks_that_are_distributed_are_all_there_or_none_is) {
    for (int policy = 0; policy < TLA_POLICY_COUNT; policy++)
        for (std::uint64_t holes = 0; holes < 40; holes++)
            exhaust(
                std::string(tla_policy_name(static_cast<tla_policy>(policy))) + ", distribute",
                [&] { return std::make_unique<regions>(static_cast<tla_policy>(policy), TLA_REGIONS_LINEAR, holes); },
                [&](regions &o) {
                    std::vector<tla_region_block> blocks(holes + 5);
                    return tla_regions_distribute(o.made.made, 1, blocks.size(), blocks.data(), nullptr);
                },
                [](regions &o) { return free_list(o.set[0]) + free_list(o.set[1]); });
}
