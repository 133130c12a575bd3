// Virtual memory on a host without memory: mappings change as a whole or not at all, and accesses need no memory.
#include "host_memory/owner.hpp"

#include "lone_mmu.hpp"
#include "model/vm/map_window.h"
#include "tlmalloc/vm/va_space.h"

#include <cstring>
#include <map>
#include <vector>

using namespace host_memory;

namespace {

constexpr std::uint64_t KiB = 1 << 10, MiB = 1 << 20;

const auto look = [](auto &object) { return object.look(); };

// A memory for tables and what a walk reads there.
struct table_memory {
    std::uint64_t next = 1 << 20;
    std::map<std::uint64_t, std::uint64_t> taken, words;

    tla_status alloc(std::uint64_t nbytes, tla_paddr *pa) {
        *pa = {next};
        taken[next] = nbytes;
        next += nbytes;
        return TLA_OK;
    }
    void free(tla_paddr pa, std::uint64_t) { taken.erase(pa.value); }
    void read(tla_paddr pa, std::uint8_t *bytes, std::uint32_t nbytes) {
        for (std::uint32_t i = 0; i < nbytes; i += 8)
            std::memcpy(bytes + i, &words[pa.value + i], 8);
    }
    void write(tla_paddr pa, const std::uint8_t *bytes, std::uint64_t nbytes) {
        for (std::uint64_t i = 0; i < nbytes; i += 8)
            std::memcpy(&words[pa.value + i], bytes + i, 8);
    }
    void write(tla_paddr pa, const std::uint64_t *entries, std::size_t count) {
        for (std::size_t i = 0; i < count; i++)
            words[pa.value + 8 * i] = entries[i];
    }
    std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const auto &[pa, nbytes] : taken)
            sum += nbytes;
        return sum;
    }
};

std::vector<tla_map_entry> scattered(std::uint64_t va, std::uint64_t nbytes, std::uint64_t step, unsigned count) {
    std::vector<tla_map_entry> entries;
    for (unsigned i = 0; i < count; i++)
        entries.push_back({{va + i * step}, {(1 << 30) + 3 * i * step}, nbytes, TLA_READ | TLA_WRITE, i % 2});
    return entries;
}

struct table {
    explicit table(bool in_memory) {
        tla_page_table_config config{};
        config.page_size = 4 * KiB;
        config.larger_page_sizes[0] = 2 * MiB;
        config.asids = 2;
        config.allow_remap = true;
        if (in_memory) {
            config.memory.context = &memory;
            config.memory.alloc = [](void *c, std::uint64_t nbytes, tla_paddr *pa) {
                return static_cast<table_memory *>(c)->alloc(nbytes, pa);
            };
            config.memory.free = [](void *c, tla_paddr pa, std::uint64_t nbytes) {
                static_cast<table_memory *>(c)->free(pa, nbytes);
            };
            config.memory.write = [](void *c, tla_paddr pa, const std::uint64_t *entries, std::size_t count) {
                static_cast<table_memory *>(c)->write(pa, entries, count);
            };
        }
        BOOST_REQUIRE_EQUAL(tla_page_table_create(&config, &pages.made), TLA_OK);
        BOOST_REQUIRE_EQUAL(map(scattered(0, 2 * MiB, 8 * MiB, 4)), TLA_OK);
        BOOST_REQUIRE_EQUAL(map(scattered(64 * MiB, 512, 1 * KiB, 30)), TLA_OK);
    }
    tla_status map(const std::vector<tla_map_entry> &entries) {
        return tla_page_table_map(pages.made, entries.data(), entries.size(), &work, nullptr);
    }
    tla_status unmap(const std::vector<tla_map_entry> &entries) {
        return tla_page_table_unmap(pages.made, entries.data(), entries.size(), &work, nullptr);
    }
    // Everything that is mapped, piece by piece, but not the host's memory: a log that has grown may stay.
    std::string look() const {
        const tla_page_table_stats s = tla_page_table_get_stats(pages.made);
        std::string text = line(s.mapped_bytes, s.pages, s.regions, s.remaps, s.tables, s.table_bytes, memory.bytes(),
                                work.chunks, work.pte_writes, work.invalidates);
        for (std::uint32_t asid : {0u, 1u})
            for (std::uint64_t at = 0, end = 256 * MiB; at < end;) {
                tla_vaddr va{};
                if (!tla_page_table_first_mapped(pages.made, asid, {at}, end - at, &va)) break;
                tla_translation t{};
                BOOST_REQUIRE_EQUAL(tla_page_table_translate_in(pages.made, asid, va, end - va.value, 0, &t, nullptr),
                                    TLA_OK);
                text += line(asid, va.value, t.pa.value, t.nbytes, t.flags);
                at = va.value + t.nbytes;
            }
        return text;
    }

    table_memory memory;
    owner<tla_page_table, tla_page_table_destroy> pages;
    tla_work work{};
};

} // namespace

BOOST_AUTO_TEST_CASE(page_tables_change_as_a_whole_or_not_at_all) {
    for (bool in_memory : {false, true}) {
        const auto make = [&] { return std::make_unique<table>(in_memory); };
        const auto map = [&](const std::vector<tla_map_entry> &entries) {
            return exhaust(
                "map", make, [&](table &t) { return t.map(entries); }, look);
        };
        const auto unmap = [&](const std::vector<tla_map_entry> &entries) {
            return exhaust(
                "unmap", make, [&](table &t) { return t.unmap(entries); }, look);
        };
        BOOST_CHECK_GT(map(scattered(128 * MiB, 4 * KiB, 1 * MiB, 40)), 1u);  // new tables
        BOOST_CHECK_GT(map(scattered(64 * MiB + 512, 512, 1 * KiB, 10)), 0u); // longer region lists
        BOOST_CHECK_GT(map(scattered(64 * KiB, 12 * KiB, 8 * MiB, 4)), 1u);   // over large pages
        BOOST_CHECK_GT(unmap(scattered(64 * KiB, 1000, 8 * MiB, 4)), 2u);     // large pages, broken to regions
        BOOST_CHECK_GT(unmap(scattered(64 * MiB, 512, 1 * KiB, 30)), 0u);     // whole lists
    }
}

BOOST_AUTO_TEST_CASE(translation_objects_that_cannot_be_created_stay_null) {
    tla_page_table_config pages{};
    pages.page_size = 4 * KiB;
    pages.asids = 4;
    check_creation<owner<tla_page_table, tla_page_table_destroy>>(
        "page_table", [&](tla_page_table **made) { return tla_page_table_create(&pages, made); });
    tla_tlb_config tlb{};
    tlb.page_sizes[0] = 4 * KiB;
    tlb.levels = 2;
    tlb.level[0].entries = tlb.level[1].entries = 64;
    check_creation<owner<tla_tlb, tla_tlb_destroy>>("tlb", [&](tla_tlb **made) { return tla_tlb_create(&tlb, made); });
    tla_walkers_config walkers{};
    walkers.walkers = 4;
    walkers.walk_cache_entries = 8;
    check_creation<owner<tla_walkers, tla_walkers_destroy>>(
        "walkers", [&](tla_walkers **made) { return tla_walkers_create(&walkers, made); });
    check_creation<owner<tla_map_window, tla_map_window_destroy>>(
        "map_window", [](tla_map_window **made) { return tla_map_window_create(made); });
    check_creation<owner<tla_va_space, tla_va_space_destroy>>("va_space", [](tla_va_space **made) {
        tla_va_space_config config{};
        config.nbytes = 64 * MiB;
        config.page_size = 4 * KiB;
        return tla_va_space_create(&config, made);
    });
    for (tla_walk_mode walk : {TLA_WALK_IDEAL, TLA_WALK_FLAT})
        check_creation<owner<tla_mmu, tla_mmu_destroy>>("mmu", [&](tla_mmu **made) {
            tla_mmu_config config{};
            config.walk = walk;
            config.table = pages;
            config.tlb = tlb;
            config.walkers = walkers;
            config.ranges = 4;
            tla_error error{};
            const tla_status status = tla_mmu_create(&config, made, &error);
            BOOST_CHECK_EQUAL(error.status, status);
            return status;
        });
}

BOOST_AUTO_TEST_CASE(a_space_of_virtual_addresses_gives_and_takes_or_says_that_there_is_no_host_memory) {
    struct space {
        space() {
            tla_va_space_config config{};
            config.nbytes = 64 * MiB;
            config.page_size = 4 * KiB;
            config.larger_page_sizes[0] = 64 * KiB;
            BOOST_REQUIRE_EQUAL(tla_va_space_create(&config, &ranges.made), TLA_OK);
            for (tla_vaddr &va : taken)
                BOOST_REQUIRE_EQUAL(tla_va_space_alloc(ranges.made, 4 * KiB, &va, nullptr), TLA_OK);
            for (std::size_t i = 0; i < 61; i += 2) // 31 holes and the rest: the list's leaf is full
                BOOST_REQUIRE_EQUAL(tla_va_space_free(ranges.made, taken[i], 4 * KiB, nullptr), TLA_OK);
        }
        std::string look() const {
            const tla_arena_stats s = tla_va_space_get_stats(ranges.made);
            return line(s.used, s.peak_used, s.free_blocks, s.largest_free);
        }
        owner<tla_va_space, tla_va_space_destroy> ranges;
        std::vector<tla_vaddr> taken{65};
    };
    const auto make = [] { return std::make_unique<space>(); };
    BOOST_CHECK_GT(exhaust(
                       "free", make,
                       [](space &s) { return tla_va_space_free(s.ranges.made, s.taken[62], 4 * KiB, nullptr); }, look),
                   0u);
    BOOST_CHECK_GT(exhaust(
                       "alloc", make,
                       [](space &s) { // its alignment leaves a hole in front
                           tla_vaddr va{};
                           return tla_va_space_alloc(s.ranges.made, 64 * KiB, &va, nullptr);
                       },
                       look),
                   0u);
}

BOOST_AUTO_TEST_CASE(a_window_keeps_what_was_mapped_or_drops_what_it_has_begun) {
    struct windowed : table {
        windowed() : table(false) { BOOST_REQUIRE_EQUAL(tla_map_window_create(&window.made), TLA_OK); }
        std::string look() const {
            std::string text;
            for (std::uint64_t at = 64 * MiB; at < 64 * MiB + 32 * KiB; at += 512) {
                tla_status status = TLA_OK;
                tla_translation t{};
                const bool decided = tla_map_window_find(window.made, 0, {at}, 512, 0, 5, &status, &t);
                text += line(decided, status, t.pa.value, t.nbytes);
            }
            return text;
        }
        owner<tla_map_window, tla_map_window_destroy> window;
    };
    const std::size_t allocations = exhaust(
        "keep", [] { return std::make_unique<windowed>(); },
        [](windowed &w) {
            const tla_status status = tla_map_window_keep(w.window.made, w.pages.made, 0, {64 * MiB}, 32 * KiB);
            if (status)
                tla_map_window_drop(w.window.made);
            else
                tla_map_window_commit(w.window.made, 10);
            return status;
        },
        look);
    BOOST_CHECK_GT(allocations, 1u);
}

namespace {

// An MMU whose walks read a memory.
struct unit {
    explicit unit(tla_walk_mode walk) {
        tla_mmu_config config{};
        config.walk = walk;
        config.table.page_size = 4 * KiB;
        config.table.asids = 2;
        config.table.allow_remap = true;
        config.tlb.levels = 1;
        config.tlb.level[0].entries = 16;
        config.walkers.walkers = 2;
        BOOST_REQUIRE_EQUAL(tla_mmu_create(&config, &mmu.made, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(change(TLA_TABLE_MAP, scattered(0, 4 * KiB, 4 * KiB, 8)), TLA_OK);
        BOOST_REQUIRE_EQUAL(change(TLA_TABLE_MAP, scattered(1 * MiB, 64, 128, 20)), TLA_OK);
        tla_mmu_make_visible(mmu.made, 100);
        tla_mmu_advance(mmu.made, 1000);
    }
    tla_status change(tla_table_change what, const std::vector<tla_map_entry> &entries) {
        std::uint64_t at_ps = 1000;
        tla_error error{};
        const tla_status status = lone::change(mmu.made, memory, what, entries.data(), entries.size(), &at_ps, &error);
        BOOST_CHECK_EQUAL(error.status, status);
        return status;
    }
    std::string probe(std::uint64_t at_ps) const {
        std::string text;
        for (std::uint32_t asid : {0u, 1u})
            for (std::uint64_t va : {UINT64_C(0), 4 * KiB, 8 * KiB, 1 * MiB, 1 * MiB + 128, 1 * MiB + 64}) {
                tla_mmu_piece piece{};
                const tla_mmu_access access{asid, {va}, 64, TLA_READ};
                const tla_status status = tla_mmu_probe(mmu.made, &access, at_ps, &piece);
                text += line(status, piece.pa.value, piece.nbytes, piece.stale);
            }
        return text;
    }
    std::string look() const {
        const tla_page_table_stats s = tla_mmu_get_stats(mmu.made).table;
        return probe(0) + probe(5000) + line(s.mapped_bytes, s.pages, s.regions, s.table_bytes, memory.bytes());
    }

    table_memory memory;
    owner<tla_mmu, tla_mmu_destroy> mmu;
};

} // namespace

BOOST_AUTO_TEST_CASE(an_mmu_changes_its_mappings_and_what_it_remembers_of_them_together) {
    for (tla_walk_mode walk : {TLA_WALK_IDEAL, TLA_WALK_FLAT, TLA_WALK_MEMORY}) {
        const auto make = [&] { return std::make_unique<unit>(walk); };
        BOOST_CHECK_GT(
            exhaust(
                "map", make, [](unit &u) { return u.change(TLA_TABLE_MAP, scattered(0, 8 * KiB, 1 * MiB, 6)); }, look),
            1u);
        BOOST_CHECK_GT(
            exhaust(
                "unmap", make, [](unit &u) { return u.change(TLA_TABLE_UNMAP, scattered(0, 100, 4 * KiB, 8)); }, look),
            1u);
    }
}

BOOST_AUTO_TEST_CASE(an_access_needs_no_host_memory_wherever_its_walk_leads) {
    for (tla_walk_mode walk : {TLA_WALK_IDEAL, TLA_WALK_FLAT, TLA_WALK_MEMORY}) {
        unit u(walk);
        fail_from(0, true);
        for (std::uint64_t va : {UINT64_C(0), 8 * KiB, 1 * MiB, 1 * MiB + 256}) { // pages, and regions of a list
            std::uint64_t at_ps = 2000;
            tla_mmu_piece piece{};
            const tla_mmu_access access{0, {va}, 64, TLA_READ};
            BOOST_CHECK_EQUAL(tla_status_name(lone::translate(u.mmu.made, u.memory, access, &at_ps, &piece)), "TLA_OK");
            BOOST_CHECK_EQUAL(piece.nbytes, 64u);
        }
        BOOST_CHECK_EQUAL(stop(), 0u);
        BOOST_CHECK_EQUAL(tla_mmu_get_stats(u.mmu.made).walk_errors, 0u);
    }
}
