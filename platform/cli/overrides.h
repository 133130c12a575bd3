/* The --set options of a command line, and the configuration that they apply to. */
#ifndef TLMALLOC_PLATFORM_CLI_OVERRIDES_H
#define TLMALLOC_PLATFORM_CLI_OVERRIDES_H

#include "cli/text_list.h"
#include "tlmalloc/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* tla_config_load with these overrides (path NULL: defaults); every finding goes to stderr, one a line. */
tla_status overrides_load(const text_list *set, const char *path, tla_config *config);

struct tl_kernel_info;

/* As overrides_load, for a run of this kernel (NULL: workload.kernel, which must exist). Every key that is set and has
 * no effect is a warning on stderr. */
tla_status overrides_load_to_run(const text_list *set, const char *path, const struct tl_kernel_info *kernel,
                                 tla_config *config);

/* As overrides_load, of a file that has been read: its text, and its path for messages. */
tla_status overrides_parse(const text_list *set, const char *text, size_t length, const char *path, tla_config *config);

/* A configuration's finding as "FILE:LINE:COLUMN: error: ..." on stderr. */
void print_finding(void *context, const tla_config_finding *finding);

#ifdef __cplusplus
}
#endif
#endif
