/* Swept keys without effect: they have an effect at none of the checked points. */
#include "sweep/command/sweep_idle.h"

#include "cli/message.h"

void sweep_warn_of_idle_keys(const sweep *s) {
    enum { LOOKED_AT = 256 };
    const uint64_t step = s->count / LOOKED_AT + 1;
    for (size_t i = 0; i < s->factor_count && sweep_has_config(s); i++) {
        const sweep_factor *const factor = &s->factors[i];
        bool idle = factor->kind == SWEEP_KEY && s->count > 0;
        tla_config config;
        tla_error why;
        for (uint64_t point = 0; point < s->count && idle; point += step)
            idle = sweep_config(s, (int64_t)point, &config, NULL) == TLA_OK &&
                   !tla_config_has_effect(&config, factor->name, &why);
        if (idle)
            print_message("%s:%zu:%zu: warning: at every point %s", s->file, factor->at.line, factor->at.column,
                          why.text);
    }
}
