// Tensors that an MMU cannot unmap for now, because its table in memory gets no block.
#include "apart.hpp"
#include "platform_bench.hpp"

#include <cstdio>

using namespace platform_benches;

namespace {

// Tensors of 8 KiB share pages of 16 KiB, whose regions the tables list.
const std::vector<std::string> shared_pages = {"system.pes_per_cube=1", "mmu.page_size=16 KiB", "va.page_size=4 KiB",
                                               "mmu.walk=memory"};
const std::uint64_t half_page = 8 << 10;

struct unmap_bench : platform_bench {
    explicit unmap_bench(const std::vector<std::string> &more) : platform_bench(shared_pages, more) {}

    runtime &host() { return platform.host(); }

    // Leaves no byte of the slice free.
    std::vector<shard> fill_memory() {
        std::vector<shard> blocks;
        for (std::uint64_t nbytes = 1 << 20; nbytes > 0; nbytes /= 2)
            for (shard made{}; !host().allocate({0, 0, 0}, TLA_HBM, nbytes, &made, nullptr);)
                blocks.push_back(made);
        return blocks;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(an_unmap_without_memory_for_a_table_is_repeated_at_clean_up) {
    unmap_bench b({});
    b.run([&] {
        tensor *const first = b.make(half_page, TLA_HBM), *const second = b.make(half_page, TLA_HBM);
        BOOST_REQUIRE(first && second);
        const bytes data = pattern(half_page);
        b.write(second, data);
        const std::vector<shard> blocks = b.fill_memory();
        BOOST_CHECK_EQUAL(b.host().free_tensor(first, &b.error), TLA_EXHAUSTED);
        shard made{};
        BOOST_CHECK_EQUAL(b.host().allocate({0, 0, 0}, TLA_HBM, 1, &made, nullptr), TLA_EXHAUSTED);
        for (const shard &block : blocks)
            BOOST_CHECK_EQUAL(b.host().release(block, &b.error), TLA_OK);
        BOOST_CHECK(b.read(second) == data);
        BOOST_CHECK_MESSAGE(b.host().cleanup(&b.error) == TLA_OK, b.error.text);
    });
    BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
}

BOOST_AUTO_TEST_CASE(nobody_gets_memory_or_addresses_that_stay_mapped) {
    unmap_bench b({});
    b.run_and_clean_up([&] {
        tensor *const first = b.make(half_page, TLA_HBM), *const second = b.make(half_page, TLA_HBM);
        BOOST_REQUIRE(first && second);
        const std::uint64_t va = first->va.value, pa = first->shards[0].pa.value;
        const std::vector<shard> blocks = b.fill_memory();
        BOOST_CHECK_EQUAL(b.host().free_tensor(first, &b.error), TLA_EXHAUSTED);
        for (const shard &block : blocks)
            BOOST_CHECK_EQUAL(b.host().release(block, &b.error), TLA_OK);
        for (int i = 0; i < 100; i++) {
            const tensor *const other = b.make(half_page, TLA_HBM);
            BOOST_REQUIRE_MESSAGE(other, b.error.text);
            BOOST_CHECK(other->va.value != va && other->shards[0].pa.value != pa);
        }
    });
}

namespace {

struct ending {
    char error[256]; // of the clean-up
    tla_status status;
    std::uint64_t leaks, retries;
};

// Tensors come and go on a platform whose controllers reject commands.
ending run_with_refusals(std::uint64_t seed) {
    return apart<ending>("seed " + std::to_string(seed), [&](ending &result) {
        unmap_bench b({"faults.plan=refuse rate=400000", "faults.seed=" + std::to_string(seed), "host.retries=1"});
        b.run([&] {
            std::vector<tensor *> made;
            for (std::uint64_t i = 0; i < 12; i++) {
                tensor *const t = b.make(half_page / 2 * (1 + i % 3), TLA_HBM);
                if (t) made.push_back(t);
                if (i % 3 < 2 || made.empty()) continue;
                b.host().free_tensor(made.front(), nullptr);
                made.erase(made.begin());
            }
            result.status = b.host().cleanup(&b.error);
            if (result.status) std::snprintf(result.error, sizeof result.error, "%.200s", b.error.text);
        });
        result.leaks = b.platform.leaks();
        result.retries = b.host().retries();
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(tables_that_a_fault_plan_refuses_leave_nothing_mapped_after_clean_up) {
    std::uint64_t retries = 0;
    for (std::uint64_t seed = 1; seed <= 40; seed++) {
        const ending end = run_with_refusals(seed);
        BOOST_CHECK_MESSAGE(!end.error[0] && end.leaks == 0, "seed " << seed << ": " << end.leaks << " " << end.error);
        retries += end.retries;
    }
    BOOST_CHECK_GT(retries, 0u);
}
