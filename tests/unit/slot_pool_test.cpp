// The slot pool against seed 003 and what LMCache's tests assert.
#include "seeded_random.hpp"
#include "tlmalloc/cache/buffer_pools.h"

#include <atomic>
#include <deque>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t MiB = 1 << 20;

struct slot_pool {
    explicit slot_pool(const tla_slot_pool_config &config) {
        BOOST_REQUIRE_EQUAL(tla_slot_pool_create(&config, &p), TLA_OK);
    }
    slot_pool(const slot_pool &) = delete;
    ~slot_pool() { tla_slot_pool_destroy(p); }
    tla_slot alloc(std::uint64_t nbytes = 1) {
        tla_slot slot{};
        BOOST_REQUIRE_EQUAL(tla_slot_pool_alloc(p, nbytes, &slot, nullptr), TLA_OK);
        return slot;
    }
    void free(std::uint64_t index) { BOOST_REQUIRE_EQUAL(tla_slot_pool_free(p, index, nullptr), TLA_OK); }
    tla_slot_pool_stats stats() { return tla_slot_pool_get_stats(p); }
    bool memcheck(std::int64_t used) { // LMCache: len(free) * page + allocated == buffer
        return static_cast<std::int64_t>(stats().free_slots) + used == static_cast<std::int64_t>(stats().slots) &&
               stats().used_slots == used;
    }
    tla_slot_pool *p = nullptr;
};

tla_slot_pool_config pages(std::uint64_t count) {
    return {0, 4096 * count, 4096, false, false};
}

tla_slot_pool_config seed_era(std::uint64_t count) {
    return {0, 4096 * count, 4096, false, true};
}

} // namespace

BOOST_AUTO_TEST_CASE(one_a_batch_of_two_and_a_half_size_object) { // 2.9: 64 pages of [2,32,16,1024] bf16
    constexpr std::uint64_t page = 2ull * 32 * 16 * 1024 * 2;
    static_assert(page == 2 * MiB);
    slot_pool pool({0x10000000, 64 * page, page, false, false});
    tla_slot one = pool.alloc(page), half{}, two[2]{};
    BOOST_REQUIRE_EQUAL(tla_slot_pool_alloc_batch(pool.p, page, 2, two, nullptr), TLA_OK);
    half = pool.alloc(page / 2);
    BOOST_CHECK_EQUAL(one.address, 0x10000000u);
    BOOST_CHECK_EQUAL(two[1].index, 2u); // the address of an object is a page index there
    BOOST_CHECK_EQUAL(half.address, 0x10000000u + 3 * page);
    BOOST_CHECK_EQUAL(half.nbytes, page / 2);
    BOOST_CHECK(pool.memcheck(4));
    std::vector<tla_slot> many(65);
    BOOST_CHECK_EQUAL(tla_slot_pool_alloc_batch(pool.p, page, 65, many.data(), nullptr), TLA_EXHAUSTED);
    BOOST_CHECK(pool.memcheck(4));
    for (tla_slot slot : {one, two[0], two[1], half})
        pool.free(slot.index);
    BOOST_CHECK(pool.memcheck(0));
    BOOST_CHECK_EQUAL(tla_slot_pool_alloc_batch(pool.p, page, 64, many.data(), nullptr), TLA_OK);
    BOOST_CHECK(pool.memcheck(64));
}

BOOST_AUTO_TEST_CASE(slots_rotate_through_the_whole_buffer) { // first in, first out
    slot_pool pool(pages(4));
    for (std::uint64_t expected : std::initializer_list<std::uint64_t>{0, 1, 2, 3, 0, 1}) {
        tla_slot slot = pool.alloc();
        BOOST_CHECK_EQUAL(slot.index, expected);
        pool.free(slot.index);
    }
}

BOOST_AUTO_TEST_CASE(the_next_owner_has_the_whole_slot_again) {
    slot_pool pool(pages(1));
    tla_slot narrow = pool.alloc(100);
    BOOST_CHECK_EQUAL(narrow.nbytes, 100u);
    pool.free(narrow.index);
    BOOST_CHECK_EQUAL(pool.alloc(4096).nbytes, 4096u);
}

BOOST_AUTO_TEST_CASE(a_duplicate_free_is_ignored) { // G4, PR #5007
    slot_pool pool(pages(4));
    tla_slot slot = pool.alloc();
    pool.free(slot.index);
    pool.free(slot.index);
    BOOST_CHECK(pool.memcheck(0));
    BOOST_CHECK_EQUAL(pool.stats().duplicate_frees, 1u);
    std::set<std::uint64_t> distinct;
    for (int i = 0; i < 4; i++)
        distinct.insert(pool.alloc().index);
    BOOST_CHECK_EQUAL(distinct.size(), 4u);
}

BOOST_AUTO_TEST_CASE(a_duplicate_free_is_reported_when_asked_and_its_batch_changes_nothing) {
    slot_pool pool({0, 4096 * 4, 4096, true, false});
    tla_slot a = pool.alloc(), b = pool.alloc();
    std::vector<tla_slot> twice{a, b, a};
    BOOST_CHECK_EQUAL(tla_slot_pool_free_batch(pool.p, twice.data(), 3, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK(pool.memcheck(2));
    BOOST_CHECK_EQUAL(tla_slot_pool_free_batch(pool.p, twice.data(), 2, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_slot_pool_free(pool.p, a.index, nullptr), TLA_NOT_ALLOCATED);
    for (std::uint64_t expected : std::initializer_list<std::uint64_t>{2, 3, 0, 1})
        BOOST_CHECK_EQUAL(pool.alloc().index, expected);
}

BOOST_AUTO_TEST_CASE(in_the_seed_era_a_duplicate_free_makes_two_owners_of_one_slot) { // issue #5005
    slot_pool pool(seed_era(2));
    tla_slot a = pool.alloc();
    pool.free(a.index);
    pool.free(a.index);
    BOOST_CHECK(pool.memcheck(-1)); // the check of that generation sees nothing
    pool.alloc();
    BOOST_CHECK_EQUAL(pool.alloc().index, a.index);
    BOOST_CHECK_EQUAL(pool.alloc().index, a.index);
}

BOOST_AUTO_TEST_CASE(in_the_seed_era_the_queue_grows_with_the_duplicates) {
    slot_pool pool(seed_era(3));
    pool.alloc();
    for (int i = 0; i < 100; i++)
        pool.free(0);
    BOOST_CHECK_EQUAL(pool.stats().free_slots, 102u);
    for (std::uint64_t expected : std::initializer_list<std::uint64_t>{1, 2, 0, 0, 0})
        BOOST_CHECK_EQUAL(pool.alloc().index, expected);
}

BOOST_AUTO_TEST_CASE(a_batch_that_fails_changes_nothing) {
    for (const tla_slot_pool_config &config : {pages(3), seed_era(3)}) {
        slot_pool pool(config);
        std::vector<tla_slot> slots(4);
        tla_work work{};
        pool.alloc();
        BOOST_CHECK_EQUAL(tla_slot_pool_alloc_batch(pool.p, 1, 3, slots.data(), &work), TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(work.nodes_visited, 0u);
        BOOST_CHECK_EQUAL(pool.stats().free_slots, 2u);
        BOOST_CHECK_EQUAL(pool.alloc().index, 1u);
        BOOST_CHECK_EQUAL(pool.alloc().index, 2u);
        BOOST_CHECK_EQUAL(tla_slot_pool_alloc_batch(pool.p, 1, 0, nullptr, nullptr), TLA_OK);
    }
}

BOOST_AUTO_TEST_CASE(an_operation_costs_the_same_whatever_the_number_of_slots) {
    for (std::uint64_t count : std::initializer_list<std::uint64_t>{1, 100, 100000}) {
        slot_pool pool(pages(count));
        tla_work work{};
        tla_slot slot{};
        BOOST_REQUIRE_EQUAL(tla_slot_pool_alloc(pool.p, 1, &slot, &work), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_slot_pool_free(pool.p, slot.index, &work), TLA_OK);
        BOOST_CHECK_EQUAL(work.nodes_visited, 1u);
        BOOST_CHECK_EQUAL(work.metadata_lines, 4u);
    }
}

BOOST_AUTO_TEST_CASE(bad_arguments_have_their_own_status) {
    tla_slot_pool *none = nullptr;
    for (const tla_slot_pool_config &config :
         {tla_slot_pool_config{0, 4097, 4096, false, false}, tla_slot_pool_config{0, 4096, 0, false, false},
          tla_slot_pool_config{std::uint64_t{1} << 63, 4096, 4096, false, false},
          tla_slot_pool_config{0, 4096, 4096, true, true}}) {
        BOOST_CHECK_EQUAL(tla_slot_pool_create(&config, &none), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(none == nullptr);
    }
    slot_pool pool(pages(2));
    tla_slot slot{};
    BOOST_CHECK_EQUAL(tla_slot_pool_alloc(pool.p, 0, &slot, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_slot_pool_alloc(pool.p, 4097, &slot, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_slot_pool_free(pool.p, 2, nullptr), TLA_OUT_OF_RANGE);
    slot_pool empty(pages(0));
    BOOST_CHECK_EQUAL(tla_slot_pool_alloc(empty.p, 1, &slot, nullptr), TLA_EXHAUSTED);
}

BOOST_AUTO_TEST_CASE(random_sequences_match_a_naive_deque) {
    seeded_random random(31);
    slot_pool pool(pages(64));
    std::deque<std::uint64_t> queue;
    for (std::uint64_t i = 0; i < 64; i++)
        queue.push_back(i);
    std::vector<tla_slot> live;
    for (int i = 0; i < 200000; i++) {
        auto n = static_cast<std::size_t>(random.between(1, 9));
        if (random.one_in(2)) {
            std::vector<tla_slot> slots(n);
            bool fits = n <= queue.size();
            BOOST_REQUIRE_EQUAL(tla_slot_pool_alloc_batch(pool.p, 7, n, slots.data(), nullptr) == TLA_OK, fits);
            for (std::size_t k = 0; fits && k < n; k++) {
                BOOST_REQUIRE_EQUAL(slots[k].index, queue.front());
                queue.pop_front();
                live.push_back(slots[k]);
            }
        } else {
            std::vector<tla_slot> slots;
            while (slots.size() < n && !live.empty()) {
                std::swap(live[random.between(0, live.size() - 1)], live.back());
                slots.push_back(live.back());
                queue.push_back(live.back().index);
                live.pop_back();
            }
            if (!slots.empty() && random.one_in(4)) slots.push_back(slots.front()); // a duplicate, to be ignored
            BOOST_REQUIRE_EQUAL(tla_slot_pool_free_batch(pool.p, slots.data(), slots.size(), nullptr), TLA_OK);
        }
        BOOST_REQUIRE_EQUAL(pool.stats().free_slots, queue.size());
    }
}

BOOST_AUTO_TEST_CASE(eight_threads_share_it_without_overlap_and_with_exact_totals) {
    constexpr std::size_t slots = 100, threads = 8;
    slot_pool pool(pages(slots));
    std::unique_ptr<std::atomic<int>[]> owners(new std::atomic<int>[slots] {});
    std::atomic<std::uint64_t> taken{0}, given{0}, overlaps{0};
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < threads; t++)
        workers.emplace_back([&, t] {
            std::mt19937_64 random(t);
            std::vector<tla_slot> live;
            for (int i = 0; i < 4000; i++) {
                std::size_t n = 1 + random() % 5;
                std::vector<tla_slot> batch(n);
                if (live.size() < 15 && tla_slot_pool_alloc_batch(pool.p, 1, n, batch.data(), nullptr) == TLA_OK) {
                    for (const tla_slot &slot : batch)
                        overlaps += owners[slot.index]++ != 0;
                    taken += n;
                    live.insert(live.end(), batch.begin(), batch.end());
                } else if (!live.empty()) {
                    for (const tla_slot &slot : live)
                        owners[slot.index]--;
                    given += live.size();
                    if (tla_slot_pool_free_batch(pool.p, live.data(), live.size(), nullptr) != TLA_OK) std::abort();
                    live.clear();
                }
            }
            for (const tla_slot &slot : live) {
                owners[slot.index]--;
                given++;
                if (tla_slot_pool_free(pool.p, slot.index, nullptr) != TLA_OK) std::abort();
            }
        });
    for (std::thread &worker : workers)
        worker.join();
    BOOST_CHECK_EQUAL(overlaps.load(), 0u);
    BOOST_CHECK_EQUAL(taken.load(), given.load());
    BOOST_CHECK_GT(taken.load(), 1000u);
    BOOST_CHECK(pool.memcheck(0));
    BOOST_CHECK_EQUAL(pool.stats().duplicate_frees, 0u);
}
