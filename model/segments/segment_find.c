/* The choice of a free block for a request: best fit, the end of a range last, and the oversize rules. */
#include "segment_pool.h"

/* Returns the size to which a block could grow: its size and the addresses without memory directly after it. */
static uint64_t reach(const tla_segment_block *block) {
    return block->nbytes + (block->next && block->next->unmapped ? block->next->nbytes : 0);
}

static tla_segment_block *after(const tla_segment_tree *tree, const tla_segment_block *block, tla_work *work) {
    tla_segment_block *next = tla_segment_tree_after(tree, block);
    if (work && next) work->nodes_visited++;
    return next && next->stream == block->stream ? next : NULL;
}

/* With expandable segments the best fit is the one that can grow to the least, so that the end of a range is used last.
 * When they were turned off after some were taken, plain blocks only. */
static tla_segment_block *choose(const tla_segment_cache *cache, const tla_segment_tree *tree, tla_segment_block *block,
                                 tla_work *work) {
    if (!block->range) return block;
    if (!cache->config.expandable) {
        while (block && block->range)
            block = after(tree, block, work);
        return block;
    }
    while (block->range) {
        tla_segment_block *next = after(tree, block, work);
        if (!next || reach(next) >= reach(block)) break;
        block = next;
    }
    return block;
}

tla_segment_block *tla_segment_look(const tla_segment_cache *cache, const tla_segment_block *wanted, tla_work *work) {
    const tla_segment_cache_config *c = &cache->config;
    const tla_segment_tree *tree = &tla_segment_pool_of(wanted)->free;
    if (work) {
        work->probes += tla_segment_tree_probes(tree);
        work->list_length += tree->count;
    }
    tla_segment_block *block = tla_segment_tree_lower_bound(tree, wanted);
    if (!block || block->stream != wanted->stream) return NULL;
    block = choose(cache, tree, block, work);
    if (!block) return NULL;
    if (c->exempt_expandable && c->expandable && block->range) return block;
    if (wanted->nbytes < c->max_split_size && block->nbytes >= c->max_split_size) return NULL;
    if (wanted->nbytes >= c->max_split_size && block->nbytes - wanted->nbytes >= c->max_non_split_rounding) return NULL;
    return block;
}
