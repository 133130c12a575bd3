/* What a trace can be replayed on without SystemC. Caches sit on one arena, as their driver's only device. */
#include "cli/allocators.h"

#include "tlmalloc/allocators/arena_snapshot.h"
#include "tlmalloc/allocators/caching_pool.h"
#include "tlmalloc/allocators/growing_pool.h"
#include "tlmalloc/allocators/segment_cache.h"
#include "tlmalloc/allocators/segment_settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Behind every allocator; of the caches one is used. */
typedef struct allocator_state {
    tla_arena *arena;
    tla_arena_config config;  /* of the arena */
    uint64_t lowest, highest; /* what was ever granted lies in [lowest, highest) */
    tla_arena_set set;
    tla_caching_pool *caching_pool;
    tla_segment_cache *segment_cache;
    bool aborted;             /* at the last request, as older versions of PyTorch do */
    tla_arena_ranges *ranges; /* below it, with expandable segments */
    tla_growing_pool *growing_pool;
} allocator_state;

/* The arena itself */

static tla_status arena_alloc(void *context, uint64_t stream, uint64_t nbytes, tla_block *granted, tla_work *work) {
    allocator_state *state = context;
    (void)stream;
    tla_status status = tla_arena_alloc(state->arena, nbytes, granted, work);
    if (status) return status;
    if (granted->offset < state->lowest) state->lowest = granted->offset;
    if (granted->offset + granted->nbytes > state->highest) state->highest = granted->offset + granted->nbytes;
    return TLA_OK;
}

static tla_status arena_free(void *context, tla_block granted, uint64_t nbytes, tla_work *work) {
    allocator_state *state = context;
    (void)nbytes;
    return tla_arena_free(state->arena, granted, work);
}

static tla_status arena_explain(void *context, uint64_t nbytes, tla_error *error) {
    allocator_state *state = context;
    return tla_arena_explain(state->arena, tla_policy_name(state->config.policy), nbytes, error);
}

/* A policy that begins at the top has touched what lies above its lowest block. */
static uint64_t arena_reserved(void *context) {
    allocator_state *state = context;
    if (state->highest == 0) return 0;
    const tla_arena_config *c = &state->config;
    return c->policy == TLA_FIRST_FIT_TOP ? c->base + c->capacity - state->lowest : state->highest - c->base;
}

/* The caches. They are asked for multiples of the alignment; what they cut from what the arena gave, which begins on
 * one, then begins on one too, as their own rounding is to powers of two. */

static uint64_t aligned(const allocator_state *state, uint64_t nbytes) {
    const uint64_t mask = state->config.alignment - 1;
    return (nbytes + mask) & ~mask;
}

static tla_status caching_pool_alloc(void *context, uint64_t stream, uint64_t nbytes, tla_block *granted,
                                     tla_work *work) {
    allocator_state *state = context;
    (void)stream;
    tla_pool_buffer buffer;
    tla_status status = tla_caching_pool_acquire(state->caching_pool, 0, aligned(state, nbytes), &buffer, work);
    if (!status) *granted = (tla_block){buffer.address, buffer.capacity};
    return status;
}

static tla_status caching_pool_free(void *context, tla_block granted, uint64_t nbytes, tla_work *work) {
    allocator_state *state = context;
    tla_pool_buffer buffer = {.address = granted.offset, .nbytes = aligned(state, nbytes), .capacity = granted.nbytes};
    return tla_caching_pool_release(state->caching_pool, buffer, work);
}

static tla_status caching_pool_explain(void *context, uint64_t nbytes, tla_error *error) {
    allocator_state *state = context;
    return tla_caching_pool_explain(state->caching_pool, "caching_pool", 0, aligned(state, nbytes), error);
}

static uint64_t caching_pool_reserved(void *context) {
    allocator_state *state = context;
    return tla_caching_pool_get_stats(state->caching_pool, 0).peak_reserved;
}

static tla_status segment_cache_alloc(void *context, uint64_t stream, uint64_t nbytes, tla_block *granted,
                                      tla_work *work) {
    allocator_state *state = context;
    tla_status status = tla_segment_cache_alloc(state->segment_cache, stream, aligned(state, nbytes), granted, work);
    state->aborted = status == TLA_UNSUPPORTED;
    return status;
}

static tla_status segment_cache_free(void *context, tla_block granted, uint64_t nbytes, tla_work *work) {
    allocator_state *state = context;
    (void)nbytes;
    return tla_segment_cache_free(state->segment_cache, granted.offset, work);
}

static tla_status segment_cache_explain(void *context, uint64_t nbytes, tla_error *error) {
    allocator_state *state = context;
    if (state->aborted)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "segment_cache: requested %" PRIu64 " bytes: PyTorch 2.1 to 2.4 abort here, as expandable "
                             "blocks of max_split_size are to be given back (#119452)",
                             nbytes);
    return tla_segment_cache_explain(state->segment_cache, "segment_cache", aligned(state, nbytes), error);
}

static uint64_t segment_cache_reserved(void *context) {
    allocator_state *state = context;
    return tla_segment_cache_get_stats(state->segment_cache).peak_reserved;
}

static tla_status growing_pool_alloc(void *context, uint64_t stream, uint64_t nbytes, tla_block *granted,
                                     tla_work *work) {
    allocator_state *state = context;
    (void)stream;
    return tla_growing_pool_alloc(state->growing_pool, aligned(state, nbytes), granted, work);
}

static tla_status growing_pool_free(void *context, tla_block granted, uint64_t nbytes, tla_work *work) {
    allocator_state *state = context;
    (void)nbytes;
    return tla_growing_pool_free(state->growing_pool, granted, work);
}

static tla_status growing_pool_explain(void *context, uint64_t nbytes, tla_error *error) {
    allocator_state *state = context;
    return tla_growing_pool_explain(state->growing_pool, "growing_pool", aligned(state, nbytes), error);
}

/* It never shrinks: what it holds is the most that it held. */
static uint64_t growing_pool_reserved(void *context) {
    allocator_state *state = context;
    return tla_growing_pool_get_stats(state->growing_pool).reserved;
}

static tla_status make_caching_pool(allocator_state *state, tla_upstream driver, const allocator_config *asked,
                                    tla_error *error) {
    (void)asked, (void)error;
    tla_caching_pool_config config = {.driver = driver};
    return tla_caching_pool_create(&config, &state->caching_pool);
}

static tla_status make_segment_cache(allocator_state *state, tla_upstream driver, const allocator_config *asked,
                                     tla_error *error) {
    static const uint64_t granule = 2 << 20; /* which every range begins on a multiple of */
    tla_segment_cache_config config = {.driver = driver, .device_bytes = state->config.capacity};
    tla_status status = TLA_OK;
    if (asked->segment_version) status = tla_segment_version_parse(asked->segment_version, &config, error);
    if (!status && asked->segment_settings)
        status = tla_segment_settings_parse(asked->segment_settings, &config, error);
    if (!status && config.expandable && state->config.alignment > granule)
        status = tla_error_set(error, TLA_UNSUPPORTED,
                               "found an alignment of %" PRIu64 " bytes, expected at most %" PRIu64
                               ": expandable segments grow by granules",
                               state->config.alignment, granule);
    if (!status) status = tla_arena_ranges_create(&state->set, &state->ranges);
    if (status) return status;
    config.ranges = tla_arena_ranges_upstream(state->ranges);
    return tla_segment_cache_create(&config, &state->segment_cache);
}

static tla_status make_growing_pool(allocator_state *state, tla_upstream driver, const allocator_config *asked,
                                    tla_error *error) {
    (void)asked, (void)error;
    tla_growing_pool_config config = {.driver = driver};
    return tla_growing_pool_create(&config, &state->growing_pool);
}

typedef struct cache_kind {
    const char *name;
    /* error may stay untouched */
    tla_status (*make)(allocator_state *state, tla_upstream driver, const allocator_config *asked, tla_error *error);
    trace_allocator calls;
} cache_kind;

static const cache_kind caches[] = {
    {"caching_pool",
     make_caching_pool,
     {.alloc = caching_pool_alloc,
      .explain = caching_pool_explain,
      .free = caching_pool_free,
      .reserved = caching_pool_reserved}},
    {"segment_cache",
     make_segment_cache,
     {.alloc = segment_cache_alloc,
      .explain = segment_cache_explain,
      .free = segment_cache_free,
      .reserved = segment_cache_reserved}},
    {"growing_pool",
     make_growing_pool,
     {.alloc = growing_pool_alloc,
      .explain = growing_pool_explain,
      .free = growing_pool_free,
      .reserved = growing_pool_reserved}},
};
enum { CACHE_COUNT = sizeof caches / sizeof caches[0] };

/* All of them */

const char *allocator_name(uint64_t index) {
    if (index < TLA_POLICY_COUNT) return tla_policy_name((tla_policy)index);
    index -= TLA_POLICY_COUNT;
    return index < CACHE_COUNT ? caches[index].name : NULL;
}

bool allocator_exists(const char *name) {
    for (size_t i = 0; allocator_name(i); i++)
        if (strcmp(name, allocator_name(i)) == 0) return true;
    return false;
}

/* The arena as configured, or as a snapshot left it, under this policy. */
static tla_status make_arena(allocator_state *state, tla_policy policy, const allocator_config *config,
                             tla_error *error) {
    state->config = (tla_arena_config){.capacity = config->capacity, .alignment = config->alignment};
    tla_status status = TLA_OK;
    if (config->snapshot)
        status = tla_arena_snapshot_config(config->snapshot, config->snapshot_length, &state->config, error);
    if (status) return status;
    state->config.policy = policy;
    status = tla_arena_create(&state->config, &state->arena);
    if (status)
        return tla_error_set(error, status, "cannot make a %s arena of this size and alignment: %s",
                             tla_policy_name(policy), tla_status_text(status));
    return config->snapshot ? tla_arena_restore(state->arena, config->snapshot, config->snapshot_length, error)
                            : TLA_OK;
}

static void destroy_state(void *context) {
    allocator_state *state = context;
    tla_caching_pool_destroy(state->caching_pool); /* what still lives at the end of a trace is no news: TLA_LEAK */
    tla_segment_cache_destroy(state->segment_cache);
    tla_arena_ranges_destroy(state->ranges);
    tla_growing_pool_destroy(state->growing_pool);
    tla_arena_destroy(state->arena);
    free(state);
}

tla_status allocator_create(const char *name, const allocator_config *config, trace_allocator *out, tla_error *error) {
    *out = (trace_allocator){0};
    const cache_kind *cache = NULL;
    for (size_t i = 0; i < CACHE_COUNT && !cache; i++)
        if (strcmp(name, caches[i].name) == 0) cache = &caches[i];
    tla_policy policy = TLA_FIRST_FIT; /* below a cache, as a driver's own */
    if (!cache && !tla_policy_from_name(name, &policy))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "no allocator is called '%s'", name);
    allocator_state *state = calloc(1, sizeof *state);
    if (!state) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for %s", name);
    state->lowest = UINT64_MAX;
    tla_status status = make_arena(state, policy, config, error);
    state->set = (tla_arena_set){&state->arena, 1};
    if (!status && cache) {
        tla_error inner = {0};
        status = cache->make(state, tla_arena_upstream(&state->set), config, &inner);
        if (status)
            tla_error_set(error, status, "cannot make %s: %s", name,
                          inner.text[0] ? inner.text : tla_status_text(status));
    }
    if (status) {
        destroy_state(state);
        return status;
    }
    *out = cache ? cache->calls
                 : (trace_allocator){
                       .alloc = arena_alloc, .explain = arena_explain, .free = arena_free, .reserved = arena_reserved};
    out->name = name;
    out->state = state;
    out->arena = state->arena;
    out->destroy = destroy_state;
    return TLA_OK;
}

void allocator_destroy(trace_allocator *allocator) {
    if (allocator->destroy) allocator->destroy(allocator->state);
}
