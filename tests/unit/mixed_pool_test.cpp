// Dispatch by format, and what LMCache's tests assert of its tensor allocators.
#include "seeded_random.hpp"
#include "tlmalloc/cache/buffer_pools.h"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t MiB = 1 << 20, page = TLA_MIXED_POOL_ALIGNMENT;

struct mixed {
    explicit mixed(const tla_mixed_pool_config &config) {
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_create(&config, &m), TLA_OK);
    }
    explicit mixed(std::uint64_t nbytes = 128 * MiB, tla_batch batch = TLA_BATCH_CARVED)
        : mixed(tla_mixed_pool_config{0x100000000, nbytes, page, 0, batch}) {}
    mixed(const mixed &) = delete;
    ~mixed() { tla_mixed_pool_destroy(m); }
    tla_status try_alloc(std::uint64_t nbytes, tla_mixed_pool_block *block,
                         tla_memory_format format = TLA_FORMAT_KV_2LTD) {
        return tla_mixed_pool_alloc(m, format, nbytes, 1, block, nullptr);
    }
    tla_mixed_pool_block alloc(std::uint64_t nbytes, tla_memory_format format = TLA_FORMAT_KV_2LTD) {
        tla_mixed_pool_block block{};
        BOOST_REQUIRE_EQUAL(try_alloc(nbytes, &block, format), TLA_OK);
        return block;
    }
    void free(tla_mixed_pool_block &block) { BOOST_REQUIRE_EQUAL(tla_mixed_pool_free(m, &block, 1, nullptr), TLA_OK); }
    bool memcheck() { return tla_mixed_pool_check(m, nullptr) == TLA_OK; }
    tla_mixed_pool_stats stats() { return tla_mixed_pool_get_stats(m); }
    tla_mixed_pool *m = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(the_format_decides_where_an_object_lies) {
    mixed m;
    for (tla_memory_format format : {TLA_FORMAT_KV_2LTD, TLA_FORMAT_KV_2TD, TLA_FORMAT_KV_T2D, TLA_FORMAT_KV_MLA,
                                     TLA_FORMAT_EC_TD, TLA_FORMAT_HS_TD}) {
        tla_mixed_pool_block tensor = m.alloc(100, format);
        BOOST_CHECK_EQUAL(tensor.address, 0x100000000u);
        BOOST_CHECK_EQUAL(tensor.capacity, page);
        BOOST_CHECK(tensor.bytes == nullptr);
        m.free(tensor);
    }
    tla_mixed_pool_block string = m.alloc(512, TLA_FORMAT_BINARY_BUFFER); // 2.9: [512, ...] has 512 bytes
    BOOST_REQUIRE(string.bytes != nullptr);
    BOOST_CHECK_EQUAL(string.nbytes, 512u);
    std::memset(string.bytes, 0xAB, 512);
    BOOST_CHECK_EQUAL(m.stats().tensor_bytes, 0u);
    BOOST_CHECK_EQUAL(m.stats().buffer_bytes, 512u);
    m.free(string);
    BOOST_CHECK(string.bytes == nullptr);
    BOOST_CHECK_EQUAL(m.stats().buffers, 0u);
}

BOOST_AUTO_TEST_CASE(an_unknown_format_is_rejected_on_allocate_and_on_free) { // ValueError on both
    mixed m;
    tla_mixed_pool_block block{}, tensor = m.alloc(100);
    for (tla_memory_format format : {TLA_FORMAT_UNDEFINED, TLA_FORMAT_BINARY, TLA_FORMAT_COUNT}) {
        BOOST_CHECK_EQUAL(m.try_alloc(100, &block, format), TLA_INVALID_ARGUMENT);
        tla_mixed_pool_block renamed = tensor;
        renamed.format = format;
        BOOST_CHECK_EQUAL(tla_mixed_pool_free(m.m, &renamed, 1, nullptr), TLA_INVALID_ARGUMENT);
    }
    BOOST_CHECK_EQUAL(m.stats().tensors, 1u);
    m.free(tensor);
}

BOOST_AUTO_TEST_CASE(an_object_is_aligned_and_keeps_its_logical_size) {
    mixed m;
    for (std::uint64_t nbytes : {std::uint64_t{1}, page - 1, page, page + 1, 3 * page}) {
        tla_mixed_pool_block block = m.alloc(nbytes);
        BOOST_CHECK_EQUAL(block.address % page, 0u);
        BOOST_CHECK_EQUAL(block.nbytes, nbytes);
        BOOST_CHECK_EQUAL(block.capacity, (nbytes + page - 1) / page * page);
    }
    BOOST_CHECK(m.memcheck());
}

BOOST_AUTO_TEST_CASE(alloc_alloc_free_the_first_alloc_the_same_leaves_one_free_block) { // 2.9 "Boundary"
    mixed m;
    tla_mixed_pool_block first = m.alloc(512 * page), second = m.alloc(512 * page);
    std::uint64_t address = first.address;
    m.free(first);
    BOOST_CHECK_EQUAL(m.stats().free_blocks, 2u);
    BOOST_CHECK_EQUAL(m.alloc(512 * page).address, address);
    BOOST_CHECK_EQUAL(m.stats().free_blocks, 1u);
    m.free(second);
    BOOST_CHECK(m.memcheck());
}

BOOST_AUTO_TEST_CASE(thirty_two_tensors_fill_the_pool_exactly_and_leave_one_free_block) { // 2.9 "Batched"
    constexpr std::uint64_t tensor = 100ull * 2 * 1024 * 2;                               // [100, 2, 1024] bf16
    for (tla_batch batch : {TLA_BATCH_CONTIGUOUS, TLA_BATCH_CARVED}) {
        mixed m(32 * tensor, batch);
        std::vector<tla_mixed_pool_block> blocks(32);
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_alloc(m.m, TLA_FORMAT_KV_2LTD, tensor, 32, blocks.data(), nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(m.stats().free_tensor_bytes, 0u);
        for (std::size_t i = 0; i < 32; i++)
            BOOST_CHECK_EQUAL(blocks[i].address, blocks[0].address + i * tensor);
        std::swap(blocks[3], blocks[20]); // in any order
        tla_work work{};
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_free(m.m, blocks.data(), 32, &work), TLA_OK);
        BOOST_CHECK_EQUAL(m.stats().free_blocks, 1u);
        BOOST_CHECK_EQUAL(m.stats().tensors, 0u);
        BOOST_CHECK(m.memcheck());
    }
}

BOOST_AUTO_TEST_CASE(a_batch_in_a_fragmented_pool_depends_on_the_generation) { // seed 003 / PR #2767
    for (tla_batch batch : {TLA_BATCH_CONTIGUOUS, TLA_BATCH_CARVED}) {
        mixed m(6 * page, batch);
        std::vector<tla_mixed_pool_block> blocks(6), three(3);
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_alloc(m.m, TLA_FORMAT_KV_2LTD, page, 6, blocks.data(), nullptr), TLA_OK);
        for (std::size_t i : {0u, 2u, 4u})
            m.free(blocks[i]);
        tla_status status = tla_mixed_pool_alloc(m.m, TLA_FORMAT_KV_2LTD, page, 3, three.data(), nullptr);
        BOOST_CHECK_EQUAL(status, batch == TLA_BATCH_CARVED ? TLA_OK : TLA_FRAGMENTED);
        BOOST_CHECK_EQUAL(m.stats().free_tensor_bytes, batch == TLA_BATCH_CARVED ? 0u : 3 * page);
        BOOST_CHECK(m.memcheck());
    }
}

BOOST_AUTO_TEST_CASE(too_much_is_a_status_and_changes_nothing) { // oversize -> None, not an exception
    mixed m(8 * page);
    tla_mixed_pool_block one = m.alloc(page), block{};
    std::vector<tla_mixed_pool_block> batch(8);
    BOOST_CHECK_EQUAL(m.try_alloc(8 * page, &block), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(m.try_alloc(~std::uint64_t{0}, &block), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(m.try_alloc(0, &block), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(m.try_alloc(~std::uint64_t{0}, &block, TLA_FORMAT_BINARY_BUFFER), TLA_NO_HOST_MEMORY);
    BOOST_CHECK_EQUAL(tla_mixed_pool_alloc(m.m, TLA_FORMAT_KV_2LTD, page, 8, batch.data(), nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_mixed_pool_alloc(m.m, TLA_FORMAT_KV_2LTD, page, 0, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(m.stats().free_tensor_bytes, 7 * page);
    BOOST_CHECK_EQUAL(m.stats().tensors, 1u);
    m.free(one);
}

BOOST_AUTO_TEST_CASE(a_second_free_does_no_harm) {
    for (std::uint64_t slot_bytes : {std::uint64_t{0}, page}) {
        mixed m({0, 8 * page, page, slot_bytes, TLA_BATCH_CARVED});
        tla_mixed_pool_block a = m.alloc(100), copy = a, string = m.alloc(100, TLA_FORMAT_BINARY_BUFFER);
        m.free(a);
        BOOST_CHECK_EQUAL(tla_mixed_pool_free(m.m, &a, 1, nullptr), TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(tla_mixed_pool_free(m.m, &copy, 1, nullptr), TLA_NOT_ALLOCATED);
        m.free(string);
        BOOST_CHECK_EQUAL(tla_mixed_pool_free(m.m, &string, 1, nullptr), TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(m.stats().tensors, 0u);
        BOOST_CHECK(m.memcheck());
        BOOST_CHECK_NE(m.alloc(100).address, m.alloc(100).address);
    }
}

BOOST_AUTO_TEST_CASE(tensors_and_byte_strings_in_one_batch_are_rejected) { // LMCache goes by the first one
    mixed m;
    tla_mixed_pool_block both[2] = {m.alloc(100), m.alloc(100, TLA_FORMAT_BINARY_BUFFER)};
    BOOST_CHECK_EQUAL(tla_mixed_pool_free(m.m, both, 2, nullptr), TLA_INVALID_ARGUMENT);
    std::swap(both[0], both[1]);
    BOOST_CHECK_EQUAL(tla_mixed_pool_free(m.m, both, 2, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(m.stats().tensors + m.stats().buffers, 2u);
    m.free(both[0]);
    m.free(both[1]);
}

BOOST_AUTO_TEST_CASE(with_paging_tensors_are_slots) {
    mixed m({2 * page, 16 * page, page, 4 * page, TLA_BATCH_CARVED});
    tla_mixed_pool_block a = m.alloc(100), b = m.alloc(4 * page), block{};
    BOOST_CHECK_EQUAL(a.address, 2 * page);
    BOOST_CHECK_EQUAL(b.address, 6 * page);
    BOOST_CHECK_EQUAL(a.capacity, 4 * page);
    m.free(a);
    BOOST_CHECK_EQUAL(m.alloc(1).address, 10 * page); // first in, first out
    BOOST_CHECK_EQUAL(m.try_alloc(4 * page + 1, &block), TLA_INVALID_ARGUMENT);
    tla_mixed_pool_block foreign = b;
    foreign.address = 7 * page;
    BOOST_CHECK_EQUAL(tla_mixed_pool_free(m.m, &foreign, 1, nullptr), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(m.stats().tensor_bytes, 8 * page);
    BOOST_CHECK_EQUAL(m.stats().free_blocks, 2u);
}

BOOST_AUTO_TEST_CASE(the_alignment_must_be_a_positive_power_of_two) {
    for (std::uint64_t alignment : std::initializer_list<std::uint64_t>{0, 3000})
        for (std::uint64_t slot_bytes : {std::uint64_t{0}, page}) {
            tla_mixed_pool_config config{0, 16 * page, alignment, slot_bytes, TLA_BATCH_CARVED};
            tla_mixed_pool *none = nullptr;
            BOOST_CHECK_EQUAL(tla_mixed_pool_create(&config, &none), TLA_INVALID_ARGUMENT);
            BOOST_CHECK(none == nullptr);
        }
}

BOOST_AUTO_TEST_CASE(destroy_names_a_leak) {
    tla_mixed_pool_config config{0, 16 * page, page, 0, TLA_BATCH_CARVED};
    tla_mixed_pool *m = nullptr;
    tla_mixed_pool_block block{};
    BOOST_REQUIRE_EQUAL(tla_mixed_pool_create(&config, &m), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_mixed_pool_alloc(m, TLA_FORMAT_KV_2LTD, 100, 1, &block, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_mixed_pool_destroy(m), TLA_LEAK);
}

BOOST_AUTO_TEST_CASE(fifty_threads_do_not_overlap_and_totals_are_exact) { // 2.9: 50x10 threads, 20x10 batched
    for (std::uint64_t slot_bytes : {std::uint64_t{0}, 4 * page}) {
        mixed m({0, 4096 * page, page, slot_bytes, TLA_BATCH_CARVED});
        std::mutex mutex;
        std::map<std::uint64_t, std::uint64_t> ranges;
        std::atomic<std::uint64_t> live_bytes{0}, overlaps{0}, failures{0};
        std::vector<std::thread> workers;
        for (unsigned t = 0; t < 50; t++)
            workers.emplace_back([&, t] {
                std::mt19937_64 random(t);
                for (int round = 0; round < 10; round++) {
                    std::vector<tla_mixed_pool_block> blocks(1 + random() % 10);
                    tla_memory_format format = random() % 4 ? TLA_FORMAT_KV_2LTD : TLA_FORMAT_BINARY_BUFFER;
                    std::uint64_t nbytes = 1 + random() % (4 * page);
                    if (tla_mixed_pool_alloc(m.m, format, nbytes, blocks.size(), blocks.data(), nullptr)) {
                        failures++;
                        continue;
                    }
                    bool keep = round == 9 && format == TLA_FORMAT_KV_2LTD;
                    for (const tla_mixed_pool_block &block : blocks) {
                        if (format != TLA_FORMAT_KV_2LTD) continue;
                        std::lock_guard<std::mutex> lock(mutex);
                        auto next = ranges.lower_bound(block.address);
                        overlaps += next != ranges.end() && next->first < block.address + block.capacity;
                        overlaps += next != ranges.begin() && std::prev(next)->second > block.address;
                        ranges[block.address] = block.address + block.capacity;
                        if (keep) live_bytes += block.capacity;
                    }
                    if (keep) continue;
                    {
                        std::lock_guard<std::mutex> lock(mutex);
                        for (const tla_mixed_pool_block &block : blocks)
                            if (format == TLA_FORMAT_KV_2LTD) ranges.erase(block.address);
                    }
                    if (tla_mixed_pool_free(m.m, blocks.data(), blocks.size(), nullptr)) failures++;
                }
            });
        for (std::thread &worker : workers)
            worker.join();
        BOOST_CHECK_EQUAL(overlaps.load(), 0u);
        BOOST_CHECK_EQUAL(failures.load(), 0u);
        BOOST_CHECK_GT(live_bytes.load(), 0u);
        BOOST_CHECK_EQUAL(m.stats().tensor_bytes, live_bytes.load());
        BOOST_CHECK_EQUAL(m.stats().tensors, ranges.size());
        BOOST_CHECK_EQUAL(m.stats().buffers, 0u);
        BOOST_CHECK_EQUAL(m.stats().tensor_bytes + m.stats().free_tensor_bytes, 4096 * page);
        BOOST_CHECK(m.memcheck());
    }
}
