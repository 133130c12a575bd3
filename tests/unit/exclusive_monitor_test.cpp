// Exclusive accesses: reservations against an array with an entry for each byte, and the promise of LR and SC.
#include "model/memory/exclusive_monitor.h"
#include "seeded_random.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <set>

namespace {

struct monitor : tla_exclusive_monitor {
    monitor() : tla_exclusive_monitor{} {}
    ~monitor() { tla_exclusive_monitor_clear(this); }
};

} // namespace

BOOST_AUTO_TEST_CASE(only_one_of_two_masters_that_reserve_the_same_bytes_can_write) {
    monitor m;
    BOOST_CHECK(!tla_exclusive_monitor_holds(&m, 1, 0, 7));
    BOOST_REQUIRE_EQUAL(tla_exclusive_monitor_reserve(&m, 1, 0, 7), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_exclusive_monitor_reserve(&m, 2, 0, 7), TLA_OK);
    BOOST_CHECK(tla_exclusive_monitor_holds(&m, 1, 0, 7) && tla_exclusive_monitor_holds(&m, 2, 0, 7));
    tla_exclusive_monitor_break(&m, 7, 7); // 2 writes, if only a part
    BOOST_CHECK(!tla_exclusive_monitor_holds(&m, 1, 0, 7) && !tla_exclusive_monitor_holds(&m, 2, 0, 7));
}

BOOST_AUTO_TEST_CASE(bytes_around_a_reservation_are_free) {
    monitor m;
    uint64_t first = 0, last = UINT64_MAX;
    BOOST_CHECK(tla_exclusive_monitor_cut(&m, 50, &first, &last));
    BOOST_CHECK(first == 0 && last == UINT64_MAX);
    tla_exclusive_monitor_reserve(&m, 1, 0, 7);
    tla_exclusive_monitor_reserve(&m, 2, UINT64_MAX - 7, UINT64_MAX);
    BOOST_CHECK(tla_exclusive_monitor_cut(&m, 50, &first, &last));
    BOOST_CHECK(first == 8 && last == UINT64_MAX - 8);
    BOOST_CHECK(!tla_exclusive_monitor_cut(&m, UINT64_MAX, &first, &last));
    BOOST_CHECK(first == UINT64_MAX - 7 && last == UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(random_accesses_do_what_a_set_of_bytes_for_each_initiator_does) {
    seeded_random random(5);
    monitor m;
    std::map<uint64_t, std::set<uint64_t>> reserved;
    for (int i = 0; i < 20'000; i++) {
        const uint64_t who = random.between(0, 20), first = random.between(0, 63),
                       last = std::min<uint64_t>(63, first + random.between(0, 7));
        const auto overlaps = [&](const std::set<uint64_t> &bytes) {
            const auto found = bytes.lower_bound(first);
            return found != bytes.end() && *found <= last;
        };
        switch (random.between(0, 4)) {
        case 0:
        case 1:
            BOOST_REQUIRE_EQUAL(tla_exclusive_monitor_reserve(&m, who, first, last), TLA_OK);
            reserved[who].clear();
            for (uint64_t byte = first; byte <= last; byte++)
                reserved[who].insert(byte);
            break;
        case 2:
            tla_exclusive_monitor_break(&m, first, last);
            for (auto &[other, bytes] : reserved)
                if (overlaps(bytes)) bytes.clear();
            break;
        case 3:
            tla_exclusive_monitor_release(&m, who);
            reserved[who].clear();
            break;
        default: {
            uint64_t low = 0, high = 63;
            const bool is_free = tla_exclusive_monitor_cut(&m, first, &low, &high);
            std::set<uint64_t> all;
            for (const auto &[other, bytes] : reserved)
                all.insert(bytes.begin(), bytes.end());
            BOOST_REQUIRE_EQUAL(is_free, all.count(first) == 0);
            if (!is_free) break;
            uint64_t from = first, to = first;
            while (from > 0 && !all.count(from - 1))
                from--;
            while (to < 63 && !all.count(to + 1))
                to++;
            BOOST_REQUIRE(low == from && high == to);
        }
        }
        bool expected = reserved[who].size() > 0;
        for (uint64_t byte = first; byte <= last; byte++)
            expected = expected && reserved[who].count(byte);
        BOOST_REQUIRE_EQUAL(tla_exclusive_monitor_holds(&m, who, first, last), expected);
    }
}
