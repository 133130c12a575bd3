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

static bool accepts(const void *chosen, tla_workload_parameters *workload, tla_error *why) {
    const tl_kernel_info *kernel = chosen;
    if (!kernel && kernel_name_check(workload->kernel, why) != TLA_OK) return false;
    if (!kernel) kernel = tl_find_kernel(workload->kernel);
    snprintf(workload->kernel, sizeof workload->kernel, "%s", kernel->name);
    workload->uses = tl_kernel_uses(kernel);
    return true;
}

tla_config_judge kernel_judge(const struct tl_kernel_info *chosen, tla_config_report warn) {
    return (tla_config_judge){chosen, accepts, warn};
}
