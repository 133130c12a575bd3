// Which accesses wait while ranges are paused, and when a pause is drained.
#include "tlmalloc/vm/pauses.h"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <random>
#include <string>
#include <vector>

namespace {

struct fixture {
    tla_pauses *pauses = nullptr;
    std::deque<tla_passage> passages;

    fixture() { BOOST_REQUIRE_EQUAL(tla_pauses_create(&pauses), TLA_OK); }
    ~fixture() { tla_pauses_destroy(pauses); }

    tla_passage &access(uint64_t va, uint64_t nbytes, uint32_t what = TLA_READ, uint32_t asid = 0) {
        tla_passage &p = passages.emplace_back();
        p.access = {asid, {va}, nbytes, what};
        return p;
    }
    bool enters(tla_passage &p) { return tla_pauses_enter(pauses, &p); }
    tla_status pause(uint64_t va, uint64_t nbytes, uint32_t asid = 0) {
        const tla_map_entry range{{va}, {0}, nbytes, 0, asid};
        return tla_pauses_begin(pauses, &range, 1, nullptr);
    }
    tla_status resume(uint64_t va, uint64_t nbytes, uint32_t asid = 0) {
        const tla_map_entry range{{va}, {0}, nbytes, 0, asid};
        return tla_pauses_end(pauses, &range, 1, nullptr);
    }
    bool drained(uint64_t va, uint64_t nbytes, uint32_t asid = 0) const {
        const tla_map_entry range{{va}, {0}, nbytes, 0, asid};
        return tla_pauses_are_drained(pauses, &range, 1);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(an_access_to_a_paused_range_waits_until_the_pause_ends, fixture) {
    BOOST_REQUIRE_EQUAL(pause(0x1000, 0x1000), TLA_OK);
    tla_passage &below = access(0xff0, 16), &across = access(0xff8, 16), &above = access(0x2000, 16),
                &other = access(0x1000, 16, TLA_READ, 1);
    BOOST_CHECK(enters(below));
    BOOST_CHECK(!enters(across));
    BOOST_CHECK(enters(above));
    BOOST_CHECK(enters(other));
    BOOST_CHECK_EQUAL(tla_pauses_waiting(pauses), 1u);
    BOOST_CHECK(tla_pauses_next(pauses) == nullptr);
    BOOST_REQUIRE_EQUAL(resume(0x1000, 0x1000), TLA_OK);
    BOOST_CHECK(tla_pauses_next(pauses) == &across);
    BOOST_CHECK(tla_pauses_next(pauses) == nullptr);
    BOOST_CHECK_EQUAL(tla_pauses_waiting(pauses), 0u);
}

BOOST_FIXTURE_TEST_CASE(no_access_overtakes_one_that_waits_for_the_same_bytes, fixture) {
    BOOST_REQUIRE_EQUAL(pause(0x1000, 0x1000), TLA_OK);
    tla_passage &first = access(0xff0, 32, TLA_WRITE), &behind = access(0xff0, 8), &free = access(0xfe0, 16),
                &again = access(0xff0, 8, TLA_READ, 1);
    BOOST_CHECK(!enters(first));
    BOOST_CHECK(!enters(behind)); // not paused itself
    BOOST_CHECK(enters(free));
    BOOST_CHECK(enters(again)); // another address space
    BOOST_REQUIRE_EQUAL(resume(0x1000, 0x1000), TLA_OK);
    BOOST_CHECK(tla_pauses_next(pauses) == &first);
    BOOST_CHECK(tla_pauses_next(pauses) == &behind);
    BOOST_CHECK(tla_pauses_next(pauses) == nullptr);
}

BOOST_FIXTURE_TEST_CASE(reads_of_the_same_bytes_do_not_wait_for_each_other, fixture) {
    BOOST_REQUIRE_EQUAL(pause(0x1000, 0x1000), TLA_OK);
    BOOST_CHECK(!enters(access(0xff0, 32)));
    BOOST_CHECK(enters(access(0xff0, 8)));
}

BOOST_FIXTURE_TEST_CASE(a_pause_is_drained_when_the_accesses_that_entered_before_have_left, fixture) {
    tla_passage &read = access(0x1000, 8), &write = access(0x1ff8, 16, TLA_WRITE), &beside = access(0x3000, 8);
    for (tla_passage *one : {&read, &write, &beside})
        BOOST_CHECK(enters(*one));
    BOOST_REQUIRE_EQUAL(pause(0x1000, 0x1000), TLA_OK);
    tla_passage &late = access(0x1000, 8);
    BOOST_CHECK(!enters(late));
    BOOST_CHECK(!drained(0x1000, 0x1000));
    tla_pauses_leave(pauses, &read);
    BOOST_CHECK(!drained(0x1000, 0x1000));
    tla_pauses_leave(pauses, &write);
    BOOST_CHECK(drained(0x1000, 0x1000)); // what waits is not inside
    BOOST_CHECK(!drained(0x3000, 1));
}

BOOST_FIXTURE_TEST_CASE(an_access_that_leaves_while_it_waits_lets_others_in, fixture) {
    BOOST_REQUIRE_EQUAL(pause(0x1000, 0x1000), TLA_OK);
    tla_passage &first = access(0xff0, 32, TLA_WRITE), &behind = access(0xff0, 8);
    BOOST_CHECK(!enters(first));
    BOOST_CHECK(!enters(behind));
    tla_pauses_leave(pauses, &first);
    BOOST_CHECK(tla_pauses_next(pauses) == &behind);
    BOOST_CHECK_EQUAL(tla_pauses_waiting(pauses), 0u);
}

BOOST_FIXTURE_TEST_CASE(ranges_are_paused_and_resumed_all_or_none, fixture) {
    BOOST_REQUIRE_EQUAL(pause(0x1000, 0x1000), TLA_OK);
    const auto begin = [&](std::vector<tla_map_entry> ranges) {
        tla_error error{};
        const tla_status status = tla_pauses_begin(pauses, ranges.data(), ranges.size(), &error);
        return std::to_string(status == TLA_OVERLAP) + (status == TLA_INVALID_ARGUMENT ? "!" : "") + " " + error.text;
    };
    BOOST_CHECK_EQUAL(begin({{{0x4000}, {0}, 16, 0, 0}, {{0x1fff}, {0}, 16, 0, 0}}),
                      "1 range 1: part of [0x1fff, 0x200e] is paused already");
    BOOST_CHECK_EQUAL(begin({{{0x4000}, {0}, 16, 0, 0}, {{0x400f}, {0}, 1, 0, 0}}),
                      "1 range 1: part of [0x400f, 0x400f] is paused already");
    BOOST_CHECK_EQUAL(begin({{{0x4000}, {0}, 0, 0, 0}}), "0! range 0: has 0 bytes, or passes 2^64");
    BOOST_CHECK_EQUAL(begin({{{UINT64_MAX}, {0}, 2, 0, 0}}), "0! range 0: has 0 bytes, or passes 2^64");
    BOOST_CHECK(enters(access(0x4000, 16)));
    tla_error error{};
    const tla_map_entry ends[] = {{{0x1000}, {0}, 0x1000, 0, 0}, {{0x4000}, {0}, 16, 0, 0}};
    BOOST_CHECK_EQUAL(tla_pauses_end(pauses, ends, 2, &error), TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(error.text, "range 1: 0x4000 is not paused with 16 bytes");
    BOOST_CHECK_EQUAL(resume(0x1000, 0x800), TLA_NOT_FOUND); // not that range
    BOOST_CHECK(!enters(access(0x1000, 1)));
    BOOST_CHECK_EQUAL(resume(0x1000, 0x1000), TLA_OK);
    BOOST_CHECK_EQUAL(resume(0x1000, 0x1000), TLA_NOT_FOUND);
}

// Bytes as bits of a word, and everything looked at anew after every step.
BOOST_AUTO_TEST_CASE(random_accesses_and_pauses_agree_with_a_naive_model) {
    struct plain_access {
        uint64_t bits;
        bool writes, waits;
        tla_passage *passage;
    };
    std::mt19937_64 random{38};
    std::size_t waited = 0, drained_late = 0;
    for (unsigned round = 0; round < 200; round++) {
        fixture f;
        std::vector<plain_access> order;
        std::vector<std::pair<uint64_t, uint64_t>> paused; // va, nbytes
        const auto bits = [](uint64_t va, uint64_t nbytes) { return ((uint64_t{1} << nbytes) - 1) << va; };
        const auto paused_bits = [&] {
            uint64_t all = 0;
            for (const auto &[va, nbytes] : paused)
                all |= bits(va, nbytes);
            return all;
        };
        const auto has_to_wait = [&](std::size_t i) {
            bool waits = order[i].bits & paused_bits();
            for (std::size_t k = 0; k < i; k++)
                waits |= order[k].waits && (order[k].bits & order[i].bits) && (order[k].writes || order[i].writes);
            return waits;
        };
        const auto let_in = [&] {
            for (std::size_t i = 0; i < order.size(); i++) {
                if (!order[i].waits || has_to_wait(i)) continue;
                order[i].waits = false;
                BOOST_REQUIRE(tla_pauses_next(f.pauses) == order[i].passage);
            }
            BOOST_REQUIRE(tla_pauses_next(f.pauses) == nullptr);
        };
        for (unsigned step = 0; step < 100; step++) {
            const uint64_t va = random() % 48, nbytes = 1 + random() % 12;
            switch (random() % 5) {
            case 0:
            case 1: {
                const bool writes = random() % 2;
                tla_passage &one = f.access(va, nbytes, writes ? TLA_WRITE : TLA_READ);
                order.push_back({bits(va, nbytes), writes, false, &one});
                order.back().waits = has_to_wait(order.size() - 1);
                waited += order.back().waits;
                BOOST_REQUIRE_EQUAL(f.enters(one), !order.back().waits);
                break;
            }
            case 2:
                if (!order.empty()) {
                    const std::size_t i = random() % order.size();
                    tla_pauses_leave(f.pauses, order[i].passage);
                    order.erase(order.begin() + static_cast<std::ptrdiff_t>(i));
                    let_in();
                }
                break;
            case 3: {
                const bool overlaps = paused_bits() & bits(va, nbytes);
                BOOST_REQUIRE_EQUAL(f.pause(va, nbytes), overlaps ? TLA_OVERLAP : TLA_OK);
                if (!overlaps) paused.emplace_back(va, nbytes);
                break;
            }
            case 4:
                if (!paused.empty()) {
                    const std::size_t i = random() % paused.size();
                    BOOST_REQUIRE_EQUAL(f.resume(paused[i].first, paused[i].second), TLA_OK);
                    paused.erase(paused.begin() + static_cast<std::ptrdiff_t>(i));
                    let_in();
                }
                break;
            }
            for (const auto &[first, length] : paused) {
                bool drained = true;
                for (const plain_access &one : order)
                    drained &= one.waits || !(one.bits & bits(first, length));
                BOOST_REQUIRE_EQUAL(f.drained(first, length), drained);
                drained_late += !drained;
            }
        }
    }
    BOOST_CHECK_GT(waited, 1000u);
    BOOST_CHECK_GT(drained_late, 1000u);
}
