/* The --set options of a command line, and the configuration that they apply to. */
#include "cli/overrides.h"

#include <stdlib.h>

bool overrides_add(overrides *set, const char *item) {
    const char **grown = realloc(set->items, (set->count + 1) * sizeof *grown);
    if (!grown) return false;
    set->items = grown;
    set->items[set->count++] = item;
    return true;
}

void overrides_clear(overrides *set) {
    free(set->items);
    *set = (overrides){0};
}

void print_finding(void *context, const tla_config_finding *finding) {
    (void)context;
    if (finding->line)
        fprintf(stderr, "%s:%zu:%zu: error: %s\n", finding->file, finding->line, finding->column, finding->text);
    else
        fprintf(stderr, "%s: error: %s\n", finding->file, finding->text);
}

tla_status overrides_load(const overrides *set, const char *path, tla_config *config) {
    return tla_config_load(path, set->items, set->count, config, print_finding, NULL);
}
