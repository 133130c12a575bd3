/* Names of kernels on the command line and in configurations. */
#ifndef TLMALLOC_PLATFORM_CLI_KERNEL_NAME_H
#define TLMALLOC_PLATFORM_CLI_KERNEL_NAME_H

#include "tlmalloc/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* TLA_OK when a kernel has this name; else TLA_INVALID_ARGUMENT with "found ..., expected one of ...". */
tla_status kernel_name_check(const char *name, tla_error *error);

struct tl_kernel_info;

/* Takes `chosen` for the kernel that is run, or with NULL workload.kernel, which must exist. */
tla_config_judge kernel_judge(const struct tl_kernel_info *chosen, tla_config_report warn);

#ifdef __cplusplus
}
#endif
#endif
