/* The blocks of a memory controller as objects: what refers to them, who, and for how long (seed 003).
 *
 * A block comes into being with one reference, that of its allocation; further ones are taken and given up one by one.
 * A pin holds a block too, until it is taken away or its time-out has passed. With the last reference, and when no pin
 * holds it, the block is given back: LMCache's rule, so that a block without references lives on as long as a pin does,
 * and what ends that pin gives it back. Counts and the watch over pins are those of mem_object.h.
 *
 * Who holds what: references and pins are those of the context that took them (the address space of tla_who). A known
 * context gives up its own, or one that nobody said the holder of; to give up another's is TLA_NOT_OWNER. Who is
 * unknown, and hardware that is trusted, is held to no context: it gives up one of its own first, then one of nobody
 * known, then one of the context that came first among those that have one. To take a reference or a pin nothing is
 * asked but the address. On guarded memory the contexts that hold a block may access it, and nobody else.
 *
 * Counting begins with the first of these calls for a block. Until then a free is what it is without a store: trusted,
 * as the memory's configuration says. Blocks that a snapshot left behind belong to nobody and are not counted. No
 * clock: times are the caller's picoseconds. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_OBJECT_STORE_H
#define TLMALLOC_OBJECT_STORE_H

#include "tlmalloc/allocators/pe_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_object_store tla_object_store;

/* Is told of every block that was given back, as granted, as soon as it was. NULL: nobody is. */
typedef struct tla_object_watcher {
    void (*given_back)(void *context, tla_channel channel, tla_paddr pa, uint64_t granted);
    void *context;
} tla_object_watcher;

/* A store over memories that must outlive it, and whose blocks nobody else takes or gives back from now on. Asks the
 * guards of these memories to let in who holds a block. TLA_NO_HOST_MEMORY; *store is NULL then. */
tla_status tla_object_store_create(tla_pe_memory *memory, const tla_object_watcher *watcher, tla_object_store **store);

/* NULL is allowed. Blocks stay as they are in the memories. */
void tla_object_store_destroy(tla_object_store *store);

/* What a call found or left. */
typedef struct tla_object_counts {
    tla_channel channel;
    tla_paddr pa;
    uint64_t nbytes; /* as asked for */
    uint64_t references, pins;
} tla_object_counts;

/* As tla_pe_memory_request, for `who` (tla_who, or TLA_WHO_UNKNOWN), who has one reference then. */
tla_status tla_object_alloc(tla_object_store *store, tla_channel channel, const tla_stack_request *request,
                            uint64_t who, tla_paddr *pa, tla_work *work);

/* Gives up a reference and says the size: of a block that is not counted as tla_pe_memory_free, also where that trusts
 * its caller; else as tla_object_unref, with TLA_SIZE_MISMATCH for another size, and TLA_OVERLAP for a range that is
 * more than one block and has a counted one in it. *references are left. */
tla_status tla_object_free(tla_object_store *store, tla_paddr pa, uint64_t nbytes, uint64_t who, uint64_t *references,
                           tla_work *work);

/* One reference, or one pin for timeout_ps (UINT64_MAX: for ever), more or less, of the block that begins at pa. All of
 * a block's pins end when the time-out of the one that was made last has passed since then. *counts (may be NULL) are
 * those after the call; the receipt is a line of metadata, and what giving the block back took.
 *
 * TLA_OUT_OF_RANGE for an address that is not in these memories, TLA_NOT_ALLOCATED when no block begins there, or when
 * there is no reference or pin left to give up, TLA_NOT_OWNER, TLA_NO_HOST_MEMORY; else what the memory says that does
 * not take a block back. Nothing is changed then, and tla_object_store_last_error says more. */
tla_status tla_object_ref(tla_object_store *store, tla_paddr pa, uint64_t who, tla_object_counts *counts,
                          tla_work *work);
tla_status tla_object_unref(tla_object_store *store, tla_paddr pa, uint64_t who, tla_object_counts *counts,
                            tla_work *work);
tla_status tla_object_pin(tla_object_store *store, tla_paddr pa, uint64_t who, uint64_t now_ps, uint64_t timeout_ps,
                          tla_object_counts *counts, tla_work *work);
tla_status tla_object_unpin(tla_object_store *store, tla_paddr pa, uint64_t who, tla_object_counts *counts,
                            tla_work *work);

/* What refers to the block that begins at pa. TLA_OUT_OF_RANGE, TLA_NOT_ALLOCATED. */
tla_status tla_object_look(const tla_object_store *store, tla_paddr pa, tla_object_counts *counts);

/* The last time at which the pins that time out next still hold; false when no pin times out. */
bool tla_object_store_next_timeout(const tla_object_store *store, uint64_t *until_ps);

/* Ends the pins of the one block whose time-out has passed first, if that lies before now_ps; TLA_NOT_FOUND when there
 * is none. When the memory does not take the block back its status is the answer, and the pins stay. */
tla_status tla_object_store_end_pins(tla_object_store *store, uint64_t now_ps, tla_object_counts *counts,
                                     tla_work *work);

typedef struct tla_object_stats {
    uint64_t references; /* to live blocks, those of their allocations too */
    uint64_t pins;       /* on live blocks */
    uint64_t timeouts;   /* blocks whose pins have timed out, since the beginning */
} tla_object_stats;

tla_object_stats tla_object_store_get_stats(const tla_object_store *store, tla_channel channel);

/* The text of the last call that this store has refused; status is TLA_OK when the last one was not. */
const tla_error *tla_object_store_last_error(const tla_object_store *store);

#ifdef __cplusplus
}
#endif
#endif
