/* What the blocks of requests hold, as numbers: the hashes of kv_cache.h. */
#ifndef TLMALLOC_PLATFORM_SERVING_CONTENT_H
#define TLMALLOC_PLATFORM_SERVING_CONTENT_H

#include "serving/requests.h"

/* Whether blocks of so many tokens can be told apart by those of the file: its blocks are as large, or larger or
 * smaller by a whole factor. Of smaller ones two are equal where the file's whole blocks are, which finds less than
 * there may be. Without an index, or where the file knows no blocks, always. TLA_INVALID_ARGUMENT with a text, and
 * *request, unless NULL, is set to the request that is at fault, if one is. */
tla_status content_check(const tla_serving_requests *requests, uint32_t block_tokens, bool index, size_t *request,
                         tla_error *error);

/* hashes[i] for blocks `begin` to `end` - 1 of a request. What the file says nothing about nobody else has: the request
 * itself finds it again after a preemption. */
void content_of(const tla_serving_requests *requests, uint32_t block_tokens, uint32_t request, uint32_t begin,
                uint32_t end, uint64_t *hashes);

#endif
