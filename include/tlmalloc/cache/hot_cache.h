/* Objects under keys, the least recently used evicted to serve a request: LMCache's LocalCPUBackend.
 *
 * An entry is a group of objects, one a layer or just one, which come and go together. The cache has a reference to
 * each. Where LMCache sleeps until something can be evicted, a call here says TLA_BUSY: the core has no clock.
 * Evicting k objects does not make a hole for k of them (issues #1285, #2767, #3187): whether it does is the
 * allocator's affair. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_CACHE_HOT_CACHE_H
#define TLMALLOC_CACHE_HOT_CACHE_H

#include "tlmalloc/cache/mem_object.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_hot_cache tla_hot_cache;

/* TLA_NO_HOST_MEMORY; *cache is NULL then. */
tla_status tla_hot_cache_create(tla_hot_cache **cache);

/* Drops every entry, least recently used first, and its references; NULL is allowed. The objects belong to the caller.
 * Returns the first failure of a parent. */
tla_status tla_hot_cache_destroy(tla_hot_cache *cache, tla_work *work);

/* Enters n objects (at least 1) under a key, most recently used, with one more reference each. A key that is there
 * already is left as it is, with TLA_OK and *added (may be NULL) false. TLA_INVALID_ARGUMENT for n = 0,
 * TLA_NOT_ALLOCATED for an object that has been given back, TLA_NO_HOST_MEMORY; nothing is changed then. */
tla_status tla_hot_cache_put(tla_hot_cache *cache, uint64_t key, tla_mem_object *const *objects, size_t n, bool *added);

/* What stands under a key, without using it: no reference, and its place in the order stays. TLA_NOT_ALLOCATED when
 * there is no such key. */
tla_status tla_hot_cache_peek(const tla_hot_cache *cache, uint64_t key, tla_mem_object *const **objects, size_t *n);

/* Makes the entry the most recently used; *objects (n of them, the cache's own array, valid until the entry goes) have
 * one more reference each, for the caller. TLA_NOT_ALLOCATED when there is no such key. */
tla_status tla_hot_cache_get(tla_hot_cache *cache, uint64_t key, tla_mem_object *const **objects, size_t *n);

/* Whether the key is there; and if so, and `pin`, pins its objects at now_ps. Does not change the order. */
bool tla_hot_cache_contains(tla_hot_cache *cache, uint64_t key, bool pin, uint64_t now_ps);

/* Takes the entry out and drops its references: memory goes back when nobody else has one. TLA_NOT_ALLOCATED when there
 * is no such key; else what a parent says that refuses (the entry is out all the same). */
tla_status tla_hot_cache_remove(tla_hot_cache *cache, uint64_t key, tla_work *work);

/* What a request asks for: any allocation, single or batch. Called until it succeeds or nothing can be evicted. */
typedef tla_status (*tla_hot_cache_try)(void *context, tla_work *work);

/* Tries; when memory is wanting (TLA_EXHAUSTED, TLA_FRAGMENTED, TLA_LIMIT) evicts the least recently used entry of
 * which every object can be evicted, and tries again at once. With nothing left to evict: TLA_BUSY with `busy_loop`
 * (LMCache waits 0.1 s and tries for ever: call again later; stores must not do so, they deadlock), else what the last
 * try said. Other failures are handed on. Evicted entries stay evicted. */
tla_status tla_hot_cache_alloc(tla_hot_cache *cache, tla_hot_cache_try attempt, void *context, bool busy_loop,
                               tla_work *work);

typedef struct tla_hot_cache_stats {
    uint64_t entries;
    uint64_t evicted;  /* entries, since the beginning */
    uint64_t waits;    /* answers TLA_BUSY */
    uint64_t failures; /* requests that failed for want of memory */
} tla_hot_cache_stats;

tla_hot_cache_stats tla_hot_cache_get_stats(const tla_hot_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
