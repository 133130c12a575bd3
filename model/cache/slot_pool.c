/* A queue of free slot numbers in a ring, and a mark for each slot that is in it. */
#include "tlmalloc/cache/buffer_pools.h"

#include "base/host_array.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

struct tla_slot_pool {
    tla_slot_pool_config config;
    pthread_mutex_t lock;
    uint64_t slots;
    uint64_t *ring; /* larger than `slots` only after duplicate frees in the seed era */
    uint64_t room, head, count;
    uint32_t *queued; /* how often a slot is in the queue */
    uint64_t duplicate_frees;
};

tla_status tla_slot_pool_create(const tla_slot_pool_config *config, tla_slot_pool **out) {
    *out = NULL;
    const tla_slot_pool_config *c = config;
    if (c->slot_bytes == 0 || c->nbytes % c->slot_bytes || c->base > (uint64_t)1 << 63 ||
        c->nbytes > ((uint64_t)1 << 63) - c->base || (c->report_duplicates && c->seed_era))
        return TLA_INVALID_ARGUMENT;
    uint64_t slots = c->nbytes / c->slot_bytes, room = slots ? slots : 1;
    tla_slot_pool *pool = calloc(1, sizeof *pool);
    uint64_t *ring = host_array_new(room, sizeof *ring);
    uint32_t *queued = host_array_new(room, sizeof *queued);
    if (!pool || !ring || !queued || pthread_mutex_init(&pool->lock, NULL)) {
        free(pool);
        free(ring);
        free(queued);
        return TLA_NO_HOST_MEMORY;
    }
    pool->config = *c;
    pool->slots = pool->count = slots;
    pool->room = room;
    pool->ring = ring;
    pool->queued = queued;
    for (uint64_t i = 0; i < slots; i++) {
        ring[i] = i;
        queued[i] = 1;
    }
    *out = pool;
    return TLA_OK;
}

void tla_slot_pool_destroy(tla_slot_pool *pool) {
    if (!pool) return;
    pthread_mutex_destroy(&pool->lock);
    free(pool->ring);
    free(pool->queued);
    free(pool);
}

static uint64_t pop(tla_slot_pool *pool) {
    uint64_t index = pool->ring[pool->head];
    pool->head = pool->head + 1 == pool->room ? 0 : pool->head + 1;
    pool->count--;
    pool->queued[index]--;
    return index;
}

static void push(tla_slot_pool *pool, uint64_t index) {
    uint64_t tail = pool->head + pool->count;
    pool->ring[tail >= pool->room ? tail - pool->room : tail] = index;
    pool->count++;
    pool->queued[index]++;
}

/* Makes room for n more entries: needed only where slots are in the queue more than once. */
static tla_status reserve(tla_slot_pool *pool, uint64_t n) {
    uint64_t room = pool->room;
    while (room - pool->count < n)
        room *= 2;
    if (room == pool->room) return TLA_OK;
    uint64_t *ring = host_array_new(room, sizeof *ring);
    if (!ring) return TLA_NO_HOST_MEMORY;
    for (uint64_t i = 0; i < pool->count; i++)
        ring[i] = pool->ring[(pool->head + i) % pool->room];
    free(pool->ring);
    pool->ring = ring;
    pool->room = room;
    pool->head = 0;
    return TLA_OK;
}

/* For so many slots, of which `nodes` are taken from the front of the queue. */
static void charge(const tla_slot_pool *pool, uint64_t slots, uint64_t nodes, uint64_t lines, tla_work *work) {
    if (!work) return;
    work->slots += slots;
    work->nodes_visited += nodes;
    work->metadata_lines += lines;
    work->list_length += pool->count;
}

tla_status tla_slot_pool_alloc_batch(tla_slot_pool *pool, uint64_t nbytes, size_t count, tla_slot *slots,
                                     tla_work *work) {
    if (nbytes == 0 || nbytes > pool->config.slot_bytes) return TLA_INVALID_ARGUMENT;
    pthread_mutex_lock(&pool->lock);
    bool served = count <= pool->count;
    charge(pool, served ? count : 0, served ? count : 0, 1 + (served ? count : 0), work);
    for (size_t i = 0; served && i < count; i++) {
        uint64_t index = pop(pool);
        slots[i] = (tla_slot){index, pool->config.base + index * pool->config.slot_bytes, nbytes};
    }
    pthread_mutex_unlock(&pool->lock);
    return served ? TLA_OK : TLA_EXHAUSTED;
}

tla_status tla_slot_pool_alloc(tla_slot_pool *pool, uint64_t nbytes, tla_slot *slot, tla_work *work) {
    return tla_slot_pool_alloc_batch(pool, nbytes, 1, slot, work);
}

tla_status tla_slot_pool_explain(tla_slot_pool *pool, const char *what, uint64_t nbytes, size_t count,
                                 tla_error *error) {
    uint64_t slot = pool->config.slot_bytes;
    if (nbytes == 0 || nbytes > slot)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: requested %" PRIu64 " bytes, must be 1 .. %" PRIu64 ", the size of a slot", what,
                             nbytes, slot);
    uint64_t free = tla_slot_pool_get_stats(pool).free_slots;
    tla_error_set(error, TLA_EXHAUSTED,
                  "%s overflow: requested %zu slots of %" PRIu64 " bytes, %" PRIu64 " free of %" PRIu64 ": exhausted",
                  what, count, slot, free, pool->slots);
    if (!error) return TLA_EXHAUSTED;
    error->requested = count * slot;
    error->total_free = free * slot;
    error->largest_free = free ? slot : 0;
    return TLA_EXHAUSTED;
}

/* A slot that is queued, or that occurs again later in a batch, is a duplicate. The function finds duplicates of a
 * batch by pushing its slots one by one; to reject the batch, it removes them from the tail again. */
static tla_status give(tla_slot_pool *pool, const tla_slot *slots, size_t count) {
    uint64_t pushed = 0;
    for (size_t i = 0; i < count; i++) {
        bool duplicate = pool->queued[slots[i].index] > 0;
        if (duplicate && pool->config.report_duplicates) {
            for (; pushed > 0; pushed--) {
                pool->count--;
                pool->queued[pool->ring[(pool->head + pool->count) % pool->room]]--;
            }
            pool->duplicate_frees++;
            return TLA_NOT_ALLOCATED;
        }
        pool->duplicate_frees += duplicate;
        if (duplicate && !pool->config.seed_era) continue;
        push(pool, slots[i].index);
        pushed++;
    }
    return TLA_OK;
}

tla_status tla_slot_pool_free_batch(tla_slot_pool *pool, const tla_slot *slots, size_t count, tla_work *work) {
    for (size_t i = 0; i < count; i++)
        if (slots[i].index >= pool->slots) return TLA_OUT_OF_RANGE;
    pthread_mutex_lock(&pool->lock);
    tla_status status = pool->config.seed_era ? reserve(pool, count) : TLA_OK;
    if (!status) {
        charge(pool, count, 0, 1 + count, work);
        status = give(pool, slots, count);
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

tla_status tla_slot_pool_free(tla_slot_pool *pool, uint64_t index, tla_work *work) {
    return tla_slot_pool_free_batch(pool, &(tla_slot){.index = index}, 1, work);
}

tla_slot_pool_stats tla_slot_pool_get_stats(tla_slot_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    tla_slot_pool_stats stats = {.slots = pool->slots,
                                 .slot_bytes = pool->config.slot_bytes,
                                 .free_slots = pool->count,
                                 .used_slots = (int64_t)pool->slots - (int64_t)pool->count,
                                 .duplicate_frees = pool->duplicate_frees};
    pthread_mutex_unlock(&pool->lock);
    return stats;
}
