// The segment cache with ranges, private pools and states from elsewhere on a host without memory: a call that fails
// has done nothing, and can be made again.
#include "host_memory/owner.hpp"

#include "tlmalloc/segments/segment_cache.h"

#include <cstdlib>
#include <vector>

using namespace host_memory;

namespace {

constexpr std::uint64_t MiB = 1 << 20;
constexpr tla_segment_pool_id graph{0, 5};

struct cache {
    explicit cache(bool expandable, std::uint64_t max_split = 0) {
        tla_arena_config memory{};
        memory.capacity = 400 * MiB;
        memory.policy = TLA_TLSF;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&memory, &arena.made), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_arena_ranges_create(&set, &ranges.made), TLA_OK);
        tla_segment_cache_config config{};
        config.driver = tla_arena_upstream(&set);
        config.ranges = tla_arena_ranges_upstream(ranges.made);
        config.expandable = expandable;
        config.max_split_size = max_split;
        config.device_bytes = memory.capacity;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &made.made), TLA_OK);
    }

    tla_status alloc(std::uint64_t nbytes, std::uint64_t stream = 0, tla_segment_pool_id pool = {0, 0}) {
        tla_block block;
        const tla_status status = tla_segment_cache_alloc_from(made.made, pool, stream, nbytes, &block, nullptr);
        if (!status) blocks.push_back(block);
        return status;
    }

    tla_status free(std::size_t index) { return tla_segment_cache_free(made.made, blocks[index].offset, nullptr); }

    // Every block, and what is counted; addresses are those that a range of the first or a later try may have.
    std::string look() const {
        const tla_segment_cache_stats s = tla_segment_cache_get_stats(made.made);
        std::string text = line(s.requested, s.allocated, s.active, s.reserved, s.inactive_split, s.segments, s.ranges,
                                tla_arena_get_stats(arena.made).used);
        tla_segment_block_info *all = nullptr;
        std::size_t count = 0;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_blocks(made.made, &all, &count), TLA_OK);
        for (std::size_t i = 0; i < count; i++)
            text += line(all[i].address - all[i].segment, all[i].nbytes, all[i].requested, all[i].granule,
                         all[i].stream, all[i].owner.b, static_cast<int>(all[i].state));
        std::free(all);
        return text;
    }

    owner<tla_arena, tla_arena_destroy> arena;
    tla_arena_set set{&arena.made, 1};
    owner<tla_arena_ranges, tla_arena_ranges_destroy> ranges;
    owner<tla_segment_cache, tla_segment_cache_destroy> made;
    std::vector<tla_block> blocks;
};

std::string look(cache &c) {
    return c.look();
}

// What the owners have, for calls that may give back what is free before they fail.
std::string look_at_owned(cache &c) {
    const tla_segment_cache_stats s = tla_segment_cache_get_stats(c.made.made);
    return line(s.requested, s.allocated, c.blocks.size());
}

// Blocks of two streams with holes between them.
std::unique_ptr<cache> used(bool expandable, std::uint64_t max_split = 0) {
    auto c = std::make_unique<cache>(expandable, max_split);
    for (int i = 0; i < 6; i++) {
        BOOST_REQUIRE_EQUAL(c->alloc(9 * MiB), TLA_OK);
        BOOST_REQUIRE_EQUAL(c->alloc(512, 1), TLA_OK);
    }
    for (std::size_t i : {2u, 3u, 8u})
        BOOST_REQUIRE_EQUAL(c->free(i), TLA_OK);
    return c;
}

} // namespace

BOOST_AUTO_TEST_CASE(requests_of_a_segment_cache_are_served_or_have_done_nothing) {
    for (bool expandable : {false, true})
        for (std::uint64_t max_split : {std::uint64_t{0}, 30 * MiB}) {
            const auto make = [&] { return used(expandable, max_split); };
            for (std::uint64_t nbytes : {std::uint64_t{512}, 9 * MiB, 25 * MiB, 100 * MiB, 380 * MiB, 500 * MiB})
                for (std::uint64_t stream : {0u, 7u}) {
                    const std::string what = "alloc of " + std::to_string(nbytes) + " bytes on stream " +
                                             std::to_string(stream) + ", expandable " + std::to_string(expandable);
                    exhaust(
                        what, make, [&](cache &c) { return c.alloc(nbytes, stream); },
                        nbytes > 300 * MiB ? look_at_owned : look);
                }
        }
}

BOOST_AUTO_TEST_CASE(frees_of_a_segment_cache_are_done_or_have_done_nothing) {
    for (bool expandable : {false, true}) {
        const auto make = [&] { return used(expandable); };
        exhaust(
            "free", make, [](cache &c) { return c.free(4); }, look);
        exhaust(
            "empty", make, [](cache &c) { return tla_segment_cache_empty(c.made.made, nullptr); }, look);
        const auto pending = [&] {
            auto c = used(expandable);
            BOOST_REQUIRE_EQUAL(tla_segment_cache_begin_use(c->made.made, c->blocks[4].offset), TLA_OK);
            BOOST_REQUIRE_EQUAL(c->free(4), TLA_OK);
            return c;
        };
        exhaust(
            "end of a use", pending,
            [](cache &c) { return tla_segment_cache_end_use(c.made.made, c.blocks[4].offset, nullptr); }, look);
        exhaust(
            "empty with what is pending", pending,
            [](cache &c) { return tla_segment_cache_empty(c.made.made, nullptr); }, look_at_owned);
    }
}

BOOST_AUTO_TEST_CASE(pools_of_graphs_are_made_or_are_none) {
    const auto make = [] { return used(true); };
    exhaust(
        "add", make, [](cache &c) { return tla_segment_cache_add_pool(c.made.made, graph, {}); }, look);
    const auto with_pool = [] {
        auto c = used(true);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_add_pool(c->made.made, graph, {}), TLA_OK);
        BOOST_REQUIRE_EQUAL(c->alloc(9 * MiB, 0, graph), TLA_OK);
        return c;
    };
    exhaust(
        "alloc", with_pool, [](cache &c) { return c.alloc(25 * MiB, 0, graph); }, look);
    exhaust(
        "retire", with_pool, [](cache &c) { return tla_segment_cache_retire_pool(c.made.made, graph); }, look);
    const auto retired = [&] {
        auto c = with_pool();
        BOOST_REQUIRE_EQUAL(c->free(c->blocks.size() - 1), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_retire_pool(c->made.made, graph), TLA_OK);
        return c;
    };
    exhaust(
        "empty", retired, [](cache &c) { return tla_segment_cache_empty(c.made.made, nullptr); }, look);
}

BOOST_AUTO_TEST_CASE(a_state_from_elsewhere_is_put_in_or_not_at_all) {
    for (std::uint64_t granule : {std::uint64_t{0}, 20 * MiB}) {
        std::vector<tla_segment_block_info> blocks(40);
        for (std::size_t i = 0; i < blocks.size(); i++) {
            blocks[i] = {};
            blocks[i].address = (std::uint64_t{1} << 40) + 2 * i * MiB;
            blocks[i].nbytes = blocks[i].requested = MiB;
            blocks[i].state = i % 5 ? TLA_SEGMENT_ALLOCATED : TLA_SEGMENT_PENDING;
        }
        tla_segment_block_info of{};
        of.segment = std::uint64_t{1} << 40;
        of.segment_size = 100 * MiB;
        of.granule = granule;
        exhaust(
            "restore", [] { return std::make_unique<cache>(true); },
            [&](cache &c) { return tla_segment_cache_restore(c.made.made, &of, blocks.data(), blocks.size()); }, look);
    }
}

BOOST_AUTO_TEST_CASE(the_list_of_blocks_is_whole_or_none) {
    auto c = used(true);
    for (std::size_t n = 0;; n++) {
        tla_segment_block_info *all = nullptr;
        std::size_t count = 0;
        fail_from(n, true);
        const tla_status status = tla_segment_cache_blocks(c->made.made, &all, &count);
        if (stop() == 0) {
            BOOST_CHECK_EQUAL(status, TLA_OK);
            BOOST_CHECK_GT(count, 12u);
            std::free(all);
            break;
        }
        BOOST_CHECK_EQUAL(status, TLA_NO_HOST_MEMORY);
        BOOST_CHECK(!all && count == 0);
    }
}

BOOST_AUTO_TEST_CASE(ranges_of_arenas_are_made_or_are_none) {
    tla_arena_set set{nullptr, 0};
    check_creation<owner<tla_arena_ranges, tla_arena_ranges_destroy>>(
        "arena_ranges", [&](tla_arena_ranges **made) { return tla_arena_ranges_create(&set, made); });
}
