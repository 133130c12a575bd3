/* The constants of energy profiles as comments of YAML: the output of `check` is a configuration. */
#include "cli/check_energy.h"

#include "model/config/value.h"

static void print_constant(FILE *out, const char *name, const tla_energy_constant *constant, tla_value_type type,
                           const char *of) {
    if (constant->standing == TLA_ENERGY_UNKNOWN)
        fprintf(out, "#   %s: unknown, taken as 0\n", name);
    else
        fprintf(out, "#   %s: %s%s, %s: %s\n", name, tla_number_print(type, constant->value).text, of,
                tla_energy_standing_name(constant->standing), constant->source);
}

/* Whether energies are asked for, and the host's memory has commands. */
static bool knows_no_host_memory(const tla_config *config) {
    const tla_hbm_timing *timing = &config->host_memory_timing;
    return (config->hbm_energy.has_profile || config->parts_energy.has_profile) && config->host_memory.capacity > 0 &&
           timing->has_profile && timing->profile.model == TLA_HBM_BANKS;
}

void check_print_energies(FILE *out, const tla_config *config) {
    const tla_hbm_energy *hbm = &config->hbm_energy;
    const tla_system_energy *parts = &config->parts_energy;
    if (hbm->has_profile) fprintf(out, "# constants of hbm.energy %s:\n", hbm->name);
    for (int i = 0; hbm->has_profile && i < TLA_DRAM_CONSTANT_COUNT; i++)
        print_constant(out, tla_dram_constant_name((tla_dram_constant)i), &hbm->profile.constants[i],
                       i < TLA_DRAM_ALL_CLOSED ? TLA_VALUE_ENERGY : TLA_VALUE_POWER, "");
    if (knows_no_host_memory(config)) fputs("# constants of host_memory.timing: unknown: no set has a source\n", out);
    if (parts->has_profile) fprintf(out, "# constants of system.energy %s:\n", parts->name);
    for (int i = 0; parts->has_profile && i < TLA_PARTS_CONSTANT_COUNT; i++)
        print_constant(out, tla_parts_constant_name((tla_parts_constant)i), &parts->profile.constants[i],
                       TLA_VALUE_ENERGY, tla_phrase_of(" per %s", tla_parts_constant_unit((tla_parts_constant)i)).text);
}
