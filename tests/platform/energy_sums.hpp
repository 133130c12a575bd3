// The energy in a report of `tlmalloc run` beside the counts of its slices.
#ifndef TLMALLOC_TESTS_PLATFORM_ENERGY_SUMS_HPP
#define TLMALLOC_TESTS_PLATFORM_ENERGY_SUMS_HPP

#include "platform/run_report.hpp"
#include "tlmalloc/config.h"

#include <map>
#include <string>
#include <vector>

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

// Of a constant, at one cause: powers are in uW and count in ps, wires count in bits times um.
inline std::int64_t product(const json_t *constant, std::int64_t count) {
    const bool is_power = json_object_get(constant, "power_uw") != nullptr,
               is_wire = text_of(constant, "constant") == "wire";
    const std::int64_t value = number(constant, is_power ? "power_uw" : "energy_fj"),
                       of = is_power || is_wire ? 1000 : 1;
    return count / of * value + count % of * value / of;
}

// Every energy of a part is computed from the counts and constants that stand beside it.
inline void check_products(const json_t *part) {
    std::map<std::string, std::int64_t> by_cause, by_standing;
    std::vector<std::string> unknown, named;
    std::size_t i;
    json_t *row;
    json_array_foreach(json_object_get(part, "constants"), i, row) {
        std::int64_t total = 0, all = 0;
        const char *cause;
        json_t *count;
        json_object_foreach(json_object_get(row, "count_by_cause"), cause, count) {
            const std::int64_t fj = product(row, json_integer_value(count));
            by_cause[cause] += fj;
            total += fj;
            all += json_integer_value(count);
        }
        BOOST_TEST_CONTEXT(text_of(part, "part") << " " << text_of(row, "constant")) {
            BOOST_CHECK_EQUAL(number(row, "count"), all);
            BOOST_CHECK_EQUAL(number(row, "total_fj"), total);
            BOOST_CHECK_EQUAL(text_of(row, "standing") == "unknown", text_of(row, "source").empty());
        }
        by_standing[text_of(row, "standing")] += total;
        if (text_of(row, "standing") == "unknown" && all > 0) unknown.push_back(text_of(row, "constant"));
    }
    BOOST_CHECK_EQUAL(by_standing["unknown"], 0);
    for (const char *standing : {"assumed", "extrapolated", "measured"}) {
        const double share = json_real_value(json_object_get(part, ("share_" + std::string(standing)).c_str())),
                     total = static_cast<double>(number(part, "total_fj"));
        BOOST_CHECK_SMALL(share - (total > 0 ? static_cast<double>(by_standing[standing]) / total : 0), 1e-12);
    }
    BOOST_CHECK(by_cause == causes_of(part));
    json_array_foreach(json_object_get(part, "unknown"), i, row) named.emplace_back(json_string_value(row));
    BOOST_CHECK_EQUAL_COLLECTIONS(named.begin(), named.end(), unknown.begin(), unknown.end());
}

// How often the constants of a part count, by constant.
inline std::map<std::string, std::int64_t> counts_of(const json_t *part) {
    std::map<std::string, std::int64_t> counts;
    std::size_t i;
    json_t *row;
    json_array_foreach(json_object_get(part, "constants"), i, row) counts[text_of(row, "constant")] =
        number(row, "count");
    return counts;
}

// The counts of DRAM are those of its rows in the report, over `channels` pseudo-channels of each.
inline void check_dram_counts(const report &r, const json_t *part, const char *rows, std::int64_t channels,
                              bool each_bank) {
    const auto counts = counts_of(part);
    const auto at = [&](tla_dram_constant which) { return counts.at(tla_dram_constant_name(which)); };
    const std::int64_t refreshes = r.sum(rows, "refreshes") + r.sum(rows, "idle_refreshes"),
                       time_ps = r.number("sim_time_ps") * channels *
                                 static_cast<std::int64_t>(json_array_size(r.list(rows))),
                       closed_ps = r.sum(rows, "all_closed_ps"), open_ps = time_ps - closed_ps;
    BOOST_CHECK_EQUAL(at(TLA_DRAM_ACTIVATE), r.sum(rows, "activates"));
    BOOST_CHECK_EQUAL(at(TLA_DRAM_READ), r.sum(rows, "read_commands"));
    BOOST_CHECK_EQUAL(at(TLA_DRAM_WRITE), r.sum(rows, "write_commands"));
    BOOST_CHECK_EQUAL(at(TLA_DRAM_REFRESH), each_bank ? 0 : refreshes);
    BOOST_CHECK_EQUAL(at(TLA_DRAM_REFRESH_BANK), each_bank ? refreshes : 0);
    BOOST_CHECK_EQUAL(at(TLA_DRAM_ALL_CLOSED), closed_ps);
    BOOST_CHECK_EQUAL(at(TLA_DRAM_ONE_OPEN), open_ps);
    BOOST_CHECK_EQUAL(at(TLA_DRAM_NEXT_OPEN), std::max<std::int64_t>(r.sum(rows, "open_bank_ps") - open_ps, 0));
}

// The counts of all other parts are those of their rows in the report.
inline void check_other_counts(const report &r, const json_t *part) {
    const auto counts = counts_of(part);
    for (const auto &[constant, rows] : {std::pair("tcm", "tcms"), std::pair("sram", "srams"),
                                         std::pair("m_cpu", "m_cpu_memories"), std::pair("host", "host_memory")}) {
        BOOST_CHECK_EQUAL(counts.at(constant + std::string("_read")), r.sum(rows, "bytes_read"));
        BOOST_CHECK_EQUAL(counts.at(constant + std::string("_write")), r.sum(rows, "bytes_written"));
    }
    BOOST_CHECK_EQUAL(counts.at("tlb_lookup"), r.sum("mmus", "hits") + r.sum("mmus", "misses"));
    const bool has_firmware =
        text_of(json_object_get(json_object_get(r.json.get(), "config"), "controller"), "engine") == "firmware";
    BOOST_CHECK_EQUAL(has_firmware ? counts.at("engine_cycle") : counts.at("instruction"), 0);
    BOOST_CHECK_LE(counts.at("engine_cycle"), r.sum("controllers", "busy_ps")); // a cycle takes at least a ps
}

// Energies are counts times constants; nothing for a report without energy.
inline void check(const report &r) {
    const json_t *const energy = r.list("energy"), *const config = json_object_get(r.json.get(), "config");
    if (!energy) return;
    std::int64_t of_parts = 0;
    std::size_t i;
    json_t *part;
    json_array_foreach(json_object_get(energy, "parts"), i, part) {
        of_parts += check_total(part);
        check_products(part);
        const std::string name = text_of(part, "part");
        if (name == "others") {
            check_other_counts(r, part);
            continue;
        }
        const json_t *const keys = json_object_get(config, name == "hbm" ? "hbm" : "host_memory");
        const std::string timing_name = text_of(keys, "timing");
        tla_hbm_config timing{};
        const bool is_file = contains(timing_name, "/");
        BOOST_REQUIRE_EQUAL(is_file ? tla_timing_load(timing_name.c_str(), nullptr, 0, &timing, nullptr, nullptr)
                                    : tla_timing_named(timing_name.c_str(), &timing),
                            TLA_OK);
        check_dram_counts(r, part, name == "hbm" ? "slices" : "host_memory",
                          number(keys, name == "hbm" ? "pseudo_channels" : "channels"),
                          timing.refresh == TLA_HBM_REFRESH_PER_BANK);
        if (name == "host") BOOST_CHECK_EQUAL(number(part, "total_fj"), 0);
    }
    BOOST_CHECK_EQUAL(check_total(energy), of_parts);
    tla_dram_energy profile{};
    const json_t *const slices = json_array_get(json_object_get(energy, "parts"), 0);
    if (text_of(slices, "part") != "hbm" ||
        tla_dram_energy_named(text_of(slices, "profile").c_str(), &profile) != TLA_OK)
        return; // a file
    json_array_foreach(json_object_get(slices, "constants"), i, part)
        BOOST_CHECK_EQUAL(number(part, i < TLA_DRAM_ALL_CLOSED ? "energy_fj" : "power_uw"), profile.constants[i].value);
}

} // namespace energy_sums

#endif
