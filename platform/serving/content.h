/* The contents of the blocks of requests, as numbers: the hashes of kv_cache.h. */
#ifndef TLMALLOC_PLATFORM_SERVING_CONTENT_H
#define TLMALLOC_PLATFORM_SERVING_CONTENT_H

#include "serving/requests.h"

/* Checks whether the file's blocks can identify blocks of this many tokens: the sizes are equal, or one is a multiple
 * of the other. If the blocks are smaller, two are equal where the file's whole blocks are equal, which may miss
 * matches. Always possible without an index, or if the file has no blocks. TLA_INVALID_ARGUMENT with a text, and
 * *request, unless NULL, is the index of the wrong request, if one is wrong. */
tla_status content_check(const tla_serving_requests *requests, uint32_t block_tokens, bool index, size_t *request,
                         tla_error *error);

/* Writes hashes[i] for blocks `begin` to `end` - 1 of a request. Content without a number in the file belongs to its
 * request alone: the request finds it again after a preemption. */
void content_of(const tla_serving_requests *requests, uint32_t block_tokens, uint32_t request, uint32_t begin,
                uint32_t end, uint64_t *hashes);

#endif
