// A memory in two parts, and the pace of pins: LMCache's golden cases, and the rules in exact or naive form.
#include "golden_cases.hpp"
#include "seeded_random.hpp"
#include "tlmalloc/cache/partition.h"

#include <cmath>

namespace {

using interval = std::pair<std::uint64_t, std::uint64_t>;

// The first time from `now` on outside all intervals.
std::uint64_t idle_from(std::uint64_t now, const std::vector<interval> &busy) {
    for (bool moved = true; moved;) {
        moved = false;
        for (const auto &[begin, end] : busy)
            if (now >= begin && now < end) now = end, moved = true;
    }
    return now;
}

std::vector<std::uint64_t> starts(std::size_t chunks, std::uint64_t pin, std::uint64_t wait,
                                  const std::vector<interval> &busy) {
    std::vector<std::uint64_t> found;
    for (std::uint64_t ready = 0; found.size() < chunks; ready = found.back() + pin)
        found.push_back(tla_pacer_start(ready, idle_from(ready, busy), wait));
    return found;
}

std::vector<std::uint64_t> numbers(const golden::value &list) {
    std::vector<std::uint64_t> found;
    for (const golden::value &item : list.items())
        found.push_back(item.number());
    return found;
}

void check(const std::vector<std::uint64_t> &found, const std::vector<std::uint64_t> &expected) {
    BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());
}

} // namespace

BOOST_AUTO_TEST_CASE(partitions_are_lmcaches_in_all_golden_cases) {
    if (!shared_data_is_here("data/allocators")) return;
    golden::file file("data/allocators/lmcache_partition.json");
    for (const golden::value &c : file.cases()) {
        const std::vector<golden::value> in = c["in"].items();
        const auto nbytes = static_cast<std::uint64_t>(std::strtod(in[0].text().c_str(), nullptr) * (1 << 30));
        const auto permille =
            static_cast<std::uint32_t>(std::lround(1000 * std::strtod(in[1].text().c_str(), nullptr)));
        tla_partition found{};
        const tla_partition_config config{nbytes, permille, in[2].number(), in[3].number(), in[4].number()};
        const tla_status status = tla_partition_of(&config, &found);
        BOOST_CHECK_EQUAL(status == TLA_EXHAUSTED, c["expect"].is_text());
        if (!status) check({found.l1, found.l2, found.least}, numbers(c["expect"]));
    }
}

BOOST_AUTO_TEST_CASE(pins_are_paced_as_in_all_golden_cases) {
    if (!shared_data_is_here("data/allocators")) return;
    golden::file file("data/allocators/lmcache_pin_pacer.json");
    for (const golden::value &c : file.cases()) {
        std::vector<interval> busy;
        for (const golden::value &item : c["busy"].items())
            busy.emplace_back(item.items()[0].number(), item.items()[1].number());
        check(starts(c["chunks"].number(), c["pin"].number(), c["wait"].number(), busy), numbers(c["expect"]));
    }
}

BOOST_AUTO_TEST_CASE(staging_needs_a_least_part) { // by hand
    tla_partition found{};
    const std::uint64_t MiB = 1 << 20, GiB = 1 << 30;
    tla_partition_config config{16 * GiB, 250, 5 * MiB, 8, 1};
    BOOST_REQUIRE_EQUAL(tla_partition_of(&config, &found), TLA_OK);
    check({found.l1, found.l2, found.least}, {4 * GiB, 12 * GiB, 110100480});
    config = {1000, 500, 100, 1, 2}; // 250 + 200 bytes
    BOOST_REQUIRE_EQUAL(tla_partition_of(&config, &found), TLA_OK);
    BOOST_CHECK_EQUAL(found.least, 450u);
    config.chunk = 111; // 277.5 rounded down, and 222
    BOOST_REQUIRE_EQUAL(tla_partition_of(&config, &found), TLA_OK);
    BOOST_CHECK_EQUAL(found.least, 499u);
    config.chunk = 112;
    BOOST_CHECK_EQUAL(tla_partition_of(&config, &found), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(found.least, 499u);
    for (const tla_partition_config &large : std::vector<tla_partition_config>{{UINT64_MAX, 999, UINT64_MAX, 1, 0},
                                                                               {UINT64_MAX, 999, 4, 0, UINT64_MAX},
                                                                               {UINT64_MAX, 999, 1, UINT64_MAX, 0},
                                                                               {UINT64_MAX, 999, 2, 1, UINT64_MAX / 2}})
        BOOST_CHECK_EQUAL(tla_partition_of(&large, &found), TLA_EXHAUSTED);
    for (const std::uint32_t permille : {0u, 1000u, 1001u}) {
        const tla_partition_config wrong{GiB, permille, 0, 8, 1};
        BOOST_CHECK_EQUAL(tla_partition_of(&wrong, &found), TLA_INVALID_ARGUMENT);
    }
}

// Numbers so small that halves and thousandths are exact in integers.
BOOST_AUTO_TEST_CASE(random_partitions_are_those_of_the_rule) {
    seeded_random random(240);
    unsigned refused = 0;
    for (int i = 0; i < 100000; i++) {
        const tla_partition_config c{random.between(0, 1 << 20), static_cast<std::uint32_t>(random.between(1, 999)),
                                     random.between(0, 1 << 12), random.between(0, 40), random.between(0, 9)};
        const std::uint64_t l1 = c.nbytes * c.permille / 1000,
                            least = 5 * c.prefetches * c.chunk / 2 + c.writes * c.chunk;
        tla_partition found{};
        const tla_status status = tla_partition_of(&c, &found);
        BOOST_REQUIRE_EQUAL(status, l1 < least ? TLA_EXHAUSTED : TLA_OK);
        refused += status != TLA_OK;
        if (status) continue;
        BOOST_REQUIRE(found.l1 == l1 && found.l2 == c.nbytes - l1 && found.least == least);
    }
    BOOST_CHECK_GT(refused, 0u);
    BOOST_CHECK_LT(refused, 100000u);
}

BOOST_AUTO_TEST_CASE(pins_of_3_wait_4_at_most) { // by hand
    check(starts(6, 3, 4, {{0, 5}, {8, 9}, {20, 50}}), {4, 7, 10, 13, 16, 19});
    BOOST_CHECK_EQUAL(tla_pacer_start(7, UINT64_MAX, 5), 12u);
    BOOST_CHECK_EQUAL(tla_pacer_start(7, 7, 5), 7u);
    BOOST_CHECK_EQUAL(tla_pacer_start(7, 11, 5), 11u);
    BOOST_CHECK_EQUAL(tla_pacer_start(7, 12, 5), 12u);
}

// A pacer that looks at every tick.
BOOST_AUTO_TEST_CASE(random_pins_start_when_a_look_at_every_tick_would_start_them) {
    seeded_random random(241);
    for (int round = 0; round < 2000; round++) {
        std::vector<interval> busy;
        for (std::uint64_t n = random.between(0, 8), at = 0; n > 0; n--) {
            at += random.between(0, 20);
            busy.emplace_back(at, at + random.between(1, 15));
        }
        const std::uint64_t pin = random.between(1, 9), wait = random.between(0, 20);
        std::vector<std::uint64_t> expected;
        for (std::uint64_t ready = 0; expected.size() < 20; ready = expected.back() + pin) {
            std::uint64_t now = ready;
            const auto in_flight = [&] {
                for (const auto &[begin, end] : busy)
                    if (now >= begin && now < end) return true;
                return false;
            };
            while (in_flight() && now - ready < wait)
                now++;
            expected.push_back(now);
        }
        check(starts(20, pin, wait, busy), expected);
    }
}

BOOST_AUTO_TEST_CASE(a_border_moves_between_the_least_size_and_all_but_a_byte) {
    tla_partition parts{400, 600, 100};
    for (const std::uint64_t l1 : {0u, 1000u, 1001u})
        BOOST_CHECK_EQUAL(tla_partition_move(&parts, l1), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_partition_move(&parts, 99), TLA_EXHAUSTED);
    check({parts.l1, parts.l2, parts.least}, {400, 600, 100});
    for (const std::uint64_t l1 : {100u, 999u}) {
        BOOST_CHECK_EQUAL(tla_partition_move(&parts, l1), TLA_OK);
        check({parts.l1, parts.l2, parts.least}, {l1, 1000 - l1, 100});
    }
}

// Begins and ends come in any order; each question is answered by a look at all submissions.
BOOST_AUTO_TEST_CASE(submissions_are_in_flight_as_their_begins_and_ends_say) {
    seeded_random random(243);
    for (int round = 0; round < 300; round++) {
        tla_submissions submissions{};
        std::vector<interval> all; // end UINT64_MAX: not noted
        std::uint64_t least = 0;   // of times that are asked for
        for (int i = 0; i < 400; i++) {
            const std::uint64_t now = static_cast<std::uint64_t>(i) / 4;
            std::vector<std::size_t> open;
            for (std::size_t n = 0; n < all.size(); n++)
                if (all[n].second == UINT64_MAX) open.push_back(n);
            if (random.one_in(3)) {
                all.emplace_back(now + random.between(0, 9), UINT64_MAX);
                BOOST_REQUIRE_EQUAL(tla_submissions_begin(&submissions, all.back().first), TLA_OK);
            } else if (random.one_in(2) && !open.empty()) {
                interval &one = all[open[random.between(0, open.size() - 1)]];
                one.second = one.first + random.between(0, 12);
                tla_submissions_end(&submissions, one.second);
            } else if (random.one_in(8)) {
                least = std::max(least, now);
                tla_submissions_forget(&submissions, least);
            }
            const std::uint64_t from = least + random.between(0, 20);
            BOOST_REQUIRE_EQUAL(tla_submissions_idle(&submissions, from), idle_from(from, all));
            BOOST_REQUIRE_LE(submissions.count, submissions.room);
        }
        tla_submissions_clear(&submissions);
    }
}
