/* Whose rules say which block is taken, and what is found: vLLM's and LMCache's behind kv_cache.h. Internal to
 * model/kv. Who has a reference is not their affair, but whether anybody has. */
#ifndef TLMALLOC_KV_KV_BLOCKS_RULES_H
#define TLMALLOC_KV_KV_BLOCKS_RULES_H

#include "tlmalloc/kv/kv_cache.h"

typedef struct tla_kv_rules {
    /* Makes *state for so many blocks; without `index` nothing is ever entered. TLA_NO_HOST_MEMORY; *state is NULL. */
    tla_status (*create)(uint32_t blocks, bool index, void **state);
    void (*destroy)(void *state);

    /* The block with this content, 0 when there is none. */
    uint32_t (*find)(const void *state, uint64_t hash, tla_work *work);

    /* Somebody refers to a block that was found; `first`: nobody did. Blocks come in the order of their tokens, or the
     * last one first where `reuse_backwards` says so. */
    void (*reuse)(void *state, uint32_t block, bool first, tla_work *work);

    /* A block that nobody refers to, for new content; there is one. *evicted: content went for it, of this hash. */
    uint32_t (*take)(void *state, bool *evicted, uint64_t *hash, tla_work *work);

    /* A block that somebody refers to has this content. TLA_NO_HOST_MEMORY; nothing is changed then. */
    tla_status (*enter)(void *state, uint32_t block, uint64_t hash, tla_work *work);

    /* Somebody refers to a block no more; `last`: nobody does now. */
    void (*release)(void *state, uint32_t block, bool last, tla_work *work);

    /* How many blocks nobody refers to have content that could be found. */
    uint32_t (*cached)(const void *state);

    bool reuse_backwards, release_backwards;
} tla_kv_rules;

extern const tla_kv_rules tla_kv_vllm_rules, tla_kv_lmcache_rules;

#endif
