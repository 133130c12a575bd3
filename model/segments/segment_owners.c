/* The pools of CUDA graphs and MemPools. */
#include "segment_pool.h"

#include <stdlib.h>

tla_segment_owner *tla_segment_find_owner(const tla_segment_cache *cache, tla_segment_pool_id id) {
    const tla_segment_owner *owner = &cache->everybody;
    while (owner && (owner->id.a != id.a || owner->id.b != id.b))
        owner = owner->next;
    return (tla_segment_owner *)owner;
}

static bool is_empty(const tla_segment_cache *cache, const tla_segment_owner *owner) {
    size_t at = 0;
    for (const tla_segment_block *block; (block = tla_live_addresses_walk(&cache->live, &at)) != NULL;)
        if (block->owner == owner) return false;
    for (int small = 0; small < 2; small++)
        if (owner->pools[small].free.root || owner->pools[small].unmapped.root) return false;
    return true;
}

tla_status tla_segment_cache_add_pool(tla_segment_cache *cache, tla_segment_pool_id id,
                                      tla_segment_pool_options options) {
    if (id.a == 0 && id.b == 0) return TLA_INVALID_ARGUMENT;
    tla_segment_owner *owner = tla_segment_find_owner(cache, id);
    if (owner && !(owner->retired && is_empty(cache, owner))) return TLA_OVERLAP;
    if (!owner) {
        owner = calloc(1, sizeof *owner);
        if (!owner) return TLA_NO_HOST_MEMORY;
        owner->id = id;
        owner->pools[0].unmapped.by_address = owner->pools[1].unmapped.by_address = true;
        tla_segment_owner *last = &cache->everybody;
        while (last->next)
            last = last->next;
        last->next = owner;
    }
    owner->options = options;
    owner->retired = false;
    return TLA_OK;
}

tla_status tla_segment_cache_retire_pool(tla_segment_cache *cache, tla_segment_pool_id id) {
    tla_segment_owner *before = &cache->everybody, *last = before;
    while (before->next && (before->next->id.a != id.a || before->next->id.b != id.b))
        before = before->next;
    tla_segment_owner *owner = before->next;
    if (!owner) return TLA_OUT_OF_RANGE;
    owner->retired = true;
    before->next = owner->next; /* the order of the list is that of the releases */
    owner->next = NULL;
    while (last->next)
        last = last->next;
    last->next = owner;
    return TLA_OK;
}

void tla_segment_cache_begin_capture(tla_segment_cache *cache) {
    cache->captures++;
}

void tla_segment_cache_end_capture(tla_segment_cache *cache) {
    if (cache->captures) cache->captures--;
}
