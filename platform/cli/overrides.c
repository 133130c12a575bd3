/* The --set options of a command line, and the configuration that they apply to. */
#include "cli/overrides.h"

#include "cli/kernel_name.h"
#include "cli/message.h"
#include "cli/output.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void print(const tla_config_finding *finding, const char *kind) {
    if (finding->line)
        print_message("%s:%zu:%zu: %s: %s", finding->file, finding->line, finding->column, kind, finding->text);
    else
        print_message("%s: %s: %s", finding->file, kind, finding->text);
}

void print_finding(void *context, const tla_config_finding *finding) {
    (void)context;
    print(finding, "error");
}

static void print_warning(void *context, const tla_config_finding *finding) {
    (void)context;
    print(finding, "warning");
}

/* Reports errors that are not findings in the text. */
static void tell_no_memory(tla_status status, const char *path) {
    if (status == TLA_NO_HOST_MEMORY) print_message("%s: error: no host memory to read it", path ? path : "defaults");
}

/* The file of a profile that a configuration names, from here or from beside the configuration. */
static void protect_profile(const char *path, const char *profile) {
    const char *slash = path ? strrchr(path, '/') : NULL;
    char beside[PATH_MAX];
    output_protect(profile);
    if (!slash || *profile == '/') return;
    int length = snprintf(beside, sizeof beside, "%.*s%s", (int)(slash + 1 - path), path, profile);
    if (length > 0 && (size_t)length < sizeof beside) output_protect(beside);
}

/* The files that a configuration names. */
static void protect_named(const char *path, const tla_config *config) {
    protect_profile(path, config->hbm_timing.name);
    protect_profile(path, config->host_memory_timing.name);
    protect_profile(path, config->hbm_energy.name);
    protect_profile(path, config->parts_energy.name);
    protect_profile(path, config->cost_profile);
    if (*config->system.topology_path) output_protect(config->system.topology_path);
}

static tla_status load(const text_list *set, const char *path, const tla_config_judge *judge, tla_config *config) {
    output_protect(path);
    tla_status status = tla_config_load_judged(path, set->items, set->count, judge, config, print_finding, NULL);
    tell_no_memory(status, path);
    if (!status) protect_named(path, config);
    return status;
}

tla_status overrides_load(const text_list *set, const char *path, tla_config *config) {
    return load(set, path, NULL, config);
}

tla_status overrides_load_to_run(const text_list *set, const char *path, const struct tl_kernel_info *kernel,
                                 tla_config *config) {
    const tla_config_judge judge = kernel_judge(kernel, print_warning);
    return load(set, path, &judge, config);
}

tla_status overrides_parse(const text_list *set, const char *text, size_t length, const char *path,
                           tla_config *config) {
    tla_status status = tla_config_parse(text, length, path, set->items, set->count, config, print_finding, NULL);
    tell_no_memory(status, path);
    if (!status) protect_named(path, config);
    return status;
}
