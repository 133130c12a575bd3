/* The blocks of a memory controller as objects: what refers to them, who, and for how long (seed 003).
 *
 * A block comes into being with one reference, that of its allocation; further ones are taken and given up one by one.
 * A pin holds a block too, until it is taken away or its time-out has passed. With the last reference, and when no pin
 * holds it, the block is given back: LMCache's rule, so that a block without references lives on as long as a pin does,
 * and what ends that pin gives it back. Counts and the watch over pins are those of objects.h.
 *
 * Who holds what: references and pins are those of the context that took them (the address space of tla_who). A known
 * context gives up its own, or one that nobody said the holder of; to give up another's is TLA_NOT_OWNER. Who is
 * unknown, and hardware that is trusted, is held to no context: it gives up one of its own first, then one of nobody
 * known, then one of the context that came first among those that have one. To take a reference or a pin nothing is
 * asked but the address. On guarded memory the contexts that hold a block may access it, and nobody else.
 *
 * In front of each memory stands a cache of objects under keys (objects.h), which has a reference of its own to each:
 * a key is entered once, found by anybody, and goes when somebody removes it or an allocation that may evict wants its
 * bytes. What nobody but the cache has a reference to, and nobody has pinned, can be evicted, the entry first that was
 * not used for the longest time. To a guard it is nobody's until it is found again.
 *
 * Counting begins with the first of these calls for a block. Until then a free is what it is without a store: trusted,
 * as the memory's configuration says. Blocks that a snapshot left behind belong to nobody and are not counted. No
 * clock: times are the caller's picoseconds. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_MEMORY_OBJECT_STORE_H
#define TLMALLOC_MEMORY_OBJECT_STORE_H

#include "tlmalloc/cache/objects.h"
#include "tlmalloc/command/command.h"
#include "tlmalloc/memory/pe_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_object_store tla_object_store;

/* Is told of every block that was given back, as granted, as soon as it was. NULL: nobody is. */
typedef struct tla_object_watcher {
    void (*given_back)(void *context, tla_site at, uint64_t granted);
    void *context;
} tla_object_watcher;

/* A store over memories that must outlive it, and whose blocks nobody else takes or gives back from now on. Asks the
 * guards of these memories to let in who holds a block. TLA_NO_HOST_MEMORY; *store is NULL then. */
tla_status tla_object_store_create(tla_pe_memory *memory, const tla_object_watcher *watcher, tla_object_store **store);

/* NULL is allowed. Blocks stay as they are in the memories. */
void tla_object_store_destroy(tla_object_store *store);

/* What a call found or left. */
typedef struct tla_object_counts {
    tla_site at;
    uint64_t nbytes; /* as asked for */
    uint64_t references, pins;
} tla_object_counts;

/* Of an allocation: makes sure, before tla_pe_memory_take, that n blocks can be entered (TLA_NO_HOST_MEMORY: nothing is
 * changed), and enters one, with a reference of `who` (tla_who, or TLA_WHO_UNKNOWN). */
tla_status tla_object_prepare(tla_object_store *store, size_t n);
void tla_object_enter(tla_object_store *store, tla_site at, uint64_t nbytes, uint64_t who);

/* Gives up a reference and says the size: of a block that is not counted as tla_pe_memory_give_back, also where that
 * trusts its caller; else as tla_object_unref, with TLA_SIZE_MISMATCH for another size, and TLA_OVERLAP for a range
 * that is more than one block and has a counted one in it. *references are left. */
tla_status tla_object_free(tla_object_store *store, tla_site at, uint64_t nbytes, uint64_t who, uint64_t *references,
                           tla_work *work);

/* One reference, or one pin for timeout_ps (UINT64_MAX: for ever), more or less, of the block that begins there. All of
 * a block's pins end when the time-out of the one that was made last has passed since then. *counts (may be NULL) are
 * those after the call; the receipt is a line of metadata, and what giving the block back took.
 *
 * TLA_OUT_OF_RANGE for an address that is not in these memories, TLA_NOT_ALLOCATED when no block begins there, or when
 * there is no reference or pin left to give up, TLA_NOT_OWNER, TLA_NO_HOST_MEMORY; else what the memory says that does
 * not take a block back. Nothing is changed then, and tla_object_store_last_error says more. */
tla_status tla_object_ref(tla_object_store *store, tla_site at, uint64_t who, tla_object_counts *counts,
                          tla_work *work);
tla_status tla_object_unref(tla_object_store *store, tla_site at, uint64_t who, tla_object_counts *counts,
                            tla_work *work);
tla_status tla_object_pin(tla_object_store *store, tla_site at, uint64_t who, uint64_t now_ps, uint64_t timeout_ps,
                          tla_object_counts *counts, tla_work *work);
tla_status tla_object_unpin(tla_object_store *store, tla_site at, uint64_t who, tla_object_counts *counts,
                            tla_work *work);

/* ---- batches: all or nothing ---- */

/* n blocks for `who`, who has one reference to each, to blocks[0 .. n) with the bytes that were asked for; as
 * tla_pe_memory_request_batch. n = 0 does nothing. */
tla_status tla_object_alloc_batch(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request,
                                  size_t n, tla_batch batch, uint64_t who, tla_placed_block *blocks, tla_work *work);

/* Gives up one reference of `who` to each of n blocks, which begin at these sites, and say how many bytes were asked
 * for (as tla_object_free). They are all different and of one memory. Nobody is trusted here: what begins no block, and
 * whoever holds none, is refused as by tla_object_unref. Those whose last reference goes are given back by
 * tla_pe_memory_free_batch, in the order of their addresses, touching ones as one. *freed is how many; *failed, when
 * one is refused, which. Errors: those of tla_object_free, TLA_INVALID_ARGUMENT for blocks of several memories,
 * TLA_NOT_ALLOCATED for one that is there twice. Nothing is changed then, but that with a front, on a host without
 * memory, *freed blocks are free already. */
tla_status tla_object_free_batch(tla_object_store *store, const tla_site *sites, const tla_placed_block *blocks,
                                 size_t n, uint64_t who, size_t *freed, size_t *failed, tla_work *work);

/* ---- objects under keys ---- */

/* Enters the n blocks (at least 1, of one memory) that begin at these sites under a key, with what they hold; the cache
 * has one reference more to each. A key that is there already stays as it is: TLA_OK, and *added is false. Errors as
 * tla_object_ref, and TLA_INVALID_ARGUMENT for none, and for blocks of several memories. */
tla_status tla_object_put(tla_object_store *store, uint64_t key, const tla_mem_object_meta *meta, const tla_site *sites,
                          size_t n, bool *added, tla_work *work);

/* Finds them: `who` has one reference more to each, and the entry is the most recently used. TLA_NOT_ALLOCATED when
 * there is no such key, or not any more; TLA_LIMIT when *n of them are more than `room`; TLA_NO_HOST_MEMORY; nothing is
 * changed then. */
tla_status tla_object_get(tla_object_store *store, tla_memory_kind kind, uint64_t key, uint64_t who,
                          tla_mem_object_meta *meta, tla_placed_block *blocks, size_t room, size_t *n, tla_work *work);

/* Takes the entry out: *n blocks (may be NULL), free when nobody else has a reference and nobody a pin. Anybody may, as
 * nobody loses what he holds. TLA_NOT_ALLOCATED when there is no such key. When the memory does not take one back its
 * status is the answer: the entry is out, and the cache's reference to that block is nobody's, and anybody's to give
 * up.
 */
tla_status tla_object_remove(tla_object_store *store, tla_memory_kind kind, uint64_t key, size_t *n, tla_work *work);

/* Takes a block and enters it; where memory is wanting entries of the memory's cache are evicted until it is there
 * (tla_hot_cache_alloc). With none left that can be evicted: TLA_BUSY if `busy`, as a pin or a reference may go any
 * time, else what the allocator said. What was evicted stays so. */
tla_status tla_object_evict(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request, bool busy,
                            uint64_t who, tla_site *at, tla_work *work);

/* What refers to the block that begins there. TLA_OUT_OF_RANGE, TLA_NOT_ALLOCATED. */
tla_status tla_object_look(const tla_object_store *store, tla_site at, tla_object_counts *counts);

/* The last time at which the pins that time out next still hold; false when no pin times out. */
bool tla_object_store_next_timeout(const tla_object_store *store, uint64_t *until_ps);

/* Ends the pins of the one block whose time-out has passed first, if that lies before now_ps; TLA_NOT_FOUND when there
 * is none. When the memory does not take the block back its status is the answer, and the pins stay. */
tla_status tla_object_store_end_pins(tla_object_store *store, uint64_t now_ps, tla_object_counts *counts,
                                     tla_work *work);

typedef struct tla_object_stats {
    uint64_t references; /* of contexts to live blocks, those of their allocations too */
    uint64_t pins;       /* on live blocks */
    uint64_t timeouts;   /* blocks whose pins have timed out, since the beginning */
    uint64_t hits, misses;
    tla_hot_cache_stats cache;
} tla_object_stats;

tla_object_stats tla_object_store_get_stats(const tla_object_store *store, tla_memory_kind kind);

/* The text of the last call that this store has refused; status is TLA_OK when the last one was not. */
const tla_error *tla_object_store_last_error(const tla_object_store *store);

#ifdef __cplusplus
}
#endif
#endif
