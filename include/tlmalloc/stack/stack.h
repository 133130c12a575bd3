/* The allocator of one memory: a placement alone, or a front over a placement.
 *
 * A stack is named FRONT, PLACEMENT or FRONT/PLACEMENT. The placement is an arena (arena.h) over the whole range. A
 * front serves requests before the arena, and keeps blocks for the next request of their kind. When it has no suitable
 * block, it allocates more from the arena, as the modelled systems allocate from their driver. The fronts are the pools
 * of this directory, with their rules:
 *
 * caching_pool   size classes, one list each, nothing merged (driver_pools.h, xtrain)
 * segment_cache  segments, split and joined (segment_cache.h, PyTorch)
 * growing_pool   blocks of an upstream, best fit in them (driver_pools.h, rmm)
 * slot_pool      slots of one size; works alone, without a placement (buffer_pools.h, LMCache)
 * mixed          by format: tensors in one region, plain buffers in a second one (buffer_pools.h, LMCache)
 * lazy           the placement, in a range that is committed in the background of time (buffer_pools.h, LMCache)
 * segmented      first fit in segments, which no block crosses and which appear in the background of time; works alone
 *                (segmented_memory.h, LMCache)
 * linear_regions, interleaving_regions
 *                the placement in each of several regions, asked in the order of a policy (regions.h, LMCache)
 *
 * A memory controller uses one stack for each of its memories (pe_memory.h), and `tlmalloc replay` replays traces on
 * one stack. Both use the same names: model/stack/stack_policy.c has the one list. Not thread safe; one owner at a
 * time. */
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
    TLA_FRONT_SEGMENTED,
    TLA_FRONT_LINEAR_REGIONS,
    TLA_FRONT_INTERLEAVING_REGIONS,
    TLA_FRONT_COUNT
} tla_front;

/* A front and the placement under it as one number. A placement (tla_policy) alone is also a stack policy. */
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

/* Returns whether a front keeps lists of its own, with no list below it. */
bool tla_front_has_own_lists(tla_front front);

/* Returns whether the memory of a front can grow (tla_stack_next_growth). */
bool tla_front_grows(tla_front front);

/* Returns whether the number consists of an existing front and an existing placement. */
bool tla_stack_policy_exists(tla_stack_policy policy);

/* Returns the i-th valid single-word name, in the order of tables: the placements first, then the fronts (over first
 * fit). NULL past the last. */
const char *tla_stack_name(uint64_t index);

/* Writes "best_fit", "caching_pool" (over first fit), "caching_pool/best_fit"; terminated and cut to room. Returns the
 * length of the whole text, as snprintf does. Writes "?" for an invalid number. */
size_t tla_stack_policy_print(tla_stack_policy policy, char *text, size_t room);

/* Writes a readable sentence that lists all valid names of a stack. Terminated and cut to room. */
void tla_stack_policy_expected(char *text, size_t room);

/* Parses the name of a stack. TLA_SYNTAX with the found and the expected text; *policy is unchanged then. */
tla_status tla_stack_policy_parse(const char *text, tla_stack_policy *policy, tla_error *error);

/* The size and time settings of fronts. Each setting affects only stacks with its front. */
typedef struct tla_front_sizes {
    uint64_t segment;  /* segment_cache: bytes of a segment for requests from 1/20 up to 1/2 of it. Smaller requests
                          share segments of 1/10 of it. A larger request has its own segment, a multiple of 1/10 of it.
                          The value is a multiple of 10 KiB; 0: 20 MiB, as in PyTorch. segmented and regions: bytes of
                          a segment or region, a multiple of the alignment. The initial bytes and the others are each
                          cut into such pieces and a rest, at most 4,096 */
    uint64_t slot;     /* slot_pool: bytes of a slot; the capacity is a multiple of it, of at most 2^24 slots */
    uint64_t buffers;  /* mixed: bytes at the end of the range, reserved for plain buffers; less than the range */
    uint64_t initial;  /* lazy: bytes committed from the beginning; at most the range. The range, initial and commit are
                          then multiples of chunk. segmented: bytes of the segments from the beginning, at least 1.
                          regions: a border. Both round it up to the alignment, and cut it to the range */
    uint64_t chunk;    /* lazy: bytes pinned in one step; a multiple of the alignment */
    uint64_t commit;   /* lazy: bytes added to the range in one step; the last step may add fewer */
    uint64_t chunk_ps; /* lazy: time to pin a chunk, starting at time 0. segmented: time of an attempt to add a segment.
                          0: the whole range exists from the beginning; lazy ignores the three settings above then,
                          segmented ignores initial */
    uint64_t failures; /* segmented: attempts that fail before each segment appears; from 3 on growth ends */
} tla_front_sizes;

typedef struct tla_stack_config {
    uint64_t base, capacity; /* as in tla_arena_config; base 0 with slot_pool, mixed, segmented and regions */
    tla_stack_policy policy;
    uint64_t alignment; /* as in tla_arena_config; a front also rounds requests up to it first */
    bool validate;      /* frees are checked, and errors name the owner: tla_stack_last_error */
    tla_front_sizes sizes;
    tla_segment_cache_config segments; /* PyTorch's settings. The stack sets driver, device, ranges and unit */
} tla_stack_config;

typedef struct tla_stack_request {
    uint64_t nbytes;
    uint64_t stream;          /* used by segment_cache */
    tla_memory_format format; /* used by mixed; TLA_FORMAT_UNDEFINED: the default tensor */
} tla_stack_request;

typedef struct tla_stack_stats {
    tla_arena_stats memory; /* capacity: for lazy and segmented the bytes that are there; used: in live blocks, as
                               granted; free: capacity - used, including the front's kept bytes; largest_free,
                               free_blocks: of the list below the front (slot pool: of its slots) */
    uint64_t held; /* bytes of `free` that the front has allocated from the list below it and keeps, including rounding
                      (buddies, the alignment) */
    uint64_t peak_reserved; /* maximum number of bytes that the front had allocated from the list at one time; without a
                               front, or with slots or mixed: memory.peak_used */
} tla_stack_stats;

typedef struct tla_stack tla_stack;

/* Checks a configuration. Returns TLA_OK, or TLA_INVALID_ARGUMENT with an error that has the found and the expected
 * value. */
tla_status tla_stack_check_config(const tla_stack_config *config, tla_error *error);

/* Creates a stack whose whole range is free. Errors are those of tla_stack_check_config and of the components, with a
 * text in *error (may be NULL); *stack is NULL then. */
tla_status tla_stack_create(const tla_stack_config *config, tla_stack **stack, tla_error *error);

/* Releases the stack's own memory; NULL is allowed. Live blocks are not an error here. */
void tla_stack_destroy(tla_stack *stack);

/* Returns the current configuration: alignment and sizes.segment are never 0. */
const tla_stack_config *tla_stack_get_config(const tla_stack *stack);

/* Finds the time of the next growth of the range, or of the end of an attempt that fails. It may already have passed
 * and wait for tla_stack_advance. Returns false, with *when_ps unchanged, when the range does not grow any more: after
 * the last commit of lazy, the last segment or the last attempt of segmented, and with every other front. */
bool tla_stack_next_growth(const tla_stack *stack, uint64_t *when_ps);

/* As tla_lazy_arena_pace and tla_lazy_arena_waited for lazy; nothing, and 0, with other fronts. The time that is found
 * by tla_stack_next_growth is then only valid until the time of the last tla_stack_pin. */
void tla_stack_pace(tla_stack *stack, const tla_lazy_pacer *pacer);
void tla_stack_pin(tla_stack *stack, uint64_t now_ps);
uint64_t tla_stack_pin_waited(const tla_stack *stack, uint64_t *ready_ps);

/* Commits the chunks that are pinned by now_ps, and makes the attempts that end by then. An earlier time than before
 * changes nothing: memory never shrinks. TLA_NO_HOST_MEMORY: nothing has changed. */
tla_status tla_stack_advance(tla_stack *stack, uint64_t now_ps, tla_work *work);

/* Allocates a block; *granted is the allocated range, at least the requested bytes. Errors:
 *
 * - TLA_INVALID_ARGUMENT for 0 bytes and for a format that no front accepts.
 * - TLA_EXHAUSTED, TLA_FRAGMENTED and TLA_LIMIT when the request does not fit. A request larger than every slot returns
 *   one of the first two.
 * - TLA_OUT_OF_RANGE for a request that is larger than every segment that segmented will ever have.
 * - With a front over a placement TLA_FRAGMENTED means that enough bytes are free, including the front's kept bytes. No
 *   trim joins them into one block.
 * - Otherwise the front's own error.
 *
 * After an error nothing is allocated, but a front may have released blocks that it kept. */
tla_status tla_stack_alloc(tla_stack *stack, const tla_stack_request *request, tla_block *granted, tla_work *work);

/* Allocates a block that another allocator has placed. TLA_UNSUPPORTED with a front; else as tla_arena_reserve. */
tla_status tla_stack_reserve(tla_stack *stack, tla_block block, tla_work *work);

/* Returns the granted bytes of the live block of block.nbytes bytes at block.offset: the bytes that a free of it
 * releases. */
uint64_t tla_stack_granted(const tla_stack *stack, tla_block block);

/* Releases a block, given by its offset and its requested size; without a front also by its granted size.
 * TLA_NOT_ALLOCATED when it is not live, TLA_SIZE_MISMATCH when it has another size; else as tla_arena_free. After an
 * error nothing has changed. */
tla_status tla_stack_free(tla_stack *stack, tla_block block, tla_work *work);

/* Allocates n blocks, each as tla_stack_alloc does, all or none. Without a front as tla_arena_alloc_batch. A front
 * allocates block by block, and carved batches only (else TLA_UNSUPPORTED). If one block fails, the earlier blocks are
 * released; the front may keep their bytes. TLA_INVALID_ARGUMENT for 0 bytes and for a format that no front accepts. */
tla_status tla_stack_alloc_batch(tla_stack *stack, const tla_stack_request *request, size_t n, tla_batch batch,
                                 tla_block *blocks, tla_work *work);

/* Releases n blocks, sorted in place by offset, all or none. Without a front as tla_arena_free_batch. A front releases
 * block by block. If the host then lacks memory, *freed blocks from the front of the array may already be free. */
tla_status tla_stack_free_batch(tla_stack *stack, tla_block *blocks, size_t n, size_t *freed, tla_work *work);

/* Releases the front's free blocks to the list below it; of segments and upstream blocks only those that are wholly
 * free. The number of released bytes is written to *given_back (may be NULL). Has no effect without a front, with slots
 * and with mixed. TLA_NO_HOST_MEMORY: the front may have released some blocks; the next call continues. */
tla_status tla_stack_trim(tla_stack *stack, uint64_t *given_back, tla_work *work);

/* Returns the bytes that tla_stack_trim would release, if a request that has just failed would succeed after it.
 * Returns 0 if the request would still fail, or if the host has no memory to find out. Changes nothing. */
uint64_t tla_stack_trim_serves(const tla_stack *stack, const tla_stack_request *request);

/* Returns the minimum number of bytes of the range that a request occupies. With a front that is its size class, its
 * segment, or the request rounded up to the alignment. UINT64_MAX for a request that no front serves. */
uint64_t tla_stack_takes(const tla_stack *stack, const tla_stack_request *request);

tla_stack_stats tla_stack_get_stats(const tla_stack *stack);

/* Writes a readable explanation of a request that has just failed, as tla_arena_explain does; `what` names the stack in
 * the text. */
tla_status tla_stack_explain(const tla_stack *stack, const char *what, const tla_stack_request *request,
                             tla_error *error);

/* The text of the last free that validation rejected; status is TLA_OK when validation has rejected none. */
const tla_error *tla_stack_last_error(const tla_stack *stack);

/* Sets the owner of the following calls. With validation the stack keeps it with each block. */
void tla_stack_set_owner(tla_stack *stack, tla_owner owner);

/* Returns the arena of live blocks with their requested sizes, rounded up to the alignment. A guard (guard.h) and
 * tla_arena_find use it. NULL without validation. */
const tla_arena *tla_stack_live(const tla_stack *stack);

/* Returns the list below the front, or the only list; NULL for fronts with lists of their own. The list's blocks are
 * those that the front has allocated. */
tla_arena *tla_stack_arena(tla_stack *stack);

/* Restores the list below an unused front, or the placement alone, from a snapshot (arena.h). Below a front, the blocks
 * of the snapshot stay used forever. TLA_UNSUPPORTED for fronts with lists of their own, TLA_BUSY when the front has
 * blocks; else as tla_arena_restore. After an error nothing has changed, except after TLA_NO_HOST_MEMORY with a front
 * and validation. */
tla_status tla_stack_restore(tla_stack *stack, const char *text, size_t length, tla_error *error);

/* --- Watching ---
 *
 * An observer of the requests of a stack, at the time they are decided: for recordings. */

/* A request that the stack has decided. */
typedef struct tla_stack_deed {
    bool is_free;
    bool is_reserve;           /* an alloc at an address that its caller has named */
    tla_status status;         /* status of an alloc; frees are reported only if they succeeded */
    tla_stack_request request; /* request of an alloc, unchanged */
    tla_block block;           /* a free: the requested range; an alloc: the granted range, or empty */
    tla_owner owner;           /* the owner of the call */
} tla_stack_deed;

typedef void (*tla_stack_watch)(void *context, const tla_stack_deed *deed);

/* Registers `watch`. The stack calls it at the end of every alloc, of every successful reserve (as an alloc), and of
 * every successful free. It must not call the stack. A stack has one watch; NULL removes it. The stack does not report
 * requests that it rejects without a search (0 bytes, no format). */
void tla_stack_set_watch(tla_stack *stack, tla_stack_watch watch, void *context);

#ifdef __cplusplus
}
#endif
#endif
