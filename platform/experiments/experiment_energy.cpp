// Energy of DRAM: of generated traffic on one pseudo-channel, or of commands that are given.
#include "experiments/experiment_dma.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/dram/energy.h"
#include "traffic/traffic.h"

#include <string>

namespace tlmalloc {
namespace {

const char *profile_name(std::uint64_t index) {
    return tla_dram_energy_name_at(index);
}

const char *pattern_name(std::uint64_t index) {
    if (index == 0) return "none"; // the commands are given
    return index <= TLA_TRAFFIC_PATTERN_COUNT ? tla_traffic_pattern_name(static_cast<tla_traffic_pattern>(index - 1))
                                              : nullptr;
}

double uj(std::uint64_t fj) {
    return static_cast<double>(fj) * 1e-9;
}

// In the order of the figures of the workload.
std::vector<double> figures_of(const tla_dram_energy_sum &sum, std::uint64_t nbytes) {
    const std::uint64_t *const of = sum.by_constant_fj;
    return {uj(sum.total_fj),
            uj(of[TLA_DRAM_ACTIVATE]),
            uj(of[TLA_DRAM_READ] + of[TLA_DRAM_WRITE]),
            uj(of[TLA_DRAM_REFRESH] + of[TLA_DRAM_REFRESH_BANK]),
            uj(of[TLA_DRAM_ALL_CLOSED] + of[TLA_DRAM_ONE_OPEN] + of[TLA_DRAM_NEXT_OPEN]),
            static_cast<double>(sum.total_fj) / 1e3 / (8.0 * static_cast<double>(nbytes))};
}

// The profile, and the first timing that it names.
tla_status load(std::uint64_t index, tla_dram_energy &energy, tla_hbm_config &timing) {
    const tla_status status = tla_dram_energy_named(profile_name(index), &energy);
    if (status) return status;
    const std::string names = energy.timing;
    return tla_timing_named(names.substr(0, names.find(' ')).c_str(), &timing);
}

// Has no platform, and is finished when it is made.
class energy_run : public experiment_run {
  public:
    explicit energy_run(const experiment_parameters &p) {
        tla_hbm_config timing{};
        tla_dram_energy energy{};
        tla_dram_activity activity{};
        tla_dram_energy_sum sum{};
        if (load(p.at("profile"), energy, timing)) {
            tla_error_set(&failure_, TLA_NO_HOST_MEMORY, "no host memory for the profiles");
            return;
        }
        std::uint64_t nbytes = p.at("count") * energy.burst_bytes;
        tla_status status = TLA_OK;
        if (p.at("pattern") == 0)
            activity = of_commands(p, timing);
        else
            status = of_traffic(p, timing, activity, nbytes);
        if (!status) status = tla_dram_energy_add_up(&energy, &timing, &activity, &sum, &failure_);
        if (status) return;
        results_ = figures_of(sum, nbytes);
        finished_ = true;
    }

    static tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
        const bool is_given = p.at("activates") != 0 || p.at("time") != 0 || p.at("open") != 0;
        if (p.at("count") == 0)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "count: found 0, expected at least 1");
        if (p.at("open") > TLA_HBM_BANKS_MAX)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "open: found %llu, expected at most %d",
                                 static_cast<unsigned long long>(p.at("open")), TLA_HBM_BANKS_MAX);
        if (p.at("time") > TLA_TRAFFIC_PS_MAX / TLA_HBM_BANKS_MAX)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "time: expected at most 40 hours");
        if (p.at("pattern") == 0 || !is_given) return TLA_OK;
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "activates, time and open: must be 0 with a pattern, which determines them");
    }

  private:
    // `count` reads, and refreshes for the time.
    static tla_dram_activity of_commands(const experiment_parameters &p, const tla_hbm_config &timing) {
        tla_dram_activity activity{};
        activity.stats.activates = p.at("activates");
        activity.stats.read_commands = p.at("count");
        activity.stats.refreshes = p.at("time") / (std::uint64_t{timing.refi} * timing.tck_ps);
        activity.pseudo_channel_ps = p.at("time");
        activity.open_time.open_bank_ps = p.at("time") * p.at("open");
        if (p.at("open") == 0) activity.open_time.all_closed_ps = p.at("time");
        return activity;
    }

    tla_status of_traffic(const experiment_parameters &p, const tla_hbm_config &timing, tla_dram_activity &activity,
                          std::uint64_t &nbytes) {
        tla_traffic traffic{};
        tla_traffic_result result{};
        std::size_t bad = 0;
        const tla_traffic_geometry geometry = tla_traffic_geometry_of(&timing);
        tla_status status = tla_traffic_generate(static_cast<tla_traffic_pattern>(p.at("pattern") - 1), 1,
                                                 p.at("count"), timing.window, &geometry, &traffic);
        if (status) return tla_error_set(&failure_, status, "count: too small, or no host memory for the traffic");
        status = tla_traffic_run(&timing, &traffic, &result, &bad, &failure_);
        activity = {result.stats, result.open_time, result.end_ps * timing.row_bus_sharers};
        nbytes = result.nbytes;
        tla_traffic_result_free(&result);
        tla_traffic_free(&traffic);
        return status;
    }
};

} // namespace

experiment_workload energies() {
    return {"energy",
            {{"profile", TLA_VALUE_NAMED, profile_name},
             {"pattern", TLA_VALUE_NAMED, pattern_name},
             {"count", TLA_VALUE_COUNT},
             {"activates", TLA_VALUE_COUNT},
             {"time", TLA_VALUE_TIME},
             {"open", TLA_VALUE_COUNT}},
            {"total", "activates", "data", "refreshes", "background", "per_bit"},
            false,
            [](const char *, const tla_config &, const experiment_parameters &p) -> std::unique_ptr<experiment_run> {
                return std::make_unique<energy_run>(p);
            },
            energy_run::check,
            {"uJ", "uJ", "uJ", "uJ", "uJ", "pJ/bit"}};
}

} // namespace tlmalloc
