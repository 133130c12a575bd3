// Timing profiles: their values and their errors with places, address maps, and the results of simulators.
#include "tests/unit/dram_fixtures.hpp"
#include "traffic/traffic.h"

#include "tests/data/hbm_references.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace dram;

BOOST_AUTO_TEST_CASE(profiles_of_hbm4_lpddr_and_ddr5_have_the_peak_of_their_standard_and_keep_every_spacing) {
    const std::pair<const char *, double> peaks[] = {
        {"hbm4", 32}, {"hbm4_16g", 64}, {"lpddr6", 14.222}, {"lpddr5", 12.8}, {"ddr5", 19.2308}};
    for (const auto &[name, gb_s] : peaks) {
        BOOST_TEST_CONTEXT(name) {
            const tla_hbm_config config = profile(name);
            BOOST_CHECK_CLOSE(1000. * config.burst_bytes / (config.tck_ps * config.burst_cycles), gb_s, 0.01);
            std::mt19937_64 random(5);
            const auto trace = random_trace(random, config, 4000);
            check_commands(config, play(config, trace)->seen);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_taller_stacks_of_hbm4_have_more_banks_and_longer_refreshes) {
    // the settings that configs/timing/hbm4.yaml names
    const std::string text = text_of(TLMALLOC_SOURCE_DIR "/configs/timing/hbm4.yaml");
    for (const auto &settings : {std::vector<const char *>{"rfc=900 tCK", "bank_groups=4", "map=bg1,co5,ba3,bg1,ro14"},
                                 {"rfc=1060 tCK", "bank_groups=8", "map=bg1,co5,ba3,bg2,ro14"}}) {
        tla_hbm_config config{};
        std::string found;
        BOOST_CHECK_EQUAL(tla_timing_parse(text.data(), text.size(), "hbm4.yaml", settings.data(), settings.size(),
                                           &config, report_finding, &found),
                          TLA_OK);
        BOOST_CHECK_EQUAL(found, "");
    }
}

BOOST_AUTO_TEST_CASE(agrees_with_three_cycle_accurate_simulators) {
    // the goals: 95 % of the points in range + 2 %, median deviation under 1 %; latency median 2 %, 90th percentile 5 %
    std::vector<double> deviations, latency_deviations;
    size_t in_range = 0;
    for (const auto &part : hbm_reference_parts) {
        const tla_hbm_config config = profile(part.name);
        for (int p = 0; p < TLA_TRAFFIC_PATTERN_COUNT; p++) {
            const auto &reference = part.references[p];
            const tla_traffic_geometry geometry{32, 1024, 16384, 1u << 28,
                                                32 * UINT64_C(1000000000000) / (config.burst_cycles * config.tck_ps)};
            tla_traffic traffic{};
            BOOST_REQUIRE_EQUAL(tla_traffic_generate(static_cast<tla_traffic_pattern>(p), HBM_REFERENCE_SEED,
                                                     HBM_REFERENCE_COUNT, config.window, &geometry, &traffic),
                                TLA_OK);
            tla_traffic_result result{};
            size_t bad = 0;
            BOOST_REQUIRE_EQUAL(tla_traffic_run(&config, &traffic, &result, &bad, nullptr), TLA_OK);
            const double gb_s = (double)result.nbytes * 1000 / (double)result.end_ps;
            deviations.push_back(std::fabs(gb_s / reference.gb_s - 1));
            in_range += gb_s >= reference.gb_s_low * 0.98 && gb_s <= reference.gb_s_high * 1.02;
            if (reference.latency_ns > 0)
                latency_deviations.push_back(
                    std::fabs(tla_traffic_summarize(&result).mean_ns / reference.latency_ns - 1));
            tla_traffic_result_free(&result);
            tla_traffic_free(&traffic);
        }
    }
    std::sort(deviations.begin(), deviations.end());
    std::sort(latency_deviations.begin(), latency_deviations.end());
    BOOST_CHECK_GE(in_range * 100, deviations.size() * 95);
    BOOST_CHECK_LT(deviations[(deviations.size() - 1) / 2], 0.01);
    BOOST_CHECK_LT(latency_deviations[(latency_deviations.size() - 1) / 2], 0.02);
    BOOST_CHECK_LT(latency_deviations[(latency_deviations.size() * 9 + 9) / 10 - 1], 0.05);
}

BOOST_AUTO_TEST_CASE(two_pseudo_channels_on_one_row_bus_slow_each_other_down) {
    // one of the references drops from 43 % to 31 % of peak each
    tla_hbm_config config = profile("hbm2");
    config.row_bus_sharers = 2;
    set_map(config, "bg2,co5,ba2,ro14,pc1");
    std::mt19937_64 random(3);
    std::vector<tla_traffic_access> accesses(40000);
    for (size_t i = 0; i < accesses.size(); i++)
        accesses[i] = {0, random() % (1u << 23) * 32 + (i % 2) * (1u << 28), 32, TLA_HBM_READ};
    const tla_traffic both{accesses.data(), accesses.size(), false, 2 * config.window};
    tla_traffic_result result{};
    size_t bad = 0;
    BOOST_REQUIRE_EQUAL(tla_traffic_run(&config, &both, &result, &bad, nullptr), TLA_OK);
    const double share = (double)result.nbytes * 1000 / (double)result.end_ps / 16 / 2;
    tla_traffic_result_free(&result);
    BOOST_CHECK_GT(share, 0.30);
    BOOST_CHECK_LT(share, 0.33);
}

BOOST_AUTO_TEST_CASE(address_maps_are_read_and_printed) {
    tla_hbm_config config = profile("hbm2");
    char text[128];
    for (auto [name, spelled] :
         {std::pair{"m1", "bg2,ba2,co5,ro14"}, {"m2", "co5,bg2,ba2,ro14"}, {"m3", "bg2,co5,ba2,ro14"}}) {
        set_map(config, name);
        tla_hbm_map_print(&config.map, text, sizeof text);
        BOOST_CHECK_EQUAL(text, spelled);
        set_map(config, spelled);
        tla_hbm_map_print(&config.map, text, sizeof text);
        BOOST_CHECK_EQUAL(text, spelled);
    }
    for (const char *bad : {"", "m4", "bg2,", ",bg2", "bg", "bg0", "bg33", "bg2 co5", "xx2", "bg-1", "bg2;co5"}) {
        tla_error error{};
        const tla_hbm_map before = config.map;
        BOOST_CHECK_EQUAL(tla_hbm_map_parse(bad, &config, &error), TLA_SYNTAX);
        BOOST_CHECK_MESSAGE(std::string(error.text).find("expected") != std::string::npos, error.text);
        BOOST_CHECK_EQUAL(before.count, config.map.count);
    }
}

BOOST_AUTO_TEST_CASE(contradicting_parameters_are_named) {
    struct {
        const char *names;
        std::function<void(tla_hbm_config &)> spoil;
    } const cases[] = {
        {"rc 41 is less than ras 28 + rp 14", [](tla_hbm_config &c) { c.rc = 41; }},
        {"rrd_l", [](tla_hbm_config &c) { c.rrd_l = 3; }},
        {"ccd_l", [](tla_hbm_config &c) { c.ccd_l = 1; }},
        {"ccd_s", [](tla_hbm_config &c) { c.ccd_s = 1; }},
        {"wtr_l", [](tla_hbm_config &c) { c.wtr_l = 3; }},
        {"rtw", [](tla_hbm_config &c) { c.rtw = 12; }},
        {"faw", [](tla_hbm_config &c) { c.faw = 3; }},
        {"refi", [](tla_hbm_config &c) { c.refi = 230; }},
        {"rp is 0", [](tla_hbm_config &c) { c.rp = 0; }},
        {"ras 10", [](tla_hbm_config &c) { c.ras = 10; }},
        {"act_cycles", [](tla_hbm_config &c) { c.act_cycles = 5; }},
        {"rows is 10000", [](tla_hbm_config &c) { c.rows = 10000; }},
        {"write_low", [](tla_hbm_config &c) { c.write_low_percent = 90; }},
        {"row_hits", [](tla_hbm_config &c) { c.row_hits = 0; }},
        {"before_refresh", [](tla_hbm_config &c) { c.before_refresh = TLA_HBM_BEFORE_REFRESH_COUNT; }},
        {"read_queue", [](tla_hbm_config &c) { c.read_queue = 0; }},
        {"row_bus_sharers", [](tla_hbm_config &c) { c.row_bus_sharers = 3; }},
        {"map bg2,co5,ba2,ro13 loses a bit: it has 13 row bits",
         [](tla_hbm_config &c) { set_map(c, "bg2,co5,ba2,ro13"); }},
        {"doubles a bit: it has 3 bank-group bits", [](tla_hbm_config &c) { set_map(c, "bg2,co5,bg1,ba2,ro14"); }},
        {"0 pseudo-channel bits", [](tla_hbm_config &c) { c.row_bus_sharers = 2; }},
    };
    for (const auto &k : cases) {
        tla_hbm_config config = profile("hbm2");
        k.spoil(config);
        tla_error error{};
        tla_hbm *hbm = nullptr;
        BOOST_CHECK_EQUAL(tla_hbm_create(&config, nullptr, &hbm, &error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(hbm == nullptr);
        BOOST_CHECK_MESSAGE(std::string(error.text).find(k.names) != std::string::npos, k.names << ": " << error.text);
    }
}

BOOST_AUTO_TEST_CASE(row_hits_are_all_older_or_a_number) {
    const std::string text = text_of(TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml");
    const auto row_hits = [&](const std::string &value, std::string &found) {
        const std::string line = "row_hits=" + value;
        const char *const overrides[] = {line.c_str()};
        tla_hbm_config config{};
        const tla_status status =
            tla_timing_parse(text.data(), text.size(), "t.yaml", overrides, 1, &config, report_finding, &found);
        BOOST_CHECK_EQUAL(status == TLA_OK, found.empty());
        return config.row_hits;
    };
    std::string found;
    BOOST_CHECK_EQUAL(row_hits("all", found), TLA_HBM_ROW_HITS_ALL);
    BOOST_CHECK_EQUAL(row_hits("older", found), 1u);
    BOOST_CHECK_EQUAL(row_hits("4", found), 4u);
    BOOST_CHECK_EQUAL(row_hits("9999", found), 9999u);
    BOOST_CHECK_EQUAL(profile("hbm2").row_hits, TLA_HBM_ROW_HITS_ALL); // as without the key
    for (const char *wrong : {"0", "10000", "-1", "4x", "younger", "99999999999999999999"}) {
        found.clear();
        BOOST_CHECK_EQUAL(row_hits(wrong, found), 0u);
        BOOST_CHECK_MESSAGE(found.find("expected all, older, or a number of bursts, 1 .. 9999") != std::string::npos,
                            wrong << ": " << found);
    }
}

BOOST_AUTO_TEST_CASE(an_inconsistent_timing_profile_is_reported_with_its_place) {
    const std::string good = text_of(TLMALLOC_SOURCE_DIR "/configs/timing/hbm2.yaml");
    const auto findings = [&](const std::string &from, const std::string &to) {
        std::string text = good, found;
        BOOST_REQUIRE(text.find(from) != std::string::npos);
        text.replace(text.find(from), from.size(), to);
        tla_hbm_config config{};
        config.rows = 77;
        const tla_status status =
            tla_timing_parse(text.data(), text.size(), "t.yaml", nullptr, 0, &config, report_finding, &found);
        BOOST_CHECK_EQUAL(status == TLA_OK, found.empty());
        if (status != TLA_OK) BOOST_CHECK_EQUAL(config.rows, 77u); // untouched
        return found;
    };
    BOOST_CHECK_EQUAL(findings("rc: 42 tCK", "rc: 42 tCK"), "");
    BOOST_CHECK_EQUAL(findings("\nrc: 42 tCK", "\nrc: 40 tCK"), "20:5: rc 40 is less than ras 28 + rp 14\n");
    BOOST_CHECK_EQUAL(findings("map: m3", "map: bg2,co4,ba2,ro14"),
                      "12:6: map bg2,co4,ba2,ro14 loses a bit: it has 4 column bits, but a count of 32 needs 5\n");
    BOOST_CHECK_EQUAL(findings("\nwr: 14 tCK", "\n"),
                      "0:0: wr is 0 cycles: must be 1 .. 16777216 (the key is not written)\n");
    BOOST_CHECK(findings("rp: 14 tCK", "rp: 14").find("18:5: rp: found \"14\", which has no unit") == 0);
    BOOST_CHECK(findings("rp: 14 tCK", "rp: 14 ns").find("unknown unit") != std::string::npos);
    BOOST_CHECK(findings("rp: 14 tCK", "rpp: 14 tCK").find("did you mean \"rp\"") != std::string::npos);
    BOOST_CHECK(findings("refresh: all_bank", "refresh: sometimes").find("expected none or all_bank or per_bank") !=
                std::string::npos);
}
