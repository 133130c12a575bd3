// An MMU with ranges beside its TLB: every translation against a map of pages, every count against a naive MMU.
#include "lone_mmu.hpp"
#include "seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <list>
#include <map>
#include <set>

namespace {

const uint64_t KiB = 1024, page = 4 * KiB, level_ps = 100'000, l1_ps = 1000, l2_ps = 5000;

// A memory for tables: bytes, and a bump allocator.
struct table_bytes {
    std::map<uint64_t, uint8_t> bytes;
    uint64_t next = (1 << 20) + 24; // no table begins at a multiple of 64 B
    uint32_t longest_read = 0;

    void read(tla_paddr pa, uint8_t *to, uint32_t nbytes) {
        longest_read = std::max(longest_read, nbytes);
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

struct mmu_with_ranges {
    mmu_with_ranges(tla_walk_mode walk, uint32_t ranges, uint32_t levels = 2, uint64_t larger_page = 0) {
        tla_mmu_config c{};
        c.walk = walk;
        c.table.page_size = page;
        c.table.larger_page_sizes[0] = larger_page;
        c.table.va_bits = 48;
        c.table.asids = 3;
        c.table.allow_remap = true;
        c.tlb.levels = levels;
        c.tlb.level[0] = {2, 0, l1_ps, TLA_REPLACE_LRU};
        c.tlb.level[1] = {8, 0, l2_ps, TLA_REPLACE_LRU};
        c.walkers = {1, 0, 0, false, true, level_ps};
        c.ranges = ranges;
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_mmu_create(&c, &mmu, &error) == TLA_OK, error.text);
    }
    ~mmu_with_ranges() { tla_mmu_destroy(mmu); }
    mmu_with_ranges(const mmu_with_ranges &) = delete;
    mmu_with_ranges &operator=(const mmu_with_ranges &) = delete;

    // A change that is visible a microsecond after its end.
    tla_status change(tla_table_change what, const tla_map_entry &e) {
        uint64_t done = now;
        const tla_status status = lone::change(mmu, tables, what, &e, 1, &done, nullptr);
        if (!status) tla_mmu_make_visible(mmu, done + 1'000'000);
        now = done + 2'000'000;
        return status;
    }
    void map(uint64_t va, uint64_t pa, uint64_t nbytes, uint32_t asid = 0, uint32_t flags = TLA_READ) {
        BOOST_REQUIRE_EQUAL(change(TLA_TABLE_MAP, {{va}, {pa}, nbytes, flags, asid}), TLA_OK);
    }
    void invalidate(uint64_t va, uint64_t nbytes, uint32_t asid) {
        const tla_map_entry e{{va}, {0}, nbytes, 0, asid};
        BOOST_REQUIRE_EQUAL(tla_mmu_invalidate(mmu, &e, 1, nullptr, nullptr), TLA_OK);
    }
    // A read of one byte; took_ps is the time of its translation.
    tla_status read(uint64_t va, uint32_t asid = 0, uint32_t access = TLA_READ) {
        now += 10'000'000;
        uint64_t done = now;
        const tla_status status = lone::translate(mmu, tables, {asid, {va}, 1, access}, &done, &piece);
        took_ps = done - now;
        now = done;
        return status;
    }
    tla_mmu_stats stats() const { return tla_mmu_get_stats(mmu); }

    table_bytes tables;
    tla_mmu *mmu = nullptr;
    tla_mmu_piece piece{};
    uint64_t now = 0, took_ps = 0;
};

// The same counts from a map of pages alone: levels and ranges are lists, the most recently used in front. A range is a
// set of pages and remembers no place: the map says where its pages lead.
class naive_mmu {
  public:
    using place = std::pair<uint32_t, uint64_t>; // an address space and a page
    struct target {
        uint64_t pa_page;
        uint32_t flags;
    };

    naive_mmu(std::size_t l1, std::size_t l2, std::size_t ranges) : rooms_{l1, l2}, range_room_(ranges) {}

    std::map<place, target> pages;
    uint64_t hits = 0, misses = 0, range_hits = 0, fills = 0, evictions = 0, dropped = 0;

    void change(const place &first, uint64_t count) {
        for (std::list<place> &level : levels_)
            level.remove_if([&](const place &p) { return in(p, first, count); });
        drop_ranges([&](const place &p) { return in(p, first, count); });
    }
    void forget(uint32_t asid) {
        for (std::list<place> &level : levels_)
            level.remove_if([&](const place &p) { return p.first == asid; });
        drop_ranges([&](const place &p) { return p.first == asid; });
    }

    void look_up(const place &p) {
        if (use(0, p)) {
            hits++;
            return;
        }
        if (use(1, p)) {
            hits++;
            enter(0, p);
            return;
        }
        const auto r = std::find_if(ranges_.begin(), ranges_.end(), [&](const auto &one) { return one.count(p) > 0; });
        if (r != ranges_.end()) {
            range_hits++;
            ranges_.splice(ranges_.begin(), ranges_, r);
            enter(0, p);
            return;
        }
        misses++;
        if (pages.count(p) == 0) return;
        enter(0, p);
        enter(1, p);
        if (range_room_ > 0) fill(p);
    }

  private:
    static bool in(const place &p, const place &first, uint64_t count) {
        return p.first == first.first && p.second >= first.second && p.second < first.second + count;
    }
    template <typename Which>
    void drop_ranges(Which which) {
        for (auto r = ranges_.begin(); r != ranges_.end();) {
            const bool hit = std::any_of(r->begin(), r->end(), which);
            dropped += hit;
            r = hit ? ranges_.erase(r) : std::next(r);
        }
    }

    bool use(std::size_t level, const place &p) {
        std::list<place> &l = levels_[level];
        const auto found = std::find(l.begin(), l.end(), p);
        if (found == l.end()) return false;
        l.splice(l.begin(), l, found);
        return true;
    }
    void enter(std::size_t level, const place &p) {
        levels_[level].push_front(p);
        if (levels_[level].size() > rooms_[level]) levels_[level].pop_back();
    }

    // Whether the page after p leads on.
    bool leads_on(const place &p) const {
        const auto a = pages.find(p), b = pages.find({p.first, p.second + 1});
        return a != pages.end() && b != pages.end() && a->second.flags == b->second.flags &&
               a->second.pa_page + page == b->second.pa_page;
    }
    void fill(const place &p) {
        std::set<place> run{p};
        for (place at = p; at.second % 8 > 0 && leads_on({at.first, at.second - 1});)
            run.insert(at = {at.first, at.second - 1});
        for (place at = p; at.second % 8 < 7 && leads_on(at);)
            run.insert(at = {at.first, at.second + 1});
        const std::size_t alone = run.size();
        bool joined = false, known = false;
        const place first = *run.begin(), last = *run.rbegin();
        for (auto r = ranges_.begin(); r != ranges_.end();) {
            const bool overlaps = r->count(p) > 0 || std::any_of(run.begin(), run.end(),
                                                                 [&](const place &one) { return r->count(one) > 0; });
            const bool before =
                first.second > 0 && *r->rbegin() == place{first.first, first.second - 1} && leads_on(*r->rbegin());
            const bool after = *r->begin() == place{last.first, last.second + 1} && leads_on(last);
            if (!overlaps && !before && !after) {
                ++r;
                continue;
            }
            joined = true;
            known = known || std::includes(r->begin(), r->end(), run.begin(), run.end());
            run.insert(r->begin(), r->end());
            r = ranges_.erase(r);
        }
        if (alone == 1 && !joined) return;
        if (ranges_.size() == range_room_) {
            ranges_.pop_back();
            evictions++;
        }
        ranges_.push_front(run);
        fills += !known;
    }

    std::list<place> levels_[2];
    std::size_t rooms_[2];
    std::list<std::set<place>> ranges_;
    std::size_t range_room_;
};

// Random MAPs (some over mappings, some that continue their neighbours), UNMAPs, REMAPs, INVALIDATEs and accesses in
// three address spaces.
void check_against_pages(tla_walk_mode walk, uint32_t ranges, std::uint64_t seed, unsigned steps) {
    seeded_random random(seed);
    mmu_with_ranges m(walk, ranges);
    naive_mmu naive(2, 8, ranges);
    const uint64_t span = 96;
    uint64_t translated = 0;
    for (unsigned step = 0; step < steps; step++) {
        const auto asid = static_cast<uint32_t>(random.between(0, 2));
        const uint64_t at = random.between(0, span - 1), what = random.between(0, 39);
        const uint64_t count = random.between(1, std::min<uint64_t>(span - at, random.one_in(4) ? 40 : 6));
        const naive_mmu::place first{asid, at};
        bool whole = true;
        for (uint64_t i = 0; i < count; i++)
            whole = whole && naive.pages.count({asid, at + i});
        if (what < 5) {
            tla_map_entry e{{at * page}, {random.between(0, 4095) * page}, count * page, TLA_READ, asid};
            if (!random.one_in(3)) e.pa.value = (at + 8192 * random.between(0, 1)) * page; // beside its neighbours
            if (!random.one_in(4)) e.flags = TLA_READ | TLA_WRITE;
            const tla_table_change kind = what == 0 ? TLA_TABLE_UNMAP : what == 1 ? TLA_TABLE_REMAP : TLA_TABLE_MAP;
            const bool works = kind == TLA_TABLE_MAP || whole;
            BOOST_REQUIRE_EQUAL(m.change(kind, e), works ? TLA_OK : TLA_UNMAPPED);
            for (uint64_t i = 0; i < count && works; i++)
                if (kind == TLA_TABLE_UNMAP)
                    naive.pages.erase({asid, at + i});
                else
                    naive.pages[{asid, at + i}] = {e.pa.value + i * page, e.flags};
            if (works) naive.change(first, count);
        } else if (what == 5 && random.one_in(4)) {
            m.invalidate(0, 0, asid);
            naive.forget(asid);
        } else if (what == 5) {
            m.invalidate(at * page, count * page, asid);
            naive.change(first, count);
        } else {
            const uint32_t access = random.one_in(2) ? TLA_READ : TLA_WRITE;
            const uint64_t into = random.between(0, page - 1);
            const tla_status status = m.read(at * page + into, asid, access);
            const auto leads = naive.pages.find(first);
            const tla_status expected = leads == naive.pages.end()      ? TLA_UNMAPPED
                                        : access & ~leads->second.flags ? TLA_PERMISSION
                                                                        : TLA_OK;
            BOOST_REQUIRE_EQUAL(status, expected);
            if (!status) BOOST_REQUIRE_EQUAL(m.piece.pa.value, leads->second.pa_page + into);
            if (!status) BOOST_REQUIRE(!m.piece.stale);
            translated += !status;
            naive.look_up(first);
        }
        const tla_mmu_stats s = m.stats();
        BOOST_REQUIRE_EQUAL(s.hits, naive.hits);
        BOOST_REQUIRE_EQUAL(s.misses, naive.misses);
        BOOST_REQUIRE_EQUAL(s.ranges.hits, naive.range_hits);
        BOOST_REQUIRE_EQUAL(s.ranges.fills, naive.fills);
        BOOST_REQUIRE_EQUAL(s.ranges.evictions, naive.evictions);
        BOOST_REQUIRE_EQUAL(s.ranges.dropped, naive.dropped);
    }
    BOOST_CHECK_GT(translated, steps / 8);
    BOOST_CHECK_GT(naive.hits, steps / 50);
    BOOST_CHECK_EQUAL(naive.range_hits > steps / 200, ranges > 0);
    BOOST_CHECK_EQUAL(naive.dropped > steps / 200, ranges > 0);
    BOOST_CHECK_EQUAL(m.stats().walk_errors, 0u);
    if (walk == TLA_WALK_MEMORY) BOOST_CHECK_EQUAL(m.tables.longest_read, ranges > 0 ? 64u : 8u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_hundred_thousand_random_steps_count_as_a_naive_mmu_with_ranges_does) {
    for (uint32_t ranges : {1u, 4u, 64u})
        check_against_pages(TLA_WALK_FLAT, ranges, 600 + ranges, 100'000);
}

BOOST_AUTO_TEST_CASE(walks_through_a_memory_fill_the_same_ranges) {
    for (uint32_t ranges : {2u, 16u})
        check_against_pages(TLA_WALK_MEMORY, ranges, 700 + ranges, 50'000);
}

BOOST_AUTO_TEST_CASE(without_ranges_an_mmu_is_one_that_has_none) {
    check_against_pages(TLA_WALK_FLAT, 0, 800, 30'000);
    check_against_pages(TLA_WALK_MEMORY, 0, 801, 10'000);
}

BOOST_AUTO_TEST_CASE(a_range_takes_the_time_of_the_last_level_and_fills_the_nearer_levels) {
    for (uint32_t levels : {0u, 1u, 2u}) {
        mmu_with_ranges m(TLA_WALK_FLAT, 4, levels);
        const uint64_t all_ps = (levels > 0) * l1_ps + (levels > 1) * l2_ps;
        m.map(0, 1 << 20, 8 * page);
        BOOST_REQUIRE_EQUAL(m.read(0), TLA_OK);
        BOOST_CHECK_EQUAL(m.took_ps, all_ps + 4 * level_ps);
        BOOST_CHECK(m.piece.walked && !m.piece.ranged);
        BOOST_REQUIRE_EQUAL(m.read(7 * page + 5), TLA_OK);
        BOOST_CHECK_EQUAL(m.took_ps, all_ps);
        BOOST_CHECK(m.piece.ranged && !m.piece.walked);
        BOOST_CHECK_EQUAL(m.piece.pa.value, (1u << 20) + 7 * page + 5);
        BOOST_REQUIRE_EQUAL(m.read(7 * page), TLA_OK);
        BOOST_CHECK_EQUAL(m.took_ps, levels == 2 ? l1_ps : all_ps);
        BOOST_CHECK_EQUAL(m.piece.ranged, levels != 2);
        const tla_mmu_stats s = m.stats();
        BOOST_CHECK_EQUAL(s.misses, 1u);
        BOOST_CHECK_EQUAL(s.hits, levels == 2 ? 1u : 0u);
        BOOST_CHECK_EQUAL(s.ranges.hits, levels == 2 ? 1u : 2u);
    }
}

BOOST_AUTO_TEST_CASE(pages_of_several_sizes_that_lead_on_are_one_range) {
    for (tla_walk_mode walk : {TLA_WALK_FLAT, TLA_WALK_MEMORY}) {
        mmu_with_ranges m(walk, 4, 2, 64 * KiB);
        // Four large pages between three and two small pages.
        m.map(64 * KiB - 3 * page, 64 * KiB - 3 * page, 4 * 64 * KiB + 5 * page);
        BOOST_REQUIRE_EQUAL(m.read(64 * KiB - page), TLA_OK);
        BOOST_CHECK_EQUAL(m.stats().ranges.valid, 1u);
        BOOST_REQUIRE_EQUAL(m.read(5 * 64 * KiB + page), TLA_OK);
        BOOST_CHECK_EQUAL(m.stats().ranges.valid, 2u);
        BOOST_REQUIRE_EQUAL(m.read(2 * 64 * KiB), TLA_OK); // joins both
        BOOST_CHECK_EQUAL(m.stats().ranges.valid, 1u);
        for (uint64_t va = 64 * KiB - 3 * page; va < 5 * 64 * KiB + 2 * page; va += page) {
            BOOST_REQUIRE_EQUAL(m.read(va), TLA_OK);
            BOOST_CHECK_EQUAL(m.piece.pa.value, va);
        }
        BOOST_CHECK_EQUAL(m.stats().misses, 3u);
        // A change of one page drops the range, and the next walk of a large page finds what is left of its line.
        BOOST_REQUIRE_EQUAL(m.change(TLA_TABLE_UNMAP, {{3 * 64 * KiB}, {0}, page, 0, 0}), TLA_OK);
        BOOST_CHECK_EQUAL(m.stats().ranges.dropped, 1u);
        BOOST_CHECK_EQUAL(m.read(3 * 64 * KiB), TLA_UNMAPPED);
    }
}

BOOST_AUTO_TEST_CASE(parts_of_pages_are_in_no_range) {
    mmu_with_ranges m(TLA_WALK_MEMORY, 4);
    m.map(page / 2, 5 * page + page / 2, 3 * page); // half a page, two pages, half a page
    BOOST_REQUIRE_EQUAL(m.read(page / 2), TLA_OK);
    BOOST_CHECK_EQUAL(m.stats().ranges.valid, 0u);
    BOOST_REQUIRE_EQUAL(m.read(page), TLA_OK);
    BOOST_CHECK_EQUAL(m.stats().ranges.valid, 1u);
    BOOST_REQUIRE_EQUAL(m.read(2 * page), TLA_OK);
    BOOST_CHECK(m.piece.ranged);
    BOOST_REQUIRE_EQUAL(m.read(3 * page), TLA_OK);
    BOOST_CHECK(m.piece.walked);
    BOOST_CHECK_EQUAL(m.read(4 * page - 1), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(m.stats().ranges.fills, 1u);
}

// The line as it stands in memory decides too: an entry that a program has overwritten joins no range, and is an error
// when it is walked.
BOOST_AUTO_TEST_CASE(an_overwritten_entry_ends_the_run_and_fails_its_own_walk_only) {
    mmu_with_ranges m(TLA_WALK_MEMORY, 4);
    m.map(0, 16 * page, 8 * page);
    const uint64_t word = 18 * page | uint64_t{TLA_READ} << TLA_PADDR_BITS; // of page 2, but for its kind
    for (auto &[pa, byte] : m.tables.bytes) {
        uint64_t read = 0;
        for (unsigned i = 0; i < 6; i++) {
            const auto other = m.tables.bytes.find(pa + i);
            if (other != m.tables.bytes.end()) read |= uint64_t{other->second} << 8 * i;
        }
        if ((pa & 7) == 0 && read == (word & 0xFFFFFFFFFFFF)) byte ^= 1;
    }
    BOOST_REQUIRE_EQUAL(m.read(4 * page), TLA_OK);
    for (uint64_t i : {3u, 5u, 6u, 7u}) {
        BOOST_REQUIRE_EQUAL(m.read(i * page), TLA_OK);
        BOOST_CHECK(m.piece.ranged);
    }
    BOOST_CHECK_EQUAL(m.read(2 * page), TLA_BUS_ERROR);
    BOOST_REQUIRE_EQUAL(m.read(page), TLA_OK);
    BOOST_CHECK(m.piece.walked);
    BOOST_REQUIRE_EQUAL(m.read(0), TLA_OK);
    BOOST_CHECK(m.piece.ranged);
    BOOST_CHECK_EQUAL(m.stats().walk_errors, 1u);
}

BOOST_AUTO_TEST_CASE(while_a_change_is_not_visible_its_pages_are_in_no_range) {
    mmu_with_ranges m(TLA_WALK_FLAT, 4, 0);
    m.map(0, 16 * page, 8 * page);
    BOOST_REQUIRE_EQUAL(m.read(0), TLA_OK);
    BOOST_CHECK_EQUAL(m.stats().ranges.valid, 1u);
    const tla_map_entry e{{3 * page}, {40 * page}, page, TLA_READ, 0};
    uint64_t at = m.now;
    BOOST_REQUIRE_EQUAL(lone::change(m.mmu, m.tables, TLA_TABLE_REMAP, &e, 1, &at, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(m.stats().ranges.dropped, 1u);
    tla_mmu_make_visible(m.mmu, m.now + 50'000'000);
    BOOST_REQUIRE_EQUAL(m.read(3 * page), TLA_OK); // the old place, by a walk
    BOOST_CHECK(m.piece.walked && m.piece.stale);
    BOOST_CHECK_EQUAL(m.piece.pa.value, 19 * page);
    BOOST_REQUIRE_EQUAL(m.read(4 * page), TLA_OK);
    BOOST_CHECK(m.piece.walked);
    BOOST_CHECK_EQUAL(m.stats().ranges.valid, 0u);
    m.now += 100'000'000;
    BOOST_REQUIRE_EQUAL(m.read(4 * page), TLA_OK);
    BOOST_CHECK(m.piece.walked);
    BOOST_REQUIRE_EQUAL(m.read(7 * page), TLA_OK);
    BOOST_CHECK(m.piece.ranged);
    BOOST_REQUIRE_EQUAL(m.read(3 * page), TLA_OK);
    BOOST_CHECK(m.piece.walked);
    BOOST_CHECK_EQUAL(m.piece.pa.value, 40 * page);
}

BOOST_AUTO_TEST_CASE(more_ranges_than_1024_are_refused_where_there_is_a_tlb) {
    tla_mmu_config c{};
    c.table.page_size = page;
    c.walkers.walkers = 1;
    c.ranges = TLA_RANGES_MAX + 1;
    for (tla_walk_mode walk : {TLA_WALK_IDEAL, TLA_WALK_FLAT, TLA_WALK_MEMORY}) {
        c.walk = walk;
        tla_mmu *mmu = nullptr;
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_mmu_create(&c, &mmu, &error), walk == TLA_WALK_IDEAL ? TLA_OK : TLA_INVALID_ARGUMENT);
        if (walk != TLA_WALK_IDEAL) BOOST_CHECK_EQUAL(error.text, "ranges: 0 .. 1024");
        tla_mmu_destroy(mmu);
    }
}
