// Energies of the parts of a platform, added up by cause and by the standing of their constants.
#include "run/energy_report.hpp"

#include "cli/config_json.h"
#include "run/parts_activity.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

namespace tlmalloc {

namespace {

// Of all slices, of all other parts, or of the whole platform.
struct energy {
    std::uint64_t by_cause_fj[TLA_ENERGY_CAUSE_COUNT] = {}, by_standing_fj[TLA_ENERGY_STANDING_COUNT] = {};
    std::uint64_t total_fj = 0;

    void add(const energy &other) {
        for (int i = 0; i < TLA_ENERGY_CAUSE_COUNT; i++)
            by_cause_fj[i] += other.by_cause_fj[i];
        for (int i = 0; i < TLA_ENERGY_STANDING_COUNT; i++)
            by_standing_fj[i] += other.by_standing_fj[i];
        total_fj += other.total_fj;
    }
};

// The activities of slices of one timing, added up; powers are then rounded once.
void add(const tla_dram_activity &from, tla_dram_activity &to) {
    tla_hbm_stats &sum = to.stats;
    sum.refreshes += from.stats.refreshes;
    sum.activates += from.stats.activates;
    sum.read_commands += from.stats.read_commands;
    sum.write_commands += from.stats.write_commands;
    for (int op = 0; op < TLA_HBM_OPS; op++)
        for (int i = 0; i < TLA_PURPOSE_COUNT; i++) {
            sum.commands_for[op][i] += from.stats.commands_for[op][i];
            sum.activates_for[op][i] += from.stats.activates_for[op][i];
        }
    to.open_time.all_closed_ps += from.open_time.all_closed_ps;
    to.open_time.open_bank_ps += from.open_time.open_bank_ps;
    to.pseudo_channel_ps += from.pseudo_channel_ps;
}

// All zero for 2^64 fJ and more.
energy of_slices(const npu &platform, const tla_config &config, tla_dram_energy_sum &sum) {
    tla_dram_activity all{};
    for (const pe_unit *pe : platform.pes())
        add(pe->slice.activity(), all);
    energy result;
    if (tla_dram_energy_add_up(&config.hbm_energy.profile, &config.hbm_timing.profile, &all, &sum, nullptr))
        return result;
    tla_dram_energy_charge(&config.hbm_energy.profile, &all, &sum, result.by_cause_fj);
    std::copy(std::begin(sum.by_standing_fj), std::end(sum.by_standing_fj), result.by_standing_fj);
    result.total_fj = sum.total_fj;
    return result;
}

// All zero for 2^64 fJ and more.
tla_parts_energy_sum sum_of_others(const npu &platform, const tla_config &config) {
    const tla_parts_activity activity = parts_activity(platform, config);
    tla_parts_energy_sum sum{};
    tla_parts_energy_add_up(&config.parts_energy.profile, &activity, &sum, nullptr);
    return sum;
}

energy of_others(const tla_parts_energy_sum &sum) {
    energy result;
    std::copy(std::begin(sum.by_cause_fj), std::end(sum.by_cause_fj), result.by_cause_fj);
    std::copy(std::begin(sum.by_standing_fj), std::end(sum.by_standing_fj), result.by_standing_fj);
    result.total_fj = sum.total_fj;
    return result;
}

double share(std::uint64_t part_fj, const energy &of) {
    return of.total_fj == 0 ? 0 : static_cast<double>(part_fj) / static_cast<double>(of.total_fj);
}

json_t *to_json(const energy &e) {
    json_t *json = json_object(), *causes = json_object();
    json_object_set_new(json, "total_fj", json_from_u64(e.total_fj));
    for (int i = TLA_ENERGY_ASSUMED; i < TLA_ENERGY_STANDING_COUNT; i++) {
        const auto standing = static_cast<tla_energy_standing>(i);
        json_object_set_new(json, (std::string("share_") + tla_energy_standing_name(standing)).c_str(),
                            json_real(share(e.by_standing_fj[i], e)));
    }
    for (int i = 0; i < TLA_ENERGY_CAUSE_COUNT; i++)
        json_object_set_new(causes, tla_energy_cause_name(static_cast<tla_energy_cause>(i)),
                            json_from_u64(e.by_cause_fj[i]));
    json_object_set_new(json, "by_cause_fj", causes);
    return json;
}

json_t *part_json(const char *part, const char *profile, const energy &e) {
    json_t *json = to_json(e);
    json_object_set_new(json, "part", json_string(part));
    json_object_set_new(json, "profile", json_from_text(profile));
    json_object_set_new(json, "constants", json_array());
    return json;
}

void add_constant(json_t *part, const char *name, const char *unit, const tla_energy_constant &constant,
                  std::uint64_t total_fj) {
    json_t *row = json_object();
    json_object_set_new(row, "constant", json_string(name));
    json_object_set_new(row, unit, json_from_u64(constant.value));
    json_object_set_new(row, "standing", json_string(tla_energy_standing_name(constant.standing)));
    json_object_set_new(row, "source", json_from_text(constant.source));
    json_object_set_new(row, "total_fj", json_from_u64(total_fj));
    json_array_append_new(json_object_get(part, "constants"), row);
}

json_t *slices_json(const tla_hbm_energy &of, const energy &e, const tla_dram_energy_sum &sum) {
    json_t *part = part_json(tla_memory_kind_name(TLA_HBM), of.name, e);
    for (int i = 0; i < TLA_DRAM_CONSTANT_COUNT; i++)
        add_constant(part, tla_dram_constant_name(static_cast<tla_dram_constant>(i)),
                     i < TLA_DRAM_ALL_CLOSED ? "energy_fj" : "power_uw", of.profile.constants[i],
                     sum.by_constant_fj[i]);
    return part;
}

json_t *others_json(const tla_system_energy &of, const energy &e, const tla_parts_energy_sum &sum) {
    json_t *part = part_json("others", of.name, e);
    for (int i = 0; i < TLA_PARTS_CONSTANT_COUNT; i++)
        add_constant(part, tla_parts_constant_name(static_cast<tla_parts_constant>(i)), "energy_fj",
                     of.profile.constants[i], sum.by_constant_fj[i]);
    return part;
}

// "PART: TOTAL: CAUSE SHARE, ..."
void print_part(std::FILE *out, const char *part, const char *profile, const energy &e) {
    std::array<int, TLA_ENERGY_CAUSE_COUNT> order{};
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&e](int a, int b) { return e.by_cause_fj[a] > e.by_cause_fj[b]; });
    std::fprintf(out, "%s: %.3f uJ", part, static_cast<double>(e.total_fj) * 1e-9);
    for (std::size_t i = 0; i < order.size() && e.by_cause_fj[order[i]] > 0; i++)
        std::fprintf(out, "%s %s %.1f %%", i ? "," : ":",
                     tla_energy_cause_name(static_cast<tla_energy_cause>(order[i])),
                     100 * share(e.by_cause_fj[order[i]], e));
    std::fprintf(out, " (%s; %.1f %% rest on assumptions)\n", profile,
                 100 * share(e.by_standing_fj[TLA_ENERGY_ASSUMED], e));
}

} // namespace

json_t *energy_json(const npu &platform, const tla_config &config) {
    if (!config.hbm_energy.has_profile && !config.parts_energy.has_profile) return nullptr;
    energy all;
    json_t *parts = json_array();
    if (config.hbm_energy.has_profile) {
        tla_dram_energy_sum sum{};
        const energy slices = of_slices(platform, config, sum);
        all.add(slices);
        json_array_append_new(parts, slices_json(config.hbm_energy, slices, sum));
    }
    if (config.parts_energy.has_profile) {
        const tla_parts_energy_sum sum = sum_of_others(platform, config);
        const energy others = of_others(sum);
        all.add(others);
        json_array_append_new(parts, others_json(config.parts_energy, others, sum));
    }
    json_t *json = to_json(all);
    json_object_set_new(json, "parts", parts);
    return json;
}

void print_energy(std::FILE *out, const npu &platform, const tla_config &config) {
    tla_dram_energy_sum sum{};
    if (config.hbm_energy.has_profile) print_part(out, "HBM", config.hbm_energy.name, of_slices(platform, config, sum));
    if (config.parts_energy.has_profile)
        print_part(out, "other parts", config.parts_energy.name, of_others(sum_of_others(platform, config)));
}

double energy_uj(const npu &platform, const tla_config &config) {
    const std::unique_ptr<json_t, decltype(&json_decref)> json(energy_json(platform, config), json_decref);
    return json ? json_number_value(json_object_get(json.get(), "total_fj")) * 1e-9
                : std::numeric_limits<double>::quiet_NaN();
}

} // namespace tlmalloc
