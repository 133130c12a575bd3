/* Blocks of the host's memory behind a key-value cache: LMCache's blocks, and the budget of those that read them. */
#include "serving/host_tier.h"

#include <stddef.h>

tla_status tla_host_tier_init(tla_host_tier *tier, uint32_t blocks, uint64_t budget) {
    *tier = (tla_host_tier){0};
    if (blocks == 0 || blocks >= TLA_KV_BLOCKS_MAX) return TLA_INVALID_ARGUMENT;
    tier->budget.chunks = budget ? budget : blocks;
    return tla_kv_blocks_create(&(tla_kv_blocks_config){.blocks = blocks + 1, .index = true, .rules = TLA_KV_LMCACHE},
                                &tier->blocks);
}

void tla_host_tier_clear(tla_host_tier *tier) {
    tla_kv_blocks_destroy(tier->blocks);
    *tier = (tla_host_tier){0};
}

tla_status tla_host_tier_put(tla_host_tier *tier, uint64_t hash, uint32_t *block, tla_work *work) {
    tla_kv_table table = {0};
    *block = TLA_KV_PLACEHOLDER;
    if (tla_kv_blocks_find(tier->blocks, &hash, 1, block, work)) {
        *block = TLA_KV_PLACEHOLDER;
        tier->stats.kept++;
        return TLA_OK;
    }
    tla_status status = tla_kv_blocks_allocate(tier->blocks, &table, NULL, 0, 1, work);
    if (status == TLA_EXHAUSTED) { /* all is being read */
        tier->stats.lost++;
        return TLA_OK;
    }
    if (status) return status;
    status = tla_kv_blocks_enter(tier->blocks, &table, &hash, 1, work);
    *block = table.blocks[0];
    tla_kv_blocks_release(tier->blocks, &table, work); /* to the cache alone */
    tla_kv_table_clear(&table);
    tier->stats.moved_out += status == TLA_OK;
    return status;
}

uint32_t tla_host_tier_find(const tla_host_tier *tier, const uint64_t *hashes, uint32_t count, uint32_t *found,
                            tla_work *work) {
    const uint32_t most = count < tier->budget.chunks ? count : (uint32_t)tier->budget.chunks;
    return tla_kv_blocks_find(tier->blocks, hashes, most, found, work);
}

tla_status tla_host_tier_begin_read(tla_host_tier *tier, const uint32_t *found, uint32_t count, tla_kv_table *read,
                                    tla_work *work) {
    tla_status status = tla_kv_budget_take(&tier->budget, count);
    if (status) {
        tier->stats.busy++;
        return status;
    }
    status = tla_kv_blocks_allocate(tier->blocks, read, found, count, count, work);
    if (status)
        (void)tla_kv_budget_give_back(&tier->budget, count);
    else
        tier->stats.moved_in += count;
    return status;
}

void tla_host_tier_end_read(tla_host_tier *tier, tla_kv_table *read, tla_work *work) {
    (void)tla_kv_budget_give_back(&tier->budget, read->count); /* it was taken */
    tla_kv_blocks_release(tier->blocks, read, work);
}

tla_host_tier_stats tla_host_tier_get_stats(const tla_host_tier *tier) {
    tla_host_tier_stats stats = tier->stats;
    if (!tier->blocks) return stats;
    const tla_kv_blocks_stats blocks = tla_kv_blocks_get_stats(tier->blocks);
    stats.blocks = blocks.usable;
    stats.free = blocks.free;
    stats.cached = blocks.cached;
    stats.read = blocks.referenced;
    stats.evicted = blocks.evicted;
    return stats;
}
