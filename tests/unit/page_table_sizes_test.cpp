// The page table with several page sizes, address spaces and narrow virtual addresses.
#include "tlmalloc/vm/page_table.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <random>
#include <vector>

namespace {
const uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
const uint32_t rw = TLA_READ | TLA_WRITE;

tla_map_entry entry(uint64_t va, uint64_t pa, uint64_t nbytes, uint32_t asid = 0, uint32_t flags = rw) {
    return {{va}, {pa}, nbytes, flags, asid};
}

tla_page_table_config sizes(std::vector<uint64_t> list) {
    tla_page_table_config config{};
    config.page_size = list[0];
    for (size_t i = 1; i < list.size(); i++)
        config.larger_page_sizes[i - 1] = list[i];
    return config;
}

struct table_fixture {
    explicit table_fixture(const tla_page_table_config &config) {
        BOOST_REQUIRE_EQUAL(tla_page_table_create(&config, &table), TLA_OK);
    }
    ~table_fixture() { tla_page_table_destroy(table); }
    table_fixture(const table_fixture &) = delete;
    table_fixture &operator=(const table_fixture &) = delete;
    tla_status map(std::vector<tla_map_entry> entries) {
        work = {};
        return tla_page_table_map(table, entries.data(), entries.size(), &work, &error);
    }
    tla_status unmap(std::vector<tla_map_entry> ranges) {
        work = {};
        return tla_page_table_unmap(table, ranges.data(), ranges.size(), &work, &error);
    }
    tla_status translate(uint32_t asid, uint64_t va, uint64_t nbytes, tla_translation &t) {
        return tla_page_table_translate_in(table, asid, {va}, nbytes, 0, &t, nullptr);
    }
    tla_walk walk(uint64_t va, uint32_t asid = 0) {
        tla_walk w{};
        BOOST_REQUIRE_EQUAL(tla_page_table_walk(table, asid, {va}, &w), TLA_OK);
        return w;
    }
    std::vector<uint64_t> pages() {
        tla_page_table_stats s = tla_page_table_get_stats(table);
        return {s.pages_of_size[0], s.pages_of_size[1], s.pages_of_size[2], s.pages_of_size[3]};
    }
    tla_page_table *table = nullptr;
    tla_work work{};
    tla_error error{};
};

#define CHECK_PAGES(fixture, ...)                                                                                      \
    do {                                                                                                               \
        std::vector<uint64_t> expected{__VA_ARGS__}, found = (fixture).pages();                                        \
        BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());                   \
    } while (0)
} // namespace

BOOST_AUTO_TEST_CASE(the_largest_pages_that_are_aligned_on_both_sides_are_used) {
    table_fixture f(sizes({4 * KiB, 64 * KiB, 2 * MiB, GiB}));
    // 1 GiB aligned on both sides, then 2 MiB, 64 KiB and 4 KiB behind it.
    BOOST_REQUIRE_EQUAL(f.map({entry(4 * GiB, 2 * GiB, GiB + 2 * MiB + 64 * KiB + 4 * KiB)}), TLA_OK);
    CHECK_PAGES(f, 1, 1, 1, 1);
    BOOST_CHECK_EQUAL(f.work.pte_writes, 4u);
    BOOST_CHECK_EQUAL(f.walk(4 * GiB + 5).page_size, GiB);
    BOOST_CHECK_EQUAL(f.walk(5 * GiB).page_size, 2 * MiB);
    BOOST_CHECK_EQUAL(f.walk(5 * GiB + 2 * MiB).page_size, 64 * KiB);
    BOOST_CHECK_EQUAL(f.walk(5 * GiB + 2 * MiB + 64 * KiB).page_size, 4 * KiB);
    tla_translation t{};
    BOOST_REQUIRE_EQUAL(f.translate(0, 4 * GiB, 8 * GiB, t), TLA_OK);
    BOOST_CHECK_EQUAL(t.nbytes, GiB + 2 * MiB + 64 * KiB + 4 * KiB); // joined across sizes
}

BOOST_AUTO_TEST_CASE(a_physical_address_that_is_not_aligned_forces_small_pages) {
    table_fixture f(sizes({4 * KiB, 64 * KiB, 2 * MiB}));
    BOOST_REQUIRE_EQUAL(f.map({entry(4 * GiB, 64 * KiB, 2 * MiB)}), TLA_OK);
    CHECK_PAGES(f, 0, 32, 0, 0);
    BOOST_REQUIRE_EQUAL(f.map({entry(5 * GiB, 4 * KiB, 2 * MiB)}), TLA_OK);
    CHECK_PAGES(f, 512, 32, 0, 0);
    BOOST_REQUIRE_EQUAL(f.map({entry(6 * GiB, 3, 2 * MiB)}), TLA_OK); // the smallest takes any byte address
    CHECK_PAGES(f, 1024, 32, 0, 0);
    BOOST_REQUIRE_EQUAL(f.map({entry(7 * GiB + 4 * KiB, 8 * MiB + 4 * KiB, 4 * MiB - 4 * KiB)}), TLA_OK);
    CHECK_PAGES(f, 1024 + 15, 32 + 31, 1, 0);
}

BOOST_AUTO_TEST_CASE(cutting_a_large_page_breaks_it_into_smaller_ones) {
    table_fixture f(sizes({4 * KiB, 64 * KiB, 2 * MiB}));
    BOOST_REQUIRE_EQUAL(f.map({entry(4 * GiB, 2 * MiB, 2 * MiB)}), TLA_OK);
    CHECK_PAGES(f, 0, 0, 1, 0);
    BOOST_REQUIRE_EQUAL(f.unmap({entry(4 * GiB + 68 * KiB, 0, 4 * KiB)}), TLA_OK);
    CHECK_PAGES(f, 15, 31, 0, 0);
    BOOST_CHECK_EQUAL(f.work.pte_writes, 32u + 16u + 1u); // 32 of 64 KiB, one of them broken into 16, one cleared
    tla_translation t{};
    BOOST_CHECK_EQUAL(f.translate(0, 4 * GiB + 68 * KiB, 1, t), TLA_UNMAPPED);
    BOOST_REQUIRE_EQUAL(f.translate(0, 4 * GiB + 72 * KiB, 4 * MiB, t), TLA_OK);
    BOOST_CHECK_EQUAL(t.pa.value, 2 * MiB + 72 * KiB);
    BOOST_CHECK_EQUAL(t.nbytes, 2 * MiB - 72 * KiB);
}

BOOST_AUTO_TEST_CASE(cutting_a_long_run_of_small_pages_writes_only_what_changes) {
    table_fixture f(sizes({4 * KiB}));
    BOOST_REQUIRE_EQUAL(f.map({entry(4 * GiB, 5, GiB)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.work.pte_writes, 262144u);
    BOOST_CHECK_LT(tla_page_table_get_stats(f.table).host_bytes, 16 * KiB); // a run takes a slot, not 262144
    BOOST_REQUIRE_EQUAL(f.unmap({entry(4 * GiB + 4 * KiB, 0, 8 * KiB)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.work.pte_writes, 2u);
    CHECK_PAGES(f, 262142, 0, 0, 0);
}

BOOST_AUTO_TEST_CASE(table_levels_follow_from_address_bits_and_page_size) {
    // x86-64: 48-bit addresses, 4 levels for 4 KiB, 3 for 2 MiB, 2 for 1 GiB.
    tla_page_table_config config = sizes({4 * KiB, 2 * MiB, GiB});
    config.va_bits = 48;
    table_fixture f(config);
    BOOST_REQUIRE_EQUAL(f.map({entry(0, 0, GiB), entry(GiB, 2 * MiB, 2 * MiB), entry(2 * GiB, 1, 4 * KiB),
                               entry(2 * GiB + 4 * KiB, 9, 100)}),
                        TLA_OK);
    struct {
        uint64_t va;
        uint32_t reads;
    } expected[] = {{5, 2}, {GiB, 3}, {2 * GiB, 4}, {2 * GiB + 4 * KiB, 5}};
    for (auto e : expected) {
        tla_work work{};
        tla_translation t{};
        BOOST_CHECK_EQUAL(f.walk(e.va).reads, e.reads);
        BOOST_REQUIRE_EQUAL(tla_page_table_translate(f.table, {e.va}, 1, 0, &t, &work), TLA_OK);
        BOOST_CHECK_EQUAL(work.table_levels, e.reads);
    }
    tla_walk walk = f.walk(2 * GiB);
    BOOST_CHECK_EQUAL(walk.read[0].va_shift, 39u);
    BOOST_CHECK_EQUAL(walk.read[1].va_shift, 30u);
    BOOST_CHECK_EQUAL(walk.read[2].va_shift, 21u);
    BOOST_CHECK_EQUAL(walk.read[3].va_shift, 12u);

    tla_page_table_config large = sizes({64 * KiB});
    large.va_bits = 48; // 32 bits of page number: 5 + 9 + 9 + 9
    table_fixture g(large);
    BOOST_REQUIRE_EQUAL(g.map({entry(0, 0, 64 * KiB)}), TLA_OK);
    BOOST_CHECK_EQUAL(g.walk(0).reads, 4u);
    BOOST_CHECK_EQUAL(g.walk(0).read[0].va_shift, 43u);
}

BOOST_AUTO_TEST_CASE(a_walk_finds_the_page_or_the_region_and_its_bounds) {
    table_fixture f(sizes({4 * KiB, 2 * MiB}));
    BOOST_REQUIRE_EQUAL(f.map({entry(8 * MiB, 3 * MiB, 2 * MiB, 0, TLA_READ), entry(0x1100, 0x777, 0x80)}), TLA_OK);
    tla_walk page = f.walk(8 * MiB + 0x5123); // pa not 2 MiB-aligned: 4 KiB pages, one of the run
    BOOST_CHECK_EQUAL(page.va.value, 8 * MiB + 0x5000);
    BOOST_CHECK_EQUAL(page.pa.value, 3 * MiB + 0x5000);
    BOOST_CHECK_EQUAL(page.nbytes, 4 * KiB);
    BOOST_CHECK_EQUAL(page.flags, static_cast<uint32_t>(TLA_READ));
    tla_walk region = f.walk(0x1150);
    BOOST_CHECK_EQUAL(region.va.value, 0x1100u);
    BOOST_CHECK_EQUAL(region.nbytes, 0x80u);
    BOOST_CHECK_EQUAL(region.pa.value, 0x777u);
    BOOST_CHECK_EQUAL(region.page_size, 4 * KiB);
    tla_walk nothing{};
    BOOST_CHECK_EQUAL(tla_page_table_walk(f.table, 0, {0x1180}, &nothing), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(nothing.va.value, 0x1000u);
}

BOOST_AUTO_TEST_CASE(address_spaces_do_not_see_each_other) {
    tla_page_table_config config = sizes({4 * KiB});
    config.asids = 3;
    table_fixture f(config);
    BOOST_REQUIRE_EQUAL(f.map({entry(0x1000, 0xA000, 0x1000, 0), entry(0x1000, 0xB000, 0x1000, 2)}), TLA_OK);
    tla_translation t{};
    BOOST_REQUIRE_EQUAL(f.translate(0, 0x1000, 1, t), TLA_OK);
    BOOST_CHECK_EQUAL(t.pa.value, 0xA000u);
    BOOST_CHECK_EQUAL(f.translate(1, 0x1000, 1, t), TLA_UNMAPPED);
    BOOST_REQUIRE_EQUAL(f.translate(2, 0x1000, 1, t), TLA_OK);
    BOOST_CHECK_EQUAL(t.pa.value, 0xB000u);
    BOOST_CHECK_EQUAL(f.unmap({entry(0x1000, 0, 0x1000, 1)}), TLA_UNMAPPED);
    BOOST_REQUIRE_EQUAL(f.unmap({entry(0x1000, 0, 0x1000, 0)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.translate(2, 0x1000, 1, t), TLA_OK);
    BOOST_CHECK_EQUAL(f.translate(3, 0x1000, 1, t), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(f.map({entry(0x1000, 0, 0x1000, 3)}), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_MESSAGE(std::strstr(f.error.text, "asid 3 must be 0 .. 2"), f.error.text);
}

BOOST_AUTO_TEST_CASE(addresses_past_the_configured_width_are_rejected) {
    tla_page_table_config config = sizes({4 * KiB});
    config.va_bits = 40;
    table_fixture f(config);
    const uint64_t top = uint64_t{1} << 40;
    BOOST_CHECK_EQUAL(f.map({entry(top - 0x1000, 0, 0x1001)}), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(f.unmap({entry(top, 0, 1)}), TLA_OUT_OF_RANGE);
    BOOST_REQUIRE_EQUAL(f.map({entry(top - 0x1000, 0x5000, 0x1000)}), TLA_OK);
    tla_translation t{};
    BOOST_REQUIRE_EQUAL(f.translate(0, top - 1, 2, t), TLA_OK);
    BOOST_CHECK_EQUAL(t.nbytes, 1u);
    BOOST_CHECK_EQUAL(f.translate(0, top + top - 1, 1, t), TLA_UNMAPPED); // the same low bits
    tla_walk walk{};
    BOOST_CHECK_EQUAL(tla_page_table_walk(f.table, 0, {top + top - 1}, &walk), TLA_UNMAPPED);
}

BOOST_AUTO_TEST_CASE(remaps_are_counted) {
    tla_page_table_config config = sizes({4 * KiB, 2 * MiB});
    config.allow_remap = true;
    table_fixture f(config);
    BOOST_REQUIRE_EQUAL(f.map({entry(2 * MiB, 2 * MiB, 2 * MiB), entry(8 * MiB, 0, 4 * KiB)}), TLA_OK);
    BOOST_CHECK_EQUAL(tla_page_table_get_stats(f.table).remaps, 0u);
    BOOST_REQUIRE_EQUAL(f.map({entry(3 * MiB, 64 * MiB, 4 * KiB)}), TLA_OK);
    BOOST_CHECK_EQUAL(tla_page_table_get_stats(f.table).remaps, 1u);
    CHECK_PAGES(f, 513, 0, 0, 0);
    BOOST_REQUIRE_EQUAL(f.map({entry(0, 0, 10 * MiB)}), TLA_OK); // over all of it, and over holes
    BOOST_CHECK_EQUAL(tla_page_table_get_stats(f.table).remaps, 2u);
    CHECK_PAGES(f, 0, 5, 0, 0);
}

BOOST_AUTO_TEST_CASE(page_sizes_that_do_not_rise_and_widths_that_do_not_fit_are_rejected) {
    tla_page_table_config bad[9];
    bad[0] = sizes({4 * KiB, 4 * KiB});
    bad[1] = sizes({64 * KiB, 4 * KiB});
    bad[2] = sizes({4 * KiB, 96 * KiB});
    bad[3] = sizes({4 * KiB, 2 * GiB});
    bad[4] = sizes({2 * MiB});
    bad[4].va_bits = 21;
    bad[5] = sizes({4 * KiB});
    bad[5].va_bits = 65;
    bad[6] = sizes({4 * KiB});
    bad[6].asids = 65537;
    bad[7] = sizes({4 * KiB});
    bad[7].memory.alloc = [](void *, uint64_t, tla_paddr *) { return TLA_LIMIT; };
    bad[8] = sizes({4 * KiB});
    bad[8].memory.write = [](void *, tla_paddr, const uint64_t *, size_t) {};
    for (const tla_page_table_config &config : bad) {
        tla_page_table *table = reinterpret_cast<tla_page_table *>(1);
        BOOST_CHECK_EQUAL(tla_page_table_create(&config, &table), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(table == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(host_memory_stays_bounded_by_what_is_mapped) {
    // 256 MMUs hold a few thousand pages each: dense pages share their nodes, lonely ones cost a few hundred bytes.
    tla_page_table_config config = sizes({4 * KiB});
    config.va_bits = 48;
    table_fixture f(config);
    const uint64_t empty = tla_page_table_get_stats(f.table).host_bytes;
    std::vector<tla_map_entry> dense;
    for (uint64_t i = 0; i < 4096; i++)
        dense.push_back(entry(4 * GiB + i * 4 * KiB, (i * 2654435761u % 4096) * 8 * KiB, 4 * KiB));
    BOOST_REQUIRE_EQUAL(f.map(dense), TLA_OK);
    BOOST_CHECK_LT(tla_page_table_get_stats(f.table).host_bytes - empty, 4096 * 12u);
    BOOST_REQUIRE_EQUAL(f.unmap({entry(4 * GiB, 0, 16 * MiB)}), TLA_OK);
    std::vector<tla_map_entry> lonely;
    for (uint64_t i = 0; i < 1024; i++)
        lonely.push_back(entry(4 * GiB + i * 2 * MiB, i * 8 * KiB, 4 * KiB));
    BOOST_REQUIRE_EQUAL(f.map(lonely), TLA_OK);
    BOOST_CHECK_LT(tla_page_table_get_stats(f.table).host_bytes - empty, 1024 * 700u + 64 * KiB);
    for (const tla_map_entry &e : lonely)
        BOOST_REQUIRE_EQUAL(f.unmap({e}), TLA_OK);
    BOOST_CHECK_LT(tla_page_table_get_stats(f.table).host_bytes - empty, 64 * KiB); // the log of a batch remains
}

BOOST_AUTO_TEST_CASE(random_steps_over_all_sizes_and_address_spaces_agree_with_a_map) {
    const unsigned seed = 20260111;
    BOOST_TEST_MESSAGE("seed " << seed);
    const uint64_t grain = 512, space = 4 * MiB, grains = space / grain;
    const uint32_t asids = 3;
    const std::vector<uint64_t> lists[] = {
        {4 * KiB}, {4 * KiB, 64 * KiB, 2 * MiB, GiB}, {64 * KiB, 2 * MiB}, {4 * KiB, 8 * KiB, 1 * MiB}, {2 * MiB}};
    for (const std::vector<uint64_t> &list : lists) {
        for (bool remap : {false, true}) {
            std::mt19937 random(seed);
            tla_page_table_config config = sizes(list);
            config.allow_remap = remap;
            config.asids = asids;
            config.va_bits = 40;
            table_fixture f(config);
            // Straddles a 1 GiB boundary, so that the top of the tree takes part.
            const uint64_t base = 5 * GiB - 2 * MiB;
            struct cell {
                uint64_t pa;
                uint32_t flags;
            };
            std::vector<std::vector<cell>> cells(asids, std::vector<cell>(grains, cell{0, 0}));
            for (int step = 0; step < 20000; step++) {
                auto asid = static_cast<uint32_t>(random() % asids);
                std::vector<cell> &map = cells[asid];
                const uint64_t units[] = {grain, 4 * KiB, 64 * KiB, 2 * MiB};
                uint64_t unit = units[random() % 8 ? random() % 3 : 3];
                uint64_t at = random() % (space / unit) * unit / grain, count = (1 + random() % 3) * unit / grain;
                if (count > grains - at) count = grains - at;
                auto kind = random() % 3;
                if (kind == 0) {
                    // One physical run a 2 MiB phase, so that neighbours join and large pages occur.
                    const uint64_t phases[] = {0, 0, 4 * KiB, 64 * KiB, 512};
                    uint64_t pa = base + at * grain + 8 * MiB * (random() % 2) + phases[random() % 5];
                    auto flags = static_cast<uint32_t>(1 + random() % 3);
                    bool taken = false;
                    for (uint64_t i = at; i < at + count && !taken; i++)
                        taken = map[i].flags != 0;
                    BOOST_REQUIRE_EQUAL(f.map({entry(base + at * grain, pa, count * grain, asid, flags)}),
                                        taken && !remap ? TLA_OVERLAP : TLA_OK);
                    if (taken && !remap) continue;
                    for (uint64_t i = 0; i < count; i++)
                        map[at + i] = {pa + i * grain, flags};
                } else if (kind == 1) {
                    uint64_t run = 0;
                    while (run < count && map[at + run].flags)
                        run++;
                    if (run && random() % 4) count = run;
                    BOOST_REQUIRE_EQUAL(f.unmap({entry(base + at * grain, 0, count * grain, asid)}),
                                        run >= count ? TLA_OK : TLA_UNMAPPED);
                    if (run < count) continue;
                    for (uint64_t i = 0; i < count; i++)
                        map[at + i].flags = 0;
                }
                uint64_t va = random() % space, first = va / grain;
                tla_translation t{};
                tla_walk walk{};
                tla_status status = f.translate(asid, base + va, space, t);
                BOOST_REQUIRE_EQUAL(tla_page_table_walk(f.table, asid, {base + va}, &walk), status);
                BOOST_REQUIRE_EQUAL(status, map[first].flags ? TLA_OK : TLA_UNMAPPED);
                if (status) continue;
                uint64_t run = 1;
                while (first + run < grains && map[first + run].flags == map[first].flags &&
                       map[first + run].pa == map[first].pa + run * grain)
                    run++;
                BOOST_REQUIRE_EQUAL(t.pa.value, map[first].pa + va % grain);
                BOOST_REQUIRE_EQUAL(t.flags, map[first].flags);
                BOOST_REQUIRE_EQUAL(t.nbytes, run * grain - va % grain);
                BOOST_REQUIRE_EQUAL(walk.pa.value + (base + va - walk.va.value), t.pa.value);
                BOOST_REQUIRE_EQUAL(walk.flags, t.flags);
                BOOST_REQUIRE_LE(walk.nbytes, walk.page_size);
            }
            uint64_t mapped = 0;
            for (uint32_t asid = 0; asid < asids; asid++) {
                for (uint64_t i = 0; i < grains; i++) {
                    if (!cells[asid][i].flags) continue;
                    mapped += grain;
                    BOOST_REQUIRE_EQUAL(f.unmap({entry(base + i * grain, 0, grain, asid)}), TLA_OK);
                }
            }
            BOOST_CHECK_GT(mapped, 0u);
            tla_page_table_stats stats = tla_page_table_get_stats(f.table);
            BOOST_CHECK_EQUAL(stats.mapped_bytes, 0u);
            BOOST_CHECK_EQUAL(stats.pages, 0u);
            BOOST_CHECK_EQUAL(stats.regions, 0u);
            CHECK_PAGES(f, 0, 0, 0, 0);
        }
    }
}
