/* The allocators on which a trace can be replayed without SystemC: any stack (tlmalloc/stack/stack.h). */
#ifndef TLMALLOC_PLATFORM_REPLAY_ALLOCATORS_H
#define TLMALLOC_PLATFORM_REPLAY_ALLOCATORS_H

#include "tlmalloc/stack/stack.h"
#include "trace/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { ALLOCATOR_NAME_MAX = 64 };

typedef struct allocator_config {
    uint64_t capacity;     /* bytes */
    uint64_t alignment;    /* as tla_stack_config */
    tla_front_sizes sizes; /* likewise */
    /* A state for the placement to begin with (tla_arena_snapshot), whose range and alignment then hold instead; NULL:
     * all of it is free. */
    const char *snapshot;
    size_t snapshot_length;
    const char *segment_settings; /* of segment_cache (segment_cache.h); NULL: the defaults */
    const char *segment_version;  /* likewise; NULL: the newest */
} allocator_config;

typedef struct trace_allocator {
    char name[ALLOCATOR_NAME_MAX];
    tla_stack *stack;
    uint64_t lowest, highest; /* all granted ranges lie in [lowest, highest) */
} trace_allocator;

/* Makes the stack of this name. TLA_SYNTAX for a damaged snapshot, TLA_UNSUPPORTED for impossible sizes, else the
 * errors of the parts, with a text; nothing is made then. */
tla_status allocator_create(const char *name, const allocator_config *config, trace_allocator *out, tla_error *error);

/* Nothing to do for an allocator that was not made. */
void allocator_destroy(trace_allocator *allocator);

/* Returns the request to a stack for an allocation of a trace. */
tla_stack_request allocator_request(const trace_allocation *asked);

/* As tla_stack_alloc. TLA_EXHAUSTED, TLA_FRAGMENTED and TLA_LIMIT mean that the request failed for want of memory,
 * TLA_UNSUPPORTED that PyTorch would abort the program there. */
tla_status allocator_alloc(trace_allocator *allocator, const tla_stack_request *request, tla_block *granted,
                           tla_work *work);

/* As allocator_alloc for an allocation of a trace. One that compaction has placed goes to the same place, if that is
 * free and the stack has no front; otherwise the stack places it. */
tla_status allocator_take(trace_allocator *allocator, const trace_allocation *asked, tla_block *granted,
                          tla_work *work);

/* Why a request of nbytes has just failed, for a person. */
tla_status allocator_explain(const trace_allocator *allocator, uint64_t nbytes, tla_error *error);

/* Releases the range that a request of nbytes was granted at an offset. */
tla_status allocator_free(trace_allocator *allocator, uint64_t offset, uint64_t nbytes, tla_work *work);

/* Bytes of the range that was ever touched, or the most that a front held of it. */
uint64_t allocator_reserved(const trace_allocator *allocator);

#ifdef __cplusplus
}
#endif
#endif
