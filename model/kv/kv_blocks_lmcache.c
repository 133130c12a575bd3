/* LMCache's rules, from its parts: slots of one queue, objects with counts, and a cache with a reference of its own to
 * each entry. The cache evicts the least recently used entry that only it refers to. */
#include "kv_blocks_rules.h"
#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/cache/objects.h"

#include <stdlib.h>

typedef struct lmcache_state {
    bool has_index;
    uint32_t blocks;
    tla_slot_pool *slots;     /* slot i is block i + 1 */
    tla_mem_object **objects; /* of every block but 0; recycled, so that they stay when their slots are free */
    tla_hot_cache *cache;
    bool *entered;   /* the cache refers to the block, */
    uint64_t *keys;  /* under this key */
    uint32_t cached; /* blocks to which only the cache refers */
} lmcache_state;

static tla_status give_slot_back(void *context, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)nbytes;
    lmcache_state *s = context;
    s->cached -= s->entered[address + 1];
    s->entered[address + 1] = false;
    return tla_slot_pool_free(s->slots, address, work);
}

static void destroy(void *state) {
    lmcache_state *s = state;
    if (!s) return;
    if (s->cache) (void)tla_hot_cache_destroy(s->cache, NULL);
    for (uint32_t block = 1; s->objects && block < s->blocks; block++)
        if (s->objects[block]) (void)tla_mem_object_destroy(s->objects[block], NULL);
    tla_slot_pool_destroy(s->slots);
    free(s->objects);
    free(s->entered);
    free(s->keys);
    free(s);
}

/* An object for every slot. Each is made as its owner's, and let go: the slots are free in their order then. */
static tla_status make_objects(lmcache_state *s) {
    tla_slot slot;
    for (uint32_t block = 1; block < s->blocks; block++) {
        const tla_mem_object_config config = {
            .address = block - 1, .nbytes = 1, .used = 1, .parent = {give_slot_back, s}, .recycled = true};
        tla_status status = tla_slot_pool_alloc(s->slots, 1, &slot, NULL);
        if (!status) status = tla_mem_object_create(&config, &s->objects[block]);
        if (status) return status;
    }
    for (uint32_t block = 1; block < s->blocks; block++)
        (void)tla_mem_object_ref_down(s->objects[block], NULL);
    return TLA_OK;
}

static tla_status create(uint32_t blocks, bool index, void **state) {
    *state = NULL;
    lmcache_state *made = calloc(1, sizeof *made);
    if (!made) return TLA_NO_HOST_MEMORY;
    made->has_index = index;
    made->blocks = blocks;
    made->objects = calloc(blocks, sizeof *made->objects);
    made->entered = calloc(blocks, sizeof *made->entered);
    made->keys = calloc(blocks, sizeof *made->keys);
    const tla_slot_pool_config slots = {.nbytes = blocks - 1, .slot_bytes = 1};
    tla_status status = made->objects && made->entered && made->keys ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (!status) status = tla_slot_pool_create(&slots, &made->slots);
    if (!status) status = tla_hot_cache_create(TLA_VICTIM_LRU, &made->cache);
    if (!status) status = make_objects(made);
    if (status)
        destroy(made);
    else
        *state = made;
    return status;
}

static uint32_t block_of(tla_mem_object *const *objects) {
    return (uint32_t)tla_mem_object_address(objects[0]) + 1;
}

static uint32_t find(const void *state, uint64_t hash, tla_work *work) {
    const lmcache_state *s = state;
    tla_mem_object *const *objects;
    size_t count;
    if (!s->has_index) return 0;
    if (work) work->class_lookups++;
    return tla_hot_cache_peek(s->cache, hash, &objects, &count) ? 0 : block_of(objects);
}

static void reuse(void *state, uint32_t block, bool first, tla_work *work) {
    lmcache_state *s = state;
    tla_mem_object *const *objects;
    size_t count;
    (void)tla_hot_cache_get(s->cache, s->keys[block], &objects, &count); /* with a reference for the request */
    s->cached -= first;
    if (work) work->metadata_lines++;
}

typedef struct slot_request {
    tla_slot_pool *slots;
    tla_slot slot;
} slot_request;

static tla_status try_slot(void *context, tla_work *work) {
    slot_request *request = context;
    return tla_slot_pool_alloc(request->slots, 1, &request->slot, work);
}

static uint32_t take(void *state, bool *evicted, uint64_t *hash, tla_work *work) {
    lmcache_state *s = state;
    slot_request request = {.slots = s->slots};
    const uint64_t before = tla_hot_cache_get_stats(s->cache).evicted;
    (void)tla_hot_cache_alloc(s->cache, 0, try_slot, &request, false, work); /* such an entry exists */
    const uint32_t block = (uint32_t)request.slot.index + 1;
    *evicted =
        tla_hot_cache_get_stats(s->cache).evicted > before; /* the slot that the eviction released is this slot */
    *hash = s->keys[block];
    tla_mem_object_renew(s->objects[block]);
    return block;
}

/* Content that exists already stays where it is, and the block belongs to its request alone. */
static tla_status enter(void *state, uint32_t block, uint64_t hash, tla_work *work) {
    lmcache_state *s = state;
    bool added;
    if (!s->has_index) return TLA_OK;
    const tla_status status = tla_hot_cache_put(s->cache, 0, hash, &s->objects[block], 1, &added, work);
    if (status || !added) return status;
    s->entered[block] = true;
    s->keys[block] = hash;
    if (work) work->nodes_created++;
    return TLA_OK;
}

static void release(void *state, uint32_t block, bool last, tla_work *work) {
    lmcache_state *s = state;
    s->cached += last && s->entered[block];
    (void)tla_mem_object_ref_down(s->objects[block], work); /* its slot is free then, or the cache's */
    if (work) work->metadata_lines++;
}

static uint32_t cached(const void *state) {
    return ((const lmcache_state *)state)->cached;
}

const tla_kv_rules tla_kv_lmcache_rules = {.create = create,
                                           .destroy = destroy,
                                           .find = find,
                                           .reuse = reuse,
                                           .take = take,
                                           .enter = enter,
                                           .release = release,
                                           .cached = cached,
                                           .reuse_backwards = true};
