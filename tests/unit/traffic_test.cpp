// The address patterns against the reference generator, and runs of small traffic against the timing.
#include "tlmalloc/config.h"
#include "traffic/traffic.h"

#include <boost/test/unit_test.hpp>

#include <cstring>

namespace {

// 1000 bursts, seed 1, hbm2 (load_rand30 at 16 GB/s): FNV-1a over "time,op,address" of every line that the reference
// generator writes.
const tla_traffic_geometry geometry{32, 1024, 16384, 1u << 28, 16000000000};

uint64_t fingerprint(const tla_traffic &traffic) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < traffic.count; i++) {
        const tla_traffic_access &a = traffic.accesses[i];
        const std::string line = std::to_string(a.at_ps) + (a.op == TLA_HBM_READ ? ",R," : ",W,") +
                                 std::to_string(a.address) + "," + std::to_string(a.nbytes);
        for (char c : line)
            hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    }
    return hash;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_patterns_are_those_of_the_reference_traces) {
    struct {
        const char *name;
        size_t count;
        uint32_t window;
        uint64_t fingerprint;
    } const golden[] = {
        {"seq_rd", 1000, 32, 0xd42b78465df87520},     {"seq_wr", 1000, 32, 0x2c51f417d6ee0e02},
        {"stride_row", 1000, 32, 0xf6b97ad4978a792b}, {"stride_conf", 250, 32, 0x8154a87f25f73c96},
        {"rand_rd1", 1000, 32, 0x4c76b3bbc1603dfa},   {"rand_wr1", 1000, 32, 0xadf8bb588cefa64e},
        {"mix21_seq", 1000, 32, 0xd2a790c27872cdd5},  {"chase", 125, 1, 0x094d011ac968a9b9},
        {"str4", 1000, 32, 0xbdef16a3382ce7d0},       {"tile_p8k", 1000, 32, 0x9882aadfe973332c},
        {"load_rand30", 500, 0, 0x44f739dc8910b490},
    };
    static_assert(sizeof golden / sizeof golden[0] == TLA_TRAFFIC_PATTERN_COUNT, "one each");
    for (const auto &g : golden) {
        tla_traffic_pattern pattern{};
        BOOST_REQUIRE_EQUAL(tla_traffic_pattern_find(g.name, &pattern), TLA_OK);
        BOOST_CHECK_EQUAL(tla_traffic_pattern_name(pattern), g.name);
        tla_traffic traffic{};
        BOOST_REQUIRE_EQUAL(tla_traffic_generate(pattern, 1, 1000, 32, &geometry, &traffic), TLA_OK);
        BOOST_CHECK_EQUAL(traffic.count, g.count);
        BOOST_CHECK_EQUAL(traffic.window, g.window);
        BOOST_CHECK_EQUAL(traffic.timed, std::strcmp(g.name, "load_rand30") == 0);
        BOOST_CHECK_MESSAGE(fingerprint(traffic) == g.fingerprint, g.name);
        tla_traffic_free(&traffic);
    }
}

BOOST_AUTO_TEST_CASE(impossible_traffic_is_rejected) {
    tla_traffic_pattern pattern{};
    BOOST_CHECK_EQUAL(tla_traffic_pattern_find("seq", &pattern), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(tla_traffic_pattern_name(TLA_TRAFFIC_PATTERN_COUNT) == nullptr);
    tla_traffic traffic{};
    BOOST_CHECK_EQUAL(tla_traffic_generate(TLA_TRAFFIC_CHASE, 1, 7, 32, &geometry, &traffic), TLA_INVALID_ARGUMENT);
    tla_traffic_geometry odd = geometry;
    odd.row_bytes = 1000;
    BOOST_CHECK_EQUAL(tla_traffic_generate(TLA_TRAFFIC_SEQ_RD, 1, 100, 32, &odd, &traffic), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(traffic.accesses == nullptr);
}

BOOST_AUTO_TEST_CASE(an_access_of_several_bursts_lasts_until_its_last_burst) {
    tla_hbm_config timing{};
    BOOST_REQUIRE_EQUAL(
        tla_timing_load(TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml", nullptr, 0, &timing, nullptr, nullptr),
        TLA_OK);
    tla_traffic_access accesses[] = {
        {1500, 16, 64, TLA_HBM_READ}, {200000, 0, 32, TLA_HBM_WRITE}, {300000, 64, 1, TLA_HBM_READ}};
    const tla_traffic traffic{accesses, 3, true, 32};
    tla_traffic_result result{};
    size_t bad = 0;
    tla_error error{};
    BOOST_REQUIRE_EQUAL(tla_traffic_run(&timing, &traffic, &result, &bad, &error), TLA_OK);
    BOOST_CHECK_EQUAL(result.nbytes, 5 * 32u); // [16, 80) touches three bursts
    BOOST_REQUIRE_EQUAL(result.latency_count, 2u);
    // accepted at 2, 3 and 4 ns; ACTs at 2, 6 and 10; the last read command at 10 + 13, its data until 23 + 20
    BOOST_CHECK_EQUAL(result.latencies_ps[0], 43000 - 1500u);
    BOOST_CHECK_EQUAL(result.latencies_ps[1], 20000u);
    BOOST_CHECK_EQUAL(result.end_ps, 320000u);
    const tla_traffic_latency latency = tla_traffic_summarize(&result);
    BOOST_CHECK_CLOSE(latency.mean_ns, 30.75, 1e-9);
    BOOST_CHECK_CLOSE(latency.p50_ns, 20.0, 1e-9);
    BOOST_CHECK_CLOSE(latency.p99_ns, 41.5, 1e-9);
    tla_traffic_result_free(&result);

    accesses[1].nbytes = 0;
    BOOST_CHECK_EQUAL(tla_traffic_run(&timing, &traffic, &result, &bad, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(bad, 1u);
    accesses[1].nbytes = 32;
    accesses[2].address = uint64_t{1} << 28;
    BOOST_CHECK_EQUAL(tla_traffic_run(&timing, &traffic, &result, &bad, &error), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(bad, 2u);
    BOOST_CHECK(result.latencies_ps == nullptr);
}

// 2^63 ps is where adding up would no longer be safe.
BOOST_AUTO_TEST_CASE(traffic_that_arrives_or_ends_too_late_to_be_added_up_is_rejected) {
    const uint64_t late = TLA_TRAFFIC_PS_MAX;
    for (const char *name : {"hbm2", "hbm3", "kernbench"}) {
        for (const tla_hbm_op op : {TLA_HBM_READ, TLA_HBM_WRITE}) {
            tla_hbm_config timing{};
            BOOST_REQUIRE_EQUAL(tla_timing_named(name, &timing), TLA_OK);
            tla_traffic_access accesses[] = {{0, 0, 32, TLA_HBM_READ}, {late - 1000000, 64, 32, op}};
            const tla_traffic traffic{accesses, 2, true, 32};
            tla_traffic_result result{};
            size_t bad = 7;
            tla_error error{};
            BOOST_REQUIRE_EQUAL(tla_traffic_run(&timing, &traffic, &result, &bad, &error), TLA_OK);
            BOOST_CHECK(result.end_ps > late - 1000000 && result.end_ps < late);
            tla_traffic_result_free(&result);

            accesses[1].at_ps = late - 1; // arrives in time, and ends too late
            BOOST_CHECK_EQUAL(tla_traffic_run(&timing, &traffic, &result, &bad, &error), TLA_LIMIT);
            BOOST_CHECK_EQUAL(error.text, "the traffic ends after 2^63 ps: reduce it");
            BOOST_CHECK(result.latencies_ps == nullptr && result.end_ps == 0 && bad == 7);
            for (const uint64_t at_ps : {late, UINT64_MAX}) {
                accesses[1].at_ps = at_ps;
                BOOST_CHECK_EQUAL(tla_traffic_run(&timing, &traffic, &result, &bad, &error), TLA_OUT_OF_RANGE);
                BOOST_CHECK_EQUAL(bad, 1u);
                bad = 7;
            }
        }
    }
    // A bus so slow that it gets there by itself: writes are accepted long before their data are through.
    tla_hbm_config slow{};
    slow.model = TLA_HBM_CHANNEL;
    slow.tck_ps = 1000000;
    slow.burst_bytes = 1u << 20;
    slow.burst_cycles = UINT32_MAX; // 72 minutes
    tla_traffic_access accesses[] = {
        {0, 0, 1u << 30, TLA_HBM_WRITE}, {0, 0, 1u << 30, TLA_HBM_WRITE}, {0, 0, 1u << 30, TLA_HBM_WRITE}};
    const tla_traffic traffic{accesses, 3, false, 0};
    tla_traffic_result result{};
    size_t bad = 0;
    BOOST_CHECK_EQUAL(tla_traffic_run(&slow, &traffic, &result, &bad, nullptr), TLA_LIMIT);
    const tla_traffic half{accesses, 2, false, 0};
    BOOST_CHECK_EQUAL(tla_traffic_run(&slow, &half, &result, &bad, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(result.end_ps, 2048 * uint64_t{UINT32_MAX} * 1000000);
    tla_traffic_result_free(&result);
}

// 10^12 refreshes in the pause: they are counted, and not made one by one.
BOOST_AUTO_TEST_CASE(a_long_pause_is_passed_over_whatever_came_before_it) {
    tla_hbm_config timing{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("hbm2", &timing), TLA_OK);
    for (const uint32_t sharers : {1u, 2u}) {
        timing.row_bus_sharers = sharers;
        const char *map = sharers == 2 ? "pc1,bg2,co5,ba2,ro14" : "bg2,co5,ba2,ro14";
        BOOST_REQUIRE_EQUAL(tla_hbm_map_parse(map, &timing, nullptr), TLA_OK);
        for (const tla_hbm_refresh refresh : {TLA_HBM_REFRESH_ALL_BANK, TLA_HBM_REFRESH_PER_BANK}) {
            timing.refresh = refresh;
            for (uint32_t nbytes = 32; nbytes <= 256; nbytes += 32) {
                tla_traffic_access accesses[] = {{0, 0, nbytes, TLA_HBM_READ},
                                                 {uint64_t{1} << 62, 64, 32, TLA_HBM_READ}};
                const tla_traffic traffic{accesses, 2, true, 32};
                tla_traffic_result result{};
                size_t bad = 0;
                BOOST_REQUIRE_EQUAL(tla_traffic_run(&timing, &traffic, &result, &bad, nullptr), TLA_OK);
                BOOST_CHECK_GT(result.stats.refreshes, uint64_t{1000000000000});
                tla_traffic_result_free(&result);
            }
        }
    }
}
