// The walker pool by hand: closed-form ceilings, merging, path registers, the walk cache, stalls.
#include "stepped_walkers.hpp"

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
    return config;
}

// A read takes 100 ns, four levels 400 ns. Misses come in the order of time.
struct walkers_fixture : stepped_walkers {
    explicit walkers_fixture(const tla_walkers_config &config, uint64_t page_size = 4 * KiB, uint32_t va_bits = 48)
        : stepped_walkers(config, [](const tla_walk &, uint32_t, uint64_t) { return 100 * ns; }) {
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
    ~walkers_fixture() { tla_page_table_destroy(table); }
    walkers_fixture(const walkers_fixture &) = delete;
    walkers_fixture &operator=(const walkers_fixture &) = delete;

    tla_walk_outcome miss(uint64_t va, uint64_t at, uint32_t asid = 0) {
        tla_walk walk{};
        tla_page_table_walk(table, asid, {va}, &walk);
        return request(walk, at);
    }
    // A miss that finds the last walk over: how many reads are saved.
    uint32_t skipped(uint64_t va, uint64_t at, uint32_t asid = 0) {
        BOOST_CHECK_EQUAL(miss(va, at, asid), TLA_WALK_STARTED);
        return answers.back().skipped;
    }
    std::vector<uint64_t> done() {
        advance(UINT64_MAX);
        std::vector<uint64_t> times;
        for (const walk_answer &a : answers)
            times.push_back(a.done_ps);
        return times;
    }
    tla_walkers_stats stats() const { return tla_walkers_get_stats(walkers); }
    tla_page_table *table = nullptr;
};

// Streams bytes in bursts, each as soon as the one before was accepted; bytes/ns of the whole.
double stream_rate(walkers_fixture &f, uint64_t nbytes, uint64_t burst) {
    uint64_t at = 0;
    for (uint64_t va = 0; va < nbytes; va += burst) {
        f.miss(va, at);
        at = f.accepted_ps();
    }
    const std::vector<uint64_t> done = f.done();
    return static_cast<double>(nbytes) / static_cast<double>(*std::max_element(done.begin(), done.end())) * 1e3;
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

BOOST_AUTO_TEST_CASE(misses_to_one_page_share_a_walk) {
    walkers_fixture f(pool(2, 2));
    BOOST_CHECK_EQUAL(f.miss(0x1000, 0), TLA_WALK_STARTED);
    BOOST_CHECK_EQUAL(f.miss(0x1100, 50 * ns), TLA_WALK_MERGED);
    BOOST_CHECK_EQUAL(f.miss(0x2000, 60 * ns), TLA_WALK_STARTED);
    BOOST_CHECK_EQUAL(tla_walkers_begun(f.walkers), 2u);
    BOOST_CHECK_EQUAL(f.miss(0x1200, 400 * ns), TLA_WALK_STARTED); // that walk is over
    BOOST_CHECK((f.done() == std::vector<uint64_t>{400 * ns, 400 * ns, 460 * ns, 800 * ns}));
    BOOST_CHECK_EQUAL(tla_walkers_begun(f.walkers), 0u);
    BOOST_CHECK_EQUAL(f.stats().walks, 3u);
    BOOST_CHECK_EQUAL(f.stats().merged, 1u);
    BOOST_CHECK_EQUAL(f.stats().stalls, 0u);
}

BOOST_AUTO_TEST_CASE(a_full_merge_table_holds_up_requests_for_its_page_until_the_walk_is_done) {
    walkers_fixture f(pool(2, 1));
    f.miss(0x1000, 0);
    f.miss(0x1100, 1 * ns);
    BOOST_CHECK_EQUAL(f.miss(0x1200, 2 * ns), TLA_WALK_WAITED);
    BOOST_CHECK_EQUAL(f.miss(0x2000, 3 * ns), TLA_WALK_STARTED); // what follows to other pages does not wait
    f.miss(0x1300, 4 * ns);
    BOOST_CHECK((f.done() == std::vector<uint64_t>{400 * ns, 400 * ns, 400 * ns, 403 * ns, 400 * ns}));
    BOOST_CHECK_EQUAL(f.stats().stalls, 2u);
    BOOST_CHECK_EQUAL(f.stats().stall_ps, (398 + 396) * ns);
}

BOOST_AUTO_TEST_CASE(after_a_change_is_visible_nothing_joins_a_walk_that_began_before) {
    walkers_fixture f(pool(2, 4));
    f.miss(0x1000, 0);
    tla_walkers_make_visible(f.walkers, 100 * ns);
    BOOST_CHECK_EQUAL(f.miss(0x1000, 99 * ns), TLA_WALK_MERGED);
    BOOST_CHECK_EQUAL(f.miss(0x1000, 100 * ns), TLA_WALK_STARTED);
    BOOST_CHECK_EQUAL(f.miss(0x1000, 101 * ns), TLA_WALK_MERGED);
}

BOOST_AUTO_TEST_CASE(a_miss_without_a_free_walker_waits_for_the_first_that_is) {
    walkers_fixture f(pool(2, 4));
    f.miss(0x1000, 0);
    f.miss(0x2000, 100 * ns);
    BOOST_CHECK_EQUAL(f.miss(0x3000, 150 * ns), TLA_WALK_QUEUED);
    BOOST_CHECK_EQUAL(f.accepted_ps(), 400 * ns);
    BOOST_CHECK((f.done() == std::vector<uint64_t>{400 * ns, 500 * ns, 800 * ns}));
    BOOST_CHECK_EQUAL(f.stats().stalls, 1u);
    BOOST_CHECK_EQUAL(f.stats().stall_ps, 250 * ns);
    BOOST_CHECK_EQUAL(f.stats().busy_ps, 1200 * ns);
}

BOOST_AUTO_TEST_CASE(a_path_register_saves_the_upper_levels) {
    tla_walkers_config config = pool(1, 0);
    config.path_registers = true;
    walkers_fixture f(config);
    BOOST_CHECK_EQUAL(f.skipped(0, 0), 0u);
    BOOST_CHECK_EQUAL(f.skipped(0x1000, 1000 * ns), 3u);  // the same 2 MiB: one read is left
    BOOST_CHECK_EQUAL(f.skipped(2 * MiB, 2000 * ns), 2u); // the same 1 GiB
    BOOST_CHECK_EQUAL(f.skipped(GiB, 3000 * ns), 1u);     // the same 512 GiB
    BOOST_CHECK_EQUAL(f.skipped(GiB, 4000 * ns, 1), 0u);  // another address space
    BOOST_CHECK_EQUAL(f.skipped(GiB + 0x1000, 5000 * ns, 1), 3u);
    f.advance(5500 * ns);
    tla_walkers_invalidate(f.walkers, 1);
    BOOST_CHECK_EQUAL(f.skipped(GiB, 6000 * ns, 1), 0u);
    BOOST_CHECK_EQUAL(f.done()[1], 1100 * ns);
    BOOST_CHECK_EQUAL(f.stats().reads_skipped, 9u);
    BOOST_CHECK_EQUAL(f.stats().reads, 7 * 4u - 9u);
}

BOOST_AUTO_TEST_CASE(the_walk_cache_serves_all_walkers_and_forgets_the_oldest) {
    tla_walkers_config config = pool(4, 0);
    config.walk_cache_entries = 3; // one path
    walkers_fixture f(config);
    BOOST_CHECK_EQUAL(f.skipped(0, 0), 0u);
    BOOST_CHECK_EQUAL(f.skipped(0x1000, 399 * ns), 0u); // the first walk is not over, and not known
    BOOST_CHECK_EQUAL(f.skipped(0x1000, 800 * ns), 3u);
    BOOST_CHECK_EQUAL(f.skipped(GiB, 1000 * ns), 1u); // replaces the two lower entries of the first path
    BOOST_CHECK_EQUAL(f.skipped(0, 2000 * ns), 1u);
    f.advance(3000 * ns);
    tla_walkers_invalidate(f.walkers, 0);
    BOOST_CHECK_EQUAL(f.skipped(0, 3000 * ns), 0u);
}

BOOST_AUTO_TEST_CASE(after_an_invalidation_nothing_joins_the_walk_under_way) {
    walkers_fixture f(pool(2, 4));
    f.miss(0x1000, 0);
    tla_walkers_invalidate(f.walkers, 0);
    BOOST_CHECK_EQUAL(f.miss(0x1000, 1 * ns), TLA_WALK_STARTED);
}

BOOST_AUTO_TEST_CASE(finding_nothing_takes_a_walk_too) {
    walkers_fixture f(pool(1, 1));
    f.miss(8 * GiB, 0);
    BOOST_CHECK_EQUAL(f.miss(8 * GiB + 5, 1 * ns), TLA_WALK_MERGED);
    BOOST_CHECK((f.done() == std::vector<uint64_t>{400 * ns, 400 * ns}));
}

BOOST_AUTO_TEST_CASE(pools_that_are_empty_or_too_large_are_rejected) {
    tla_walkers_config bad[] = {pool(0, 0), pool(TLA_WALKERS_MAX + 1, 0), pool(1, 0)};
    bad[2].walk_cache_entries = TLA_WALK_CACHE_MAX + 1;
    for (const tla_walkers_config &config : bad) {
        tla_walkers *walkers = reinterpret_cast<tla_walkers *>(1);
        BOOST_CHECK_EQUAL(tla_walkers_create(&config, &walkers), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(walkers == nullptr);
    }
}
