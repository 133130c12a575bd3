// The front end of an MMU: table, TLB, walkers and window together, against a map of bytes.
#include "lone_mmu.hpp"
#include "tlmalloc/base/memory_kind.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <random>
#include <vector>

namespace {

const uint64_t KiB = 1024, page = 4 * KiB;

// A memory for tables: bytes, and a bump allocator.
struct memory {
    std::map<uint64_t, uint8_t> bytes;
    uint64_t next = 1 << 20;

    void read(tla_paddr pa, uint8_t *to, uint32_t nbytes) {
        for (uint32_t i = 0; i < nbytes; i++)
            to[i] = bytes[pa.value + i];
    }
    void write(tla_paddr pa, const uint8_t *from, uint64_t nbytes) {
        for (uint64_t i = 0; i < nbytes; i++)
            bytes[pa.value + i] = from[i];
    }
    tla_status alloc(uint64_t nbytes, tla_paddr *pa) {
        pa->value = next;
        next += nbytes;
        return TLA_OK;
    }
    void free(tla_paddr, uint64_t) {}
};

struct fixture {
    memory tables;
    tla_mmu *mmu = nullptr;

    explicit fixture(tla_walk_mode walk, bool remap = false, uint32_t ranges = 0) {
        tla_mmu_config c{};
        c.walk = walk;
        c.table.page_size = page;
        c.table.larger_page_sizes[0] = 64 * KiB;
        c.table.va_bits = 48;
        c.table.asids = 3;
        c.table.allow_remap = remap;
        c.tlb.levels = 2;
        c.tlb.level[0] = {8, 0, 1000, TLA_REPLACE_PLRU};
        c.tlb.level[1] = {64, 4, 5000, TLA_REPLACE_RANDOM};
        c.walkers = {4, 2, 8, true, true, 100'000};
        c.ranges = ranges;
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_mmu_create(&c, &mmu, &error) == TLA_OK, error.text);
    }
    ~fixture() { tla_mmu_destroy(mmu); }
    fixture(const fixture &) = delete;
    fixture &operator=(const fixture &) = delete;

    tla_status change(bool map, const tla_map_entry &e, uint64_t at_ps, uint64_t takes_ps) {
        return change_at(map, e, &at_ps, takes_ps);
    }
    // *at_ps becomes when it is visible.
    tla_status change_at(bool map, const tla_map_entry &e, uint64_t *at_ps, uint64_t takes_ps) {
        tla_error error{};
        const tla_status status =
            lone::change(mmu, tables, map ? TLA_TABLE_MAP : TLA_TABLE_UNMAP, &e, 1, at_ps, &error);
        *at_ps += takes_ps;
        tla_mmu_make_visible(mmu, *at_ps);
        return status;
    }
};

// Random maps, unmaps, invalidations and accesses in three address spaces; every access against an array of pages.
void check_against_bytes(tla_walk_mode walk, unsigned seed, unsigned steps, uint32_t ranges = 0) {
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    const uint64_t span = 1 << 20, granule = 512; // mappings begin and end at multiples of it
    fixture f(walk, false, ranges);
    std::vector<int64_t> model[3]; // pa of each granule, -1: not mapped
    std::vector<uint32_t> flags[3];
    for (unsigned asid = 0; asid < 3; asid++) {
        model[asid].assign(span / granule, -1);
        flags[asid].assign(span / granule, 0);
    }
    uint64_t now = 0, mapped = 0, refused = 0;
    for (unsigned step = 0; step < steps; step++) {
        now += 1'000'000; // every change is visible, every walk over
        const auto asid = static_cast<uint32_t>(random() % 3);
        const uint64_t at = random() % (span / granule), what = random() % 16;
        if (what < 3) {
            const uint64_t room = span / granule - at;
            const uint64_t count = 1 + random() % std::min<uint64_t>(room, random() % 8 ? 24 : 300);
            tla_map_entry e{{at * granule}, {random() % 4096 * granule}, count * granule, 0, asid};
            if (random() % 4 == 0) e.pa.value = e.va.value + 16 * span; // aligned as the pages are
            e.flags = random() % 4 ? TLA_READ | TLA_WRITE : TLA_READ;
            const bool map = what != 0;
            bool all = true, any = false;
            for (uint64_t i = at; i < at + count; i++) {
                all = all && model[asid][i] >= 0;
                any = any || model[asid][i] >= 0;
            }
            const tla_status expected = map ? any ? TLA_OVERLAP : TLA_OK : all ? TLA_OK : TLA_UNMAPPED;
            BOOST_REQUIRE_EQUAL(f.change(map, e, now, 0), expected);
            for (uint64_t i = 0; i < count && expected == TLA_OK; i++) {
                model[asid][at + i] = map ? static_cast<int64_t>(e.pa.value + i * granule) : -1;
                flags[asid][at + i] = e.flags;
            }
        } else if (what == 3) {
            const tla_map_entry e{{at * granule}, {0}, random() % 2 ? 0 : page, 0, asid};
            BOOST_REQUIRE_EQUAL(tla_mmu_invalidate(f.mmu, &e, 1, nullptr, nullptr), TLA_OK);
        } else {
            tla_mmu_access a{asid, {at * granule + random() % granule}, 1 + random() % 300, 0};
            if (a.va.value + a.nbytes > span) a.nbytes = span - a.va.value;
            a.access = random() % 2 ? TLA_READ : TLA_WRITE;
            tla_mmu_piece piece{};
            uint64_t done = now;
            const tla_status status = lone::translate(f.mmu, f.tables, a, &done, &piece);
            const int64_t to = model[asid][at];
            const tla_status expected = to < 0 ? TLA_UNMAPPED : a.access & ~flags[asid][at] ? TLA_PERMISSION : TLA_OK;
            BOOST_REQUIRE_EQUAL(status, expected);
            if (status == TLA_OK) {
                BOOST_REQUIRE_EQUAL(piece.pa.value, static_cast<uint64_t>(to) + a.va.value % granule);
                BOOST_REQUIRE(piece.nbytes >= 1 && piece.nbytes <= a.nbytes);
                const uint64_t last = a.va.value + piece.nbytes - 1; // what it joins lies side by side
                BOOST_REQUIRE_EQUAL(static_cast<uint64_t>(model[asid][last / granule]) + last % granule,
                                    piece.pa.value + piece.nbytes - 1);
            }
            (status == TLA_OK ? mapped : refused)++;
            BOOST_REQUIRE(!piece.stale);
        }
        tla_mmu_advance(f.mmu, now);
    }
    const tla_mmu_stats s = tla_mmu_get_stats(f.mmu);
    BOOST_CHECK_GT(mapped, steps / 10);
    BOOST_CHECK_GT(refused, steps / 100);
    BOOST_CHECK_EQUAL(s.walk_errors, 0u);
    if (walk != TLA_WALK_IDEAL) {
        BOOST_CHECK_GT(s.hits, steps / 200);
        BOOST_CHECK_GT(s.walkers.walks, steps / 100);
        BOOST_CHECK_EQUAL(s.ranges.hits > 20, ranges > 0);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_million_steps_agree_with_an_array_of_bytes_with_tlbs_and_address_spaces) {
    check_against_bytes(TLA_WALK_FLAT, 501, 1'000'000);
}

BOOST_AUTO_TEST_CASE(the_ideal_mmu_agrees_too) {
    check_against_bytes(TLA_WALK_IDEAL, 502, 200'000);
}

BOOST_AUTO_TEST_CASE(walks_through_a_memory_agree_too) {
    check_against_bytes(TLA_WALK_MEMORY, 503, 30'000);
}

BOOST_AUTO_TEST_CASE(ranges_agree_too_beside_regions_and_pages_of_two_sizes) {
    check_against_bytes(TLA_WALK_FLAT, 504, 200'000, 4);
    check_against_bytes(TLA_WALK_MEMORY, 505, 30'000, 16);
}

BOOST_AUTO_TEST_CASE(every_single_bit_that_is_wrong_in_a_walked_entry_is_noticed) {
    fixture f(TLA_WALK_MEMORY);
    BOOST_REQUIRE_EQUAL(f.change(true, {{7 * page}, {0x123000}, page, TLA_READ, 0}, 0, 0), TLA_OK);
    const std::map<uint64_t, uint8_t> kept = f.tables.bytes;
    const tla_mmu_access a{0, {7 * page}, 8, TLA_READ};
    unsigned entries = 0;
    uint64_t now = 1'000'000;
    for (const auto &[pa, byte] : kept) {
        if (!byte) continue; // a table is empty but for the entry that is walked
        for (unsigned bit = 0; bit < 8; bit++, now += 1'000'000) {
            f.tables.bytes[pa] = static_cast<uint8_t>(byte ^ 1u << bit);
            tla_mmu_piece piece{};
            uint64_t at = now;
            BOOST_CHECK_EQUAL(lone::translate(f.mmu, f.tables, a, &at, &piece), TLA_BUS_ERROR);
        }
        f.tables.bytes[pa] = byte;
        entries++;
    }
    BOOST_CHECK_GE(entries, 4u);
    BOOST_CHECK_EQUAL(tla_mmu_get_stats(f.mmu).walk_errors, 8u * entries);
    tla_mmu_piece piece{};
    BOOST_CHECK_EQUAL(lone::translate(f.mmu, f.tables, a, &now, &piece), TLA_OK);
}

BOOST_AUTO_TEST_CASE(before_a_change_is_shown_an_address_leads_where_it_led) {
    for (tla_walk_mode walk : {TLA_WALK_IDEAL, TLA_WALK_FLAT, TLA_WALK_MEMORY}) {
        fixture f(walk, true);
        const auto sees = [&](uint64_t at_ps, bool *stale) {
            const tla_mmu_access a{1, {0}, 8, TLA_READ};
            tla_mmu_piece piece{};
            const tla_status status = tla_mmu_probe(f.mmu, &a, at_ps, &piece);
            *stale = piece.stale;
            return status ? int64_t{-1} : static_cast<int64_t>(piece.pa.value);
        };
        bool stale = true;
        f.change(true, {{0}, {0x5000}, page, TLA_READ, 1}, 0, 1'000'000);
        BOOST_CHECK_EQUAL(sees(999'999, &stale), -1);
        BOOST_CHECK(!stale); // nothing was there
        BOOST_CHECK_EQUAL(sees(2'000'000, &stale), 0x5000);
        f.change(true, {{0}, {0x9000}, page, TLA_READ, 1}, 3'000'000, 1'000'000);
        BOOST_CHECK_EQUAL(sees(3'999'999, &stale), 0x5000);
        BOOST_CHECK(stale);
        BOOST_CHECK_EQUAL(sees(5'000'000, &stale), 0x9000);
        BOOST_CHECK(!stale);
        f.change(false, {{0}, {0}, page, 0, 1}, 6'000'000, 1'000'000);
        BOOST_CHECK_EQUAL(sees(6'500'000, &stale), 0x9000);
        BOOST_CHECK(stale);
        BOOST_CHECK_EQUAL(sees(8'000'000, &stale), -1);
    }
}

// Changes of random length, several in flight, and looks at random times between them: each sees the map as it was when
// the last change was visible.
BOOST_AUTO_TEST_CASE(every_look_in_a_window_sees_the_last_visible_map) {
    for (tla_walk_mode walk : {TLA_WALK_IDEAL, TLA_WALK_FLAT, TLA_WALK_MEMORY}) {
        std::mt19937_64 random(71);
        fixture f(walk, true);
        const uint64_t granule = 512, count = 512; // 64 small pages, four of 64 KiB
        struct version {
            uint64_t visible_ps;
            std::vector<uint64_t> pa; // of each granule, 0: not mapped
        };
        std::vector<version> versions{{0, std::vector<uint64_t>(count, 0)}};
        uint64_t now = 0, stale = 0;
        for (unsigned step = 0; step < 40'000; step++) {
            now += random() % 200'000;
            if (random() % 4 == 0) {
                const uint64_t at = random() % count, n = 1 + random() % std::min<uint64_t>(count - at, 200);
                version next = versions.back();
                tla_map_entry e{{at * granule}, {(random() % 4096 + 1) * granule}, n * granule, TLA_READ, 1};
                if (random() % 2) e.pa.value = e.va.value + (1 + random() % 8) * 64 * KiB;
                bool map = random() % 3 != 0, whole = true;
                for (uint64_t i = at; i < at + n; i++) {
                    whole = whole && next.pa[i];
                    next.pa[i] = map ? e.pa.value + (i - at) * granule : 0;
                }
                uint64_t done = std::max(now, versions.back().visible_ps) + random() % 1'000'000;
                BOOST_REQUIRE_EQUAL(f.change_at(map, e, &done, 0), map || whole ? TLA_OK : TLA_UNMAPPED);
                if (map || whole) versions.push_back({done, next.pa});
            }
            while (versions.size() > 1 && versions[1].visible_ps <= now)
                versions.erase(versions.begin());
            const uint64_t at = now + random() % 100'000; // a little ahead
            const tla_mmu_access a{1, {random() % (count * granule)}, 1, TLA_READ};
            tla_mmu_piece piece{};
            const tla_status status = tla_mmu_probe(f.mmu, &a, at, &piece);
            size_t last = 0;
            while (last + 1 < versions.size() && versions[last + 1].visible_ps <= at)
                last++;
            const uint64_t pa = versions[last].pa[a.va.value / granule];
            const bool as_expected =
                pa ? status == TLA_OK && piece.pa.value == pa + a.va.value % granule : status == TLA_UNMAPPED;
            BOOST_REQUIRE_MESSAGE(as_expected, "walk mode " << walk << ", step " << step);
            stale += piece.stale;
            tla_mmu_advance(f.mmu, now);
        }
        BOOST_CHECK_GT(stale, 1000u);
    }
}

// Random changes of three senders, some taken back: every byte leads where it led before, with the same permission.
BOOST_AUTO_TEST_CASE(a_change_that_is_taken_back_leaves_everything_as_it_was) {
    for (tla_walk_mode walk : {TLA_WALK_IDEAL, TLA_WALK_FLAT, TLA_WALK_MEMORY}) {
        std::mt19937_64 random(91);
        fixture f(walk, true);
        const uint64_t granule = 512, count = 512;
        using map = std::vector<tla_mmu_piece>;
        const auto seen = [&](uint64_t at_ps) {
            map all(2 * count);
            for (uint32_t asid = 0; asid < 2; asid++)
                for (uint64_t i = 0; i < count; i++) {
                    tla_mmu_piece piece{};
                    const uint32_t writable = TLA_WRITE;
                    const tla_mmu_access read{asid, {i * granule}, 1, TLA_READ},
                        write{asid, {i * granule}, 1, writable};
                    if (tla_mmu_probe(f.mmu, &read, at_ps, &piece) == TLA_OK) all[asid * count + i] = piece;
                    all[asid * count + i].fallback = tla_mmu_probe(f.mmu, &write, at_ps, &piece) == TLA_OK;
                }
            return all;
        };
        const auto same = [](const map &a, const map &b) {
            return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) {
                return x.pa.value == y.pa.value && x.fallback == y.fallback;
            });
        };
        uint64_t now = 0;
        unsigned taken_back = 0, refused = 0;
        for (uint32_t step = 0; step < 600; step++, now += 10'000'000) {
            tla_mmu_advance(f.mmu, now);
            const uint32_t sender = step % 3;
            const map before = seen(now);
            std::vector<tla_map_entry> entries(1 + random() % 3);
            const bool maps = random() % 3;
            for (tla_map_entry &e : entries) {
                const uint64_t at = random() % count, n = 1 + random() % std::min<uint64_t>(count - at, 150);
                const auto asid = static_cast<uint32_t>(random() % 2);
                e = {{at * granule}, {(random() % 4096 + 1) * granule}, n * granule, 0, asid};
                if (random() % 2) e.pa.value = e.va.value + (1 + random() % 8) * 64 * KiB;
                e.flags = static_cast<uint32_t>(1 + random() % 3);
            }
            BOOST_REQUIRE_EQUAL(tla_mmu_command(f.mmu, sender, step), TLA_OK);
            tla_error error{};
            uint64_t at = now;
            const tla_status status = lone::change(f.mmu, f.tables, maps ? TLA_TABLE_MAP : TLA_TABLE_UNMAP,
                                                   entries.data(), entries.size(), &at, &error);
            tla_mmu_make_visible(f.mmu, at);
            const map after = seen(at);
            if (random() % 2) continue;
            BOOST_CHECK_EQUAL(lone::take_back(f.mmu, f.tables, sender, step + 1, &at, &error), TLA_NOT_ALLOCATED);
            const tla_status undone = lone::take_back(f.mmu, f.tables, sender, step, &at, &error);
            tla_mmu_make_visible(f.mmu, at + 500'000);
            BOOST_REQUIRE_EQUAL(undone, status ? TLA_NOT_ALLOCATED : TLA_OK);
            refused += status != TLA_OK;
            taken_back += status == TLA_OK;
            if (!status) BOOST_REQUIRE(same(seen(at), after)); // not visible yet
            BOOST_REQUIRE_MESSAGE(same(seen(at + 500'000), before), "walk mode " << walk << ", step " << step);
            BOOST_CHECK_EQUAL(lone::take_back(f.mmu, f.tables, sender, step, &at, &error), undone); // once
            tla_mmu_make_visible(f.mmu, at);
            BOOST_REQUIRE(same(seen(at + 500'000), before));
        }
        BOOST_CHECK_GT(taken_back, 100u);
        BOOST_CHECK_GT(refused, 30u);
    }
}

// Tables that a change has taken away must not be read again: what walkers remember of the address space ends with it.
BOOST_AUTO_TEST_CASE(walks_after_a_change_of_their_address_space_begin_at_its_root) {
    fixture f(TLA_WALK_MEMORY);
    uint64_t now = 0;
    const auto change = [&](bool map, uint64_t va, uint64_t nbytes, uint32_t asid) {
        now += 10'000'000;
        BOOST_REQUIRE_EQUAL(
            f.change_at(map, {{va}, {va + page}, nbytes, map ? std::uint32_t{TLA_READ} : 0u, asid}, &now, 0), TLA_OK);
    };
    const auto skipped = [&](uint64_t va) { // reads of the walk to va
        const uint64_t before = tla_mmu_get_stats(f.mmu).walkers.reads_skipped;
        tla_mmu_piece piece{};
        now += 10'000'000;
        BOOST_REQUIRE_EQUAL(lone::translate(f.mmu, f.tables, {0, {va}, 1, TLA_READ}, &now, &piece), TLA_OK);
        BOOST_REQUIRE(piece.walked);
        return tla_mmu_get_stats(f.mmu).walkers.reads_skipped - before;
    };
    change(true, 0, 8 * page, 0);
    change(true, 16 * page, page, 0);
    change(true, 0, page, 1);
    BOOST_CHECK_EQUAL(skipped(0), 0u);
    BOOST_CHECK_GT(skipped(page), 0u);
    change(false, 0, page, 1); // of another one
    BOOST_CHECK_GT(skipped(2 * page), 0u);
    change(false, 16 * page, page, 0);
    BOOST_CHECK_EQUAL(skipped(3 * page), 0u);
}

BOOST_AUTO_TEST_CASE(an_undo_keeps_mappings_that_another_sender_has_changed_since) {
    fixture f(TLA_WALK_IDEAL, true);
    const auto map = [&](uint32_t sender, uint64_t va, uint64_t pa, uint32_t asid = 0) {
        BOOST_REQUIRE_EQUAL(tla_mmu_command(f.mmu, sender, 5), TLA_OK);
        BOOST_REQUIRE_EQUAL(f.change(true, {{va}, {pa}, 2 * page, TLA_READ, asid}, 0, 0), TLA_OK);
    };
    const auto back = [&](uint32_t sender) {
        uint64_t at = 0;
        tla_error error{};
        return lone::take_back(f.mmu, f.tables, sender, 5, &at, &error);
    };
    map(1, 0, 0x10000);
    map(2, 8 * page, 0x20000);
    map(3, 9 * page, 0x30000);
    map(5, 0, 0x40000, 1);                   // in another address space
    BOOST_CHECK_EQUAL(back(2), TLA_OVERLAP); // page 9
    BOOST_CHECK_EQUAL(back(1), TLA_OK);
    BOOST_CHECK_EQUAL(back(5), TLA_OK);
    BOOST_CHECK_EQUAL(back(3), TLA_OK);
    BOOST_CHECK_EQUAL(back(4), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_mmu_get_stats(f.mmu).table.mapped_bytes, 2 * page); // what sender 2 mapped
}

BOOST_AUTO_TEST_CASE(an_mmu_that_contradicts_itself_cannot_be_made) {
    tla_mmu_config c{};
    c.table.page_size = page;
    tla_mmu *mmu = nullptr;
    tla_error error{};
    c.walk = TLA_WALK_FLAT;
    c.walkers.walkers = 0;
    BOOST_CHECK_EQUAL(tla_mmu_create(&c, &mmu, &error), TLA_INVALID_ARGUMENT);
    c.walkers.walkers = 1;
    c.table.page_size = 5000;
    BOOST_CHECK_EQUAL(tla_mmu_create(&c, &mmu, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(!mmu);
}

// The physical run around a byte of an extent, against one byte after the other.
BOOST_AUTO_TEST_CASE(the_run_around_a_byte_is_what_lies_together_in_both_address_spaces) {
    std::mt19937_64 random(99);
    const uint64_t granule = 512, granules = 256;
    for (unsigned round = 0; round < 20; round++) {
        fixture f(round % 2 ? TLA_WALK_FLAT : TLA_WALK_IDEAL);
        std::vector<int64_t> model(granules, -1);
        uint64_t pa = 0, at_ps = 0;
        for (uint64_t at = 0; at < granules;) {
            const uint64_t count = std::min<uint64_t>(1 + random() % 20, granules - at);
            if (random() % 4 == 0) pa += granule * (1 + random() % 9); // parted in physical addresses
            if (random() % 5) {                                        // else not mapped
                BOOST_REQUIRE_EQUAL(f.change_at(true, {{at * granule}, {pa}, count * granule, TLA_READ, 1}, &at_ps, 1),
                                    TLA_OK);
                for (uint64_t i = 0; i < count; i++)
                    model[at + i] = static_cast<int64_t>(pa + i * granule);
                pa += count * granule;
            }
            at += count;
        }
        for (unsigned i = 0; i < 300; i++) {
            const uint64_t first = random() % (granules * granule - 1),
                           end = first + 1 + random() % (granules * granule - first - 1),
                           va = first + random() % (end - first);
            const auto where = [&](uint64_t a) {
                return model[a / granule] < 0 ? int64_t{-1} : model[a / granule] + static_cast<int64_t>(a % granule);
            };
            uint64_t low = va, high = va + 1;
            if (where(va) >= 0) {
                while (low > first && where(low - 1) >= 0 && where(low - 1) + 1 == where(low))
                    low--;
                while (high < end && where(high) >= 0 && where(high - 1) + 1 == where(high))
                    high++;
            }
            const tla_mmu_access extent{1, {first}, end - first, 0};
            tla_vaddr found{};
            uint64_t nbytes = 0;
            tla_mmu_find_run(f.mmu, &extent, {va}, at_ps, &found, &nbytes);
            BOOST_REQUIRE_EQUAL(found.value, low);
            BOOST_REQUIRE_EQUAL(nbytes, high - low);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_run_at_the_end_of_the_address_space_ends_there) {
    fixture f(TLA_WALK_IDEAL);
    tla_vaddr found{};
    uint64_t nbytes = 0;
    const tla_mmu_access extent{0, {UINT64_MAX - 9999}, 9999, 0};
    tla_mmu_find_run(f.mmu, &extent, {UINT64_MAX - 100}, 0, &found, &nbytes); // nothing is mapped
    BOOST_CHECK_EQUAL(found.value, UINT64_MAX - 100);
    BOOST_CHECK_EQUAL(nbytes, 1u);
}

BOOST_AUTO_TEST_CASE(pieces_are_joined_where_physical_memory_is_contiguous) {
    const auto piece = [](std::uint64_t pa, std::uint64_t nbytes, bool fallback = false) {
        tla_mmu_piece p{};
        p.pa.value = pa;
        p.nbytes = nbytes;
        p.fallback = fallback;
        return p;
    };
    tla_mmu_piece last = piece(0x1000, 0x1000);
    const tla_mmu_piece behind = piece(0x2000, 0x800), elsewhere = piece(0x4000, 8), taken = piece(0x2800, 8, true);
    BOOST_CHECK(tla_mmu_piece_join(&last, &behind));
    BOOST_CHECK_EQUAL(last.pa.value, 0x1000u);
    BOOST_CHECK_EQUAL(last.nbytes, 0x1800u);
    BOOST_CHECK(!tla_mmu_piece_join(&last, &elsewhere));
    BOOST_CHECK(!tla_mmu_piece_join(&last, &taken)); // an address that is nobody's
    BOOST_CHECK_EQUAL(last.nbytes, 0x1800u);
}

BOOST_AUTO_TEST_CASE(pieces_are_cut_where_an_hbm_slice_ends) {
    const auto piece = [](std::uint64_t offset, std::uint64_t nbytes, tla_memory_kind memory = TLA_HBM) {
        tla_paddr_fields place{};
        place.die = memory == TLA_HOST_MEMORY ? TLA_HOST_DIE : 1;
        place.unit = tla_memory_kind_unit(memory);
        place.offset = offset;
        tla_mmu_piece p{};
        BOOST_REQUIRE_EQUAL(tla_paddr_encode(&place, &p.pa), TLA_OK);
        p.nbytes = nbytes;
        p.walked = true;
        return p;
    };
    tla_mmu_piece over = piece(3999, 4002), rest{}, last{};
    const std::uint64_t begin = over.pa.value;
    BOOST_CHECK(tla_mmu_piece_cut(&over, 4000, &rest));
    BOOST_CHECK(over.pa.value == begin && over.nbytes == 1 && over.walked);
    BOOST_CHECK(rest.pa.value == begin + 1 && rest.nbytes == 4001 && !rest.walked);
    BOOST_CHECK(tla_mmu_piece_cut(&rest, 4000, &last));
    BOOST_CHECK(rest.nbytes == 4000 && last.pa.value == begin + 4001 && last.nbytes == 1);
    for (tla_mmu_piece whole : {piece(4000, 4000), piece(3999, 1), piece(3999, 2, TLA_HOST_MEMORY)})
        BOOST_CHECK(!tla_mmu_piece_cut(&whole, 4000, &rest));
    BOOST_CHECK(!tla_mmu_piece_cut(&over, 0, &rest));
}
