// What LMCache's test_address_manager.py asserts, on an arena with its alignment: its
// AddressManager. Its thread tests are mixed_pool_test.cpp's, as an arena has no lock.
#include "seeded_random.hpp"
#include "tlmalloc/arena/arena.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace {

constexpr std::uint64_t page = 4096;

struct address_manager {
    explicit address_manager(std::uint64_t nbytes, std::uint64_t alignment = page) {
        tla_arena_config config{};
        config.capacity = nbytes;
        config.policy = TLA_FIRST_FIT;
        config.alignment = alignment;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    }
    address_manager(const address_manager &) = delete;
    ~address_manager() { tla_arena_destroy(arena); }
    tla_status try_alloc(std::uint64_t nbytes, tla_block *block) {
        return tla_arena_alloc(arena, nbytes, block, nullptr);
    }
    tla_block alloc(std::uint64_t nbytes) {
        tla_block block{};
        BOOST_REQUIRE_EQUAL(try_alloc(nbytes, &block), TLA_OK);
        return block;
    }
    tla_status try_batch(std::uint64_t nbytes, std::size_t n, std::vector<tla_block> *blocks) {
        blocks->resize(n);
        return tla_arena_alloc_batch(arena, nbytes, n, TLA_BATCH_CARVED, blocks->data(), nullptr);
    }
    std::vector<tla_block> batch(std::uint64_t nbytes, std::size_t n) {
        std::vector<tla_block> blocks;
        BOOST_REQUIRE_EQUAL(try_batch(nbytes, n, &blocks), TLA_OK);
        return blocks;
    }
    void free(const tla_block &block) { BOOST_REQUIRE_EQUAL(tla_arena_free(arena, block, nullptr), TLA_OK); }
    void sbrk(std::uint64_t nbytes) { BOOST_REQUIRE_EQUAL(tla_arena_grow(arena, nbytes, nullptr), TLA_OK); }
    std::uint64_t free_bytes() { return tla_arena_get_stats(arena).free; }
    std::uint64_t used() { return tla_arena_get_stats(arena).used; }
    bool consistent() { return tla_arena_check(arena, nullptr) == TLA_OK; }
    tla_arena *arena = nullptr;
};

bool disjoint(std::vector<tla_block> blocks) {
    std::sort(blocks.begin(), blocks.end(), [](auto &a, auto &b) { return a.offset < b.offset; });
    for (std::size_t i = 1; i < blocks.size(); i++)
        if (blocks[i - 1].offset + blocks[i - 1].nbytes > blocks[i].offset) return false;
    return true;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_fresh_manager_has_everything_free) {
    address_manager m(1 << 20);
    BOOST_CHECK_EQUAL(m.used(), 0u);
    BOOST_CHECK_EQUAL(m.free_bytes(), 1u << 20);
    BOOST_CHECK(m.consistent());
}

BOOST_AUTO_TEST_CASE(sizes_are_rounded_up_to_the_alignment) {
    address_manager m(1 << 20), custom(1 << 20, 256);
    for (auto [nbytes, taken] :
         std::map<std::uint64_t, std::uint64_t>{{1, 4096}, {100, 4096}, {4095, 4096}, {4096, 4096}, {4097, 8192}})
        BOOST_CHECK_EQUAL(m.alloc(nbytes).nbytes, taken);
    BOOST_CHECK_EQUAL(custom.alloc(1).nbytes, 256u);
    BOOST_CHECK_EQUAL(custom.alloc(257).nbytes, 512u);
}

BOOST_AUTO_TEST_CASE(several_allocations_are_disjoint_and_their_sums_exact) {
    address_manager m(1 << 20);
    std::vector<tla_block> blocks{m.alloc(1000), m.alloc(2000), m.alloc(5000)};
    BOOST_CHECK_EQUAL(blocks[2].nbytes, 8192u);
    BOOST_CHECK(disjoint(blocks));
    BOOST_CHECK_EQUAL(m.used(), 16384u);
    BOOST_CHECK_EQUAL(m.free_bytes() + m.used(), 1u << 20);
}

BOOST_AUTO_TEST_CASE(no_memory_and_no_size_leave_the_state_as_it_was) {
    address_manager m(2 * page);
    tla_block block{};
    for (std::uint64_t nbytes : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0} - 4096}) // 0, -1, -4096
        BOOST_CHECK_EQUAL(m.try_alloc(nbytes, &block), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(m.try_alloc(3 * page, &block), TLA_EXHAUSTED);
    block = m.alloc(4096);
    BOOST_CHECK_EQUAL(block.offset, 0u);
    m.alloc(1);
    BOOST_CHECK_EQUAL(m.try_alloc(1, &block), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(m.used(), 2 * page);
    BOOST_CHECK(m.consistent());
}

BOOST_AUTO_TEST_CASE(a_request_for_zero_bytes_leaves_no_empty_block) { // an LMCache regression
    address_manager m(1 << 20);
    tla_block first = m.alloc(4096), none{};
    BOOST_CHECK_EQUAL(m.try_alloc(0, &none), TLA_INVALID_ARGUMENT);
    tla_block second = m.alloc(4096);
    m.free(first);
    m.free(second);
    tla_block whole = m.alloc(1 << 20);
    BOOST_CHECK_EQUAL(whole.offset, 0u);
    BOOST_CHECK_EQUAL(whole.nbytes, 1u << 20);
}

BOOST_AUTO_TEST_CASE(a_batch_of_one_is_an_allocation) {
    address_manager m(10 * page), twin(10 * page);
    BOOST_CHECK_EQUAL(m.batch(100, 1)[0].offset, twin.alloc(100).offset);
    BOOST_CHECK_EQUAL(m.used(), twin.used());
}

BOOST_AUTO_TEST_CASE(batches_take_exactly_what_they_need) {
    address_manager m(10 * page);
    std::vector<tla_block> five = m.batch(page, 5), others;
    BOOST_CHECK(disjoint(five));
    BOOST_CHECK_EQUAL(m.used(), 5 * page);
    BOOST_CHECK_EQUAL(m.try_batch(page, 6, &others), TLA_EXHAUSTED); // all or none
    BOOST_CHECK_EQUAL(m.try_batch(11 * page, 1, &others), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(m.used(), 5 * page);
    m.batch(page - 1, 5); // all memory, unaligned
    BOOST_CHECK_EQUAL(m.free_bytes(), 0u);
    for (const tla_block &block : five)
        m.free(block);
    m.batch(page, 5); // after free
    BOOST_CHECK_EQUAL(m.free_bytes(), 0u);
    BOOST_CHECK_EQUAL(m.try_batch(page, 0, &others), TLA_OK);
    BOOST_CHECK_EQUAL(m.try_batch(0, 1, &others), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(m.consistent());
}

BOOST_AUTO_TEST_CASE(a_batch_is_carved_from_a_fragmented_list) { // 6 pages, 0, 2 and 4 free
    address_manager m(6 * page);
    std::vector<tla_block> blocks = m.batch(page, 6);
    for (std::size_t i : {0u, 2u, 4u})
        m.free(blocks[i]);
    std::vector<tla_block> three = m.batch(page, 3);
    for (std::size_t i = 0; i < 3; i++)
        BOOST_CHECK_EQUAL(three[i].offset, 2 * i * page);
    BOOST_CHECK_EQUAL(m.free_bytes(), 0u);
    BOOST_CHECK(m.consistent());
}

BOOST_AUTO_TEST_CASE(five_of_ten_pages_are_carved_from_the_front) {
    address_manager m(10 * page);
    std::vector<tla_block> five = m.batch(page, 5);
    for (std::size_t i = 0; i < 5; i++)
        BOOST_CHECK_EQUAL(five[i].offset, i * page);
    BOOST_CHECK_EQUAL(m.alloc(page).offset, 5 * page); // mixed with a single one
    for (const tla_block &block : five)
        m.free(block);
    BOOST_CHECK_EQUAL(m.batch(page, 5)[0].offset, 0u); // free and batch again
}

BOOST_AUTO_TEST_CASE(freed_blocks_join_their_neighbours) {
    address_manager m(3 * page);
    std::vector<tla_block> b = m.batch(page, 3);
    m.free(b[1]);
    m.free(b[0]); // its successor is free
    BOOST_CHECK_EQUAL(m.alloc(2 * page).offset, 0u);
    m.free({0, 2 * page});
    m.free(b[2]); // its predecessor is free
    BOOST_CHECK_EQUAL(m.alloc(3 * page).offset, 0u);
    m.free({0, 3 * page});
    b = m.batch(page, 3);
    m.free(b[0]);
    m.free(b[2]);
    m.free(b[1]); // both
    BOOST_CHECK_EQUAL(m.alloc(12288).offset, 0u);
}

BOOST_AUTO_TEST_CASE(any_order_of_frees_is_consistent_after_each) {
    for (int order = 0; order < 20; order++) {
        address_manager m(16 * page);
        std::vector<tla_block> blocks = m.batch(page, 16);
        if (order == 0)
            std::reverse(blocks.begin(), blocks.end());
        else
            std::shuffle(blocks.begin(), blocks.end(), std::mt19937(static_cast<unsigned>(order)));
        for (const tla_block &block : blocks) {
            m.free(block);
            BOOST_REQUIRE(m.consistent());
            BOOST_REQUIRE_EQUAL(m.free_bytes() + m.used(), 16 * page);
        }
        BOOST_CHECK_EQUAL(m.alloc(16 * page).offset, 0u);
    }
}

BOOST_AUTO_TEST_CASE(sbrk_adds_memory_and_joins_the_free_end) {
    address_manager m(2 * page);
    tla_block block{}, a = m.alloc(page), b = m.alloc(page);
    m.sbrk(page);
    BOOST_CHECK_EQUAL(m.free_bytes(), page);
    BOOST_CHECK_EQUAL(m.try_alloc(3 * page, &block), TLA_EXHAUSTED);
    m.free(a);
    m.free(b); // fragmented by nothing: 2 freed + 1
    BOOST_CHECK_EQUAL(m.alloc(3 * page).offset, 0u);
    m.sbrk(5 * page);
    std::vector<tla_block> batch = m.batch(page, 5);
    BOOST_CHECK_EQUAL(batch[0].offset, 3 * page);
    BOOST_CHECK_EQUAL(m.free_bytes(), 0u);
    BOOST_CHECK(m.consistent());
}

BOOST_AUTO_TEST_CASE(a_manager_of_nothing_grows) {
    address_manager m(0);
    tla_block block{};
    BOOST_CHECK_EQUAL(m.try_alloc(1, &block), TLA_EXHAUSTED);
    m.sbrk(page);
    BOOST_CHECK_EQUAL(m.alloc(1).offset, 0u);
}

BOOST_AUTO_TEST_CASE(an_unaligned_heap_keeps_a_tail_that_is_never_taken) { // 10,000 bytes at alignment 256
    address_manager m(10000, 256);
    tla_block block{};
    for (int i = 0; i < 39; i++)
        m.alloc(256);
    BOOST_CHECK_EQUAL(m.free_bytes(), 16u);
    BOOST_CHECK_NE(m.try_alloc(1, &block), TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_hundred_single_bytes_fill_a_hundred_pages) {
    address_manager m(100 * page);
    for (std::uint64_t i = 0; i < 100; i++)
        BOOST_CHECK_EQUAL(m.alloc(1).offset, i * page);
    BOOST_CHECK_EQUAL(m.free_bytes(), 0u);
}

BOOST_AUTO_TEST_CASE(cycles_of_sizes_and_batches_end_as_they_began) {
    // 100 cycles of 3 of 5 pages; sizes 1, 2, 3, 5, 8, 13 pages; batches 1, 2, 5, 10, 3
    address_manager m(40 * page);
    for (int cycle = 0; cycle < 100; cycle++) {
        std::vector<tla_block> blocks = m.batch(page, 5);
        for (std::size_t i : {0u, 2u, 4u})
            m.free(blocks[i]);
        m.free(blocks[1]);
        m.free(blocks[3]);
        blocks.clear();
        for (std::uint64_t pages : std::initializer_list<std::uint64_t>{1, 2, 3, 5, 8, 13})
            blocks.push_back(m.alloc(pages * page));
        BOOST_REQUIRE(disjoint(blocks));
        for (const tla_block &block : blocks)
            m.free(block);
        blocks.clear();
        for (std::size_t n : std::initializer_list<std::size_t>{1, 2, 5, 10, 3})
            for (const tla_block &block : m.batch(page, n))
                blocks.push_back(block);
        BOOST_REQUIRE(disjoint(blocks));
        BOOST_REQUIRE_EQUAL(m.used(), 21 * page);
        for (const tla_block &block : blocks)
            m.free(block);
        BOOST_REQUIRE(m.consistent());
        BOOST_REQUIRE_EQUAL(m.free_bytes(), 40 * page);
    }
    BOOST_CHECK_EQUAL(m.alloc(40 * page).offset, 0u);
}
