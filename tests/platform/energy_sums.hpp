// The energy in a report of `tlmalloc run` beside the counts of its slices.
#ifndef TLMALLOC_TESTS_PLATFORM_ENERGY_SUMS_HPP
#define TLMALLOC_TESTS_PLATFORM_ENERGY_SUMS_HPP

#include "platform/run_report.hpp"
#include "tlmalloc/config.h"

#include <map>

namespace energy_sums {

inline std::map<std::string, std::int64_t> causes_of(const json_t *energy) {
    std::map<std::string, std::int64_t> causes;
    const char *name;
    json_t *fj;
    json_object_foreach(json_object_get(energy, "by_cause_fj"), name, fj) causes[name] = json_integer_value(fj);
    BOOST_CHECK_EQUAL(causes.size(), static_cast<std::size_t>(TLA_ENERGY_CAUSE_COUNT));
    return causes;
}

// Causes add up to the total, and shares by standing to 1.
inline std::int64_t check_total(const json_t *energy) {
    std::int64_t sum = 0;
    for (const auto &[name, fj] : causes_of(energy))
        sum += fj;
    BOOST_CHECK_EQUAL(sum, number(energy, "total_fj"));
    double shares = 0;
    for (const char *key : {"share_assumed", "share_extrapolated", "share_measured"})
        shares += json_real_value(json_object_get(energy, key));
    if (sum > 0) BOOST_CHECK_CLOSE(shares, 1, 1e-9);
    return sum;
}

// Energies are counts times constants; nothing for a report without energy.
inline void check(const report &r) {
    const json_t *const energy = r.list("energy"), *const slices = json_array_get(json_object_get(energy, "parts"), 0);
    if (!energy) return;
    std::int64_t of_parts = 0;
    std::size_t i;
    json_t *part;
    json_array_foreach(json_object_get(energy, "parts"), i, part) of_parts += check_total(part);
    BOOST_CHECK_EQUAL(check_total(energy), of_parts);
    if (text_of(slices, "part") != "hbm") return;
    const std::int64_t total = check_total(slices);
    const json_t *const keys = json_object_get(json_object_get(r.json.get(), "config"), "hbm");
    tla_dram_energy profile{};
    tla_hbm_config timing{};
    BOOST_REQUIRE_EQUAL(tla_dram_energy_named(text_of(slices, "profile").c_str(), &profile), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_timing_named(text_of(keys, "timing").c_str(), &timing), TLA_OK);
    const auto at = [&](tla_dram_constant which) { return static_cast<std::int64_t>(profile.constants[which].value); };
    std::map<std::string, std::int64_t> causes = causes_of(slices);
    BOOST_CHECK_EQUAL(causes["refreshes"],
                      (r.sum("slices", "refreshes") + r.sum("slices", "idle_refreshes")) *
                          at(timing.refresh == TLA_HBM_REFRESH_PER_BANK ? TLA_DRAM_REFRESH_BANK : TLA_DRAM_REFRESH));
    BOOST_CHECK_EQUAL(total - causes["refreshes"] - causes["background"],
                      r.sum("slices", "activates") * at(TLA_DRAM_ACTIVATE) +
                          r.sum("slices", "read_commands") * at(TLA_DRAM_READ) +
                          r.sum("slices", "write_commands") * at(TLA_DRAM_WRITE));
    const std::int64_t channels = number(keys, "pseudo_channels"),
                       time_ps = r.number("sim_time_ps") * channels *
                                 static_cast<std::int64_t>(json_array_size(r.list("slices"))),
                       closed_ps = r.sum("slices", "all_closed_ps"), open_ps = time_ps - closed_ps,
                       next_ps = std::max<std::int64_t>(r.sum("slices", "open_bank_ps") - open_ps, 0);
    BOOST_CHECK_EQUAL(causes["background"], closed_ps * at(TLA_DRAM_ALL_CLOSED) / 1000 +
                                                open_ps * at(TLA_DRAM_ONE_OPEN) / 1000 +
                                                next_ps * at(TLA_DRAM_NEXT_OPEN) / 1000);
}

} // namespace energy_sums

#endif
