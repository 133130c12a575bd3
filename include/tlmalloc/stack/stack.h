/* What serves one memory: a placement alone, or a front over a placement.
 *
 * A stack is named FRONT, PLACEMENT or FRONT/PLACEMENT. The placement is an arena (arena.h) over the whole range. A
 * front stands before it and keeps blocks for the next request of their kind; it asks the arena for more when it has
 * none, as the systems that are modelled ask their driver. The fronts are the pools of this directory, by their rules:
 *
 *     caching_pool   size classes, one list each, nothing merged (driver_pools.h, xtrain)
 *     segment_cache  segments, split and joined (segment_cache.h, PyTorch)
 *     growing_pool   blocks of an upstream, best fit in them (driver_pools.h, rmm)
 *     slot_pool      slots of one size; stands alone, without a placement (buffer_pools.h, LMCache)
 *     mixed          by format: tensors in one region, plain buffers in a second one (buffer_pools.h, LMCache)
 *     lazy           the placement, in a range that is committed in the background of time (buffer_pools.h, LMCache)
 *
 * A memory controller serves each of its memories by a stack (pe_memory.h), `tlmalloc replay` plays traces on one, and
 * both name it alike: model/stack/stack_policy.c has the one list. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_STACK_STACK_H
#define TLMALLOC_STACK_STACK_H

#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/segments/segment_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_front {
    TLA_FRONT_NONE, /* the placement itself */
    TLA_FRONT_CACHING_POOL,
    TLA_FRONT_SEGMENT_CACHE,
    TLA_FRONT_GROWING_POOL,
    TLA_FRONT_SLOT_POOL,
    TLA_FRONT_MIXED,
    TLA_FRONT_LAZY,
    TLA_FRONT_COUNT
} tla_front;

/* A front and the placement under it as one number, so that a placement (tla_policy) is a stack of its own. */
typedef uint32_t tla_stack_policy;

static inline tla_stack_policy tla_stack_policy_of(tla_front front, tla_policy under) {
    return (uint32_t)front << 8 | (uint32_t)under;
}
static inline tla_front tla_stack_front(tla_stack_policy policy) {
    return (tla_front)(policy >> 8);
}
static inline tla_policy tla_stack_placement(tla_stack_policy policy) {
    return (tla_policy)(policy & 0xff);
}

/* Whether the number is a front and a placement that there are. */
bool tla_stack_policy_exists(tla_stack_policy policy);

/* What can be written alone, in the order of tables: the placements, then the fronts, which stand over first fit then.
 * NULL past the last. */
const char *tla_stack_name(uint64_t index);

/* Writes "best_fit", "caching_pool" (over first fit), "caching_pool/best_fit"; terminated and cut to room. Returns the
 * length of the whole, as snprintf does. "?" for a number that is none. */
size_t tla_stack_policy_print(tla_stack_policy policy, char *text, size_t room);

/* What a name of a stack looks like, for a person: all names in a sentence. Terminated and cut to room. */
void tla_stack_policy_expected(char *text, size_t room);

/* The stack of a name. TLA_SYNTAX with what was found and what was expected; *policy is untouched then. */
tla_status tla_stack_policy_parse(const char *text, tla_stack_policy *policy, tla_error *error);

/* Sizes that fronts have, and a time; each is looked at where its front stands. */
typedef struct tla_front_sizes {
    uint64_t segment;  /* segment_cache: bytes of a segment for requests from 1/20 up to 1/2 of it; smaller ones are
                          served from segments of 1/10 of it, larger ones from one of their own, a multiple of 1/10 of
                          it. A multiple of 10 KiB; 0: 20 MiB, as PyTorch's */
    uint64_t slot;     /* slot_pool: bytes of a slot, of which the capacity is a multiple, at most 2^24 */
    uint64_t buffers;  /* mixed: bytes at the end of the range that are for plain buffers alone; less than the range */
    uint64_t initial;  /* lazy: bytes that are there from the beginning; at most the range, which is a multiple of chunk
                          then, as are initial and commit */
    uint64_t chunk;    /* lazy: bytes that are pinned in one go; a multiple of the alignment */
    uint64_t commit;   /* lazy: bytes that enter the range in one go; the last ones may be fewer */
    uint64_t chunk_ps; /* lazy: time to pin a chunk, from time 0 on; 0: the whole range is there from the beginning, and
                          the other three are not looked at */
} tla_front_sizes;

typedef struct tla_stack_config {
    uint64_t base, capacity; /* as tla_arena_config; base 0 with slot_pool and mixed */
    tla_stack_policy policy;
    uint64_t alignment; /* as tla_arena_config; with a front, too: requests are rounded up to it first */
    bool validate;      /* frees are checked and an error names the owner: tla_stack_last_error */
    tla_front_sizes sizes;
    tla_segment_cache_config segments; /* of segment_cache: PyTorch's settings. Driver, device, ranges and unit are the
                                          stack's */
} tla_stack_config;

typedef struct tla_stack_request {
    uint64_t nbytes;
    uint64_t stream;          /* looked at by segment_cache */
    tla_memory_format format; /* looked at by mixed; TLA_FORMAT_UNDEFINED: the default tensor */
} tla_stack_request;

typedef struct tla_stack_stats {
    tla_arena_stats memory; /* capacity: of lazy what is committed; used: in live blocks, as granted; free: capacity -
                               used, so with what the front keeps; largest_free, free_blocks: of the list below the
                               front (a slot pool's: of its slots) */
    uint64_t held;          /* bytes of `free` that the front keeps from the list below it, with what that rounded up
                               (buddies, the alignment) */
    uint64_t peak_reserved; /* the most that the front had asked of the list at once; without a front, or with slots or
                               mixed: memory.peak_used */
} tla_stack_stats;

typedef struct tla_stack tla_stack;

/* Whether a stack can be made of this: TLA_OK, or TLA_INVALID_ARGUMENT with an error that says what was found and what
 * was expected. */
tla_status tla_stack_check_config(const tla_stack_config *config, tla_error *error);

/* Makes a stack whose whole range is free. Errors as tla_stack_check_config and those of the parts, *error (may be
 * NULL) told; *stack is NULL then. */
tla_status tla_stack_create(const tla_stack_config *config, tla_stack **stack, tla_error *error);

/* Gives back the stack's own memory; NULL is allowed. Live blocks are no error here. */
void tla_stack_destroy(tla_stack *stack);

/* As it is now: alignment and sizes.segment are never 0. */
const tla_stack_config *tla_stack_get_config(const tla_stack *stack);

/* When more of the range comes, or came and waits for tla_stack_advance; false, and *when_ps untouched, where none
 * will: after the last commit of lazy, and with every other front. */
bool tla_stack_next_growth(const tla_stack *stack, uint64_t *when_ps);

/* Lets in what is pinned by now_ps. A time before an earlier one changes nothing: memory never goes away.
 * TLA_NO_HOST_MEMORY: nothing is changed. */
tla_status tla_stack_advance(tla_stack *stack, uint64_t now_ps, tla_work *work);

/* Takes a block; *granted is what was taken, at least the bytes that were asked for. TLA_INVALID_ARGUMENT for 0 bytes
 * and for a format that no front takes; TLA_EXHAUSTED, TLA_FRAGMENTED and TLA_LIMIT when the request does not fit (a
 * request that no slot holds is one of the first two; with a front over a placement TLA_FRAGMENTED says that enough is
 * free with what the front holds, and that no trim makes one piece of it); else what the front says. Nothing is taken
 * then, though a front may have given back what it kept. */
tla_status tla_stack_alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work);

/* Takes a block that somebody else has placed. TLA_UNSUPPORTED with a front; else as tla_arena_reserve. */
tla_status tla_stack_reserve(tla_stack *stack, tla_block block, tla_work *work);

/* Bytes that were granted for the block of block.nbytes bytes at block.offset, when that is live: what a free of it
 * gives back. */
uint64_t tla_stack_granted(const tla_stack *stack, tla_block block);

/* Gives back a block: where it is and what was asked for, or without a front also what was granted. TLA_NOT_ALLOCATED
 * when it is not live, TLA_SIZE_MISMATCH when it has another size; else as tla_arena_free. Nothing is changed then. */
tla_status tla_stack_free(tla_stack *stack, tla_block block, tla_work *work);

/* n blocks, each as tla_stack_alloc takes one, all or none: without a front as tla_arena_alloc_batch; with one block by
 * block, carved only (else TLA_UNSUPPORTED), and when one is refused those before it go back, whose bytes the front may
 * keep. TLA_INVALID_ARGUMENT for 0 bytes and for a format that no front takes. */
tla_status tla_stack_alloc_batch(tla_stack *stack, const tla_stack_request *request, size_t n, tla_batch batch,
                                 tla_block *blocks, tla_work *work);

/* n blocks back, sorted in place by offset, all or none: without a front as tla_arena_free_batch; with one block by
 * block, so that a host without memory may leave *freed of them free, from the front of the array. */
tla_status tla_stack_free_batch(tla_stack *stack, tla_block *blocks, size_t n, size_t *freed, tla_work *work);

/* Gives what the front keeps free back to the list below it: of segments and upstream blocks those that are wholly
 * free. *given_back (may be NULL) is how many bytes. Nothing to do without a front, for slots and for mixed.
 * TLA_NO_HOST_MEMORY: a part may have been done, which the next call goes on with. */
tla_status tla_stack_trim(tla_stack *stack, uint64_t *given_back, tla_work *work);

/* Bytes that tla_stack_trim would give back, where a request that has just failed is served after it; 0 where it is
 * not, and where the host has no memory to find out. Nothing is changed. */
uint64_t tla_stack_trim_serves(const tla_stack *stack, const tla_stack_request *request);

/* Bytes of the range that a request takes at least: with a front its size class, its segment, or the request rounded up
 * to the alignment. UINT64_MAX for a request that no front serves. */
uint64_t tla_stack_takes(const tla_stack *stack, const tla_stack_request *request);

tla_stack_stats tla_stack_get_stats(const tla_stack *stack);

/* Says why a request has just failed, for a person, as tla_arena_explain does; `what` names the stack in the text. */
tla_status tla_stack_explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                             tla_error *error);

/* The text of the last free that validation refused; status is TLA_OK when there was none. */
const tla_error *tla_stack_last_error(const tla_stack *stack);

/* Who the following calls are made for; kept with each block, with validation. */
void tla_stack_set_owner(tla_stack *stack, tla_owner owner);

/* The arena that knows the live blocks as their owners asked for them, rounded up to the alignment: what a guard
 * (guard.h) and tla_arena_find look at. NULL without validation. */
const tla_arena *tla_stack_live(const tla_stack *stack);

/* The list below the front, or all there is; NULL for slot_pool, mixed and lazy. Its own blocks are what the front
 * took. */
tla_arena *tla_stack_arena(tla_stack *stack);

/* Puts the list below an untouched front, or the placement alone, into a recorded state (arena.h); what lived
 * in it stays used for ever below a front. TLA_UNSUPPORTED for slot_pool, mixed and lazy, TLA_BUSY when the front has
 * blocks; else as tla_arena_restore. Nothing is changed then, but after TLA_NO_HOST_MEMORY with a front and validation.
 */
tla_status tla_stack_restore(tla_stack *stack, const char *text, size_t length, tla_error *error);

/* --- Watching ---
 *
 * Who wants to know what a stack is asked for, as it happens: for recordings. */

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
