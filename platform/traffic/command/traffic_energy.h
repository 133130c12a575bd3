/* The energy of traffic: a profile by name or by file, and what the commands come to. */
#ifndef TLMALLOC_PLATFORM_TRAFFIC_COMMAND_TRAFFIC_ENERGY_H
#define TLMALLOC_PLATFORM_TRAFFIC_COMMAND_TRAFFIC_ENERGY_H

#include "tlmalloc/dram/energy.h"
#include "traffic/traffic.h"

#include <jansson.h>
#include <stdio.h>

typedef struct traffic_energy {
    const char *name; /* of the profile, as the command line has it */
    tla_dram_energy profile;
    tla_dram_energy_sum sum;
    double pj_per_bit; /* of the data moved */
} traffic_energy;

/* Reads the profile that `name` names: a built-in one, or a file (with a / or ending in .yaml). `timing` is the path or
 * the name of the timing profile, for which it must hold. TLA_INVALID_ARGUMENT, TLA_SYNTAX or TLA_IO with a text, or
 * after findings. */
tla_status traffic_energy_load(const char *name, const char *timing, traffic_energy *energy, tla_error *error);

/* Adds up the run of one channel, or of the two that share a row-command bus. Errors as tla_dram_energy_add_up. */
tla_status traffic_energy_add_up(traffic_energy *energy, const tla_hbm_config *timing, const tla_traffic_result *run,
                                 tla_error *error);

json_t *traffic_energy_to_json(const traffic_energy *energy);
void traffic_energy_print(FILE *out, const traffic_energy *energy);

#endif
