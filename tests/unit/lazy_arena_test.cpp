// Capacity that grows with the caller's clock.
#include "seeded_random.hpp"
#include "tlmalloc/cache/buffer_pools.h"

#include <vector>

namespace {

constexpr std::uint64_t MiB = 1 << 20, ms = 1000000000;

// 32 MiB at first, 256 in the end; 16 MiB pinned every 10 ms, committed by 64 MiB.
tla_lazy_arena_config growing() {
    return {0x40000000, 32 * MiB, 256 * MiB, 16 * MiB, 64 * MiB, 10 * ms, 5 * ms, 4096, TLA_FIRST_FIT};
}

struct lazy {
    explicit lazy(const tla_lazy_arena_config &config = growing()) {
        BOOST_REQUIRE_EQUAL(tla_lazy_arena_create(&config, &l), TLA_OK);
    }
    lazy(const lazy &) = delete;
    ~lazy() { tla_lazy_arena_destroy(l); }
    tla_status alloc(std::uint64_t now, std::uint64_t nbytes, tla_block *block) {
        return tla_lazy_arena_alloc(l, now, nbytes, block, nullptr);
    }
    std::uint64_t capacity_at(std::uint64_t now) {
        BOOST_REQUIRE_EQUAL(tla_lazy_arena_advance(l, now, nullptr), TLA_OK);
        return tla_lazy_arena_get_stats(l).capacity / MiB;
    }
    tla_lazy_arena *l = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_request_that_fails_early_succeeds_later) { // 2.9: 64 MiB from a 32 MiB start
    lazy l;
    tla_block block{};
    BOOST_CHECK_EQUAL(l.alloc(0, 64 * MiB, &block), TLA_EXHAUSTED);
    std::uint64_t when = 0;
    BOOST_REQUIRE(tla_lazy_arena_next_commit(l.l, &when));
    BOOST_CHECK_EQUAL(when, 45 * ms); // 4 chunks of 10 ms from 5 ms on
    BOOST_CHECK_EQUAL(l.alloc(when - 1, 64 * MiB, &block), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(l.alloc(when, 64 * MiB, &block), TLA_OK);
    BOOST_CHECK_EQUAL(block.offset, 0x40000000u);
}

BOOST_AUTO_TEST_CASE(capacity_grows_by_whole_commits_and_the_rest_at_the_end) {
    lazy l;
    BOOST_CHECK_EQUAL(l.capacity_at(0), 32u);
    BOOST_CHECK_EQUAL(l.capacity_at(44 * ms), 32u);
    BOOST_CHECK_EQUAL(l.capacity_at(45 * ms), 96u);
    BOOST_CHECK_EQUAL(l.capacity_at(20 * ms), 96u); // never back
    BOOST_CHECK_EQUAL(l.capacity_at(130 * ms), 224u);
    std::uint64_t when = 0;
    BOOST_REQUIRE(tla_lazy_arena_next_commit(l.l, &when));
    BOOST_CHECK_EQUAL(when, 145 * ms); // the last 32 MiB make no whole commit
    BOOST_CHECK_EQUAL(l.capacity_at(144 * ms), 224u);
    BOOST_CHECK_EQUAL(l.capacity_at(145 * ms), 256u);
    BOOST_CHECK(!tla_lazy_arena_next_commit(l.l, &when));
    BOOST_CHECK_EQUAL(l.capacity_at(~std::uint64_t{0}), 256u);
}

BOOST_AUTO_TEST_CASE(committed_memory_joins_the_free_end) { // sbrk coalesces: free space spans commits
    lazy l;
    tla_block block{};
    BOOST_CHECK_EQUAL(l.alloc(0, 16 * MiB, &block), TLA_OK);
    BOOST_CHECK_EQUAL(l.capacity_at(1000 * ms), 256u);
    BOOST_CHECK_EQUAL(tla_lazy_arena_get_stats(l.l).free_blocks, 1u);
    BOOST_CHECK_EQUAL(l.alloc(1000 * ms, 240 * MiB, &block), TLA_OK);
}

BOOST_AUTO_TEST_CASE(every_object_is_aligned_and_batches_are_all_or_nothing) {
    lazy l;
    std::vector<tla_block> blocks(10);
    BOOST_REQUIRE_EQUAL(tla_lazy_arena_alloc_batch(l.l, 0, 5000, 10, TLA_BATCH_CARVED, blocks.data(), nullptr), TLA_OK);
    for (const tla_block &block : blocks)
        BOOST_CHECK_EQUAL(block.offset % 4096, 0u);
    std::uint64_t used = tla_lazy_arena_get_stats(l.l).used;
    BOOST_CHECK_EQUAL(tla_lazy_arena_alloc_batch(l.l, 0, 16 * MiB, 3, TLA_BATCH_CARVED, blocks.data(), nullptr),
                      TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_lazy_arena_get_stats(l.l).used, used);
    BOOST_CHECK_EQUAL(tla_lazy_arena_alloc_batch(l.l, 50 * ms, 16 * MiB, 3, TLA_BATCH_CARVED, blocks.data(), nullptr),
                      TLA_OK);
    BOOST_CHECK_EQUAL(tla_lazy_arena_free(l.l, 50 * ms, blocks[1], nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_lazy_arena_free(l.l, 50 * ms, blocks[1], nullptr), TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(sizes_are_rounded_up_to_the_chunk) {
    tla_lazy_arena_config config = growing();
    config.initial_bytes = 1;
    config.final_bytes = 100 * MiB;
    lazy l(config);
    BOOST_CHECK_EQUAL(l.capacity_at(0), 16u);
    BOOST_CHECK_EQUAL(l.capacity_at(1000 * ms), 112u);
}

BOOST_AUTO_TEST_CASE(without_a_pinning_time_everything_is_there_from_the_start) {
    tla_lazy_arena_config config = growing();
    config.chunk_ps = 0;
    lazy l(config);
    BOOST_CHECK_EQUAL(l.capacity_at(5 * ms), 256u);
}

BOOST_AUTO_TEST_CASE(it_may_begin_with_nothing) {
    tla_lazy_arena_config config = growing();
    config.initial_bytes = 0;
    lazy l(config);
    tla_block block{};
    BOOST_CHECK_EQUAL(l.alloc(0, 1, &block), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(l.alloc(45 * ms, 64 * MiB, &block), TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_configuration_out_of_range_is_rejected) {
    std::vector<tla_lazy_arena_config> bad(7, growing());
    bad[0].chunk_bytes = 0;
    bad[1].commit_bytes = 24 * MiB;
    bad[2].initial_bytes = 512 * MiB;
    bad[3].final_bytes = ~std::uint64_t{0};
    bad[4].chunk_bytes = 1000; // no multiple of the alignment
    bad[5].alignment = 3 * MiB;
    bad[6].base = std::uint64_t{1} << 63;
    for (const tla_lazy_arena_config &config : bad) {
        tla_lazy_arena *none = nullptr;
        BOOST_CHECK_EQUAL(tla_lazy_arena_create(&config, &none), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(none == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(at_random_times_the_capacity_is_that_of_a_naive_count) {
    seeded_random random(61);
    for (int i = 0; i < 2000; i++) {
        std::uint64_t chunk = 4096 * random.between(1, 4), commit = chunk * random.between(1, 5);
        tla_lazy_arena_config config{0,
                                     random.between(0, 100000),
                                     random.between(100000, 400000),
                                     chunk,
                                     commit,
                                     random.between(1, 9),
                                     random.between(0, 20),
                                     4096,
                                     TLA_FIRST_FIT};
        lazy l(config);
        std::uint64_t now = 0, initial = (config.initial_bytes + chunk - 1) / chunk * chunk;
        std::uint64_t final_bytes = (config.final_bytes + chunk - 1) / chunk * chunk, capacity = initial, pinned = 0;
        for (int step = 0; step < 20; step++) {
            std::uint64_t until = now + random.between(0, 40);
            for (; now < until; now++) { // one picosecond after the other
                std::uint64_t passed = now + 1 > config.start_ps ? now + 1 - config.start_ps : 0;
                if (passed && passed % config.chunk_ps == 0 && initial + pinned < final_bytes) {
                    pinned += chunk;
                    if (pinned % commit == 0 || initial + pinned == final_bytes) capacity = initial + pinned;
                }
            }
            BOOST_REQUIRE_EQUAL(tla_lazy_arena_advance(l.l, now, nullptr), TLA_OK);
            BOOST_REQUIRE_EQUAL(tla_lazy_arena_get_stats(l.l).capacity, capacity);
        }
    }
}
