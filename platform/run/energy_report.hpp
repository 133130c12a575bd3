// The energy of a run, by cause.
#ifndef TLMALLOC_PLATFORM_RUN_ENERGY_REPORT_HPP
#define TLMALLOC_PLATFORM_RUN_ENERGY_REPORT_HPP

#include "tlmalloc/config.h"
#include "tlmalloc/modules/npu.hpp"

#include <cstdio>
#include <jansson.h>

namespace tlmalloc {

// Everything that the energy profiles of the configuration cover; a new reference. Null if the configuration names
// none, and for 2^63 fJ or more.
json_t *energy_json(const npu &platform, const tla_config &config);

// Prints the total of each part, the causes with the largest first, and the unknown constants that count. Prints
// nothing where energy_json returns null.
void print_energy(std::FILE *out, const npu &platform, const tla_config &config);

// Warns of 2^63 fJ or more.
void warn_of_too_much_energy(std::FILE *out, const npu &platform, const tla_config &config);

// The total; NaN where energy_json returns null.
double energy_uj(const npu &platform, const tla_config &config);

} // namespace tlmalloc
#endif
