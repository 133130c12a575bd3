/* Who wants to know what a stack is asked for, as it happens: for recordings. */
#ifndef TLMALLOC_STACK_STACK_WATCH_H
#define TLMALLOC_STACK_STACK_WATCH_H

#include "tlmalloc/stack/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A request that the stack has decided. */
typedef struct tla_stack_deed {
    bool is_free;
    tla_status status;         /* of an alloc; of frees only those are told that were done */
    tla_stack_request request; /* of an alloc, as it was made */
    tla_block block;           /* of a free, as it was asked for; of an alloc what was granted, or nothing */
    tla_owner owner;           /* whom the call was made for */
} tla_stack_deed;

typedef void (*tla_stack_watch)(void *context, const tla_stack_deed *deed);

/* Has `watch` called at the end of every alloc, and of every reserve (as an alloc) and free that was done; it must not
 * call the stack. One at a time; NULL: nobody. What is refused before the stack looks at it (0 bytes, no format) is not
 * told. */
void tla_stack_set_watch(tla_stack *stack, tla_stack_watch watch, void *context);

#ifdef __cplusplus
}
#endif
#endif
