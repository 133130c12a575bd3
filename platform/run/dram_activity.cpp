// Commands and times of rows, as counts of constants of energy.
#include "run/dram_activity.hpp"

namespace tlmalloc {

static void add(const tla_dram_activity &from, tla_dram_activity &to) {
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

tla_dram_activity slices_activity(const npu &platform) {
    tla_dram_activity all{};
    for (const pe_unit *pe : platform.pes())
        add(pe->slice.activity(), all);
    return all;
}

std::array<counts_by_cause, TLA_DRAM_CONSTANT_COUNT> dram_counts(const tla_hbm_config &timing,
                                                                 const tla_dram_activity &activity) {
    std::array<counts_by_cause, TLA_DRAM_CONSTANT_COUNT> counts{};
    for (const int op : {TLA_HBM_READ, TLA_HBM_WRITE})
        for (int i = 0; i < TLA_PURPOSE_COUNT; i++) {
            const tla_energy_cause cause = tla_energy_cause_of(static_cast<tla_purpose>(i), op == TLA_HBM_WRITE);
            counts[op == TLA_HBM_WRITE ? TLA_DRAM_WRITE : TLA_DRAM_READ][cause] += activity.stats.commands_for[op][i];
            counts[TLA_DRAM_ACTIVATE][cause] += activity.stats.activates_for[op][i];
        }
    const bool each_bank = timing.refresh == TLA_HBM_REFRESH_PER_BANK;
    const std::uint64_t closed_ps = activity.open_time.all_closed_ps, open_ps = activity.pseudo_channel_ps - closed_ps,
                        open_bank_ps = activity.open_time.open_bank_ps;
    counts[each_bank ? TLA_DRAM_REFRESH_BANK : TLA_DRAM_REFRESH][TLA_ENERGY_REFRESHES] = activity.stats.refreshes;
    counts[TLA_DRAM_ALL_CLOSED][TLA_ENERGY_BACKGROUND] = closed_ps;
    counts[TLA_DRAM_ONE_OPEN][TLA_ENERGY_BACKGROUND] = open_ps;
    counts[TLA_DRAM_NEXT_OPEN][TLA_ENERGY_BACKGROUND] = open_bank_ps > open_ps ? open_bank_ps - open_ps : 0;
    return counts;
}

} // namespace tlmalloc
