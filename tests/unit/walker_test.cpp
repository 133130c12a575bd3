// The walker pool: closed-form ceilings, merging, path registers, the walk cache, stalls.
#include "tlmalloc/translation/tlb.h"
#include "tlmalloc/translation/walker.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

namespace {
const uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
const uint64_t ns = 1000; // ps

tla_walkers_config pool(uint32_t walkers, uint32_t merge_slots) {
    tla_walkers_config config{};
    config.walkers = walkers;
    config.merge_slots = merge_slots;
    config.hit_under_miss = true;
    config.level_ps = 100 * ns; // four levels: 400 ns
    return config;
}

struct walkers_fixture {
    explicit walkers_fixture(const tla_walkers_config &config, uint64_t page_size = 4 * KiB, uint32_t va_bits = 48) {
        BOOST_REQUIRE_EQUAL(tla_walkers_create(&config, &walkers), TLA_OK);
        tla_page_table_config table_config{};
        table_config.page_size = page_size;
        table_config.va_bits = va_bits;
        table_config.asids = 2;
        BOOST_REQUIRE_EQUAL(tla_page_table_create(&table_config, &table), TLA_OK);
        for (uint32_t asid = 0; asid < 2; asid++) {
            tla_map_entry all{{0}, {0}, 4 * GiB, TLA_READ, asid};
            BOOST_REQUIRE_EQUAL(tla_page_table_map(table, &all, 1, nullptr, nullptr), TLA_OK);
        }
    }
    ~walkers_fixture() {
        tla_walkers_destroy(walkers);
        tla_page_table_destroy(table);
    }
    walkers_fixture(const walkers_fixture &) = delete;
    walkers_fixture &operator=(const walkers_fixture &) = delete;
    tla_walk_result miss(uint64_t va, uint64_t at, uint32_t asid = 0) {
        tla_walk walk{};
        tla_page_table_walk(table, asid, {va}, &walk);
        return tla_walkers_request(walkers, &walk, at, nullptr, nullptr);
    }
    tla_walkers_stats stats() { return tla_walkers_get_stats(walkers); }
    tla_walkers *walkers = nullptr;
    tla_page_table *table = nullptr;
};

// Streams bytes in bursts, each as soon as the one before was accepted; bytes/ns of the whole.
double stream_rate(walkers_fixture &f, uint64_t nbytes, uint64_t burst) {
    uint64_t at = 0, end = 0;
    for (uint64_t va = 0; va < nbytes; va += burst) {
        tla_walk_result r = f.miss(va, at);
        at = r.accepted_ps;
        end = std::max(end, r.done_ps);
    }
    return static_cast<double>(nbytes) / static_cast<double>(end) * 1e3;
}
} // namespace

BOOST_AUTO_TEST_CASE(streams_of_bursts_reach_the_closed_form_ceilings) {
    // walkers * bytes that one walk serves / walk latency; every burst is a miss (no TLB).
    struct {
        uint32_t walkers, merge_slots;
        uint64_t page_size;
        uint32_t va_bits; // for four levels of 100 ns
        double expected;  // GB/s
    } rows[] = {
        {8, 0, 4 * KiB, 48, 8 * 256 / 400.0},       // 5.1
        {8, 15, 4 * KiB, 48, 8 * 4096 / 400.0},     // 81.9
        {128, 15, 4 * KiB, 48, 128 * 4096 / 400.0}, // 1311
        {8, 255, 64 * KiB, 48, 8 * 65536 / 400.0},  // 1311
    };
    for (const auto &row : rows) {
        walkers_fixture f(pool(row.walkers, row.merge_slots), row.page_size, row.va_bits);
        uint64_t nbytes = row.merge_slots ? 256 * row.page_size : 256 * KiB;
        double rate = stream_rate(f, nbytes, 256);
        BOOST_CHECK_CLOSE(rate, row.expected, 2.0);
        BOOST_TEST_MESSAGE(row.walkers << " walkers, " << row.page_size << " B pages, " << row.merge_slots
                                       << " merge slots: " << rate << " GB/s, closed form " << row.expected);
        if (row.merge_slots) BOOST_CHECK_EQUAL(f.stats().walks, nbytes / row.page_size);
    }
}

BOOST_AUTO_TEST_CASE(behind_a_tlb_only_bursts_that_come_before_the_walk_is_done_miss) {
    // Merging: every page is walked once, the ceiling stays. Without: the first 8 bursts of a page start 8 walks, the
    // 9th waits for a walker, the rest hit when it goes on: 16 bursts in 400 ns.
    for (uint32_t merge_slots : {15u, 0u}) {
        walkers_fixture f(pool(8, merge_slots));
        tla_tlb_config config{};
        config.levels = 1;
        config.level[0] = {64, 0, 0, TLA_REPLACE_LRU};
        config.page_sizes[0] = 4 * KiB;
        tla_tlb *tlb = nullptr;
        BOOST_REQUIRE_EQUAL(tla_tlb_create(&config, &tlb), TLA_OK);
        const uint64_t nbytes = 4 * MiB;
        uint64_t at = 0, end = 0;
        for (uint64_t va = 0; va < nbytes; va += 256) {
            tla_tlb_hit hit{};
            if (tla_tlb_lookup(tlb, 0, {va}, at, &hit)) continue;
            tla_walk walk{};
            BOOST_REQUIRE_EQUAL(tla_page_table_walk(f.table, 0, {va}, &walk), TLA_OK);
            tla_walk_result r = tla_walkers_request(f.walkers, &walk, at, nullptr, nullptr);
            BOOST_REQUIRE_EQUAL(tla_tlb_fill(tlb, &walk, r.done_ps), TLA_OK);
            at = r.accepted_ps;
            end = std::max(end, r.done_ps);
        }
        double rate = static_cast<double>(nbytes) / static_cast<double>(end) * 1e3;
        BOOST_CHECK_CLOSE(rate, (merge_slots ? 8 : 1) * 4096 / 400.0, 2.0);
        if (merge_slots) BOOST_CHECK_EQUAL(f.stats().walks, nbytes / (4 * KiB));
        tla_tlb_destroy(tlb);
    }
}

BOOST_AUTO_TEST_CASE(misses_to_one_page_share_a_walk) {
    walkers_fixture f(pool(2, 2));
    tla_walk_result a = f.miss(0x1000, 0), b = f.miss(0x1100, 50 * ns), c = f.miss(0x2000, 60 * ns);
    BOOST_CHECK_EQUAL(a.outcome, TLA_WALK_STARTED);
    BOOST_CHECK_EQUAL(a.done_ps, 400 * ns);
    BOOST_CHECK_EQUAL(b.outcome, TLA_WALK_MERGED);
    BOOST_CHECK_EQUAL(b.done_ps, 400 * ns);
    BOOST_CHECK_EQUAL(b.accepted_ps, 50 * ns);
    BOOST_CHECK_EQUAL(c.outcome, TLA_WALK_STARTED);
    BOOST_CHECK_EQUAL(c.done_ps, 460 * ns);
    BOOST_CHECK_EQUAL(tla_walkers_in_flight(f.walkers, 100 * ns), 2u);
    BOOST_CHECK_EQUAL(tla_walkers_in_flight(f.walkers, 400 * ns), 1u);
    BOOST_CHECK_EQUAL(f.miss(0x1200, 400 * ns).outcome, TLA_WALK_STARTED); // that walk is over
    BOOST_CHECK_EQUAL(f.stats().walks, 3u);
    BOOST_CHECK_EQUAL(f.stats().merged, 1u);
    BOOST_CHECK_EQUAL(f.stats().stalls, 0u);
}

BOOST_AUTO_TEST_CASE(a_full_merge_table_holds_up_requests_for_its_page_until_the_walk_is_done) {
    walkers_fixture f(pool(2, 1));
    f.miss(0x1000, 0);
    f.miss(0x1100, 1 * ns);
    tla_walk_result third = f.miss(0x1200, 2 * ns);
    BOOST_CHECK_EQUAL(third.outcome, TLA_WALK_WAITED);
    BOOST_CHECK_EQUAL(third.done_ps, 400 * ns);
    BOOST_CHECK_EQUAL(third.accepted_ps, 2 * ns); // what follows to other pages does not wait
    BOOST_CHECK_EQUAL(f.miss(0x2000, 3 * ns).done_ps, 403 * ns);
    BOOST_CHECK_EQUAL(f.miss(0x1300, 4 * ns).done_ps, 400 * ns);
    BOOST_CHECK_EQUAL(f.stats().stalls, 2u);
    BOOST_CHECK_EQUAL(f.stats().stall_ps, (398 + 396) * ns);
}

BOOST_AUTO_TEST_CASE(after_a_change_is_visible_nothing_joins_a_walk_that_began_before) {
    walkers_fixture f(pool(2, 4));
    f.miss(0x1000, 0);
    tla_walkers_make_visible(f.walkers, 100 * ns);
    BOOST_CHECK_EQUAL(f.miss(0x1000, 99 * ns).outcome, TLA_WALK_MERGED);
    BOOST_CHECK_EQUAL(f.miss(0x1000, 100 * ns).outcome, TLA_WALK_STARTED);
    BOOST_CHECK_EQUAL(f.miss(0x1000, 101 * ns).outcome, TLA_WALK_MERGED);
}

BOOST_AUTO_TEST_CASE(a_miss_without_a_free_walker_waits_for_the_first_that_is) {
    walkers_fixture f(pool(2, 4));
    f.miss(0x1000, 0);
    f.miss(0x2000, 100 * ns);
    tla_walk_result r = f.miss(0x3000, 150 * ns);
    BOOST_CHECK_EQUAL(r.walker, 0u);
    BOOST_CHECK_EQUAL(r.start_ps, 400 * ns);
    BOOST_CHECK_EQUAL(r.accepted_ps, 400 * ns);
    BOOST_CHECK_EQUAL(r.done_ps, 800 * ns);
    BOOST_CHECK_EQUAL(f.stats().stalls, 1u);
    BOOST_CHECK_EQUAL(f.stats().stall_ps, 250 * ns);
    BOOST_CHECK_EQUAL(f.stats().busy_ps, 1200 * ns);
}

BOOST_AUTO_TEST_CASE(without_hit_under_miss_nothing_passes_a_waiting_request) {
    tla_walkers_config config = pool(8, 4);
    config.hit_under_miss = false;
    walkers_fixture f(config);
    BOOST_CHECK_EQUAL(f.miss(0x1000, 0).accepted_ps, 400 * ns);
    BOOST_CHECK_EQUAL(f.miss(0x1100, 10 * ns).accepted_ps, 400 * ns);
}

BOOST_AUTO_TEST_CASE(a_path_register_saves_the_upper_levels) {
    tla_walkers_config config = pool(1, 0);
    config.path_registers = true;
    walkers_fixture f(config);
    BOOST_CHECK_EQUAL(f.miss(0, 0).skipped, 0u);
    tla_walk_result near = f.miss(0x1000, 1000 * ns); // the same 2 MiB: one read is left
    BOOST_CHECK_EQUAL(near.skipped, 3u);
    BOOST_CHECK_EQUAL(near.done_ps, 1100 * ns);
    BOOST_CHECK_EQUAL(f.miss(2 * MiB, 2000 * ns).skipped, 2u); // the same 1 GiB
    BOOST_CHECK_EQUAL(f.miss(GiB, 3000 * ns).skipped, 1u);     // the same 512 GiB
    BOOST_CHECK_EQUAL(f.miss(GiB, 4000 * ns, 1).skipped, 0u);  // another address space
    BOOST_CHECK_EQUAL(f.miss(GiB + 0x1000, 5000 * ns, 1).skipped, 3u);
    tla_walkers_invalidate(f.walkers, 1);
    BOOST_CHECK_EQUAL(f.miss(GiB, 6000 * ns, 1).skipped, 0u);
    BOOST_CHECK_EQUAL(f.stats().reads_skipped, 9u);
    BOOST_CHECK_EQUAL(f.stats().reads, 7 * 4u - 9u);
}

BOOST_AUTO_TEST_CASE(the_walk_cache_serves_all_walkers_and_forgets_the_oldest) {
    tla_walkers_config config = pool(4, 0);
    config.walk_cache_entries = 3; // one path
    walkers_fixture f(config);
    BOOST_CHECK_EQUAL(f.miss(0, 0).skipped, 0u);
    tla_walk_result other = f.miss(0x1000, 1 * ns);
    BOOST_CHECK_EQUAL(other.walker, 1u);
    BOOST_CHECK_EQUAL(other.skipped, 3u);
    BOOST_CHECK_EQUAL(f.miss(GiB, 2 * ns).skipped, 1u); // replaces the two lower entries of the first path
    BOOST_CHECK_EQUAL(f.miss(0, 3 * ns).skipped, 1u);
    tla_walkers_invalidate(f.walkers, 0);
    BOOST_CHECK_EQUAL(f.miss(0, 1000 * ns).skipped, 0u);
}

BOOST_AUTO_TEST_CASE(a_service_makes_the_reads_that_are_left) {
    tla_walkers_config config = pool(1, 0);
    config.path_registers = true;
    walkers_fixture f(config);
    std::vector<uint32_t> reads;
    auto service = [](void *context, const tla_walk *walk, uint32_t first, uint64_t start_ps) {
        static_cast<std::vector<uint32_t> *>(context)->push_back(walk->reads - first);
        return start_ps + 7 * ns;
    };
    for (uint64_t va : {uint64_t{0}, uint64_t{0x1000}}) {
        tla_walk walk{};
        BOOST_REQUIRE_EQUAL(tla_page_table_walk(f.table, 0, {va}, &walk), TLA_OK);
        tla_walk_result r = tla_walkers_request(f.walkers, &walk, va * ns, service, &reads);
        BOOST_CHECK_EQUAL(r.done_ps, va * ns + 7 * ns);
    }
    BOOST_CHECK((reads == std::vector<uint32_t>{4, 1}));
}

BOOST_AUTO_TEST_CASE(after_an_invalidation_nothing_joins_the_walk_under_way) {
    walkers_fixture f(pool(2, 4));
    f.miss(0x1000, 0);
    tla_walkers_invalidate(f.walkers, 0);
    BOOST_CHECK_EQUAL(f.miss(0x1000, 1 * ns).outcome, TLA_WALK_STARTED);
}

BOOST_AUTO_TEST_CASE(finding_nothing_takes_a_walk_too) {
    walkers_fixture f(pool(1, 1));
    tla_walk_result r = f.miss(8 * GiB, 0);
    BOOST_CHECK_EQUAL(r.done_ps, 400 * ns);
    BOOST_CHECK_EQUAL(f.miss(8 * GiB + 5, 1 * ns).outcome, TLA_WALK_MERGED);
}

BOOST_AUTO_TEST_CASE(pools_that_are_empty_or_too_large_are_refused) {
    tla_walkers_config bad[] = {pool(0, 0), pool(TLA_WALKERS_MAX + 1, 0), pool(1, 0)};
    bad[2].walk_cache_entries = TLA_WALK_CACHE_MAX + 1;
    for (const tla_walkers_config &config : bad) {
        tla_walkers *walkers = reinterpret_cast<tla_walkers *>(1);
        BOOST_CHECK_EQUAL(tla_walkers_create(&config, &walkers), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(walkers == nullptr);
    }
}
