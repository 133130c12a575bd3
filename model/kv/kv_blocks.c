/* References, and tables of requests, over the rules of vLLM or of LMCache. */
#include "base/grow.h"
#include "tlmalloc/kv/kv_cache.h"

#include "kv_blocks_rules.h"

#include <stdlib.h>

struct tla_kv_blocks {
    tla_kv_blocks_config config;
    const tla_kv_rules *rules;
    void *state;
    uint32_t *references; /* of requests, to every block */
    uint32_t idle;        /* blocks without one */
    uint64_t all_references;
    uint32_t peak;
    uint64_t taken, revived, shared, evicted;
};

const char *tla_kv_rules_of_name(tla_kv_rules_of rules) {
    static const char *const names[TLA_KV_RULES_COUNT] = {"vllm", "lmcache"};
    return (unsigned)rules < TLA_KV_RULES_COUNT ? names[rules] : NULL;
}

tla_status tla_kv_blocks_create(const tla_kv_blocks_config *config, tla_kv_blocks **out) {
    *out = NULL;
    if (config->blocks < 2 || config->blocks > TLA_KV_BLOCKS_MAX || (unsigned)config->rules >= TLA_KV_RULES_COUNT)
        return TLA_INVALID_ARGUMENT;
    tla_kv_blocks *made = calloc(1, sizeof *made);
    if (!made) return TLA_NO_HOST_MEMORY;
    made->config = *config;
    made->rules = config->rules == TLA_KV_LMCACHE ? &tla_kv_lmcache_rules : &tla_kv_vllm_rules;
    made->idle = config->blocks - 1;
    made->references = calloc(config->blocks, sizeof *made->references);
    if (!made->references || made->rules->create(config->blocks, config->index, &made->state)) {
        tla_kv_blocks_destroy(made);
        return TLA_NO_HOST_MEMORY;
    }
    *out = made;
    return TLA_OK;
}

void tla_kv_blocks_destroy(tla_kv_blocks *blocks) {
    if (!blocks) return;
    blocks->rules->destroy(blocks->state);
    free(blocks->references);
    free(blocks);
}

/* ---- one block ---- */

static void refer(tla_kv_blocks *b, uint32_t block) {
    b->idle -= b->references[block]++ == 0;
    b->all_references++;
    const uint32_t referenced = b->config.blocks - 1 - b->idle;
    if (referenced > b->peak) b->peak = referenced;
}

static uint32_t take(tla_kv_blocks *b, tla_work *work) {
    bool evicted = false;
    uint64_t hash = 0;
    const uint32_t block = b->rules->take(b->state, &evicted, &hash, work);
    b->evicted += evicted;
    if (evicted && b->config.leaves) b->config.leaves(b->config.context, block, hash);
    b->taken++;
    refer(b, block);
    return block;
}

/* A block of which the content was found. */
static void reuse(tla_kv_blocks *b, uint32_t block, tla_work *work) {
    const bool first = b->references[block] == 0;
    b->rules->reuse(b->state, block, first, work);
    *(first ? &b->revived : &b->shared) += 1;
    refer(b, block);
}

static void let_go(tla_kv_blocks *b, uint32_t block, tla_work *work) {
    const bool last = --b->references[block] == 0;
    b->all_references--;
    b->idle += last;
    b->rules->release(b->state, block, last, work);
}

/* ---- requests ---- */

uint32_t tla_kv_blocks_find(const tla_kv_blocks *b, const uint64_t *hashes, uint32_t count, uint32_t *found,
                            tla_work *work) {
    uint32_t hits = 0;
    if (!b->config.index) return 0;
    while (hits < count && (found[hits] = b->rules->find(b->state, hashes[hits], work)) != 0)
        hits++;
    return hits;
}

uint32_t tla_kv_blocks_needed(const tla_kv_blocks *b, const tla_kv_table *table, const uint32_t *found,
                              uint32_t found_count, uint32_t count) {
    const uint32_t held = table->count + found_count;
    uint32_t needed = count > held ? count - held : 0;
    for (uint32_t i = 0; i < found_count; i++)
        needed += b->references[found[i]] == 0;
    return needed;
}

static tla_status make_room(tla_kv_table *table, uint32_t count) {
    size_t room = table->room;
    if (!tla_grow(&table->blocks, &room, count, sizeof *table->blocks)) return TLA_NO_HOST_MEMORY;
    table->room = (uint32_t)room; /* at most twice TLA_KV_BLOCKS_MAX */
    return TLA_OK;
}

tla_status tla_kv_blocks_allocate(tla_kv_blocks *b, tla_kv_table *table, const uint32_t *found, uint32_t found_count,
                                  uint32_t count, tla_work *work) {
    if (count > TLA_KV_BLOCKS_MAX || (found_count && (table->count || found_count > count)))
        return TLA_INVALID_ARGUMENT;
    if (work) work->list_length += b->idle;
    if (tla_kv_blocks_needed(b, table, found, found_count, count) > b->idle) return TLA_EXHAUSTED;
    const tla_status status = make_room(table, count);
    if (status) return status;
    for (uint32_t i = 0; i < found_count; i++) {
        table->blocks[i] = found[i];
        reuse(b, found[b->rules->reuse_backwards ? found_count - 1 - i : i], work);
    }
    table->count += found_count;
    table->entered += found_count;
    while (table->count < count)
        table->blocks[table->count++] = take(b, work);
    return TLA_OK;
}

tla_status tla_kv_blocks_enter(tla_kv_blocks *b, tla_kv_table *table, const uint64_t *hashes, uint32_t full,
                               tla_work *work) {
    if (full > table->count) return TLA_INVALID_ARGUMENT;
    if (!b->config.index) return TLA_OK;
    for (; table->entered < full; table->entered++) {
        const uint32_t i = table->entered;
        const tla_status status = b->rules->enter(b->state, table->blocks[i], hashes[i], work);
        if (status) return status;
    }
    return TLA_OK;
}

void tla_kv_blocks_release(tla_kv_blocks *b, tla_kv_table *table, tla_work *work) {
    for (uint32_t i = 0; i < table->count; i++)
        let_go(b, table->blocks[b->rules->release_backwards ? table->count - 1 - i : i], work);
    table->count = table->entered = 0;
}

void tla_kv_table_clear(tla_kv_table *table) {
    free(table->blocks);
    *table = (tla_kv_table){0};
}

tla_status tla_kv_blocks_references(const tla_kv_blocks *b, uint32_t block, uint32_t *references) {
    if (block >= b->config.blocks) return TLA_OUT_OF_RANGE;
    *references = b->references[block];
    return TLA_OK;
}

tla_kv_blocks_stats tla_kv_blocks_get_stats(const tla_kv_blocks *b) {
    const uint32_t cached = b->rules->cached(b->state);
    return (tla_kv_blocks_stats){.usable = b->config.blocks - 1,
                                 .free = b->idle - cached,
                                 .cached = cached,
                                 .referenced = b->config.blocks - 1 - b->idle,
                                 .references = b->all_references,
                                 .peak = b->peak,
                                 .taken = b->taken,
                                 .revived = b->revived,
                                 .shared = b->shared,
                                 .evicted = b->evicted};
}
