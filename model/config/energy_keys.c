/* Every key of an energy profile of DRAM: a constant, its standing, and its source. */
#define ROW_STRUCT tla_dram_energy
#include "config/profiles.h"
#include "energy_rows.h"

#include <string.h>

#define UW_MAX UINT64_C(1000000000) /* 1 kW */

static tla_status check_timing(const char *text, tla_error *wrong) {
    (void)wrong;
    return strlen(text) < TLA_ENERGY_TIMING_MAX ? TLA_OK : TLA_SYNTAX;
}

#define TIMING .check = check_timing, .expected = "names of timing profiles, separated by spaces, at most 67 bytes"

#define COMMAND(name, index, meaning) CONSTANT(name, ENERGY, energy, index, FJ_MAX, "0 pJ", meaning)
#define BACKGROUND(name, index, meaning) CONSTANT(name, POWER, power, index, UW_MAX, "0 mW", meaning)

static const tla_schema_key keys[] = {
    {TEXT(timing, timing, TIMING), NONE, "", "timing profiles for which the constants hold"},
    {SIZE_POWER(burst, burst_bytes, 1, 1024 * KIB), NONE, "32 B", "bytes of a read and of a write"},
    COMMAND(activate, TLA_DRAM_ACTIVATE, "of an ACT and the precharge that follows"),
    COMMAND(read, TLA_DRAM_READ, "of a RD, its data included"),
    COMMAND(write, TLA_DRAM_WRITE, "of a WR, its data included"),
    COMMAND(refresh, TLA_DRAM_REFRESH, "of a refresh of all banks, above the background"),
    COMMAND(refresh_bank, TLA_DRAM_REFRESH_BANK, "of a refresh of one bank"),
    BACKGROUND(all_closed, TLA_DRAM_ALL_CLOSED, "of a pseudo-channel without an open row"),
    BACKGROUND(one_open, TLA_DRAM_ONE_OPEN, "of a pseudo-channel with an open row"),
    BACKGROUND(next_open, TLA_DRAM_NEXT_OPEN, "of each further open row"),
};

enum { FIRST_CONSTANT = 2 };

static void check_constants(tla_loader *l) {
    tla_loader_check_constants(l, FIRST_CONSTANT, ((const tla_dram_energy *)l->config)->constants,
                               TLA_DRAM_CONSTANT_COUNT);
}

static const tla_schema schema = {keys, sizeof keys / sizeof keys[0], sizeof(tla_dram_energy), "read.energy=10 pJ",
                                  check_constants};

tla_status tla_dram_energy_load(const char *path, tla_dram_energy *energy, tla_config_report report, void *context) {
    return tla_loader_load(&schema, path, NULL, 0, NULL, energy, report, context);
}

tla_status tla_dram_energy_named(const char *name, tla_dram_energy *energy) {
    const tla_built_in_profile *profile = tla_profile_find(tla_energy_profiles, name);
    return profile ? tla_loader_parse(&schema, (const char *)profile->text, profile->length, profile->name, NULL, 0,
                                      NULL, energy, NULL, NULL)
                   : TLA_INVALID_ARGUMENT;
}

const char *tla_dram_energy_name_at(uint64_t index) {
    return tla_energy_profiles[index].name;
}
