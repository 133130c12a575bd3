/* Names of allocators on the command line. */
#ifndef TLMALLOC_PLATFORM_REPLAY_ALLOCATOR_OPTION_H
#define TLMALLOC_PLATFORM_REPLAY_ALLOCATOR_OPTION_H

#include "cli/options.h"
#include "replay/allocators.h"

enum { ALLOCATOR_LIST_MAX = 96 };

/* Allocators in an order, each once, by the names that stacks have. */
typedef struct allocator_list {
    char names[ALLOCATOR_LIST_MAX][ALLOCATOR_NAME_MAX];
    size_t count;
    bool every; /* it is all that there are */
} allocator_list;

/* tla_stack_policy: the stack of this name. */
option_reader option_allocator;

/* allocator_list: of "all", every placement, and every front over first fit; of "every", every front over every
 * placement; or names between commas. */
option_reader option_allocators;

#endif
