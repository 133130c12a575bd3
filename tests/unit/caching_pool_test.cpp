// The size-class cache against the text of seed 004 and what follows from it.
#include "seeded_random.hpp"
#include "tlmalloc/cache/driver_pools.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

// Arenas for a number of devices; device i begins at i * 2^40, so that no address is on two devices.
class devices {
  public:
    devices(std::uint32_t count, std::uint64_t capacity) : arenas_(count), set_{arenas_.data(), count} {
        for (std::uint32_t i = 0; i < count; i++) {
            tla_arena_config config{};
            config.base = std::uint64_t{i} << 40;
            config.capacity = capacity;
            BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arenas_[i]), TLA_OK);
        }
    }
    devices(const devices &) = delete;
    ~devices() {
        for (tla_arena *arena : arenas_)
            tla_arena_destroy(arena);
    }
    tla_upstream driver() { return tla_arena_upstream(&set_); }
    std::uint64_t used(std::uint32_t device) const { return tla_arena_get_stats(arenas_[device]).used; }

  private:
    std::vector<tla_arena *> arenas_;
    tla_arena_set set_;
};

struct pool {
    explicit pool(const tla_caching_pool_config &config) {
        BOOST_REQUIRE_EQUAL(tla_caching_pool_create(&config, &p), TLA_OK);
    }
    explicit pool(devices &d) : pool(tla_caching_pool_config{d.driver(), 0, false}) {}
    pool(const pool &) = delete;
    ~pool() { tla_caching_pool_destroy(p); }
    tla_pool_buffer acquire(std::uint32_t device, std::uint64_t nbytes, tla_work *work = nullptr) {
        tla_pool_buffer buffer{};
        BOOST_REQUIRE_EQUAL(tla_caching_pool_acquire(p, device, nbytes, &buffer, work), TLA_OK);
        return buffer;
    }
    void release(const tla_pool_buffer &buffer, tla_work *work = nullptr) {
        BOOST_REQUIRE_EQUAL(tla_caching_pool_release(p, buffer, work), TLA_OK);
    }
    tla_caching_pool_stats stats(std::uint32_t device = 0) { return tla_caching_pool_get_stats(p, device); }
    tla_caching_pool *p = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(classes_are_those_of_the_seed) { // seed 004, `size_class`
    const std::map<std::uint64_t, std::uint64_t> classes{{0, 0},
                                                         {1, 512},
                                                         {512, 512},
                                                         {513, 1024},
                                                         {MiB - 1, MiB},
                                                         {MiB, MiB},
                                                         {MiB + 1, 2 * MiB},
                                                         {2 * MiB, 2 * MiB},
                                                         {2 * MiB + 1, 4 * MiB},
                                                         {5 * MiB, 8 * MiB},
                                                         {std::uint64_t{1} << 63, std::uint64_t{1} << 63},
                                                         {(std::uint64_t{1} << 63) + 1, 0}};
    for (auto [nbytes, expected] : classes)
        BOOST_CHECK_EQUAL(tla_caching_pool_class(nbytes), expected);
}

BOOST_AUTO_TEST_CASE(a_class_wastes_at_most_511_bytes_up_to_1_mib_and_less_than_half_above) {
    seeded_random random(1);
    for (int i = 0; i < 100000; i++) {
        std::uint64_t small = random.between(1, MiB), large = random.between(MiB + 1, 64 * GiB);
        BOOST_REQUIRE_LE(tla_caching_pool_class(small) - small, 511u);
        BOOST_REQUIRE_LT(tla_caching_pool_class(large), 2 * large);
    }
}

BOOST_AUTO_TEST_CASE(a_hit_costs_no_driver_call) {
    devices d(1, GiB);
    pool pool(d);
    tla_pool_buffer first = pool.acquire(0, 1000);
    pool.release(first);
    tla_work hit{};
    tla_pool_buffer second = pool.acquire(0, 600, &hit); // the same class, 1024
    BOOST_CHECK_EQUAL(second.address, first.address);
    BOOST_CHECK_EQUAL(pool.stats().driver_allocs, 1u);
    BOOST_CHECK_EQUAL(pool.stats().hits, 1u);
    BOOST_CHECK_EQUAL(hit.nodes_visited, 1u);
    BOOST_CHECK_EQUAL(hit.metadata_lines, 2u);
    BOOST_CHECK_EQUAL(hit.splits, 0u);
}

BOOST_AUTO_TEST_CASE(a_miss_adds_what_the_driver_did) {
    devices d(1, GiB);
    pool pool(d);
    tla_work miss{};
    pool.acquire(0, 1000, &miss);
    BOOST_CHECK_EQUAL(miss.nodes_visited, 1u); // the arena's one free block
    BOOST_CHECK_EQUAL(miss.splits, 1u);
    BOOST_CHECK_EQUAL(miss.metadata_lines, 1u);
}

BOOST_AUTO_TEST_CASE(a_class_is_last_in_first_out) { // seed 004: Vec, pushed and popped at its end
    devices d(1, GiB);
    pool pool(d);
    tla_pool_buffer a = pool.acquire(0, 512), b = pool.acquire(0, 512), c = pool.acquire(0, 512);
    pool.release(b);
    pool.release(a);
    pool.release(c);
    BOOST_CHECK_EQUAL(pool.acquire(0, 512).address, c.address);
    BOOST_CHECK_EQUAL(pool.acquire(0, 512).address, a.address);
    BOOST_CHECK_EQUAL(pool.acquire(0, 512).address, b.address);
}

BOOST_AUTO_TEST_CASE(another_class_never_serves_a_request) { // no split, no merge, no cross-class use
    devices d(1, GiB);
    pool pool(d);
    pool.release(pool.acquire(0, 1024));
    pool.acquire(0, 512);
    BOOST_CHECK_EQUAL(pool.stats().driver_allocs, 2u);
    BOOST_CHECK_EQUAL(pool.stats().cached, 1024u);
}

BOOST_AUTO_TEST_CASE(nothing_goes_back_to_the_driver_unless_asked) {
    devices d(1, GiB);
    pool pool(d);
    std::vector<tla_pool_buffer> buffers;
    for (std::uint64_t i = 1; i <= 100; i++)
        buffers.push_back(pool.acquire(0, i * 5000));
    std::uint64_t used = d.used(0);
    for (const tla_pool_buffer &buffer : buffers)
        pool.release(buffer);
    BOOST_CHECK_EQUAL(d.used(0), used);
    BOOST_CHECK_EQUAL(pool.stats().driver_frees, 0u);
    BOOST_CHECK_EQUAL(pool.stats().cached, used);
}

BOOST_AUTO_TEST_CASE(the_logical_length_is_visible_and_the_tail_is_never_touched) { // seed 004, decision 1 and 4
    devices d(1, MiB);
    pool pool(d);
    std::vector<std::uint8_t> memory(MiB, 0xEE);
    auto zeros = [&](std::uint64_t nbytes) { // Storage::zeros: alloc and memset(0) of the logical length
        tla_pool_buffer buffer = pool.acquire(0, nbytes);
        std::fill_n(memory.begin() + static_cast<std::ptrdiff_t>(buffer.address), buffer.nbytes, 0);
        return buffer;
    };
    for (std::uint64_t nbytes : {700u, 513u, 1023u, 600u}) {
        tla_pool_buffer buffer = zeros(nbytes);
        BOOST_CHECK_EQUAL(buffer.address, 0u);
        BOOST_CHECK_EQUAL(buffer.nbytes, nbytes);
        BOOST_CHECK_EQUAL(buffer.capacity, 1024u);
        pool.release(buffer);
    }
    BOOST_CHECK(memory[1022] == 0);
    BOOST_CHECK(memory[1023] == 0xEE); // the largest request had 1023 bytes
}

BOOST_AUTO_TEST_CASE(values_are_the_same_with_and_without_the_pool) { // claim (i)
    seeded_random random(2);
    devices with(1, 256 * MiB), without(1, 256 * MiB);
    pool pool(with);
    tla_upstream driver = without.driver();
    struct tensor {
        tla_pool_buffer pooled;
        std::uint64_t address, nbytes, value;
    };
    std::map<std::uint64_t, std::uint64_t> pooled, direct; // sparse memories: the first and last byte of every tensor
    std::vector<tensor> live;
    for (std::uint64_t i = 0; i < 20000; i++) {
        if (live.size() < 20 || (live.size() < 60 && random.one_in(2))) {
            tensor t{{}, 0, random.between(1, random.one_in(8) ? 4 * MiB : 8 * KiB), i};
            t.pooled = pool.acquire(0, t.nbytes);
            BOOST_REQUIRE_EQUAL(driver.alloc(driver.context, 0, t.nbytes, &t.address, nullptr), TLA_OK);
            pooled[t.pooled.address] = pooled[t.pooled.address + t.nbytes - 1] = i;
            direct[t.address] = direct[t.address + t.nbytes - 1] = i;
            live.push_back(t);
        } else {
            std::swap(live[random.between(0, live.size() - 1)], live.back());
            tensor t = live.back();
            live.pop_back();
            BOOST_REQUIRE_EQUAL(pooled[t.pooled.address], direct[t.address]);
            BOOST_REQUIRE_EQUAL(pooled[t.pooled.address + t.nbytes - 1], t.value);
            pool.release(t.pooled);
            BOOST_REQUIRE_EQUAL(driver.free(driver.context, 0, t.address, t.nbytes, nullptr), TLA_OK);
        }
    }
}

BOOST_AUTO_TEST_CASE(after_the_first_step_of_fixed_shapes_there_are_no_misses) { // claim (ii)
    devices d(1, GiB);
    pool pool(d);
    std::uint64_t misses_after_warm_up = 0;
    for (int step = 0; step < 10; step++) {
        std::vector<tla_pool_buffer> activations;
        for (std::uint64_t layer = 0; layer < 100; layer++)
            activations.push_back(pool.acquire(0, 1000 + 7919 * layer));
        while (!activations.empty()) {
            pool.release(activations.back());
            activations.pop_back();
        }
        if (step == 0)
            misses_after_warm_up = pool.stats().driver_allocs;
        else
            BOOST_CHECK_EQUAL(pool.stats().driver_allocs, misses_after_warm_up);
    }
    BOOST_CHECK_EQUAL(pool.stats().hits, 900u);
}

namespace {

// A driver in which device 0 waits until device 1 has been served: it would wait for ever behind a shared lock.
struct gate {
    std::mutex mutex;
    std::condition_variable opened;
    bool device_1_served = false, gave_up = false;

    static tla_status alloc(void *context, std::uint32_t device, std::uint64_t, std::uint64_t *address, tla_work *) {
        gate &g = *static_cast<gate *>(context);
        std::unique_lock<std::mutex> lock(g.mutex);
        *address = std::uint64_t{device} << 40;
        if (device == 1) {
            g.device_1_served = true;
            g.opened.notify_all();
        } else if (!g.opened.wait_for(lock, std::chrono::seconds(60), [&] { return g.device_1_served; })) {
            g.gave_up = true;
        }
        return TLA_OK;
    }
    static tla_status free(void *, std::uint32_t, std::uint64_t, std::uint64_t, tla_work *) { return TLA_OK; }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_device_never_waits_for_another) { // claim (iii)
    gate g;
    pool pool({{gate::alloc, gate::free, &g}, 0, false});
    tla_pool_buffer a{}, b{};
    // Boost.Test's checks are not for threads; a request that failed would leave capacity 0.
    std::thread waits([&] { tla_caching_pool_acquire(pool.p, 0, 512, &a, nullptr); });
    std::thread serves([&] { tla_caching_pool_acquire(pool.p, 1, 512, &b, nullptr); }); // enters a new device, too
    serves.join();
    waits.join();
    BOOST_CHECK_EQUAL(a.capacity + b.capacity, 1024u);
    BOOST_CHECK(!g.gave_up);
    pool.release(a);
    pool.release(b);
}

BOOST_AUTO_TEST_CASE(a_release_from_any_thread_goes_to_the_device_of_origin) { // claim (iv)
    devices d(2, GiB);
    pool pool(d);
    tla_pool_buffer a = pool.acquire(0, 4096);
    std::thread([&] {
        tla_pool_buffer own{};
        tla_caching_pool_acquire(pool.p, 1, 4096, &own, nullptr);
        tla_caching_pool_release(pool.p, a, nullptr);
        tla_caching_pool_release(pool.p, own, nullptr);
    }).join();
    BOOST_CHECK_EQUAL(pool.stats(0).cached_blocks, 1u);
    BOOST_CHECK_EQUAL(pool.stats(1).cached_blocks, 1u);
    BOOST_CHECK_EQUAL(pool.acquire(0, 4096).address, a.address);
}

BOOST_AUTO_TEST_CASE(a_second_release_is_rejected_and_changes_nothing) { // claim (v)
    devices d(1, GiB);
    pool pool(d);
    tla_pool_buffer a = pool.acquire(0, 512), foreign = a, resized = pool.acquire(0, 512), elsewhere = a;
    foreign.address += 512 * 1024;
    resized.nbytes = 100;
    elsewhere.device = 7;
    pool.release(a);
    BOOST_CHECK_EQUAL(tla_caching_pool_release(pool.p, a, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_caching_pool_release(pool.p, foreign, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_caching_pool_release(pool.p, elsewhere, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_caching_pool_release(pool.p, resized, nullptr), TLA_SIZE_MISMATCH);
    BOOST_CHECK_EQUAL(pool.stats().cached_blocks, 1u);
    BOOST_CHECK_EQUAL(pool.stats().live_buffers, 1u);
    BOOST_CHECK_NE(pool.acquire(0, 512).address, pool.acquire(0, 512).address);
}

BOOST_AUTO_TEST_CASE(bad_requests_have_their_own_status_and_change_nothing) {
    devices d(1, MiB);
    pool pool(d);
    tla_pool_buffer buffer{};
    BOOST_CHECK_EQUAL(tla_caching_pool_acquire(pool.p, 0, 0, &buffer, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_caching_pool_acquire(pool.p, 0, ~std::uint64_t{0}, &buffer, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_caching_pool_acquire(pool.p, 0, 2 * MiB, &buffer, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_caching_pool_acquire(pool.p, 5, 512, &buffer, nullptr), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(pool.stats().reserved, 0u);
    BOOST_CHECK_EQUAL(pool.stats().driver_allocs, 0u);
    tla_caching_pool *none = nullptr;
    tla_caching_pool_config no_driver{};
    BOOST_CHECK_EQUAL(tla_caching_pool_create(&no_driver, &none), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(none == nullptr);
}

BOOST_AUTO_TEST_CASE(trim_gives_back_the_largest_first_until_little_enough_is_cached) {
    devices d(1, GiB);
    pool pool(d);
    for (std::uint64_t nbytes : {512 * KiB, 4 * MiB, 1 * MiB})
        pool.release(pool.acquire(0, nbytes));
    BOOST_CHECK_EQUAL(tla_caching_pool_trim(pool.p, 0, 3 * MiB, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(pool.stats().cached, MiB + 512 * KiB);
    BOOST_CHECK_EQUAL(tla_caching_pool_trim(pool.p, 0, 0, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(pool.stats().cached_blocks, 0u);
    BOOST_CHECK_EQUAL(pool.stats().driver_frees, 3u);
    BOOST_CHECK_EQUAL(d.used(0), 0u);
}

BOOST_AUTO_TEST_CASE(a_byte_limit_fails_requests_that_the_driver_would_serve) {
    devices d(1, GiB);
    pool pool({d.driver(), 4096, false});
    tla_pool_buffer a = pool.acquire(0, 2048), b{};
    pool.release(a);
    BOOST_CHECK_EQUAL(tla_caching_pool_acquire(pool.p, 0, 2049, &b, nullptr), TLA_LIMIT);
    BOOST_CHECK_EQUAL(pool.stats().cached, 2048u); // without the flush the cache stays in the way
    BOOST_CHECK_EQUAL(pool.acquire(0, 2048).address, a.address);
}

BOOST_AUTO_TEST_CASE(a_flush_serves_what_the_cache_stood_in_the_way_of) {
    devices d(1, GiB);
    pool pool({d.driver(), 4096, true});
    pool.release(pool.acquire(0, 2048));
    tla_pool_buffer b = pool.acquire(0, 2049);
    BOOST_CHECK_EQUAL(b.capacity, 2560u);
    BOOST_CHECK_EQUAL(pool.stats().flushes, 1u);
    BOOST_CHECK_EQUAL(pool.stats().reserved, 2560u);
    tla_pool_buffer c{};
    BOOST_CHECK_EQUAL(tla_caching_pool_acquire(pool.p, 0, 4096, &c, nullptr), TLA_LIMIT); // no cache left to flush
}

BOOST_AUTO_TEST_CASE(destroy_gives_everything_back_and_names_a_leak) {
    devices d(1, GiB);
    tla_caching_pool_config config{d.driver(), 0, false};
    tla_caching_pool *p = nullptr;
    tla_pool_buffer a{}, b{};
    BOOST_REQUIRE_EQUAL(tla_caching_pool_create(&config, &p), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_caching_pool_acquire(p, 0, 512, &a, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_caching_pool_acquire(p, 0, 512, &b, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_caching_pool_release(p, a, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_caching_pool_destroy(p), TLA_LEAK);
    BOOST_CHECK_EQUAL(d.used(0), 0u);
}

BOOST_AUTO_TEST_CASE(random_sequences_match_a_naive_cache) {
    seeded_random random(3);
    devices d(2, GiB), twin(2, GiB);
    pool pool(d);
    tla_upstream driver = twin.driver();
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::uint64_t>> lists; // the naive cache
    std::vector<tla_pool_buffer> live;
    for (int i = 0; i < 200000; i++) {
        if (live.empty() || (live.size() < 500 && random.one_in(2))) {
            auto device = static_cast<std::uint32_t>(random.between(0, 1));
            std::uint64_t nbytes = random.between(1, random.one_in(50) ? 2 * MiB : 16 * KiB), expected = 0;
            std::uint64_t capacity = (nbytes + 511) / 512 * 512;
            if (nbytes > MiB)
                for (capacity = 1; capacity < nbytes;)
                    capacity *= 2;
            std::vector<std::uint64_t> &list = lists[{device, capacity}];
            tla_pool_buffer buffer{};
            tla_status status = TLA_OK;
            if (list.empty()) {
                status = driver.alloc(driver.context, device, capacity, &expected, nullptr);
            } else {
                expected = list.back();
                list.pop_back();
            }
            BOOST_REQUIRE_EQUAL(tla_caching_pool_acquire(pool.p, device, nbytes, &buffer, nullptr), status);
            if (status) continue;
            BOOST_REQUIRE_EQUAL(buffer.address, expected);
            live.push_back(buffer);
        } else {
            std::swap(live[random.between(0, live.size() - 1)], live.back());
            pool.release(live.back());
            lists[{live.back().device, live.back().capacity}].push_back(live.back().address);
            live.pop_back();
        }
    }
    for (std::uint32_t device : {0u, 1u}) {
        BOOST_CHECK_EQUAL(pool.stats(device).reserved, twin.used(device));
        BOOST_CHECK_EQUAL(pool.stats(device).reserved, pool.stats(device).used + pool.stats(device).cached);
    }
}

BOOST_AUTO_TEST_CASE(eight_threads_share_it_without_overlap_and_with_exact_totals) {
    constexpr std::uint32_t threads = 8, rounds = 2000, device_count = 3;
    devices d(device_count, 4 * GiB);
    pool pool(d);
    std::mutex mutex;
    std::map<std::uint64_t, std::uint64_t> ranges; // live ranges of all threads: begin, end
    std::vector<std::thread> workers;
    std::vector<std::uint64_t> served(threads);
    for (std::uint32_t t = 0; t < threads; t++)
        workers.emplace_back([&, t] {
            std::mt19937_64 random(t);
            std::deque<tla_pool_buffer> live;
            auto drop = [&] {
                {
                    std::lock_guard<std::mutex> lock(mutex);
                    ranges.erase(live.front().address);
                }
                if (tla_caching_pool_release(pool.p, live.front(), nullptr) != TLA_OK) std::abort();
                live.pop_front();
            };
            for (std::uint32_t i = 0; i < rounds; i++) {
                tla_pool_buffer buffer{};
                // A thread works on a device of its own choice each time, as a stray drop would.
                auto device = static_cast<std::uint32_t>(random() % device_count);
                if (tla_caching_pool_acquire(pool.p, device, 1 + random() % 20000, &buffer, nullptr) != TLA_OK)
                    std::abort();
                served[t]++;
                {
                    std::lock_guard<std::mutex> lock(mutex);
                    auto next = ranges.lower_bound(buffer.address);
                    if (next != ranges.end() && next->first < buffer.address + buffer.capacity) std::abort();
                    if (next != ranges.begin() && std::prev(next)->second > buffer.address) std::abort();
                    ranges[buffer.address] = buffer.address + buffer.capacity;
                }
                live.push_back(buffer);
                if (live.size() > 20) drop();
            }
            while (!live.empty())
                drop();
        });
    for (std::thread &worker : workers)
        worker.join();
    std::uint64_t total = 0, expected = 0;
    for (std::uint32_t device = 0; device < device_count; device++) {
        tla_caching_pool_stats stats = pool.stats(device);
        total += stats.hits + stats.driver_allocs;
        BOOST_CHECK_EQUAL(stats.live_buffers, 0u);
        BOOST_CHECK_EQUAL(stats.used, 0u);
        BOOST_CHECK_EQUAL(stats.requested, 0u);
        BOOST_CHECK_EQUAL(stats.cached_blocks, stats.driver_allocs);
        BOOST_CHECK_EQUAL(stats.cached, d.used(device));
    }
    for (std::uint64_t n : served)
        expected += n;
    BOOST_CHECK_EQUAL(total, expected);
    BOOST_CHECK(ranges.empty());
}

namespace {

// A FIFO stream: 200 live tensors of any size up to 1 MiB. Returns whether a device of this capacity serves it.
struct fifo_result {
    bool served;
    tla_caching_pool_stats stats;
};
fifo_result run_fifo(std::uint64_t capacity, bool flush) {
    devices d(1, capacity);
    tla_caching_pool_config config{d.driver(), 0, flush};
    tla_caching_pool *p = nullptr;
    BOOST_REQUIRE_EQUAL(tla_caching_pool_create(&config, &p), TLA_OK);
    std::mt19937_64 random(4);
    std::deque<tla_pool_buffer> live;
    bool served = true;
    for (int i = 0; i < 20000 && served; i++) {
        if (live.size() == 200) {
            BOOST_REQUIRE_EQUAL(tla_caching_pool_release(p, live.front(), nullptr), TLA_OK);
            live.pop_front();
        }
        tla_pool_buffer buffer{};
        served = tla_caching_pool_acquire(p, 0, 1 + random() % MiB, &buffer, nullptr) == TLA_OK;
        if (served) live.push_back(buffer);
    }
    fifo_result result{served, tla_caching_pool_get_stats(p, 0)};
    tla_caching_pool_destroy(p);
    return result;
}

// The least capacity, in steps of a hundredth of the peak, that serves the stream.
double capacity_needed(bool flush) {
    std::uint64_t peak = run_fifo(64 * GiB, flush).stats.peak_requested, low = 99, high = 6400;
    while (low + 1 < high) {
        std::uint64_t middle = (low + high) / 2;
        (run_fifo(peak * middle / 100, flush).served ? high : low) = middle;
    }
    return static_cast<double>(high) / 100;
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_flush_it_can_need_ten_times_the_peak_with_one_a_fifth_more) {
    double without = capacity_needed(false), with = capacity_needed(true);
    BOOST_TEST_MESSAGE("capacity needed over peak requested: " << without << " without flush, " << with << " with");
    BOOST_CHECK_GE(without, 10.0);
    BOOST_CHECK_LE(with, 1.25);
}
