/* A map from key to entry, and a list of the entries in order of use. */
#include "tlmalloc/cache/objects.h"

#include "live_addresses.h"

#include <stdlib.h>
#include <string.h>

typedef struct cache_entry {
    uint64_t key;
    struct cache_entry *previous, *next;
    size_t count;
    tla_mem_object *objects[];
} cache_entry;

struct tla_hot_cache {
    tla_live_addresses by_key;
    cache_entry *oldest, *newest;
    tla_hot_cache_stats stats;
};

tla_status tla_hot_cache_create(tla_hot_cache **out) {
    *out = calloc(1, sizeof **out);
    return *out ? TLA_OK : TLA_NO_HOST_MEMORY;
}

static void append(tla_hot_cache *cache, cache_entry *entry) {
    entry->previous = cache->newest;
    entry->next = NULL;
    if (cache->newest)
        cache->newest->next = entry;
    else
        cache->oldest = entry;
    cache->newest = entry;
}

static void take_out(tla_hot_cache *cache, cache_entry *entry) {
    if (entry->previous)
        entry->previous->next = entry->next;
    else
        cache->oldest = entry->next;
    if (entry->next)
        entry->next->previous = entry->previous;
    else
        cache->newest = entry->previous;
}

/* Removes the entry, also when parents of its objects fail; returns the first failure. */
static tla_status drop(tla_hot_cache *cache, cache_entry *entry, tla_work *work) {
    tla_status first = TLA_OK;
    take_out(cache, entry);
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
    while (cache && cache->oldest) {
        tla_status status = drop(cache, cache->oldest, work);
        if (!first) first = status;
    }
    if (cache) tla_live_addresses_clear(&cache->by_key);
    free(cache);
    return first;
}

tla_status tla_hot_cache_put(tla_hot_cache *cache, uint64_t key, tla_mem_object *const *objects, size_t n,
                             bool *added) {
    if (added) *added = false;
    if (n == 0 || n > SIZE_MAX / sizeof *objects - 8) return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < n; i++)
        if (!tla_mem_object_is_valid(objects[i])) return TLA_NOT_ALLOCATED;
    if (tla_live_addresses_get(&cache->by_key, key)) return TLA_OK;
    tla_status status = tla_live_addresses_reserve(&cache->by_key);
    if (status) return status;
    cache_entry *entry = malloc(sizeof *entry + n * sizeof *objects);
    if (!entry) return TLA_NO_HOST_MEMORY;
    entry->key = key;
    entry->count = n;
    memcpy(entry->objects, objects, n * sizeof *objects);
    for (size_t i = 0; i < n; i++)
        tla_mem_object_ref_up(objects[i]);
    append(cache, entry);
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
    take_out(cache, entry);
    append(cache, entry);
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

static cache_entry *find_evictable(const tla_hot_cache *cache, tla_work *work) {
    for (cache_entry *entry = cache->oldest; entry; entry = entry->next) {
        size_t i = 0;
        while (i < entry->count && tla_mem_object_can_evict(entry->objects[i]))
            i++;
        if (work) work->nodes_visited++;
        if (i == entry->count) return entry;
    }
    return NULL;
}

tla_status tla_hot_cache_alloc(tla_hot_cache *cache, tla_hot_cache_try attempt, void *context, bool busy_loop,
                               tla_work *work) {
    for (;;) {
        tla_status status = attempt(context, work);
        if (status != TLA_EXHAUSTED && status != TLA_FRAGMENTED && status != TLA_LIMIT) return status;
        cache_entry *entry = find_evictable(cache, work);
        if (!entry) {
            if (busy_loop) {
                cache->stats.waits++;
                return TLA_BUSY;
            }
            cache->stats.failures++;
            return status;
        }
        cache->stats.evicted++;
        status = drop(cache, entry, work);
        if (status) return status;
    }
}

tla_hot_cache_stats tla_hot_cache_get_stats(const tla_hot_cache *cache) {
    return cache->stats;
}
