// The growing pool against what rmm's tests assert and a naive list.
#include "seeded_random.hpp"
#include "tlmalloc/cache/driver_pools.h"

#include <map>
#include <vector>

namespace {

// An upstream that gives no more than `limit` bytes, each block at the next multiple of 2^32: never adjacent.
struct limited_upstream {
    std::uint64_t limit, used = 0, next = 0;

    static tla_status alloc(void *context, std::uint32_t, std::uint64_t nbytes, std::uint64_t *address, tla_work *) {
        auto &u = *static_cast<limited_upstream *>(context);
        if (nbytes > u.limit - u.used) return TLA_EXHAUSTED;
        u.used += nbytes;
        *address = u.next;
        u.next += std::uint64_t{1} << 32;
        return TLA_OK;
    }
    static tla_status free(void *context, std::uint32_t, std::uint64_t, std::uint64_t nbytes, tla_work *) {
        static_cast<limited_upstream *>(context)->used -= nbytes;
        return TLA_OK;
    }
    tla_upstream driver() { return {alloc, free, this}; }
};

struct growing_pool {
    growing_pool(limited_upstream &upstream, std::uint64_t initial, std::uint64_t maximum) {
        tla_growing_pool_config config{upstream.driver(), 0, initial, maximum};
        BOOST_REQUIRE_EQUAL(tla_growing_pool_create(&config, &p), TLA_OK);
    }
    growing_pool(const growing_pool &) = delete;
    ~growing_pool() { tla_growing_pool_destroy(p); }
    tla_status try_alloc(std::uint64_t nbytes) {
        tla_block block{};
        return tla_growing_pool_alloc(p, nbytes, &block, nullptr);
    }
    tla_block alloc(std::uint64_t nbytes) {
        tla_block block{};
        BOOST_REQUIRE_EQUAL(tla_growing_pool_alloc(p, nbytes, &block, nullptr), TLA_OK);
        return block;
    }
    tla_growing_pool_stats stats() { return tla_growing_pool_get_stats(p); }
    tla_growing_pool *p = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(without_a_maximum_it_doubles_and_backs_off_to_the_request) { // rmm PoolTest.ForceGrowth
    limited_upstream upstream{6000};
    growing_pool pool(upstream, 0, 0);
    BOOST_CHECK_EQUAL(pool.try_alloc(1000), TLA_OK);
    BOOST_CHECK_EQUAL(pool.try_alloc(4000), TLA_OK);
    BOOST_CHECK_EQUAL(pool.try_alloc(500), TLA_OK);
    BOOST_CHECK_EQUAL(pool.stats().reserved, 1024u + 4096u + 768u); // 5120 and its halves down to 640, aligned
    BOOST_CHECK_EQUAL(pool.try_alloc(2000), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(pool.stats().used, 1024u + 4096u + 512u);
}

BOOST_AUTO_TEST_CASE(with_a_maximum_it_grows_by_half_of_what_is_left) { // rmm PoolTest.ForceGrowth, second part
    limited_upstream upstream{6000};
    growing_pool pool(upstream, 0, 8192);
    BOOST_CHECK_EQUAL(pool.try_alloc(1000), TLA_OK);
    BOOST_CHECK_EQUAL(pool.stats().reserved, 4096u);
    BOOST_CHECK_EQUAL(pool.try_alloc(4000), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(pool.try_alloc(500), TLA_OK);
    BOOST_CHECK_EQUAL(pool.try_alloc(2000), TLA_OK);
    BOOST_CHECK_EQUAL(pool.stats().reserved, 4096u);
}

BOOST_AUTO_TEST_CASE(a_request_beyond_the_maximum_is_a_limit) {
    limited_upstream upstream{1 << 20};
    growing_pool pool(upstream, 1024, 2048);
    BOOST_CHECK_EQUAL(pool.try_alloc(4096), TLA_LIMIT);
    BOOST_CHECK_EQUAL(pool.stats().upstream_tries, 1u); // the initial block only
    BOOST_CHECK_EQUAL(pool.try_alloc(1024), TLA_OK);
    BOOST_CHECK_EQUAL(pool.try_alloc(1024), TLA_OK);
    BOOST_CHECK_EQUAL(pool.stats().reserved, 2048u);
}

BOOST_AUTO_TEST_CASE(sizes_must_be_multiples_of_256_and_initial_at_most_maximum) { // rmm: logic_error
    limited_upstream upstream{1 << 20};
    for (auto [initial, maximum] : {std::pair<std::uint64_t, std::uint64_t>{1023, 0}, {1024, 2047}, {4096, 2048}}) {
        tla_growing_pool_config config{upstream.driver(), 0, initial, maximum};
        tla_growing_pool *p = nullptr;
        BOOST_CHECK_EQUAL(tla_growing_pool_create(&config, &p), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(p == nullptr);
    }
    tla_growing_pool_config too_much{upstream.driver(), 0, 2 << 20, 0};
    tla_growing_pool *p = nullptr;
    BOOST_CHECK_EQUAL(tla_growing_pool_create(&too_much, &p), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(upstream.used, 0u);
}

BOOST_AUTO_TEST_CASE(zero_bytes_take_nothing) { // rmm: a null pointer
    limited_upstream upstream{4096};
    growing_pool pool(upstream, 0, 0);
    tla_block block = pool.alloc(0);
    BOOST_CHECK_EQUAL(block.nbytes, 0u);
    BOOST_CHECK_EQUAL(upstream.used, 0u);
    BOOST_CHECK_EQUAL(tla_growing_pool_free(pool.p, block, nullptr), TLA_OK);
}

BOOST_AUTO_TEST_CASE(free_blocks_join_but_never_across_upstream_blocks) {
    limited_upstream upstream{1 << 20};
    // An upstream whose blocks touch: what would tempt a pool to join them.
    struct touching : limited_upstream {
        static tla_status alloc(void *context, std::uint32_t device, std::uint64_t nbytes, std::uint64_t *address,
                                tla_work *work) {
            tla_status status = limited_upstream::alloc(context, device, nbytes, address, work);
            auto &u = *static_cast<limited_upstream *>(context);
            *address = u.used - nbytes;
            return status;
        }
    };
    tla_growing_pool_config config{{touching::alloc, limited_upstream::free, &upstream}, 0, 1024, 0};
    tla_growing_pool *p = nullptr;
    BOOST_REQUIRE_EQUAL(tla_growing_pool_create(&config, &p), TLA_OK);
    std::vector<tla_block> blocks(4);
    for (tla_block &block : blocks)
        BOOST_REQUIRE_EQUAL(tla_growing_pool_alloc(p, 512, &block, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(blocks[3].offset, 1536u);
    for (const tla_block &block : blocks)
        BOOST_REQUIRE_EQUAL(tla_growing_pool_free(p, block, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_growing_pool_get_stats(p).free_blocks, 2u);
    BOOST_CHECK_EQUAL(tla_growing_pool_destroy(p), TLA_OK);
    BOOST_CHECK_EQUAL(upstream.used, 0u);
}

BOOST_AUTO_TEST_CASE(a_wrong_free_has_its_status_and_changes_nothing) {
    limited_upstream upstream{1 << 20};
    growing_pool pool(upstream, 4096, 0);
    tla_block block = pool.alloc(1000);
    BOOST_CHECK_EQUAL(tla_growing_pool_free(pool.p, {block.offset + 256, 256}, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_growing_pool_free(pool.p, {block.offset, 2000}, nullptr), TLA_SIZE_MISMATCH);
    BOOST_CHECK_EQUAL(pool.stats().used, 1024u);
    BOOST_CHECK_EQUAL(tla_growing_pool_free(pool.p, {block.offset, 1000}, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_growing_pool_free(pool.p, block, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(pool.try_alloc(~std::uint64_t{0}), TLA_EXHAUSTED);
}

BOOST_AUTO_TEST_CASE(destroy_names_a_leak_and_gives_upstream_everything) {
    limited_upstream upstream{1 << 20};
    tla_growing_pool_config config{upstream.driver(), 0, 4096, 0};
    tla_growing_pool *p = nullptr;
    tla_block a{}, b{};
    BOOST_REQUIRE_EQUAL(tla_growing_pool_create(&config, &p), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_growing_pool_alloc(p, 1024, &a, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_growing_pool_alloc(p, 8192, &b, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_growing_pool_destroy(p), TLA_LEAK);
    BOOST_CHECK_EQUAL(upstream.used, 0u);
}

BOOST_AUTO_TEST_CASE(random_sequences_match_a_naive_best_fit) {
    seeded_random random(11);
    limited_upstream upstream{64 << 20}, twin{64 << 20};
    growing_pool pool(upstream, 0, 0);
    std::map<std::uint64_t, std::uint64_t> holes; // naive: begin -> size; upstream blocks are never adjacent
    std::uint64_t reserved = 0;
    std::vector<tla_block> live;
    for (int i = 0; i < 100000; i++) {
        if (live.empty() || (live.size() < 400 && random.one_in(2))) {
            std::uint64_t nbytes = random.between(1, random.one_in(20) ? 1 << 20 : 1 << 14);
            std::uint64_t size = (nbytes + 255) / 256 * 256, address = 0;
            auto best = holes.end();
            for (auto it = holes.begin(); it != holes.end(); ++it)
                if (it->second >= size && (best == holes.end() || it->second < best->second)) best = it;
            tla_status expected = TLA_OK;
            if (best == holes.end()) {
                for (std::uint64_t grow = std::max(size, reserved);; grow = std::max(size, grow / 2)) {
                    grow = (grow + 255) / 256 * 256;
                    expected = limited_upstream::alloc(&twin, 0, grow, &address, nullptr);
                    if (!expected) {
                        reserved += grow;
                        best = holes.emplace(address, grow).first;
                    }
                    if (!expected || grow == size) break;
                }
            }
            tla_block block{};
            BOOST_REQUIRE_EQUAL(tla_growing_pool_alloc(pool.p, nbytes, &block, nullptr), expected);
            if (expected) continue;
            auto [begin, length] = *best;
            BOOST_REQUIRE_EQUAL(block.offset, begin);
            holes.erase(best);
            if (length > size) holes[begin + size] = length - size;
            live.push_back(block);
        } else {
            std::swap(live[random.between(0, live.size() - 1)], live.back());
            auto [begin, length] = live.back();
            live.pop_back();
            BOOST_REQUIRE_EQUAL(tla_growing_pool_free(pool.p, {begin, length}, nullptr), TLA_OK);
            auto it = holes.emplace(begin, length).first;
            if (auto next = std::next(it); next != holes.end() && next->first == begin + length) {
                it->second += next->second;
                holes.erase(next);
            }
            if (it != holes.begin())
                if (auto before = std::prev(it); before->first + before->second == begin) {
                    before->second += it->second;
                    holes.erase(it);
                }
        }
        BOOST_REQUIRE_EQUAL(pool.stats().free_blocks, holes.size());
    }
    BOOST_CHECK_EQUAL(pool.stats().reserved, reserved);
    BOOST_CHECK_EQUAL(pool.stats().reserved, upstream.used);
}
