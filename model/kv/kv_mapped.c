/* Virtually contiguous key-value cache, mapped on demand. */
#include "tlmalloc/kv/kv_cache.h"

#include "base/host_array.h"

#include <stdlib.h>

/* A sequence's mapped pages: a number for each page of every tensor, in the order of its tokens. */
typedef struct range {
    uint32_t *groups;
    uint32_t count, room;
} range;

struct tla_kv_mapped {
    tla_kv_mapped_config config;
    uint32_t *queue; /* of free groups, a ring of config.groups */
    uint64_t head;
    range *ranges;
    tla_kv_mapped_stats stats;
};

static bool between(uint64_t value, uint64_t most) {
    return value >= 1 && value <= most;
}

tla_status tla_kv_mapped_create(const tla_kv_mapped_config *config, tla_kv_mapped **made) {
    *made = NULL;
    if (!between(config->groups, UINT32_MAX) || !between(config->tensors, 1 << 20) ||
        !between(config->page_tokens, UINT64_C(1) << 32) || !between(config->page_ptes, UINT64_C(1) << 32) ||
        !between(config->sequences, UINT32_MAX) || !between(config->longest, UINT64_C(1) << 32))
        return TLA_INVALID_ARGUMENT;
    tla_kv_mapped *m = calloc(1, sizeof *m);
    if (!m) return TLA_NO_HOST_MEMORY;
    m->config = *config;
    m->stats.groups = m->stats.free_groups = config->groups;
    m->queue = host_array_new(config->groups, sizeof *m->queue);
    m->ranges = host_array_new(config->sequences, sizeof *m->ranges);
    if (!m->queue || !m->ranges) {
        tla_kv_mapped_destroy(m);
        return TLA_NO_HOST_MEMORY;
    }
    for (uint64_t i = 0; i < config->groups; i++)
        m->queue[i] = (uint32_t)i;
    *made = m;
    return TLA_OK;
}

void tla_kv_mapped_destroy(tla_kv_mapped *m) {
    if (!m) return;
    for (uint64_t i = 0; m->ranges && i < m->config.sequences; i++)
        free(m->ranges[i].groups);
    free(m->ranges);
    free(m->queue);
    free(m);
}

static uint64_t groups_for(const tla_kv_mapped *m, uint64_t tokens) {
    return tokens / m->config.page_tokens + (tokens % m->config.page_tokens != 0);
}

static tla_status may_grow(const tla_kv_mapped *m, uint64_t sequence, uint64_t tokens) {
    if (sequence >= m->config.sequences) return TLA_OUT_OF_RANGE;
    const uint64_t wanted = groups_for(m, tokens), has = m->ranges[sequence].count;
    if (tokens > m->config.longest || wanted > m->config.groups) return TLA_LIMIT;
    return wanted > has && wanted - has > m->stats.free_groups ? TLA_EXHAUSTED : TLA_OK;
}

bool tla_kv_mapped_fits(const tla_kv_mapped *m, uint64_t sequence, uint64_t tokens) {
    return may_grow(m, sequence, tokens) == TLA_OK;
}

static bool make_room(range *r, uint64_t count) {
    if (count <= r->room) return true;
    const uint64_t room = count > 2 * (uint64_t)r->room ? count : 2 * (uint64_t)r->room;
    uint32_t *grown = host_array_resize(r->groups, room, sizeof *grown);
    if (!grown) return false;
    r->groups = grown;
    r->room = (uint32_t)(room < UINT32_MAX ? room : UINT32_MAX);
    return true;
}

/* The receipt of `groups` of pages that are mapped or unmapped. */
static void count_pages(const tla_kv_mapped *m, uint64_t groups, tla_work *work) {
    work->slots += groups * m->config.tensors;
    work->chunks += groups * m->config.tensors;
    work->pte_writes += groups * m->config.tensors * m->config.page_ptes;
}

tla_status tla_kv_mapped_grow(tla_kv_mapped *m, uint64_t sequence, uint64_t tokens, tla_work *work) {
    tla_status status = may_grow(m, sequence, tokens);
    m->stats.refused += status == TLA_EXHAUSTED;
    if (status) return status;
    range *r = &m->ranges[sequence];
    const uint64_t wanted = groups_for(m, tokens), has = r->count;
    if (wanted <= has) return TLA_OK;
    if (!make_room(r, wanted)) return TLA_NO_HOST_MEMORY;
    for (; r->count < wanted; m->stats.free_groups--) {
        r->groups[r->count++] = m->queue[m->head];
        m->head = (m->head + 1) % m->config.groups;
    }
    const uint64_t pages = (wanted - has) * m->config.tensors;
    m->stats.mapped += pages;
    m->stats.mapped_tokens += (wanted - has) * m->config.page_tokens;
    work->nodes_visited += pages;
    count_pages(m, wanted - has, work);
    return TLA_OK;
}

tla_status tla_kv_mapped_release(tla_kv_mapped *m, uint64_t sequence, tla_work *work) {
    if (sequence >= m->config.sequences) return TLA_OUT_OF_RANGE;
    range *r = &m->ranges[sequence];
    const uint64_t had = r->count;
    if (had == 0) return TLA_OK;
    while (r->count > 0)
        m->queue[(m->head + m->stats.free_groups++) % m->config.groups] = r->groups[--r->count];
    m->stats.unmapped += had * m->config.tensors;
    m->stats.mapped_tokens -= had * m->config.page_tokens;
    count_pages(m, had, work);
    work->invalidates++;
    return TLA_OK;
}

tla_status tla_kv_mapped_find(const tla_kv_mapped *m, uint64_t sequence, uint64_t token, uint64_t *group,
                              uint64_t *at) {
    if (sequence >= m->config.sequences) return TLA_OUT_OF_RANGE;
    const range *r = &m->ranges[sequence];
    const uint64_t page = token / m->config.page_tokens;
    if (page >= r->count) return TLA_UNMAPPED;
    *group = r->groups[page];
    *at = token % m->config.page_tokens;
    return TLA_OK;
}

tla_kv_mapped_stats tla_kv_mapped_get_stats(const tla_kv_mapped *m) {
    return m->stats;
}
