/* The rules for allocating and finding blocks: vLLM's and LMCache's behind kv_cache.h. Internal to model/kv. The rules
 * depend on whether a block has a reference, not on its holder. */
#ifndef TLMALLOC_KV_KV_BLOCKS_RULES_H
#define TLMALLOC_KV_KV_BLOCKS_RULES_H

#include "tlmalloc/kv/kv_cache.h"

typedef struct tla_kv_rules {
    /* Makes *state for so many blocks; without `index` nothing is ever entered. TLA_NO_HOST_MEMORY; *state is NULL. */
    tla_status (*create)(uint32_t blocks, bool index, void **state);
    void (*destroy)(void *state);

    /* Returns the block with this content; 0 if no block has it. */
    uint32_t (*find)(const void *state, uint64_t hash, tla_work *work);

    /* A found block has a new reference; `first`: its only one. Blocks are passed in the order of their tokens, or in
     * the reverse order with `reuse_backwards`. */
    void (*reuse)(void *state, uint32_t block, bool first, tla_work *work);

    /* Takes a block without a reference for new content; such a block exists. *evicted: content of this hash was
     * dropped for it. */
    uint32_t (*take)(void *state, bool *evicted, uint64_t *hash, tla_work *work);

    /* Enters the content of a block with a reference. TLA_NO_HOST_MEMORY; nothing has changed then. */
    tla_status (*enter)(void *state, uint32_t block, uint64_t hash, tla_work *work);

    /* Drops a reference to a block; `last`: it was the last one. */
    void (*release)(void *state, uint32_t block, bool last, tla_work *work);

    /* Returns the number of blocks without a reference whose content can be found. */
    uint32_t (*cached)(const void *state);

    bool reuse_backwards, release_backwards;
} tla_kv_rules;

extern const tla_kv_rules tla_kv_vllm_rules, tla_kv_lmcache_rules;

#endif
