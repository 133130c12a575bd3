/* Every key of an energy profile of DRAM: a constant, its standing, and its source. */
#define ROW_STRUCT tla_dram_energy
#include "config/profiles.h"
#include "row.h"

#include <string.h>

#define FJ_MAX UINT64_C(1000000000000) /* 1 mJ */
#define UW_MAX UINT64_C(1000000000)    /* 1 kW */

#define NONE "none: specific to the part"

NAMES_OF(tla_energy_standing)

static tla_status check_source(const char *text, tla_error *wrong) {
    (void)wrong;
    return strlen(text) < TLA_ENERGY_SOURCE_MAX ? TLA_OK : TLA_SYNTAX;
}

static tla_status check_timing(const char *text, tla_error *wrong) {
    (void)wrong;
    return strlen(text) < TLA_ENERGY_TIMING_MAX ? TLA_OK : TLA_SYNTAX;
}

#define SOURCE .check = check_source, .expected = "a text of at most 163 bytes"
#define TIMING .check = check_timing, .expected = "names of timing profiles, separated by spaces, at most 67 bytes"

#define CONSTANT(name, KIND, unit, index, high, zero, meaning)                                                         \
    {KIND(name.unit, constants[index].value, high), NONE, zero, meaning},                                              \
        {NAMED(name.standing, constants[index].standing, tla_energy_standing), NONE, "unknown",                        \
         "whether the source measures the constant, or extrapolates it from other parts; or assumed"},                 \
    {                                                                                                                  \
        TEXT(name.source, constants[index].source, SOURCE), NONE, "", "where the constant is from"                     \
    }
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

enum { FIRST_CONSTANT = 2, KEYS_OF_CONSTANT = 3 };

/* A constant has a standing and a source, or it is 0 and unknown. */
static void check_constants(tla_loader *l) {
    const tla_dram_energy *e = l->config;
    for (size_t i = 0; i < TLA_DRAM_CONSTANT_COUNT; i++) {
        const tla_origin *of = &l->origins[FIRST_CONSTANT + i * KEYS_OF_CONSTANT];
        const char *const value = keys[FIRST_CONSTANT + i * KEYS_OF_CONSTANT].key;
        const char *const name = tla_dram_constant_name((tla_dram_constant)i);
        const bool is_known = e->constants[i].standing != TLA_ENERGY_UNKNOWN;
        if (of[0].bad || of[1].bad || of[2].bad) continue;
        if (!is_known && e->constants[i].value != 0)
            tla_loader_find_at(l, &of[0],
                               tla_phrase_of("%s: a constant needs a standing: set %s.standing to assumed, "
                                             "extrapolated or measured",
                                             value, name)
                                   .text);
        else if (is_known && of[0].at.file == NULL)
            tla_loader_find_at(l, &of[1], tla_phrase_of("%s.standing: %s is not written: write it", name, value).text);
        else if (is_known && e->constants[i].source[0] == '\0')
            tla_loader_find_at(
                l, &of[1],
                tla_phrase_of("%s.standing: a known constant needs a source: set %s.source", name, name).text);
    }
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
