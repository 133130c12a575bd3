/* Names of allocators on the command line. */
#include "cli/allocator_argument.h"

#include "cli/arguments.h"
#include "model/base/suggest.h"

#include <stdio.h>
#include <string.h>

static const char *find(const char *text) {
    for (size_t i = 0; allocator_name(i); i++)
        if (strcmp(text, allocator_name(i)) == 0) return allocator_name(i);
    return NULL;
}

static void refuse(const struct argp_state *state, const char *option, const char *text, const char *expected) {
    char names[400] = "";
    for (size_t i = 0; allocator_name(i); i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", allocator_name(i));
    }
    argument_error(state, "%s: found '%s', expected %s: %s%s", option, text, expected, names,
                   tla_did_you_mean(text, allocator_name).text);
}

const char *allocator_argument(const struct argp_state *state, const char *option, const char *text) {
    const char *name = find(text);
    if (!name) refuse(state, option, text, "one of");
    return name;
}

static void add(const struct argp_state *state, const char *option, allocator_list *list, const char *text) {
    const char *name = find(text);
    if (!name) refuse(state, option, text, "all, or some of");
    for (size_t i = 0; i < list->count; i++)
        if (list->names[i] == name)
            argument_error(state, "%s: found '%s' a second time, expected it once", option, text);
    if (list->count < ALLOCATOR_LIST_MAX) list->names[list->count++] = name;
}

allocator_list allocator_list_argument(const struct argp_state *state, const char *option, const char *text) {
    allocator_list list = {.count = 0};
    if (strcmp(text, "all") == 0) {
        for (size_t i = 0; allocator_name(i); i++)
            add(state, option, &list, allocator_name(i));
        return list;
    }
    for (;;) {
        char name[64];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        add(state, option, &list, name);
        if (!text[length]) return list;
        text += length + 1;
    }
}
