/* Private pools whose graphs have ended. */
#include "torch/replayer.h"

void torch_replayer_retire(torch_replayer *r, uint32_t pool) {
    torch_inferred *inferred = r->options->inferred;
    if (inferred && !r->retired[pool] && inferred->retirement_count < r->snapshot->pool_count)
        inferred->retirements[inferred->retirement_count++] = (torch_retirement){r->at, pool};
    r->retired[pool] = 1;
    tla_segment_cache_retire_pool(r->cache, r->snapshot->pools[pool]);
}

void torch_replayer_retire_again(torch_replayer *r) {
    for (size_t i = 1; i < r->snapshot->pool_count; i++)
        if (r->retired[i]) tla_segment_cache_retire_pool(r->cache, r->snapshot->pools[i]);
}
