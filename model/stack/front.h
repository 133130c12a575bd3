/* The interface of a front of a stack; one file for each, front_NAME.c. Internal to model/stack. */
#ifndef TLMALLOC_STACK_FRONT_H
#define TLMALLOC_STACK_FRONT_H

#include "tlmalloc/stack/stack.h"

typedef struct tla_front_kind {
    const char *name; /* NULL: the placement itself */
    bool over_placement;
    bool has_own_ranges; /* no arena of the stack's is under it */
    /* Checks the configuration for this front; NULL: no check. */
    tla_status (*check)(const tla_stack_config *config, tla_error *error);
    /* Makes stack->state; *error may stay unchanged. NULL: the front has no state. */
    tla_status (*make)(tla_stack *stack, tla_error *error);
    void (*destroy)(tla_stack *stack);
    /* nbytes of the request are rounded up to the alignment. */
    tla_status (*alloc)(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work);
    uint64_t (*granted)(const tla_stack *stack, tla_block block);
    tla_status (*free)(tla_stack *stack, tla_block block, tla_work *work);
    tla_status (*trim)(tla_stack *stack, tla_work *work); /* NULL: nothing to do */
    /* tla_stack_trim_serves; NULL: a trim never helps. */
    uint64_t (*trim_serves)(const tla_stack *stack, const tla_stack_request *request);
    /* tla_stack_takes; NULL: the requested bytes. */
    uint64_t (*takes)(const tla_stack *stack, const tla_stack_request *request);
    /* tla_stack_next_growth and tla_stack_advance; NULL: its range does not grow. */
    bool (*next_growth)(const tla_stack *stack, uint64_t *when_ps);
    tla_status (*advance)(tla_stack *stack, uint64_t now_ps, tla_work *work);
    /* tla_stack_pace, tla_stack_pin and tla_stack_pin_waited; NULL: its range does not grow by pins. */
    void (*pace)(tla_stack *stack, const tla_lazy_pacer *pacer);
    void (*pin)(tla_stack *stack, uint64_t now_ps);
    uint64_t (*pin_waited)(const tla_stack *stack, uint64_t *ready_ps);
    tla_status (*explain)(const tla_stack *stack, const char *what, const tla_stack_request *request, tla_error *error);
    tla_stack_stats (*stats)(const tla_stack *stack);
} tla_front_kind;

extern const tla_front_kind tla_front_none, tla_front_caching_pool, tla_front_segment_cache, tla_front_growing_pool,
    tla_front_slot_pool, tla_front_mixed, tla_front_lazy, tla_front_segmented, tla_front_linear_regions,
    tla_front_interleaving_regions;

/* Returns NULL for an unknown front. */
const tla_front_kind *tla_front_kind_of(tla_front front);

struct tla_stack {
    tla_stack_config config;
    const tla_front_kind *front;
    tla_arena *arena;      /* NULL where no placement is under the front, or it has its own */
    tla_arena_set set;     /* of it alone: the front's only device */
    tla_arena *live;       /* of blocks as they were asked for, with a front and validation */
    void *state;           /* the front's */
    tla_owner owner;       /* who the calls are made for */
    tla_stack_watch watch; /* or NULL */
    void *watch_context;
    uint64_t used, peak_used; /* bytes granted, of a front */
    uint64_t restored;        /* bytes of the arena that a snapshot left in use */
};

/* The statistics of a front that has had at most `peak_reserved` bytes from the arena, as it counts them. */
tla_stack_stats tla_front_stats_over_arena(const tla_stack *stack, uint64_t peak_reserved);

/* Report a decided alloc, and a successful free, to the watch (stack.h). */
void tla_stack_tell_alloc(const tla_stack *stack, const tla_stack_request *request, tla_status status,
                          const tla_block *granted);
void tla_stack_tell_reserve(const tla_stack *stack, tla_block block);
void tla_stack_tell_free(const tla_stack *stack, tla_block block);

#endif
