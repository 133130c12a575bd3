/* Numbers of the file's blocks, converted to blocks of another size, and numbers for unknown content. */
#include "serving/content.h"

#include <inttypes.h>

#define OWN (UINT64_C(1) << 63) /* a block whose content only its request has */

tla_status content_check(const tla_serving_requests *requests, uint32_t block_tokens, bool index, size_t *request,
                         tla_error *error) {
    const uint32_t of_file = requests->block_tokens;
    if (!index || of_file == 0) return TLA_OK;
    if (of_file % block_tokens && block_tokens % of_file)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "block_tokens: found %" PRIu32 ", expected a multiple or a divisor of %" PRIu32
                             ", the tokens of a block of the requests (or prefix_caching false)",
                             block_tokens, of_file);
    const uint64_t parts = of_file > block_tokens ? of_file / block_tokens : 1;
    for (size_t i = 0; i < requests->count; i++)
        for (uint32_t k = 0; k < requests->items[i].block_count; k++) {
            if (requests->items[i].blocks[k] < OWN / parts) continue;
            if (request) *request = i;
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "found the block %" PRIu64 ", expected a number below %" PRIu64,
                                 requests->items[i].blocks[k], OWN / parts);
        }
    return TLA_OK;
}

void content_of(const tla_serving_requests *requests, uint32_t block_tokens, uint32_t request, uint32_t begin,
                uint32_t end, uint64_t *hashes) {
    const tla_serving_request *r = &requests->items[request];
    const uint64_t of_file = requests->block_tokens ? requests->block_tokens : block_tokens;
    const uint64_t parts = of_file > block_tokens ? of_file / block_tokens : 1;
    for (uint32_t block = begin; block < end; block++) {
        const uint64_t last = ((uint64_t)block + 1) * block_tokens - 1, k = last / of_file;
        const bool known = k < r->block_count && (!requests->blocks_of_prompt || last < r->prompt_tokens);
        hashes[block] = known ? r->blocks[k] * parts + block % parts : OWN | (uint64_t)request << 32 | block;
    }
}
