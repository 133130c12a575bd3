// What an access sees before a change of its mapping is visible.
#include "model/vm/map_window.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <random>

namespace {

struct fixture {
    tla_page_table *table = nullptr;
    tla_map_window *window = nullptr;

    fixture() {
        tla_page_table_config config{};
        config.page_size = 4096;
        config.allow_remap = true;
        config.asids = 2;
        BOOST_REQUIRE_EQUAL(tla_page_table_create(&config, &table), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_map_window_create(&window), TLA_OK);
    }
    ~fixture() {
        tla_page_table_destroy(table);
        tla_map_window_destroy(window);
    }

    // A change as a module makes it: keep, change, commit.
    void map(uint64_t va, uint64_t pa, uint64_t nbytes, uint64_t visible_ps, uint32_t asid = 0) {
        BOOST_REQUIRE_EQUAL(tla_map_window_keep(window, table, asid, {va}, nbytes), TLA_OK);
        const tla_map_entry entry{{va}, {pa}, nbytes, TLA_READ | TLA_WRITE, asid};
        BOOST_REQUIRE_EQUAL(tla_page_table_map(table, &entry, 1, nullptr, nullptr), TLA_OK);
        tla_map_window_commit(window, visible_ps);
    }
    void unmap(uint64_t va, uint64_t nbytes, uint64_t visible_ps) {
        BOOST_REQUIRE_EQUAL(tla_map_window_keep(window, table, 0, {va}, nbytes), TLA_OK);
        const tla_map_entry range{{va}, {0}, nbytes, 0, 0};
        BOOST_REQUIRE_EQUAL(tla_page_table_unmap(table, &range, 1, nullptr, nullptr), TLA_OK);
        tla_map_window_commit(window, visible_ps);
    }
    // Where an access of one byte goes at a time; -1: unmapped.
    int64_t sees(uint64_t va, uint64_t at_ps) const {
        tla_status status = TLA_OK;
        tla_translation t{};
        if (!tla_map_window_find(window, 0, {va}, 1, TLA_READ, at_ps, &status, &t))
            status = tla_page_table_translate(table, {va}, 1, TLA_READ, &t, nullptr);
        return status ? -1 : static_cast<int64_t>(t.pa.value);
    }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_new_mapping_is_not_there_before_it_is_visible, fixture) {
    map(0x10000, 0x5000, 0x1000, 700);
    BOOST_CHECK_EQUAL(sees(0x10000, 699), -1);
    BOOST_CHECK_EQUAL(sees(0x10000, 700), 0x5000);
}

BOOST_FIXTURE_TEST_CASE(a_remapped_range_leads_to_the_old_bytes_until_it_is_visible, fixture) {
    map(0x10000, 0x5000, 0x2000, 100);
    map(0x11000, 0x9000, 0x1000, 500);
    BOOST_CHECK_EQUAL(sees(0x11004, 300), 0x6004);
    BOOST_CHECK_EQUAL(sees(0x11004, 500), 0x9004);
    BOOST_CHECK_EQUAL(sees(0x10004, 300), 0x5004);
}

BOOST_FIXTURE_TEST_CASE(an_unmapped_range_is_still_there_until_it_is_visible, fixture) {
    map(0x10000, 0x5000, 0x1000, 100);
    unmap(0x10000, 0x1000, 900);
    BOOST_CHECK_EQUAL(sees(0x10FFF, 899), 0x5FFF);
    BOOST_CHECK_EQUAL(sees(0x10FFF, 900), -1);
}

BOOST_FIXTURE_TEST_CASE(two_changes_in_flight_are_seen_one_after_the_other, fixture) {
    map(0x10000, 0x1000, 0x1000, 100);
    map(0x10000, 0x2000, 0x1000, 200);
    map(0x10000, 0x3000, 0x1000, 300);
    BOOST_CHECK_EQUAL(sees(0x10000, 99), -1);
    BOOST_CHECK_EQUAL(sees(0x10000, 150), 0x1000);
    BOOST_CHECK_EQUAL(sees(0x10000, 299), 0x2000);
    BOOST_CHECK_EQUAL(sees(0x10000, 300), 0x3000);
}

BOOST_FIXTURE_TEST_CASE(a_change_that_failed_leaves_no_trace, fixture) {
    map(0x10000, 0x5000, 0x1000, 0);
    BOOST_REQUIRE_EQUAL(tla_map_window_keep(window, table, 0, {0x10000}, 0x1000), TLA_OK);
    tla_map_window_drop(window);
    tla_map_window_commit(window, 1000);
    BOOST_CHECK_EQUAL(sees(0x10000, 500), 0x5000);
}

BOOST_FIXTURE_TEST_CASE(address_spaces_do_not_see_each_others_changes, fixture) {
    map(0x10000, 0x5000, 0x1000, 0);
    map(0x10000, 0x8000, 0x1000, 900, 1);
    BOOST_CHECK_EQUAL(sees(0x10000, 500), 0x5000);
}

BOOST_FIXTURE_TEST_CASE(an_answer_ends_where_another_change_begins, fixture) {
    map(0x10000, 0x5000, 0x3000, 0);
    map(0x11000, 0x9000, 0x1000, 900);
    tla_status status = TLA_OK;
    tla_translation t{};
    BOOST_CHECK(!tla_map_window_find(window, 0, {0x10000}, 0x3000, TLA_READ, 500, &status, &t));
    BOOST_CHECK_EQUAL(t.nbytes, 0x1000u);
    BOOST_CHECK(tla_map_window_find(window, 0, {0x11800}, 0x3000, TLA_READ, 500, &status, &t));
    BOOST_CHECK_EQUAL(t.nbytes, 0x800u);
    BOOST_CHECK_EQUAL(t.pa.value, 0x6800u);
}

BOOST_FIXTURE_TEST_CASE(every_byte_is_seen_as_it_was_at_every_time, fixture) {
    const unsigned seed = std::random_device{}();
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    const uint64_t base = 0x10000, bytes = 64; // a small space, so that changes overlap
    std::vector<std::vector<int64_t>> history; // what each byte maps to after each step; -1 nothing
    std::vector<uint64_t> visible;
    std::vector<int64_t> now(bytes, -1);
    for (unsigned step = 0; step < 400; step++) {
        const uint64_t first = random() % bytes, count = 1 + random() % (bytes - first), at = 100 * (step + 1);
        bool whole = true;
        for (uint64_t i = first; i < first + count; i++)
            whole = whole && now[i] >= 0;
        if (whole && random() % 3 == 0) {
            unmap(base + first, count, at);
            for (uint64_t i = first; i < first + count; i++)
                now[i] = -1;
        } else {
            const uint64_t pa = random() % 0x100000;
            map(base + first, pa, count, at);
            for (uint64_t i = first; i < first + count; i++)
                now[i] = static_cast<int64_t>(pa + i - first);
        }
        history.push_back(now);
        visible.push_back(at);
        const uint64_t keep_from = at > 2000 ? at - 2000 : 0;
        tla_map_window_advance(window, keep_from);
        for (unsigned look = 0; look < 20; look++) {
            const uint64_t time = keep_from + random() % 2200, byte = random() % bytes;
            int64_t expected = -1;
            for (size_t s = 0; s < visible.size() && visible[s] <= time; s++)
                expected = history[s][byte];
            BOOST_REQUIRE_MESSAGE(sees(base + byte, time) == expected,
                                  "seed " << seed << " step " << step << " byte " << byte << " at " << time
                                          << ": found " << sees(base + byte, time) << ", expected " << expected);
        }
    }
}
