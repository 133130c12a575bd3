/* Counts times constants. */
#include "tlmalloc/dram/energy.h"

#include "base/wide.h"

#include <inttypes.h>
#include <string.h>

const char *tla_energy_standing_name(tla_energy_standing standing) {
    static const char *const names[] = {"unknown", "assumed", "extrapolated", "measured"};
    return (unsigned)standing < TLA_ENERGY_STANDING_COUNT ? names[standing] : NULL;
}

const char *tla_dram_constant_name(tla_dram_constant constant) {
    static const char *const names[] = {"activate",     "read",       "write",    "refresh",
                                        "refresh_bank", "all_closed", "one_open", "next_open"};
    return (unsigned)constant < TLA_DRAM_CONSTANT_COUNT ? names[constant] : NULL;
}

bool tla_dram_energy_is_for(const tla_dram_energy *profile, const char *timing) {
    const size_t length = strlen(timing);
    for (const char *at = profile->timing; *at != '\0';) {
        const size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, timing, length) == 0) return true;
        at += word + strspn(at + word, " ");
    }
    return false;
}

/* How often each constant counts: commands, or ps. */
static void count(const tla_hbm_config *timing, const tla_dram_activity *a, uint64_t counts[TLA_DRAM_CONSTANT_COUNT]) {
    const bool each_bank = timing->refresh == TLA_HBM_REFRESH_PER_BANK;
    const uint64_t closed_ps = a->open_time.all_closed_ps, open_ps = a->pseudo_channel_ps - closed_ps;
    counts[TLA_DRAM_ACTIVATE] = a->stats.activates;
    counts[TLA_DRAM_READ] = a->stats.read_commands;
    counts[TLA_DRAM_WRITE] = a->stats.write_commands;
    counts[TLA_DRAM_REFRESH] = each_bank ? 0 : a->stats.refreshes;
    counts[TLA_DRAM_REFRESH_BANK] = each_bank ? a->stats.refreshes : 0;
    counts[TLA_DRAM_ALL_CLOSED] = closed_ps;
    counts[TLA_DRAM_ONE_OPEN] = open_ps;
    counts[TLA_DRAM_NEXT_OPEN] = a->open_time.open_bank_ps > open_ps ? a->open_time.open_bank_ps - open_ps : 0;
}

tla_status tla_dram_energy_add_up(const tla_dram_energy *profile, const tla_hbm_config *timing,
                                  const tla_dram_activity *activity, tla_dram_energy_sum *sum, tla_error *error) {
    uint64_t counts[TLA_DRAM_CONSTANT_COUNT];
    *sum = (tla_dram_energy_sum){0};
    if (timing->model != TLA_HBM_BANKS)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "a timing without banks has no commands to count");
    if (timing->burst_bytes != profile->burst_bytes)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the energy profile is for bursts of %" PRIu32 " bytes, the timing has %" PRIu32,
                             profile->burst_bytes, timing->burst_bytes);
    if (activity->open_time.all_closed_ps > activity->pseudo_channel_ps)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "rows are closed for longer than the whole time");
    count(timing, activity, counts);
    for (int i = 0; i < TLA_DRAM_CONSTANT_COUNT; i++) {
        enum { UW_PS_PER_FJ = 1000 };
        const bool is_power = i >= TLA_DRAM_ALL_CLOSED;
        uint64_t rest;
        const uint64_t fj =
            wide_quotient(wide_product(counts[i], profile->constants[i].value), is_power ? UW_PS_PER_FJ : 1, &rest);
        if (fj == UINT64_MAX || __builtin_add_overflow(sum->total_fj, fj, &sum->total_fj)) {
            *sum = (tla_dram_energy_sum){0};
            return tla_error_set(error, TLA_LIMIT, "the energy exceeds 2^64 fJ");
        }
        sum->by_constant_fj[i] = fj;
        sum->by_standing_fj[profile->constants[i].standing] += fj;
    }
    return TLA_OK;
}

void tla_dram_energy_charge(const tla_dram_energy *profile, const tla_dram_activity *activity,
                            const tla_dram_energy_sum *sum, uint64_t by_cause_fj[TLA_ENERGY_CAUSE_COUNT]) {
    for (int op = 0; op < TLA_HBM_OPS; op++) {
        const bool write = op == TLA_HBM_WRITE;
        for (int i = 0; i < TLA_PURPOSE_COUNT; i++)
            by_cause_fj[tla_energy_cause_of((tla_purpose)i, write)] +=
                activity->stats.commands_for[op][i] * profile->constants[write ? TLA_DRAM_WRITE : TLA_DRAM_READ].value +
                activity->stats.activates_for[op][i] * profile->constants[TLA_DRAM_ACTIVATE].value;
    }
    for (int i = TLA_DRAM_REFRESH; i < TLA_DRAM_CONSTANT_COUNT; i++)
        by_cause_fj[i < TLA_DRAM_ALL_CLOSED ? TLA_ENERGY_REFRESHES : TLA_ENERGY_BACKGROUND] += sum->by_constant_fj[i];
}
