/* What a trace can be replayed on without SystemC: an arena under any of its policies, or a cache over an arena. */
#ifndef TLMALLOC_PLATFORM_CLI_ALLOCATORS_H
#define TLMALLOC_PLATFORM_CLI_ALLOCATORS_H

#include "tlmalloc/allocators/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct allocator_config {
    uint64_t capacity;  /* bytes of the arena */
    uint64_t alignment; /* of the arena */
    /* A state for the arena to begin with (tla_arena_snapshot), whose range and alignment then hold instead; NULL: all
     * of it is free. */
    const char *snapshot;
    size_t snapshot_length;
    const char *segment_settings; /* of segment_cache (segment_settings.h); NULL: the defaults */
    const char *segment_version;  /* likewise; NULL: the newest */
} allocator_config;

typedef struct trace_allocator {
    const char *name;
    void *state;
    tla_arena *arena; /* the arena itself, or the one below */
    /* As tla_arena_alloc. TLA_EXHAUSTED, TLA_FRAGMENTED and TLA_LIMIT mean that the request failed for want of memory,
     * TLA_UNSUPPORTED that PyTorch would abort the program there.
     * The stream is used by segment_cache alone. */
    tla_status (*alloc)(void *state, uint64_t stream, uint64_t nbytes, tla_block *granted, tla_work *work);
    /* Why a request of nbytes has just failed, for a person. */
    tla_status (*explain)(void *state, uint64_t nbytes, tla_error *error);
    /* Gives back what a request of nbytes was granted. */
    tla_status (*free)(void *state, tla_block granted, uint64_t nbytes, tla_work *work);
    /* Bytes of the range that was ever touched, or the most that a cache held from its driver. */
    uint64_t (*reserved)(void *state);
    void (*destroy)(void *state);
} trace_allocator;

/* Names in the order of tables: the policies of arena.h, then "caching_pool", "segment_cache", "growing_pool". NULL
 * past the last. */
const char *allocator_name(uint64_t index);

/* Whether an allocator of this name exists. */
bool allocator_exists(const char *name);

/* Makes one. TLA_SYNTAX for a damaged snapshot, else what the parts say, with a text; nothing is made then. */
tla_status allocator_create(const char *name, const allocator_config *config, trace_allocator *out, tla_error *error);

/* Nothing to do for an allocator that was not made. */
void allocator_destroy(trace_allocator *allocator);

#ifdef __cplusplus
}
#endif
#endif
