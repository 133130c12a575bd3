/* Where a live address keeps its record: an open-addressing hash map, uint64_t -> pointer.
 *
 * Linear probing with deletion by shifting back, so that there are no tombstones and lookups stay short for ever.
 * Only a clean-up walks the map: no result depends on the order of its slots. Internal to model/pool. */
#ifndef TLMALLOC_POOL_ADDRESS_MAP_H
#define TLMALLOC_POOL_ADDRESS_MAP_H

#include "tlmalloc/status.h"

#include <stddef.h>

typedef struct tla_address_slot {
    uint64_t key;
    void *value; /* NULL: the slot is empty */
} tla_address_slot;

/* All zero is an empty map. */
typedef struct tla_address_map {
    tla_address_slot *slots;
    size_t count, room; /* room is 0 or a power of two */
} tla_address_map;

void tla_address_map_clear(tla_address_map *map);

/* Makes room for one more key, so that the next put cannot fail. TLA_NO_HOST_MEMORY: nothing changed. */
tla_status tla_address_map_reserve(tla_address_map *map);

/* The same for n more keys. */
tla_status tla_address_map_reserve_more(tla_address_map *map, size_t n);

/* Adds a key that is not in the map, after tla_address_map_reserve; value is not NULL. */
void tla_address_map_put(tla_address_map *map, uint64_t key, void *value);

/* The key's value, NULL when it is not in the map. */
void *tla_address_map_get(const tla_address_map *map, uint64_t key);

/* Takes the key out and returns its value, NULL when it was not in the map. */
void *tla_address_map_remove(tla_address_map *map, uint64_t key);

/* The values one after the other, in no order that means anything; *at is 0 at first. NULL after the last. */
void *tla_address_map_walk(const tla_address_map *map, size_t *at);

#endif
