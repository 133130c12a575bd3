/* Names of allocators on the command line. */
#include "replay/allocator_option.h"

#include <stdio.h>
#include <string.h>

void option_allocator(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    tla_error why;
    if (tla_stack_policy_parse(text, member, &why)) argument_error(state, "--%s: %s", option->name, why.text);
}

static void add(const struct argp_state *state, const option_row *option, allocator_list *list, const char *text) {
    char name[ALLOCATOR_NAME_MAX];
    tla_stack_policy policy;
    tla_error why;
    if (tla_stack_policy_parse(text, &policy, &why))
        argument_error(state, "--%s: use all, every, or names separated by commas: %s", option->name, why.text);
    tla_stack_policy_print(policy, name, sizeof name);
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            argument_error(state, "--%s: found '%s' a second time, expected it once", option->name, text);
    if (list->count == ALLOCATOR_LIST_MAX)
        argument_error(state, "--%s: expected at most %d names", option->name, ALLOCATOR_LIST_MAX);
    memcpy(list->names[list->count++], name, sizeof name);
}

/* Every placement, and every front over every placement where it has one under it. */
static void add_stacks(const struct argp_state *state, const option_row *option, allocator_list *list) {
    for (uint32_t front = 0; front < TLA_FRONT_COUNT; front++)
        for (uint32_t under = 0; under < TLA_POLICY_COUNT; under++) {
            const tla_stack_policy policy = tla_stack_policy_of((tla_front)front, (tla_policy)under);
            char name[ALLOCATOR_NAME_MAX];
            if (!tla_stack_policy_exists(policy)) continue;
            tla_stack_policy_print(policy, name, sizeof name);
            add(state, option, list, name);
        }
}

void option_allocators(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    allocator_list *const list = member;
    *list = (allocator_list){.every = strcmp(text, "every") == 0};
    if (list->every) {
        add_stacks(state, option, list);
        return;
    }
    if (strcmp(text, "all") == 0) {
        for (size_t i = 0; tla_stack_name(i); i++)
            add(state, option, list, tla_stack_name(i));
        return;
    }
    for (;;) {
        char name[256];
        const size_t length = strcspn(text, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, text);
        add(state, option, list, name);
        if (!text[length]) return;
        text += length + 1;
    }
}
