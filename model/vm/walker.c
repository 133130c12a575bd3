/* A pool of walkers: what their path registers and the walk cache know. */
#include "walker_pool.h"

#include <stdlib.h>

tla_status tla_walkers_create(const tla_walkers_config *config, tla_walkers **out) {
    *out = NULL;
    if (config->walkers == 0 || config->walkers > TLA_WALKERS_MAX || config->walk_cache_entries > TLA_WALK_CACHE_MAX)
        return TLA_INVALID_ARGUMENT;
    tla_walkers *w = calloc(1, sizeof *w);
    if (!w) return TLA_NO_HOST_MEMORY;
    w->config = *config;
    w->pool = calloc(config->walkers, sizeof *w->pool);
    w->cache = calloc(config->walk_cache_entries + UINT64_C(1), sizeof *w->cache);
    for (w->bucket_bits = 1; UINT32_C(1) << w->bucket_bits < 2 * config->walkers;)
        w->bucket_bits++;
    w->buckets = calloc(UINT64_C(1) << w->bucket_bits, sizeof *w->buckets);
    w->idle = calloc(config->walkers / 64 + 1, sizeof *w->idle);
    if (!w->pool || !w->cache || !w->buckets || !w->idle) {
        tla_walkers_destroy(w);
        return TLA_NO_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < config->walkers; i++) {
        w->pool[i].path_shift = 64;
        w->idle[i / 64] |= UINT64_C(1) << i % 64;
    }
    *out = w;
    return TLA_OK;
}

void tla_walkers_destroy(tla_walkers *w) {
    if (!w) return;
    free(w->pool);
    free(w->cache);
    free(w->buckets);
    free(w->idle);
    free(w);
}

/* Reads of a walk that lead to a next table: those above the page, without the one that ended it. */
static uint32_t upper_reads(const tla_walk *walk) {
    uint32_t page_shift = (uint32_t)__builtin_ctzll(walk->page_size), n = 0;
    while (n + 1 < walk->reads && walk->read[n].va_shift > page_shift)
        n++;
    return n;
}

static cached *find_cached(tla_walkers *w, uint32_t asid, uint64_t va, uint32_t va_shift) {
    for (uint32_t i = 0; i < w->config.walk_cache_entries; i++) {
        cached *c = &w->cache[i];
        if (c->last_use && c->va_shift == va_shift && c->prefix == va >> va_shift && c->asid == asid) return c;
    }
    return NULL;
}

static void cache_entry(tla_walkers *w, uint32_t asid, uint64_t va, uint32_t va_shift) {
    if (w->config.walk_cache_entries == 0) return;
    cached *c = find_cached(w, asid, va, va_shift);
    if (!c) {
        c = &w->cache[0];
        for (uint32_t i = 1; i < w->config.walk_cache_entries; i++)
            if (w->cache[i].last_use < c->last_use) c = &w->cache[i];
    }
    *c = (cached){va >> va_shift, ++w->uses, asid, va_shift};
}

void walkers_remember(tla_walkers *w, walker *k, const tla_walk *walk) {
    uint32_t upper = upper_reads(walk);
    for (uint32_t n = 0; n < upper; n++)
        cache_entry(w, walk->asid, walk->va.value, walk->read[n].va_shift);
    k->va = walk->va.value;
    k->asid = walk->asid;
    k->path_shift = w->config.path_registers && upper > 0 ? walk->read[upper - 1].va_shift : 64;
}

uint32_t walkers_known_reads(tla_walkers *w, const walker *k, const tla_walk *walk) {
    for (uint32_t n = upper_reads(walk); n > 0; n--) {
        uint32_t shift = walk->read[n - 1].va_shift;
        bool on_path = k->path_shift <= shift && k->asid == walk->asid && k->va >> shift == walk->va.value >> shift;
        if (on_path || find_cached(w, walk->asid, walk->va.value, shift)) return n;
    }
    return 0;
}

void tla_walkers_invalidate(tla_walkers *w, uint32_t asid) {
    for (uint32_t i = 0; i < w->config.walkers; i++) {
        walker *k = &w->pool[i];
        if (k->request && k->request->walk.asid == asid) k->request->joinable = false;
        if (k->asid == asid) k->path_shift = 64;
    }
    for (uint32_t i = 0; i < w->config.walk_cache_entries; i++)
        if (w->cache[i].asid == asid) w->cache[i].last_use = 0;
}

tla_walkers_stats tla_walkers_get_stats(const tla_walkers *w) {
    return w->stats;
}
