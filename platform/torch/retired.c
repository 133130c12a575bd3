/* Private pools whose graphs have ended. */
#include "torch/replayer.h"

void torch_replayer_retire(torch_replayer *r, uint32_t pool) {
    torch_inferred *inferred = r->options->inferred;
    if (inferred && !r->retired[pool] && inferred->retirement_count < r->snapshot->pool_count)
        inferred->retirements[inferred->retirement_count++] = (torch_retirement){r->at, pool};
    size_t at = 0;
    while (at < r->retired_count && r->retired_order[at] != pool)
        at++;
    if (at < r->retired_count) r->retired_count--;
    for (; at < r->retired_count; at++)
        r->retired_order[at] = r->retired_order[at + 1];
    r->retired_order[r->retired_count++] = pool;
    r->retired[pool] = 1;
    tla_segment_cache_retire_pool(r->cache, r->snapshot->pools[pool]);
}

void torch_replayer_retire_again(torch_replayer *r) {
    for (size_t i = 0; i < r->retired_count; i++)
        if (r->retired[r->retired_order[i]])
            tla_segment_cache_retire_pool(r->cache, r->snapshot->pools[r->retired_order[i]]);
}
