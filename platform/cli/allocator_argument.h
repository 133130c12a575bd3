/* Names of allocators on the command line. */
#ifndef TLMALLOC_PLATFORM_CLI_ALLOCATOR_ARGUMENT_H
#define TLMALLOC_PLATFORM_CLI_ALLOCATOR_ARGUMENT_H

#include "cli/allocators.h"

#include <argp.h>

enum { ALLOCATOR_LIST_MAX = 32 };

/* Allocators in an order, each once. */
typedef struct allocator_list {
    const char *names[ALLOCATOR_LIST_MAX];
    size_t count;
} allocator_list;

/* The allocator of this name, as allocator_name has it; anything else ends the command with what was expected of
 * `option` ("--policy"). */
const char *allocator_argument(const struct argp_state *state, const char *option, const char *text);

/* "all", or names between commas. */
allocator_list allocator_list_argument(const struct argp_state *state, const char *option, const char *text);

#endif
