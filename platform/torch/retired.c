/* Private pools whose graphs have ended. */
#include "torch/replayer.h"

void torch_replayer_retire(torch_replayer *r, uint32_t pool) {
    r->retired[pool] = 1;
    tla_segment_cache_retire_pool(r->cache, r->snapshot->pools[pool]);
}

void torch_replayer_retire_again(torch_replayer *r) {
    for (size_t i = 1; i < r->snapshot->pool_count; i++)
        if (r->retired[i]) tla_segment_cache_retire_pool(r->cache, r->snapshot->pools[i]);
}
