/* The hits of a cache of prompts' blocks: the requests pass one after the other through LMCache's cache. */
#include "serving/prefix_study.h"

#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/cache/objects.h"

#include <stdlib.h>

/* A slot is a block, and has an object that every owner of the slot uses again. */
typedef struct cache {
    tla_slot_pool *slots;
    tla_hot_cache *entries;
    tla_mem_object **objects; /* by slot; NULL: not used yet */
    uint64_t slot_count;
    tla_slot slot; /* the one taken last */
    const tla_prefix_cache *config;
    uint64_t next_s; /* the next second of arrivals */
} cache;

static tla_status free_slot(void *context, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)nbytes;
    return tla_slot_pool_free(context, address, work);
}

static tla_status take_slot(void *context, tla_work *work) {
    cache *c = context;
    return tla_slot_pool_alloc(c->slots, 1, &c->slot, work);
}

/* The object of the slot that was taken last. */
static tla_status object_of_slot(cache *c, tla_mem_object **object) {
    tla_mem_object **of_slot = &c->objects[c->slot.index];
    if (*of_slot) {
        tla_mem_object_renew(*of_slot);
    } else {
        const tla_mem_object_config config = {
            .address = c->slot.index, .nbytes = 1, .used = 1, .parent = {free_slot, c->slots}, .recycled = true};
        const tla_status status = tla_mem_object_create(&config, of_slot);
        if (status) return status;
    }
    *object = *of_slot;
    return TLA_OK;
}

/* The block becomes the one used last. */
static tla_status use(cache *c, uint64_t block) {
    tla_work work = {0};
    tla_mem_object *const *objects;
    size_t n;
    if (c->slot_count == 0) return TLA_OK;
    if (tla_hot_cache_get(c->entries, block, &objects, &n) == TLA_OK) return tla_mem_object_ref_down(objects[0], &work);
    tla_mem_object *object;
    tla_status status = tla_hot_cache_alloc(c->entries, 0, take_slot, c, false, &work);
    if (!status) status = object_of_slot(c, &object);
    if (!status) status = tla_hot_cache_put(c->entries, 0, block, &object, 1, NULL, &work);
    return status ? status : tla_mem_object_ref_down(object, &work); /* the cache's reference is left */
}

static void destroy(cache *c) {
    tla_work work = {0};
    if (c->entries) (void)tla_hot_cache_destroy(c->entries, &work);
    for (uint64_t i = 0; c->objects && i < c->slot_count; i++)
        if (c->objects[i]) (void)tla_mem_object_destroy(c->objects[i], &work);
    free(c->objects);
    tla_slot_pool_destroy(c->slots);
}

static tla_status create(cache *c, const tla_prefix_cache *config, uint64_t slots) {
    *c = (cache){.slot_count = slots, .config = config, .next_s = 1};
    if (slots == 0) return TLA_OK;
    const tla_slot_pool_config pool = {.nbytes = slots, .slot_bytes = 1};
    c->objects = calloc(slots, sizeof(tla_mem_object *));
    tla_status status = c->objects ? tla_slot_pool_create(&pool, &c->slots) : TLA_NO_HOST_MEMORY;
    return status ? status : tla_hot_cache_create(config->rule, &c->entries);
}

/* Once a second, a cache that has reached its watermark gives up a share of its blocks. */
static tla_status keep_below_watermark(cache *c, uint64_t now_s) {
    tla_work work = {0};
    tla_status status = TLA_OK;
    for (; !status && c->next_s <= now_s; c->next_s++) {
        if (!tla_watermark_is_reached(tla_hot_cache_get_stats(c->entries).entries, c->slot_count, c->config->watermark))
            c->next_s = now_s; /* nothing changes before the arrival */
        else
            status = tla_hot_cache_evict(c->entries, 0, c->config->share, &work);
    }
    return status;
}

/* Blocks of a prompt alone; the last one of Mooncake's may be partial. */
static uint64_t blocks_of(const tla_serving_requests *requests, const tla_serving_request *request) {
    const uint64_t full = request->prompt_tokens / requests->block_tokens;
    return requests->blocks_of_prompt || request->block_count < full ? request->block_count : full;
}

static tla_status serve(cache *c, const tla_serving_requests *requests, const tla_serving_request *request,
                        tla_prefix_study *study) {
    const uint64_t count = blocks_of(requests, request), full = request->prompt_tokens / requests->block_tokens;
    uint64_t hit = 0;
    if (c->slot_count && c->config->watermark) {
        const tla_status status = keep_below_watermark(c, request->arrival_ns / 1000000000);
        if (status) return status;
    }
    while (c->slot_count && hit < count && tla_hot_cache_contains(c->entries, request->blocks[hit], false, 0))
        hit++;
    const uint64_t tokens = hit * requests->block_tokens;
    study->tokens += request->prompt_tokens;
    study->hit_tokens += tokens < request->prompt_tokens ? tokens : request->prompt_tokens;
    study->full_blocks += full;
    study->hit_full_blocks += hit < full ? hit : full;
    for (uint64_t i = 0; i < count; i++) {
        const tla_status status = use(c, request->blocks[c->config->last_first ? count - 1 - i : i]);
        if (status) return status;
    }
    return TLA_OK;
}

tla_status tla_prefix_study_run(const tla_serving_requests *requests, const tla_prefix_cache *config,
                                tla_prefix_study *study, tla_error *error) {
    uint64_t all = 0;
    *study = (tla_prefix_study){0};
    if (requests->block_tokens == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the requests have no block numbers: use requests with hash_ids");
    for (size_t i = 0; i < requests->count; i++)
        all += requests->items[i].block_count;
    const uint64_t slots = config->capacity_tokens / requests->block_tokens;
    cache c;
    tla_status status = create(&c, config, slots < all ? slots : all);
    for (size_t i = 0; !status && i < requests->count; i++)
        status = serve(&c, requests, &requests->items[i], study);
    if (!status && c.slot_count) study->evicted = tla_hot_cache_get_stats(c.entries).evicted;
    destroy(&c);
    if (!status) return TLA_OK;
    *study = (tla_prefix_study){0};
    return tla_error_set(error, status, "cannot study the prefixes: %s", tla_status_text(status));
}
