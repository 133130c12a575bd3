/* Swept keys without effect: they have an effect at none of the checked points. */
#include "sweep/command/sweep_idle.h"

#include "cli/message.h"

void sweep_warn_of_idle_keys(const sweep *s) {
    enum { LOOKED_AT = 256 };
    const uint64_t step = s->count / LOOKED_AT + 1;
    for (size_t i = 0; i < s->factor_count && sweep_has_config(s); i++) {
        const sweep_factor *const factor = &s->factors[i];
        bool has_effect = factor->kind != SWEEP_KEY;
        tla_config config;
        tla_error why = {0};
        for (uint64_t point = 0; point < s->count && !has_effect; point += step)
            if (sweep_config(s, (int64_t)point, &config, NULL) == TLA_OK) /* else the point fails with a text */
                has_effect = tla_config_has_effect(&config, factor->name, &why);
        if (!has_effect && why.text[0])
            print_message("%s:%zu:%zu: warning: at every point %s", s->file, factor->at.line, factor->at.column,
                          why.text);
    }
}
