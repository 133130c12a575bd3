/* The blocks of a memory controller as objects: their references, the holders, and their times (seed 003).
 *
 * A block begins with one reference, that of its allocation; further references are added and dropped individually. A
 * pin also holds a block, until it is dropped or its time-out has passed. The block is released with the last
 * reference, if no pin holds it. By LMCache's rule a block without references lives as long as a pin holds it, and the
 * end of that pin releases it. The counts and the monitor of pins are those of objects.h.
 *
 * Holders: references and pins belong to the context that added them (the address space of tla_who). A known context
 * drops its own, or one whose holder was not stated; dropping another context's is TLA_NOT_OWNER. Unknown requesters
 * and trusted hardware are not restricted to a context. They first drop one of their own, then one without a known
 * holder, then one of the earliest context that has one. Adding a reference or a pin needs only the address. On guarded
 * memory only the contexts that hold a block may access it.
 *
 * Each memory has a cache of objects under keys (objects.h), which has its own reference to each object. A key is
 * entered once, and any requester may find it. It ends when a requester removes it, or when an allocation that may
 * evict needs its bytes. Objects that have no other reference and no pin can be evicted, in the order of a rule
 * (victims.h): the least recently used entry first, or by ARC. The tenant of an entry is the context that allocated its
 * first block; with TLA_VICTIM_TENANT_LRU an allocation evicts only entries of its own context, and one whose sender
 * has no context only those without one. For a guard an entry has no owner until it is found again.
 *
 * Counting begins with the first of these calls for a block. Until then a free works as without a store: trusted, as
 * the memory is configured. Blocks from a snapshot have no owner and are not counted. The core has no clock: times are
 * the caller's picoseconds. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_MEMORY_OBJECT_STORE_H
#define TLMALLOC_MEMORY_OBJECT_STORE_H

#include "tlmalloc/cache/objects.h"
#include "tlmalloc/cache/partition.h"
#include "tlmalloc/command/command.h"
#include "tlmalloc/memory/pe_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_object_store tla_object_store;

/* Called for every released block, as granted, directly after its release. NULL: not called. */
typedef struct tla_object_watcher {
    void (*given_back)(void *context, tla_site at, uint64_t granted);
    void *context;
} tla_object_watcher;

/* Creates a store over memories that must outlive it. From then on only the store may allocate and release their
 * blocks. The store makes the guards of these memories admit the holders of a block. The rule chooses the entries that
 * leave the caches (victims.h). TLA_INVALID_ARGUMENT for an unknown rule, TLA_NO_HOST_MEMORY; *store is NULL then. */
tla_status tla_object_store_create(tla_pe_memory *memory, tla_victim_rule rule, const tla_object_watcher *watcher,
                                   tla_object_store **store);

/* NULL is allowed. Blocks in the memories stay unchanged. */
void tla_object_store_destroy(tla_object_store *store);

/* The counts that a call found or left. */
typedef struct tla_object_counts {
    tla_site at;
    uint64_t nbytes; /* as requested */
    uint64_t references, pins;
} tla_object_counts;

/* For an allocation. The first call reserves entries for n blocks, before tla_pe_memory_take (TLA_NO_HOST_MEMORY:
 * nothing has changed). The second enters one block, with a reference of `who` (tla_who, or TLA_WHO_UNKNOWN). */
tla_status tla_object_prepare(tla_object_store *store, size_t n);
void tla_object_enter(tla_object_store *store, tla_site at, uint64_t nbytes, uint64_t who);

/* Drops a reference, with the block's size. A block that is not counted is released as by tla_pe_memory_give_back, also
 * where that trusts its caller. A counted block is released as by tla_object_unref, with TLA_SIZE_MISMATCH for another
 * size. TLA_OVERLAP for a range of more than one block that includes a counted block. Returns the remaining
 * *references. */
tla_status tla_object_free(tla_object_store *store, tla_site at, uint64_t nbytes, uint64_t who, uint64_t *references,
                           tla_work *work);

/* Adds or drops one reference of the block that begins there, or one pin for timeout_ps (UINT64_MAX: unlimited). All
 * pins of a block end when the time-out of the most recent pin has passed since it was added. The counts after the call
 * are written to *counts (may be NULL). The receipt is a line of metadata, plus the work of a release.
 *
 * TLA_OUT_OF_RANGE for an address outside these memories. TLA_NOT_ALLOCATED when no block begins there, or when no
 * reference or pin is left to drop. TLA_NOT_OWNER, TLA_NO_HOST_MEMORY. Otherwise the error of a memory that does not
 * accept a block back. After an error nothing has changed, and tla_object_store_last_error has the details. */
tla_status tla_object_ref(tla_object_store *store, tla_site at, uint64_t who, tla_object_counts *counts,
                          tla_work *work);
tla_status tla_object_unref(tla_object_store *store, tla_site at, uint64_t who, tla_object_counts *counts,
                            tla_work *work);
tla_status tla_object_pin(tla_object_store *store, tla_site at, uint64_t who, uint64_t now_ps, uint64_t timeout_ps,
                          tla_object_counts *counts, tla_work *work);
tla_status tla_object_unpin(tla_object_store *store, tla_site at, uint64_t who, tla_object_counts *counts,
                            tla_work *work);

/* ---- batches: all or nothing ---- */

/* Allocates n blocks for `who`, with one reference to each, into blocks[0 .. n) with the requested bytes; as
 * tla_pe_memory_request_batch. n = 0 does nothing. */
tla_status tla_object_alloc_batch(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request,
                                  size_t n, tla_batch batch, uint64_t who, tla_placed_block *blocks, tla_work *work);

/* Drops one reference of `who` to each of n blocks that begin at these sites, with their requested bytes (as
 * tla_object_free). They must all be different and in one memory. This call trusts no requester: a site without a
 * block, and a requester without a reference, are rejected as by tla_object_unref. Blocks without remaining references
 * are released by tla_pe_memory_free_batch, in the order of their addresses, adjacent blocks as one. Their number is
 * written to *freed, and the index of a rejected block to *failed.
 *
 * Errors: those of tla_object_free, TLA_INVALID_ARGUMENT for blocks of several memories, TLA_NOT_ALLOCATED for a
 * repeated block. After an error nothing has changed, except with a front on a host without memory: *freed blocks are
 * already free. */
tla_status tla_object_free_batch(tla_object_store *store, const tla_site *sites, const tla_placed_block *blocks,
                                 size_t n, uint64_t who, size_t *freed, size_t *failed, tla_work *work);

/* ---- objects under keys ---- */

/* Enters the n blocks (at least 1, of one memory) that begin at these sites under a key, with their description. The
 * cache adds a reference to each. An existing key stays unchanged: TLA_OK, and *added is false. Errors as
 * tla_object_ref, and TLA_INVALID_ARGUMENT for 0 blocks, and for blocks of several memories. */
tla_status tla_object_put(tla_object_store *store, uint64_t key, const tla_mem_object_meta *meta, const tla_site *sites,
                          size_t n, bool *added, tla_work *work);

/* Finds the blocks of a key: `who` gains a reference to each, and the entry becomes the most recently used.
 * TLA_NOT_ALLOCATED when the key does not exist, or no longer exists; TLA_LIMIT when the *n blocks are more than
 * `room`; TLA_NO_HOST_MEMORY. After an error nothing has changed. */
tla_status tla_object_get(tla_object_store *store, tla_memory_kind kind, uint64_t key, uint64_t who,
                          tla_mem_object_meta *meta, tla_placed_block *blocks, size_t room, size_t *n, tla_work *work);

/* Removes the entry: *n blocks (may be NULL), which become free without another reference or pin. Any requester may
 * remove it, because no holder loses a reference. TLA_NOT_ALLOCATED when the key does not exist. If the memory does not
 * accept a block back, the call returns the memory's status. The entry is then removed, and the cache's reference to
 * that block has no known holder, so that any requester may drop it. */
tla_status tla_object_remove(tla_object_store *store, tla_memory_kind kind, uint64_t key, size_t *n, tla_work *work);

/* Allocates a block and enters it. If memory is lacking, the call evicts entries of the memory's cache until the block
 * fits (tla_hot_cache_alloc). If no entry can be evicted, it returns TLA_BUSY with `busy`, else the allocator's status.
 * A pin or a reference may end at any time, so the caller may retry. Evicted entries stay evicted. */
tla_status tla_object_evict(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request, bool busy,
                            uint64_t who, tla_site *at, tla_work *work);

/* Evicts a share of the entries of the memory's cache, in permille (tla_hot_cache_evict). Their number is written to
 * *evicted. If the memory does not accept a block back, see tla_object_remove. */
tla_status tla_object_evict_share(tla_object_store *store, tla_memory_kind kind, uint32_t permille, uint64_t *evicted,
                                  tla_work *work);

/* ---- a memory in two parts (partition.h) ----
 *
 * L1 has the blocks of objects: those that tla_object_evict has allocated, and those under a key. They are in L1 until
 * they are free. L2 has all other blocks. A part is a number of bytes, not a range: a block that comes under a key
 * stays where it is. Blocks count as granted. A front may grant more than tla_stack_takes, and its part then has more
 * than its bytes until blocks leave.
 *
 * A block for which its part has no room is TLA_EXHAUSTED. tla_object_evict evicts objects then, but none for more
 * bytes than L1 has; tla_object_put evicts none. */

/* Divides a memory. The store must be new, and its blocks must not move. */
void tla_object_divide(tla_object_store *store, tla_memory_kind kind, const tla_partition *parts);

/* Moves the border, as tla_partition_move. TLA_UNSUPPORTED without two parts. TLA_BUSY if the blocks of the part that
 * shrinks have more bytes than it would have. After an error nothing has changed, and *error has a text. */
tla_status tla_object_move_border(tla_object_store *store, uint64_t l1, tla_error *error);

/* For an allocation of n blocks in L2, before tla_pe_memory_take: TLA_EXHAUSTED if L2 has no room for them. */
tla_status tla_object_admit(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request, size_t n);

/* Returns the bytes that L1 or L2 of a memory has left; UINT64_MAX for a memory in one part. */
uint64_t tla_object_room(const tla_object_store *store, tla_memory_kind kind, bool in_l1);

/* Returns the references and pins of the block that begins there. TLA_OUT_OF_RANGE, TLA_NOT_ALLOCATED. */
tla_status tla_object_look(const tla_object_store *store, tla_site at, tla_object_counts *counts);

/* Returns the last time at which the pins that time out next still hold; false when no pin times out. */
bool tla_object_store_next_timeout(const tla_object_store *store, uint64_t *until_ps);

/* Ends the pins of the one block whose time-out passed first, if that is before now_ps; TLA_NOT_FOUND if no time-out
 * has passed. If the memory does not accept the block back, the call returns its status, and the pins stay. */
tla_status tla_object_store_end_pins(tla_object_store *store, uint64_t now_ps, tla_object_counts *counts,
                                     tla_work *work);

typedef struct tla_object_stats {
    uint64_t references; /* references of contexts to live blocks, including those of their allocations */
    uint64_t pins;       /* on live blocks */
    uint64_t timeouts;   /* blocks whose pins have timed out, since the start */
    uint64_t hits, misses;
    tla_hot_cache_stats cache;
    uint64_t l1, l1_used, peak_l1_used; /* bytes of L1, and of its blocks; 0 for a memory in one part */
    uint64_t shortages;                 /* how often a part had no room for a block, since the start */
} tla_object_stats;

tla_object_stats tla_object_store_get_stats(const tla_object_store *store, tla_memory_kind kind);

/* The text of the last call that this store has rejected; status is TLA_OK when the last call was not rejected. */
const tla_error *tla_object_store_last_error(const tla_object_store *store);

#ifdef __cplusplus
}
#endif
#endif
