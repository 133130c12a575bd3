// A cache that fails tells its own reason: what it asked its driver for, and what the driver says of that.
#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/cache/driver_pools.h"
#include "tlmalloc/segments/segment_cache.h"
#include "tlmalloc/stack/lockstep.h"

#include <boost/test/unit_test.hpp>

#include <string>

namespace {

constexpr std::uint64_t MiB = 1 << 20;

struct device {
    explicit device(std::uint64_t capacity) {
        tla_arena_config config{};
        config.capacity = capacity;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    }
    ~device() { tla_arena_destroy(arena); }
    device(const device &) = delete;
    device &operator=(const device &) = delete;

    tla_arena *arena = nullptr;
    tla_arena_set set{&arena, 1};
    tla_upstream driver = tla_arena_upstream(&set);
};

tla_status never(void *, std::uint32_t, std::uint64_t, std::uint64_t *, tla_work *) {
    return TLA_EXHAUSTED;
}
tla_status nothing(void *, std::uint32_t, std::uint64_t, std::uint64_t, tla_work *) {
    return TLA_OK;
}

struct segments : device {
    explicit segments(std::uint64_t capacity, std::uint64_t limit = 0) : device(capacity) {
        tla_segment_cache_config config{};
        config.driver = driver;
        config.memory_limit = limit;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &cache), TLA_OK);
    }
    ~segments() { tla_segment_cache_destroy(cache); }

    std::string why(std::uint64_t nbytes) {
        const tla_status status = tla_segment_cache_alloc(cache, 0, nbytes, &block, nullptr);
        error = {};
        BOOST_CHECK_EQUAL(tla_segment_cache_explain(cache, "segment_cache", nbytes, &error), status);
        BOOST_CHECK_EQUAL(error.status, status);
        BOOST_CHECK_EQUAL(error.requested, nbytes);
        return error.text;
    }

    tla_segment_cache *cache = nullptr;
    tla_block block{};
    tla_error error{};
};

struct pool : device {
    explicit pool(std::uint64_t capacity, std::uint64_t limit = 0) : device(capacity) {
        tla_caching_pool_config config{};
        config.driver = driver;
        config.byte_limit = limit;
        BOOST_REQUIRE_EQUAL(tla_caching_pool_create(&config, &cache), TLA_OK);
    }
    ~pool() { tla_caching_pool_destroy(cache); }

    std::string why(std::uint64_t nbytes) {
        tla_pool_buffer buffer;
        const tla_status status = tla_caching_pool_acquire(cache, 0, nbytes, &buffer, nullptr);
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_caching_pool_explain(cache, "caching_pool", 0, nbytes, &error), status);
        BOOST_CHECK_EQUAL(error.status, status);
        BOOST_CHECK_EQUAL(error.requested, nbytes);
        return error.text;
    }

    tla_caching_pool *cache = nullptr;
};

struct growing : device {
    explicit growing(std::uint64_t capacity, std::uint64_t maximum = 0) : device(capacity) {
        tla_growing_pool_config config{};
        config.driver = driver;
        config.initial_size = MiB;
        config.maximum_size = maximum;
        BOOST_REQUIRE_EQUAL(tla_growing_pool_create(&config, &cache), TLA_OK);
    }
    ~growing() { tla_growing_pool_destroy(cache); }

    std::string why(std::uint64_t nbytes) {
        tla_block block;
        const tla_status status = tla_growing_pool_alloc(cache, nbytes, &block, nullptr);
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_growing_pool_explain(cache, "growing_pool", nbytes, &error), status);
        BOOST_CHECK_EQUAL(error.status, status);
        BOOST_CHECK_EQUAL(error.requested, nbytes);
        return error.text;
    }

    tla_growing_pool *cache = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_segment_cache_reports_the_requested_segment) {
    segments s(15 * MiB);
    BOOST_CHECK_EQUAL(
        s.why(9 * MiB),
        "segment_cache overflow: requested 9437184 bytes, no cached block is suitable (0 bytes cached, 0 of them in "
        "segments in use); asked the driver for a segment of 20971520 bytes: device 0 overflow: requested 20971520 "
        "bytes, 15728640 free of 15728640, largest free block 15728640 (1 blocks): exhausted");
    BOOST_CHECK_EQUAL(s.error.total_free, 15 * MiB);
    BOOST_CHECK_EQUAL(s.error.largest_free, 15 * MiB);
    BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(s.cache, 0, MiB, &s.block, nullptr), TLA_OK); // of 2 MiB
    BOOST_CHECK_EQUAL(
        s.why(14 * MiB),
        "segment_cache overflow: requested 14680064 bytes, no cached block is suitable (1048576 bytes cached, 1048576 "
        "of them in segments in use); asked the driver for a segment of 14680064 bytes: device 0 overflow: requested "
        "14680064 bytes, 13631488 free of 15728640, largest free block 13631488 (1 blocks): exhausted");
}

BOOST_AUTO_TEST_CASE(a_segment_cache_reports_its_memory_limit) {
    segments s(64 * MiB, 21 * MiB);
    BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(s.cache, 0, 512, &s.block, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(
        s.why(2 * MiB),
        "segment_cache overflow: requested 2097152 bytes, no cached block is suitable (2096640 bytes cached); a "
        "segment of 20971520 bytes beside the 2097152 reserved would exceed memory_limit, 22020096");
}

BOOST_AUTO_TEST_CASE(a_caching_pool_reports_the_requested_size_class) {
    pool p(15 * MiB);
    BOOST_CHECK_EQUAL(
        p.why(9 * MiB),
        "caching_pool overflow: requested 9437184 bytes, no buffer of their class of 16777216 is cached (0 "
        "bytes in others); asked the driver for 16777216 bytes: device 0 overflow: requested 16777216 "
        "bytes, 15728640 free of 15728640, largest free block 15728640 (1 blocks): exhausted");
    tla_pool_buffer buffer;
    BOOST_REQUIRE_EQUAL(tla_caching_pool_acquire(p.cache, 0, 8 * MiB, &buffer, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_caching_pool_release(p.cache, buffer, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(p.why(16 * MiB),
                      "caching_pool overflow: requested 16777216 bytes, no buffer of their class of 16777216 is cached "
                      "(8388608 bytes in others); asked the driver for 16777216 bytes: device 0 overflow: requested "
                      "16777216 bytes, 7340032 free of 15728640, largest free block 7340032 (1 blocks): exhausted");
    // With 9 MiB more the buffer in the other class is all that is in the way.
    pool q(20 * MiB);
    BOOST_REQUIRE_EQUAL(tla_caching_pool_acquire(q.cache, 0, 8 * MiB, &buffer, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_caching_pool_release(q.cache, buffer, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(
        q.why(16 * MiB),
        "caching_pool overflow: requested 16777216 bytes, no buffer of their class of 16777216 is cached (8388608 "
        "bytes in others); asked the driver for 16777216 bytes: device 0 overflow: requested 16777216 bytes, 12582912 "
        "free of 20971520, largest free block 12582912 (1 blocks): exhausted, held by a front; trim the front's cache");
}

// What a graph's pool keeps is given back when the graph is gone; a request fails for want of it before.
BOOST_AUTO_TEST_CASE(a_segment_cache_reports_that_the_pool_of_a_graph_holds_the_missing_bytes) {
    const std::string front = "; to release enough, retire the pools of graphs, then empty the cache; asked";
    for (bool whole : {true, false}) {
        segments s(64 * MiB);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_add_pool(s.cache, {0, 1}, {}), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc_from(s.cache, {0, 1}, 0, 30 * MiB, &s.block, nullptr), TLA_OK);
        if (whole) BOOST_REQUIRE_EQUAL(tla_segment_cache_free(s.cache, s.block.offset, nullptr), TLA_OK);
        const std::string text = s.why(40 * MiB);
        BOOST_CHECK_MESSAGE((text.find(front) != std::string::npos) == whole, text);
        BOOST_CHECK_MESSAGE(text.find("held by a front") == std::string::npos, text); // emptying alone does not help
        BOOST_REQUIRE_EQUAL(tla_segment_cache_empty(s.cache, nullptr), TLA_OK);
        BOOST_CHECK_NE(tla_segment_cache_alloc(s.cache, 0, 40 * MiB, &s.block, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_retire_pool(s.cache, {0, 1}), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_empty(s.cache, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_segment_cache_alloc(s.cache, 0, 40 * MiB, &s.block, nullptr) == TLA_OK, whole);
    }
}

BOOST_AUTO_TEST_CASE(a_segment_cache_in_a_capture_reports_that_emptying_it_helps) {
    for (std::uint64_t limit : {std::uint64_t{0}, 50 * MiB}) {
        segments s(64 * MiB, limit);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(s.cache, 0, 30 * MiB, &s.block, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_free(s.cache, s.block.offset, nullptr), TLA_OK);
        tla_segment_cache_begin_capture(s.cache);
        const std::string text = s.why(40 * MiB);
        BOOST_CHECK_MESSAGE(text.find("held by a front; trim the front's cache") != std::string::npos, text);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_empty(s.cache, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_segment_cache_alloc(s.cache, 0, 40 * MiB, &s.block, nullptr), TLA_OK);
        tla_segment_cache_end_capture(s.cache);
    }
}

BOOST_AUTO_TEST_CASE(a_caching_pool_reports_its_byte_limit) {
    pool p(64 * MiB, 10 * MiB);
    BOOST_CHECK_EQUAL(p.why(9 * MiB),
                      "caching_pool overflow: requested 9437184 bytes, no buffer of their class of 16777216 is cached "
                      "(0 bytes in others); as many more beside the 0 reserved would exceed byte_limit, 10485760");
}

BOOST_AUTO_TEST_CASE(a_growing_pool_reports_its_bytes_and_the_failed_upstream_request) {
    growing g(4 * MiB);
    BOOST_CHECK_EQUAL(
        g.why(4 * MiB),
        "growing_pool overflow: requested 4194304 bytes, the pool has 1048576 free of 1048576, largest free block "
        "1048576; asked upstream down to 4194304 bytes: device 0 overflow: requested 4194304 bytes, 3145728 free of "
        "4194304, largest free block 3145728 (1 blocks): exhausted, held by a front; trim the front's cache");
    tla_block pins;
    BOOST_REQUIRE_EQUAL(tla_growing_pool_alloc(g.cache, 256, &pins, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(g.why(4 * MiB),
                      "growing_pool overflow: requested 4194304 bytes, the pool has 1048320 free of 1048576, largest "
                      "free block 1048320; asked upstream down to 4194304 bytes: device 0 overflow: requested 4194304 "
                      "bytes, 3145728 free of 4194304, largest free block 3145728 (1 blocks): exhausted");
}

BOOST_AUTO_TEST_CASE(a_growing_pool_reports_its_maximum) {
    growing g(64 * MiB, 3 * MiB);
    BOOST_CHECK_EQUAL(
        g.why(2 * MiB + 1),
        "growing_pool overflow: requested 2097153 bytes, the pool has 1048576 free of 1048576, largest free block "
        "1048576; maximum_size, 3145728, leaves 2097152 to grow by: held by a front; trim the front's cache");
}

BOOST_AUTO_TEST_CASE(a_driver_without_a_reason_is_reported_as_failed) {
    tla_segment_cache_config config{};
    config.driver = {never, nothing, nullptr, nullptr, nullptr};
    tla_segment_cache *cache = nullptr;
    BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &cache), TLA_OK);
    tla_block block;
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_segment_cache_alloc(cache, 0, 1, &block, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_segment_cache_explain(cache, "cache", 1, &error), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(error.text,
                      "cache overflow: requested 1 bytes, no cached block is suitable (0 bytes cached, 0 of them in "
                      "segments in use); asked the driver for a segment of 2097152 bytes: the allocation failed");
    tla_segment_cache_destroy(cache);
}

BOOST_AUTO_TEST_CASE(a_slot_pool_reports_its_free_slots) {
    const tla_slot_pool_config config{0, 8 * 4096, 4096, false, false};
    tla_slot_pool *pool = nullptr;
    BOOST_REQUIRE_EQUAL(tla_slot_pool_create(&config, &pool), TLA_OK);
    tla_slot slots[8];
    tla_error error{};
    BOOST_REQUIRE_EQUAL(tla_slot_pool_alloc_batch(pool, 100, 6, slots, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_slot_pool_alloc_batch(pool, 100, 3, slots, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_slot_pool_explain(pool, "pages", 100, 3, &error), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(error.text, "pages overflow: requested 3 slots of 4096 bytes, 2 free of 8: exhausted");
    BOOST_CHECK_EQUAL(error.requested, 3u * 4096);
    BOOST_CHECK_EQUAL(error.total_free, 2u * 4096);
    BOOST_CHECK_EQUAL(error.largest_free, 4096u);
    BOOST_CHECK_EQUAL(tla_slot_pool_explain(pool, "pages", 5000, 1, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(error.text, "pages: requested 5000 bytes, must be 1 .. 4096, the size of a slot");
    tla_slot_pool_destroy(pool);
}

BOOST_AUTO_TEST_CASE(mixed_memory_reports_the_batch_that_does_not_fit_and_its_place) {
    for (tla_batch batch : {TLA_BATCH_CONTIGUOUS, TLA_BATCH_CARVED}) {
        const tla_mixed_pool_config config{0, 16 * 4096, 4096, 0, batch};
        tla_mixed_pool *mixed = nullptr;
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_create(&config, &mixed), TLA_OK);
        tla_mixed_pool_block objects[16];
        tla_error error{};
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_alloc(mixed, TLA_FORMAT_KV_2LTD, 4096, 13, objects, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_free(mixed, objects, 1, nullptr), TLA_OK); // one block, and three at the end
        const tla_status status = tla_mixed_pool_alloc(mixed, TLA_FORMAT_KV_2LTD, 4096, 5, objects + 13, nullptr);
        BOOST_CHECK_EQUAL(status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(tla_mixed_pool_explain(mixed, "cpu", TLA_FORMAT_KV_2LTD, 4096, 5, &error), status);
        BOOST_CHECK_EQUAL(error.text, std::string("cpu: 5 objects of 4096 bytes in ") +
                                          (batch == TLA_BATCH_CONTIGUOUS ? "one block" : "any blocks") +
                                          ": buffer overflow: requested 20480 bytes, 16384 free of 65536, largest free "
                                          "block 12288 (2 blocks): exhausted");
        BOOST_CHECK_EQUAL(tla_mixed_pool_explain(mixed, "cpu", TLA_FORMAT_BINARY_BUFFER, 4096, 5, nullptr),
                          TLA_NO_HOST_MEMORY);
        BOOST_CHECK_EQUAL(tla_mixed_pool_explain(mixed, "cpu", TLA_FORMAT_BINARY, 4096, 5, nullptr),
                          TLA_INVALID_ARGUMENT);
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_free(mixed, objects + 1, 12, nullptr), TLA_OK);
        tla_mixed_pool_destroy(mixed);
    }
}

BOOST_AUTO_TEST_CASE(lazy_memory_reports_the_next_commit_and_its_time) {
    const tla_lazy_arena_config config{0, MiB, 4 * MiB, MiB, MiB, 1000, 500, 4096, TLA_FIRST_FIT};
    tla_lazy_arena *lazy = nullptr;
    BOOST_REQUIRE_EQUAL(tla_lazy_arena_create(&config, &lazy), TLA_OK);
    tla_block block;
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_lazy_arena_alloc(lazy, 0, 2 * MiB, &block, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_lazy_arena_explain(lazy, "pinned", 2 * MiB, &error), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(error.text,
                      "pinned overflow: requested 2097152 bytes, 1048576 free of 1048576, largest free "
                      "block 1048576 (1 blocks): exhausted; 1048576 bytes of 4194304 are committed, the next "
                      "at 1500 ps");
    BOOST_CHECK_EQUAL(tla_lazy_arena_alloc(lazy, 1500, 2 * MiB, &block, nullptr), TLA_OK);
    tla_lazy_arena_destroy(lazy);
    const tla_lazy_arena_config late{0, MiB, 4 * MiB, MiB, MiB, 1000, UINT64_MAX, 4096, TLA_FIRST_FIT};
    BOOST_REQUIRE_EQUAL(tla_lazy_arena_create(&late, &lazy), TLA_OK);
    tla_lazy_arena_explain(lazy, "pinned", 2 * MiB, &error);
    BOOST_CHECK_MESSAGE(
        std::string(error.text).find("the next only after the end of simulated time") != std::string::npos, error.text);
    tla_lazy_arena_destroy(lazy);
}

BOOST_AUTO_TEST_CASE(lockstep_reports_the_bytes_of_a_buffer_in_every_bank) {
    const tla_lockstep_config config{8, 0, 4096, 32, TLA_BOTTOM_UP};
    tla_lockstep *lockstep = nullptr;
    BOOST_REQUIRE_EQUAL(tla_lockstep_create(&config, &lockstep), TLA_OK);
    tla_lockstep_buffer buffer;
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_lockstep_alloc(lockstep, 40000, 1000, &buffer, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_lockstep_explain(lockstep, "L1", 40000, 1000, &error), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(error.text, "L1: 40 pages of 1024 bytes around 8 banks: every bank overflow: requested 5120 "
                                  "bytes, 4096 free of 4096, largest free block 4096 (1 blocks): exhausted");
    BOOST_CHECK_EQUAL(tla_lockstep_explain(lockstep, "L1", 0, 1000, &error), TLA_INVALID_ARGUMENT);
    tla_lockstep_destroy(lockstep);
}
