/* An address range and its free blocks.
 *
 * The reference policy is first fit by lowest offset with immediate coalescing, byte granular: the placements, the
 * failures and the node counts of ADR-0048 D1's list of (offset, size), sorted by offset and scanned from the front.
 * An arena holds no bytes: it says where they go. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_ARENA_H
#define TLMALLOC_ARENA_H

#include "tlmalloc/status.h"
#include "tlmalloc/work.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_arena tla_arena;

/* Which free block a request takes. */
typedef enum tla_policy {
    TLA_FIRST_FIT, /* the lowest block that is large enough, its front (ADR-0048 D1) */
    TLA_POLICY_COUNT
} tla_policy;

/* Name as in configuration files and on the command line, "first_fit"; NULL for a value that is none. */
const char *tla_policy_name(tla_policy policy);

typedef struct tla_arena_config {
    uint64_t base;     /* first offset */
    uint64_t capacity; /* bytes; base + capacity must not exceed 2^63 */
    tla_policy policy;
} tla_arena_config;

/* A range of an arena. */
typedef struct tla_block {
    uint64_t offset;
    uint64_t nbytes;
} tla_block;

typedef struct tla_arena_stats {
    uint64_t capacity;     /* bytes */
    uint64_t used;         /* bytes in live blocks */
    uint64_t peak_used;    /* the largest that `used` has been */
    uint64_t free;         /* capacity - used */
    uint64_t largest_free; /* bytes of the largest free block; 0 when nothing is free */
    uint64_t free_blocks;  /* number of free blocks */
} tla_arena_stats;

/* Makes an arena whose whole range is one free block (none when the capacity is 0).
 * TLA_INVALID_ARGUMENT for an unknown policy or a range past 2^63, TLA_NO_HOST_MEMORY; *arena is NULL then. */
tla_status tla_arena_create(const tla_arena_config *config, tla_arena **arena);

/* Gives back the arena's own memory; NULL is allowed. Live blocks are not an error here: see tla_arena_stats. */
void tla_arena_destroy(tla_arena *arena);

/* Takes nbytes (1 .. 2^63) from the block that the policy chooses. On success *block is what was taken, and work (may
 * be NULL) is added to. TLA_INVALID_ARGUMENT for 0 bytes (what ADR-0048's list does with them is an accident);
 * TLA_EXHAUSTED or TLA_FRAGMENTED when nothing fits, and then nothing is taken: never a part. A failed search also
 * costs: work is added to then too. May call the host's malloc when the list grows: TLA_NO_HOST_MEMORY. */
tla_status tla_arena_alloc(tla_arena *arena, uint64_t nbytes, tla_block *block, tla_work *work);

/* Gives a block back and joins it with free neighbours. The caller says offset and size (ADR-0048 D2 trusts them).
 * TLA_OUT_OF_RANGE when the range is not inside the arena, TLA_INVALID_ARGUMENT for 0 bytes, TLA_NOT_ALLOCATED when any
 * byte of it is free already (a double free): nothing is changed then. */
tla_status tla_arena_free(tla_arena *arena, tla_block block, tla_work *work);

tla_arena_stats tla_arena_get_stats(const tla_arena *arena);

/* External fragmentation in permille: 1000 * (1 - largest / free), rounded down; 0 when nothing is free. */
uint64_t tla_arena_fragmentation_permille(const tla_arena_stats *stats);

/* Copies up to max free blocks, in offset order, beginning with the first at or above `from`; returns how many. */
size_t tla_arena_free_blocks(const tla_arena *arena, uint64_t from, tla_block *blocks, size_t max);

/* Says why a request failed, for a person (ADR-0048 D6): requested, total free, largest free block, and so whether it
 * is fragmentation or exhaustion. `what` names the arena in the text ("HBM of sip0.cube0.pe3"). Returns the status. */
tla_status tla_arena_explain(const tla_arena *arena, const char *what, uint64_t nbytes, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
