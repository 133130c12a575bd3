// The tree of the free list as a structure: what its nodes cost. Its answers are tested through the arena.
#include "model/arena/free_list.h"
#include "seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

struct list {
    list() { BOOST_REQUIRE_EQUAL(tla_free_list_init(&tree), TLA_OK); }
    ~list() { tla_free_list_release(&tree); }
    list(const list &) = delete;
    list &operator=(const list &) = delete;
    void put(uint64_t i) { // one byte, never beside another
        tla_free_join join;
        BOOST_REQUIRE_EQUAL(tla_free_list_put(&tree, {2 * i, 1}, &join), TLA_OK);
    }
    void take(uint64_t i) {
        tla_free_spot spot;
        uint64_t splits;
        BOOST_REQUIRE(tla_free_list_first_from(&tree, 2 * i, 1, &spot));
        BOOST_REQUIRE_EQUAL(tla_free_list_take(&tree, &spot, {2 * i, 1}, &splits), TLA_OK);
    }
    double bytes_per_block() const {
        return static_cast<double>(tla_free_list_host_bytes(&tree)) / static_cast<double>(tla_free_list_count(&tree));
    }
    tla_free_list tree{};
};

constexpr uint64_t many = 50000;
constexpr double limit = 48; // bytes of nodes a free block, issue 3

} // namespace

BOOST_AUTO_TEST_CASE(ascending_descending_and_random_lists_cost_less_than_48_bytes_a_block) {
    seeded_random random(81);
    std::vector<uint64_t> order(many);
    std::iota(order.begin(), order.end(), uint64_t{0});
    for (int kind = 0; kind < 3; kind++) {
        list l;
        if (kind == 1) std::reverse(order.begin(), order.end());
        if (kind == 2)
            for (uint64_t i = many - 1; i > 0; i--)
                std::swap(order[i], order[random.between(0, i)]);
        for (uint64_t i : order)
            l.put(i);
        BOOST_TEST_MESSAGE("order " << kind << ": " << l.bytes_per_block() << " bytes a block");
        BOOST_CHECK_LT(l.bytes_per_block(), limit);
    }
}

BOOST_AUTO_TEST_CASE(a_list_that_shrinks_gives_its_nodes_back) {
    seeded_random random(82);
    for (uint64_t keep_one_in : {2u, 7u, 33u}) {
        list l;
        std::vector<uint64_t> gone;
        for (uint64_t i = 0; i < many; i++) {
            l.put(i);
            if (i % keep_one_in) gone.push_back(i);
        }
        for (uint64_t i = gone.size() - 1; i > 0; i--)
            std::swap(gone[i], gone[random.between(0, i)]);
        for (uint64_t i : gone)
            l.take(i);
        BOOST_TEST_MESSAGE("one in " << keep_one_in << ": " << l.bytes_per_block() << " bytes a block");
        BOOST_CHECK_LT(l.bytes_per_block(), limit);
    }
}
