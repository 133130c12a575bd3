/* Objects of a store under keys, and allocations that evict them. */
#include "object_block.h"

#include <inttypes.h>
#include <stdlib.h>

/* The blocks of one entry, counted and of one memory, and the context that allocated the first. */
static tla_status collect(tla_object_store *store, const tla_site *sites, size_t n, tla_mem_object **objects,
                          tla_memory_kind *kind, uint64_t *tenant, tla_work *work) {
    for (size_t i = 0; i < n; i++) {
        tla_object_block *block;
        tla_status status = tla_object_begin(store, "PUT", sites[i], &block, work);
        if (status) return status;
        if (i > 0 && block->at.memory != *kind)
            return tla_error_set(&store->refused, TLA_INVALID_ARGUMENT,
                                 "PUT of 0x%" PRIx64 ": the block is in the %s, but the others are in the %s",
                                 sites[i].pa.value, tla_memory_kind_title(block->at.memory),
                                 tla_memory_kind_title(*kind));
        status = tla_object_count(block);
        if (status) return status;
        *kind = block->at.memory;
        if (i == 0) *tenant = block->allocated_for;
        objects[i] = block->object;
    }
    return TLA_OK;
}

/* Enters objects of one memory. */
static tla_status enter(tla_object_store *store, tla_memory_kind kind, uint64_t tenant, uint64_t key,
                        tla_mem_object *const *objects, size_t n, bool *added, tla_work *work) {
    if (!tla_hot_cache_contains(store->caches[kind], key, false, 0)) {
        const tla_status status = tla_object_check_stage(store, objects, n);
        if (status) return status;
    }
    const tla_status status = tla_hot_cache_put(store->caches[kind], tenant, key, objects, n, added, work);
    for (size_t i = 0; i < n && *added; i++)
        tla_object_stage(tla_object_block_of(store, objects[i]));
    return status;
}

tla_status tla_object_put(tla_object_store *store, uint64_t key, const tla_mem_object_meta *meta, const tla_site *sites,
                          size_t n, bool *added, tla_work *work) {
    store->refused.status = TLA_OK;
    *added = false;
    if (n == 0) return tla_error_set(&store->refused, TLA_INVALID_ARGUMENT, "PUT of 0 blocks: must be at least 1");
    tla_mem_object **objects = calloc(n, sizeof(tla_mem_object *));
    if (!objects) return TLA_NO_HOST_MEMORY;
    tla_memory_kind kind = TLA_HBM;
    uint64_t tenant = TLA_WHO_UNKNOWN;
    tla_status status = collect(store, sites, n, objects, &kind, &tenant, work);
    if (!status) status = enter(store, kind, tenant, key, objects, n, added, work);
    for (size_t i = 0; i < n && *added; i++)
        tla_mem_object_set_meta(objects[i], meta);
    free(objects);
    return status;
}

/* Finds the blocks under a key, for a call named `what`. */
static tla_status find(tla_object_store *store, const char *what, tla_memory_kind kind, uint64_t key,
                       tla_mem_object *const **objects, size_t *n, tla_work *work) {
    store->refused.status = TLA_OK;
    if (work) work->metadata_lines++;
    if ((unsigned)kind >= TLA_MEMORY_KIND_COUNT) return TLA_INVALID_ARGUMENT;
    if (tla_hot_cache_peek(store->caches[kind], key, objects, n))
        return tla_error_set(&store->refused, TLA_NOT_ALLOCATED,
                             "%s of key 0x%" PRIx64 ": the key is not in the cache of the %s", what, key,
                             tla_memory_kind_title(kind));
    if (work) work->metadata_lines += *n;
    for (size_t i = 0; i < *n; i++) {
        tla_object_block *block = tla_object_block_of(store, (*objects)[i]);
        if (block->moving) return tla_object_refuse_moving(block, what);
    }
    return TLA_OK;
}

tla_status tla_object_get(tla_object_store *store, tla_memory_kind kind, uint64_t key, uint64_t who,
                          tla_mem_object_meta *meta, tla_placed_block *blocks, size_t room, size_t *n, tla_work *work) {
    tla_mem_object *const *objects;
    tla_status status = find(store, "GET", kind, key, &objects, n, work);
    if ((unsigned)kind < TLA_MEMORY_KIND_COUNT && status != TLA_BUSY) /* sent again when the block has moved */
        *(status ? &store->stats[kind].misses : &store->stats[kind].hits) += 1;
    if (!status && *n > room) status = TLA_LIMIT;
    for (size_t i = 0; !status && i < *n; i++)
        status = tla_holder_reserve(tla_object_block_of(store, objects[i]));
    if (!status) status = tla_hot_cache_get(store->caches[kind], key, &objects, n);
    if (status) return status;
    *meta = tla_mem_object_get_meta(objects[0]);
    for (size_t i = 0; i < *n; i++) {
        tla_object_block *block = tla_object_block_of(store, objects[i]);
        tla_holder_add(block, who, TLA_HOLD_REFERENCE);
        store->stats[kind].references++;
        blocks[i] = (tla_placed_block){block->at.pa, block->nbytes};
    }
    return TLA_OK;
}

tla_status tla_object_remove(tla_object_store *store, tla_memory_kind kind, uint64_t key, size_t *n, tla_work *work) {
    tla_mem_object *const *objects;
    size_t count = 0;
    tla_status status = find(store, "REMOVE", kind, key, &objects, &count, work);
    if (n) *n = count;
    if (status) return status;
    store->cache_gives_up = true;
    status = tla_hot_cache_remove(store->caches[kind], key, work);
    store->cache_gives_up = false;
    tla_object_sweep(store);
    return status;
}

/* The request that an allocation with eviction repeats. */
typedef struct attempt {
    tla_object_store *store;
    tla_memory_kind memory;
    const tla_stack_request *request;
    uint64_t who;
    tla_site *at;
} attempt;

static tla_status try_alloc(void *context, tla_work *work) {
    const attempt *a = context;
    tla_object_sweep(a->store); /* so that an address that is given out again is no block that is gone */
    tla_status status = tla_object_prepare(a->store, 1);
    if (!status && tla_object_lacks(a->store, a->memory, true, a->request, 1)) status = TLA_EXHAUSTED;
    if (!status) status = tla_pe_memory_take(a->store->memory, a->memory, a->request, a->at, work);
    if (status) return status;
    tla_object_enter(a->store, *a->at, a->request->nbytes, a->who);
    tla_object_stage(tla_live_addresses_get(&a->store->blocks, a->at->pa.value));
    return TLA_OK;
}

tla_status tla_object_evict(tla_object_store *store, tla_memory_kind kind, const tla_stack_request *request, bool busy,
                            uint64_t who, tla_site *at, tla_work *work) {
    if ((unsigned)kind >= TLA_MEMORY_KIND_COUNT) return TLA_INVALID_ARGUMENT;
    if (tla_object_exceeds_l1(store, kind, request)) return TLA_EXHAUSTED;
    attempt a = {store, kind, request, who, at};
    store->cache_gives_up = true;
    const tla_status status =
        tla_hot_cache_alloc(store->caches[kind], tla_holder_context(who), try_alloc, &a, busy, work);
    store->cache_gives_up = false;
    tla_object_sweep(store);
    return status;
}

tla_status tla_object_evict_share(tla_object_store *store, tla_memory_kind kind, uint32_t permille, uint64_t *evicted,
                                  tla_work *work) {
    tla_hot_cache *cache = store->caches[kind];
    const uint64_t before = tla_hot_cache_get_stats(cache).evicted;
    store->refused.status = TLA_OK;
    store->cache_gives_up = true;
    const tla_status status = tla_hot_cache_evict(cache, TLA_WHO_UNKNOWN, permille, work);
    store->cache_gives_up = false;
    tla_object_sweep(store);
    *evicted = tla_hot_cache_get_stats(cache).evicted - before;
    return status;
}
