// The TLB: replacement, mixed page sizes, ASIDs, invalidation; against a naive TLB, and in front of a page table.
#include "tlmalloc/vm/mmu.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <list>
#include <random>
#include <set>
#include <vector>

namespace {
const uint64_t KiB = 1024, MiB = 1024 * KiB;

tla_tlb_config one_level(uint32_t entries, uint32_t ways, tla_replacement replacement = TLA_REPLACE_LRU) {
    tla_tlb_config config{};
    config.levels = 1;
    config.level[0] = {entries, ways, 500, replacement};
    config.page_sizes[0] = 4 * KiB;
    config.page_sizes[1] = 2 * MiB;
    return config;
}

tla_walk page(uint64_t va, uint64_t pa, uint64_t page_size = 4 * KiB, uint32_t asid = 0) {
    tla_walk walk{};
    walk.asid = asid;
    walk.va.value = va;
    walk.pa.value = pa;
    walk.nbytes = walk.page_size = page_size;
    walk.flags = TLA_READ | TLA_WRITE;
    return walk;
}

struct tlb_fixture {
    explicit tlb_fixture(const tla_tlb_config &config) { BOOST_REQUIRE_EQUAL(tla_tlb_create(&config, &tlb), TLA_OK); }
    ~tlb_fixture() { tla_tlb_destroy(tlb); }
    tlb_fixture(const tlb_fixture &) = delete;
    tlb_fixture &operator=(const tlb_fixture &) = delete;
    void fill(const tla_walk &walk) { BOOST_REQUIRE_EQUAL(tla_tlb_fill(tlb, &walk), TLA_OK); }
    bool look(uint64_t va, uint32_t asid = 0, uint64_t at = 0) { return tla_tlb_lookup(tlb, asid, {va}, at, &hit); }
    tla_tlb *tlb = nullptr;
    tla_tlb_hit hit{};
};
} // namespace

BOOST_AUTO_TEST_CASE(a_hit_says_where_the_page_is_and_what_it_cost) {
    tlb_fixture f(one_level(4, 0));
    BOOST_CHECK(!f.look(0x5123));
    BOOST_CHECK_EQUAL(f.hit.level, 1u);
    BOOST_CHECK_EQUAL(f.hit.latency_ps, 500u);
    f.fill(page(0x5000, 0xABC7)); // byte-granular
    BOOST_REQUIRE(f.look(0x5123));
    BOOST_CHECK_EQUAL(f.hit.va.value, 0x5000u);
    BOOST_CHECK_EQUAL(f.hit.pa.value, 0xABC7u);
    BOOST_CHECK_EQUAL(f.hit.nbytes, 4 * KiB);
    BOOST_CHECK_EQUAL(f.hit.flags, static_cast<uint32_t>(TLA_READ | TLA_WRITE));
    BOOST_CHECK_EQUAL(f.hit.latency_ps, 500u);
    BOOST_CHECK(!f.look(0x6000));
    BOOST_CHECK(!f.look(0x4FFF));
}

BOOST_AUTO_TEST_CASE(lru_replaces_the_entry_used_longest_ago) {
    tlb_fixture f(one_level(3, 0));
    for (uint64_t p : {0u, 1u, 2u})
        f.fill(page(p * 4 * KiB, p));
    BOOST_CHECK(f.look(0));
    f.fill(page(3 * 4 * KiB, 3)); // 1 is the oldest
    BOOST_CHECK(!f.look(1 * 4 * KiB));
    BOOST_CHECK(f.look(0));
    BOOST_CHECK_EQUAL(tla_tlb_get_stats(f.tlb, 0).evictions, 1u);
}

BOOST_AUTO_TEST_CASE(fifo_replaces_the_entry_filled_longest_ago_however_much_it_is_used) {
    tlb_fixture f(one_level(3, 0, TLA_REPLACE_FIFO));
    for (uint64_t p : {0u, 1u, 2u})
        f.fill(page(p * 4 * KiB, p));
    BOOST_CHECK(f.look(0));
    f.fill(page(3 * 4 * KiB, 3));
    BOOST_CHECK(!f.look(0));
    BOOST_CHECK(f.look(1 * 4 * KiB));
}

BOOST_AUTO_TEST_CASE(plru_follows_the_bits_of_its_tree) {
    tlb_fixture f(one_level(4, 0, TLA_REPLACE_PLRU));
    for (uint64_t p : {0u, 1u, 2u, 3u})
        f.fill(page(p * 4 * KiB, p));
    // The bits point at 0 (root left, left fork at 0). Using 0 turns the root to the right, whose fork points at 2.
    BOOST_CHECK(f.look(0));
    f.fill(page(4 * 4 * KiB, 4));
    BOOST_CHECK(!f.look(2 * 4 * KiB));
    // True LRU would have taken 1.
    BOOST_CHECK(f.look(1 * 4 * KiB));
}

BOOST_AUTO_TEST_CASE(random_replacement_follows_its_seed) {
    auto survivors = [](uint64_t seed) {
        tla_tlb_config config = one_level(8, 0, TLA_REPLACE_RANDOM);
        config.seed = seed;
        tlb_fixture f(config);
        for (uint64_t p = 0; p < 20; p++)
            f.fill(page(p * 4 * KiB, p));
        std::set<uint64_t> held;
        for (uint64_t p = 0; p < 20; p++)
            if (f.look(p * 4 * KiB)) held.insert(p);
        BOOST_CHECK_EQUAL(held.size(), 8u);
        BOOST_CHECK(held.count(19) == 1); // what was filled last is always there
        return held;
    };
    BOOST_CHECK(survivors(1) == survivors(1));
    std::set<std::set<uint64_t>> different;
    for (uint64_t seed = 0; seed < 8; seed++)
        different.insert(survivors(seed));
    BOOST_CHECK_GT(different.size(), 4u);
}

BOOST_AUTO_TEST_CASE(pages_of_one_set_compete_and_others_do_not) {
    tlb_fixture f(one_level(8, 2)); // 4 sets: page number modulo 4
    for (uint64_t p : {0u, 4u, 1u, 8u})
        f.fill(page(p * 4 * KiB, p));
    BOOST_CHECK(!f.look(0)); // 0, 4 and 8 share set 0
    BOOST_CHECK(f.look(4 * 4 * KiB));
    BOOST_CHECK(f.look(8 * 4 * KiB));
    BOOST_CHECK(f.look(1 * 4 * KiB));
}

BOOST_AUTO_TEST_CASE(pages_of_several_sizes_live_side_by_side) {
    tlb_fixture f(one_level(8, 2));
    f.fill(page(2 * MiB, 64 * MiB, 2 * MiB));
    f.fill(page(4 * MiB, 0x9000));
    BOOST_REQUIRE(f.look(3 * MiB + 5));
    BOOST_CHECK_EQUAL(f.hit.pa.value, 64 * MiB);
    BOOST_CHECK_EQUAL(f.hit.nbytes, 2 * MiB);
    BOOST_REQUIRE(f.look(4 * MiB + 5));
    BOOST_CHECK_EQUAL(f.hit.nbytes, 4 * KiB);
    BOOST_CHECK(!f.look(4 * MiB + 4 * KiB));
}

BOOST_AUTO_TEST_CASE(regions_of_one_page_are_entries_of_their_own) {
    tlb_fixture f(one_level(4, 0));
    tla_walk region = page(0x1100, 0x777);
    region.nbytes = 0x80;
    f.fill(region);
    region.va.value = 0x1200;
    region.pa.value = 0x9999;
    f.fill(region);
    BOOST_REQUIRE(f.look(0x1110));
    BOOST_CHECK_EQUAL(f.hit.pa.value, 0x777u);
    BOOST_REQUIRE(f.look(0x127F));
    BOOST_CHECK_EQUAL(f.hit.pa.value, 0x9999u);
    BOOST_CHECK(!f.look(0x1180));
    BOOST_CHECK(!f.look(0x10FF));
}

BOOST_AUTO_TEST_CASE(address_spaces_are_kept_apart) {
    tlb_fixture f(one_level(4, 0));
    f.fill(page(0x1000, 0xA000, 4 * KiB, 1));
    f.fill(page(0x1000, 0xB000, 4 * KiB, 2));
    BOOST_REQUIRE(f.look(0x1000, 1));
    BOOST_CHECK_EQUAL(f.hit.pa.value, 0xA000u);
    BOOST_REQUIRE(f.look(0x1000, 2));
    BOOST_CHECK_EQUAL(f.hit.pa.value, 0xB000u);
    BOOST_CHECK(!f.look(0x1000, 3));
    BOOST_CHECK_EQUAL(tla_tlb_invalidate_asid(f.tlb, 1), 1u);
    BOOST_CHECK(!f.look(0x1000, 1));
    BOOST_CHECK(f.look(0x1000, 2));
}

BOOST_AUTO_TEST_CASE(range_invalidation_takes_what_it_touches) {
    for (uint32_t entries : {16u, 1024u}) { // by looking at every entry, and by asking for every page
        tlb_fixture f(one_level(entries, 0));
        f.fill(page(2 * MiB, 0, 2 * MiB));
        for (uint64_t p = 0; p < 8; p++)
            f.fill(page(p * 4 * KiB, p));
        f.fill(page(3 * 4 * KiB, 3, 4 * KiB, 1));
        BOOST_CHECK_EQUAL(tla_tlb_invalidate_range(f.tlb, 0, {2 * 4 * KiB + 4095}, 4 * KiB + 2), 3u);
        for (uint64_t p = 0; p < 8; p++)
            BOOST_CHECK_EQUAL(f.look(p * 4 * KiB), p < 2 || p > 4);
        BOOST_CHECK(f.look(3 * 4 * KiB, 1));
        BOOST_CHECK(f.look(2 * MiB));
        BOOST_CHECK_EQUAL(tla_tlb_invalidate_range(f.tlb, 0, {3 * MiB}, 1), 1u); // any byte of a page takes the page
        BOOST_CHECK(!f.look(2 * MiB));
        BOOST_CHECK_EQUAL(tla_tlb_invalidate_range(f.tlb, 0, {0}, 0), 0u);
        BOOST_CHECK_EQUAL(tla_tlb_invalidate_range(f.tlb, 0, {1}, UINT64_MAX), 5u);
        BOOST_CHECK_EQUAL(tla_tlb_invalidate_all(f.tlb), 1u);
        tla_tlb_stats stats = tla_tlb_get_stats(f.tlb, 0);
        BOOST_CHECK_EQUAL(stats.valid, 0u);
        BOOST_CHECK_EQUAL(stats.invalidated, 10u);
    }
}

BOOST_AUTO_TEST_CASE(a_second_level_refills_the_first) {
    tla_tlb_config config = one_level(1, 0);
    config.levels = 2;
    config.level[1] = {8, 2, 2000, TLA_REPLACE_LRU};
    tlb_fixture f(config);
    f.fill(page(0, 0xA000));
    f.fill(page(0x1000, 0xB000));
    BOOST_REQUIRE(f.look(0));
    BOOST_CHECK_EQUAL(f.hit.level, 1u);
    BOOST_CHECK_EQUAL(f.hit.latency_ps, 2500u);
    BOOST_REQUIRE(f.look(0));
    BOOST_CHECK_EQUAL(f.hit.level, 0u);
    BOOST_CHECK_EQUAL(f.hit.latency_ps, 500u);
    BOOST_CHECK(!f.look(0x2000));
    BOOST_CHECK_EQUAL(f.hit.level, 2u);
    BOOST_CHECK_EQUAL(f.hit.latency_ps, 2500u);
    BOOST_CHECK_EQUAL(tla_tlb_invalidate_range(f.tlb, 0, {0}, 1), 2u); // in both levels
    BOOST_CHECK(!f.look(0));
}

BOOST_AUTO_TEST_CASE(without_levels_every_lookup_misses) {
    tla_tlb_config config = one_level(1, 0);
    config.levels = 0;
    tlb_fixture f(config);
    f.fill(page(0, 0));
    BOOST_CHECK(!f.look(0));
    BOOST_CHECK_EQUAL(f.hit.latency_ps, 0u);
}

BOOST_AUTO_TEST_CASE(a_new_walk_replaces_an_entry_with_another_translation) {
    tlb_fixture f(one_level(4, 0));
    f.fill(page(0x1000, 0xA000));
    f.fill(page(0x1000, 0xA000));
    BOOST_CHECK_EQUAL(tla_tlb_get_stats(f.tlb, 0).fills, 1u);
    f.fill(page(0x1000, 0xB000));
    BOOST_REQUIRE(f.look(0x1000));
    BOOST_CHECK_EQUAL(f.hit.pa.value, 0xB000u);
    BOOST_CHECK_EQUAL(tla_tlb_get_stats(f.tlb, 0).valid, 1u);
}

BOOST_AUTO_TEST_CASE(an_entry_that_a_change_ends_is_hit_until_the_change_is_visible) {
    tlb_fixture f(one_level(4, 0));
    const tla_walk ends = page(0x1000, 0xA000);
    BOOST_REQUIRE_EQUAL(tla_tlb_fill_until(f.tlb, &ends, 400), TLA_OK);
    f.fill(page(0x2000, 0xB000));
    tla_tlb_end_range(f.tlb, 0, {0x2000}, 1);
    BOOST_CHECK(f.look(0x2000, 0, 300)); // until when has not been said
    tla_tlb_end(f.tlb, 500);
    BOOST_CHECK(f.look(0x1000, 0, 399));
    BOOST_CHECK(!f.look(0x1000, 0, 400));
    BOOST_CHECK(f.look(0x2000, 0, 499));
    tla_tlb_advance(f.tlb, 500);
    BOOST_CHECK_EQUAL(tla_tlb_get_stats(f.tlb, 0).valid, 0u);
    BOOST_CHECK(!f.look(0x2000, 0, 500));
}

BOOST_AUTO_TEST_CASE(configurations_that_break_a_rule_are_rejected) {
    tla_tlb_config bad[9];
    std::fill(std::begin(bad), std::end(bad), one_level(8, 2));
    bad[0].levels = 4;
    bad[1].level[0].entries = 0;
    bad[2].level[0].ways = 3;
    bad[3].level[0] = {24, 8, 0, TLA_REPLACE_LRU}; // 3 sets
    bad[4].level[0] = {6, 6, 0, TLA_REPLACE_PLRU};
    bad[5].level[0].replacement = TLA_REPLACEMENT_COUNT;
    bad[6].page_sizes[1] = 4 * KiB;
    bad[7].page_sizes[0] = 0;
    bad[8].page_sizes[0] = 3000;
    for (const tla_tlb_config &config : bad) {
        tla_tlb *tlb = reinterpret_cast<tla_tlb *>(1);
        BOOST_CHECK_EQUAL(tla_tlb_create(&config, &tlb), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(tlb == nullptr);
    }
    tlb_fixture f(one_level(8, 2));
    tla_walk none = page(0, 0);
    none.nbytes = 0;
    BOOST_CHECK_EQUAL(tla_tlb_fill(f.tlb, &none), TLA_INVALID_ARGUMENT);
    none = page(0, 0, 64 * KiB);
    BOOST_CHECK_EQUAL(tla_tlb_fill(f.tlb, &none), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_replacement_name(TLA_REPLACE_PLRU), "plru");
    BOOST_CHECK(tla_replacement_name(TLA_REPLACEMENT_COUNT) == nullptr);
}

BOOST_AUTO_TEST_CASE(lru_and_fifo_agree_with_a_naive_tlb) {
    const unsigned seed = 20260114;
    BOOST_TEST_MESSAGE("seed " << seed);
    struct key {
        uint64_t va, page_size;
        uint32_t asid;
        bool operator==(const key &o) const { return va == o.va && page_size == o.page_size && asid == o.asid; }
    };
    for (tla_replacement replacement : {TLA_REPLACE_LRU, TLA_REPLACE_FIFO}) {
        for (uint32_t ways : {1u, 4u, 32u}) {
            std::mt19937 random(seed);
            const uint32_t entries = 32, sets = entries / ways;
            tlb_fixture f(one_level(entries, ways, replacement));
            std::vector<std::list<key>> naive(sets); // newest first
            for (int step = 0; step < 60000; step++) {
                uint64_t page_size = random() % 4 ? 4 * KiB : 2 * MiB;
                auto asid = static_cast<uint32_t>(random() % 2);
                uint64_t va = random() % 24 * page_size + (page_size == 4 * KiB ? 512 * MiB : 0);
                key k{va, page_size, asid};
                std::list<key> &set = naive[va / page_size % sets];
                auto found = std::find(set.begin(), set.end(), k);
                auto kind = random() % 16;
                if (kind == 0) {
                    BOOST_REQUIRE_EQUAL(tla_tlb_invalidate_range(f.tlb, asid, {va + random() % page_size}, 1),
                                        found != set.end() ? 1u : 0u);
                    if (found != set.end()) set.erase(found);
                    continue;
                }
                BOOST_REQUIRE_EQUAL(f.look(va + random() % page_size, asid), found != set.end());
                if (found == set.end()) {
                    f.fill(page(va, va * 3, page_size, asid));
                    set.push_front(k);
                    if (set.size() > ways) set.pop_back();
                } else {
                    BOOST_REQUIRE_EQUAL(f.hit.pa.value, va * 3);
                    if (replacement == TLA_REPLACE_LRU) set.splice(set.begin(), set, found);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_million_steps_with_tlbs_in_front_agree_with_a_map) {
    // map, unmap, translate, invalidate in random order over three address spaces. A translation goes through the TLB;
    // every unmap and remap invalidates what it touched, so that the map is always right.
    const unsigned seed = 20260115;
    BOOST_TEST_MESSAGE("seed " << seed);
    for (tla_replacement replacement : {TLA_REPLACE_LRU, TLA_REPLACE_FIFO, TLA_REPLACE_RANDOM, TLA_REPLACE_PLRU}) {
        std::mt19937 random(seed);
        const uint64_t grain = 256, space = 512 * KiB, grains = space / grain, base = (uint64_t{4} << 30) - 128 * KiB;
        const uint32_t asids = 3;
        tla_page_table_config config{};
        config.page_size = 4 * KiB;
        config.larger_page_sizes[0] = 64 * KiB;
        config.asids = asids;
        config.allow_remap = true;
        tla_page_table *table = nullptr;
        BOOST_REQUIRE_EQUAL(tla_page_table_create(&config, &table), TLA_OK);
        tla_tlb_config levels{};
        levels.levels = 2;
        levels.level[0] = {8, 0, 0, replacement};
        levels.level[1] = {64, 4, 0, replacement};
        levels.page_sizes[0] = 4 * KiB;
        levels.page_sizes[1] = 64 * KiB;
        tlb_fixture f(levels);
        struct cell {
            uint64_t pa;
            uint32_t flags;
        };
        std::vector<std::vector<cell>> cells(asids, std::vector<cell>(grains, cell{0, 0}));
        uint64_t hits = 0;
        for (int step = 0; step < 250000; step++) {
            auto asid = static_cast<uint32_t>(random() % asids);
            std::vector<cell> &map = cells[asid];
            auto kind = random() % 32;
            const uint64_t units[] = {grain, 4 * KiB, 64 * KiB};
            uint64_t unit = units[random() % 3];
            uint64_t at = random() % (space / unit) * unit / grain, count = (1 + random() % 2) * unit / grain;
            if (count > grains - at) count = grains - at;
            tla_map_entry e{{base + at * grain}, {0}, count * grain, static_cast<uint32_t>(1 + random() % 3), asid};
            if (kind < 2) {
                const uint64_t phases[] = {0, 64 * KiB, 4 * KiB, 7};
                e.pa.value = e.va.value + (random() % 8) * MiB + phases[random() % 4];
                BOOST_REQUIRE_EQUAL(tla_page_table_map(table, &e, 1, nullptr, nullptr), TLA_OK);
                for (uint64_t i = 0; i < count; i++)
                    map[at + i] = {e.pa.value + i * grain, e.flags};
                tla_tlb_invalidate_range(f.tlb, asid, e.va, e.nbytes);
            } else if (kind == 2) {
                uint64_t run = 0;
                while (run < count && map[at + run].flags)
                    run++;
                if (run == 0) continue;
                e.nbytes = run * grain;
                BOOST_REQUIRE_EQUAL(tla_page_table_unmap(table, &e, 1, nullptr, nullptr), TLA_OK);
                for (uint64_t i = 0; i < run; i++)
                    map[at + i].flags = 0;
                tla_tlb_invalidate_range(f.tlb, asid, e.va, e.nbytes);
            } else if (kind == 3 && random() % 64 == 0) {
                if (random() % 2)
                    tla_tlb_invalidate_asid(f.tlb, asid);
                else
                    tla_tlb_invalidate_all(f.tlb);
            } else {
                uint64_t va = random() % 4 ? random() % (64 * KiB) : random() % space;
                const cell &c = map[va / grain];
                tla_walk walk{};
                if (f.look(base + va, asid)) {
                    hits++;
                } else {
                    tla_status status = tla_page_table_walk(table, asid, {base + va}, &walk);
                    BOOST_REQUIRE_EQUAL(status, c.flags ? TLA_OK : TLA_UNMAPPED);
                    if (status) continue;
                    f.fill(walk);
                    BOOST_REQUIRE(f.look(base + va, asid));
                }
                BOOST_REQUIRE_EQUAL(f.hit.flags, c.flags);
                BOOST_REQUIRE_EQUAL(f.hit.pa.value + (base + va - f.hit.va.value), c.pa + va % grain);
            }
        }
        BOOST_CHECK_GT(hits, 50000u);
        tla_page_table_destroy(table);
    }
}
