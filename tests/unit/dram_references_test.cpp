// Profiles of HBM4 and LPDDR beside Ramulator 2.1 and DRAMsim3, with the runs of ../shared/data/hbm4 (seed 1, 40,000
// bursts, 11 patterns).
#include "tests/shared_data.hpp"
#include "tests/unit/dram_fixtures.hpp"
#include "traffic/traffic.h"

#include <cmath>
#include <sstream>

namespace {

// Of all simulators that ran a pattern with a map; a command count of 0 is not known.
struct reference {
    double gb_s_low = 1e9, gb_s_high = 0, ramulator_gb_s = 0, act_low = 1e9, act_high = 0;
};

std::map<std::string, reference> references() { // by "hbm4_m1,chase"
    std::map<std::string, reference> all;
    std::istringstream lines(dram::text_of(shared_data + "data/hbm4/reference_dram4_seed1_n40000.csv"));
    std::string line;
    std::getline(lines, line); // sim,config,trace,seed,nreq,bw_gbs,lat_mean_ns,p95,p99,hit_rate,end_ps,act,...
    while (std::getline(lines, line)) {
        std::vector<std::string> fields;
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');)
            fields.push_back(cell);
        reference &r = all[fields.at(1) + "," + fields.at(2)];
        const double gb_s = std::stod(fields.at(5)), act = std::stod(fields.at(11));
        r.gb_s_low = std::min(r.gb_s_low, gb_s);
        r.gb_s_high = std::max(r.gb_s_high, gb_s);
        r.act_low = std::min(r.act_low, act);
        r.act_high = std::max(r.act_high, act);
        if (fields.at(0) == "ramulator2.1") r.ramulator_gb_s = gb_s;
    }
    return all;
}

struct comparison {
    size_t points = 0, in_range = 0, acts_in_range = 0;
    std::vector<double> deviations; // of bandwidth, from Ramulator, sorted
};

comparison compare(const char *name, const tla_traffic_geometry &geometry) {
    const auto all = references();
    comparison result;
    for (const char *map : {"m1", "m2", "m3"})
        for (int p = 0; p < TLA_TRAFFIC_PATTERN_COUNT; p++) {
            tla_hbm_config config = dram::profile(name);
            dram::set_map(config, map);
            tla_traffic traffic{};
            const auto pattern = static_cast<tla_traffic_pattern>(p);
            BOOST_REQUIRE_EQUAL(tla_traffic_generate(pattern, 1, 40000, config.window, &geometry, &traffic), TLA_OK);
            config.window = traffic.window;
            std::vector<dram::offered> bursts;
            for (size_t i = 0; i < traffic.count; i++)
                bursts.push_back({traffic.accesses[i].op, traffic.accesses[i].address / config.burst_bytes,
                                  traffic.accesses[i].at_ps});
            tla_traffic_free(&traffic);
            const auto run = dram::play(config, bursts);
            const double gb_s = double(bursts.size() * config.burst_bytes) * 1000 / double(run->stats.last_end_ps);
            const auto &commands = run->seen.commands[0];
            const auto act = double(
                std::count_if(commands.begin(), commands.end(), [](const auto &k) { return k.what == TLA_HBM_ACT; }));
            const reference &r = all.at(std::string(name) + "_" + map + "," + tla_traffic_pattern_name(pattern));
            result.points++;
            result.in_range += gb_s >= r.gb_s_low * 0.98 && gb_s <= r.gb_s_high * 1.02;
            result.acts_in_range += act >= r.act_low * 0.99 && act <= r.act_high * 1.01;
            result.deviations.push_back(std::fabs(gb_s / r.ramulator_gb_s - 1));
        }
    std::sort(result.deviations.begin(), result.deviations.end());
    BOOST_TEST_MESSAGE(name << ": " << result.in_range << " of " << result.points << " in range, "
                            << result.acts_in_range << " by ACTs, median deviation "
                            << 100 * result.deviations[result.points / 2] << " %, worst "
                            << 100 * result.deviations.back() << " %");
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(hbm4_has_the_bandwidth_and_the_acts_of_its_references) {
    if (!shared_data_is_here("data/hbm4")) return;
    const comparison result = compare("hbm4", {32, 1024, 16384, 1u << 28, 32000000000});
    BOOST_CHECK_GE(result.in_range * 100, result.points * 95);
    BOOST_CHECK_GE(result.acts_in_range * 78, result.points * 75);
    BOOST_CHECK_LE(result.deviations[result.points / 2], 0.005);
}

BOOST_AUTO_TEST_CASE(lpddr6_has_the_bandwidth_of_its_reference) {
    if (!shared_data_is_here("data/hbm4")) return;
    const comparison result = compare("lpddr6", {32, 2048, 32768, 1u << 28, 14222000000});
    BOOST_CHECK_GE(result.in_range * 100, result.points * 85);
    BOOST_CHECK_LE(result.deviations[result.points / 2], 0.005);
}

BOOST_AUTO_TEST_CASE(lpddr5_has_the_bandwidth_of_its_references_where_no_read_waits_for_the_data_clock) {
    // Ramulator stops the data clock between the reads of `chase'
    if (!shared_data_is_here("data/hbm4")) return;
    const comparison result = compare("lpddr5", {32, 2048, 32768, 1u << 28, 12800000000});
    BOOST_CHECK_GE(result.in_range + 3, result.points);
    BOOST_CHECK_LE(result.deviations[result.points / 2], 0.01);
}
