// Ranges: what they hold, join, replace and drop, against a list of sets of bytes.
#include "seeded_random.hpp"

#include "model/vm/range_buffer.h"

#include <algorithm>
#include <list>
#include <set>

namespace {

struct buffer {
    explicit buffer(uint32_t entries) { BOOST_REQUIRE_EQUAL(tla_range_buffer_create(entries, &made), TLA_OK); }
    ~buffer() { tla_range_buffer_destroy(made); }
    buffer(const buffer &) = delete;
    buffer &operator=(const buffer &) = delete;

    void fill(const tla_range &run, bool lone = false) { tla_range_buffer_fill(made, &run, lone); }
    // Where a byte leads; -1 on a miss.
    int64_t find(uint32_t asid, uint64_t va) {
        tla_range hit{};
        if (!tla_range_buffer_lookup(made, asid, va, &hit)) return -1;
        return static_cast<int64_t>(hit.pa + (va - hit.va));
    }
    tla_ranges_stats stats() const { return tla_range_buffer_get_stats(made); }

    tla_range_buffer *made = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_buffer_has_one_range_at_least_and_1024_at_most) {
    tla_range_buffer *made = nullptr;
    BOOST_CHECK_EQUAL(tla_range_buffer_create(0, &made), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_range_buffer_create(TLA_RANGES_MAX + 1, &made), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(!made);
    buffer one(1), most(TLA_RANGES_MAX);
    BOOST_CHECK_EQUAL(one.find(0, 0), -1);
    BOOST_CHECK_EQUAL(most.find(0, 0), -1);
}

BOOST_AUTO_TEST_CASE(runs_that_touch_are_one_range_if_they_lead_on_alike) {
    buffer b(8);
    b.fill({100, 10, 1100, 0, TLA_READ});
    b.fill({120, 10, 1120, 0, TLA_READ});
    BOOST_CHECK_EQUAL(b.stats().valid, 2u);
    b.fill({110, 10, 1110, 0, TLA_READ}); // closes the gap
    BOOST_CHECK_EQUAL(b.stats().valid, 1u);
    BOOST_CHECK_EQUAL(b.stats().fills, 3u);
    b.fill({105, 20, 1105, 0, TLA_READ}); // is known
    BOOST_CHECK_EQUAL(b.stats().fills, 3u);
    b.fill({130, 10, 1130, 0, TLA_READ | TLA_WRITE}); // other permissions
    b.fill({90, 10, 2090, 0, TLA_READ});              // elsewhere
    b.fill({90, 10, 1090, 1, TLA_READ});              // another address space
    BOOST_CHECK_EQUAL(b.stats().valid, 4u);
    BOOST_CHECK_EQUAL(b.find(0, 129), 1129);
    BOOST_CHECK_EQUAL(b.find(0, 99), 2099);
    BOOST_CHECK_EQUAL(b.find(1, 99), 1099);
    BOOST_CHECK_EQUAL(b.find(1, 100), -1);
    tla_range_buffer_drop(b.made, 0, 130, 1);
    BOOST_CHECK_EQUAL(b.find(0, 130), -1);
    BOOST_CHECK_EQUAL(b.find(0, 129), 1129);
    tla_range_buffer_drop(b.made, 0, 0, 0); // all of an address space
    BOOST_CHECK_EQUAL(b.stats().valid, 1u);
    BOOST_CHECK_EQUAL(b.stats().dropped, 3u);
    BOOST_CHECK_EQUAL(b.find(1, 99), 1099);
}

BOOST_AUTO_TEST_CASE(a_single_page_only_extends_ranges) {
    buffer b(2);
    b.fill({100, 1, 1100, 0, TLA_READ}, true);
    BOOST_CHECK_EQUAL(b.stats().valid, 0u);
    BOOST_CHECK_EQUAL(b.stats().fills, 0u);
    b.fill({101, 2, 1101, 0, TLA_READ});
    b.fill({100, 1, 1100, 0, TLA_READ}, true);
    BOOST_CHECK_EQUAL(b.stats().valid, 1u);
    BOOST_CHECK_EQUAL(b.find(0, 100), 1100);
}

BOOST_AUTO_TEST_CASE(the_range_at_the_end_of_all_addresses_neither_wraps_nor_is_continued) {
    buffer b(4);
    const uint64_t end = UINT64_MAX - 15;
    b.fill({end, 16, 0, 0, TLA_READ});
    b.fill({0, 16, 16, 0, TLA_READ});
    BOOST_CHECK_EQUAL(b.stats().valid, 2u);
    BOOST_CHECK_EQUAL(b.find(0, UINT64_MAX), 15);
    BOOST_CHECK_EQUAL(b.find(0, 15), 31);
    b.fill({end - 16, 16, static_cast<uint64_t>(-16), 0, TLA_READ});
    BOOST_CHECK_EQUAL(b.stats().valid, 2u);
    tla_range_buffer_drop(b.made, 0, UINT64_MAX - 1, 100);
    BOOST_CHECK_EQUAL(b.stats().valid, 1u);
    BOOST_CHECK_EQUAL(b.find(0, 0), 16);
}

// Random runs of a map that never changes where it leads, lookups and drops: a range is a set of bytes there, the most
// recently used in front.
BOOST_AUTO_TEST_CASE(random_runs_lookups_and_drops_do_what_a_list_of_sets_does) {
    seeded_random random(38);
    for (uint32_t entries : {1u, 2u, 5u, 16u}) {
        buffer b(entries);
        struct range {
            uint32_t asid;
            std::set<uint64_t> bytes;
        };
        std::list<range> ranges;
        tla_ranges_stats expected{};
        // 16 stretches of 64 bytes; every fourth begins where the one before ends in both address spaces.
        const auto pa_of = [](uint64_t va) { return va + va / 256 * 1000 + 5; };
        const auto flags_of = [](uint64_t va) { return va / 128 % 2 ? uint32_t{TLA_READ} : TLA_READ | TLA_WRITE; };
        const auto alike = [&](uint64_t a, uint64_t c) {
            return pa_of(a) - a == pa_of(c) - c && flags_of(a) == flags_of(c);
        };
        for (unsigned step = 0; step < 100'000; step++) {
            const auto asid = static_cast<uint32_t>(random.between(0, 1));
            const uint64_t va = random.between(0, 1023);
            if (random.one_in(3)) {
                uint64_t n = 1;
                while (n < 24 && alike(va, va + n) && !random.one_in(12))
                    n++;
                const bool lone = n == 1;
                b.fill({va, n, pa_of(va), asid, flags_of(va)}, lone);
                std::set<uint64_t> all;
                for (uint64_t i = 0; i < n; i++)
                    all.insert(va + i);
                bool known = false, joined = false;
                for (auto r = ranges.begin(); r != ranges.end();) {
                    const bool touches = r->asid == asid && alike(*r->bytes.begin(), va) &&
                                         *r->bytes.begin() <= va + n && *r->bytes.rbegin() + 1 >= va;
                    if (!touches) {
                        ++r;
                        continue;
                    }
                    joined = true;
                    known = known || std::includes(r->bytes.begin(), r->bytes.end(), all.begin(), all.end());
                    all.insert(r->bytes.begin(), r->bytes.end());
                    r = ranges.erase(r);
                }
                if (!lone || joined) {
                    if (ranges.size() == entries) {
                        ranges.pop_back();
                        expected.evictions++;
                    }
                    ranges.push_front({asid, all});
                    expected.fills += !known;
                }
            } else if (random.one_in(8)) {
                const uint64_t n = random.between(0, random.one_in(4) ? 300 : 4);
                tla_range_buffer_drop(b.made, asid, va, n);
                for (auto r = ranges.begin(); r != ranges.end();) {
                    const auto hit = r->bytes.lower_bound(va);
                    const bool overlaps = n == 0 || (hit != r->bytes.end() && *hit < va + n);
                    expected.dropped += r->asid == asid && overlaps;
                    r = r->asid == asid && overlaps ? ranges.erase(r) : std::next(r);
                }
            } else {
                const auto r = std::find_if(ranges.begin(), ranges.end(), [&](const range &one) {
                    return one.asid == asid && one.bytes.count(va) > 0;
                });
                expected.lookups++;
                expected.hits += r != ranges.end();
                BOOST_REQUIRE_EQUAL(b.find(asid, va), r == ranges.end() ? -1 : static_cast<int64_t>(pa_of(va)));
                if (r != ranges.end()) ranges.splice(ranges.begin(), ranges, r);
            }
            const tla_ranges_stats s = b.stats();
            BOOST_REQUIRE_EQUAL(s.valid, ranges.size());
            BOOST_REQUIRE_EQUAL(s.lookups, expected.lookups);
            BOOST_REQUIRE_EQUAL(s.hits, expected.hits);
            BOOST_REQUIRE_EQUAL(s.fills, expected.fills);
            BOOST_REQUIRE_EQUAL(s.evictions, expected.evictions);
            BOOST_REQUIRE_EQUAL(s.dropped, expected.dropped);
        }
        BOOST_CHECK_GT(expected.hits, 100u);
        BOOST_CHECK_GT(expected.evictions, 100u);
        BOOST_CHECK_GT(expected.dropped, 100u);
    }
}
