// Numbers that PyTorch's allocator is known for, to the byte: the growth of #123548 and what #193400 would make of it,
// a sequence of expandable segments by hand, the three causes of a gap between reserved and allocated.
#include "tlmalloc/base/work.h"
#include "tlmalloc/segments/segment_cache.h"

#include <array>
#include <boost/test/unit_test.hpp>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

// A device with so much memory and ascending addresses; maps are told as offsets in their ranges.
struct device {
    std::uint64_t capacity, used = 0, next = GiB;
    std::vector<std::uint64_t> ranges{};
    std::vector<std::string> calls{};

    static device &of(void *context) { return *static_cast<device *>(context); }
    bool take(std::uint64_t nbytes) {
        if (nbytes > capacity - used) return false;
        used += nbytes;
        return true;
    }
    void say(const char *what, std::uint64_t address, std::uint64_t nbytes) {
        std::size_t i = ranges.size() - 1;
        while (ranges[i] > address)
            i--;
        std::ostringstream text;
        text << what << " R" << i << "+" << static_cast<double>(address - ranges[i]) / MiB << ","
             << static_cast<double>(nbytes) / MiB;
        calls.push_back(text.str());
    }
    std::uint64_t give_address(std::uint64_t nbytes) {
        std::uint64_t address = next;
        next += nbytes;
        return address;
    }
    static tla_status alloc(void *c, std::uint32_t, std::uint64_t nbytes, std::uint64_t *address, tla_work *) {
        if (!of(c).take(nbytes)) return TLA_EXHAUSTED;
        *address = of(c).give_address(nbytes);
        return TLA_OK;
    }
    static tla_status free(void *c, std::uint32_t, std::uint64_t, std::uint64_t nbytes, tla_work *) {
        of(c).used -= nbytes;
        return TLA_OK;
    }
    static tla_status reserve(void *c, std::uint32_t, std::uint64_t nbytes, std::uint64_t, std::uint64_t *address,
                              tla_work *) {
        *address = of(c).give_address(nbytes);
        of(c).ranges.push_back(*address);
        return TLA_OK;
    }
    static tla_status release(void *, std::uint32_t, std::uint64_t, std::uint64_t, tla_work *) { return TLA_OK; }
    static tla_status map(void *c, std::uint32_t, std::uint64_t address, std::uint64_t nbytes, std::uint64_t,
                          tla_work *) {
        if (!of(c).take(nbytes)) return TLA_EXHAUSTED;
        of(c).say("map", address, nbytes);
        return TLA_OK;
    }
    static tla_status unmap(void *c, std::uint32_t, std::uint64_t address, std::uint64_t nbytes, std::uint64_t,
                            tla_work *) {
        of(c).used -= nbytes;
        of(c).say("unmap", address, nbytes);
        return TLA_OK;
    }
};

struct cache {
    cache(std::uint64_t capacity, bool expandable, std::uint64_t max_split = 0, bool exempt = false) : d{capacity} {
        tla_segment_cache_config config{};
        config.driver.alloc = device::alloc;
        config.driver.free = device::free;
        config.driver.context = &d;
        config.ranges = {device::reserve, device::release, device::map, device::unmap, &d};
        config.device_bytes = 80 * GiB;
        config.expandable = expandable;
        config.max_split_size = max_split;
        config.exempt_expandable = exempt;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &c), TLA_OK);
    }
    ~cache() { tla_segment_cache_destroy(c); }
    cache(const cache &) = delete;
    bool try_alloc(std::uint64_t nbytes, std::uint64_t *address = nullptr, std::uint64_t stream = 0) {
        tla_block block{};
        if (tla_segment_cache_alloc(c, stream, nbytes, &block, nullptr)) return false;
        if (address) *address = block.offset;
        return true;
    }
    std::uint64_t alloc(std::uint64_t nbytes, std::uint64_t stream = 0) {
        std::uint64_t address = 0;
        BOOST_REQUIRE(try_alloc(nbytes, &address, stream));
        return address;
    }
    void free(std::uint64_t address) { BOOST_REQUIRE_EQUAL(tla_segment_cache_free(c, address, nullptr), TLA_OK); }
    tla_segment_cache_stats stats() { return tla_segment_cache_get_stats(c); }
    device d;
    tla_segment_cache *c = nullptr;
};

constexpr std::uint64_t unlimited = std::uint64_t{1} << 60;

// One cycle of #123548's program; false when memory is out.
bool cycle(cache &c) {
    std::uint64_t a, b;
    if (!c.try_alloc(91 * MiB, &a) || !c.try_alloc(91 * MiB / 2, &b) || !c.try_alloc(2 * MiB)) return false;
    c.free(a);
    c.free(b);
    return true;
}

// Reserved and allocated MiB after chosen cycles.
std::map<int, std::pair<std::uint64_t, std::uint64_t>> grow(cache &c, const std::vector<int> &cycles) {
    std::map<int, std::pair<std::uint64_t, std::uint64_t>> found;
    c.alloc(64 * MiB);
    for (int i = 0; i <= cycles.back(); i++) {
        BOOST_REQUIRE(cycle(c));
        for (int told : cycles)
            if (told == i) found[i] = {c.stats().reserved / MiB, c.stats().allocated / MiB};
    }
    return found;
}

const std::vector<int> published{0, 20, 40, 60, 80, 100};

} // namespace

BOOST_AUTO_TEST_CASE(expandable_with_max_split_size_grows_as_published) {
    cache c(unlimited, true, 128 * MiB);
    auto found = grow(c, {0, 20, 40, 60, 80, 100, 140, 144});
    const std::map<int, std::pair<std::uint64_t, std::uint64_t>> expected{
        {0, {220, 66}},     {20, {2980, 106}},   {40, {5760, 146}},   {60, {8520, 186}},
        {80, {11300, 226}}, {100, {14060, 266}}, {140, {19600, 346}}, {144, {20160, 354}}};
    BOOST_CHECK(found == expected);
}

BOOST_AUTO_TEST_CASE(on_16000_mib_the_first_retry_is_in_cycle_115) {
    struct point {
        std::uint64_t capacity, peak;
        int cycle;
    };
    for (const point &p : {point{16000, 16000, 115}, point{15860, 15860, 114}, point{15959, 15860, 114}}) {
        cache c(p.capacity * MiB, true, 128 * MiB);
        c.alloc(64 * MiB);
        int i = -1;
        while (c.stats().retries == 0) {
            i++;
            BOOST_REQUIRE(cycle(c));
        }
        BOOST_CHECK_EQUAL(i, p.cycle);
        BOOST_CHECK_EQUAL(c.stats().peak_reserved, p.peak * MiB);
        if (p.capacity == 16000) {
            BOOST_CHECK_EQUAL(c.stats().allocated, 296 * MiB);
            BOOST_CHECK_EQUAL(c.stats().reserved, 2680 * MiB);
        }
    }
}

BOOST_AUTO_TEST_CASE(expandable_alone_or_exempt_from_the_oversize_rules_does_not_grow) {
    for (bool exempt : {false, true}) {
        cache c(unlimited, true, exempt ? 128 * MiB : 0, exempt);
        auto found = grow(c, published);
        BOOST_CHECK_EQUAL(found[0].first, 220u);
        BOOST_CHECK_EQUAL(found[100].first, 420u);
    }
}

BOOST_AUTO_TEST_CASE(plain_segments_grow_by_20_mib_in_10_cycles) {
    for (std::uint64_t max_split : {std::uint64_t{0}, 128 * MiB}) {
        cache c(unlimited, false, max_split);
        auto found = grow(c, {0, 100, 279, 280, 289, 290});
        BOOST_CHECK_EQUAL(found[0].first, 222u);
        BOOST_CHECK_EQUAL(found[100].first, 422u);
        BOOST_CHECK_EQUAL(found[279].first, 762u);
        BOOST_CHECK_EQUAL(found[280].first, 782u); // after 281 .. 290 cycles
        BOOST_CHECK_EQUAL(found[289].first, 782u);
        BOOST_CHECK_EQUAL(found[290].first, 802u);
    }
}

BOOST_AUTO_TEST_CASE(a_sequence_of_expandable_segments_goes_as_by_hand) {
    cache c(300 * MiB, true);
    auto at = [&](std::uint64_t address) {
        std::size_t i = c.d.ranges.size() - 1;
        while (c.d.ranges[i] > address)
            i--;
        std::ostringstream text;
        text << "R" << i << "+" << static_cast<double>(address - c.d.ranges[i]) / MiB;
        return text.str();
    };
    auto calls = [&] {
        std::string all;
        for (const std::string &call : c.d.calls)
            all += (all.empty() ? "" : "; ") + call;
        c.d.calls.clear();
        return all;
    };
    auto told = [&](std::uint64_t address) { return at(address) + " " + calls(); }; // after the call that it is of
    std::uint64_t a = c.alloc(30 * MiB);
    BOOST_CHECK_EQUAL(told(a), "R0+0 map R0+0,40");
    std::uint64_t b = c.alloc(91 * MiB / 2);
    BOOST_CHECK_EQUAL(told(b), "R0+30 map R0+40,40");
    BOOST_CHECK_EQUAL(told(c.alloc(3 * MiB)), "R0+75.5 ");
    c.free(b);
    BOOST_CHECK_EQUAL(told(c.alloc(60 * MiB)), "R0+78.5 map R0+80,60");
    BOOST_CHECK_EQUAL(told(c.alloc(MiB / 2)), "R1+0 map R1+0,2");
    BOOST_CHECK_EQUAL(told(c.alloc(12 * MiB, 7)), "R2+0 map R2+0,20");
    c.free(a);
    BOOST_REQUIRE_EQUAL(tla_segment_cache_empty(c.c, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(calls(), "unmap R0+0,60");
    BOOST_CHECK_EQUAL(c.stats().reserved, 102 * MiB);
    BOOST_CHECK_EQUAL(told(c.alloc(50 * MiB)), "R0+0 map R0+0,60");
    std::uint64_t f = c.alloc(70 * MiB);
    BOOST_CHECK_EQUAL(told(f), "R0+138.5 map R0+140,80");
    c.free(f);
    BOOST_CHECK_EQUAL(told(c.alloc(110 * MiB)), "R0+138.5 map R0+220,40");
    BOOST_CHECK_EQUAL(c.stats().reserved, 282 * MiB);
    BOOST_CHECK(!c.try_alloc(40 * MiB));
}

// reserved before, after without a limit; after on the device, retries (failure: reserved 0).
using figures = std::array<std::uint64_t, 4>;

template <class prepare>
figures nine_gib(std::uint64_t capacity, bool expandable, prepare &&before) {
    figures found{};
    {
        cache c(unlimited, expandable);
        before(c);
        found[0] = c.stats().reserved / MiB;
        c.alloc(9 * GiB);
        found[1] = c.stats().reserved / MiB;
    }
    cache c(capacity * MiB, expandable);
    before(c);
    bool served = c.try_alloc(9 * GiB);
    found[2] = served ? c.stats().reserved / MiB : 0;
    found[3] = c.stats().retries;
    return found;
}

BOOST_AUTO_TEST_CASE(the_three_causes_of_a_gap_cost_what_they_are_known_to_cost) {
    auto soft = [](cache &c) {
        std::vector<std::uint64_t> blocks;
        for (int i = 0; i < 3; i++)
            blocks.push_back(c.alloc(3 * GiB));
        for (std::uint64_t block : blocks)
            c.free(block);
    };
    auto hard = [](cache &c) {
        c.free(c.alloc(18 * GiB));
        std::vector<std::uint64_t> blocks;
        for (int i = 0; i < 18; i++)
            blocks.push_back(c.alloc(GiB));
        for (std::size_t i = 0; i < blocks.size(); i += 2)
            c.free(blocks[i]);
    };
    auto stream = [](cache &c) { c.free(c.alloc(9 * GiB, 1)); };
    BOOST_CHECK((nine_gib(10240, false, soft) == figures{9216, 18432, 9216, 1}));
    BOOST_CHECK((nine_gib(10240, true, soft) == figures{9220, 9220, 9220, 0}));
    BOOST_CHECK((nine_gib(19456, false, hard) == figures{18432, 27648, 0, 1}));
    BOOST_CHECK((nine_gib(19456, true, hard) == figures{18440, 27660, 18580, 1}));
    BOOST_CHECK((nine_gib(10240, false, stream) == figures{9216, 18432, 9216, 1}));
    BOOST_CHECK((nine_gib(10240, true, stream) == figures{9220, 18440, 9220, 1}));
}

// Versions

BOOST_AUTO_TEST_CASE(up_to_2_4_oversize_blocks_cannot_be_given_back_when_they_are_expandable) {
    device d{300 * MiB};
    tla_segment_cache_config config{};
    config.driver.alloc = device::alloc;
    config.driver.free = device::free;
    config.driver.context = &d;
    config.ranges = {device::reserve, device::release, device::map, device::unmap, &d};
    config.expandable = true;
    config.max_split_size = 128 * MiB;
    for (bool aborts : {true, false}) {
        config.aborts_on_expandable = aborts;
        tla_segment_cache *c = nullptr;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &c), TLA_OK);
        tla_block block{}, other{};
        BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(c, 0, 200 * MiB, &block, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_free(c, block.offset, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_segment_cache_alloc(c, 0, 301 * MiB, &other, nullptr),
                          aborts ? TLA_UNSUPPORTED : TLA_EXHAUSTED);
        tla_segment_cache_destroy(c);
    }
}

BOOST_AUTO_TEST_CASE(a_private_pool_keeps_apart_and_goes_back_when_no_graph_uses_it) {
    cache c(100 * MiB, false);
    const tla_segment_pool_id graph{0, 1};
    BOOST_REQUIRE_EQUAL(tla_segment_cache_add_pool(c.c, graph, {}), TLA_OK);
    BOOST_CHECK_EQUAL(tla_segment_cache_add_pool(c.c, graph, {}), TLA_OVERLAP);
    BOOST_CHECK_EQUAL(tla_segment_cache_add_pool(c.c, {0, 0}, {}), TLA_INVALID_ARGUMENT);
    tla_block block{};
    BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc_from(c.c, graph, 0, 60 * MiB, &block, nullptr), TLA_OK);
    c.free(block.offset);
    BOOST_CHECK(!c.try_alloc(50 * MiB)); // what the graph's pool has free is not for others
    BOOST_CHECK_EQUAL(tla_segment_cache_alloc_from(c.c, {0, 2}, 0, 512, &block, nullptr), TLA_OUT_OF_RANGE);
    BOOST_REQUIRE_EQUAL(tla_segment_cache_retire_pool(c.c, graph), TLA_OK);
    tla_segment_cache_begin_capture(c.c);
    BOOST_CHECK(!c.try_alloc(50 * MiB)); // nothing is given back during a capture
    tla_segment_cache_end_capture(c.c);
    BOOST_CHECK(c.try_alloc(50 * MiB));
}

BOOST_AUTO_TEST_CASE(a_mempool_can_help_out_and_keep_its_blocks_whole) {
    cache c(100 * MiB, false);
    const tla_segment_pool_id pool{1, 0};
    BOOST_REQUIRE_EQUAL(tla_segment_cache_add_pool(c.c, pool, {true, true, false}), TLA_OK);
    tla_block block{};
    BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc_from(c.c, pool, 0, 60 * MiB, &block, nullptr), TLA_OK);
    c.free(block.offset);
    std::uint64_t address;
    BOOST_REQUIRE(c.try_alloc(50 * MiB, &address));
    BOOST_CHECK_EQUAL(address, block.offset);
    BOOST_CHECK_EQUAL(c.stats().allocated, 60 * MiB); // not split
    BOOST_CHECK_EQUAL(c.stats().retries, 0u);
}

// Receipts

BOOST_AUTO_TEST_CASE(a_receipt_counts_ranges_mapped_and_driver_calls) {
    tla_arena_config memory{};
    memory.capacity = 200 * MiB;
    tla_arena *arena = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&memory, &arena), TLA_OK);
    tla_arena_set set{&arena, 1};
    tla_arena_ranges *ranges = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_ranges_create(&set, &ranges), TLA_OK);
    tla_segment_cache_config config{};
    config.driver = tla_arena_upstream(&set);
    config.ranges = tla_arena_ranges_upstream(ranges);
    config.device_bytes = memory.capacity;
    config.expandable = true;
    tla_segment_cache *c = nullptr;
    BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &c), TLA_OK);
    tla_block block{};
    tla_work work{};
    BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(c, 0, 50 * MiB, &block, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.chunks, 3u);       // granules of 20 MiB, each with memory of its own
    BOOST_CHECK_EQUAL(work.pte_writes, 30u);  // pages of 2 MiB
    BOOST_CHECK_EQUAL(work.driver_calls, 2u); // reserve, map
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena).used, 60 * MiB);
    work = {};
    BOOST_REQUIRE_EQUAL(tla_segment_cache_free(c, block.offset, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.driver_calls, 0u);
    BOOST_REQUIRE_EQUAL(tla_segment_cache_empty(c, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.chunks, 3u);
    BOOST_CHECK_EQUAL(work.invalidates, 1u);
    BOOST_CHECK_EQUAL(work.driver_calls, 2u); // unmap, and the range is given up
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena).used, 0u);
    tla_cost_profile price{};
    price.driver_call_ps = 1000;
    price.pte_write_ps = 10;
    BOOST_CHECK_EQUAL(tla_cost_price(&price, &work), 2300u);
    work = {};
    BOOST_CHECK_EQUAL(tla_segment_cache_alloc(c, 0, 201 * MiB, &block, &work), TLA_EXHAUSTED); // the arena has 200
    BOOST_CHECK_EQUAL(tla_arena_get_stats(arena).used, 0u);                                    // all or nothing
    BOOST_CHECK_EQUAL(tla_segment_cache_destroy(c), TLA_OK);
    tla_arena_ranges_destroy(ranges);
    tla_arena_destroy(arena);
}
