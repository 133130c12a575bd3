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
 * A slot is taken from the head of a queue and given back at its tail, so that slots rotate through the whole buffer;
 * both are O(1). Modelled is the generation of mid-2026 ("G4", PR #5007): a lock, duplicate frees ignored, a batch that
 * cannot be served changes nothing. `seed_era` is what the seed describes (2026-02): a second free puts the slot on the
 * queue twice, and two owners get it later (issue #5005). That generation also popped what it could for a batch that
 * failed and appended it again; as such a batch has popped the whole queue, only another thread in between could see
 * the rotation, and calls here are not interrupted.
 *
 * Thread safe: one lock a pool, held for the whole of a call. */

typedef struct tla_slot_pool tla_slot_pool;

typedef struct tla_slot_pool_config {
    uint64_t base;          /* address of slot 0 */
    uint64_t nbytes;        /* bytes of the buffer: an exact multiple of slot_bytes; base + nbytes at most 2^63 */
    uint64_t slot_bytes;    /* bytes of a slot */
    bool report_duplicates; /* a duplicate free is TLA_NOT_ALLOCATED instead of being ignored; not with seed_era */
    bool seed_era;          /* the behaviour of the seed's generation, see above */
} tla_slot_pool_config;

/* A slot in use. nbytes is what its owner asked for; the next owner has the whole slot again. */
typedef struct tla_slot {
    uint64_t index;
    uint64_t address;
    uint64_t nbytes;
} tla_slot;

typedef struct tla_slot_pool_stats {
    uint64_t slots, slot_bytes;
    uint64_t free_slots;      /* length of the queue; after duplicate frees in the seed era it may exceed `slots` */
    int64_t used_slots;       /* slots - free_slots, so negative then: LMCache's memcheck does not see it either */
    uint64_t duplicate_frees; /* ignored, reported, or in the seed era obeyed */
} tla_slot_pool_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *pool is NULL then. */
tla_status tla_slot_pool_create(const tla_slot_pool_config *config, tla_slot_pool **pool);

/* Gives back the pool's own memory; NULL is allowed. No other call may be running. */
void tla_slot_pool_destroy(tla_slot_pool *pool);

/* Takes the slot at the head of the queue for nbytes (1 .. slot_bytes). Work: one slot, one list node, and the lines of
 * the queue and of the slot. TLA_INVALID_ARGUMENT for another size (LMCache does not check and hands out the page);
 * TLA_EXHAUSTED when no slot is free; nothing is changed then. */
tla_status tla_slot_pool_alloc(tla_slot_pool *pool, uint64_t nbytes, tla_slot *slot, tla_work *work);

/* Takes `count` slots at once, or none: TLA_EXHAUSTED when fewer are free, and the queue is as it was. 0 slots are
 * TLA_OK. */
tla_status tla_slot_pool_alloc_batch(tla_slot_pool *pool, uint64_t nbytes, size_t count, tla_slot *slots,
                                     tla_work *work);

/* Says why `count` slots for nbytes each were refused, for a person: `what` (the pool's name in the text), slots asked
 * for, free, in all. Returns the status; figures of *error (may be NULL) in bytes of whole slots. */
tla_status tla_slot_pool_explain(tla_slot_pool *pool, const char *what, uint64_t nbytes, size_t count,
                                 tla_error *error);

/* Gives a slot back at the tail of the queue. TLA_OUT_OF_RANGE for an index that the pool does not have. */
tla_status tla_slot_pool_free(tla_slot_pool *pool, uint64_t index, tla_work *work);

/* Gives slots back in this order. When one of them is refused, none is given back. */
tla_status tla_slot_pool_free_batch(tla_slot_pool *pool, const tla_slot *slots, size_t count, tla_work *work);

tla_slot_pool_stats tla_slot_pool_get_stats(tla_slot_pool *pool);

/* --- Tensors and byte strings ---
 *
 * Tensors in one large buffer, byte strings in buffers of their own: LMCache's MixedMemoryAllocator, its default
 * (seed 003), with the TensorMemoryAllocator and BufferAllocator inside it.
 *
 * The format of an object decides: key-value and other tensor formats come from an arena (or, with paging, from slots),
 * BINARY_BUFFER from the host's malloc (or, in hardware that has none, from a region of its own), any other is an
 * error. Thread safe: one lock, held for the whole of a call;
 * with paging the slot pool's own lock does it, as in LMCache. */

typedef struct tla_mixed_pool tla_mixed_pool;

/* LMCache's MemoryFormat. */
typedef enum tla_memory_format {
    TLA_FORMAT_UNDEFINED, /* none: an error */
    TLA_FORMAT_KV_2LTD,
    TLA_FORMAT_KV_2TD,
    TLA_FORMAT_KV_T2D,
    TLA_FORMAT_KV_MLA,
    TLA_FORMAT_EC_TD,
    TLA_FORMAT_HS_TD,
    TLA_FORMAT_BINARY, /* an error, too: only BINARY_BUFFER has an allocator */
    TLA_FORMAT_BINARY_BUFFER,
    TLA_FORMAT_COUNT
} tla_memory_format;

/* ALIGN_BYTES of LMCache. */
#define TLA_MIXED_POOL_ALIGNMENT UINT64_C(4096)

typedef struct tla_mixed_pool_config {
    uint64_t base, nbytes; /* the large buffer; base is a multiple of alignment, base + nbytes at most 2^63 */
    uint64_t alignment;    /* a power of two, not 0: checked with paging, too, which does not use it (as LMCache) */
    uint64_t slot_bytes;   /* not 0: paging with slots of so many bytes, of which nbytes must be a multiple */
    tla_batch batch;       /* of tensors, without paging: contiguous in the seed's generation, carved since 2026-03 */
    tla_policy policy;     /* of tensors, and of the region for byte strings; LMCache's is first fit */
    /* Not 0: byte strings are blocks of this many bytes behind the large buffer, at the policy and buffer_alignment (a
     * power of two, of which base + nbytes is a multiple; 0: 1), instead of the host's. They have an address then. */
    uint64_t buffer_nbytes, buffer_alignment;
} tla_mixed_pool_config;

/* An object. Zero, and what a free leaves, is none. */
typedef struct tla_mixed_pool_block {
    tla_memory_format format;
    uint64_t address;  /* of a tensor: in the large buffer; of a byte string: in its region, else 0 */
    uint64_t nbytes;   /* as asked for */
    uint64_t capacity; /* as taken: rounded up to the alignment, or a slot */
    void *bytes;       /* of a byte string from the host: its memory, all zero at first; else NULL */
} tla_mixed_pool_block;

typedef struct tla_mixed_pool_stats {
    uint64_t tensors, buffers;  /* live objects */
    uint64_t tensor_bytes;      /* taken in the large buffer */
    uint64_t buffer_bytes;      /* in buffers of their own, as asked for */
    uint64_t free_tensor_bytes; /* left in the large buffer */
    uint64_t free_blocks;       /* free blocks, or free slots */
    uint64_t largest_free;      /* bytes of the largest of them */
    tla_arena_stats region;     /* of byte strings; all zero where they are the host's */
} tla_mixed_pool_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *mixed is NULL then. */
tla_status tla_mixed_pool_create(const tla_mixed_pool_config *config, tla_mixed_pool **mixed);

/* Gives back the large buffer's bookkeeping; NULL is allowed. TLA_LEAK when objects were live; byte strings that are
 * live keep their memory, as their owners may still use it. No other call may be running. */
tla_status tla_mixed_pool_destroy(tla_mixed_pool *mixed);

/* Takes n objects of nbytes each (at least 1), all or none. TLA_INVALID_ARGUMENT for another format or size;
 * TLA_EXHAUSTED or TLA_FRAGMENTED for tensors when nothing fits; TLA_NO_HOST_MEMORY. Nothing is taken then. */
tla_status tla_mixed_pool_alloc(tla_mixed_pool *mixed, tla_memory_format format, uint64_t nbytes, size_t n,
                                tla_mixed_pool_block *blocks, tla_work *work);

/* Says why n objects of nbytes each were refused, for a person: `what` (the allocator's name in the text), the batch,
 * and what the slots, the arena or the host had. Returns the status. */
tla_status tla_mixed_pool_explain(tla_mixed_pool *mixed, const char *what, tla_memory_format format, uint64_t nbytes,
                                  size_t n, tla_error *error);

/* Gives n objects back, all or none, and makes them none; tensors that touch are joined first. TLA_INVALID_ARGUMENT for
 * an unknown format, and for tensors and byte strings in one batch (LMCache goes by the first object's format and
 * errs); TLA_NOT_ALLOCATED for what has been given back already; TLA_NO_HOST_MEMORY. Nothing is changed then. */
tla_status tla_mixed_pool_free(tla_mixed_pool *mixed, tla_mixed_pool_block *blocks, size_t n, tla_work *work);

/* The object of nbytes that was given at an address, for whoever keeps nothing but those two: its kind, of which the
 * format is the first, and its capacity. Whether it is live is not looked at. For tensors and for byte strings with a
 * region. */
tla_mixed_pool_block tla_mixed_pool_block_at(const tla_mixed_pool *mixed, uint64_t address, uint64_t nbytes);

/* LMCache's memcheck: TLA_OK when free and taken bytes add up and no two free blocks touch; else what tla_arena_check
 * says. */
tla_status tla_mixed_pool_check(tla_mixed_pool *mixed, tla_error *error);

tla_mixed_pool_stats tla_mixed_pool_get_stats(tla_mixed_pool *mixed);

/* --- Committed in the background ---
 *
 * An arena whose memory is committed in the background of simulated time: LMCache's LazyMemoryAllocator.
 *
 * The first part is there at once; the rest is pinned chunk by chunk, and enters the arena (sbrk) each time that a
 * commit's worth is pinned. So the same request can fail early and succeed later. The caller's clock drives it: every
 * call is told the time. Modelled is the generation that coalesces across commits. Not thread safe; one owner at a
 * time. */

typedef struct tla_lazy_arena tla_lazy_arena;

typedef struct tla_lazy_arena_config {
    uint64_t base;          /* address; a multiple of alignment */
    uint64_t initial_bytes; /* there at once; rounded up to a multiple of chunk_bytes */
    uint64_t final_bytes;   /* in the end; rounded up likewise; at least initial_bytes; 0: there is never any */
    uint64_t chunk_bytes;   /* pinned in one go: 64 MiB in LMCache, 16 MiB before; a multiple of alignment */
    uint64_t commit_bytes;  /* enters the arena in one go: 1 GiB in LMCache; a multiple of chunk_bytes */
    uint64_t chunk_ps;      /* time to pin a chunk, picoseconds; 0: everything is there at once */
    uint64_t start_ps;      /* when pinning begins */
    uint64_t alignment;     /* of every block; a power of two, 0 = 1; LMCache: 4096 */
    tla_policy policy;
} tla_lazy_arena_config;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *lazy is NULL then. */
tla_status tla_lazy_arena_create(const tla_lazy_arena_config *config, tla_lazy_arena **lazy);

/* NULL is allowed. */
void tla_lazy_arena_destroy(tla_lazy_arena *lazy);

/* Commits what is pinned at now_ps. A time before an earlier one changes nothing: memory never goes away.
 * TLA_NO_HOST_MEMORY: nothing is changed. */
tla_status tla_lazy_arena_advance(tla_lazy_arena *lazy, uint64_t now_ps, tla_work *work);

/* When the next commit comes, or came and waits for tla_lazy_arena_advance; false, and *when_ps untouched, after the
 * last. */
bool tla_lazy_arena_next_commit(const tla_lazy_arena *lazy, uint64_t *when_ps);

/* As tla_arena_alloc and tla_arena_free, after tla_lazy_arena_advance to now_ps. */
tla_status tla_lazy_arena_alloc(tla_lazy_arena *lazy, uint64_t now_ps, uint64_t nbytes, tla_block *block,
                                tla_work *work);
tla_status tla_lazy_arena_alloc_batch(tla_lazy_arena *lazy, uint64_t now_ps, uint64_t nbytes, size_t n, tla_batch kind,
                                      tla_block *blocks, tla_work *work);
tla_status tla_lazy_arena_free(tla_lazy_arena *lazy, uint64_t now_ps, tla_block block, tla_work *work);

/* As tla_arena_granted. */
uint64_t tla_lazy_arena_granted(const tla_lazy_arena *lazy, uint64_t nbytes);

/* As tla_arena_explain, and how much of the memory is committed and when more will be: waiting may help. */
tla_status tla_lazy_arena_explain(const tla_lazy_arena *lazy, const char *what, uint64_t nbytes, tla_error *error);

/* Of the arena; capacity is what is committed. */
tla_arena_stats tla_lazy_arena_get_stats(const tla_lazy_arena *lazy);

#ifdef __cplusplus
}
#endif
#endif
