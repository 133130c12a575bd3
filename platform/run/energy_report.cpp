// Energies of the parts of a platform, added up by cause and by the standing of their constants.
#include "run/energy_report.hpp"

#include "cli/config_json.h"
#include "run/dram_activity.hpp"
#include "run/parts_activity.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace tlmalloc {

namespace {

// Of a constant, of a part, or of the whole platform.
struct energy {
    counts_by_cause by_cause_fj{};
    std::array<std::uint64_t, TLA_ENERGY_STANDING_COUNT> by_standing_fj{};
    std::uint64_t total_fj = 0;

    // False for 2^64 fJ or more.
    bool add(const energy &other) {
        for (std::size_t i = 0; i < by_cause_fj.size(); i++)
            by_cause_fj[i] += other.by_cause_fj[i];
        for (std::size_t i = 0; i < by_standing_fj.size(); i++)
            by_standing_fj[i] += other.by_standing_fj[i];
        return !__builtin_add_overflow(total_fj, other.total_fj, &total_fj);
    }
};

struct constant_row {
    const char *name, *value_key;
    const tla_energy_constant *constant;
    counts_by_cause counts; // commands, ps, bytes, bits, ...
    std::uint64_t total_fj;

    std::uint64_t count() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }
    bool is_missing() const { return constant->standing == TLA_ENERGY_UNKNOWN && count() > 0; }
};

struct part {
    const char *name, *title, *profile;
    energy sum;
    std::vector<constant_row> constants;
};

struct whole {
    std::vector<part> parts;
    energy sum;
    bool is_too_much = false; // 2^63 fJ or more, which no number of JSON has exactly

    void add(part &&p, tla_status status) {
        is_too_much = status != TLA_OK || !sum.add(p.sum) || sum.total_fj > INT64_MAX || is_too_much;
        parts.push_back(std::move(p));
    }
};

void add_dram(whole &to, part &&p, const tla_dram_energy &profile, const tla_hbm_config &timing,
              const tla_dram_activity &activity) {
    tla_dram_energy_sum sum{};
    const tla_status status = tla_dram_energy_add_up(&profile, &timing, &activity, &sum, nullptr);
    if (!status) tla_dram_energy_charge(&profile, &activity, &sum, p.sum.by_cause_fj.data());
    std::copy(std::begin(sum.by_standing_fj), std::end(sum.by_standing_fj), p.sum.by_standing_fj.begin());
    p.sum.total_fj = sum.total_fj;
    const auto counts = dram_counts(timing, activity);
    for (int i = 0; i < TLA_DRAM_CONSTANT_COUNT; i++)
        p.constants.push_back({tla_dram_constant_name(static_cast<tla_dram_constant>(i)),
                               i < TLA_DRAM_ALL_CLOSED ? "energy_fj" : "power_uw", &profile.constants[i],
                               counts[static_cast<std::size_t>(i)], sum.by_constant_fj[i]});
    to.add(std::move(p), status);
}

// No source has constants for the host's memory: they are unknown, and counted.
void add_host_memory(whole &to, const npu &platform, const tla_config &config) {
    static const tla_dram_energy unknown{};
    if (!platform.memory_of_host() || !platform.memory_of_host()->memory.has_banks()) return;
    tla_dram_energy profile = unknown;
    profile.burst_bytes = config.host_memory_timing.profile.burst_bytes;
    add_dram(to, {tla_memory_kind_name(TLA_HOST_MEMORY), "host memory", "none", {}, {}}, profile,
             config.host_memory_timing.profile, platform.memory_of_host()->memory.activity());
    for (constant_row &row : to.parts.back().constants)
        row.constant = &unknown.constants[0];
}

void add_others(whole &to, const npu &platform, const tla_config &config) {
    part p{"others", "other parts", config.parts_energy.name, {}, {}};
    const tla_parts_energy &profile = config.parts_energy.profile;
    const tla_parts_activity activity = parts_activity(platform, config);
    tla_parts_energy_sum sum{};
    const tla_status status = tla_parts_energy_add_up(&profile, &activity, &sum, nullptr);
    std::copy(std::begin(sum.by_cause_fj), std::end(sum.by_cause_fj), p.sum.by_cause_fj.begin());
    std::copy(std::begin(sum.by_standing_fj), std::end(sum.by_standing_fj), p.sum.by_standing_fj.begin());
    p.sum.total_fj = sum.total_fj;
    for (int i = 0; i < TLA_PARTS_CONSTANT_COUNT; i++) {
        counts_by_cause counts{};
        std::copy(std::begin(activity.counts[i]), std::end(activity.counts[i]), counts.begin());
        p.constants.push_back({tla_parts_constant_name(static_cast<tla_parts_constant>(i)), "energy_fj",
                               &profile.constants[i], counts, sum.by_constant_fj[i]});
    }
    to.add(std::move(p), status);
}

// Without parts if the configuration names no energy profile.
whole energy_of(const npu &platform, const tla_config &config) {
    whole all;
    if (config.hbm_energy.has_profile)
        add_dram(all, {tla_memory_kind_name(TLA_HBM), "HBM", config.hbm_energy.name, {}, {}}, config.hbm_energy.profile,
                 config.hbm_timing.profile, slices_activity(platform));
    if (config.hbm_energy.has_profile || config.parts_energy.has_profile) add_host_memory(all, platform, config);
    if (config.parts_energy.has_profile) add_others(all, platform, config);
    return all;
}

double share(std::uint64_t part_fj, const energy &of) {
    return of.total_fj == 0 ? 0 : static_cast<double>(part_fj) / static_cast<double>(of.total_fj);
}

json_t *causes_json(const counts_by_cause &values) {
    json_t *causes = json_object();
    for (std::size_t i = 0; i < values.size(); i++)
        json_object_set_new(causes, tla_energy_cause_name(static_cast<tla_energy_cause>(i)), json_from_u64(values[i]));
    return causes;
}

json_t *to_json(const energy &e) {
    json_t *json = json_object();
    json_object_set_new(json, "total_fj", json_from_u64(e.total_fj));
    for (std::size_t i = TLA_ENERGY_ASSUMED; i < e.by_standing_fj.size(); i++) {
        const auto standing = static_cast<tla_energy_standing>(i);
        json_object_set_new(json, (std::string("share_") + tla_energy_standing_name(standing)).c_str(),
                            json_real(share(e.by_standing_fj[i], e)));
    }
    json_object_set_new(json, "by_cause_fj", causes_json(e.by_cause_fj));
    return json;
}

json_t *to_json(const constant_row &of) {
    json_t *row = json_object();
    json_object_set_new(row, "constant", json_string(of.name));
    json_object_set_new(row, of.value_key, json_from_u64(of.constant->value));
    json_object_set_new(row, "standing", json_string(tla_energy_standing_name(of.constant->standing)));
    json_object_set_new(row, "source", json_from_text(of.constant->source));
    json_object_set_new(row, "count", json_from_u64(of.count()));
    json_object_set_new(row, "count_by_cause", causes_json(of.counts));
    json_object_set_new(row, "total_fj", json_from_u64(of.total_fj));
    return row;
}

json_t *to_json(const part &p) {
    json_t *json = to_json(p.sum), *constants = json_array(), *unknown = json_array();
    json_object_set_new(json, "part", json_string(p.name));
    json_object_set_new(json, "profile", json_from_text(p.profile));
    for (const constant_row &row : p.constants) {
        json_array_append_new(constants, to_json(row));
        if (row.is_missing()) json_array_append_new(unknown, json_string(row.name));
    }
    json_object_set_new(json, "unknown", unknown);
    json_object_set_new(json, "constants", constants);
    return json;
}

// "PART: TOTAL: CAUSE SHARE, ... (PROFILE; ...)"
void print_part(std::FILE *out, const part &p) {
    std::array<std::size_t, TLA_ENERGY_CAUSE_COUNT> order{};
    const energy &e = p.sum;
    if (std::all_of(p.constants.begin(), p.constants.end(),
                    [](const constant_row &row) { return row.constant->standing == TLA_ENERGY_UNKNOWN; })) {
        std::fprintf(out, "%s: unknown: no constant has a source (%s)\n", p.title, p.profile);
        return;
    }
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&e](std::size_t a, std::size_t b) { return e.by_cause_fj[a] > e.by_cause_fj[b]; });
    std::fprintf(out, "%s: %.3f uJ", p.title, static_cast<double>(e.total_fj) * 1e-9);
    for (std::size_t i = 0; i < order.size() && e.by_cause_fj[order[i]] > 0; i++)
        std::fprintf(out, "%s %s %.1f %%", i ? "," : ":",
                     tla_energy_cause_name(static_cast<tla_energy_cause>(order[i])),
                     100 * share(e.by_cause_fj[order[i]], e));
    std::fprintf(out, " (%s; %.1f %% rest on assumptions", p.profile,
                 100 * share(e.by_standing_fj[TLA_ENERGY_ASSUMED], e));
    const char *before = "; unknown, and not in the sum: ";
    for (const constant_row &row : p.constants)
        if (row.is_missing()) {
            std::fprintf(out, "%s%s", before, row.name);
            before = ", ";
        }
    std::fputs(")\n", out);
}

} // namespace

json_t *energy_json(const npu &platform, const tla_config &config) {
    const whole all = energy_of(platform, config);
    if (all.parts.empty() || all.is_too_much) return nullptr;
    json_t *json = to_json(all.sum), *parts = json_array();
    for (const part &p : all.parts)
        json_array_append_new(parts, to_json(p));
    json_object_set_new(json, "parts", parts);
    return json;
}

void print_energy(std::FILE *out, const npu &platform, const tla_config &config) {
    const whole all = energy_of(platform, config);
    for (std::size_t i = 0; i < all.parts.size() && !all.is_too_much; i++)
        print_part(out, all.parts[i]);
}

void warn_of_too_much_energy(std::FILE *out, const npu &platform, const tla_config &config) {
    if (energy_of(platform, config).is_too_much)
        std::fputs("tlmalloc run: warning: the energy is 2^63 fJ or more, and is not reported: set smaller constants\n",
                   out);
}

double energy_uj(const npu &platform, const tla_config &config) {
    const whole all = energy_of(platform, config);
    return all.parts.empty() || all.is_too_much ? std::numeric_limits<double>::quiet_NaN()
                                                : static_cast<double>(all.sum.total_fj) * 1e-9;
}

} // namespace tlmalloc
