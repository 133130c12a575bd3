// Blocks of a key-value cache: the queue, references and the index, beside a naive manager.
#include "naive_kv_blocks.hpp"
#include "seeded_random.hpp"
#include "tlmalloc/kv/kv_cache.h"

#include <memory>

namespace {

struct manager {
    explicit manager(std::uint32_t count, bool index = true, tla_kv_rules_of rules = TLA_KV_VLLM) {
        const tla_kv_blocks_config config{count, index, rules};
        BOOST_REQUIRE_EQUAL(tla_kv_blocks_create(&config, &blocks), TLA_OK);
    }
    manager(const manager &) = delete;
    ~manager() { tla_kv_blocks_destroy(blocks); }
    tla_kv_blocks_stats stats() const { return tla_kv_blocks_get_stats(blocks); }
    std::uint32_t references(std::uint32_t block) const {
        std::uint32_t count = 0;
        BOOST_REQUIRE_EQUAL(tla_kv_blocks_references(blocks, block, &count), TLA_OK);
        return count;
    }
    tla_kv_blocks *blocks = nullptr;
};

// A request's blocks.
struct table {
    explicit table(const manager &owner) : of(owner) {}
    table(const table &) = delete;
    ~table() {
        release();
        tla_kv_table_clear(&t);
    }
    tla_status allocate(std::uint32_t count, const std::vector<std::uint32_t> &found = {}) {
        return tla_kv_blocks_allocate(of.blocks, &t, found.data(), static_cast<std::uint32_t>(found.size()), count,
                                      &work);
    }
    std::vector<std::uint32_t> find(const std::vector<std::uint64_t> &hashes) {
        std::vector<std::uint32_t> found(hashes.size());
        found.resize(tla_kv_blocks_find(of.blocks, hashes.data(), static_cast<std::uint32_t>(hashes.size()),
                                        found.data(), &work));
        return found;
    }
    void enter(const std::vector<std::uint64_t> &hashes) {
        BOOST_REQUIRE_EQUAL(
            tla_kv_blocks_enter(of.blocks, &t, hashes.data(), static_cast<std::uint32_t>(hashes.size()), &work),
            TLA_OK);
    }
    void release() { tla_kv_blocks_release(of.blocks, &t, &work); }
    std::vector<std::uint32_t> held() const { return {t.blocks, t.blocks + t.count}; }
    const manager &of;
    tla_kv_table t{};
    tla_work work{};
};

using ids = std::vector<std::uint32_t>;

} // namespace

BOOST_AUTO_TEST_CASE(blocks_come_in_order_without_the_placeholder_and_go_back_last_first) {
    const manager m(6);
    BOOST_CHECK_EQUAL(m.stats().usable, 5u);
    table a(m), b(m), c(m);
    BOOST_REQUIRE_EQUAL(a.allocate(2), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.allocate(2), TLA_OK);
    BOOST_CHECK(a.held() == ids({1, 2}) && b.held() == ids({3, 4}));
    BOOST_CHECK_EQUAL(c.allocate(2), TLA_EXHAUSTED);
    BOOST_CHECK(c.held().empty());
    a.release();
    BOOST_REQUIRE_EQUAL(c.allocate(3), TLA_OK);
    BOOST_CHECK(c.held() == ids({5, 2, 1})); // ends are used up before beginnings
    BOOST_CHECK_EQUAL(m.stats().peak, 5u);
}

BOOST_AUTO_TEST_CASE(content_of_a_free_block_is_found_until_the_block_is_taken) {
    const manager m(5);
    table a(m), b(m), c(m);
    BOOST_REQUIRE_EQUAL(a.allocate(3), TLA_OK);
    a.enter({70, 71});
    BOOST_CHECK(b.find({70, 71, 72}) == ids({1, 2}));
    a.release(); // 4, 3, 2, 1 in the queue
    BOOST_CHECK_EQUAL(m.stats().cached, 2u);
    BOOST_CHECK_EQUAL(m.stats().free, 2u);
    BOOST_REQUIRE_EQUAL(b.allocate(3), TLA_OK);
    BOOST_CHECK(b.held() == ids({4, 3, 2}));
    BOOST_CHECK_EQUAL(m.stats().evicted, 1u);
    BOOST_CHECK(c.find({70, 71}) == ids({1}));
    BOOST_CHECK(c.find({71}).empty());
    BOOST_REQUIRE_EQUAL(c.allocate(1, c.find({70})), TLA_OK);
    BOOST_CHECK_EQUAL(m.stats().revived, 1u);
    BOOST_CHECK_EQUAL(m.stats().referenced, 4u);
}

BOOST_AUTO_TEST_CASE(a_hit_leaves_the_middle_of_the_queue_and_shares_a_block_in_use) {
    const manager m(6);
    table a(m), b(m), c(m), d(m);
    BOOST_REQUIRE_EQUAL(a.allocate(3), TLA_OK);
    a.enter({1, 2, 3});
    a.release(); // 4 5 3 2 1
    BOOST_REQUIRE_EQUAL(b.allocate(3, b.find({1, 2})), TLA_OK);
    BOOST_CHECK(b.held() == ids({1, 2, 4}));
    BOOST_REQUIRE_EQUAL(c.allocate(2, c.find({1, 2})), TLA_OK);
    BOOST_CHECK_EQUAL(m.references(2), 2u);
    BOOST_CHECK_EQUAL(m.stats().shared, 2u);
    b.release();
    BOOST_CHECK_EQUAL(m.references(2), 1u);
    BOOST_REQUIRE_EQUAL(d.allocate(3), TLA_OK);
    BOOST_CHECK(d.held() == ids({5, 3, 4}));
}

BOOST_AUTO_TEST_CASE(a_lookup_of_two_blocks_with_one_hash_finds_the_first_while_it_exists) {
    const manager m(4);
    table a(m), b(m), c(m);
    BOOST_REQUIRE_EQUAL(a.allocate(1), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.allocate(1), TLA_OK);
    b.enter({9});
    a.enter({9});
    BOOST_CHECK(c.find({9}) == ids({2}));
    b.release();
    BOOST_CHECK(c.find({9}) == ids({2})); // it is free, and found still
    BOOST_REQUIRE_EQUAL(c.allocate(2), TLA_OK);
    BOOST_CHECK(c.held() == ids({3, 2}));
    table d(m);
    BOOST_CHECK(d.find({9}) == ids({1}));
}

BOOST_AUTO_TEST_CASE(an_allocation_is_whole_or_nothing_and_counts_the_free_blocks_that_were_found) {
    const manager m(4);
    table a(m), b(m);
    BOOST_REQUIRE_EQUAL(a.allocate(2), TLA_OK);
    a.enter({1, 2});
    a.release(); // 3 2 1
    const ids found = b.find({1, 2});
    BOOST_CHECK_EQUAL(tla_kv_blocks_needed(m.blocks, &b.t, found.data(), 2, 4), 4u);
    BOOST_CHECK_EQUAL(b.allocate(4, found), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(m.references(1) + m.references(2), 0u);
    BOOST_CHECK_EQUAL(m.stats().cached, 2u);
    BOOST_REQUIRE_EQUAL(b.allocate(3, found), TLA_OK);
    BOOST_CHECK(b.held() == ids({1, 2, 3}));
    BOOST_CHECK_EQUAL(b.allocate(2), TLA_OK); // it has them already
    BOOST_CHECK_EQUAL(b.held().size(), 3u);
}

BOOST_AUTO_TEST_CASE(without_an_index_nothing_is_found) {
    const manager m(4, false);
    table a(m), b(m);
    BOOST_REQUIRE_EQUAL(a.allocate(2), TLA_OK);
    a.enter({1, 2});
    BOOST_CHECK(b.find({1}).empty());
    a.release();
    BOOST_CHECK_EQUAL(m.stats().free, 3u);
}

// LMCache: free slots rotate, content that was used last stays longest, and the same content is kept once.
BOOST_AUTO_TEST_CASE(by_lmcaches_rules_the_cache_gives_up_what_was_used_longest_ago) {
    const manager m(6, true, TLA_KV_LMCACHE);
    table a(m), b(m), c(m), d(m);
    BOOST_REQUIRE_EQUAL(a.allocate(3), TLA_OK);
    a.enter({1, 2});
    a.release(); // 4 5 3 are free; 1 and 2 are the cache's
    BOOST_CHECK_EQUAL(m.stats().free, 3u);
    BOOST_CHECK_EQUAL(m.stats().cached, 2u);
    BOOST_REQUIRE_EQUAL(b.allocate(3), TLA_OK);
    BOOST_CHECK(b.held() == ids({4, 5, 3}));
    b.enter({1, 3}); // 1 is there already
    BOOST_CHECK(c.find({1, 2}) == ids({1, 2}));
    BOOST_REQUIRE_EQUAL(c.allocate(2, {1, 2}), TLA_OK); // the beginning was used last
    c.release();
    BOOST_REQUIRE_EQUAL(d.allocate(1), TLA_OK);
    BOOST_CHECK(d.held() == ids({2}));
    BOOST_CHECK(d.find({1, 2}) == ids({1}));
    BOOST_CHECK_EQUAL(m.stats().evicted, 1u);
    b.release(); // 4 and 3 are free, 5 is the cache's
    BOOST_REQUIRE_EQUAL(d.allocate(5), TLA_OK);
    BOOST_CHECK(d.held() == ids({2, 4, 3, 5, 1})); // entered before 1 was found
    BOOST_CHECK_EQUAL(m.stats().evicted, 3u);
}

BOOST_AUTO_TEST_CASE(a_receipt_counts_what_an_engine_does) {
    const manager m(8);
    table a(m), b(m);
    BOOST_REQUIRE_EQUAL(a.allocate(3), TLA_OK);
    BOOST_CHECK_EQUAL(a.work.slots, 3u);
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 3u);
    BOOST_CHECK_EQUAL(a.work.list_length, 7u);
    BOOST_CHECK_EQUAL(a.work.metadata_lines, 3u * 2u); // each with the one that is the head then
    a.work = {};
    a.enter({1, 2});
    BOOST_CHECK_EQUAL(a.work.nodes_created, 2u);
    b.find({1, 2, 3});
    BOOST_CHECK_EQUAL(b.work.class_lookups, 3u);
    BOOST_CHECK_GE(b.work.probes, 2u);
    a.work = {};
    a.release();
    BOOST_CHECK_EQUAL(a.work.slots, 3u);
    BOOST_CHECK_EQUAL(a.work.nodes_visited, 0u);
    BOOST_REQUIRE_EQUAL(b.allocate(7), TLA_OK);
    BOOST_CHECK_EQUAL(b.work.nodes_released, 2u);
}

BOOST_AUTO_TEST_CASE(bad_arguments_have_their_own_status_and_change_nothing) {
    tla_kv_blocks *none = nullptr;
    for (const std::uint32_t count : {0u, 1u, TLA_KV_BLOCKS_MAX + 1u}) {
        const tla_kv_blocks_config config{count, true, TLA_KV_VLLM};
        BOOST_CHECK_EQUAL(tla_kv_blocks_create(&config, &none), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(none == nullptr);
    }
    const manager m(4);
    table a(m), b(m);
    BOOST_REQUIRE_EQUAL(a.allocate(1), TLA_OK);
    a.enter({5});
    const std::uint64_t hashes[] = {5, 6};
    BOOST_CHECK_EQUAL(tla_kv_blocks_enter(m.blocks, &a.t, hashes, 2, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(a.allocate(2, {1}), TLA_INVALID_ARGUMENT); // it has blocks
    BOOST_CHECK_EQUAL(b.allocate(0, {1}), TLA_INVALID_ARGUMENT);
    std::uint32_t references;
    BOOST_CHECK_EQUAL(tla_kv_blocks_references(m.blocks, 4, &references), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(m.stats().referenced, 1u);
}

// Every block, the order of the queue and what is found, after every one of many random operations.
BOOST_AUTO_TEST_CASE(random_operations_are_those_of_a_naive_manager_and_conserve_every_block) {
    seeded_random random(16);
    for (int round = 0; round < 50; round++) {
        const auto count = static_cast<std::uint32_t>(random.between(2, 24));
        const bool index = !random.one_in(5), lmcache = round % 2 == 1;
        const manager m(count, index, lmcache ? TLA_KV_LMCACHE : TLA_KV_VLLM);
        naive_kv_blocks naive(count, index, lmcache);
        const std::uint64_t contents = random.between(1, 40);
        std::vector<std::unique_ptr<table>> tables;
        std::vector<naive_kv_blocks::table> plain(8);
        for (std::size_t i = 0; i < plain.size(); i++)
            tables.push_back(std::make_unique<table>(m));
        for (int step = 0; step < 3000; step++) {
            const std::size_t who = random.between(0, plain.size() - 1);
            table &t = *tables[who];
            naive_kv_blocks::table &p = plain[who];
            std::vector<std::uint64_t> hashes;
            for (std::uint64_t i = random.between(0, 6); i > 0; i--)
                hashes.push_back(random.between(1, contents));
            if (random.one_in(3)) {
                t.release();
                naive.release(p);
            } else if (t.t.count == 0 && random.one_in(2)) {
                const ids found = t.find(hashes);
                BOOST_REQUIRE(found == naive.find(hashes));
                const std::size_t wanted = found.size() + random.between(0, 5);
                // The same block twice cannot be found for one request: hashes stand for whole prefixes.
                if (std::set<std::uint32_t>(found.begin(), found.end()).size() < found.size()) continue;
                BOOST_REQUIRE_EQUAL(t.allocate(static_cast<std::uint32_t>(wanted), found) == TLA_OK,
                                    naive.allocate(p, found, wanted));
            } else if (random.one_in(2)) {
                const std::size_t wanted = p.blocks.size() + random.between(0, 4);
                BOOST_REQUIRE_EQUAL(t.allocate(static_cast<std::uint32_t>(wanted)) == TLA_OK,
                                    naive.allocate(p, {}, wanted));
            } else {
                hashes.resize(std::min(hashes.size(), p.blocks.size()));
                t.enter(hashes);
                naive.enter(p, hashes);
            }
            BOOST_REQUIRE(t.held() == p.blocks);
            const tla_kv_blocks_stats stats = m.stats();
            BOOST_REQUIRE_EQUAL(stats.free + stats.cached + stats.referenced, count - 1);
            BOOST_REQUIRE_EQUAL(stats.free + stats.cached, naive.idle());
            BOOST_REQUIRE_EQUAL(stats.cached, naive.cached());
            std::uint64_t references = 0;
            for (std::uint32_t block = 1; block < count; block++) {
                BOOST_REQUIRE_EQUAL(m.references(block), naive.references[block]);
                references += naive.references[block];
            }
            BOOST_REQUIRE_EQUAL(stats.references, references);
        }
        for (const auto &t : tables)
            t->release();
        BOOST_REQUIRE_EQUAL(m.stats().references, 0u);
        BOOST_REQUIRE_EQUAL(m.stats().referenced, 0u);
    }
}
