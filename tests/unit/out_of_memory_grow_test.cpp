// Arrays that grow: what stands in them stays, and a refusal changes nothing.
#include "host_memory/failing.hpp"
#include "model/base/grow.h"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <vector>

namespace {

// An array and its room, given back at the end.
struct grown {
    std::uint64_t *items = nullptr;
    std::size_t room = 0;

    ~grown() { std::free(items); }

    bool to(std::size_t need) { return tla_grow(&items, &room, need, sizeof *items); }
};

} // namespace

BOOST_AUTO_TEST_CASE(an_array_has_the_room_that_it_needs_and_keeps_its_elements) {
    grown array;
    for (std::size_t count = 0; count < 1000; count++) {
        BOOST_REQUIRE(array.to(count + 1));
        BOOST_REQUIRE(array.room > count);
        array.items[count] = count;
    }
    std::vector<std::uint64_t> expected(1000);
    std::iota(expected.begin(), expected.end(), 0);
    BOOST_TEST(std::vector<std::uint64_t>(array.items, array.items + 1000) == expected);
}

BOOST_AUTO_TEST_CASE(an_array_that_grows_by_one_doubles_so_that_few_elements_move) {
    grown array;
    int moves = 0;
    for (std::size_t count = 0; count < 100'000; count++) {
        const std::size_t before = array.room;
        BOOST_REQUIRE(array.to(count + 1));
        moves += array.room != before;
    }
    BOOST_TEST(moves < 20);
    BOOST_TEST(array.room < 2 * 100'000 + 4);
}

BOOST_AUTO_TEST_CASE(a_request_within_the_existing_room_changes_nothing) {
    grown array;
    BOOST_REQUIRE(array.to(10));
    const std::uint64_t *const items = array.items;
    const std::size_t room = array.room;
    BOOST_TEST(array.to(0));
    BOOST_TEST(array.to(room));
    BOOST_TEST(array.items == items);
    BOOST_TEST(array.room == room);
}

BOOST_AUTO_TEST_CASE(a_request_above_the_memory_of_any_host_fails_and_changes_nothing) {
    grown array;
    BOOST_REQUIRE(array.to(3));
    array.items[2] = 17;
    const std::uint64_t *const items = array.items;
    const std::size_t room = array.room;
    for (const std::size_t need : {SIZE_MAX, SIZE_MAX / sizeof *array.items, PTRDIFF_MAX / sizeof *array.items + 1})
        BOOST_TEST(!array.to(need));
    BOOST_TEST(array.items == items);
    BOOST_TEST(array.room == room);
    BOOST_TEST(array.items[2] == 17U);
}

BOOST_AUTO_TEST_CASE(without_host_memory_an_array_is_as_it_was) {
    grown array;
    BOOST_REQUIRE(array.to(3));
    array.items[2] = 17;
    const std::uint64_t *const items = array.items;
    const std::size_t room = array.room;
    host_memory::fail_from(0, false);
    const bool grew = array.to(room + 1);
    BOOST_REQUIRE(host_memory::stop() == 1U);
    BOOST_TEST(!grew);
    BOOST_TEST(array.items == items);
    BOOST_TEST(array.room == room);
    BOOST_TEST(array.items[2] == 17U);
    BOOST_TEST(array.to(room + 1));
    BOOST_TEST(array.items[2] == 17U);
}

BOOST_AUTO_TEST_CASE(an_array_of_which_only_the_count_is_known_has_room_for_one_more) {
    std::uint64_t *items = nullptr;
    for (std::size_t count = 0; count < 1000; count++) {
        BOOST_REQUIRE(tla_grow_by_one(&items, count, sizeof *items));
        items[count] = count; // a sanitizer sees it where there is no room
    }
    for (std::size_t i = 0; i < 1000; i++)
        BOOST_REQUIRE(items[i] == i);
    std::free(items);
}
