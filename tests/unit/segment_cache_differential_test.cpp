// The segment cache beside the naive allocator: all settings, streams, private pools and limits, at random, every
// address and every call of the driver.
#include "sanitized.hpp"
#include "seeded_random.hpp"
#include "tests/torch/recording.hpp"
#include "tlmalloc/segments/segment_cache.h"

#include <sstream>

using namespace naive_torch;

namespace {

const int rounds = is_sanitized() ? 10 : 50;
constexpr int operations = 5000; // four cases of 50 rounds: 1e6

// The same device once more, for the cache, and what it was asked for.
struct twin_device {
    device d;
    std::vector<std::string> calls{};
    void say(const char *action, u64 address, u64 size) {
        calls.push_back(std::string(action) + " " + std::to_string(address) + " " + std::to_string(size));
    }
    bool take(u64 size) {
        if (d.capacity != none && d.used + size > d.capacity) return false;
        d.used += size;
        return true;
    }
    static twin_device &of(void *context) { return *static_cast<twin_device *>(context); }
    static tla_status alloc(void *context, std::uint32_t, u64 size, u64 *address, tla_work *) {
        if (!of(context).take(size)) return TLA_EXHAUSTED;
        *address = of(context).d.plain_base(size);
        of(context).say("segment_alloc", *address, size);
        return TLA_OK;
    }
    static tla_status free(void *context, std::uint32_t, u64 address, u64 size, tla_work *) {
        of(context).d.used -= size;
        of(context).d.taken.erase(address);
        of(context).say("segment_free", address, size);
        return TLA_OK;
    }
    static tla_status reserve(void *context, std::uint32_t, u64 size, u64, u64 *address, tla_work *) {
        *address = of(context).d.range_base(size);
        return TLA_OK;
    }
    static tla_status release(void *, std::uint32_t, u64, u64, tla_work *) { return TLA_OK; }
    static tla_status map(void *context, std::uint32_t, u64 address, u64 size, u64 granule, tla_work *) {
        BOOST_REQUIRE_EQUAL(size % granule, 0u);
        if (!of(context).take(size)) return TLA_EXHAUSTED;
        of(context).say("segment_map", address, size);
        return TLA_OK;
    }
    static tla_status unmap(void *context, std::uint32_t, u64 address, u64 size, u64 granule, tla_work *) {
        BOOST_REQUIRE_EQUAL(size % granule, 0u);
        of(context).d.used -= size;
        of(context).say("segment_unmap", address, size);
        return TLA_OK;
    }
};

tla_segment_cache_config config_of(const settings &s, twin_device &twin) {
    tla_segment_cache_config c{};
    c.driver.alloc = twin_device::alloc;
    c.driver.free = twin_device::free;
    c.driver.context = &twin;
    c.ranges = {twin_device::reserve, twin_device::release, twin_device::map, twin_device::unmap, &twin};
    c.device_bytes = twin.d.bytes;
    c.memory_limit = s.limit == none ? 0 : s.limit;
    c.max_split_size = s.max_split == none ? 0 : s.max_split;
    c.max_non_split_rounding = s.max_non_split_rounding;
    c.large_segment_size = s.large_segment;
    c.gc_threshold = s.gc_threshold;
    std::copy(s.divisions.begin(), s.divisions.end(), c.power2_divisions);
    c.expandable = s.expandable;
    c.private_not_expandable = s.private_not_expandable;
    c.exempt_expandable = s.exempt_expandable;
    return c;
}

class pair {
  public:
    pair(const settings &s, const device &d, const std::vector<owner_id> &owners) : naive_(s, d), twin_{d} {
        tla_segment_cache_config config = config_of(s, twin_);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &cache_), TLA_OK);
        for (const owner_id &owner : owners)
            if (owner != owner_id{0, 0})
                BOOST_REQUIRE_EQUAL(tla_segment_cache_add_pool(cache_, {owner.first, owner.second}, {}), TLA_OK);
    }
    ~pair() { tla_segment_cache_destroy(cache_); }
    pair(const pair &) = delete;

    void run(seeded_random &random, const std::vector<owner_id> &owners, u64 streams, u64 largest) {
        for (int i = 0; i < operations; i++) {
            BOOST_TEST_INFO("operation " << i);
            while (!naive_.pending.empty() && random.one_in(3))
                end_use(naive_.pending[random.between(0, naive_.pending.size() - 1)]);
            if (random.one_in(400)) {
                naive_.empty_cache();
                BOOST_REQUIRE_EQUAL(tla_segment_cache_empty(cache_, nullptr), TLA_OK);
            } else if (random.one_in(500)) {
                capture();
            } else if (random.one_in(1000) && owners.size() > 1) {
                retire(owners.back());
            }
            if (live_.empty() || (live_.size() < 120 && random.one_in(2)))
                take(random, owners, streams, largest);
            else
                give(random);
            compare();
        }
        compare_blocks();
    }

  private:
    void take(seeded_random &random, const std::vector<owner_id> &owners, u64 streams, u64 largest) {
        u64 kind = random.between(0, 9);
        u64 n = random.between(1, kind < 5   ? 64 * KiB
                                  : kind < 6 ? MiB
                                  : kind < 8 ? 9 * MiB
                                  : kind < 9 ? 40 * MiB
                                             : largest);
        if (random.one_in(4)) n = (n + MiB) / MiB * MiB;
        owner_id owner = owners[random.between(0, owners.size() - 1)];
        if (std::count(naive_.retired.begin(), naive_.retired.end(), owner)) owner = {0, 0};
        u64 stream = random.between(0, streams - 1);
        std::optional<u64> expected = naive_.malloc(n, stream, owner);
        tla_block block{};
        tla_status status =
            tla_segment_cache_alloc_from(cache_, {owner.first, owner.second}, stream, n, &block, nullptr);
        BOOST_REQUIRE_EQUAL(status == TLA_OK, expected.has_value());
        if (!expected) return;
        BOOST_REQUIRE_EQUAL(block.offset, *expected);
        live_.push_back(*expected);
    }

    void give(seeded_random &random) {
        std::swap(live_[random.between(0, live_.size() - 1)], live_.back());
        u64 address = live_.back();
        live_.pop_back();
        for (u64 uses = random.one_in(6) ? random.between(1, 3) : 0; uses > 0; uses--) {
            naive_.use(address);
            BOOST_REQUIRE_EQUAL(tla_segment_cache_begin_use(cache_, address), TLA_OK);
        }
        naive_.free(address);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_free(cache_, address, nullptr), TLA_OK);
    }

    void end_use(u64 address) {
        naive_.end_use(address);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_end_use(cache_, address, nullptr), TLA_OK);
    }

    void capture() {
        naive_.capturing = !naive_.capturing;
        (naive_.capturing ? tla_segment_cache_begin_capture : tla_segment_cache_end_capture)(cache_);
    }

    void retire(owner_id owner) {
        if (std::count(naive_.retired.begin(), naive_.retired.end(), owner)) return;
        naive_.retired.push_back(owner);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_retire_pool(cache_, {owner.first, owner.second}), TLA_OK);
    }

    void compare() {
        for (; told_ < naive_.trace.size(); told_++) {
            const entry &e = naive_.trace[told_];
            if (e.action.rfind("segment_", 0) != 0) continue;
            std::ostringstream text;
            text << e.action << ' ' << e.address << ' ' << e.size;
            BOOST_REQUIRE_LT(calls_, twin_.calls.size());
            BOOST_REQUIRE_EQUAL(twin_.calls[calls_++], text.str());
        }
        BOOST_REQUIRE_EQUAL(calls_, twin_.calls.size());
        tla_segment_cache_stats stats = tla_segment_cache_get_stats(cache_);
        BOOST_REQUIRE_EQUAL(stats.reserved, naive_.reserved);
        BOOST_REQUIRE_EQUAL(stats.allocated, naive_.allocated);
        BOOST_REQUIRE_EQUAL(stats.requested, naive_.requested);
        BOOST_REQUIRE_EQUAL(stats.active, naive_.active);
        BOOST_REQUIRE_EQUAL(stats.retries, naive_.retries);
        BOOST_REQUIRE_EQUAL(stats.peak_reserved, naive_.peak_reserved);
        BOOST_REQUIRE_EQUAL(stats.driver_allocs + stats.driver_frees + stats.maps + stats.unmaps, naive_.driver_calls);
    }

    // Every block, in the end.
    void compare_blocks() {
        std::map<u64, const block *> expected;
        u64 inactive_split = 0;
        for (const segment &s : naive_.segments)
            for (const block &b : s.blocks) {
                expected[b.address] = &b;
                if (b.free() && !s.granule && s.blocks.size() > 1) inactive_split += b.size;
            }
        tla_segment_block_info *blocks = nullptr;
        std::size_t count = 0;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_blocks(cache_, &blocks, &count), TLA_OK);
        BOOST_REQUIRE_EQUAL(count, expected.size());
        std::size_t i = 0;
        for (const auto &[address, b] : expected) {
            BOOST_REQUIRE_EQUAL(blocks[i].address, address);
            BOOST_REQUIRE_EQUAL(blocks[i].nbytes, b->size);
            BOOST_REQUIRE_EQUAL(blocks[i].state, !b->mapped     ? TLA_SEGMENT_UNMAPPED
                                                 : b->allocated ? TLA_SEGMENT_ALLOCATED
                                                 : b->uses      ? TLA_SEGMENT_PENDING
                                                                : TLA_SEGMENT_FREE);
            i++;
        }
        std::free(blocks);
        BOOST_REQUIRE_EQUAL(tla_segment_cache_get_stats(cache_).inactive_split, inactive_split);
    }

    allocator naive_;
    twin_device twin_;
    tla_segment_cache *cache_ = nullptr;
    std::vector<u64> live_{};
    std::size_t told_ = 0, calls_ = 0;
};

void compare(u64 seed, bool expandable, bool bounded) {
    for (int round = 0; round < rounds; round++) {
        BOOST_TEST_INFO("seed " << seed << ", round " << round);
        seeded_random random(seed * 1000 + static_cast<u64>(round));
        settings s;
        s.expandable = expandable;
        if (random.one_in(2)) s.max_split = random.between(20, 200) * MiB;
        if (random.one_in(3)) s.max_non_split_rounding = random.between(20, 100) * MiB;
        if (random.one_in(3)) s.large_segment = random.between(6, 40) * 2 * MiB;
        if (random.one_in(2))
            for (unsigned &divisions : s.divisions)
                divisions = 1u << random.between(0, 4);
        s.exempt_expandable = random.one_in(4);
        s.private_not_expandable = random.one_in(3);
        device d;
        d.random.seed(seed + static_cast<u64>(round));
        d.bytes = 4 * GiB;
        if (bounded) d.capacity = random.between(300, 3000) * MiB;
        if (bounded && random.one_in(2)) s.limit = random.between(300, 3000) * MiB;
        if (bounded && random.one_in(2)) s.gc_threshold = static_cast<double>(random.between(1, 9)) / 10;
        std::vector<owner_id> owners{{0, 0}};
        for (u64 i = random.between(0, 2); i > 0; i--)
            owners.emplace_back(i, 7);
        pair(s, d, owners).run(random, owners, random.between(1, 4), random.between(30, 500) * MiB);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(plain_segments_match_the_naive_allocator) {
    compare(1, false, false);
}

BOOST_AUTO_TEST_CASE(plain_segments_on_a_small_device_match_the_naive_allocator) {
    compare(2, false, true);
}

BOOST_AUTO_TEST_CASE(expandable_segments_match_the_naive_allocator) {
    compare(3, true, false);
}

BOOST_AUTO_TEST_CASE(expandable_segments_on_a_small_device_match_the_naive_allocator) {
    compare(4, true, true);
}
