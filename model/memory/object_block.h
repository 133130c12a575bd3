/* A block of an object store, and who holds it. Internal to model/memory. */
#ifndef TLMALLOC_MEMORY_OBJECT_BLOCK_H
#define TLMALLOC_MEMORY_OBJECT_BLOCK_H

#include "cache/live_addresses.h"
#include "tlmalloc/cache/objects.h"
#include "tlmalloc/memory/object_store.h"

enum { TLA_HOLD_REFERENCE, TLA_HOLD_PIN, TLA_HOLD_KINDS };

typedef struct tla_holder {
    uint64_t context; /* tla_who_context, or TLA_WHO_UNKNOWN */
    uint64_t held[TLA_HOLD_KINDS];
} tla_holder;

/* A mapping that leads to a block, in the MMUs of a scope. */
typedef struct tla_binding {
    tla_scope scope;
    tla_map_entry entry;
    bool going; /* an UNBIND is about to forget it */
} tla_binding;

typedef struct tla_object_block {
    tla_object_store *store;
    tla_site at;
    uint64_t nbytes;        /* as asked for */
    uint64_t allocated_for; /* the context; all there is to know until it is counted */
    uint64_t in_l1;         /* its bytes there, as granted; 0: it is not in L1 */
    tla_mem_object *object; /* its counts; NULL until it is counted */
    tla_holder *holders;    /* if counted: the holders in the order of their first hold; each has at least one */
    size_t holder_count, holder_room; /* of the array */
    bool going;                       /* it is being given back, whoever asks for that */
    bool in_batch;                    /* named by the batch that is looked at, or given back by it */
    bool moving;                      /* to another place: its address is about to change */
    tla_site to;                      /* moving: that place */
    bool told;                        /* moving: its holder may use that address already */
    tla_binding *bindings;            /* the mappings that lead to it */
    size_t binding_count, binding_room;
    struct tla_object_block *next; /* of those that are gone, that did not go, or that are spare */
} tla_object_block;

/* The sharing that a guard asks for. */
typedef struct tla_object_share {
    tla_object_store *store;
    tla_memory_kind memory;
} tla_object_share;

struct tla_object_store {
    tla_pe_memory *memory;
    tla_object_watcher watcher;
    tla_live_addresses blocks; /* by physical address */
    tla_hot_cache *caches[TLA_MEMORY_KIND_COUNT];
    tla_object_block *spare; /* records for blocks to come */
    size_t spare_count;
    size_t moving_count;
    tla_object_block *gone;   /* blocks that the current call releases */
    tla_object_block *stayed; /* would have gone with a reference that the cache has given up, and did not */
    bool cache_gives_up;
    tla_pin_monitor *monitor;
    tla_object_share shares[TLA_MEMORY_KIND_COUNT];
    tla_object_stats stats[TLA_MEMORY_KIND_COUNT];
    tla_partition parts;     /* of the memory below */
    tla_memory_kind divided; /* TLA_MEMORY_KIND_COUNT: none */
    tla_error refused;
};

/* The block that begins there, for a call that is named `what`. TLA_OUT_OF_RANGE, TLA_NOT_ALLOCATED, or TLA_BUSY for a
 * block that moves. */
tla_status tla_object_begin(tla_object_store *store, const char *what, tla_site at, tla_object_block **block,
                            tla_work *work);

/* TLA_BUSY, with a text: the block moves, and `what` cannot be done. */
tla_status tla_object_refuse_moving(tla_object_block *block, const char *what);

/* From now on the block is counted. */
tla_status tla_object_count(tla_object_block *block);

/* Of the blocks that overlap a range: one that is counted, or any; NULL: there is none. */
tla_object_block *tla_object_find_overlapped(const tla_object_store *store, tla_site at, uint64_t nbytes, bool counted);

/* The moving block whose holder may use an address in its new place already; NULL: there is none. */
tla_object_block *tla_object_find_told(const tla_object_store *store, tla_paddr pa);

/* The block of an object. */
static inline tla_object_block *tla_object_block_of(const tla_object_store *store, const tla_mem_object *object) {
    return tla_live_addresses_get(&store->blocks, tla_mem_object_address(object));
}

/* Whether nbytes are those that the block was asked for, or granted. */
bool tla_object_is_size(const tla_object_block *block, uint64_t nbytes);

/* Checks whether `who` may drop a reference to the block, and counts the block if it is not counted. The store keeps
 * the text of an error. *holder (may be NULL) receives the holder. */
tla_status tla_object_find_holder(tla_object_block *block, const char *what, uint64_t who, int kind,
                                  tla_holder **holder);

tla_status tla_object_drop_reference(tla_object_block *block, const char *what, uint64_t who, tla_object_counts *counts,
                                     tla_work *work);

/* Reports a released block to the watch. */
void tla_object_tell(tla_object_store *store, tla_site at, uint64_t granted);

/* Removes the block from the store. */
void tla_object_forget(tla_object_block *block);

/* Removes released blocks; references of the cache that could not be dropped lose their holder. */
void tla_object_sweep(tla_object_store *store);

/* ---- a memory in two parts (object_parts.c) ---- */

/* Whether a part has no room for n blocks of this request; counts it. */
bool tla_object_lacks(tla_object_store *store, tla_memory_kind kind, bool in_l1, const tla_stack_request *request,
                      size_t n);

/* Whether an allocation in L2 that has just failed would succeed if L1 had fewer permille of both parts. L1 keeps its
 * blocks and the bytes that staging needs. False also where only the policy knows. */
bool tla_object_smaller_l1_serves(const tla_object_store *store, tla_memory_kind kind,
                                  const tla_stack_request *request);

/* Whether one block has more bytes than L1; counts it. */
bool tla_object_exceeds_l1(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request);

/* Whether L1 has room for those of n objects that are not there: TLA_EXHAUSTED, with a text. */
tla_status tla_object_check_stage(tla_object_store *store, tla_mem_object *const *objects, size_t n);

/* The block is in L1 from now on, if its memory is divided; or it is free, and in no part any more. */
void tla_object_stage(tla_object_block *block);
void tla_object_unstage(tla_object_block *block);

uint64_t tla_holder_context(uint64_t who);

/* Makes room for one more holder, so that the next tla_holder_add cannot fail. TLA_NO_HOST_MEMORY: nothing changed. */
tla_status tla_holder_reserve(tla_object_block *block);

/* `who` holds one more. */
void tla_holder_add(tla_object_block *block, uint64_t who, int kind);

/* Returns the holder of which `who` may drop a hold; NULL: none. */
tla_holder *tla_holder_for(tla_object_block *block, uint64_t who, int kind);

/* Drops one hold; removes a holder without holds. */
void tla_holder_drop(tla_object_block *block, tla_holder *holder, int kind);

/* Drops all pins of all holders. */
void tla_holder_drop_pins(tla_object_block *block);

/* Whether `who` may give up what `context` holds. */
bool tla_holder_lets(uint64_t context, uint64_t who);

/* Returns whether `who` may access the block: `who` holds it, or an unknown requester does. */
bool tla_holder_is(const tla_object_block *block, uint64_t who);

#endif
