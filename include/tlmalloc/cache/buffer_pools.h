/* Allocators over one buffer, those of LMCache: slots of one size, tensors beside byte strings, and an arena that is
 * committed in the background. */
#ifndef TLMALLOC_CACHE_BUFFER_POOLS_H
#define TLMALLOC_CACHE_BUFFER_POOLS_H

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Slots ---
 *
 * Slots of one size: LMCache's PagedTensorMemoryAllocator (seed 003).
 *
 * An allocation takes the slot at the head of a queue, and a release appends it at the tail. Slots therefore rotate
 * through the whole buffer; both operations are O(1). The model follows the generation of mid-2026 ("G4", PR #5007): a
 * lock, duplicate frees ignored, a failed batch changes nothing.
 *
 * The option `seed_era` selects the behaviour in the seed (2026-02). A second free puts the slot on the queue twice,
 * and two owners receive it later (issue #5005). That generation also popped the available slots for a batch that
 * failed, and appended them again. Such a batch has popped the whole queue, so only another thread in between could see
 * the rotation; calls here are not interrupted.
 *
 * Thread safe: one lock per pool, held during the whole call. */

typedef struct tla_slot_pool tla_slot_pool;

typedef struct tla_slot_pool_config {
    uint64_t base;          /* address of slot 0 */
    uint64_t nbytes;        /* bytes of the buffer: an exact multiple of slot_bytes; base + nbytes at most 2^63 */
    uint64_t slot_bytes;    /* bytes of a slot */
    bool report_duplicates; /* a duplicate free returns TLA_NOT_ALLOCATED instead of being ignored; not with seed_era */
    bool seed_era;          /* the behaviour of the seed's generation, see above */
} tla_slot_pool_config;

/* A slot in use. nbytes is the requested size; the next owner has the whole slot again. */
typedef struct tla_slot {
    uint64_t index;
    uint64_t address;
    uint64_t nbytes;
} tla_slot;

typedef struct tla_slot_pool_stats {
    uint64_t slots, slot_bytes;
    uint64_t free_slots; /* length of the queue; after duplicate frees in the seed era it may exceed `slots` */
    int64_t used_slots;  /* slots - free_slots; negative after duplicate frees, which LMCache's memcheck does not detect
                            either */
    uint64_t duplicate_frees; /* ignored, reported, or executed in the seed era */
} tla_slot_pool_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *pool is NULL then. */
tla_status tla_slot_pool_create(const tla_slot_pool_config *config, tla_slot_pool **pool);

/* Releases the pool's own memory; NULL is allowed. No other call may be running. */
void tla_slot_pool_destroy(tla_slot_pool *pool);

/* Allocates the slot at the head of the queue for nbytes (1 .. slot_bytes). Work: one slot, one list node, and the
 * lines of the queue and of the slot. TLA_INVALID_ARGUMENT for another size (LMCache does not check it, and hands out
 * the page). TLA_EXHAUSTED when no slot is free. After an error nothing has changed. */
tla_status tla_slot_pool_alloc(tla_slot_pool *pool, uint64_t nbytes, tla_slot *slot, tla_work *work);

/* Allocates `count` slots at once, or none: TLA_EXHAUSTED when fewer are free, and the queue is unchanged. 0 slots
 * return TLA_OK. */
tla_status tla_slot_pool_alloc_batch(tla_slot_pool *pool, uint64_t nbytes, size_t count, tla_slot *slots,
                                     tla_work *work);

/* Writes a readable explanation of a failed request for `count` slots of nbytes each. It has `what` (the pool's name in
 * the text), and the requested, free and total slots. Returns the status; the figures of *error (may be NULL) are bytes
 * of whole slots. */
tla_status tla_slot_pool_explain(tla_slot_pool *pool, const char *what, uint64_t nbytes, size_t count,
                                 tla_error *error);

/* Returns a slot to the tail of the queue. TLA_OUT_OF_RANGE for an index that the pool does not have. */
tla_status tla_slot_pool_free(tla_slot_pool *pool, uint64_t index, tla_work *work);

/* Returns slots in this order. Errors as tla_slot_pool_free; if any slot is rejected, none is returned. */
tla_status tla_slot_pool_free_batch(tla_slot_pool *pool, const tla_slot *slots, size_t count, tla_work *work);

tla_slot_pool_stats tla_slot_pool_get_stats(tla_slot_pool *pool);

/* --- Tensors and byte strings ---
 *
 * Tensors in one large buffer, byte strings in buffers of their own: LMCache's MixedMemoryAllocator, its default (seed
 * 003), with the TensorMemoryAllocator and BufferAllocator inside it.
 *
 * The format of an object decides. Key-value and other tensor formats are allocated from an arena (or, with paging,
 * from slots). BINARY_BUFFER is allocated by the host's malloc, or, in hardware without malloc, from a region of its
 * own. Any other format is an error. Thread safe: one lock, held during the whole call; with paging the slot pool's own
 * lock, as in LMCache. */

typedef struct tla_mixed_pool tla_mixed_pool;

/* LMCache's MemoryFormat. */
typedef enum tla_memory_format {
    TLA_FORMAT_UNDEFINED, /* no format: an error */
    TLA_FORMAT_KV_2LTD,
    TLA_FORMAT_KV_2TD,
    TLA_FORMAT_KV_T2D,
    TLA_FORMAT_KV_MLA,
    TLA_FORMAT_EC_TD,
    TLA_FORMAT_HS_TD,
    TLA_FORMAT_BINARY, /* also an error: only BINARY_BUFFER has an allocator */
    TLA_FORMAT_BINARY_BUFFER,
    TLA_FORMAT_COUNT
} tla_memory_format;

/* ALIGN_BYTES of LMCache. */
#define TLA_MIXED_POOL_ALIGNMENT UINT64_C(4096)

typedef struct tla_mixed_pool_config {
    uint64_t base, nbytes; /* the large buffer; base is a multiple of alignment, base + nbytes at most 2^63 */
    uint64_t alignment;    /* a power of two, not 0; also checked with paging, which does not use it (as in LMCache) */
    uint64_t slot_bytes;   /* not 0: paging with slots of this many bytes; nbytes is a multiple of it */
    tla_batch batch;       /* tensors without paging: contiguous in the seed's generation, carved since 2026-03 */
    tla_policy policy;     /* for tensors, and for the region of byte strings; LMCache's is first fit */
    /* Not 0: byte strings are blocks in a region of this many bytes after the large buffer, instead of the host's. The
     * region has the policy and buffer_alignment (a power of two that divides base + nbytes; 0: 1). Byte strings then
     * have an address. */
    uint64_t buffer_nbytes, buffer_alignment;
} tla_mixed_pool_config;

/* An object. All zero, as after a free, is no object. */
typedef struct tla_mixed_pool_block {
    tla_memory_format format;
    uint64_t address;  /* tensor: in the large buffer; byte string: in its region, else 0 */
    uint64_t nbytes;   /* as requested */
    uint64_t capacity; /* as allocated: rounded up to the alignment, or a slot */
    void *bytes;       /* byte string from the host: its memory, initially all zero; else NULL */
} tla_mixed_pool_block;

typedef struct tla_mixed_pool_stats {
    uint64_t tensors, buffers;  /* live objects */
    uint64_t tensor_bytes;      /* allocated in the large buffer */
    uint64_t buffer_bytes;      /* in buffers of their own, as requested */
    uint64_t free_tensor_bytes; /* free in the large buffer */
    uint64_t free_blocks;       /* free blocks, or free slots */
    uint64_t largest_free;      /* bytes of the largest free block or slot */
    tla_arena_stats region;     /* the region of byte strings; all zero where they are the host's */
} tla_mixed_pool_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *mixed is NULL then. */
tla_status tla_mixed_pool_create(const tla_mixed_pool_config *config, tla_mixed_pool **mixed);

/* Releases the large buffer's bookkeeping; NULL is allowed. TLA_LEAK when objects were live. Live byte strings keep
 * their memory, because their owners may still use it. No other call may be running. */
tla_status tla_mixed_pool_destroy(tla_mixed_pool *mixed);

/* Allocates n objects of nbytes each (at least 1), all or none. TLA_INVALID_ARGUMENT for another format or size;
 * TLA_EXHAUSTED or TLA_FRAGMENTED for tensors when nothing fits; TLA_NO_HOST_MEMORY. After an error nothing is
 * allocated. */
tla_status tla_mixed_pool_alloc(tla_mixed_pool *mixed, tla_memory_format format, uint64_t nbytes, size_t n,
                                tla_mixed_pool_block *blocks, tla_work *work);

/* Writes a readable explanation of a failed request for n objects of nbytes each. It has `what` (the allocator's name
 * in the text), the batch, and the free memory of the slots, the arena or the host. Returns the status. */
tla_status tla_mixed_pool_explain(tla_mixed_pool *mixed, const char *what, tla_memory_format format, uint64_t nbytes,
                                  size_t n, tla_error *error);

/* Releases n objects, all or none, and clears them; adjacent tensors are joined first. TLA_INVALID_ARGUMENT for an
 * unknown format, and for tensors and byte strings in one batch (LMCache wrongly uses the first object's format).
 * TLA_NOT_ALLOCATED for an object that was already released; TLA_NO_HOST_MEMORY. After an error nothing has changed. */
tla_status tla_mixed_pool_free(tla_mixed_pool *mixed, tla_mixed_pool_block *blocks, size_t n, tla_work *work);

/* Returns the object of nbytes that was allocated at an address, for callers that keep only these two. Its format is
 * the first of its kind, and its capacity is set. The call does not check whether it is live. For tensors, and for byte
 * strings with a region. */
tla_mixed_pool_block tla_mixed_pool_block_at(const tla_mixed_pool *mixed, uint64_t address, uint64_t nbytes);

/* LMCache's memcheck: TLA_OK when free and allocated bytes add up and no two free blocks are adjacent; else the result
 * of tla_arena_check. */
tla_status tla_mixed_pool_check(tla_mixed_pool *mixed, tla_error *error);

tla_mixed_pool_stats tla_mixed_pool_get_stats(tla_mixed_pool *mixed);

/* --- Committed in the background ---
 *
 * An arena whose memory is committed in the background of simulated time: LMCache's LazyMemoryAllocator.
 *
 * The first part exists at once. The rest is pinned chunk by chunk; whenever the chunks of one commit are pinned, they
 * enter the arena (sbrk). The same request can therefore fail early and succeed later. The caller's clock drives the
 * arena: every call passes the time. The model follows the generation that coalesces across commits. Not thread safe;
 * one owner at a time. */

typedef struct tla_lazy_arena tla_lazy_arena;

typedef struct tla_lazy_arena_config {
    uint64_t base;          /* address; a multiple of alignment */
    uint64_t initial_bytes; /* bytes that exist at once; rounded up to a multiple of chunk_bytes */
    uint64_t final_bytes;  /* bytes in the end; rounded up likewise; at least initial_bytes; 0: no memory at any time */
    uint64_t chunk_bytes;  /* bytes pinned in one step: 64 MiB in LMCache, 16 MiB before; a multiple of alignment */
    uint64_t commit_bytes; /* bytes that enter the arena in one step: 1 GiB in LMCache; a multiple of chunk_bytes */
    uint64_t chunk_ps;     /* time to pin a chunk, picoseconds; 0: all memory exists at once */
    uint64_t start_ps;     /* start of pinning */
    uint64_t alignment;    /* alignment of every block; a power of two, 0 = 1; LMCache: 4096 */
    tla_policy policy;
} tla_lazy_arena_config;

/* LMCache's pacer: a chunk is pinned once no DMA submission is in flight, but waits wait_ps at most (partition.h). */
typedef struct tla_lazy_pacer {
    uint64_t wait_ps; /* 0: no pacer */
    /* Returns tla_submissions_idle; all that has begun or ended before the time of the caller must be noted. */
    uint64_t (*idle)(void *context, uint64_t from_ps);
    void *context;
} tla_lazy_pacer;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *lazy is NULL then. */
tla_status tla_lazy_arena_create(const tla_lazy_arena_config *config, tla_lazy_arena **lazy);

/* NULL is allowed. */
void tla_lazy_arena_destroy(tla_lazy_arena *lazy);

/* Before the first other call: the pins of chunks are paced, if a chunk takes time. */
void tla_lazy_arena_pace(tla_lazy_arena *lazy, const tla_lazy_pacer *pacer);

/* With a pacer: decides about the pins that end until now_ps, up to the next commit. */
void tla_lazy_arena_pin(tla_lazy_arena *lazy, uint64_t now_ps);

/* Returns the time for which pins have waited, and when the last decided pin has ended or the next one may begin. */
uint64_t tla_lazy_arena_waited(const tla_lazy_arena *lazy, uint64_t *ready_ps);

/* Commits the chunks that are pinned at now_ps. An earlier time than before changes nothing: memory never shrinks.
 * TLA_NO_HOST_MEMORY: nothing has changed. */
tla_status tla_lazy_arena_advance(tla_lazy_arena *lazy, uint64_t now_ps, tla_work *work);

/* Finds the time of the next commit, which may already have passed and wait for tla_lazy_arena_advance. Returns false,
 * with *when_ps unchanged, after the last commit. With a pacer: after the last tla_lazy_arena_pin, the time if it is
 * not later than that call's, or else the earliest possible one. */
bool tla_lazy_arena_next_commit(const tla_lazy_arena *lazy, uint64_t *when_ps);

/* As tla_arena_alloc and tla_arena_free, after tla_lazy_arena_advance to now_ps. */
tla_status tla_lazy_arena_alloc(tla_lazy_arena *lazy, uint64_t now_ps, uint64_t nbytes, tla_block *block,
                                tla_work *work);
tla_status tla_lazy_arena_alloc_batch(tla_lazy_arena *lazy, uint64_t now_ps, uint64_t nbytes, size_t n, tla_batch kind,
                                      tla_block *blocks, tla_work *work);
tla_status tla_lazy_arena_free(tla_lazy_arena *lazy, uint64_t now_ps, tla_block block, tla_work *work);

/* As tla_arena_granted. */
uint64_t tla_lazy_arena_granted(const tla_lazy_arena *lazy, uint64_t nbytes);

/* As tla_arena_explain; the text also has the committed bytes and the time of the next commit, for which the caller may
 * wait. */
tla_status tla_lazy_arena_explain(const tla_lazy_arena *lazy, const char *what, uint64_t nbytes, tla_error *error);

/* Statistics of the arena; capacity is the committed bytes. */
tla_arena_stats tla_lazy_arena_get_stats(const tla_lazy_arena *lazy);

#ifdef __cplusplus
}
#endif
#endif
