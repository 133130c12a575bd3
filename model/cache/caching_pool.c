/* Size classes, a stack of free blocks for each, one lock a device (seed 004). */
#include "tlmalloc/cache/driver_pools.h"

#include "live_addresses.h"
#include "upstream_reason.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    step = 512,                             /* bytes; seed 004, MIN_CLASS */
    threshold_log2 = 20,                    /* 1 MiB; seed 004, POW2_THRESHOLD */
    steps = (1 << threshold_log2) / step,   /* classes of 512, 1024 .. 1 MiB */
    classes = steps + (63 - threshold_log2) /* and of 2^21 .. 2^63 */
};

/* Memory from the driver: live when the map of its device knows it, else on the list of its class. */
typedef struct pool_block {
    uint64_t address, nbytes, capacity;
    struct pool_block *next; /* on the list */
} pool_block;

typedef struct device_pool {
    pthread_mutex_t lock;
    uint32_t device;
    tla_caching_pool_stats stats;
    tla_live_addresses live;
    pool_block *cached[classes];
    uint64_t lengths[classes];
    struct device_pool *next;
} device_pool;

struct tla_caching_pool {
    tla_caching_pool_config config;
    pthread_mutex_t registry_lock; /* held to look a device up or to add it, never during a driver call */
    tla_live_addresses registry;
    device_pool *devices;
};

uint64_t tla_caching_pool_class(uint64_t nbytes) {
    if (nbytes > (uint64_t)1 << 63) return 0;
    if (nbytes <= (uint64_t)1 << threshold_log2) return (nbytes + step - 1) / step * step;
    return (uint64_t)1 << (64 - __builtin_clzll(nbytes - 1));
}

static size_t class_index(uint64_t capacity) {
    if (capacity <= (uint64_t)1 << threshold_log2) return (size_t)(capacity / step) - 1;
    return steps + (size_t)__builtin_ctzll(capacity) - threshold_log2 - 1;
}

tla_status tla_caching_pool_create(const tla_caching_pool_config *config, tla_caching_pool **out) {
    *out = NULL;
    if (!config->driver.alloc || !config->driver.free) return TLA_INVALID_ARGUMENT;
    tla_caching_pool *pool = calloc(1, sizeof *pool);
    if (!pool || pthread_mutex_init(&pool->registry_lock, NULL)) {
        free(pool);
        return TLA_NO_HOST_MEMORY;
    }
    pool->config = *config;
    *out = pool;
    return TLA_OK;
}

static void add_live(device_pool *pool, pool_block *block, uint64_t nbytes) {
    block->nbytes = nbytes;
    tla_live_addresses_put(&pool->live, block->address, block);
    tla_caching_pool_stats *stats = &pool->stats;
    stats->live_buffers++;
    stats->requested += nbytes;
    stats->used += block->capacity;
    if (stats->requested > stats->peak_requested) stats->peak_requested = stats->requested;
}

static void remove_live(device_pool *pool, pool_block *block) {
    tla_live_addresses_remove(&pool->live, block->address);
    pool->stats.live_buffers--;
    pool->stats.requested -= block->nbytes;
    pool->stats.used -= block->capacity;
}

static void push_cached(device_pool *pool, pool_block *block) {
    size_t class = class_index(block->capacity);
    block->next = pool->cached[class];
    pool->cached[class] = block;
    pool->lengths[class]++;
    pool->stats.cached_blocks++;
    pool->stats.cached += block->capacity;
}

static pool_block *pop_cached(device_pool *pool, size_t class) {
    pool_block *block = pool->cached[class];
    if (!block) return NULL;
    pool->cached[class] = block->next;
    pool->lengths[class]--;
    pool->stats.cached_blocks--;
    pool->stats.cached -= block->capacity;
    return block;
}

static tla_status trim(tla_caching_pool *pool, device_pool *device, uint64_t keep_bytes, tla_work *work) {
    const tla_upstream *driver = &pool->config.driver;
    for (size_t class = classes; class -- > 0 && device->stats.cached > keep_bytes;) {
        for (pool_block *block; device->stats.cached > keep_bytes && (block = pop_cached(device, class)) != NULL;) {
            if (work) work->driver_calls++;
            tla_status status = driver->free(driver->context, device->device, block->address, block->capacity, work);
            if (status) {
                push_cached(device, block);
                return status;
            }
            if (work) work->metadata_lines++;
            device->stats.driver_frees++;
            device->stats.reserved -= block->capacity;
            free(block);
        }
    }
    return TLA_OK;
}

/* The device's pool: made at its first use when `add`, else NULL for a device that has none. */
static tla_status find_device(tla_caching_pool *pool, uint32_t device, bool add, device_pool **found) {
    tla_status status = TLA_OK;
    pthread_mutex_lock(&pool->registry_lock);
    *found = tla_live_addresses_get(&pool->registry, device);
    if (!*found && add) {
        device_pool *made = tla_live_addresses_reserve(&pool->registry) ? NULL : calloc(1, sizeof *made);
        if (made && !pthread_mutex_init(&made->lock, NULL)) {
            made->device = device;
            made->next = pool->devices;
            pool->devices = made;
            tla_live_addresses_put(&pool->registry, device, made);
            *found = made;
        } else {
            free(made);
            status = TLA_NO_HOST_MEMORY;
        }
    }
    pthread_mutex_unlock(&pool->registry_lock);
    return status;
}

/* A device's pool lives as long as the whole, so it may be locked after the registry is let go. */
static device_pool *lock_device(tla_caching_pool *pool, uint32_t device) {
    device_pool *found;
    find_device(pool, device, false, &found);
    if (found) pthread_mutex_lock(&found->lock);
    return found;
}

static bool exceeds_limit(const tla_caching_pool *pool, uint64_t reserved, uint64_t capacity) {
    uint64_t limit = pool->config.byte_limit;
    return limit && (capacity > limit || reserved > limit - capacity);
}

static tla_status ask_driver(tla_caching_pool *pool, device_pool *device, pool_block *block, tla_work *work) {
    const tla_caching_pool_config *config = &pool->config;
    if (exceeds_limit(pool, device->stats.reserved, block->capacity)) return TLA_LIMIT;
    if (work) work->driver_calls++;
    return config->driver.alloc(config->driver.context, device->device, block->capacity, &block->address, work);
}

/* Memory may help a request that failed so. */
static bool wants_memory(tla_status status) {
    return status == TLA_EXHAUSTED || status == TLA_FRAGMENTED || status == TLA_LIMIT;
}

static tla_status take_from_driver(tla_caching_pool *pool, device_pool *device, uint64_t capacity, pool_block **out,
                                   tla_work *work) {
    pool_block *block = malloc(sizeof *block);
    if (!block) return TLA_NO_HOST_MEMORY;
    *block = (pool_block){.capacity = capacity};
    tla_status status = ask_driver(pool, device, block, work);
    if (wants_memory(status) && pool->config.flush_on_failure && device->stats.cached) {
        device->stats.flushes++;
        status = trim(pool, device, 0, work);
        if (!status) status = ask_driver(pool, device, block, work);
    }
    if (status) {
        free(block);
        return status;
    }
    tla_caching_pool_stats *stats = &device->stats;
    stats->driver_allocs++;
    stats->reserved += capacity;
    if (stats->reserved > stats->peak_reserved) stats->peak_reserved = stats->reserved;
    *out = block;
    return TLA_OK;
}

static tla_status acquire(tla_caching_pool *pool, device_pool *device, uint64_t nbytes, tla_pool_buffer *buffer,
                          tla_work *work) {
    uint64_t capacity = tla_caching_pool_class(nbytes);
    size_t class = class_index(capacity);
    tla_status status = tla_live_addresses_reserve(&device->live);
    if (status) return status;
    if (work) {
        work->class_lookups++;
        work->list_length += device->lengths[class];
        work->metadata_lines++;
    }
    pool_block *block = pop_cached(device, class);
    if (block) {
        device->stats.hits++;
        if (work) {
            work->list_pops++;
            work->nodes_visited++;
            work->metadata_lines++;
        }
    } else {
        status = take_from_driver(pool, device, capacity, &block, work);
        if (status) return status;
    }
    add_live(device, block, nbytes);
    *buffer = (tla_pool_buffer){block->address, nbytes, capacity, device->device};
    return TLA_OK;
}

tla_status tla_caching_pool_acquire(tla_caching_pool *pool, uint32_t device, uint64_t nbytes, tla_pool_buffer *buffer,
                                    tla_work *work) {
    if (tla_caching_pool_class(nbytes) == 0) return TLA_INVALID_ARGUMENT;
    device_pool *found;
    tla_status status = find_device(pool, device, true, &found);
    if (status) return status;
    pthread_mutex_lock(&found->lock);
    status = acquire(pool, found, nbytes, buffer, work);
    pthread_mutex_unlock(&found->lock);
    return status;
}

/* For a device that is locked, or has no pool yet. */
static uint64_t trim_serves(const tla_caching_pool *pool, const device_pool *device, uint64_t capacity) {
    tla_pool_trim trim;
    if (!device || exceeds_limit(pool, device->stats.reserved - device->stats.cached, capacity) ||
        !tla_pool_trim_init(&trim, (size_t)device->stats.cached_blocks))
        return 0;
    for (size_t class = classes; class -- > 0;)
        for (const pool_block *block = device->cached[class]; block; block = block->next)
            tla_pool_trim_add(&trim, block->address, block->capacity);
    return tla_pool_trim_end(&trim, &pool->config.driver, device->device, capacity);
}

uint64_t tla_caching_pool_trim_serves(tla_caching_pool *pool, uint32_t device, uint64_t nbytes) {
    const uint64_t capacity = tla_caching_pool_class(nbytes);
    device_pool *found = capacity ? lock_device(pool, device) : NULL;
    if (!found) return 0;
    const uint64_t trimmed = trim_serves(pool, found, capacity);
    pthread_mutex_unlock(&found->lock);
    return trimmed;
}

tla_status tla_caching_pool_explain(tla_caching_pool *pool, const char *what, uint32_t device, uint64_t nbytes,
                                    tla_error *error) {
    uint64_t capacity = tla_caching_pool_class(nbytes);
    if (capacity == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: requested %" PRIu64 " bytes, must be 1 .. 2^63", what,
                             nbytes);
    device_pool *found = lock_device(pool, device);
    tla_caching_pool_stats s = found ? found->stats : (tla_caching_pool_stats){0};
    const uint64_t trimmed = trim_serves(pool, found, capacity);
    tla_status status;
    if (exceeds_limit(pool, s.reserved, capacity))
        status = tla_pool_limit_reason(nbytes, trimmed, error,
                                       "%s overflow: requested %" PRIu64 " bytes, no buffer of their class of %" PRIu64
                                       " is cached (%" PRIu64 " bytes in others); as many more beside the %" PRIu64
                                       " reserved would exceed byte_limit, %" PRIu64,
                                       what, nbytes, capacity, s.cached, s.reserved, pool->config.byte_limit);
    else
        status =
            tla_port_client_reason(&pool->config.driver, device, nbytes, capacity, trimmed, error,
                                   "%s overflow: requested %" PRIu64 " bytes, no buffer of their class of %" PRIu64
                                   " is cached (%" PRIu64 " bytes in others); asked the driver for %" PRIu64 " bytes",
                                   what, nbytes, capacity, s.cached, capacity);
    if (found) pthread_mutex_unlock(&found->lock);
    return status;
}

tla_status tla_caching_pool_release(tla_caching_pool *pool, tla_pool_buffer buffer, tla_work *work) {
    device_pool *device = lock_device(pool, buffer.device);
    if (!device) return TLA_NOT_ALLOCATED;
    tla_status status = TLA_OK;
    pool_block *block = tla_live_addresses_get(&device->live, buffer.address);
    if (!block) {
        status = TLA_NOT_ALLOCATED;
    } else if (block->nbytes != buffer.nbytes || block->capacity != buffer.capacity) {
        status = TLA_SIZE_MISMATCH;
    } else {
        if (work) {
            work->list_length += device->lengths[class_index(block->capacity)];
            work->class_lookups++;
            work->list_pushes++;
            work->metadata_lines += 2;
        }
        remove_live(device, block);
        push_cached(device, block);
    }
    pthread_mutex_unlock(&device->lock);
    return status;
}

tla_status tla_caching_pool_trim(tla_caching_pool *pool, uint32_t device, uint64_t keep_bytes, tla_work *work) {
    device_pool *found = lock_device(pool, device);
    if (!found) return TLA_OK;
    tla_status status = trim(pool, found, keep_bytes, work);
    pthread_mutex_unlock(&found->lock);
    return status;
}

tla_caching_pool_stats tla_caching_pool_get_stats(tla_caching_pool *pool, uint32_t device) {
    device_pool *found = lock_device(pool, device);
    if (!found) return (tla_caching_pool_stats){0};
    tla_caching_pool_stats stats = found->stats;
    pthread_mutex_unlock(&found->lock);
    return stats;
}

static tla_status destroy_device(tla_caching_pool *pool, device_pool *device) {
    tla_status status = device->live.count ? TLA_LEAK : TLA_OK;
    size_t at = 0;
    for (pool_block *block; (block = tla_live_addresses_walk(&device->live, &at)) != NULL;)
        push_cached(device, block);
    tla_status trimmed = trim(pool, device, 0, NULL);
    for (size_t class = 0; class < classes; class ++) /* left over only when the driver failed */
        for (pool_block *block; (block = pop_cached(device, class)) != NULL;)
            free(block);
    tla_live_addresses_clear(&device->live);
    pthread_mutex_destroy(&device->lock);
    free(device);
    return status ? status : trimmed;
}

tla_status tla_caching_pool_destroy(tla_caching_pool *pool) {
    if (!pool) return TLA_OK;
    tla_status status = TLA_OK;
    while (pool->devices) {
        device_pool *device = pool->devices;
        pool->devices = device->next;
        tla_status one = destroy_device(pool, device);
        if (!status) status = one;
    }
    tla_live_addresses_clear(&pool->registry);
    pthread_mutex_destroy(&pool->registry_lock);
    free(pool);
    return status;
}
