/* Names of allocators on the command line. */
#include "replay/allocator_argument.h"

#include "cli/arguments.h"

#include <stdio.h>
#include <string.h>

tla_stack_policy allocator_argument(const struct argp_state *state, const char *option, const char *text) {
    tla_stack_policy policy = TLA_FIRST_FIT;
    tla_error why;
    if (tla_stack_policy_parse(text, &policy, &why)) argument_error(state, "%s: %s", option, why.text);
    return policy;
}

/* As above, of a list. */
static tla_stack_policy list_element(const struct argp_state *state, const char *option, const char *text) {
    tla_stack_policy policy = TLA_FIRST_FIT;
    tla_error why;
    if (tla_stack_policy_parse(text, &policy, &why))
        argument_error(state, "%s: expected all, every, or names between commas: %s", option, why.text);
    return policy;
}

static void add(const struct argp_state *state, const char *option, allocator_list *list, const char *text) {
    char name[ALLOCATOR_NAME_MAX];
    tla_stack_policy_print(list_element(state, option, text), name, sizeof name);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            argument_error(state, "%s: found '%s' a second time, expected it once", option, text);
    if (list->count == ALLOCATOR_LIST_MAX)
        argument_error(state, "%s: expected at most %d names", option, ALLOCATOR_LIST_MAX);
    memcpy(list->names[list->count++], name, sizeof name);
}

/* Every placement, and every front over every placement where it has one under it. */
static void add_stacks(const struct argp_state *state, const char *option, allocator_list *list) {
    for (uint32_t front = 0; front < TLA_FRONT_COUNT; front++)
        for (uint32_t under = 0; under < TLA_POLICY_COUNT; under++) {
            const tla_stack_policy policy = tla_stack_policy_of((tla_front)front, (tla_policy)under);
            char name[ALLOCATOR_NAME_MAX];
            if (!tla_stack_policy_exists(policy)) continue;
            tla_stack_policy_print(policy, name, sizeof name);
            add(state, option, list, name);
        }
}

allocator_list allocator_list_argument(const struct argp_state *state, const char *option, const char *text) {
    allocator_list list = {.count = 0};
    if (strcmp(text, "all") == 0) {
        for (size_t i = 0; tla_stack_name(i); i++)
            add(state, option, &list, tla_stack_name(i));
        return list;
    }
    if (strcmp(text, "every") == 0) {
        add_stacks(state, option, &list);
        list.every = true;
        return list;
    }
    for (;;) {
        char name[256];
        size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        add(state, option, &list, name);
        if (!text[length]) return list;
        text += length + 1;
    }
}
