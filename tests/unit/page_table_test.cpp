// The page table against ADR-0039 (KernBench's tests T1..T5, D3's sub-page regions), and against a byte map.
#include "tlmalloc/vm/page_table.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <random>
#include <vector>

namespace {
const uint32_t rw = TLA_READ | TLA_WRITE;

tla_map_entry entry(uint64_t va, uint64_t pa, uint64_t nbytes, uint32_t flags = rw) {
    return {{va}, {pa}, nbytes, flags, 0};
}

struct table_fixture {
    explicit table_fixture(uint64_t page_size = 4096, bool allow_remap = false) {
        tla_page_table_config config{};
        config.page_size = page_size;
        config.allow_remap = allow_remap;
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
    tla_translation at(uint64_t va, uint64_t nbytes = 1) {
        tla_translation t{};
        BOOST_REQUIRE_EQUAL(tla_page_table_translate(table, {va}, nbytes, 0, &t, nullptr), TLA_OK);
        return t;
    }
    tla_status status_at(uint64_t va, uint32_t access = 0) {
        tla_translation t{};
        return tla_page_table_translate(table, {va}, 1, access, &t, nullptr);
    }
    tla_page_table_stats stats() { return tla_page_table_get_stats(table); }
    tla_page_table *table = nullptr;
    tla_work work{};
    tla_error error{};
};
} // namespace

BOOST_AUTO_TEST_CASE(t1_the_offset_inside_a_page_is_kept) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x100000000, 0xABCD0000, 4096)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.at(0x100000000).pa.value, 0xABCD0000u);
    BOOST_CHECK_EQUAL(f.at(0x100000100).pa.value, 0xABCD0100u);
}

BOOST_AUTO_TEST_CASE(t2_an_entry_may_span_many_2_mib_pages) {
    const uint64_t page = uint64_t{2} << 20;
    table_fixture f(page);
    BOOST_REQUIRE_EQUAL(f.map({entry(0x100000000, 0x40000000, 3 * page)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.stats().pages, 3u);
    BOOST_CHECK_EQUAL(f.stats().regions, 0u);
    BOOST_CHECK_EQUAL(f.work.pte_writes, 3u);
    for (uint64_t i = 0; i < 3; i++)
        BOOST_CHECK_EQUAL(f.at(0x100000000 + i * page + 5).pa.value, 0x40000000 + i * page + 5);
    BOOST_CHECK_EQUAL(f.status_at(0x100000000 + 3 * page), TLA_UNMAPPED);
}

BOOST_AUTO_TEST_CASE(t3_maps_accumulate) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x100000000, 0xA0000000, 4096)}), TLA_OK);
    BOOST_REQUIRE_EQUAL(f.map({entry(0x100001000, 0xB0000000, 4096)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.at(0x100000008).pa.value, 0xA0000008u);
    BOOST_CHECK_EQUAL(f.at(0x100001008).pa.value, 0xB0000008u);
}

BOOST_AUTO_TEST_CASE(t4_after_unmap_the_page_faults) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x100000000, 0xA0000000, 8192)}), TLA_OK);
    BOOST_REQUIRE_EQUAL(f.unmap({entry(0x100000000, 0, 4096)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.work.invalidates, 1u);
    BOOST_CHECK_EQUAL(f.work.pte_writes, 1u);
    BOOST_CHECK_EQUAL(f.status_at(0x100000FFF), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(f.at(0x100001000).pa.value, 0xA0001000u);
}

BOOST_AUTO_TEST_CASE(t5_an_address_that_was_never_mapped_faults) {
    table_fixture f;
    for (uint64_t va : {uint64_t{0}, uint64_t{0x100000000}, UINT64_MAX})
        BOOST_CHECK_EQUAL(f.status_at(va), TLA_UNMAPPED);
}

BOOST_AUTO_TEST_CASE(shards_smaller_than_a_page_do_not_overwrite_each_other) {
    // ADR-0039 D3: 128-byte shards on 4 KiB pages used to overwrite each other, the last write won.
    table_fixture f;
    std::vector<tla_map_entry> shards;
    for (uint64_t i = 0; i < 32; i++)
        shards.push_back(entry(0x100000000 + i * 128, i << 42 | uint64_t{1} << 37 | (i * 7), 128));
    BOOST_REQUIRE_EQUAL(f.map(shards), TLA_OK);
    BOOST_CHECK_EQUAL(f.stats().pages, 0u);
    BOOST_CHECK_EQUAL(f.stats().regions, 32u);
    for (uint64_t i = 0; i < 32; i++)
        BOOST_CHECK_EQUAL(f.at(0x100000000 + i * 128 + 127).pa.value, (i << 42 | uint64_t{1} << 37 | (i * 7)) + 127);
}

BOOST_AUTO_TEST_CASE(translation_adds_the_offset_to_a_byte_granular_base) {
    table_fixture f;
    // A concatenation of bits would lose the carry out of the page offset.
    BOOST_REQUIRE_EQUAL(f.map({entry(0x2000, 0x12345FFF, 4096)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.at(0x2001).pa.value, 0x12346000u);
    BOOST_CHECK_EQUAL(f.at(0x2FFF).pa.value, 0x12346FFEu);
    BOOST_CHECK_EQUAL(f.stats().pages, 1u);
}

BOOST_AUTO_TEST_CASE(an_unaligned_entry_becomes_regions_at_its_ends_and_pages_between) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x1800, 0x50000, 0x3000)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.stats().pages, 2u);
    BOOST_CHECK_EQUAL(f.stats().regions, 2u);
    BOOST_CHECK_EQUAL(f.stats().mapped_bytes, 0x3000u);
    BOOST_CHECK_EQUAL(f.work.chunks, 1u);
    BOOST_CHECK_EQUAL(f.work.pte_writes, 4u);
    BOOST_CHECK_EQUAL(f.at(0x1800, 0x10000).nbytes, 0x3000u);
    BOOST_CHECK_EQUAL(f.status_at(0x17FF), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(f.status_at(0x4800), TLA_UNMAPPED);
}

BOOST_AUTO_TEST_CASE(physically_adjacent_pieces_with_equal_flags_are_joined) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(
        f.map({entry(0x1000, 0x70000, 0x1000), entry(0x2000, 0x71000, 0x800), entry(0x2800, 0x71800, 0x800),
               entry(0x3000, 0x72000, 0x1000, TLA_READ), entry(0x4000, 0x74000, 0x1000, TLA_READ)}),
        TLA_OK);
    BOOST_CHECK_EQUAL(f.at(0x1100, 0x8000).nbytes, 0x1F00u); // to where the flags change
    BOOST_CHECK_EQUAL(f.at(0x1100, 0x1800).nbytes, 0x1800u); // no more than was asked for
    BOOST_CHECK_EQUAL(f.at(0x3800, 0x8000).nbytes, 0x800u);  // to where the physical addresses jump
}

BOOST_AUTO_TEST_CASE(permissions_are_checked) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x1000, 0, 0x1000, TLA_READ), entry(0x2000, 0x9000, 0x1000, TLA_WRITE)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.status_at(0x1000, TLA_READ), TLA_OK);
    BOOST_CHECK_EQUAL(f.status_at(0x1000, TLA_WRITE), TLA_PERMISSION);
    BOOST_CHECK_EQUAL(f.status_at(0x2000, TLA_READ), TLA_PERMISSION);
    BOOST_CHECK_EQUAL(f.status_at(0x2000, TLA_WRITE), TLA_OK);
    BOOST_CHECK_EQUAL(f.at(0x1000).flags, static_cast<uint32_t>(TLA_READ));
}

BOOST_AUTO_TEST_CASE(a_map_that_overlaps_is_rejected_names_both_ranges_and_changes_nothing) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x2000, 0x90000, 0x1000)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.map({entry(0x8000, 0x50000, 0x1000), entry(0x2800, 0x60000, 0x1000)}), TLA_OVERLAP);
    BOOST_CHECK_MESSAGE(std::strstr(f.error.text, "0x2800..0x37ff") && std::strstr(f.error.text, "0x2000..0x2fff"),
                        f.error.text);
    BOOST_CHECK_EQUAL(f.status_at(0x8000), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(f.status_at(0x3000), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(f.at(0x2800).pa.value, 0x90800u);
    BOOST_CHECK_EQUAL(f.stats().mapped_bytes, 0x1000u);
    BOOST_CHECK_EQUAL(f.work.pte_writes, 0u);
}

BOOST_AUTO_TEST_CASE(entries_of_one_batch_may_not_overlap_each_other) {
    table_fixture f;
    BOOST_CHECK_EQUAL(f.map({entry(0x2000, 0x90000, 0x1000), entry(0x2FFF, 0x60000, 1)}), TLA_OVERLAP);
    BOOST_CHECK_EQUAL(f.stats().mapped_bytes, 0u);
}

BOOST_AUTO_TEST_CASE(with_remap_allowed_the_last_one_wins) {
    table_fixture f(4096, true);
    BOOST_REQUIRE_EQUAL(f.map({entry(0x1000, 0x90000, 0x3000)}), TLA_OK);
    BOOST_REQUIRE_EQUAL(f.map({entry(0x1800, 0x10000, 0x1000, TLA_READ)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.at(0x17FF).pa.value, 0x907FFu);
    BOOST_CHECK_EQUAL(f.at(0x1800).pa.value, 0x10000u);
    BOOST_CHECK_EQUAL(f.at(0x27FF).pa.value, 0x10FFFu);
    BOOST_CHECK_EQUAL(f.at(0x2800).pa.value, 0x91800u);
    BOOST_CHECK_EQUAL(f.stats().mapped_bytes, 0x3000u);
}

BOOST_AUTO_TEST_CASE(partial_unmap_cuts_a_mapping_and_keeps_the_rest) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x1000, 0x90000, 0x3000)}), TLA_OK);
    BOOST_REQUIRE_EQUAL(f.unmap({entry(0x2100, 0, 0x100)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.at(0x1000, 0x9000).nbytes, 0x1100u);
    BOOST_CHECK_EQUAL(f.status_at(0x2100), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(f.status_at(0x21FF), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(f.at(0x2200, 0x9000).pa.value, 0x91200u);
    BOOST_CHECK_EQUAL(f.stats().mapped_bytes, 0x2F00u);
    BOOST_CHECK_EQUAL(f.stats().pages, 2u);
    BOOST_CHECK_EQUAL(f.stats().regions, 2u);
}

BOOST_AUTO_TEST_CASE(unmap_of_a_range_with_a_hole_changes_nothing) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x1000, 0x90000, 0x1000), entry(0x3000, 0x70000, 0x1000)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.unmap({entry(0x1000, 0, 0x1000), entry(0x3800, 0, 0x1000)}), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(f.unmap({entry(0x1000, 0, 0x3000)}), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(f.unmap({entry(0x1000, 0, 0x1000), entry(0x1000, 0, 0x1000)}), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(f.stats().mapped_bytes, 0x2000u);
    BOOST_CHECK_EQUAL(f.at(0x1000).pa.value, 0x90000u);
    BOOST_CHECK_EQUAL(f.at(0x3800).pa.value, 0x70800u);
}

BOOST_AUTO_TEST_CASE(one_unmap_may_cover_several_mappings) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x1000, 0x90000, 0x800), entry(0x1800, 0x50000, 0x1800)}), TLA_OK);
    BOOST_REQUIRE_EQUAL(f.unmap({entry(0x1400, 0, 0x1000)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.stats().mapped_bytes, 0x1000u);
    BOOST_CHECK_EQUAL(f.at(0x2400).pa.value, 0x50C00u);
}

BOOST_AUTO_TEST_CASE(a_range_may_end_at_2_to_the_64_but_not_wrap) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(UINT64_MAX - 0xFFF, 0x3000, 0x1000)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.at(UINT64_MAX, 0x1000).pa.value, 0x3FFFu);
    BOOST_CHECK_EQUAL(f.at(UINT64_MAX, 0x1000).nbytes, 1u);
    BOOST_CHECK_EQUAL(f.map({entry(UINT64_MAX - 0x17FF, 0x3000, 0x1801)}), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(std::strstr(f.error.text, "wraps 2^64") != nullptr);
    BOOST_CHECK_EQUAL(f.unmap({entry(UINT64_MAX, 0, 2)}), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(f.unmap({entry(UINT64_MAX, 0, 1)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.stats().mapped_bytes, 0xFFFu);
}

BOOST_AUTO_TEST_CASE(a_translation_does_not_continue_past_2_to_the_64) {
    table_fixture f;
    // Physically adjacent across the wrap.
    BOOST_REQUIRE_EQUAL(f.map({entry(UINT64_MAX - 0xFFF, 0x3000, 0x1000), entry(0, 0x4000, 0x1000)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.at(UINT64_MAX - 0xFF, 0x4000).nbytes, 0x100u);
}

BOOST_AUTO_TEST_CASE(every_region_that_an_unmap_touches_is_an_entry_written) {
    table_fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0x1000, 0x100, 0x100), entry(0x1100, 0x700, 0x100), entry(0x1200, 0x900, 0x100),
                               entry(0x1300, 0x300, 0x100)}),
                        TLA_OK);
    BOOST_CHECK_EQUAL(f.work.pte_writes, 4u);
    BOOST_REQUIRE_EQUAL(f.unmap({entry(0x1080, 0, 0x200)}), TLA_OK); // two cut, one taken
    BOOST_CHECK_EQUAL(f.work.pte_writes, 3u);
    BOOST_CHECK_EQUAL(f.stats().regions, 3u);
}

BOOST_AUTO_TEST_CASE(entries_without_a_meaning_are_rejected) {
    table_fixture f;
    const uint64_t top = uint64_t{1} << TLA_PADDR_BITS;
    for (const tla_map_entry &bad :
         {entry(0x1000, 0, 0), entry(0x1000, top - 0xFFF, 0x1000), entry(0x1000, UINT64_MAX, 2),
          entry(0x1000, 0, UINT64_MAX), entry(0x1000, 0, 0x1000, 0), entry(0x1000, 0, 0x1000, 4)}) {
        BOOST_CHECK_EQUAL(f.map({entry(0x8000, 0, 0x1000), bad}), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(std::strstr(f.error.text, "entry 1") != nullptr);
    }
    BOOST_CHECK_EQUAL(f.unmap({entry(0x1000, 0, 0)}), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(f.stats().mapped_bytes, 0u);
    BOOST_CHECK_EQUAL(f.map({entry(0x1000, top - 0x1000, 0x1000)}), TLA_OK);
}

BOOST_AUTO_TEST_CASE(page_sizes_outside_4_kib_to_1_gib_or_not_a_power_of_two_are_rejected) {
    for (uint64_t page : {uint64_t{0}, uint64_t{2048}, uint64_t{4096 + 512}, uint64_t{2} << 30}) {
        tla_page_table_config config{};
        config.page_size = page;
        tla_page_table *table = reinterpret_cast<tla_page_table *>(1);
        BOOST_CHECK_EQUAL(tla_page_table_create(&config, &table), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(table == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(a_million_random_steps_agree_with_a_byte_map) {
    const unsigned seed = 20260110;
    BOOST_TEST_MESSAGE("seed " << seed);
    for (bool remap : {false, true}) {
        std::mt19937 random(seed);
        table_fixture f(4096, remap);
        const uint64_t space = 1 << 16, base = uint64_t{4} << 30;
        struct byte {
            uint64_t pa;
            uint32_t flags; // 0 = unmapped
        };
        std::vector<byte> bytes(space, byte{0, 0});
        uint64_t mapped = 0, maps = 0, unmaps = 0;
        auto pick = [&](uint64_t &va, uint64_t &nbytes) {
            nbytes = random() % 4 ? 1 + random() % 600 : (1 + random() % 3) * 4096;
            va = random() % space;
            if (random() % 3 == 0) va &= ~uint64_t{4095};
            if (nbytes > space - va) nbytes = space - va;
        };
        for (int step = 0; step < 500000; step++) {
            uint64_t va = 0, nbytes = 0;
            auto kind = random() % 4;
            if (kind == 0) {
                pick(va, nbytes);
                // Few physical bases, so that neighbours are often physically adjacent.
                tla_map_entry e =
                    entry(base + va, (random() % 4 << 20) + va, nbytes, static_cast<uint32_t>(1 + random() % 3));
                bool free = true;
                for (uint64_t i = va; i < va + nbytes && free; i++)
                    free = bytes[i].flags == 0;
                bool good = free || remap;
                BOOST_REQUIRE_EQUAL(f.map({e}), good ? TLA_OK : TLA_OVERLAP);
                if (!good) continue;
                maps++;
                for (uint64_t i = 0; i < nbytes; i++) {
                    mapped += bytes[va + i].flags == 0;
                    bytes[va + i] = {e.pa.value + i, e.flags};
                }
            } else if (kind == 1) {
                pick(va, nbytes);
                // Mostly ranges that are mapped, so that unmaps succeed too.
                uint64_t run = 0;
                while (run < nbytes && bytes[va + run].flags)
                    run++;
                if (run && random() % 4) nbytes = run;
                BOOST_REQUIRE_EQUAL(f.unmap({entry(base + va, 0, nbytes)}), run >= nbytes ? TLA_OK : TLA_UNMAPPED);
                if (run < nbytes) continue;
                unmaps++;
                for (uint64_t i = 0; i < nbytes; i++)
                    bytes[va + i].flags = 0;
                mapped -= nbytes;
            } else {
                va = random() % space;
                nbytes = 1 + random() % 8192;
                uint32_t access = static_cast<uint32_t>(random() % 4);
                tla_translation t{};
                tla_status status = tla_page_table_translate(f.table, {base + va}, nbytes, access, &t, nullptr);
                byte first = bytes[va];
                if (first.flags == 0) {
                    BOOST_REQUIRE_EQUAL(status, TLA_UNMAPPED);
                } else if (access & ~first.flags) {
                    BOOST_REQUIRE_EQUAL(status, TLA_PERMISSION);
                } else {
                    BOOST_REQUIRE_EQUAL(status, TLA_OK);
                    uint64_t run = 1;
                    while (run < nbytes && va + run < space && bytes[va + run].flags == first.flags &&
                           bytes[va + run].pa == first.pa + run)
                        run++;
                    BOOST_REQUIRE_EQUAL(t.pa.value, first.pa);
                    BOOST_REQUIRE_EQUAL(t.flags, first.flags);
                    BOOST_REQUIRE_EQUAL(t.nbytes, run);
                }
            }
            if (step % 1024 == 0) BOOST_REQUIRE_EQUAL(f.stats().mapped_bytes, mapped);
        }
        BOOST_CHECK_GT(maps, 1000u);
        BOOST_CHECK_GT(unmaps, 1000u);
    }
}
