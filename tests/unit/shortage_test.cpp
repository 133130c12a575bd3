// Every byte of the gap in one class: by hand, and against what the cache really gives back.
#include "model/cache/shortage.h"
#include "seeded_random.hpp"
#include "tlmalloc/segments/segment_cache.h"

#include <cstdlib>
#include <memory>
#include <vector>

namespace {

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;

struct device {
    std::uint64_t next = std::uint64_t{1} << 32;
    static tla_status give(void *c, std::uint64_t nbytes, std::uint64_t *address) {
        *address = static_cast<device *>(c)->next;
        static_cast<device *>(c)->next += nbytes;
        return TLA_OK;
    }
    static tla_status alloc(void *c, std::uint32_t, std::uint64_t nbytes, std::uint64_t *address, tla_work *) {
        return give(c, nbytes, address);
    }
    static tla_status reserve(void *c, std::uint32_t, std::uint64_t nbytes, std::uint64_t, std::uint64_t *address,
                              tla_work *) {
        return give(c, nbytes, address);
    }
    static tla_status free(void *, std::uint32_t, std::uint64_t, std::uint64_t, tla_work *) { return TLA_OK; }
    static tla_status map(void *, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t, tla_work *) {
        return TLA_OK;
    }
};

struct cache {
    explicit cache(bool expandable, std::uint64_t max_split = 0) {
        config.driver.alloc = device::alloc;
        config.driver.free = device::free;
        config.driver.context = &d;
        config.ranges = {device::reserve, device::free, device::map, device::map, &d};
        config.expandable = expandable;
        config.max_split_size = max_split;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &c), TLA_OK);
    }
    ~cache() { tla_segment_cache_destroy(c); }
    cache(const cache &) = delete;
    std::uint64_t alloc(std::uint64_t nbytes, std::uint64_t stream = 0) {
        tla_block block{};
        BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(c, stream, nbytes, &block, nullptr), TLA_OK);
        return block.offset;
    }
    void free(std::uint64_t address) { BOOST_REQUIRE_EQUAL(tla_segment_cache_free(c, address, nullptr), TLA_OK); }
    tla_gap explain(std::uint64_t stream, std::uint64_t nbytes) {
        tla_segment_block_info *blocks = nullptr;
        std::size_t count = 0;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_blocks(c, &blocks, &count), TLA_OK);
        tla_gap_request request = tla_gap_request_of(&config, stream, nbytes);
        tla_gap gap = tla_gap_explain(blocks, count, &request);
        std::free(blocks);
        return gap;
    }
    device d{};
    tla_segment_cache_config config{};
    tla_segment_cache *c = nullptr;
};

std::uint64_t sum(const tla_gap &gap) {
    std::uint64_t all = 0;
    for (std::uint64_t bytes : gap.classes)
        all += bytes;
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_class_by_hand) {
    cache c(false);
    c.free(c.alloc(30 * MiB));    // soft
    c.free(c.alloc(24 * MiB, 1)); // stream
    c.free(c.alloc(512));         // other pool: 2 MiB
    std::uint64_t a = c.alloc(12 * MiB, 2);
    c.free(c.alloc(4 * MiB, 3)); // stream: 20 MiB
    c.alloc(5 * MiB, 4);         // hard: 15 MiB behind it
    BOOST_REQUIRE_EQUAL(tla_segment_cache_begin_use(c.c, a), TLA_OK);
    c.free(a); // pending: 12 MiB
    tla_gap gap = c.explain(0, 40 * MiB);
    BOOST_CHECK_EQUAL(gap.classes[TLA_GAP_SOFT], 30 * MiB);
    BOOST_CHECK_EQUAL(gap.classes[TLA_GAP_STREAM], 44 * MiB);
    BOOST_CHECK_EQUAL(gap.classes[TLA_GAP_OTHER_POOL], 2 * MiB);
    BOOST_CHECK_EQUAL(gap.classes[TLA_GAP_HARD], 15 * MiB);
    BOOST_CHECK_EQUAL(gap.classes[TLA_GAP_PENDING], 12 * MiB);
    BOOST_CHECK_EQUAL(gap.allocated, 5 * MiB);
    BOOST_CHECK_EQUAL(gap.reserved, 108 * MiB);
    BOOST_CHECK_EQUAL(gap.largest_free, 30 * MiB);
    BOOST_CHECK_EQUAL(tla_gap_largest_class(&gap), TLA_GAP_STREAM);
    BOOST_CHECK_EQUAL(sum(gap), gap.reserved - gap.allocated);
}

// #123548: what A and B leave is large enough for A and may not be taken.
BOOST_AUTO_TEST_CASE(the_explanation_counts_memory_that_the_oversize_rules_withhold) {
    cache c(true, 128 * MiB);
    c.alloc(64 * MiB);
    std::uint64_t a = c.alloc(91 * MiB), b = c.alloc(91 * MiB / 2);
    c.alloc(2 * MiB);
    c.free(a);
    c.free(b);
    BOOST_CHECK_EQUAL(c.explain(0, 91 * MiB).refused, 273 * MiB / 2);
    BOOST_CHECK_EQUAL(c.explain(0, 137 * MiB).refused, 0u); // too small anyway
    c.config.exempt_expandable = true;
    BOOST_CHECK_EQUAL(c.explain(0, 91 * MiB).refused, 0u);
}

BOOST_AUTO_TEST_CASE(slack_is_what_rounding_and_unsplit_rests_take) {
    cache c(false);
    c.alloc(11 * MiB - 100); // of 12 MiB, not split
    tla_gap gap = c.explain(0, 512);
    BOOST_CHECK_EQUAL(tla_gap_slack(&gap), MiB + 100);
    BOOST_CHECK_EQUAL(tla_gap_largest_class(&gap), TLA_GAP_CLASS_COUNT);
}

BOOST_AUTO_TEST_CASE(the_releasable_classes_are_what_the_cache_gives_back) {
    for (std::uint64_t seed = 1; seed <= 60; seed++) {
        BOOST_TEST_INFO("seed " << seed);
        seeded_random random(seed);
        cache c(seed % 2, random.one_in(3) ? 64 * MiB : 0);
        std::vector<std::uint64_t> live;
        for (int i = 0; i < 300; i++) {
            if (live.empty() || random.one_in(2)) {
                live.push_back(
                    c.alloc(random.between(1, random.one_in(3) ? 100 * MiB : 2 * MiB), random.between(0, 2)));
            } else {
                std::swap(live[random.between(0, live.size() - 1)], live.back());
                if (random.one_in(9)) tla_segment_cache_begin_use(c.c, live.back());
                c.free(live.back());
                live.pop_back();
            }
            tla_gap gap = c.explain(random.between(0, 3), random.between(1, 30 * MiB));
            tla_segment_cache_stats stats = tla_segment_cache_get_stats(c.c);
            BOOST_REQUIRE_EQUAL(gap.reserved, stats.reserved);
            BOOST_REQUIRE_EQUAL(gap.allocated, stats.allocated);
            BOOST_REQUIRE_EQUAL(gap.requested, stats.requested);
            BOOST_REQUIRE_EQUAL(gap.classes[TLA_GAP_PENDING], stats.active - stats.allocated);
            BOOST_REQUIRE_EQUAL(sum(gap), stats.reserved - stats.allocated);
        }
        tla_segment_cache_empty(c.c, nullptr); // ends what is pending
        for (int i = 0; i < 20 && !live.empty(); i++) {
            c.free(live.back());
            live.pop_back();
        }
        tla_gap gap = c.explain(0, MiB);
        std::uint64_t before = tla_segment_cache_get_stats(c.c).reserved;
        tla_segment_cache_empty(c.c, nullptr);
        BOOST_CHECK_EQUAL(before - tla_segment_cache_get_stats(c.c).reserved,
                          gap.classes[TLA_GAP_SOFT] + gap.classes[TLA_GAP_STREAM] + gap.classes[TLA_GAP_OTHER_POOL]);
    }
}

BOOST_AUTO_TEST_CASE(a_failed_request_has_one_of_four_reasons) {
    BOOST_CHECK_EQUAL(tla_shortage_of(100, 100, 0, 0), TLA_SHORTAGE_FRAGMENTED);
    BOOST_CHECK_EQUAL(tla_shortage_of(100, 99, 1, 1), TLA_SHORTAGE_RESERVED);
    BOOST_CHECK_EQUAL(tla_shortage_of(100, 40, 59, 60), TLA_SHORTAGE_FRONT);
    BOOST_CHECK_EQUAL(tla_shortage_of(100, 40, 59, 59), TLA_SHORTAGE_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_shortage_name(TLA_SHORTAGE_FRONT), std::string("held by a front"));
}
