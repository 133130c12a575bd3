/* The state before a trace, put into a cache: plain segments with what lives in them; of a range its runs of mapped
 * bytes, with unmapped addresses between them and behind. */
#include "torch/parts.h"
#include "torch/recorded.h"

#include <stdlib.h>

typedef struct restorer {
    const torch_snapshot *snapshot;
    const torch_start *start;
    tla_segment_cache *cache;
    uint64_t device_bytes;
    tla_segment_block_info *blocks; /* of the segment that is being put in */
    size_t count;
} restorer;

static void add(restorer *r, uint64_t address, uint64_t nbytes, const torch_start_block *block) {
    if (nbytes == 0) return;
    tla_segment_block_info info = {.address = address, .nbytes = nbytes, .state = TLA_SEGMENT_FREE};
    if (block) {
        info.requested = block->requested;
        info.state = block->pending ? TLA_SEGMENT_PENDING : TLA_SEGMENT_ALLOCATED;
    }
    r->blocks[r->count++] = info;
}

/* The blocks of a segment; free ones between them only if the cache wants them listed. */
static void add_blocks(restorer *r, const torch_start_segment *s) {
    uint64_t at = s->address;
    for (size_t i = s->first_block; i < s->first_block + s->block_count; i++) {
        const torch_start_block *b = &r->start->blocks[i];
        if (s->expandable) add(r, at, b->address - at, NULL);
        add(r, b->address, b->nbytes, b);
        at = b->address + b->nbytes;
    }
    if (s->expandable) add(r, at, s->address + s->nbytes - at, NULL);
}

static tla_segment_block_info describe(const restorer *r, const torch_start_segment *s) {
    const tla_segment_cache_config *c = &r->snapshot->settings;
    uint64_t large = c->large_segment_size ? c->large_segment_size : 20 << 20;
    return (tla_segment_block_info){.segment = s->address,
                                    .segment_size = s->nbytes,
                                    .granule = !s->expandable ? 0
                                               : s->small     ? 2 << 20
                                                              : large,
                                    .stream = s->stream,
                                    .owner = r->snapshot->pools[s->pool],
                                    .small = s->small};
}

/* Where the addresses of a range end: 1 1/8 of the device away, or where the next segment or range begins. */
static uint64_t end_of_range(const restorer *r, const tla_segment_block_info *of, size_t range, uint64_t last) {
    const torch_start *start = r->start;
    uint64_t bytes = r->device_bytes + r->device_bytes / 8;
    uint64_t end = of->segment + (bytes + of->granule - 1) / of->granule * of->granule;
    for (size_t i = 0; i < start->segment_count; i++) {
        const torch_start_segment *s = &start->segments[i];
        uint64_t begin = s->expandable ? start->range_bases[s->range] : s->address;
        if (s->expandable && s->range == range) continue;
        if (begin >= last && begin < end) end = begin;
    }
    if (end < last) end = last;
    return of->segment + (end - of->segment) / of->granule * of->granule;
}

static tla_status restore_range(restorer *r, size_t range) {
    const torch_start *start = r->start;
    tla_segment_block_info of = {0};
    uint64_t last = 0;
    r->count = 0;
    for (size_t i = 0; i < start->segment_count; i++) {
        const torch_start_segment *s = &start->segments[i];
        if (!s->expandable || s->range != range) continue;
        if (!of.granule) of = describe(r, s);
        add_blocks(r, s);
        last = s->address + s->nbytes;
    }
    of.segment = start->range_bases[range];
    of.segment_size = end_of_range(r, &of, range, last) - of.segment;
    return tla_segment_cache_restore(r->cache, &of, r->blocks, r->count);
}

static tla_status add_pools(const torch_snapshot *snapshot, tla_segment_cache *cache) {
    tla_status status = TLA_OK;
    for (size_t i = 1; i < snapshot->pool_count && !status; i++)
        status = tla_segment_cache_add_pool(cache, snapshot->pools[i], (tla_segment_pool_options){0});
    return status;
}

/* Puts the blocks [first, next) of one segment into a cache; they are rearranged. */
static tla_status restore_segment(tla_segment_cache *copy, tla_segment_block_info *first,
                                  tla_segment_block_info *next) {
    tla_segment_block_info *kept = first, of = *first;
    for (tla_segment_block_info *b = first; b < next; b++) {
        bool listed = b->state == TLA_SEGMENT_FREE ? b->granule != 0 : b->state != TLA_SEGMENT_UNMAPPED;
        if (listed) *kept++ = *b;
    }
    return tla_segment_cache_restore(copy, &of, first, (size_t)(kept - first));
}

tla_status torch_cache_copy_shortened(const torch_snapshot *snapshot, const tla_segment_cache *from,
                                      const tla_segment_cache_config *config, uint64_t address, uint64_t room,
                                      uint64_t *length, tla_segment_cache **copy) {
    tla_segment_block_info *blocks = NULL;
    size_t count = 0;
    *length = UINT64_MAX;
    tla_status status = tla_segment_cache_create(config, copy);
    if (!status) status = tla_segment_cache_blocks(from, &blocks, &count);
    if (!status) status = add_pools(snapshot, *copy);
    for (size_t i = 0, next; i < count && !status; i = next) {
        for (next = i; next < count && blocks[next].segment == blocks[i].segment; next++)
            ;
        const tla_segment_block_info *last = &blocks[next - 1];
        if (last->state == TLA_SEGMENT_UNMAPPED && last->address == address && last->nbytes > room) {
            *length = blocks[i].segment_size -= last->nbytes - room;
        }
        if (blocks[i].segment_size) status = restore_segment(*copy, blocks + i, blocks + next);
    }
    free(blocks);
    return status;
}

tla_status torch_cache_copy(const torch_snapshot *snapshot, const tla_segment_cache *from,
                            const tla_segment_cache_config *config, tla_segment_cache **copy) {
    uint64_t length;
    return torch_cache_copy_shortened(snapshot, from, config, UINT64_MAX, 0, &length, copy);
}

tla_status torch_start_restore(const torch_snapshot *snapshot, const torch_start *start, uint64_t device_bytes,
                               tla_segment_cache *cache) {
    restorer r = {.snapshot = snapshot, .start = start, .cache = cache};
    r.device_bytes = device_bytes ? device_bytes : UINT64_C(1) << 40;
    r.blocks = malloc((2 * start->block_count + start->segment_count + 1) * sizeof *r.blocks);
    tla_status status = r.blocks ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (!status) status = add_pools(snapshot, cache);
    for (size_t i = 0; i < start->segment_count && !status; i++) {
        const torch_start_segment *s = &start->segments[i];
        if (s->expandable) continue;
        tla_segment_block_info of = describe(&r, s);
        r.count = 0;
        add_blocks(&r, s);
        status = tla_segment_cache_restore(cache, &of, r.blocks, r.count);
    }
    for (size_t i = 0; i < start->range_count && !status; i++)
        status = restore_range(&r, i);
    free(r.blocks);
    return status;
}
