/* Managers of requests' memory behind one interface. */
#include "serving/kv_memory.h"
#include "model/base/grow.h"

#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/kv/kv_cache.h"

#include <stdlib.h>

/* Blocks of a request, in the order of its tokens. */
typedef struct table {
    tla_slot *slots;
    size_t count, room;
} table;

struct tla_kv_memory {
    tla_kv_memory_config config;
    tla_kv_reservations *reservations;
    tla_kv_region *regions; /* of each request, where they are reserved */
    tla_slot_pool *pool;
    table *tables; /* of each request, where they are paged */
    tla_kv_mapped *mapped;
    uint64_t blocks;                          /* paged: of the memory */
    uint64_t too_long, fragmented, exhausted; /* failures */
};

const char *tla_kv_memory_name(tla_kv_memory_kind kind) {
    static const char *const names[] = {"maximum", "power_of_two", "oracle", "first_fit", "paged", "mapped"};
    return kind < TLA_KV_MEMORY_COUNT ? names[kind] : NULL;
}

bool tla_kv_memory_reserves(tla_kv_memory_kind kind) {
    return kind < TLA_KV_MEMORY_PAGED;
}

static tla_status create_reservations(tla_kv_memory *m) {
    static const tla_kv_rule rules[] = {TLA_KV_MAXIMUM, TLA_KV_POWER_OF_TWO, TLA_KV_ORACLE, TLA_KV_ORACLE};
    const tla_kv_memory_config *c = &m->config;
    const tla_kv_reservations_config config = {.tokens = c->tokens,
                                               .longest = c->longest,
                                               .rule = rules[c->kind],
                                               .policy =
                                                   c->kind == TLA_KV_MEMORY_FIRST_FIT ? TLA_FIRST_FIT : TLA_BUDDY};
    m->regions = calloc(c->requests, sizeof *m->regions);
    return m->regions ? tla_kv_reservations_create(&config, &m->reservations) : TLA_NO_HOST_MEMORY;
}

static tla_status create_pool(tla_kv_memory *m) {
    const tla_slot_pool_config config = {.nbytes = m->blocks, .slot_bytes = 1};
    m->tables = calloc(m->config.requests, sizeof *m->tables);
    return m->tables ? tla_slot_pool_create(&config, &m->pool) : TLA_NO_HOST_MEMORY;
}

static tla_status create_mapped(tla_kv_memory *m) {
    const tla_kv_memory_config *c = &m->config;
    const tla_kv_mapped_config config = {.groups = m->blocks,
                                         .tensors = c->tensors,
                                         .page_tokens = c->block_tokens,
                                         .page_ptes = c->page_ptes,
                                         .sequences = c->requests,
                                         .longest = c->longest};
    return tla_kv_mapped_create(&config, &m->mapped);
}

tla_status tla_kv_memory_create(const tla_kv_memory_config *config, tla_kv_memory **made) {
    *made = NULL;
    if (config->kind >= TLA_KV_MEMORY_COUNT || !config->tokens || config->tokens > UINT64_C(1) << 40 ||
        !config->longest || config->longest > UINT64_C(1) << 32 || !config->requests || !config->block_tokens)
        return TLA_INVALID_ARGUMENT;
    tla_kv_memory *m = calloc(1, sizeof *m);
    if (!m) return TLA_NO_HOST_MEMORY;
    m->config = *config;
    m->blocks = config->tokens / config->block_tokens;
    tla_status status = tla_kv_memory_reserves(config->kind)  ? create_reservations(m)
                        : m->blocks == 0                      ? TLA_INVALID_ARGUMENT
                        : config->kind == TLA_KV_MEMORY_PAGED ? create_pool(m)
                                                              : create_mapped(m);
    if (status)
        tla_kv_memory_destroy(m);
    else
        *made = m;
    return status;
}

void tla_kv_memory_destroy(tla_kv_memory *m) {
    if (!m) return;
    for (uint32_t i = 0; m->tables && i < m->config.requests; i++)
        free(m->tables[i].slots);
    free(m->tables);
    free(m->regions);
    tla_kv_reservations_destroy(m->reservations);
    tla_slot_pool_destroy(m->pool);
    tla_kv_mapped_destroy(m->mapped);
    free(m);
}

static tla_status hold_blocks(tla_kv_memory *m, uint32_t number, uint64_t tokens, tla_work *work) {
    table *t = &m->tables[number];
    const uint64_t wanted = (tokens + m->config.block_tokens - 1) / m->config.block_tokens;
    if (wanted <= t->count) return TLA_OK;
    if (wanted > m->blocks) return TLA_LIMIT;
    if (!tla_grow(&t->slots, &t->room, (size_t)wanted, sizeof *t->slots)) return TLA_NO_HOST_MEMORY;
    const tla_status status = tla_slot_pool_alloc_batch(m->pool, 1, wanted - t->count, t->slots + t->count, work);
    if (!status) t->count = wanted;
    return status;
}

static tla_status hold(tla_kv_memory *m, uint32_t number, const tla_serving_request *request, uint64_t tokens,
                       tla_work *work) {
    if ((uint64_t)request->prompt_tokens + request->output_tokens > m->config.longest) return TLA_LIMIT;
    if (m->pool) return hold_blocks(m, number, tokens, work);
    if (m->mapped) return tla_kv_mapped_grow(m->mapped, number, tokens, work);
    if (m->regions[number].block.nbytes) return TLA_OK;
    return tla_kv_reserve(m->reservations, request->prompt_tokens, request->output_tokens, &m->regions[number], work);
}

tla_status tla_kv_memory_hold(tla_kv_memory *m, uint32_t number, const tla_serving_request *request, uint64_t tokens,
                              tla_work *work) {
    const tla_status status = hold(m, number, request, tokens, work);
    m->too_long += status == TLA_LIMIT;
    m->fragmented += status == TLA_FRAGMENTED;
    m->exhausted += status == TLA_EXHAUSTED;
    return status;
}

bool tla_kv_memory_fits(const tla_kv_memory *m, uint32_t number, uint64_t tokens) {
    if (m->mapped) return tla_kv_mapped_fits(m->mapped, number, tokens);
    if (!m->pool) return true;
    const uint64_t wanted = (tokens + m->config.block_tokens - 1) / m->config.block_tokens;
    const uint64_t has = m->tables[number].count;
    return wanted <= has || wanted - has <= tla_slot_pool_get_stats(m->pool).free_slots;
}

/* The last block first, so that beginnings are used again last. */
static tla_status release_blocks(tla_kv_memory *m, table *t, tla_work *work) {
    for (; t->count > 0; t->count--) {
        const tla_status status = tla_slot_pool_free(m->pool, t->slots[t->count - 1].index, work);
        if (status) return status;
    }
    return TLA_OK;
}

tla_status tla_kv_memory_release(tla_kv_memory *m, uint32_t number, tla_work *work) {
    if (m->pool) return release_blocks(m, &m->tables[number], work);
    if (m->mapped) return tla_kv_mapped_release(m->mapped, number, work);
    return tla_kv_release(m->reservations, &m->regions[number], work);
}

tla_kv_memory_stats tla_kv_memory_get_stats(const tla_kv_memory *m) {
    tla_kv_memory_stats stats = {
        .tokens = m->config.tokens, .too_long = m->too_long, .fragmented = m->fragmented, .exhausted = m->exhausted};
    if (m->reservations) {
        const tla_kv_reservations_stats r = tla_kv_reservations_get_stats(m->reservations);
        stats.held = r.reserved;
        stats.taken = r.granted;
    } else {
        stats.held = stats.taken =
            m->mapped ? tla_kv_mapped_get_stats(m->mapped).mapped_tokens
                      : (m->blocks - tla_slot_pool_get_stats(m->pool).free_slots) * m->config.block_tokens;
    }
    return stats;
}
