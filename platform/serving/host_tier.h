/* A second tier of the key-value cache in the host's memory, by LMCache's rules (kv_cache.h with TLA_KV_LMCACHE, seed
 * 003). Content that leaves a block of the first tier is moved out to a block here, and moved back in when an admitted
 * request finds it. It stays here then, so that nothing is moved when it leaves again.
 *
 * A read block is held (LMCache pins it) until the read has ended. A full tier evicts the block that was moved out or
 * read least recently, among the blocks without readers. A budget (kv_cache.h) bounds the concurrent reads. A request
 * takes the budget for all its blocks before it holds any: readers cannot wait for each other. Content without room,
 * because all blocks are being read, is lost, as in LMCache. */
#ifndef TLMALLOC_PLATFORM_SERVING_HOST_TIER_H
#define TLMALLOC_PLATFORM_SERVING_HOST_TIER_H

#include "tlmalloc/kv/kv_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_host_tier_stats {
    uint32_t blocks;       /* in all: free + cached + read */
    uint32_t free, cached; /* without content; with content, and without readers */
    uint32_t read;         /* being read now */
    uint64_t moved_out;    /* blocks, since the beginning; so the rest */
    uint64_t kept;         /* left the first tier while their content was here already: nothing is moved */
    uint64_t lost;         /* left it and found no room */
    uint64_t evicted;      /* given up here for others */
    uint64_t moved_in;     /* read into the first tier */
    uint64_t busy;         /* reads that waited for the budget */
} tla_host_tier_stats;

typedef struct tla_host_tier {
    tla_kv_blocks *blocks;
    tla_kv_budget budget; /* of blocks that are read */
    tla_host_tier_stats stats;
} tla_host_tier;

/* Makes a tier of 1 .. TLA_KV_BLOCKS_MAX - 1 blocks, with a budget of concurrent reads (0: all blocks, as LMCache's
 * calculate_chunk_budget computes); a block with two readers counts twice. TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY; it
 * is empty then. */
tla_status tla_host_tier_init(tla_host_tier *tier, uint32_t blocks, uint64_t budget);
void tla_host_tier_clear(tla_host_tier *tier); /* of an empty one too */

/* Content leaves the first tier. *block is where it is moved to, TLA_KV_PLACEHOLDER when nothing is: it is here
 * already, or lost. TLA_NO_HOST_MEMORY: it can only be cleared. */
tla_status tla_host_tier_put(tla_host_tier *tier, uint64_t hash, uint32_t *block, tla_work *work);

/* Finds the longest run of hashes whose content is here, at most the whole budget; found[0 ..] are its blocks. */
uint32_t tla_host_tier_find(const tla_host_tier *tier, const uint64_t *hashes, uint32_t count, uint32_t *found,
                            tla_work *work);

/* Holds the blocks that tla_host_tier_find has just found, in an empty table, until tla_host_tier_end_read. TLA_BUSY
 * when others have so much of the budget that the request must wait; TLA_NO_HOST_MEMORY; nothing is held then. */
tla_status tla_host_tier_begin_read(tla_host_tier *tier, const uint32_t *found, uint32_t count, tla_kv_table *read,
                                    tla_work *work);
void tla_host_tier_end_read(tla_host_tier *tier, tla_kv_table *read, tla_work *work);

tla_host_tier_stats tla_host_tier_get_stats(const tla_host_tier *tier);

#ifdef __cplusplus
}
#endif
#endif
