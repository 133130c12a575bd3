/* Tensors in one large buffer, byte strings in buffers of their own: LMCache's MixedMemoryAllocator, its default
 * (seed 003), with the TensorMemoryAllocator and BufferAllocator inside it.
 *
 * The format of an object decides: key-value and other tensor formats come from an arena (or, with paging, from slots),
 * BINARY_BUFFER from the host's malloc (or, in hardware that has none, from a region of its own), any other is an
 * error. Thread safe: one lock, held for the whole of a call;
 * with paging the slot pool's own lock does it, as in LMCache. */
#ifndef TLMALLOC_CACHE_MIXED_POOL_H
#define TLMALLOC_CACHE_MIXED_POOL_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
