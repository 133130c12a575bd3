// Virtual ranges against ADR-0048 D4 and KernBench's tests T7, T8, T9.
#include "tlmalloc/vm/va_space.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {
const uint64_t kernbench_base = uint64_t{4} << 30; // ADR-0048 D4

struct va_fixture {
    explicit va_fixture(uint64_t nbytes = uint64_t{64} << 30, uint64_t page_size = 4096) {
        tla_va_space_config config{};
        config.base.value = kernbench_base;
        config.nbytes = nbytes;
        config.page_size = page_size;
        BOOST_REQUIRE_EQUAL(tla_va_space_create(&config, &space), TLA_OK);
    }
    explicit va_fixture(const tla_va_space_config &config) {
        BOOST_REQUIRE_EQUAL(tla_va_space_create(&config, &space), TLA_OK);
    }
    ~va_fixture() { tla_va_space_destroy(space); }
    va_fixture(const va_fixture &) = delete;
    va_fixture &operator=(const va_fixture &) = delete;
    uint64_t alloc(uint64_t nbytes) {
        tla_vaddr va{};
        BOOST_REQUIRE_EQUAL(tla_va_space_alloc(space, nbytes, &va, nullptr), TLA_OK);
        return va.value;
    }
    tla_va_space *space = nullptr;
};
} // namespace

BOOST_AUTO_TEST_CASE(t7_ranges_follow_each_other_from_the_base_page_aligned) {
    for (uint64_t page : {uint64_t{4096}, uint64_t{8192}}) {
        va_fixture f(uint64_t{64} << 30, page);
        BOOST_CHECK_EQUAL(f.alloc(0x1000), kernbench_base);
        BOOST_CHECK_EQUAL(f.alloc(1), kernbench_base + page);
        BOOST_CHECK_EQUAL(f.alloc(page + 1), kernbench_base + 2 * page);
        BOOST_CHECK_EQUAL(f.alloc(1), kernbench_base + 4 * page);
    }
}

BOOST_AUTO_TEST_CASE(t8_a_freed_range_is_used_again) {
    va_fixture f;
    uint64_t first = f.alloc(0x1000);
    f.alloc(0x1000);
    BOOST_REQUIRE_EQUAL(tla_va_space_free(f.space, {first}, 0x1000, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(f.alloc(0x1000), first);
}

BOOST_AUTO_TEST_CASE(t9_an_exhausted_space_fails_a_request_and_takes_nothing) {
    va_fixture f(0x4000);
    f.alloc(0x3000);
    tla_vaddr va{77};
    BOOST_CHECK_EQUAL(tla_va_space_alloc(f.space, 0x1001, &va, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(va.value, 77u);
    BOOST_CHECK_EQUAL(tla_va_space_get_stats(f.space).used, 0x3000u);
    BOOST_CHECK_EQUAL(f.alloc(0x1000), kernbench_base + 0x3000);
}

BOOST_AUTO_TEST_CASE(free_rounds_up_as_alloc_did) {
    va_fixture f(0x4000);
    uint64_t va = f.alloc(0x2001);
    BOOST_CHECK_EQUAL(tla_va_space_get_stats(f.space).used, 0x3000u);
    BOOST_REQUIRE_EQUAL(tla_va_space_free(f.space, {va}, 0x2001, nullptr), TLA_OK);
    tla_arena_stats stats = tla_va_space_get_stats(f.space);
    BOOST_CHECK_EQUAL(stats.used, 0u);
    BOOST_CHECK_EQUAL(stats.free_blocks, 1u);
}

BOOST_AUTO_TEST_CASE(rounding_keeps_fragmented_and_exhausted_spaces_apart) {
    va_fixture f(0x4000);
    uint64_t a = f.alloc(1), b = f.alloc(1), c = f.alloc(1), d = f.alloc(1);
    (void)b;
    (void)d;
    BOOST_REQUIRE_EQUAL(tla_va_space_free(f.space, {a}, 1, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_va_space_free(f.space, {c}, 1, nullptr), TLA_OK);
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_va_space_explain(f.space, "VA space", 0x1001, &error), TLA_FRAGMENTED);
    BOOST_CHECK(std::strstr(error.text, "VA space") != nullptr);
    BOOST_CHECK_EQUAL(error.largest_free, 0x1000u);
    BOOST_CHECK_EQUAL(tla_va_space_explain(f.space, "VA space", 0x2001, &error), TLA_EXHAUSTED);
}

BOOST_AUTO_TEST_CASE(sizes_that_round_past_2_to_the_64_are_rejected) {
    va_fixture f(0x4000);
    tla_vaddr va{};
    BOOST_CHECK_EQUAL(tla_va_space_alloc(f.space, UINT64_MAX, &va, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_va_space_free(f.space, {kernbench_base}, UINT64_MAX, nullptr), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_va_space_alloc(f.space, 0, &va, nullptr), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(large_ranges_begin_on_large_pages_where_one_is_free) {
    const uint64_t KiB = 1024, MiB = 1024 * KiB;
    tla_va_space_config config{};
    config.base.value = kernbench_base;
    config.nbytes = 8 * MiB;
    config.page_size = 4 * KiB;
    config.larger_page_sizes[0] = 64 * KiB;
    config.larger_page_sizes[1] = 2 * MiB;
    va_fixture f(config);
    BOOST_CHECK_EQUAL(f.alloc(1), kernbench_base);
    BOOST_CHECK_EQUAL(f.alloc(2 * MiB), kernbench_base + 2 * MiB);           // not behind the first page
    BOOST_CHECK_EQUAL(f.alloc(64 * KiB), kernbench_base + 64 * KiB);         // in what was skipped
    BOOST_CHECK_EQUAL(f.alloc(60 * KiB), kernbench_base + 4 * KiB);          // too small to care
    BOOST_CHECK_EQUAL(f.alloc(2 * MiB + 4 * KiB), kernbench_base + 4 * MiB); // not rounded up to 4 MiB
    BOOST_CHECK_EQUAL(f.alloc(4 * KiB), kernbench_base + 128 * KiB);
    // 2 MiB are free only where no 2 MiB page is: the range begins on 64 KiB then.
    BOOST_CHECK_EQUAL(f.alloc(MiB), kernbench_base + 192 * KiB);
    BOOST_REQUIRE_EQUAL(tla_va_space_free(f.space, {kernbench_base + 2 * MiB}, 2 * MiB, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(f.alloc(64 * KiB), kernbench_base + 192 * KiB + MiB);
    BOOST_CHECK_EQUAL(f.alloc(2 * MiB + 64 * KiB), kernbench_base + 192 * KiB + MiB + 64 * KiB);
}

BOOST_AUTO_TEST_CASE(bad_frees_change_nothing) {
    va_fixture f(0x4000);
    uint64_t va = f.alloc(0x2000);
    BOOST_CHECK_EQUAL(tla_va_space_free(f.space, {va + 1}, 1, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_va_space_free(f.space, {va - 0x1000}, 0x1000, nullptr), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_va_space_free(f.space, {va}, 0x3000, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_va_space_get_stats(f.space).used, 0x2000u);
}

BOOST_AUTO_TEST_CASE(configurations_that_break_a_rule_are_rejected) {
    const tla_va_space_config bad[] = {{{0}, 0x1000, 0, {}},
                                       {{0}, 0x3000, 0x1800, {}},
                                       {{0x800}, 0x1000, 0x1000, {}},
                                       {{0}, 0x1800, 0x1000, {}},
                                       {{uint64_t{1} << 63}, 0x1000, 0x1000, {}},
                                       {{0}, 0x4000, 0x1000, {0x1000}},
                                       {{0}, 0x4000, 0x1000, {0x3000}},
                                       {{0}, 0x4000, 0x1000, {0x4000, 0x2000}}};
    for (const tla_va_space_config &config : bad) {
        tla_va_space *space = reinterpret_cast<tla_va_space *>(1);
        BOOST_CHECK_EQUAL(tla_va_space_create(&config, &space), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(space == nullptr);
    }
}

BOOST_AUTO_TEST_CASE(random_tensors_never_share_a_page_and_are_all_released) {
    const unsigned seed = 20260109;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    const uint64_t page = 0x1000, pages = 512;
    va_fixture f(page * pages, page);
    std::vector<int> owner(pages, 0);
    struct range {
        uint64_t va, nbytes;
    };
    std::vector<range> live;
    for (int step = 1; step <= 50000; step++) {
        if (random() % 2 || live.empty()) {
            uint64_t nbytes = 1 + random() % (8 * page);
            tla_vaddr va{};
            if (tla_va_space_alloc(f.space, nbytes, &va, nullptr)) continue;
            BOOST_REQUIRE_EQUAL(va.value % page, 0u);
            for (uint64_t p = (va.value - kernbench_base) / page; p <= (va.value + nbytes - 1 - kernbench_base) / page;
                 p++) {
                BOOST_REQUIRE_EQUAL(owner[p], 0);
                owner[p] = step;
            }
            live.push_back({va.value, nbytes});
        } else {
            size_t pick = random() % live.size();
            range r = live[pick];
            live[pick] = live.back();
            live.pop_back();
            BOOST_REQUIRE_EQUAL(tla_va_space_free(f.space, {r.va}, r.nbytes, nullptr), TLA_OK);
            for (uint64_t p = (r.va - kernbench_base) / page; p <= (r.va + r.nbytes - 1 - kernbench_base) / page; p++)
                owner[p] = 0;
        }
    }
    for (const range &r : live)
        BOOST_REQUIRE_EQUAL(tla_va_space_free(f.space, {r.va}, r.nbytes, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_va_space_get_stats(f.space).free_blocks, 1u);
    BOOST_CHECK_EQUAL(tla_va_space_get_stats(f.space).used, 0u);
}
