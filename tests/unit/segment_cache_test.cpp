// PyTorch's rules, one by one and against a naive model that scans every block.
#include "seeded_random.hpp"
#include "tlmalloc/segments/segment_cache.h"

#include <algorithm>
#include <list>
#include <map>
#include <vector>

namespace {

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

// A device that gives segment bases from a list, as a recording would, then upwards from 2^40; and a capacity.
struct recorded_device {
    std::uint64_t capacity = 64 * GiB;
    std::vector<std::uint64_t> bases{};
    std::uint64_t used = 0, next = std::uint64_t{1} << 40;
    std::vector<std::pair<char, std::uint64_t>> calls{}; // 'a' and 'f' with the bytes

    static tla_status alloc(void *context, std::uint32_t, std::uint64_t nbytes, std::uint64_t *address, tla_work *) {
        auto &d = *static_cast<recorded_device *>(context);
        if (nbytes > d.capacity - d.used) return TLA_EXHAUSTED;
        d.used += nbytes;
        d.calls.emplace_back('a', nbytes);
        if (d.bases.empty()) {
            *address = d.next;
            d.next += nbytes;
        } else {
            *address = d.bases.front();
            d.bases.erase(d.bases.begin());
        }
        return TLA_OK;
    }
    static tla_status free(void *context, std::uint32_t, std::uint64_t, std::uint64_t nbytes, tla_work *) {
        auto &d = *static_cast<recorded_device *>(context);
        d.used -= nbytes;
        d.calls.emplace_back('f', nbytes);
        return TLA_OK;
    }
    tla_upstream driver() { return {alloc, free, this}; }
};

struct cache {
    explicit cache(recorded_device &device, tla_segment_cache_config config = {}) {
        config.driver = device.driver();
        BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &c), TLA_OK);
    }
    cache(const cache &) = delete;
    ~cache() { tla_segment_cache_destroy(c); }
    tla_status try_alloc(std::uint64_t nbytes, std::uint64_t stream = 0) {
        tla_block block{};
        return tla_segment_cache_alloc(c, stream, nbytes, &block, nullptr);
    }
    tla_block alloc(std::uint64_t nbytes, std::uint64_t stream = 0) {
        tla_block block{};
        BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(c, stream, nbytes, &block, nullptr), TLA_OK);
        return block;
    }
    void free(const tla_block &block) { BOOST_REQUIRE_EQUAL(tla_segment_cache_free(c, block.offset, nullptr), TLA_OK); }
    tla_segment_cache_stats stats() { return tla_segment_cache_get_stats(c); }
    tla_segment_cache *c = nullptr;
};

tla_segment_cache_config with_max_split(std::uint64_t nbytes) {
    tla_segment_cache_config config{};
    config.max_split_size = nbytes;
    return config;
}

} // namespace

BOOST_AUTO_TEST_CASE(sizes_round_to_512_bytes) {
    for (auto [nbytes, rounded] : std::map<std::uint64_t, std::uint64_t>{
             {1, 512}, {511, 512}, {512, 512}, {513, 1024}, {1200, 1536}, {MiB + 1, MiB + 512}})
        BOOST_CHECK_EQUAL(tla_segment_cache_round(nbytes, 0), rounded);
    BOOST_CHECK_EQUAL(tla_segment_cache_round(~std::uint64_t{0}, 0), 0u);
}

BOOST_AUTO_TEST_CASE(power_of_two_divisions_round_to_the_next_step_between_powers) {
    // 1200 with 4 divisions -> 1280 is the example in PyTorch's source; its round_size divides only what is larger than
    // 512 bytes times the divisions, so the example holds for KiB and 1200 bytes round to 512 as ever.
    BOOST_CHECK_EQUAL(tla_segment_cache_round(1200 * KiB, 4), 1280 * KiB);
    BOOST_CHECK_EQUAL(tla_segment_cache_round(1200, 4), 1536u);
    BOOST_CHECK_EQUAL(tla_segment_cache_round(1024 * KiB, 4), 1024 * KiB);
    BOOST_CHECK_EQUAL(tla_segment_cache_round(1024 * KiB + 1, 4), 1280 * KiB);
    BOOST_CHECK_EQUAL(tla_segment_cache_round(1793 * KiB, 4), 2048 * KiB);
    BOOST_CHECK_EQUAL(tla_segment_cache_round(3 * MiB, 2), 3 * MiB);
    BOOST_CHECK_EQUAL(tla_segment_cache_round(3 * MiB + 1, 2), 4 * MiB);
}

BOOST_AUTO_TEST_CASE(segments_have_three_sizes) {
    for (auto [rounded, segment] : std::map<std::uint64_t, std::uint64_t>{{512, 2 * MiB},
                                                                          {MiB, 2 * MiB},
                                                                          {MiB + 512, 20 * MiB},
                                                                          {10 * MiB - 512, 20 * MiB},
                                                                          {10 * MiB, 10 * MiB},
                                                                          {10 * MiB + 512, 12 * MiB}})
        BOOST_CHECK_EQUAL(tla_segment_cache_segment_size(rounded), segment);
}

BOOST_AUTO_TEST_CASE(small_and_large_requests_never_share_a_segment) {
    recorded_device device;
    cache cache(device);
    tla_block small = cache.alloc(MiB), large = cache.alloc(MiB + 1);
    BOOST_CHECK_EQUAL(cache.stats().segments, 2u);
    cache.free(large); // 20 MiB free
    BOOST_CHECK_EQUAL(cache.alloc(MiB).offset, small.offset + MiB);
    cache.alloc(512);
    BOOST_CHECK_EQUAL(cache.stats().segments, 3u);
}

BOOST_AUTO_TEST_CASE(the_best_fit_wins_and_the_lowest_address_among_equals) {
    recorded_device device;
    device.bases = {96 * MiB, 32 * MiB, 64 * MiB};
    cache cache(device);
    tla_block twelve = cache.alloc(12 * MiB), ten = cache.alloc(10 * MiB), other = cache.alloc(10 * MiB);
    cache.free(twelve);
    cache.free(other);
    cache.free(ten);
    BOOST_CHECK_EQUAL(cache.alloc(10 * MiB).offset, 32 * MiB);
    BOOST_CHECK_EQUAL(cache.alloc(10 * MiB).offset, 64 * MiB);
    BOOST_CHECK_EQUAL(cache.alloc(10 * MiB).offset, 96 * MiB);
    BOOST_CHECK_EQUAL(cache.stats().inactive_split, 2 * MiB);
}

BOOST_AUTO_TEST_CASE(a_large_block_keeps_up_to_1_mib_of_slack) {
    recorded_device device;
    cache cache(device);
    BOOST_CHECK_EQUAL(cache.alloc(11 * MiB).nbytes, 12 * MiB);             // 1 MiB left: not split
    BOOST_CHECK_EQUAL(cache.alloc(11 * MiB - 512).nbytes, 11 * MiB - 512); // one step more: split
    BOOST_CHECK_EQUAL(cache.stats().requested, 22 * MiB - 512);
    BOOST_CHECK_EQUAL(cache.stats().allocated, 23 * MiB - 512);
}

BOOST_AUTO_TEST_CASE(a_small_block_is_split_down_to_512_bytes) {
    recorded_device device;
    cache cache(device);
    tla_block a = cache.alloc(MiB), b = cache.alloc(MiB - 512), c = cache.alloc(100);
    BOOST_CHECK_EQUAL(b.offset, a.offset + MiB);
    BOOST_CHECK_EQUAL(c.offset, a.offset + 2 * MiB - 512);
    BOOST_CHECK_EQUAL(cache.stats().segments, 1u);
    BOOST_CHECK_EQUAL(cache.stats().inactive_split, 0u);
}

BOOST_AUTO_TEST_CASE(a_stream_never_takes_a_block_of_another) {
    recorded_device device;
    cache cache(device);
    cache.free(cache.alloc(512, 1));
    cache.alloc(512, 2);
    BOOST_CHECK_EQUAL(cache.stats().segments, 2u);
    cache.alloc(512, 1);
    BOOST_CHECK_EQUAL(cache.stats().segments, 2u);
}

BOOST_AUTO_TEST_CASE(free_blocks_join_inside_a_segment_only) {
    recorded_device device; // gives adjacent segments
    cache cache(device);
    tla_block a = cache.alloc(10 * MiB), b = cache.alloc(10 * MiB);
    BOOST_REQUIRE_EQUAL(b.offset, a.offset + a.nbytes);
    cache.free(a);
    cache.free(b);
    cache.alloc(20 * MiB);
    BOOST_CHECK_EQUAL(cache.stats().segments, 3u);
    tla_block c = cache.alloc(512), d = cache.alloc(512), e = cache.alloc(512);
    cache.free(c);
    cache.free(e);
    BOOST_CHECK_EQUAL(cache.stats().inactive_split, 2 * MiB - 512);
    cache.free(d);
    BOOST_CHECK_EQUAL(cache.stats().inactive_split, 0u);
}

BOOST_AUTO_TEST_CASE(a_receipt_counts_probes_splits_and_joins) {
    recorded_device device;
    cache cache(device);
    tla_work work{};
    tla_block block{};
    BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(cache.c, 0, 512, &block, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.probes, 0u); // nothing is cached yet
    BOOST_CHECK_EQUAL(work.splits, 1u);
    BOOST_REQUIRE_EQUAL(tla_segment_cache_free(cache.c, block.offset, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.probes, 1u);
    BOOST_CHECK_EQUAL(work.merges, 1u);
}

BOOST_AUTO_TEST_CASE(a_request_below_max_split_size_never_takes_an_oversize_block) {
    recorded_device device;
    cache cache(device, with_max_split(64 * MiB));
    cache.free(cache.alloc(64 * MiB));
    tla_block small = cache.alloc(32 * MiB);
    BOOST_CHECK_EQUAL(cache.stats().segments, 2u);
    cache.free(small);
    BOOST_CHECK_EQUAL(cache.alloc(30 * MiB).offset, small.offset); // a normal block is split as ever
}

BOOST_AUTO_TEST_CASE(a_request_above_max_split_size_takes_at_most_20_mib_too_much_and_never_splits) {
    recorded_device device;
    cache cache(device, with_max_split(64 * MiB));
    tla_block hundred = cache.alloc(100 * MiB);
    cache.free(hundred);
    BOOST_CHECK_EQUAL(cache.alloc(80 * MiB).nbytes, 80 * MiB); // 100 >= 80 + 20: a segment of its own
    tla_block block = cache.alloc(80 * MiB + 512);
    BOOST_CHECK_EQUAL(block.offset, hundred.offset);
    BOOST_CHECK_EQUAL(block.nbytes, 100 * MiB);
}

BOOST_AUTO_TEST_CASE(oversize_blocks_go_back_before_anything_else) {
    recorded_device device;
    device.capacity = 300 * MiB;
    cache cache(device, with_max_split(64 * MiB));
    tla_block a = cache.alloc(100 * MiB), b = cache.alloc(80 * MiB), c = cache.alloc(64 * MiB),
              d = cache.alloc(30 * MiB);
    for (const tla_block &block : {a, b, c, d})
        cache.free(block);
    device.calls.clear();
    cache.alloc(70 * MiB + 512); // takes b: less than 20 MiB too much
    BOOST_CHECK(device.calls.empty());
    cache.alloc(40 * MiB); // too small for the oversize blocks: the one of 64 MiB is given back, the smallest enough
    BOOST_CHECK((device.calls == std::vector<std::pair<char, std::uint64_t>>{{'f', 64 * MiB}, {'a', 40 * MiB}}));
    device.calls.clear();
    cache.alloc(120 * MiB); // none is large enough: largest first, and it does not suffice; then all
    BOOST_CHECK((device.calls ==
                 std::vector<std::pair<char, std::uint64_t>>{{'f', 100 * MiB}, {'f', 30 * MiB}, {'a', 120 * MiB}}));
    BOOST_CHECK_EQUAL(cache.stats().retries, 1u);
}

BOOST_AUTO_TEST_CASE(no_oversize_block_goes_back_when_just_enough_bytes_have) {
    recorded_device device;
    device.capacity = 280 * MiB;
    cache cache(device, with_max_split(64 * MiB));
    tla_block a = cache.alloc(100 * MiB), b = cache.alloc(100 * MiB), c = cache.alloc(80 * MiB);
    for (const tla_block &block : {a, b, c})
        cache.free(block);
    device.calls.clear();
    cache.alloc(200 * MiB);
    BOOST_CHECK((device.calls ==
                 std::vector<std::pair<char, std::uint64_t>>{{'f', 100 * MiB}, {'f', 100 * MiB}, {'a', 200 * MiB}}));
}

BOOST_AUTO_TEST_CASE(whole_segments_go_back_before_a_request_fails_and_split_ones_stay) {
    recorded_device device;
    device.capacity = 44 * MiB;
    cache cache(device);
    cache.free(cache.alloc(20 * MiB));
    tla_block kept = cache.alloc(512);
    BOOST_CHECK_EQUAL(cache.alloc(30 * MiB).nbytes, 30 * MiB);
    BOOST_CHECK_EQUAL(cache.stats().retries, 1u);
    BOOST_CHECK_EQUAL(cache.try_alloc(30 * MiB), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(cache.stats().failures, 1u);
    BOOST_CHECK_EQUAL(cache.stats().reserved, 32 * MiB);
    BOOST_CHECK_EQUAL(cache.stats().inactive_split, 2 * MiB - 512);
    BOOST_CHECK_EQUAL(tla_segment_cache_empty(cache.c, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(cache.stats().segments, 2u);
    cache.free(kept);
    BOOST_CHECK_EQUAL(tla_segment_cache_empty(cache.c, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(cache.stats().reserved, 30 * MiB);
}

BOOST_AUTO_TEST_CASE(a_memory_limit_is_kept_though_the_device_has_more) {
    recorded_device device;
    tla_segment_cache_config config{};
    config.memory_limit = 32 * MiB;
    cache cache(device, config);
    cache.alloc(20 * MiB);
    BOOST_CHECK_EQUAL(cache.try_alloc(14 * MiB), TLA_LIMIT);
    BOOST_CHECK_EQUAL(cache.try_alloc(12 * MiB), TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_set_later_fails_new_segments_until_enough_memory_is_released) {
    recorded_device device;
    cache pool(device);
    tla_block kept = pool.alloc(30 * MiB), cached = pool.alloc(40 * MiB);
    tla_segment_cache_set_limit(pool.c, 60 * MiB); // 70 are reserved
    BOOST_CHECK_EQUAL(pool.try_alloc(20 * MiB), TLA_LIMIT);
    pool.free(cached);
    BOOST_CHECK_EQUAL(pool.try_alloc(31 * MiB), TLA_OK); // the cached block
    BOOST_CHECK_EQUAL(pool.try_alloc(30 * MiB), TLA_LIMIT);
    tla_segment_cache_set_limit(pool.c, 0);
    BOOST_CHECK_EQUAL(pool.try_alloc(30 * MiB), TLA_OK);
    pool.free(kept);
}

BOOST_AUTO_TEST_CASE(garbage_collection_gives_back_what_has_not_been_used_for_long) {
    recorded_device device;
    tla_segment_cache_config config{};
    config.memory_limit = 100 * MiB;
    config.gc_threshold = 0.5;
    cache cache(device, config);
    tla_block old = cache.alloc(30 * MiB), young = cache.alloc(24 * MiB), other = cache.alloc(10 * MiB);
    cache.free(old);
    for (int i = 0; i < 3; i++) { // ages are counted in searches
        cache.free(other);
        other = cache.alloc(10 * MiB);
    }
    cache.free(young);
    device.calls.clear();
    cache.alloc(40 * MiB); // 64 MiB reserved, more than half of the limit; ages 4 and 1, 2.5 on average
    std::vector<std::pair<char, std::uint64_t>> expected{{'f', 30 * MiB}, {'a', 40 * MiB}};
    BOOST_CHECK(device.calls == expected);
}

BOOST_AUTO_TEST_CASE(small_requests_do_not_age_large_blocks) {
    recorded_device device;
    tla_segment_cache_config config{};
    config.memory_limit = 100 * MiB;
    config.gc_threshold = 0.5;
    cache cache(device, config);
    cache.free(cache.alloc(512)); // takes the small segment before the threshold is reached
    tla_block first = cache.alloc(30 * MiB), second = cache.alloc(24 * MiB);
    cache.free(first);
    for (int i = 0; i < 10; i++)
        cache.free(cache.alloc(512));
    cache.free(second);
    device.calls.clear();
    cache.alloc(40 * MiB); // both have age 1: both go, in order of size
    std::vector<std::pair<char, std::uint64_t>> expected{{'f', 24 * MiB}, {'f', 30 * MiB}, {'a', 40 * MiB}};
    BOOST_CHECK(device.calls == expected);
}

BOOST_AUTO_TEST_CASE(a_block_that_another_stream_uses_stays_active_after_its_free) {
    recorded_device device;
    cache cache(device);
    tla_block block = cache.alloc(512);
    BOOST_REQUIRE_EQUAL(tla_segment_cache_begin_use(cache.c, block.offset), TLA_OK);
    cache.free(block);
    BOOST_CHECK_EQUAL(cache.stats().allocated, 0u);
    BOOST_CHECK_EQUAL(cache.stats().active, 512u);
    BOOST_CHECK_NE(cache.alloc(512).offset, block.offset);
    BOOST_CHECK_EQUAL(tla_segment_cache_free(cache.c, block.offset, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_segment_cache_end_use(cache.c, block.offset, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_segment_cache_end_use(cache.c, block.offset, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(cache.stats().active, 512u); // the second block
    BOOST_CHECK_EQUAL(cache.alloc(512).offset, block.offset);
}

BOOST_AUTO_TEST_CASE(bad_requests_have_their_own_status) {
    recorded_device device;
    cache cache(device);
    BOOST_CHECK_EQUAL(cache.try_alloc(0), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(cache.try_alloc(~std::uint64_t{0}), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(cache.try_alloc((std::uint64_t{1} << 62) + 1), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(cache.try_alloc(std::uint64_t{1} << 62), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_segment_cache_free(cache.c, 0, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_segment_cache_begin_use(cache.c, 0), TLA_NOT_ALLOCATED);
    tla_segment_cache_config good{};
    good.driver = device.driver();
    std::vector<tla_segment_cache_config> bad(10, good);
    bad[0].max_split_size = 20 * MiB - 1;
    bad[1].gc_threshold = 1;
    bad[2].gc_threshold = -0.5;
    bad[3].power2_divisions[3] = 3;
    bad[4].driver = {};
    bad[5].expandable = true;     // and nobody to map
    bad[6].memory_fraction = 0.5; // of what?
    bad[7].max_non_split_rounding = 20 * MiB - 1;
    bad[8].large_segment_size = 10 * MiB;
    bad[9].device_bytes = GiB, bad[9].memory_fraction = 1.5;
    for (const tla_segment_cache_config &config : bad) {
        tla_segment_cache *none = nullptr;
        BOOST_CHECK_EQUAL(tla_segment_cache_create(&config, &none), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(none == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(destroy_names_a_leak_and_gives_the_device_everything) {
    recorded_device device;
    tla_segment_cache_config config{};
    config.driver = device.driver();
    tla_segment_cache *c = nullptr;
    BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&config, &c), TLA_OK);
    tla_block block{};
    for (std::uint64_t nbytes : {std::uint64_t{512}, 3 * MiB, 30 * MiB, std::uint64_t{700}})
        BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(c, 0, nbytes, &block, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_segment_cache_destroy(c), TLA_LEAK);
    BOOST_CHECK_EQUAL(device.used, 0u);
}

namespace {

// The rules once more, without any structure: every block of every segment on one list, every search a scan.
class naive_cache {
  public:
    naive_cache(recorded_device &device, const tla_segment_cache_config &config) : device_(device), config_(config) {
        if (!config_.max_split_size) config_.max_split_size = ~std::uint64_t{0};
    }
    tla_status alloc(std::uint64_t stream, std::uint64_t nbytes, tla_block &out) {
        std::uint64_t size = tla_segment_cache_round(nbytes, config_.power2_divisions[0]);
        bool small = size <= MiB;
        for (block &b : blocks_)
            if (!b.live && b.small == small) b.age++;
        auto found = find(stream, size, small);
        if (found == blocks_.end()) {
            collect();
            tla_status status = segment(stream, size, small, found);
            if (status && release_oversize(stream, size, small)) status = segment(stream, size, small, found);
            if (status) {
                empty();
                status = segment(stream, size, small, found);
            }
            if (status) return status;
        }
        std::uint64_t rest = found->nbytes - size;
        if (small ? rest >= 512 : (size < config_.max_split_size && rest > MiB)) {
            block tail = *found;
            tail.address += size;
            tail.nbytes = rest;
            tail.age = 0;
            blocks_.insert(std::next(found), tail);
            found->nbytes = size;
        }
        found->live = true;
        out = {found->address, found->nbytes};
        return TLA_OK;
    }
    void free(std::uint64_t address) {
        auto it = std::find_if(blocks_.begin(), blocks_.end(), [&](const block &b) { return b.address == address; });
        it->live = false;
        it->age = 0;
        if (auto next = std::next(it); next != blocks_.end() && next->segment == it->segment && !next->live) {
            it->nbytes += next->nbytes;
            blocks_.erase(next);
        }
        if (it != blocks_.begin())
            if (auto before = std::prev(it); before->segment == it->segment && !before->live) {
                before->nbytes += it->nbytes;
                before->age = 0;
                blocks_.erase(it);
            }
    }
    void empty() {
        for (bool small : {false, true})
            for (auto it : ordered(small))
                if (whole(it)) release(it);
    }
    std::uint64_t inactive_split() {
        std::uint64_t sum = 0;
        for (auto it = blocks_.begin(); it != blocks_.end(); ++it)
            if (!it->live && !whole(it)) sum += it->nbytes;
        return sum;
    }

  private:
    struct block {
        std::uint64_t segment, address, nbytes, stream;
        bool small, live;
        std::uint64_t age;
    };
    using iterator = std::list<block>::iterator;

    bool whole(iterator it) {
        return (it == blocks_.begin() || std::prev(it)->segment != it->segment) &&
               (std::next(it) == blocks_.end() || std::next(it)->segment != it->segment);
    }
    std::vector<iterator> ordered(bool small) { // free blocks by stream, size, address
        std::vector<iterator> result;
        for (auto it = blocks_.begin(); it != blocks_.end(); ++it)
            if (!it->live && it->small == small) result.push_back(it);
        std::sort(result.begin(), result.end(), [](iterator a, iterator b) {
            return std::tie(a->stream, a->nbytes, a->address) < std::tie(b->stream, b->nbytes, b->address);
        });
        return result;
    }
    iterator find(std::uint64_t stream, std::uint64_t size, bool small) {
        for (iterator it : ordered(small)) {
            if (it->stream != stream || it->nbytes < size) continue;
            bool oversize = it->nbytes >= config_.max_split_size;
            bool refused = size < config_.max_split_size ? oversize : it->nbytes >= size + 20 * MiB;
            return refused ? blocks_.end() : it;
        }
        return blocks_.end();
    }
    tla_status segment(std::uint64_t stream, std::uint64_t size, bool small, iterator &found) {
        std::uint64_t nbytes = tla_segment_cache_segment_size(size), address = 0;
        if (config_.memory_limit && device_.used + nbytes > config_.memory_limit) return TLA_LIMIT;
        tla_status status = recorded_device::alloc(&device_, 0, nbytes, &address, nullptr);
        if (!status) found = blocks_.insert(blocks_.end(), {address, address, nbytes, stream, small, false, 0});
        return status;
    }
    void release(iterator it) {
        recorded_device::free(&device_, 0, it->address, it->nbytes, nullptr);
        blocks_.erase(it);
    }
    bool release_oversize(std::uint64_t stream, std::uint64_t size, bool small) {
        std::uint64_t wanted = std::max(size, config_.max_split_size), released = 0;
        if (config_.max_split_size == ~std::uint64_t{0}) return false;
        std::vector<iterator> candidates = ordered(small);
        for (iterator it : candidates)
            if (it->stream == stream && it->nbytes >= wanted) {
                release(it);
                return true;
            }
        std::reverse(candidates.begin(), candidates.end());
        for (iterator it : candidates) {
            if (it->stream != stream || it->nbytes < config_.max_split_size || released >= wanted) continue;
            released += it->nbytes;
            release(it);
        }
        return released >= wanted;
    }
    void collect() {
        auto threshold = static_cast<std::uint64_t>(config_.gc_threshold * static_cast<double>(config_.memory_limit));
        if (config_.gc_threshold <= 0 || device_.used <= threshold) return;
        std::uint64_t target = device_.used - threshold, reclaimed = 0;
        for (bool freed = true; freed && reclaimed < target;) {
            freed = false;
            std::vector<iterator> candidates;
            double ages = 0;
            for (iterator it : ordered(false))
                if (whole(it)) {
                    candidates.push_back(it);
                    ages += static_cast<double>(it->age);
                }
            double average = ages / static_cast<double>(candidates.size());
            for (iterator it : candidates)
                if (static_cast<double>(it->age) >= average) {
                    reclaimed += it->nbytes;
                    release(it);
                    freed = true;
                }
        }
    }

    recorded_device &device_;
    tla_segment_cache_config config_;
    std::list<block> blocks_;
};

void compare(std::uint64_t seed, tla_segment_cache_config config, std::uint64_t capacity, int operations) {
    seeded_random random(seed);
    recorded_device device, twin;
    // Segment bases in no order, as a driver gives them.
    std::vector<std::uint64_t> bases;
    for (std::uint64_t i = 0; i < 2000; i++)
        bases.insert(bases.begin() + static_cast<std::ptrdiff_t>(random.between(0, bases.size())), i << 33);
    device.bases = twin.bases = bases;
    device.capacity = twin.capacity = capacity;
    config.driver = device.driver();
    cache cache(device, config);
    naive_cache naive(twin, config);
    std::vector<tla_block> live;
    int failed = 0;
    for (int i = 0; i < operations; i++) {
        if (live.empty() || (live.size() < 150 && random.one_in(2))) {
            std::uint64_t kind = random.between(0, 9), stream = random.one_in(8);
            std::uint64_t nbytes = random.between(1, kind < 6 ? 64 * KiB : kind < 8 ? 9 * MiB : 120 * MiB);
            tla_block block{}, expected{};
            tla_status status = naive.alloc(stream, nbytes, expected);
            BOOST_REQUIRE_EQUAL(tla_segment_cache_alloc(cache.c, stream, nbytes, &block, nullptr), status);
            if (status) {
                failed++;
                continue;
            }
            BOOST_REQUIRE_EQUAL(block.offset, expected.offset);
            BOOST_REQUIRE_EQUAL(block.nbytes, expected.nbytes);
            live.push_back(block);
        } else if (random.one_in(2000)) {
            naive.empty();
            BOOST_REQUIRE_EQUAL(tla_segment_cache_empty(cache.c, nullptr), TLA_OK);
        } else {
            std::swap(live[random.between(0, live.size() - 1)], live.back());
            naive.free(live.back().offset);
            cache.free(live.back());
            live.pop_back();
        }
        BOOST_REQUIRE_EQUAL(cache.stats().inactive_split, naive.inactive_split());
        BOOST_REQUIRE_EQUAL(cache.stats().reserved, twin.used);
        BOOST_REQUIRE(device.calls.back() == twin.calls.back());
    }
    BOOST_TEST_MESSAGE(failed << " failures, " << device.calls.size() << " driver calls in " << operations
                              << " operations");
    BOOST_CHECK(device.calls == twin.calls);
}

} // namespace

BOOST_AUTO_TEST_CASE(random_sequences_match_the_naive_rules) {
    compare(21, {}, 2 * GiB, 40000);
}

BOOST_AUTO_TEST_CASE(random_sequences_with_max_split_size_match_the_naive_rules) {
    compare(22, with_max_split(48 * MiB), 1536 * MiB, 40000);
}

BOOST_AUTO_TEST_CASE(random_sequences_with_a_limit_and_garbage_collection_match_the_naive_rules) {
    tla_segment_cache_config config{};
    config.memory_limit = 1536 * MiB;
    config.gc_threshold = 0.6;
    std::fill_n(config.power2_divisions, TLA_SEGMENT_DIVISIONS, 8u);
    compare(23, config, 64 * GiB, 40000);
}
