// The index of free blocks by size, against std::set.
#include "seeded_random.hpp"

#include "model/arena/size_index.h"

#include <set>
#include <utility>

BOOST_AUTO_TEST_CASE(the_size_index_is_an_ordered_set) {
    seeded_random random(39);
    tla_size_index index;
    BOOST_REQUIRE_EQUAL(tla_size_index_init(&index), TLA_OK);
    std::set<std::pair<std::uint64_t, std::uint64_t>> expected;
    bool growing = true;
    for (int step = 0; step < 300000; step++) {
        if (random.one_in(20000)) growing = !growing;
        std::pair<std::uint64_t, std::uint64_t> key{
            random.one_in(3) ? random.between(1, 1000) : random.between(960, 975), random.between(0, 3000)};
        tla_block block{key.second, key.first};
        tla_size_path at;
        auto next = expected.lower_bound(key);
        BOOST_REQUIRE_EQUAL(tla_size_index_at_least(&index, block, &at), next != expected.end());
        if (next != expected.end()) {
            tla_block found = tla_size_index_block(&at);
            BOOST_REQUIRE_EQUAL(found.nbytes, next->first);
            BOOST_REQUIRE_EQUAL(found.offset, next->second);
        }
        if (random.between(1, 100) <= (growing ? 70u : 30u)) {
            if (!expected.insert(key).second) continue;
            BOOST_REQUIRE_EQUAL(tla_size_index_make_room(&index, 1), TLA_OK);
            tla_size_index_insert(&index, block);
        } else if (next != expected.end()) {
            tla_size_index_remove_at(&index, &at);
            expected.erase(next);
        }
        BOOST_REQUIRE_EQUAL(index.count, expected.size());
    }
    BOOST_CHECK_LT(index.nodes, 300 + expected.size()); // nodes go when blocks go
    while (!expected.empty()) {
        tla_size_index_remove(&index, {expected.begin()->second, expected.begin()->first});
        expected.erase(expected.begin());
    }
    BOOST_CHECK_EQUAL(index.nodes, 0u);
    tla_size_index_release(&index);
}

BOOST_AUTO_TEST_CASE(room_that_was_made_is_enough_for_that_many_inserts) {
    for (std::uint64_t n : {1u, 100u, 5000u}) {
        tla_size_index index;
        BOOST_REQUIRE_EQUAL(tla_size_index_init(&index), TLA_OK);
        for (std::uint64_t round = 0; round < 5; round++) {
            BOOST_REQUIRE_EQUAL(tla_size_index_make_room(&index, n), TLA_OK);
            for (std::uint64_t i = 0; i < n; i++) { // takes from the spares only
                BOOST_REQUIRE_GT(index.spares, 0u);
                tla_size_index_insert(&index, {i * 7919 % n * 8 + round, 1 + i % 3 + round * (i % 1000)});
            }
        }
        tla_size_index_release(&index);
    }
}
