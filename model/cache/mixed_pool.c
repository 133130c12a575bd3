/* Dispatch by format, and a lock around the arena. */
#include "tlmalloc/cache/buffer_pools.h"

#include "base/host_array.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct tla_mixed_pool {
    tla_mixed_pool_config config;
    pthread_mutex_t lock; /* for the arena and for the counts of objects */
    tla_arena *arena;     /* NULL with paging */
    tla_arena *region;    /* of byte strings; NULL where they are the host's */
    tla_slot_pool *slots; /* NULL without */
    uint64_t tensors, buffers, buffer_bytes;
};

typedef enum object_kind { no_kind, tensor, buffer } object_kind;

static object_kind kind_of(tla_memory_format format) {
    switch (format) {
    case TLA_FORMAT_KV_2LTD:
    case TLA_FORMAT_KV_2TD:
    case TLA_FORMAT_KV_T2D:
    case TLA_FORMAT_KV_MLA:
    case TLA_FORMAT_EC_TD:
    case TLA_FORMAT_HS_TD:
        return tensor;
    case TLA_FORMAT_BINARY_BUFFER:
        return buffer;
    default:
        return no_kind;
    }
}

static tla_status create_memory(const tla_mixed_pool_config *c, tla_mixed_pool *mixed) {
    if (c->slot_bytes) {
        tla_slot_pool_config config = {
            .base = c->base, .nbytes = c->nbytes, .slot_bytes = c->slot_bytes, .report_duplicates = true};
        return tla_slot_pool_create(&config, &mixed->slots);
    }
    tla_arena_config config = {.base = c->base, .capacity = c->nbytes, .policy = c->policy, .alignment = c->alignment};
    return tla_arena_create(&config, &mixed->arena);
}

static tla_status create_region(const tla_mixed_pool_config *c, tla_mixed_pool *mixed) {
    if (c->buffer_nbytes == 0) return TLA_OK;
    tla_arena_config config = {.base = c->base + c->nbytes,
                               .capacity = c->buffer_nbytes,
                               .policy = c->policy,
                               .alignment = c->buffer_alignment};
    return tla_arena_create(&config, &mixed->region);
}

static void destroy_memory(tla_mixed_pool *mixed) {
    tla_arena_destroy(mixed->arena);
    tla_arena_destroy(mixed->region);
    tla_slot_pool_destroy(mixed->slots);
}

tla_status tla_mixed_pool_create(const tla_mixed_pool_config *config, tla_mixed_pool **out) {
    *out = NULL;
    uint64_t alignment = config->alignment;
    if (alignment == 0 || (alignment & (alignment - 1))) return TLA_INVALID_ARGUMENT;
    tla_mixed_pool *mixed = calloc(1, sizeof *mixed);
    if (!mixed) return TLA_NO_HOST_MEMORY;
    mixed->config = *config;
    tla_status status = create_memory(config, mixed);
    if (!status) status = create_region(config, mixed);
    if (!status && pthread_mutex_init(&mixed->lock, NULL)) status = TLA_NO_HOST_MEMORY;
    if (status) {
        destroy_memory(mixed);
        free(mixed);
        return status;
    }
    *out = mixed;
    return TLA_OK;
}

tla_status tla_mixed_pool_destroy(tla_mixed_pool *mixed) {
    if (!mixed) return TLA_OK;
    tla_status status = mixed->tensors || mixed->buffers ? TLA_LEAK : TLA_OK;
    destroy_memory(mixed);
    pthread_mutex_destroy(&mixed->lock);
    free(mixed);
    return status;
}

static tla_status alloc_slots(tla_mixed_pool *mixed, uint64_t nbytes, size_t n, tla_mixed_pool_block *blocks,
                              tla_work *work) {
    tla_slot *slots = calloc(n, sizeof *slots);
    if (!slots) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_slot_pool_alloc_batch(mixed->slots, nbytes, n, slots, work);
    for (size_t i = 0; !status && i < n; i++)
        blocks[i] = (tla_mixed_pool_block){.address = slots[i].address, .capacity = mixed->config.slot_bytes};
    free(slots);
    return status;
}

static tla_status alloc_ranges(tla_mixed_pool *mixed, tla_arena *arena, uint64_t nbytes, size_t n,
                               tla_mixed_pool_block *blocks, tla_work *work) {
    tla_block *ranges = calloc(n, sizeof *ranges);
    if (!ranges) return TLA_NO_HOST_MEMORY;
    pthread_mutex_lock(&mixed->lock);
    tla_status status = tla_arena_alloc_batch(arena, nbytes, n, mixed->config.batch, ranges, work);
    pthread_mutex_unlock(&mixed->lock);
    for (size_t i = 0; !status && i < n; i++)
        blocks[i] = (tla_mixed_pool_block){.address = ranges[i].offset, .capacity = ranges[i].nbytes};
    free(ranges);
    return status;
}

static tla_status alloc_host_buffers(uint64_t nbytes, size_t n, tla_mixed_pool_block *blocks) {
    for (size_t i = 0; i < n; i++) {
        void *bytes = host_array_new(nbytes, 1);
        if (!bytes) {
            while (i > 0)
                free(blocks[--i].bytes);
            return TLA_NO_HOST_MEMORY;
        }
        blocks[i] = (tla_mixed_pool_block){.bytes = bytes, .capacity = nbytes};
    }
    return TLA_OK;
}

static void count(tla_mixed_pool *mixed, object_kind kind, size_t n, uint64_t nbytes, bool taken) {
    uint64_t objects = taken ? n : -(uint64_t)n, bytes = taken ? nbytes : -nbytes; /* modulo 2^64 */
    pthread_mutex_lock(&mixed->lock);
    if (kind == tensor) {
        mixed->tensors += objects;
    } else {
        mixed->buffers += objects;
        mixed->buffer_bytes += bytes;
    }
    pthread_mutex_unlock(&mixed->lock);
}

tla_status tla_mixed_pool_alloc(tla_mixed_pool *mixed, tla_memory_format format, uint64_t nbytes, size_t n,
                                tla_mixed_pool_block *blocks, tla_work *work) {
    object_kind kind = kind_of(format);
    if (kind == no_kind || nbytes == 0) return TLA_INVALID_ARGUMENT;
    if (n == 0) return TLA_OK;
    tla_arena *arena = kind == buffer ? mixed->region : mixed->arena;
    tla_status status = arena            ? alloc_ranges(mixed, arena, nbytes, n, blocks, work)
                        : kind == buffer ? alloc_host_buffers(nbytes, n, blocks)
                                         : alloc_slots(mixed, nbytes, n, blocks, work);
    if (status) return status;
    for (size_t i = 0; i < n; i++) {
        blocks[i].format = format;
        blocks[i].nbytes = nbytes;
    }
    count(mixed, kind, n, n * nbytes, true);
    return TLA_OK;
}

tla_status tla_mixed_pool_explain(tla_mixed_pool *mixed, const char *what, tla_memory_format format, uint64_t nbytes,
                                  size_t n, tla_error *error) {
    object_kind kind = kind_of(format);
    if (kind == no_kind || nbytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: requested %" PRIu64
                             " bytes of format %d: must be at least 1 byte, of a tensor's format or of BINARY_BUFFER",
                             what, nbytes, (int)format);
    tla_arena *arena = kind == buffer ? mixed->region : mixed->arena;
    if (kind == buffer && !arena)
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: requested %zu buffers of %" PRIu64 " bytes: %s", what, n,
                             nbytes, tla_status_text(TLA_NO_HOST_MEMORY));
    if (!arena) return tla_slot_pool_explain(mixed->slots, what, nbytes, n, error);
    char batch[160];
    snprintf(batch, sizeof batch, "%s: %zu objects of %" PRIu64 " bytes in %s: %s", what, n, nbytes,
             mixed->config.batch == TLA_BATCH_CONTIGUOUS ? "one block" : "any blocks",
             kind == buffer ? "plain buffers" : "buffer");
    pthread_mutex_lock(&mixed->lock);
    tla_status status = tla_arena_explain(arena, batch, n * nbytes, error);
    pthread_mutex_unlock(&mixed->lock);
    return status;
}

static tla_status free_slots(tla_mixed_pool *mixed, const tla_mixed_pool_block *blocks, size_t n, tla_work *work) {
    const tla_mixed_pool_config *c = &mixed->config;
    for (size_t i = 0; i < n; i++)
        if (blocks[i].address < c->base || (blocks[i].address - c->base) % c->slot_bytes) return TLA_OUT_OF_RANGE;
    tla_slot *slots = calloc(n, sizeof *slots);
    if (!slots) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < n; i++)
        slots[i].index = (blocks[i].address - c->base) / c->slot_bytes;
    tla_status status = tla_slot_pool_free_batch(mixed->slots, slots, n, work);
    free(slots);
    return status;
}

static tla_status free_ranges(tla_mixed_pool *mixed, tla_arena *arena, const tla_mixed_pool_block *blocks, size_t n,
                              tla_work *work) {
    tla_block *ranges = calloc(n, sizeof *ranges);
    if (!ranges) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < n; i++)
        ranges[i] = (tla_block){blocks[i].address, blocks[i].capacity};
    pthread_mutex_lock(&mixed->lock);
    tla_status status = tla_arena_free_batch(arena, ranges, n, work);
    pthread_mutex_unlock(&mixed->lock);
    free(ranges);
    return status;
}

tla_status tla_mixed_pool_free(tla_mixed_pool *mixed, tla_mixed_pool_block *blocks, size_t n, tla_work *work) {
    if (n == 0) return TLA_OK;
    object_kind kind = kind_of(blocks[0].format);
    uint64_t nbytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (blocks[i].capacity == 0) return TLA_NOT_ALLOCATED; /* 0: already released */
        if (kind_of(blocks[i].format) != kind || kind == no_kind) return TLA_INVALID_ARGUMENT;
        nbytes += blocks[i].nbytes;
    }
    tla_arena *arena = kind == buffer ? mixed->region : mixed->arena;
    tla_status status = arena            ? free_ranges(mixed, arena, blocks, n, work)
                        : kind == tensor ? free_slots(mixed, blocks, n, work)
                                         : TLA_OK;
    if (status) return status;
    for (size_t i = 0; i < n; i++) {
        free(blocks[i].bytes);
        blocks[i] = (tla_mixed_pool_block){.format = blocks[i].format};
    }
    count(mixed, kind, n, nbytes, false);
    return TLA_OK;
}

tla_mixed_pool_block tla_mixed_pool_block_at(const tla_mixed_pool *mixed, uint64_t address, uint64_t nbytes) {
    const bool in_region = mixed->region && address >= mixed->config.base + mixed->config.nbytes;
    const tla_arena *arena = in_region ? mixed->region : mixed->arena;
    return (tla_mixed_pool_block){.format = in_region ? TLA_FORMAT_BINARY_BUFFER : TLA_FORMAT_KV_2LTD,
                                  .address = address,
                                  .nbytes = nbytes,
                                  .capacity = arena ? tla_arena_granted(arena, nbytes) : mixed->config.slot_bytes};
}

tla_status tla_mixed_pool_check(tla_mixed_pool *mixed, tla_error *error) {
    /* Slots have one count, which cannot contradict itself; duplicates are rejected. */
    pthread_mutex_lock(&mixed->lock);
    tla_status status = mixed->arena ? tla_arena_check(mixed->arena, error) : TLA_OK;
    if (!status && mixed->region) status = tla_arena_check(mixed->region, error);
    pthread_mutex_unlock(&mixed->lock);
    return status;
}

tla_mixed_pool_stats tla_mixed_pool_get_stats(tla_mixed_pool *mixed) {
    tla_mixed_pool_stats stats = {0};
    if (mixed->slots) {
        tla_slot_pool_stats slots = tla_slot_pool_get_stats(mixed->slots);
        stats.tensor_bytes = (uint64_t)slots.used_slots * slots.slot_bytes;
        stats.free_tensor_bytes = slots.free_slots * slots.slot_bytes;
        stats.free_blocks = slots.free_slots;
        stats.largest_free = slots.free_slots ? slots.slot_bytes : 0;
    }
    pthread_mutex_lock(&mixed->lock);
    if (mixed->arena) {
        tla_arena_stats arena = tla_arena_get_stats(mixed->arena);
        stats.tensor_bytes = arena.used;
        stats.free_tensor_bytes = arena.free;
        stats.free_blocks = arena.free_blocks;
        stats.largest_free = arena.largest_free;
    }
    if (mixed->region) stats.region = tla_arena_get_stats(mixed->region);
    stats.tensors = mixed->tensors;
    stats.buffers = mixed->buffers;
    stats.buffer_bytes = mixed->buffer_bytes;
    pthread_mutex_unlock(&mixed->lock);
    return stats;
}
