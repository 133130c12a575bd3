/* Slots of one size: LMCache's PagedTensorMemoryAllocator (seed 003).
 *
 * A slot is taken from the head of a queue and given back at its tail, so that slots rotate through the whole buffer;
 * both are O(1). Modelled is the generation of mid-2026 ("G4", PR #5007): a lock, duplicate frees ignored, a batch that
 * cannot be served changes nothing. `seed_era` is what the seed describes (2026-02): a second free puts the slot on the
 * queue twice, and two owners get it later (issue #5005). That generation also popped what it could for a batch that
 * failed and appended it again; as such a batch has popped the whole queue, only another thread in between could see
 * the rotation, and calls here are not interrupted.
 *
 * Thread safe: one lock a pool, held for the whole of a call. */
#ifndef TLMALLOC_CACHE_SLOT_POOL_H
#define TLMALLOC_CACHE_SLOT_POOL_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
