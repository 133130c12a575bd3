/* The members of an arena. Internal to model/arena. */
#ifndef TLMALLOC_ARENA_STATE_H
#define TLMALLOC_ARENA_STATE_H

#include "live_blocks.h"
#include "placement.h"

typedef struct tla_driven tla_driven;

struct tla_arena {
    tla_arena_config config; /* alignment never 0 */
    const tla_placement *placement;
    void *state;        /* the placement's */
    uint64_t nodes;     /* of a placement with nodes for all regions, as it was given them; 0: as many as needed */
    tla_driven *driven; /* what stands behind it (driven.h), or NULL: then it is the placement, and the state */
    uint64_t used, peak_used;
    tla_live_blocks *live; /* NULL without validation */
    tla_owner owner;       /* of the next calls */
    tla_error last_error;
};

/* The placement of a policy, NULL when it is none. */
const tla_placement *tla_placement_of(tla_policy policy);

/* As tla_arena_create, with this placement in the place of the policy's. */
tla_status tla_arena_create_with(const tla_placement *placement, const tla_arena_config *config, tla_arena **arena);

/* TLA_INVALID_ARGUMENT for a configuration that no arena can have. */
tla_status tla_arena_check_config(const tla_arena_config *config);

/* Whether a size is in the range that requests have, 1 .. 2^63. */
bool tla_arena_takes_size(uint64_t nbytes);

/* Whether a range of more than 0 bytes lies inside the arena. */
static inline bool tla_arena_contains(const tla_arena *arena, tla_block range) {
    const tla_arena_config *c = &arena->config;
    return range.nbytes > 0 && range.nbytes <= c->capacity && range.offset >= c->base &&
           range.offset - c->base <= c->capacity - range.nbytes;
}

/* Notes nbytes more in use. */
void tla_arena_count_used(tla_arena *arena, uint64_t nbytes);

/* Returns why no block serves a request of nbytes, as the caller stated it: too little is free, or the free bytes are
 * fragmented. */
tla_status tla_arena_no_fit(const tla_arena *arena, uint64_t nbytes);

/* Checks a free except for the checks of the placement itself: the granted range, inside the arena and, with
 * validation, a live block. Fills last_error. */
tla_status tla_arena_may_free(tla_arena *arena, tla_block block, tla_block *range);

/* The part of it that validation does. O(log n). */
tla_status tla_arena_check_owner(tla_arena *arena, tla_block range);

/* Whether a request of nbytes as granted fails because the placement has no node for its rest. */
bool tla_arena_lacks_node(const tla_arena *arena, uint64_t granted);

/* Refusals: fill last_error, return its status. */
tla_status tla_arena_refuse_size(tla_arena *arena, uint64_t nbytes);
tla_status tla_arena_refuse_double(tla_arena *arena, tla_block range);
tla_status tla_arena_refuse_node(tla_arena *arena, const char *what, uint64_t nbytes);

#endif
