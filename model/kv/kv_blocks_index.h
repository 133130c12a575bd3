/* From the hash of a content to the blocks that hold it. Internal to model/pool. */
#ifndef TLMALLOC_KV_KV_BLOCKS_INDEX_H
#define TLMALLOC_KV_KV_BLOCKS_INDEX_H

#include "tlmalloc/kv/kv_cache.h"

#include <stddef.h>

/* A block stands in one chain of blocks at most, that of its hash's bucket, in the order in which blocks were entered.
 * Links of block 0, which is never in a chain, mean none. */
typedef struct tla_kv_entry {
    uint64_t hash;
    uint32_t earlier, later;
    bool entered;
} tla_kv_entry;

typedef struct tla_kv_index {
    tla_kv_entry *entries;  /* of every block */
    uint32_t *first, *last; /* of every bucket */
    uint64_t bucket_mask;   /* a power of two, minus 1 */
    uint32_t entered;       /* blocks that are in the index */
} tla_kv_index;

/* TLA_NO_HOST_MEMORY; tla_kv_index_clear then releases the allocated parts. */
tla_status tla_kv_index_init(tla_kv_index *index, uint32_t blocks);
void tla_kv_index_clear(tla_kv_index *index);

/* Returns the earliest entered block with this hash; 0 if none has it. */
uint32_t tla_kv_index_find(const tla_kv_index *index, uint64_t hash, tla_work *work);

/* tla_kv_index_enter puts a block, which is not in the index, at the end of its chain. The other function removes a
 * block that is in the index. */
void tla_kv_index_enter(tla_kv_index *index, uint32_t block, uint64_t hash, tla_work *work);
void tla_kv_index_remove(tla_kv_index *index, uint32_t block, tla_work *work);

#endif
