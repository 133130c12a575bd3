/* Where a live address keeps its record: an open-addressing hash map, uint64_t -> pointer.
 *
 * Linear probing with deletion by shifting back, so that no tombstones exist and lookups always stay short. No result
 * of a walk of the map may depend on the order of its slots. Internal to model/cache and model/memory. */
#ifndef TLMALLOC_CACHE_LIVE_ADDRESSES_H
#define TLMALLOC_CACHE_LIVE_ADDRESSES_H

#include "tlmalloc/base/status.h"

#include <stddef.h>

typedef struct tla_address_slot {
    uint64_t key;
    void *value; /* NULL: the slot is empty */
} tla_address_slot;

/* All zero is an empty map. */
typedef struct tla_live_addresses {
    tla_address_slot *slots;
    size_t count, room; /* room is 0 or a power of two */
} tla_live_addresses;

void tla_live_addresses_clear(tla_live_addresses *map);

/* Makes room for one more key, so that the next put cannot fail. TLA_NO_HOST_MEMORY: nothing changed. */
tla_status tla_live_addresses_reserve(tla_live_addresses *map);

/* The same for n more keys. */
tla_status tla_live_addresses_reserve_more(tla_live_addresses *map, size_t n);

/* Adds a key that is not in the map, after tla_live_addresses_reserve; value is not NULL. */
void tla_live_addresses_put(tla_live_addresses *map, uint64_t key, void *value);

/* The key's value, NULL when it is not in the map. */
void *tla_live_addresses_get(const tla_live_addresses *map, uint64_t key);

/* Takes the key out and returns its value, NULL when it was not in the map. */
void *tla_live_addresses_remove(tla_live_addresses *map, uint64_t key);

/* The values one after the other, in no order that means anything; *at is 0 at first. NULL after the last. */
void *tla_live_addresses_walk(const tla_live_addresses *map, size_t *at);

#endif
