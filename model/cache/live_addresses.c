/* Open addressing, linear probing, at most three quarters full. */
#include "live_addresses.h"

#include <stdlib.h>

/* The multiplicative hash of Knuth's volume 3, 6.4: 2^64 over the golden ratio; the high bits are the good ones. */
static size_t home(const tla_live_addresses *map, uint64_t key) {
    uint64_t hash = key * 0x9E3779B97F4A7C15u;
    return (size_t)(hash ^ hash >> 32) & (map->room - 1);
}

static size_t find(const tla_live_addresses *map, uint64_t key) {
    size_t at = home(map, key);
    while (map->slots[at].value && map->slots[at].key != key)
        at = (at + 1) & (map->room - 1);
    return at;
}

void tla_live_addresses_clear(tla_live_addresses *map) {
    free(map->slots);
    *map = (tla_live_addresses){0};
}

tla_status tla_live_addresses_reserve(tla_live_addresses *map) {
    return tla_live_addresses_reserve_more(map, 1);
}

tla_status tla_live_addresses_reserve_more(tla_live_addresses *map, size_t n) {
    if (map->count + n <= map->room - map->room / 4) return TLA_OK;
    tla_live_addresses larger = {.room = map->room ? 2 * map->room : 16};
    while (map->count + n > larger.room - larger.room / 4)
        larger.room *= 2;
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < map->room; i++)
        if (map->slots[i].value) tla_live_addresses_put(&larger, map->slots[i].key, map->slots[i].value);
    free(map->slots);
    *map = larger;
    return TLA_OK;
}

void tla_live_addresses_put(tla_live_addresses *map, uint64_t key, void *value) {
    map->slots[find(map, key)] = (tla_address_slot){key, value};
    map->count++;
}

void *tla_live_addresses_get(const tla_live_addresses *map, uint64_t key) {
    return map->room ? map->slots[find(map, key)].value : NULL;
}

void *tla_live_addresses_remove(tla_live_addresses *map, uint64_t key) {
    if (!map->room) return NULL;
    size_t mask = map->room - 1, hole = find(map, key);
    void *value = map->slots[hole].value;
    if (!value) return NULL;
    /* Move later entries of the same run back over the hole, if the hole is not before their home. */
    for (size_t at = (hole + 1) & mask; map->slots[at].value; at = (at + 1) & mask) {
        size_t wanted = home(map, map->slots[at].key);
        if (((at - wanted) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].value = NULL;
    map->count--;
    return value;
}

void *tla_live_addresses_walk(const tla_live_addresses *map, size_t *at) {
    while (*at < map->room) {
        void *value = map->slots[(*at)++].value;
        if (value) return value;
    }
    return NULL;
}
