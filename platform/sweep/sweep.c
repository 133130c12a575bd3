/* A sweep given back. */
#include "model/base/grow.h"
#include "sweep_file.h"

#include <stdlib.h>

void sweep_clear(sweep *s) {
    for (size_t i = 0; i < s->setting_count; i++) {
        free(s->settings[i].name);
        free(s->settings[i].value);
    }
    for (size_t i = 0; i < s->factor_count; i++) {
        for (size_t value = 0; s->factors[i].values && value < s->factors[i].value_count; value++)
            free(s->factors[i].values[value]);
        free(s->factors[i].values);
        free(s->factors[i].name);
        free(s->factors[i].zip);
    }
    for (size_t i = 0; i < s->figure_count; i++) {
        free(s->figures[i].name);
        free(s->figures[i].path);
    }
    for (size_t i = 0; i < s->constraint_count; i++)
        free(s->constraints[i]);
    for (size_t i = 0; i < s->file_count; i++)
        free(s->files[i].path);
    free(s->files);
    free(s->settings);
    free(s->factors);
    free(s->figures);
    free(s->constraints);
    free(s->constraint_places);
    free(s->path);
    free(s->text);
    free(s->name);
    free(s->about);
    free(s->platform);
    free(s->input);
    free(s->workload);
    *s = (sweep){0};
}

void *sweep_grow(tla_loader *loader, void *items, size_t count, size_t size) {
    if (tla_grow_by_one(&items, count, size)) return items;
    loader->no_memory = true;
    return NULL;
}
