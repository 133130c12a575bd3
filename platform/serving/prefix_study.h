/* The hits of a cache of prompts' blocks, without time: Mooncake's question (FAST '25, section 4.2 and Table 2).
 *
 * Requests arrive in the order of the file. A request hits the leading run of its blocks that are in the cache. Then
 * each of its blocks is used; a full cache evicts the block that its rule chooses. Nothing is pinned, and outputs are
 * not cached. The cache is LMCache's (objects.h) over slots of one block. */
#ifndef TLMALLOC_PLATFORM_SERVING_PREFIX_STUDY_H
#define TLMALLOC_PLATFORM_SERVING_PREFIX_STUDY_H

#include "serving/requests.h"

#include "tlmalloc/cache/victims.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_prefix_study {
    uint64_t tokens, hit_tokens; /* of all prompts; a partial block counts its own tokens */
    uint64_t full_blocks, hit_full_blocks;
    uint64_t evicted; /* blocks */
} tla_prefix_study;

typedef struct tla_prefix_cache {
    uint64_t capacity_tokens; /* floor(capacity_tokens / block_tokens) blocks; UINT64_MAX: as many as there are */
    tla_victim_rule rule;     /* all blocks have one tenant */
    bool last_first;          /* a request uses its last block first, as in LMCache of 2026; else in order */
    uint32_t watermark; /* permille of the blocks from which on each second of arrivals evicts a share; 0: never */
    uint32_t share;     /* permille of the cached blocks */
} tla_prefix_cache;

/* TLA_INVALID_ARGUMENT for requests without blocks, with a text; TLA_NO_HOST_MEMORY. *study is all zero then. */
tla_status tla_prefix_study_run(const tla_serving_requests *requests, const tla_prefix_cache *config,
                                tla_prefix_study *study, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
