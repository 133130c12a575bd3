/* The constants of a configuration's energy profiles, as comments behind the resolved configuration. */
#ifndef TLMALLOC_CLI_CHECK_ENERGY_H
#define TLMALLOC_CLI_CHECK_ENERGY_H

#include "tlmalloc/config.h"

#include <stdio.h>

/* Prints each constant of the profiles of hbm.energy and system.energy, with its standing and its source. Nothing
 * without a profile. */
void check_print_energies(FILE *out, const tla_config *config);

#endif
