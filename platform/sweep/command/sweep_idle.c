/* Swept keys without effect: they have an effect at none of the checked points. */
#include "sweep/command/sweep_idle.h"

#include "cli/message.h"
#include "programs/program.h"

#include <stdio.h>
#include <string.h>

static void note_kernel(void *context, sweep_kind kind, const char *name, const char *value) {
    tla_workload_parameters *workload = context;
    if (kind == SWEEP_OPTION && strcmp(name, "--kernel") == 0 && strcmp(value, "none") != 0)
        snprintf(workload->kernel, sizeof workload->kernel, "%s", value);
}

/* What the kernel of a run does; unknown of a kernel in a file. */
static void use_kernel(const sweep *s, int64_t point, tla_workload_parameters *workload) {
    if (strcmp(s->command->name, "run") != 0) return;
    sweep_each_setting(s, point, note_kernel, workload);
    const tl_kernel_info *kernel = tl_find_kernel(workload->kernel);
    workload->uses = kernel ? tl_kernel_uses(kernel) : 0;
}

void sweep_warn_of_idle_keys(const sweep *s) {
    enum { LOOKED_AT = 256 };
    const uint64_t step = s->count / LOOKED_AT + 1;
    for (size_t i = 0; i < s->factor_count && sweep_has_config(s); i++) {
        const sweep_factor *const factor = &s->factors[i];
        bool has_effect = factor->kind != SWEEP_KEY;
        tla_config config;
        tla_error why = {0};
        for (uint64_t point = 0; point < s->count && !has_effect; point += step) {
            if (sweep_config(s, (int64_t)point, &config, NULL)) continue; /* the point fails with a text */
            use_kernel(s, (int64_t)point, &config.workload);
            has_effect = tla_config_has_effect(&config, factor->name, &why);
        }
        if (!has_effect && why.text[0])
            print_message("%s:%zu:%zu: warning: at every point %s", s->file, factor->at.line, factor->at.column,
                          why.text);
    }
}
