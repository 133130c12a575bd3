// The energy of a run, by cause.
#ifndef TLMALLOC_PLATFORM_RUN_ENERGY_REPORT_HPP
#define TLMALLOC_PLATFORM_RUN_ENERGY_REPORT_HPP

#include "tlmalloc/config.h"
#include "tlmalloc/modules/npu.hpp"

#include <cstdio>
#include <jansson.h>

namespace tlmalloc {

// Everything that the energy profiles of the configuration cover; a new reference, or null if it names none.
json_t *energy_json(const npu &platform, const tla_config &config);

// Prints the total, and the causes with the largest first; nothing if the configuration names no energy profile.
void print_energy(std::FILE *out, const npu &platform, const tla_config &config);

// The total; NaN if the configuration names no energy profile.
double energy_uj(const npu &platform, const tla_config &config);

} // namespace tlmalloc
#endif
