// Address decoding beside a search through all windows.
#include "tlmalloc/memory/address_windows.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>
#include <vector>

BOOST_AUTO_TEST_CASE(a_window_holds_what_lies_in_it_to_the_last_byte) {
    std::vector<tla_address_window> w = {{0x4000, 0x1000, 1, false}, {0x1000, 0x1000, 0, true}, {0x2000, 1, 2, false}};
    BOOST_REQUIRE_EQUAL(tla_address_windows_sort(w.data(), w.size(), 3), TLA_OK);
    const auto target = [&](std::uint64_t address, std::uint64_t nbytes) {
        const tla_address_window *found = tla_address_windows_find(w.data(), w.size(), address, nbytes);
        return found ? static_cast<int>(found->target) : -1;
    };
    BOOST_CHECK_EQUAL(target(0xfff, 1), -1);
    BOOST_CHECK_EQUAL(target(0x1000, 0x1000), 0);
    BOOST_CHECK_EQUAL(target(0x1fff, 1), 0);
    BOOST_CHECK_EQUAL(target(0x1fff, 2), -1); // ends in the next one
    BOOST_CHECK_EQUAL(target(0x2000, 1), 2);
    BOOST_CHECK_EQUAL(target(0x2001, 1), -1);
    BOOST_CHECK_EQUAL(target(0x4000, 0x1001), -1);
    BOOST_CHECK_EQUAL(target(0x4fff, UINT64_MAX), -1);
    BOOST_CHECK_EQUAL(target(UINT64_MAX, 1), -1);
    BOOST_CHECK(tla_address_windows_find(nullptr, 0, 0, 1) == nullptr);
}

BOOST_AUTO_TEST_CASE(windows_that_overlap_have_no_target_or_pass_the_end_are_rejected) {
    const auto sorted = [](std::vector<tla_address_window> w) {
        return tla_address_windows_sort(w.data(), w.size(), 2);
    };
    BOOST_CHECK_EQUAL(sorted({}), TLA_OK);
    BOOST_CHECK_EQUAL(sorted({{0, UINT64_MAX, 0, true}, {UINT64_MAX, 1, 1, true}}), TLA_OK);
    BOOST_CHECK_EQUAL(sorted({{16, 16, 0, true}, {0, 17, 1, true}}), TLA_OVERLAP);
    BOOST_CHECK_EQUAL(sorted({{16, 16, 0, true}, {16, 16, 1, true}}), TLA_OVERLAP);
    BOOST_CHECK_EQUAL(sorted({{0, 16, 2, true}}), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(sorted({{UINT64_MAX, 2, 0, true}}), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(random_windows_are_found_as_a_search_through_all_finds_them) {
    const unsigned seed = 11;
    std::mt19937_64 random(seed);
    for (std::size_t round = 0; round < 100; round++) {
        std::vector<tla_address_window> w;
        for (std::uint64_t at = random() % 50; w.size() < 1 + round % 17; at += w.back().size + random() % 3 * 7)
            w.push_back({at, 1 + random() % 40, static_cast<std::uint32_t>(w.size()), random() % 2 == 0});
        std::vector<tla_address_window> mixed = w;
        std::shuffle(mixed.begin(), mixed.end(), random);
        BOOST_REQUIRE_EQUAL(tla_address_windows_sort(mixed.data(), mixed.size(), 17), TLA_OK);
        for (std::uint64_t address = 0; address < 1000; address++) {
            const std::uint64_t nbytes = 1 + random() % 12;
            const tla_address_window *expected = nullptr;
            for (const tla_address_window &one : w)
                if (address >= one.base && address + nbytes <= one.base + one.size) expected = &one;
            const tla_address_window *found = tla_address_windows_find(mixed.data(), mixed.size(), address, nbytes);
            BOOST_REQUIRE_EQUAL(found != nullptr, expected != nullptr);
            if (found) BOOST_REQUIRE_EQUAL(found->target, expected->target);
        }
    }
}
