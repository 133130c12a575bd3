/* A map from key to entry, and an order of the keys that may leave. */
#include "tlmalloc/cache/objects.h"

#include "live_addresses.h"

#include <stdlib.h>
#include <string.h>

typedef struct cache_entry {
    uint64_t key;
    size_t count;
    tla_mem_object *objects[];
} cache_entry;

struct tla_hot_cache {
    tla_live_addresses by_key;
    tla_victims *victims;
    tla_hot_cache_stats stats;
};

tla_status tla_hot_cache_create(tla_victim_rule rule, tla_hot_cache **out) {
    *out = NULL;
    tla_hot_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return TLA_NO_HOST_MEMORY;
    const tla_status status = tla_victims_create(rule, &cache->victims);
    if (status)
        free(cache);
    else
        *out = cache;
    return status;
}

/* Removes the entry, also when parents of its objects fail; returns the first failure. */
static tla_status drop(tla_hot_cache *cache, cache_entry *entry, tla_work *work) {
    tla_status first = TLA_OK;
    tla_victims_remove(cache->victims, entry->key, work);
    tla_live_addresses_remove(&cache->by_key, entry->key);
    for (size_t i = 0; i < entry->count; i++) {
        tla_status status = tla_mem_object_ref_down(entry->objects[i], work);
        if (!first) first = status;
    }
    free(entry);
    cache->stats.entries--;
    return first;
}

tla_status tla_hot_cache_destroy(tla_hot_cache *cache, tla_work *work) {
    tla_status first = TLA_OK;
    if (!cache) return TLA_OK;
    for (uint64_t key; tla_victims_first(cache->victims, &key);) {
        tla_status status = drop(cache, tla_live_addresses_get(&cache->by_key, key), work);
        if (!first) first = status;
    }
    tla_live_addresses_clear(&cache->by_key);
    tla_victims_destroy(cache->victims);
    free(cache);
    return first;
}

tla_status tla_hot_cache_put(tla_hot_cache *cache, uint64_t tenant, uint64_t key, tla_mem_object *const *objects,
                             size_t n, bool *added, tla_work *work) {
    if (added) *added = false;
    if (n == 0 || n > SIZE_MAX / sizeof *objects - 8) return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < n; i++)
        if (!tla_mem_object_is_valid(objects[i])) return TLA_NOT_ALLOCATED;
    if (tla_live_addresses_get(&cache->by_key, key)) return TLA_OK;
    tla_status status = tla_live_addresses_reserve(&cache->by_key);
    if (status) return status;
    cache_entry *entry = malloc(sizeof *entry + n * sizeof *objects);
    if (!entry) return TLA_NO_HOST_MEMORY;
    status = tla_victims_enter(cache->victims, tenant, key, work);
    if (status) {
        free(entry);
        return status;
    }
    entry->key = key;
    entry->count = n;
    memcpy(entry->objects, objects, n * sizeof *objects);
    for (size_t i = 0; i < n; i++)
        tla_mem_object_ref_up(objects[i]);
    tla_live_addresses_put(&cache->by_key, key, entry);
    cache->stats.entries++;
    if (added) *added = true;
    return TLA_OK;
}

tla_status tla_hot_cache_peek(const tla_hot_cache *cache, uint64_t key, tla_mem_object *const **objects, size_t *n) {
    const cache_entry *entry = tla_live_addresses_get(&cache->by_key, key);
    if (!entry) return TLA_NOT_ALLOCATED;
    *objects = entry->objects;
    *n = entry->count;
    return TLA_OK;
}

tla_status tla_hot_cache_get(tla_hot_cache *cache, uint64_t key, tla_mem_object *const **objects, size_t *n) {
    cache_entry *entry = tla_live_addresses_get(&cache->by_key, key);
    if (!entry) return TLA_NOT_ALLOCATED;
    tla_victims_touch(cache->victims, key);
    for (size_t i = 0; i < entry->count; i++)
        tla_mem_object_ref_up(entry->objects[i]);
    *objects = entry->objects;
    *n = entry->count;
    return TLA_OK;
}

bool tla_hot_cache_contains(tla_hot_cache *cache, uint64_t key, bool pin, uint64_t now_ps) {
    cache_entry *entry = tla_live_addresses_get(&cache->by_key, key);
    for (size_t i = 0; entry && pin && i < entry->count; i++)
        tla_mem_object_pin(entry->objects[i], now_ps);
    return entry != NULL;
}

tla_status tla_hot_cache_remove(tla_hot_cache *cache, uint64_t key, tla_work *work) {
    cache_entry *entry = tla_live_addresses_get(&cache->by_key, key);
    return entry ? drop(cache, entry, work) : TLA_NOT_ALLOCATED;
}

static bool can_evict(void *context, uint64_t key) {
    const tla_hot_cache *cache = context;
    const cache_entry *entry = tla_live_addresses_get(&cache->by_key, key);
    size_t i = 0;
    while (i < entry->count && tla_mem_object_can_evict(entry->objects[i]))
        i++;
    return i == entry->count;
}

static tla_status evict(tla_hot_cache *cache, uint64_t key, tla_work *work) {
    cache->stats.evicted++;
    return drop(cache, tla_live_addresses_get(&cache->by_key, key), work);
}

tla_status tla_hot_cache_alloc(tla_hot_cache *cache, uint64_t tenant, tla_hot_cache_try attempt, void *context,
                               bool busy_loop, tla_work *work) {
    for (;;) {
        tla_status status = attempt(context, work);
        uint64_t key;
        if (status != TLA_EXHAUSTED && status != TLA_FRAGMENTED && status != TLA_LIMIT) return status;
        if (tla_victims_choose(cache->victims, tenant, 1, can_evict, cache, &key, work) == 0) {
            if (busy_loop) {
                cache->stats.waits++;
                return TLA_BUSY;
            }
            cache->stats.failures++;
            return status;
        }
        status = evict(cache, key, work);
        if (status) return status;
    }
}

tla_status tla_hot_cache_evict(tla_hot_cache *cache, uint64_t tenant, uint32_t permille, tla_work *work) {
    const size_t wanted = tla_victims_share(cache->victims, tenant, permille);
    uint64_t *keys = calloc(wanted ? wanted : 1, sizeof *keys);
    if (!keys) return TLA_NO_HOST_MEMORY;
    tla_status first = TLA_OK;
    const size_t count = tla_victims_choose(cache->victims, tenant, wanted, can_evict, cache, keys, work);
    for (size_t i = 0; i < count; i++) {
        const tla_status status = evict(cache, keys[i], work);
        if (!first) first = status;
    }
    free(keys);
    return first;
}

tla_hot_cache_stats tla_hot_cache_get_stats(const tla_hot_cache *cache) {
    return cache->stats;
}
