/* The transitions of blocks of the segment cache between free, pending and live, with their statistics; inactive_split
 * is counted here. */
#include "segment_pool.h"

void tla_segment_add_free(tla_segment_cache *cache, tla_segment_block *block) {
    tla_segment_pool *pool = tla_segment_pool_of(block);
    block->live = false;
    block->age_base = pool->searches;
    if (!block->range && !tla_segment_block_is_whole(block)) cache->stats.inactive_split += block->nbytes;
    tla_segment_tree_insert(&pool->free, block);
}

void tla_segment_remove_free(tla_segment_cache *cache, tla_segment_block *block) {
    if (!block->range && !tla_segment_block_is_whole(block)) cache->stats.inactive_split -= block->nbytes;
    tla_segment_tree_remove(&tla_segment_pool_of(block)->free, block);
}

/* The order of joins does not matter: the outcome is one block. */
void tla_segment_absorb(tla_segment_cache *cache, tla_segment_block *block, tla_segment_block *neighbour,
                        tla_work *work) {
    if (!tla_segment_is_free(neighbour) || neighbour->unmapped != block->unmapped) return;
    if (neighbour->unmapped)
        tla_segment_tree_remove(&tla_segment_pool_of(neighbour)->unmapped, neighbour);
    else
        tla_segment_remove_free(cache, neighbour);
    tla_segment_join(block, neighbour);
    tla_segment_records_give(&cache->records, neighbour);
    if (work) {
        work->merges++;
        work->metadata_lines++;
    }
}

void tla_segment_count_reserved(tla_segment_cache *cache, uint64_t nbytes) {
    tla_segment_cache_stats *stats = &cache->stats;
    stats->reserved += nbytes;
    if (stats->reserved > stats->peak_reserved) stats->peak_reserved = stats->reserved;
}

void tla_segment_count_live(tla_segment_cache *cache, const tla_segment_block *block) {
    tla_segment_cache_stats *stats = &cache->stats;
    stats->active += block->nbytes;
    if (block->freed) return;
    stats->requested += block->requested;
    stats->allocated += block->nbytes;
    if (stats->requested > stats->peak_requested) stats->peak_requested = stats->requested;
    if (stats->allocated > stats->peak_allocated) stats->peak_allocated = stats->allocated;
}

void tla_segment_make_free(tla_segment_cache *cache, tla_segment_block *block, tla_work *work) {
    const tla_segment_tree *tree = &tla_segment_pool_of(block)->free;
    tla_live_addresses_remove(&cache->live, block->address);
    cache->stats.active -= block->nbytes;
    if (work) {
        work->list_length += tree->count;
        work->probes += tla_segment_tree_probes(tree);
        work->metadata_lines++;
    }
    tla_segment_absorb(cache, block, block->previous, work);
    tla_segment_absorb(cache, block, block->next, work);
    tla_segment_add_free(cache, block);
}

/* Pending blocks are in no tree: its links chain them. */
void tla_segment_add_pending(tla_segment_cache *cache, tla_segment_block *block) {
    block->left = cache->last_pending;
    block->right = NULL;
    *(block->left ? &block->left->right : &cache->first_pending) = block;
    cache->last_pending = block;
}

void tla_segment_end_pending(tla_segment_cache *cache, tla_segment_block *block, tla_work *work) {
    *(block->left ? &block->left->right : &cache->first_pending) = block->right;
    *(block->right ? &block->right->left : &cache->last_pending) = block->left;
    tla_segment_make_free(cache, block, work);
}

void tla_segment_complete_pending(tla_segment_cache *cache, tla_work *work) {
    if (cache->synchronize) cache->synchronize(cache->synchronize_context);
    while (cache->first_pending)
        tla_segment_end_pending(cache, cache->first_pending, work);
}
