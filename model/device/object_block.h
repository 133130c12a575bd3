/* A block of an object store, and who holds it. Internal to model/device. */
#ifndef TLMALLOC_DEVICE_OBJECT_BLOCK_H
#define TLMALLOC_DEVICE_OBJECT_BLOCK_H

#include "pool/live_addresses.h"
#include "tlmalloc/allocators/mem_object.h"
#include "tlmalloc/device/object_store.h"

enum { TLA_HOLD_REFERENCE, TLA_HOLD_PIN, TLA_HOLD_KINDS };

typedef struct tla_holder {
    uint64_t context; /* tla_who_context, or TLA_WHO_UNKNOWN */
    uint64_t held[TLA_HOLD_KINDS];
} tla_holder;

typedef struct tla_object_block {
    tla_object_store *store;
    tla_channel channel;
    tla_paddr pa;
    uint64_t nbytes;                  /* as asked for */
    uint64_t allocated_for;           /* the context; all there is to know until it is counted */
    tla_mem_object *object;           /* its counts; NULL until it is counted */
    tla_holder *holders;              /* when it is, in the order in which they came; each holds something */
    size_t holder_count, holder_room; /* of the array */
} tla_object_block;

/* What a guard comes back with. */
typedef struct tla_object_share {
    tla_object_store *store;
    tla_channel channel;
} tla_object_share;

struct tla_object_store {
    tla_pe_memory *memory;
    tla_object_watcher watcher;
    tla_live_addresses blocks; /* by physical address */
    tla_pin_monitor *monitor;
    tla_object_share shares[TLA_CHANNEL_COUNT];
    tla_object_stats stats[TLA_CHANNEL_COUNT];
    tla_error refused;
};

uint64_t tla_holder_context(uint64_t who);

/* Makes room for one more holder, so that the next tla_holder_add cannot fail. TLA_NO_HOST_MEMORY: nothing changed. */
tla_status tla_holder_reserve(tla_object_block *block);

/* `who` holds one more. */
void tla_holder_add(tla_object_block *block, uint64_t who, int kind);

/* Of whom `who` may give up one; NULL: of nobody. */
tla_holder *tla_holder_for(tla_object_block *block, uint64_t who, int kind);

/* One less; one who holds nothing any more is none. */
void tla_holder_drop(tla_object_block *block, tla_holder *holder, int kind);

/* Nobody holds a pin any more. */
void tla_holder_drop_pins(tla_object_block *block);

/* Whether `who` may give up what `context` holds. */
bool tla_holder_lets(uint64_t context, uint64_t who);

/* Whether `who` may access the block: it holds something, or somebody unknown does. */
bool tla_holder_is(const tla_object_block *block, uint64_t who);

#endif
