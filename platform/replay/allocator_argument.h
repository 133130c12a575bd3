/* Names of allocators on the command line. */
#ifndef TLMALLOC_PLATFORM_REPLAY_ALLOCATOR_ARGUMENT_H
#define TLMALLOC_PLATFORM_REPLAY_ALLOCATOR_ARGUMENT_H

#include "replay/allocators.h"

#include <argp.h>

enum { ALLOCATOR_LIST_MAX = 64 };

/* Allocators in an order, each once, by the names that stacks have. */
typedef struct allocator_list {
    char names[ALLOCATOR_LIST_MAX][ALLOCATOR_NAME_MAX];
    size_t count;
    bool every; /* it is all that there are */
} allocator_list;

/* The stack of this name; anything else ends the command with what was expected of `option` ("--policy"). */
tla_stack_policy allocator_argument(const struct argp_state *state, const char *option, const char *text);

/* "all": every placement, and every front over first fit; "every": every front over every placement; or names between
 * commas. */
allocator_list allocator_list_argument(const struct argp_state *state, const char *option, const char *text);

#endif
