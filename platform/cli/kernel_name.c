/* Names of kernels on the command line and in configurations. */
#include "cli/kernel_name.h"

#include "model/base/suggest.h"
#include "programs/program.h"

#include <stdio.h>
#include <string.h>

static const char *name_at(uint64_t index) {
    const tl_kernel_info *kernel = index < UINT32_MAX ? tl_kernel_at((uint32_t)index) : NULL;
    return kernel ? kernel->name : NULL;
}

tla_status kernel_name_check(const char *name, tla_error *error) {
    if (tl_find_kernel(name)) return TLA_OK;
    char names[400] = "";
    const char *known;
    for (uint64_t i = 0; (known = name_at(i)); i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, " %s", known);
    }
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "found kernel '%s', expected one of:%s%s", name, names,
                         tla_did_you_mean(name, name_at).text);
}

static bool accepts(const tla_config *config, tla_error *why) {
    return kernel_name_check(config->workload.kernel, why) == TLA_OK;
}

const tla_config_judge kernel_name_judge = {"workload.kernel", accepts};
