// Splitting accesses into requests: the shape holds, every byte is in one request, and none could be longer.
#include "model/base/request_split.h"

#include <boost/test/unit_test.hpp>
#include <random>
#include <vector>

namespace {

std::vector<tla_request> split(const tla_request_shape &shape, std::uint64_t address, std::uint64_t nbytes) {
    std::vector<tla_request> all;
    for (std::uint64_t done = 0; done < nbytes; done += all.back().wanted)
        all.push_back(tla_request_next(&shape, address + done, nbytes - done));
    return all;
}

// The longest length that the shape allows at an address, by trying all.
std::uint64_t longest(const tla_request_shape &shape, std::uint64_t address, std::uint64_t nbytes) {
    std::uint64_t best = 0;
    for (std::uint64_t n = shape.smallest; n <= nbytes && n <= shape.largest; n++) {
        if (n % shape.smallest || address % shape.smallest) continue;
        if (address / shape.largest != (address + n - 1) / shape.largest) continue;
        if (shape.powers_of_two && ((n & (n - 1)) || address % n)) continue;
        best = n;
    }
    return best;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_page_is_as_many_requests_as_its_size_says) {
    const std::vector<tla_request> all = split({64, 1, true}, 0x10000, 4096);
    BOOST_REQUIRE_EQUAL(all.size(), 64u);
    for (std::size_t i = 0; i < all.size(); i++) {
        BOOST_CHECK_EQUAL(all[i].address, 0x10000 + i * 64);
        BOOST_CHECK_EQUAL(all[i].length, 64u);
    }
}

BOOST_AUTO_TEST_CASE(an_odd_access_is_widened_to_whole_bursts) {
    const std::vector<tla_request> all = split({64, 32, true}, 30, 37); // bytes 30 to 66
    BOOST_REQUIRE_EQUAL(all.size(), 3u);
    BOOST_CHECK(all[0].address == 0 && all[0].length == 32 && all[0].lead == 30 && all[0].wanted == 2);
    BOOST_CHECK(all[1].address == 32 && all[1].length == 32 && all[1].lead == 0 && all[1].wanted == 32);
    BOOST_CHECK(all[2].address == 64 && all[2].length == 32 && all[2].lead == 0 && all[2].wanted == 3);
}

BOOST_AUTO_TEST_CASE(the_last_byte_of_all_is_in_a_request) {
    const std::vector<tla_request> all = split({64, 32, true}, UINT64_MAX - 40, 41);
    BOOST_REQUIRE_EQUAL(all.size(), 2u);
    BOOST_CHECK_EQUAL(all[1].address, UINT64_MAX - 31);
    BOOST_CHECK_EQUAL(all[1].wanted, 32u);
}

BOOST_AUTO_TEST_CASE(random_accesses_are_split_as_the_shape_says_and_no_more) {
    const unsigned seed = 6;
    std::mt19937 random(seed);
    for (int round = 0; round < 3000; round++) {
        const std::uint64_t large = random() % 8, small = random() % (large + 1);
        const tla_request_shape shape{std::uint64_t{1} << large, std::uint64_t{1} << small, random() % 2 == 0};
        const std::uint64_t address = random() % 1000, nbytes = 1 + random() % 600;
        std::uint64_t next = address;
        for (const tla_request &r : split(shape, address, nbytes)) {
            BOOST_TEST_INFO("seed " << seed << ", round " << round);
            BOOST_REQUIRE_EQUAL(r.address + r.lead, next); // bytes one after the other
            BOOST_REQUIRE(r.wanted > 0 && r.lead + r.wanted <= r.length);
            BOOST_REQUIRE(r.length >= shape.smallest && r.address % shape.smallest == 0);
            BOOST_REQUIRE(r.length % shape.smallest == 0);
            const std::uint64_t best = longest(shape, next, address + nbytes - next);
            BOOST_REQUIRE_EQUAL(r.length, best > 0 ? best : shape.smallest);
            BOOST_REQUIRE(best == 0 || r.wanted == best);
            next += r.wanted;
        }
        BOOST_REQUIRE_EQUAL(next, address + nbytes);
    }
}
