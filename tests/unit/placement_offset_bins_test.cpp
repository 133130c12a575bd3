// Offset bins, as their source places and as Mooncake rounds.
#include "model/arena/float_bin.h"
#include "placement_arena.hpp"
#include "placement_differential.hpp"
#include "tlmalloc/arena/engine.h"

#include <array>

namespace {
const tla_policy both[] = {TLA_OFFSET_BINS, TLA_OFFSET_BINS_ROUNDED};

class limited_arena : public placement_arena {
  public:
    limited_arena(tla_policy which, std::uint64_t capacity, std::uint64_t nodes) : placement_arena(which, capacity) {
        BOOST_REQUIRE_EQUAL(tla_arena_drive(arena, nullptr, nodes, nullptr), TLA_OK);
    }
};

std::uint64_t proven(const placement_arena &a) {
    return tla_arena_get_stats(a.arena).proven_largest;
}
} // namespace

BOOST_AUTO_TEST_CASE(offset_bins_lie_below_and_above_sizes_as_the_source_tests_them) {
    for (std::uint64_t size = 0; size <= 16; size++) {
        BOOST_CHECK_EQUAL(tla_float_bin_of(size), size);
        BOOST_CHECK_EQUAL(tla_float_bin_from(size), size);
    }
    const std::uint64_t sizes[][3] = {{17, 16, 17},
                                      {118, 38, 39},
                                      {1024, 64, 64},
                                      {65536, 112, 112},
                                      {529445, 136, 137},
                                      {1048575, 143, 144},
                                      {TLA_FLOAT_BIN_LARGEST, 239, 239},
                                      {UINT32_MAX, 239, 240},
                                      {std::uint64_t{1} << 63, 488, 488}};
    for (const auto &[size, below, above] : sizes) {
        BOOST_CHECK_EQUAL(tla_float_bin_of(size), below);
        BOOST_CHECK_EQUAL(tla_float_bin_from(size), above);
    }
}

BOOST_AUTO_TEST_CASE(an_offset_bin_holds_every_size_from_its_own_to_the_next) {
    for (std::uint32_t bin = 0; bin < 488; bin++) {
        const std::uint64_t size = tla_float_bin_size(bin), next = tla_float_bin_size(bin + 1);
        BOOST_TEST_CONTEXT("bin " << bin) {
            BOOST_CHECK_LT(size, next);
            BOOST_CHECK_EQUAL(tla_float_bin_of(size), bin);
            BOOST_CHECK_EQUAL(tla_float_bin_of(next - 1), bin);
            BOOST_CHECK_EQUAL(tla_float_bin_from(size), bin);
            if (next - size > 1) BOOST_CHECK_EQUAL(tla_float_bin_from(size + 1), bin + 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(offset_bins_do_not_find_a_region_of_just_the_size) {
    placement_arena a(TLA_OFFSET_BINS, 1000);
    BOOST_CHECK_EQUAL(a.alloc(118), 0u);
    BOOST_CHECK_EQUAL(a.work.probes, 2u); // the group of 120 has no region: the groups, and the word of 960
    BOOST_CHECK_EQUAL(proven(a), 832u);
    BOOST_CHECK_EQUAL(a.alloc(64), 118u);
    a.free(0, 118);
    BOOST_CHECK_EQUAL(a.alloc(118), 182u); // 118 lies in the bin of 112
    BOOST_CHECK_EQUAL(a.work.probes, 3u);  // that bin is in the group of 120, which the engine reads in vain
    BOOST_CHECK_EQUAL(a.alloc(112), 0u);
    BOOST_CHECK_EQUAL(a.work.splits, 1u);
    BOOST_CHECK_EQUAL(a.try_alloc(1000), TLA_EXHAUSTED);
    a.free(182, 118);
    a.free(0, 112);
    BOOST_CHECK_EQUAL(a.work.merges, 1u);
    a.free(118, 64);
    BOOST_CHECK_EQUAL(a.work.merges, 2u);
    BOOST_CHECK_EQUAL(a.try_alloc(1000), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(a.work.allocs, 0u);
    BOOST_CHECK_EQUAL(a.work.probes, 1u); // no region is in its group
    BOOST_CHECK_EQUAL(proven(a), 960u);
    BOOST_CHECK_EQUAL(a.alloc(960), 0u);
    BOOST_CHECK_EQUAL(proven(a), 40u);
}

BOOST_AUTO_TEST_CASE(offset_bins_take_the_region_that_entered_the_bin_last) {
    placement_arena a(TLA_OFFSET_BINS, 1000);
    for (std::uint64_t i = 0; i < 10; i++)
        BOOST_CHECK_EQUAL(a.alloc(100 - i % 2), 100 * i - i / 2);
    a.free(0, 100);
    a.free(598, 99);
    a.free(299, 100);
    BOOST_CHECK_EQUAL(a.alloc(96), 299u);
    BOOST_CHECK_EQUAL(a.alloc(96), 598u);
    BOOST_CHECK_EQUAL(a.alloc(96), 0u);
}

BOOST_AUTO_TEST_CASE(rounded_offset_bins_take_the_size_of_the_bin) {
    placement_arena a(TLA_OFFSET_BINS_ROUNDED, 1000);
    BOOST_CHECK_EQUAL(tla_arena_granted(a.arena, 118), 120u);
    BOOST_CHECK_EQUAL(a.alloc(118), 0u);
    BOOST_CHECK_EQUAL(a.alloc(64), 120u);
    a.free(0, 118);
    BOOST_CHECK_EQUAL(a.alloc(118), 0u);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).used, 184u);
}

BOOST_AUTO_TEST_CASE(offset_bins_count_large_ranges_in_units) {
    const std::uint64_t largest = TLA_FLOAT_BIN_LARGEST;
    for (tla_policy policy : both)
        for (const auto &[capacity, alignment, unit] : std::initializer_list<std::array<std::uint64_t, 3>>{
                 {largest, 1, 1}, {largest + 1, 1, 2}, {largest + 1, 256, 256}, {std::uint64_t{1} << 40, 1, 512}}) {
            placement_arena a(policy, capacity, 0, alignment);
            BOOST_CHECK_EQUAL(tla_arena_get_config(a.arena).alignment, unit);
            BOOST_CHECK_EQUAL(tla_arena_granted(a.arena, 1), unit);
            BOOST_CHECK_EQUAL(a.alloc(1), 0u);
            BOOST_CHECK_EQUAL(a.alloc(1), unit);
        }
}

BOOST_AUTO_TEST_CASE(bytes_after_the_last_unit_are_no_region_of_offset_bins) {
    for (tla_policy policy : both) {
        placement_arena a(policy, 39, 0, 8);
        BOOST_REQUIRE_EQUAL(tla_arena_drive(a.arena, nullptr, policy == TLA_OFFSET_BINS ? 4 : 3, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).proven_free, 32u);
        BOOST_CHECK_EQUAL(a.alloc(16), 0u);
        BOOST_CHECK_EQUAL(a.alloc(16), 16u);
        BOOST_CHECK_EQUAL(a.work.splits, 0u);
        BOOST_CHECK_EQUAL(a.work.nodes_released, 1u);
        a.free(0, 16);
        BOOST_CHECK_EQUAL(a.work.list_length, 0u);
        BOOST_CHECK_EQUAL(proven(a), 16u);
        BOOST_CHECK(tla_arena_fits(a.arena, 16, 1));
        BOOST_CHECK_EQUAL(a.alloc(8), 0u);
        BOOST_CHECK_EQUAL(a.try_alloc(8), TLA_LIMIT);
        a.free(16, 16);
        BOOST_CHECK_EQUAL(a.work.merges, 1u);
        BOOST_CHECK_EQUAL(a.work.nodes_released, 0u);
        a.free(0, 8);
        BOOST_CHECK_EQUAL(proven(a), 32u);
        a.begin();
        BOOST_CHECK_EQUAL(a.alloc(32), 0u);
        a.free(0, 32);
        BOOST_CHECK_EQUAL(a.work.merges, 0u);
        BOOST_CHECK_EQUAL(a.work.nodes_created, 1u);
    }
}

BOOST_AUTO_TEST_CASE(growth_after_the_last_unit_needs_a_node_of_offset_bins) {
    placement_arena a(TLA_OFFSET_BINS_ROUNDED, 39, 0, 8);
    BOOST_REQUIRE_EQUAL(tla_arena_drive(a.arena, nullptr, 3, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(a.alloc(16), 0u);
    BOOST_CHECK_EQUAL(a.alloc(16), 16u);
    a.free(0, 16);
    BOOST_CHECK_EQUAL(a.alloc(8), 0u);
    BOOST_CHECK_EQUAL(tla_arena_grow(a.arena, 8, nullptr), TLA_LIMIT);
    a.free(0, 8);
    a.free(16, 16);
    BOOST_CHECK_EQUAL(tla_arena_grow(a.arena, 8, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(proven(a), 40u);
}

BOOST_AUTO_TEST_CASE(offset_bins_are_refused_at_a_base_that_their_units_do_not_reach) {
    tla_arena_config config{};
    config.base = 1;
    config.capacity = TLA_FLOAT_BIN_LARGEST;
    config.policy = TLA_OFFSET_BINS;
    tla_arena *arena = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    tla_arena_destroy(arena);
    config.capacity++;
    BOOST_CHECK_EQUAL(tla_arena_create(&config, &arena), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(arena == nullptr);
}

BOOST_AUTO_TEST_CASE(offset_bins_refuse_what_their_engine_cannot_place) {
    for (tla_policy policy : both) {
        placement_arena a(policy, 4096, 0, 64);
        tla_block blocks[2];
        const std::string name = tla_policy_name(policy);
        const auto refused = [&](tla_status status, const std::string &text) {
            BOOST_CHECK_EQUAL(status, TLA_UNSUPPORTED);
            BOOST_CHECK_EQUAL(tla_arena_last_error(a.arena)->text, name + text);
        };
        refused(a.try_alloc(1, 128), ": a block's alignment must not exceed the arena's alignment, 64");
        refused(tla_arena_reserve(a.arena, {64, 64}, nullptr),
                " chooses the addresses of blocks and cannot reserve a given range");
        refused(tla_arena_alloc_batch(a.arena, 64, 2, TLA_BATCH_CONTIGUOUS, blocks, nullptr),
                ": cannot release parts of a block that was allocated whole");
        BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).used, 0u);
        BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, 64, 1, TLA_BATCH_CONTIGUOUS, blocks, nullptr), TLA_OK);
    }
}

BOOST_AUTO_TEST_CASE(offset_bins_without_a_node_refuse_even_an_exact_fit) {
    limited_arena a(TLA_OFFSET_BINS_ROUNDED, 384, 3);
    BOOST_CHECK_EQUAL(a.alloc(128), 0u);
    BOOST_CHECK_EQUAL(proven(a), 256u);
    BOOST_CHECK_EQUAL(a.alloc(128), 128u);
    BOOST_CHECK_EQUAL(a.try_alloc(128), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_arena_last_error(a.arena)->text,
                      "allocation of 128 bytes: needs a node, but none of the 3 nodes of offset_bins_rounded is left");
    BOOST_CHECK_EQUAL(a.work.probes, 0u); // it does not look
    BOOST_CHECK_EQUAL(proven(a), 0u);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).proven_free, 0u);
    BOOST_CHECK_EQUAL(tla_arena_get_stats(a.arena).free, 128u);
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_arena_explain(a.arena, "HBM", 128, &error), TLA_LIMIT);
    BOOST_CHECK_EQUAL(error.text, "HBM overflow: requested 128 bytes, 128 free of 384, largest free block 128, "
                                  "proven 0 (1 blocks): no node is left");
    a.free(128, 128);
    BOOST_CHECK_EQUAL(a.alloc(128), 128u);
}

BOOST_AUTO_TEST_CASE(an_error_has_the_bytes_that_offset_bins_prove_beside_the_real_ones) {
    placement_arena a(TLA_OFFSET_BINS, 1000);
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_arena_explain(a.arena, "HBM", 1000, &error), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(error.text, "HBM overflow: requested 1000 bytes (offset_bins needs a free block of 1024), 1000 "
                                  "free of 1000, largest free block 1000 (1 blocks): fragmented");
    tla_arena_explain(a.arena, "HBM", 1024, &error);
    BOOST_CHECK_EQUAL(error.text, "HBM overflow: requested 1024 bytes, 1000 free of 1000, largest free block 1000, "
                                  "proven 960 (1 blocks): exhausted");
}

BOOST_AUTO_TEST_CASE(offset_bins_that_do_not_round_never_use_one_of_the_nodes) {
    limited_arena a(TLA_OFFSET_BINS, 384, 3);
    BOOST_CHECK_EQUAL(a.alloc(128), 0u);
    BOOST_CHECK_EQUAL(a.try_alloc(128), TLA_LIMIT);
    placement_arena one(TLA_OFFSET_BINS, 384);
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_arena_drive(one.arena, nullptr, 1, &error), TLA_LIMIT);
    BOOST_CHECK_EQUAL(error.text, "1 free and 0 live blocks need more than the 1 nodes of offset_bins");
    BOOST_CHECK_EQUAL(tla_arena_drive(one.arena, nullptr, 2, &error), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_drive(one.arena, nullptr, 2, &error), TLA_UNSUPPORTED);
}

BOOST_AUTO_TEST_CASE(a_batch_of_offset_bins_fails_for_want_of_nodes_by_name) {
    limited_arena a(TLA_OFFSET_BINS_ROUNDED, 1024, 4);
    tla_block blocks[8];
    BOOST_CHECK(tla_arena_fits(a.arena, 64, 3));
    BOOST_CHECK(!tla_arena_fits(a.arena, 64, 4));
    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, 64, 4, TLA_BATCH_CARVED, blocks, nullptr), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, 600, 2, TLA_BATCH_CARVED, blocks, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, 64, 3, TLA_BATCH_CARVED, blocks, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_alloc_batch(a.arena, 64, 1, TLA_BATCH_CARVED, blocks, nullptr), TLA_LIMIT);
}

BOOST_AUTO_TEST_CASE(growth_of_offset_bins_needs_a_node_behind_a_live_block) {
    limited_arena a(TLA_OFFSET_BINS_ROUNDED, 128, 2);
    BOOST_CHECK_EQUAL(a.alloc(64), 0u);
    BOOST_REQUIRE_EQUAL(tla_arena_grow(a.arena, 64, nullptr), TLA_OK); // joins the free end
    a.free(0, 64);
    BOOST_CHECK_EQUAL(a.alloc(192), 0u);
    BOOST_REQUIRE_EQUAL(tla_arena_grow(a.arena, 64, nullptr), TLA_OK);
    limited_arena full(TLA_OFFSET_BINS_ROUNDED, 128, 1);
    BOOST_CHECK_EQUAL(full.try_alloc(128), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_arena_grow(full.arena, 64, nullptr), TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_restored_arena_of_offset_bins_counts_its_live_blocks_against_the_nodes) {
    for (bool validate : {false, true}) {
        tla_arena_config config{};
        config.capacity = 1024;
        config.policy = TLA_OFFSET_BINS_ROUNDED;
        config.validate = validate;
        tla_arena *arenas[3];
        for (tla_arena *&arena : arenas)
            BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_arena_drive(arenas[1], nullptr, 5, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_arena_drive(arenas[2], nullptr, 3, nullptr), TLA_OK);
        tla_block blocks[4], next;
        BOOST_REQUIRE_EQUAL(tla_arena_alloc_batch(arenas[0], 64, 4, TLA_BATCH_CARVED, blocks, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_arena_free(arenas[0], blocks[1], nullptr), TLA_OK);
        char text[1000]; // live at 0, 128 and 192; free at 64 and from 256 on
        std::size_t length;
        BOOST_REQUIRE_EQUAL(tla_arena_snapshot(arenas[0], text, sizeof text, &length), TLA_OK);
        tla_error error{};
        BOOST_REQUIRE_EQUAL(tla_arena_restore(arenas[1], text, length, &error), TLA_OK);
        BOOST_CHECK_EQUAL(tla_arena_alloc(arenas[1], 64, &next, nullptr), validate ? TLA_LIMIT : TLA_OK);
        BOOST_CHECK_EQUAL(tla_arena_restore(arenas[2], text, length, &error), TLA_LIMIT);
        const std::string live = validate ? "3" : "2";
        BOOST_CHECK_EQUAL(error.text,
                          "2 free and " + live + " live blocks need more than the 3 nodes of offset_bins_rounded");
        BOOST_CHECK_EQUAL(tla_arena_alloc(arenas[2], 64, &next, nullptr), TLA_OK); // as before
        for (tla_arena *arena : arenas)
            tla_arena_destroy(arena);
    }
}

BOOST_AUTO_TEST_CASE(an_advice_of_what_to_free_knows_the_nodes_of_offset_bins) {
    limited_arena a(TLA_OFFSET_BINS_ROUNDED, 1024, 4);
    tla_block blocks[3];
    for (tla_block &block : blocks)
        block = {a.alloc(64), 64};
    BOOST_CHECK_EQUAL(a.try_alloc(64), TLA_LIMIT);
    BOOST_CHECK_EQUAL(tla_arena_serves_after(a.arena, nullptr, 0, 64), 0u);
    BOOST_CHECK_EQUAL(tla_arena_serves_after(a.arena, &blocks[0], 1, 64), 0u); // its node stays that of a region
    BOOST_CHECK_EQUAL(tla_arena_serves_after(a.arena, &blocks[2], 1, 64), 64u);
}

BOOST_AUTO_TEST_CASE(offset_bins_are_their_reference) {
    check_against_reference(TLA_OFFSET_BINS, 39);
}

BOOST_AUTO_TEST_CASE(rounded_offset_bins_are_their_reference) {
    check_against_reference(TLA_OFFSET_BINS_ROUNDED, 40);
}

BOOST_AUTO_TEST_CASE(offset_bins_of_units_and_of_few_nodes_are_their_rules_in_100000_operations_each) {
    seeded_random random(41);
    const std::uint64_t TiB = std::uint64_t{1} << 40;
    for (tla_policy policy : both)
        for (const auto &[capacity, alignment, nodes, largest] :
             std::initializer_list<std::array<std::uint64_t, 4>>{{TiB + 17, 1, 0, TiB / 16},
                                                                 {1 << 16, 1, 40, 5000},
                                                                 {1 << 16, 1, 9, 20000},
                                                                 {3000, 1, 60, 100},
                                                                 {517, 8, 9, 200}}) {
            placement_arena a(policy, capacity, 0, alignment);
            const std::uint64_t unit = tla_arena_get_config(a.arena).alignment;
            offset_bins_model model(unit, policy == TLA_OFFSET_BINS_ROUNDED);
            tla_work ignored{};
            model.add({0, capacity / unit * unit}, ignored);
            if (nodes) model.limit(nodes);
            BOOST_REQUIRE_EQUAL(tla_arena_drive(a.arena, nullptr, nodes, nullptr), TLA_OK);
            for (int i = 0; i < 100000; i++) {
                BOOST_TEST_CONTEXT(tla_policy_name(policy) << ", capacity " << capacity << ", operation " << i) {
                    const std::vector<tla_block> live = model.live_regions();
                    tla_work expected{};
                    a.begin();
                    a.work.engine = nullptr;
                    if (live.empty() || random.one_in(2)) {
                        const std::uint64_t limit = std::uint64_t{1} << random.between(0, 40);
                        const std::uint64_t asked = random.between(1, std::min(limit, largest));
                        const std::uint64_t granted = model.granted((asked + unit - 1) / unit * unit);
                        BOOST_REQUIRE_EQUAL(tla_arena_granted(a.arena, asked), granted);
                        if (random.one_in(8)) { // how many of them
                            const std::uint64_t n = random.between(1, 12);
                            offset_bins_model trial = model;
                            std::uint64_t served = 0;
                            while (served < n && trial.alloc(granted, ignored))
                                served++;
                            BOOST_REQUIRE_EQUAL(tla_arena_fits(a.arena, asked, n), served == n);
                        }
                        const bool without = model.lacks_node();
                        const auto block = model.alloc(granted, expected);
                        tla_block got{};
                        const tla_status status = tla_arena_alloc(a.arena, asked, &got, &a.work);
                        if (block) {
                            BOOST_REQUIRE_EQUAL(status, TLA_OK);
                            BOOST_REQUIRE_EQUAL(to_text(*block), to_text(got));
                        } else {
                            BOOST_REQUIRE_EQUAL(status == TLA_LIMIT, without);
                            BOOST_REQUIRE_NE(status, TLA_OK);
                        }
                    } else {
                        const tla_block block = live[random.between(0, live.size() - 1)];
                        model.free(block.offset, expected);
                        BOOST_REQUIRE_EQUAL(tla_arena_free(a.arena, block, &a.work), TLA_OK);
                    }
                    BOOST_REQUIRE_EQUAL(to_text(expected), to_text(a.work));
                    const tla_arena_stats stats = tla_arena_get_stats(a.arena);
                    BOOST_REQUIRE_EQUAL(stats.proven_free, model.lacks_node() ? 0 : stats.free - capacity % unit);
                    BOOST_REQUIRE_EQUAL(stats.proven_largest, model.lacks_node() ? 0 : model.largest_bin());
                }
            }
            BOOST_CHECK_EQUAL(tla_arena_check(a.arena, nullptr), TLA_OK);
        }
}
