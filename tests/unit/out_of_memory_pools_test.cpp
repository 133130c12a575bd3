// Caches, slots and objects on a host without memory: a call that fails has done nothing, and can be made again.
#include "host_memory/owner.hpp"

#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/cache/driver_pools.h"
#include "tlmalloc/cache/objects.h"
#include "tlmalloc/segments/segment_cache.h"
#include "tlmalloc/stack/lockstep.h"

#include <vector>

using namespace host_memory;

namespace {

constexpr std::uint64_t MiB = 1 << 20;

std::string look_at(tla_arena_stats s) {
    return line(s.capacity, s.used, s.peak_used, s.largest_free, s.free_blocks);
}

// A driver with one device, whose own free list needs host memory, too.
struct device {
    explicit device(tla_policy policy = TLA_FIRST_FIT) {
        tla_arena_config config{};
        config.capacity = 4096 * MiB;
        config.policy = policy;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena.made), TLA_OK);
    }
    std::string look() const { return look_at(tla_arena_get_stats(arena.made)); }

    owner<tla_arena, tla_arena_destroy> arena;
    tla_arena_set set{&arena.made, 1};
    tla_upstream driver = tla_arena_upstream(&set);
};

struct caching : device {
    explicit caching(bool flush = false, std::uint64_t limit = 0) : device(TLA_BEST_FIT) {
        tla_caching_pool_config config{};
        config.driver = driver;
        config.flush_on_failure = flush;
        config.byte_limit = limit;
        BOOST_REQUIRE_EQUAL(tla_caching_pool_create(&config, &pool.made), TLA_OK);
    }
    std::string look() const {
        const tla_caching_pool_stats s = tla_caching_pool_get_stats(pool.made, 0);
        return device::look() + line(s.hits, s.driver_allocs, s.driver_frees, s.live_buffers, s.requested, s.used,
                                     s.cached_blocks, s.cached, s.reserved, s.peak_requested, s.peak_reserved);
    }
    tla_status acquire(std::uint64_t nbytes) {
        tla_pool_buffer buffer;
        const tla_status status = tla_caching_pool_acquire(pool.made, 0, nbytes, &buffer, nullptr);
        if (!status) buffers.push_back(buffer);
        return status;
    }
    owner<tla_caching_pool, tla_caching_pool_destroy> pool;
    std::vector<tla_pool_buffer> buffers;
};

struct segments : device {
    segments() : device(TLA_TLSF) {
        tla_segment_cache_config config{};
        config.driver = driver;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &cache.made), TLA_OK);
    }
    std::string look() const {
        const tla_segment_cache_stats s = tla_segment_cache_get_stats(cache.made);
        return device::look() + line(s.requested, s.allocated, s.active, s.reserved, s.inactive_split, s.segments,
                                     s.peak_allocated, s.peak_reserved, s.driver_allocs, s.driver_frees, s.failures);
    }
    tla_status alloc(std::uint64_t nbytes) {
        tla_block block;
        const tla_status status = tla_segment_cache_alloc(cache.made, 0, nbytes, &block, nullptr);
        if (!status) blocks.push_back(block);
        return status;
    }
    owner<tla_segment_cache, tla_segment_cache_destroy> cache;
    std::vector<tla_block> blocks;
};

struct growing : device {
    growing() : device(TLA_BUDDY) {
        tla_growing_pool_config config{};
        config.driver = driver;
        config.initial_size = MiB;
        BOOST_REQUIRE_EQUAL(tla_growing_pool_create(&config, &pool.made), TLA_OK);
    }
    std::string look() const {
        const tla_growing_pool_stats s = tla_growing_pool_get_stats(pool.made);
        return device::look() + line(s.used, s.reserved, s.free_blocks, s.upstream_blocks);
    }
    tla_status alloc(std::uint64_t nbytes) {
        tla_block block;
        const tla_status status = tla_growing_pool_alloc(pool.made, nbytes, &block, nullptr);
        if (!status) blocks.push_back(block);
        return status;
    }
    owner<tla_growing_pool, tla_growing_pool_destroy> pool;
    std::vector<tla_block> blocks;
};

const auto look = [](auto &object) { return object.look(); };

} // namespace

BOOST_AUTO_TEST_CASE(pools_that_cannot_be_made_are_none) {
    device d;
    check_creation<owner<tla_caching_pool, tla_caching_pool_destroy>>("caching_pool", [&](tla_caching_pool **made) {
        tla_caching_pool_config config{};
        config.driver = d.driver;
        return tla_caching_pool_create(&config, made);
    });
    check_creation<owner<tla_segment_cache, tla_segment_cache_destroy>>("segment_cache", [&](tla_segment_cache **made) {
        tla_segment_cache_config config{};
        config.driver = d.driver;
        return tla_segment_cache_create(&config, made);
    });
    check_creation<owner<tla_growing_pool, tla_growing_pool_destroy>>("growing_pool", [&](tla_growing_pool **made) {
        tla_growing_pool_config config{};
        config.driver = d.driver;
        config.initial_size = MiB;
        return tla_growing_pool_create(&config, made);
    });
    BOOST_CHECK_EQUAL(tla_arena_get_stats(d.arena.made).used, 0u);
    check_creation<owner<tla_slot_pool, tla_slot_pool_destroy>>("slot_pool", [](tla_slot_pool **made) {
        const tla_slot_pool_config config{0, MiB, 4096, false, false};
        return tla_slot_pool_create(&config, made);
    });
    for (std::uint64_t slot_bytes : {std::uint64_t{0}, std::uint64_t{4096}})
        check_creation<owner<tla_mixed_pool, tla_mixed_pool_destroy>>("mixed", [&](tla_mixed_pool **made) {
            const tla_mixed_pool_config config{0, MiB, 4096, slot_bytes, TLA_BATCH_CARVED};
            return tla_mixed_pool_create(&config, made);
        });
    check_creation<owner<tla_lazy_arena, tla_lazy_arena_destroy>>("lazy", [](tla_lazy_arena **made) {
        const tla_lazy_arena_config config{0, MiB, 4 * MiB, MiB, MiB, 1000, 0, 4096, TLA_BUDDY};
        return tla_lazy_arena_create(&config, made);
    });
    check_creation<owner<tla_lockstep, tla_lockstep_destroy>>("lockstep", [](tla_lockstep **made) {
        const tla_lockstep_config config{8, 0, MiB, 32, TLA_TOP_DOWN};
        return tla_lockstep_create(&config, made);
    });
    check_creation<owner<tla_pin_monitor, tla_pin_monitor_destroy>>(
        "pin_monitor", [](tla_pin_monitor **made) { return tla_pin_monitor_create(1, made); });
}

BOOST_AUTO_TEST_CASE(a_caching_pool_serves_keeps_and_trims_or_says_that_there_is_no_host_memory) {
    for (std::size_t live : {std::size_t{0}, std::size_t{11}, std::size_t{12}, std::size_t{40}}) {
        const auto make = [&] {
            auto p = std::make_unique<caching>();
            for (std::size_t i = 0; i < live; i++)
                BOOST_REQUIRE_EQUAL(p->acquire(100 + 700 * i), TLA_OK);
            return p;
        };
        BOOST_CHECK_GT(exhaust(
                           "a miss", make, [](caching &p) { return p.acquire(3 * MiB); }, look),
                       0u);
        exhaust(
            "another device", make,
            [](caching &p) {
                tla_pool_buffer buffer;
                return tla_caching_pool_acquire(p.pool.made, 1, 1, &buffer, nullptr); // the driver has no second one
            },
            look);
        if (live == 0) continue;
        exhaust(
            "release", make, [](caching &p) { return tla_caching_pool_release(p.pool.made, p.buffers[0], nullptr); },
            look);
        const auto cached = [&] {
            auto p = make();
            for (std::size_t i = 0; i < live; i += 2)
                BOOST_REQUIRE_EQUAL(tla_caching_pool_release(p->pool.made, p->buffers[i], nullptr), TLA_OK);
            return p;
        };
        exhaust(
            "a hit", cached, [](caching &p) { return p.acquire(100); }, look);
    }
}

BOOST_AUTO_TEST_CASE(a_second_call_continues_a_trim_or_flush_that_ran_out_of_host_memory) {
    const auto make = [] { // every other of 200 buffers is cached: giving them back leaves the driver many pieces
        auto p = std::make_unique<caching>(true, 200 * 512);
        for (int i = 0; i < 200; i++)
            BOOST_REQUIRE_EQUAL(p->acquire(512), TLA_OK);
        for (std::size_t i = 0; i < 200; i += 2)
            BOOST_REQUIRE_EQUAL(tla_caching_pool_release(p->pool.made, p->buffers[i], nullptr), TLA_OK);
        return p;
    };
    const auto trim = [](caching &p) { return tla_caching_pool_trim(p.pool.made, 0, 0, nullptr); };
    const auto flush = [](caching &p) { return p.acquire(1024); };
    // What is left of the cache after a flush may be enough for the next one.
    const std::pair<std::function<tla_status(caching &)>, bool> calls[] = {{trim, true}, {flush, false}};
    for (const auto &[call, gives_all] : calls) {
        auto expected = make();
        BOOST_REQUIRE_EQUAL(call(*expected), TLA_OK);
        std::size_t failures = 0;
        for (std::size_t n = 0, failed = 1; failed > 0; n++) {
            auto p = make();
            fail_from(n, true);
            const tla_status status = call(*p);
            failed = stop();
            failures += failed > 0;
            BOOST_REQUIRE_EQUAL(tla_status_name(status), tla_status_name(failed ? TLA_NO_HOST_MEMORY : TLA_OK));
            const tla_caching_pool_stats s = tla_caching_pool_get_stats(p->pool.made, 0);
            BOOST_CHECK_EQUAL(s.used + s.cached, s.reserved);
            BOOST_CHECK_EQUAL(s.reserved, tla_arena_get_stats(p->arena.made).used);
            if (failed) BOOST_REQUIRE_EQUAL(call(*p), TLA_OK);
            if (gives_all) BOOST_CHECK_EQUAL(p->look(), expected->look());
        }
        BOOST_CHECK_GT(failures, 2u);
    }
}

BOOST_AUTO_TEST_CASE(a_segment_cache_serves_splits_and_joins_or_says_that_there_is_no_host_memory) {
    for (std::size_t live : {std::size_t{0}, std::size_t{11}, std::size_t{12}, std::size_t{30}}) {
        const auto make = [&] {
            auto s = std::make_unique<segments>();
            for (std::size_t i = 0; i < live; i++)
                BOOST_REQUIRE_EQUAL(s->alloc(512 * (1 + i)), TLA_OK);
            return s;
        };
        for (std::uint64_t nbytes : {std::uint64_t{1}, MiB, 2 * MiB, 30 * MiB})
            exhaust(
                "alloc", make, [&](segments &s) { return s.alloc(nbytes); }, look);
        if (live == 0) continue;
        exhaust(
            "free", make, [](segments &s) { return tla_segment_cache_free(s.cache.made, s.blocks[5].offset, nullptr); },
            look);
        exhaust(
            "use", make, [](segments &s) { return tla_segment_cache_begin_use(s.cache.made, s.blocks[5].offset); },
            look);
        const auto idle = [&] {
            auto s = make();
            for (tla_block block : s->blocks)
                BOOST_REQUIRE_EQUAL(tla_segment_cache_free(s->cache.made, block.offset, nullptr), TLA_OK);
            return s;
        };
        exhaust(
            "empty", idle, [](segments &s) { return tla_segment_cache_empty(s.cache.made, nullptr); }, look);
    }
}

BOOST_AUTO_TEST_CASE(a_growing_pool_asks_upstream_for_the_same_when_host_memory_is_back) {
    for (std::size_t live : {std::size_t{0}, std::size_t{11}, std::size_t{12}, std::size_t{30}}) {
        const auto make = [&] {
            auto g = std::make_unique<growing>();
            for (std::size_t i = 0; i < live; i++)
                BOOST_REQUIRE_EQUAL(g->alloc(256 * (1 + i)), TLA_OK);
            return g;
        };
        for (std::uint64_t nbytes : {std::uint64_t{1}, 2 * MiB, 30 * MiB})
            exhaust(
                "alloc", make, [&](growing &g) { return g.alloc(nbytes); }, look);
        if (live > 0)
            exhaust(
                "free", make, [](growing &g) { return tla_growing_pool_free(g.pool.made, g.blocks[5], nullptr); },
                look);
    }
}

namespace {

struct slots {
    slots() {
        const tla_slot_pool_config config{0, 16 * 64, 64, false, true};
        BOOST_REQUIRE_EQUAL(tla_slot_pool_create(&config, &pool.made), TLA_OK);
    }
    std::string look() const {
        const tla_slot_pool_stats s = tla_slot_pool_get_stats(pool.made);
        return line(s.slots, s.free_slots, s.used_slots, s.duplicate_frees);
    }
    owner<tla_slot_pool, tla_slot_pool_destroy> pool;
};

struct mixed {
    mixed(std::uint64_t slot_bytes, tla_batch batch) {
        const tla_mixed_pool_config config{0, 16 * MiB, 4096, slot_bytes, batch};
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_create(&config, &memory.made), TLA_OK);
    }
    ~mixed() {
        for (auto &objects : all)
            tla_mixed_pool_free(memory.made, objects.data(), objects.size(), nullptr);
    }
    std::string look() const {
        const tla_mixed_pool_stats s = tla_mixed_pool_get_stats(memory.made);
        BOOST_CHECK_EQUAL(tla_mixed_pool_check(memory.made, nullptr), TLA_OK);
        return line(s.tensors, s.buffers, s.tensor_bytes, s.buffer_bytes, s.free_tensor_bytes, s.free_blocks);
    }
    tla_status alloc(tla_memory_format format, std::size_t n) {
        std::vector<tla_mixed_pool_block> objects(n);
        const tla_status status = tla_mixed_pool_alloc(memory.made, format, 4096, n, objects.data(), nullptr);
        if (!status) all.push_back(objects);
        return status;
    }
    tla_status free_every_other() {
        std::vector<tla_mixed_pool_block> some, others;
        for (std::size_t i = 0; i < all[0].size(); i++)
            (i % 2 ? some : others).push_back(all[0][i]);
        const tla_status status = tla_mixed_pool_free(memory.made, some.data(), some.size(), nullptr);
        if (!status) all[0] = others;
        return status;
    }
    owner<tla_mixed_pool, tla_mixed_pool_destroy> memory;
    std::vector<std::vector<tla_mixed_pool_block>> all;
};

} // namespace

BOOST_AUTO_TEST_CASE(slots_of_the_seeds_era_are_given_back_twice_or_not_at_all) {
    const std::size_t allocations = exhaust(
        "free", [] { return std::make_unique<slots>(); },
        [](slots &s) {
            const tla_slot twice[2] = {{3, 0, 0}, {3, 0, 0}};
            return tla_slot_pool_free_batch(s.pool.made, twice, 2, nullptr);
        },
        look);
    BOOST_CHECK_GT(allocations, 0u);
}

BOOST_AUTO_TEST_CASE(mixed_memory_takes_and_gives_all_objects_or_none) {
    for (std::uint64_t slot_bytes : {std::uint64_t{0}, std::uint64_t{4096}})
        for (tla_batch batch : {TLA_BATCH_CONTIGUOUS, TLA_BATCH_CARVED}) {
            const auto make = [&] { return std::make_unique<mixed>(slot_bytes, batch); };
            for (tla_memory_format format : {TLA_FORMAT_KV_2LTD, TLA_FORMAT_BINARY_BUFFER}) {
                const auto filled = [&] {
                    auto m = make();
                    BOOST_REQUIRE_EQUAL(m->alloc(format, 200), TLA_OK);
                    return m;
                };
                BOOST_CHECK_GT(exhaust(
                                   "alloc", make, [&](mixed &m) { return m.alloc(format, 5); }, look),
                               0u);
                exhaust(
                    "free", filled, [](mixed &m) { return m.free_every_other(); }, look);
            }
        }
}

namespace {

struct lazy {
    lazy() {
        const tla_lazy_arena_config config{0, MiB, 4 * MiB, MiB, MiB, 1000, 0, 64, TLA_BUDDY};
        BOOST_REQUIRE_EQUAL(tla_lazy_arena_create(&config, &memory.made), TLA_OK);
    }
    std::string look() const {
        std::uint64_t when = 0;
        const bool more = tla_lazy_arena_next_commit(memory.made, &when);
        return look_at(tla_lazy_arena_get_stats(memory.made)) + line(more, when);
    }
    owner<tla_lazy_arena, tla_lazy_arena_destroy> memory;
};

struct banks {
    banks() {
        const tla_lockstep_config config{8, 0, MiB, 32, TLA_TOP_DOWN};
        BOOST_REQUIRE_EQUAL(tla_lockstep_create(&config, &memory.made), TLA_OK);
        for (tla_lockstep_buffer &buffer : buffers)
            BOOST_REQUIRE_EQUAL(tla_lockstep_alloc(memory.made, 8192, 1024, &buffer, nullptr), TLA_OK);
        for (std::size_t i = 0; i < 62; i += 2)
            BOOST_REQUIRE_EQUAL(tla_lockstep_free(memory.made, buffers[i], nullptr), TLA_OK);
    }
    std::string look() const {
        tla_bank_stats s{};
        BOOST_REQUIRE_EQUAL(tla_lockstep_get_stats(memory.made, 3, &s), TLA_OK);
        return line(s.allocated, s.free, s.largest_free, s.occupied);
    }
    owner<tla_lockstep, tla_lockstep_destroy> memory;
    std::vector<tla_lockstep_buffer> buffers{65}; // 31 free blocks and the rest: the list's leaf is full
};

// Two objects that a cache holds, over an arena.
struct cached_objects {
    cached_objects() {
        BOOST_REQUIRE_EQUAL(tla_hot_cache_create(TLA_VICTIM_TENANT_LRU, &cache.made), TLA_OK);
        for (int key = 0; key < 12; key++) // the next key needs a larger table
            BOOST_REQUIRE_EQUAL(put(static_cast<std::uint64_t>(key)), TLA_OK);
    }
    ~cached_objects() {
        tla_hot_cache_destroy(cache.made, nullptr);
        cache.made = nullptr;
        for (tla_mem_object *object : objects)
            tla_mem_object_destroy(object, nullptr);
    }
    tla_status put(std::uint64_t key) {
        tla_mem_object_config config{};
        config.nbytes = 64;
        tla_mem_object *object = nullptr;
        const tla_status made = tla_mem_object_create(&config, &object);
        if (made) return made;
        bool added = false;
        const tla_status status = tla_hot_cache_put(cache.made, key, key, &object, 1, &added, nullptr);
        BOOST_CHECK_EQUAL(added, status == TLA_OK);
        BOOST_CHECK_EQUAL(tla_mem_object_ref_count(object), status ? 1u : 2u);
        if (status)
            tla_mem_object_destroy(object, nullptr);
        else
            objects.push_back(object);
        return status;
    }
    std::string look() const { return line(tla_hot_cache_get_stats(cache.made).entries, objects.size()); }

    static tla_status destroy(tla_hot_cache *cache) { return tla_hot_cache_destroy(cache, nullptr); }
    owner<tla_hot_cache, destroy> cache;
    std::vector<tla_mem_object *> objects;
};

} // namespace

BOOST_AUTO_TEST_CASE(lazy_memory_commits_or_says_that_there_is_no_host_memory) {
    const auto make = [] { return std::make_unique<lazy>(); };
    exhaust(
        "advance", make, [](lazy &l) { return tla_lazy_arena_advance(l.memory.made, 2000, nullptr); }, look);
    exhaust(
        "alloc", make,
        [](lazy &l) {
            tla_block block;
            return tla_lazy_arena_alloc(l.memory.made, 0, 4096, &block, nullptr);
        },
        look);
}

BOOST_AUTO_TEST_CASE(a_buffer_in_all_banks_is_given_back_in_all_or_in_none) {
    BOOST_CHECK_GT(exhaust(
                       "free", [] { return std::make_unique<banks>(); },
                       [](banks &b) { return tla_lockstep_free(b.memory.made, b.buffers[62], nullptr); }, look),
                   0u);
}

BOOST_AUTO_TEST_CASE(a_hot_cache_takes_an_entry_with_its_references_or_not_at_all) {
    check_creation<owner<tla_hot_cache, cached_objects::destroy>>(
        "hot_cache", [](tla_hot_cache **made) { return tla_hot_cache_create(TLA_VICTIM_LRU, made); });
    BOOST_CHECK_GT(exhaust(
                       "put", [] { return std::make_unique<cached_objects>(); },
                       [](cached_objects &c) { return c.put(77); }, look),
                   2u);
}
