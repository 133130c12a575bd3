/* Releases a sweep. */
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

char *sweep_copy(tla_loader *loader, const char *text) {
    char *made = strdup(text);
    loader->no_memory |= !made;
    return made;
}

char *sweep_beside(tla_loader *loader, const sweep *s, const char *text, const sweep_path *paths, size_t count) {
    const char *slash = strrchr(s->path, '/'), *rest = text;
    const size_t folder = slash ? (size_t)(slash + 1 - s->path) : 0, room = strlen(text) + count * folder + 1;
    char *made = malloc(room);
    loader->no_memory |= !made;
    size_t length = 0;
    for (size_t i = 0; i < count && made; i++) {
        const char *file = text + paths[i].at;
        length += (size_t)snprintf(made + length, room - length, "%.*s%.*s", (int)(file - rest), rest,
                                   *file == '/' ? 0 : (int)folder, s->path);
        rest = file;
    }
    if (made) snprintf(made + length, room - length, "%s", rest);
    return made;
}
