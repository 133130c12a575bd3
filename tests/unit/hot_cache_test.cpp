// The cache of evictable objects against LMCache's rules, over a real arena.
#include "seeded_random.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/cache/objects.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace {

constexpr std::uint64_t page = 4096;

// A hot cache over an arena of a few pages, and objects in it.
struct backend {
    explicit backend(std::uint64_t pages, tla_victim_rule rule = TLA_VICTIM_LRU) {
        tla_arena_config config{};
        config.capacity = pages * page;
        config.alignment = page;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_hot_cache_create(rule, &cache), TLA_OK);
    }
    backend(const backend &) = delete;
    ~backend() {
        tla_hot_cache_destroy(cache, nullptr);
        for (tla_mem_object *object : objects)
            tla_mem_object_destroy(object, nullptr);
        tla_arena_destroy(arena);
    }
    static tla_status give_back(void *context, std::uint64_t address, std::uint64_t nbytes, tla_work *work) {
        return tla_arena_free(static_cast<backend *>(context)->arena, {address, nbytes}, work);
    }
    static tla_status take(void *context, tla_work *work) {
        auto &b = *static_cast<backend *>(context);
        b.tries++;
        return tla_arena_alloc(b.arena, b.wanted, &b.block, work);
    }
    tla_status alloc(std::uint64_t pages, tla_mem_object **object, bool busy_loop = false) {
        wanted = pages * page;
        tries = 0;
        tla_status status = tla_hot_cache_alloc(cache, 0, take, this, busy_loop, nullptr);
        if (status) return status;
        tla_mem_object_config config{block.offset, block.nbytes, block.nbytes, {give_back, this},
                                     nullptr,      false,        false};
        BOOST_REQUIRE_EQUAL(tla_mem_object_create(&config, object), TLA_OK);
        objects.push_back(*object);
        return TLA_OK;
    }
    // What a store does: allocate, put in the cache, drop its own reference.
    void store(std::uint64_t key, std::uint64_t pages = 1) {
        tla_mem_object *object = nullptr;
        BOOST_REQUIRE_EQUAL(alloc(pages, &object), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_hot_cache_put(cache, 0, key, &object, 1, nullptr, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_mem_object_ref_down(object, nullptr), TLA_OK);
    }
    bool has(std::uint64_t key) { return tla_hot_cache_contains(cache, key, false, 0); }
    tla_mem_object *get(std::uint64_t key) {
        tla_mem_object *const *found = nullptr;
        std::size_t n = 0;
        BOOST_REQUIRE_EQUAL(tla_hot_cache_get(cache, key, &found, &n), TLA_OK);
        return found[0];
    }
    std::uint64_t used() { return tla_arena_get_stats(arena).used / page; }
    tla_hot_cache_stats stats() { return tla_hot_cache_get_stats(cache); }

    tla_arena *arena = nullptr;
    tla_hot_cache *cache = nullptr;
    tla_block block{};
    std::uint64_t wanted = 0;
    int tries = 0;
    std::vector<tla_mem_object *> objects;
};

} // namespace

BOOST_AUTO_TEST_CASE(the_least_recently_used_entry_goes_first) {
    backend b(3);
    for (std::uint64_t key : {1u, 2u, 3u})
        b.store(key);
    tla_mem_object_ref_down(b.get(1), nullptr); // used, and let go
    b.store(4);
    BOOST_CHECK(b.has(1) && !b.has(2) && b.has(3) && b.has(4));
    b.store(5);
    BOOST_CHECK(b.has(1) && !b.has(3));
    BOOST_CHECK_EQUAL(b.stats().evicted, 2u);
    BOOST_CHECK_EQUAL(b.used(), 3u);
}

BOOST_AUTO_TEST_CASE(eviction_skips_objects_that_are_held_or_pinned) {
    backend b(3);
    for (std::uint64_t key : {1u, 2u, 3u})
        b.store(key);
    b.get(1); // holds it; order now 2, 3, 1
    BOOST_CHECK(tla_hot_cache_contains(b.cache, 2, true, 0));
    b.store(4);
    BOOST_CHECK(b.has(1) && b.has(2) && !b.has(3));
}

BOOST_AUTO_TEST_CASE(with_nothing_to_evict_a_store_gives_up_and_a_retrieve_waits) { // eviction=True, busy_loop
    backend b(2);
    b.store(1);
    b.store(2);
    tla_mem_object *held = b.get(1), *object = nullptr;
    b.get(2);
    BOOST_CHECK_EQUAL(b.alloc(1, &object), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(b.tries, 1);
    BOOST_CHECK_EQUAL(b.alloc(1, &object, true), TLA_BUSY);
    BOOST_CHECK_EQUAL(b.alloc(1, &object, true), TLA_BUSY);
    BOOST_CHECK_EQUAL(b.stats().waits, 2u);
    BOOST_CHECK_EQUAL(b.stats().failures, 1u);
    tla_mem_object_ref_down(held, nullptr); // somebody lets go while it waits
    BOOST_CHECK_EQUAL(b.alloc(1, &object, true), TLA_OK);
    BOOST_CHECK_EQUAL(b.tries, 2);
    BOOST_CHECK(!b.has(1));
}

BOOST_AUTO_TEST_CASE(evicting_two_chunks_does_not_make_a_hole_for_two) { // issues #1285, #2767, #3187
    backend b(4);
    for (std::uint64_t key : {1u, 2u, 3u, 4u})
        b.store(key);
    b.get(2);
    b.get(4); // held: pages 1 and 3
    tla_mem_object *object = nullptr;
    BOOST_CHECK_EQUAL(b.alloc(2, &object), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(b.stats().evicted, 2u);
    BOOST_CHECK_EQUAL(b.used(), 2u);
}

BOOST_AUTO_TEST_CASE(a_duplicate_key_is_ignored) {
    backend b(3);
    b.store(1);
    tla_mem_object *object = nullptr;
    bool added = true;
    BOOST_REQUIRE_EQUAL(b.alloc(1, &object), TLA_OK);
    BOOST_CHECK_EQUAL(tla_hot_cache_put(b.cache, 0, 1, &object, 1, &added, nullptr), TLA_OK);
    BOOST_CHECK(!added);
    BOOST_CHECK_EQUAL(tla_mem_object_ref_count(object), 1u);
    BOOST_CHECK_EQUAL(b.stats().entries, 1u);
}

BOOST_AUTO_TEST_CASE(removed_memory_returns_only_when_others_let_go) {
    backend b(2);
    b.store(1);
    tla_mem_object *held = b.get(1);
    BOOST_CHECK_EQUAL(tla_hot_cache_remove(b.cache, 1, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(b.used(), 1u);
    tla_mem_object_ref_down(held, nullptr);
    BOOST_CHECK_EQUAL(b.used(), 0u);
    BOOST_CHECK_EQUAL(tla_hot_cache_remove(b.cache, 1, nullptr), TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(a_group_of_layers_goes_as_a_whole_and_only_if_every_layer_can) { // fix #3189
    backend b(4);
    std::vector<tla_mem_object *> first(2), second(2);
    for (auto *group : {&first, &second})
        for (tla_mem_object *&layer : *group)
            BOOST_REQUIRE_EQUAL(b.alloc(1, &layer), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_hot_cache_put(b.cache, 0, 1, first.data(), 2, nullptr, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_hot_cache_put(b.cache, 0, 2, second.data(), 2, nullptr, nullptr), TLA_OK);
    for (tla_mem_object *layer : {first[0], second[0], second[1]})
        tla_mem_object_ref_down(layer, nullptr); // first[1] is still held
    tla_mem_object *object = nullptr;
    BOOST_CHECK_EQUAL(b.alloc(1, &object), TLA_OK);
    BOOST_CHECK(b.has(1) && !b.has(2));
    BOOST_CHECK_EQUAL(b.used(), 3u);
}

BOOST_AUTO_TEST_CASE(bad_requests_change_nothing) {
    backend b(2);
    tla_mem_object *object = nullptr, *gone = nullptr, *const *found = nullptr;
    std::size_t n = 0;
    BOOST_REQUIRE_EQUAL(b.alloc(1, &object), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.alloc(1, &gone), TLA_OK);
    tla_mem_object_ref_down(gone, nullptr);
    std::vector<tla_mem_object *> both{object, gone};
    BOOST_CHECK_EQUAL(tla_hot_cache_put(b.cache, 0, 1, both.data(), 2, nullptr, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_hot_cache_put(b.cache, 0, 1, both.data(), 0, nullptr, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_mem_object_ref_count(object), 1u);
    BOOST_CHECK_EQUAL(tla_hot_cache_get(b.cache, 1, &found, &n), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.alloc(0, &object), TLA_INVALID_ARGUMENT); // not for want of memory: nothing is evicted
    BOOST_CHECK_EQUAL(b.stats().entries, 0u);
}

BOOST_AUTO_TEST_CASE(random_use_matches_a_naive_list) {
    seeded_random random(51);
    backend b(16);
    std::vector<std::pair<std::uint64_t, bool>> order; // least recently used first: key, held
    for (int i = 0; i < 20000; i++) {
        std::uint64_t key = random.between(0, 40);
        auto it = std::find_if(order.begin(), order.end(), [&](auto &entry) { return entry.first == key; });
        BOOST_REQUIRE_EQUAL(b.has(key), it != order.end());
        if (it == order.end()) {
            tla_mem_object *object = nullptr;
            tla_status expected = TLA_OK;
            if (order.size() == 16) {
                auto victim = std::find_if(order.begin(), order.end(), [](auto &entry) { return !entry.second; });
                if (victim == order.end())
                    expected = TLA_EXHAUSTED;
                else
                    order.erase(victim);
            }
            BOOST_REQUIRE_EQUAL(b.alloc(1, &object), expected);
            if (expected) continue;
            BOOST_REQUIRE_EQUAL(tla_hot_cache_put(b.cache, 0, key, &object, 1, nullptr, nullptr), TLA_OK);
            tla_mem_object_ref_down(object, nullptr);
            order.emplace_back(key, false);
        } else {
            std::rotate(it, std::next(it), order.end());
            tla_mem_object *object = b.get(key);
            bool &held = order.back().second;
            if (held) tla_mem_object_ref_down(object, nullptr); // lets go of the older reference
            held = !held && random.one_in(2);
            if (!held) tla_mem_object_ref_down(object, nullptr);
        }
        BOOST_REQUIRE_EQUAL(b.used(), order.size());
    }
}

BOOST_AUTO_TEST_CASE(a_pass_at_the_watermark_evicts_a_share_of_the_entries_and_none_that_are_held) {
    for (const tla_victim_rule rule : {TLA_VICTIM_LRU, TLA_VICTIM_TENANT_LRU, TLA_VICTIM_ARC}) {
        backend b(10, rule);
        for (std::uint64_t key = 0; key < 8; key++)
            b.store(key);
        b.get(0); // held
        BOOST_CHECK(tla_watermark_is_reached(b.used(), 10, 800));
        BOOST_CHECK_EQUAL(tla_hot_cache_evict(b.cache, 0, 250, nullptr), TLA_OK);
        BOOST_CHECK(b.has(0) && !b.has(1) && !b.has(2) && b.has(3));
        BOOST_CHECK_EQUAL(tla_hot_cache_evict(b.cache, 0, 1000, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(b.stats().entries, 1u);
        BOOST_CHECK_EQUAL(b.stats().evicted, 7u);
        BOOST_CHECK_EQUAL(tla_hot_cache_evict(b.cache, 0, 0, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(b.used(), 1u);
    }
    tla_hot_cache *cache = nullptr;
    BOOST_CHECK_EQUAL(tla_hot_cache_create(TLA_VICTIM_RULE_COUNT, &cache), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(!cache);
}
