// Which data of a streaming access belong to a part of its span, beside counting byte by byte.
#include "model/base/passes.h"

#include <boost/test/unit_test.hpp>

#include <random>
#include <vector>

BOOST_AUTO_TEST_CASE(without_streaming_a_part_is_one_run) {
    const tla_passes part{100, 100, 30, 20};
    std::uint64_t index = 0, n = 0;
    BOOST_CHECK(tla_passes_run(&part, 0, &index, &n));
    BOOST_CHECK_EQUAL(index, 30u);
    BOOST_CHECK_EQUAL(n, 20u);
    BOOST_CHECK(!tla_passes_run(&part, 100, &index, &n));
    BOOST_CHECK_EQUAL(tla_passes_bytes(&part), 20u);
}

BOOST_AUTO_TEST_CASE(parts_of_random_accesses_have_the_bytes_whose_address_is_theirs) {
    const unsigned seed = 5;
    std::mt19937 random(seed);
    for (int round = 0; round < 3000; round++) {
        const std::uint64_t length = 1 + random() % 90, span = 1 + random() % length, offset = random() % span,
                            nbytes = 1 + random() % (span - offset);
        const tla_passes part{length, span, offset, nbytes};
        std::vector<std::uint8_t> whole(length), pattern(1 + random() % 7), expected, enables;
        for (auto *bytes : {&whole, &pattern})
            for (std::uint8_t &byte : *bytes)
                byte = static_cast<std::uint8_t>(random());
        for (std::uint64_t i = 0; i < length; i++)
            if (i % span >= offset && i % span < offset + nbytes) { // byte i goes to address i % span
                expected.push_back(whole[i]);
                enables.push_back(pattern[i % pattern.size()]);
            }
        BOOST_REQUIRE_EQUAL(tla_passes_bytes(&part), expected.size());
        std::vector<std::uint8_t> packed(expected.size()), back = whole;
        tla_passes_pack(&part, packed.data(), whole.data());
        BOOST_REQUIRE(packed == expected);
        tla_passes_pack_pattern(&part, packed.data(), pattern.data(), pattern.size());
        BOOST_REQUIRE(packed == enables);
        for (std::uint8_t &byte : expected)
            byte ^= 0xff;
        tla_passes_unpack(&part, expected.data(), back.data());
        for (std::uint64_t i = 0; i < length; i++) {
            const bool mine = i % span >= offset && i % span < offset + nbytes;
            BOOST_REQUIRE_EQUAL(back[i], mine ? whole[i] ^ 0xff : whole[i]);
        }
    }
}
