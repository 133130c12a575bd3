/* Contiguous regions of a key-value cache over an arena that counts tokens. */
#include "tlmalloc/kv/kv_cache.h"

#include <stdlib.h>

enum { LOOKED_AT = 64 /* free blocks copied at a time */ };
#define TOKENS_MAX (UINT64_C(1) << 63)

struct tla_kv_reservations {
    tla_kv_reservations_config config;
    tla_arena *arena;
    uint64_t largest; /* the largest block when nothing is taken */
    tla_kv_reservations_stats stats;
};

const char *tla_kv_rule_name(tla_kv_rule rule) {
    static const char *const names[] = {"maximum", "power_of_two", "oracle"};
    return rule < TLA_KV_RULE_COUNT ? names[rule] : NULL;
}

static uint64_t power_of_two_from(uint64_t least) {
    uint64_t power = 1;
    while (power < least && power < TOKENS_MAX)
        power <<= 1;
    return power;
}

uint64_t tla_kv_rule_tokens(tla_kv_rule rule, uint64_t prompt, uint64_t output, uint64_t longest) {
    if (prompt > longest || output > longest - prompt) return 0;
    if (rule == TLA_KV_MAXIMUM) return longest;
    if (rule == TLA_KV_ORACLE) return prompt + output;
    const uint64_t power = power_of_two_from(output);
    return power < output || power > longest - prompt ? longest : prompt + power; /* the first: it has no more bits */
}

tla_status tla_kv_reservations_create(const tla_kv_reservations_config *config, tla_kv_reservations **made) {
    *made = NULL;
    if (!config->tokens || config->tokens > TOKENS_MAX || !config->longest || config->rule >= TLA_KV_RULE_COUNT)
        return TLA_INVALID_ARGUMENT;
    tla_kv_reservations *r = calloc(1, sizeof *r);
    if (!r) return TLA_NO_HOST_MEMORY;
    r->config = *config;
    const tla_arena_config arena = {.capacity = config->tokens, .policy = config->policy};
    const tla_status status = tla_arena_create(&arena, &r->arena);
    if (status) {
        free(r);
        return status;
    }
    r->largest = tla_arena_get_stats(r->arena).largest_free;
    *made = r;
    return TLA_OK;
}

void tla_kv_reservations_destroy(tla_kv_reservations *r) {
    if (!r) return;
    tla_arena_destroy(r->arena);
    free(r);
}

/* Finds the lowest of the smallest free blocks that hold `nbytes`; false if no block does. */
static bool lowest_of_smallest(const tla_arena *arena, uint64_t nbytes, tla_block *best) {
    tla_block blocks[LOOKED_AT];
    uint64_t from = 0;
    size_t count;
    best->nbytes = 0;
    while ((count = tla_arena_free_blocks(arena, from, blocks, LOOKED_AT)) > 0) {
        for (size_t i = 0; i < count; i++)
            if (blocks[i].nbytes >= nbytes && (best->nbytes == 0 || blocks[i].nbytes < best->nbytes)) *best = blocks[i];
        from = blocks[count - 1].offset + blocks[count - 1].nbytes;
    }
    return best->nbytes != 0;
}

static tla_status take(tla_kv_reservations *r, uint64_t tokens, tla_block *block, tla_work *work) {
    tla_block best;
    const uint64_t granted = tokens ? tla_arena_granted(r->arena, tokens) : 0;
    if (granted == 0 || granted > r->largest) return TLA_LIMIT;
    if (r->config.policy != TLA_BUDDY || !lowest_of_smallest(r->arena, granted, &best))
        return tla_arena_alloc(r->arena, tokens, block, work);
    *block = (tla_block){best.offset, granted};
    return tla_arena_reserve(r->arena, *block, work);
}

tla_status tla_kv_reserve(tla_kv_reservations *r, uint64_t prompt, uint64_t output, tla_kv_region *region,
                          tla_work *work) {
    *region = (tla_kv_region){0};
    if (!prompt || !output) return TLA_INVALID_ARGUMENT;
    const uint64_t tokens = tla_kv_rule_tokens(r->config.rule, prompt, output, r->config.longest);
    tla_block block;
    const tla_status status = take(r, tokens, &block, work);
    r->stats.too_long += status == TLA_LIMIT;
    r->stats.fragmented += status == TLA_FRAGMENTED;
    r->stats.exhausted += status == TLA_EXHAUSTED;
    if (status) return status;
    *region = (tla_kv_region){block, tokens};
    r->stats.regions++;
    r->stats.reserved += tokens;
    return TLA_OK;
}

tla_status tla_kv_release(tla_kv_reservations *r, tla_kv_region *region, tla_work *work) {
    if (region->block.nbytes == 0) return TLA_OK;
    const tla_status status = tla_arena_free(r->arena, region->block, work);
    if (status) return status;
    r->stats.regions--;
    r->stats.reserved -= region->tokens;
    *region = (tla_kv_region){0};
    return TLA_OK;
}

tla_kv_reservations_stats tla_kv_reservations_get_stats(const tla_kv_reservations *r) {
    const tla_arena_stats arena = tla_arena_get_stats(r->arena);
    tla_kv_reservations_stats stats = r->stats;
    stats.tokens = r->config.tokens;
    stats.granted = arena.used;
    stats.largest_free = arena.largest_free;
    return stats;
}
