/* Ranges of addresses of which whole granules get memory from arenas. */
#include "tlmalloc/cache/upstream.h"

#include "cache/live_addresses.h"

#include <stdlib.h>

static const uint64_t first_address = (uint64_t)1 << 46, page = 2 << 20;

struct tla_arena_ranges {
    tla_arena_set *set;
    uint64_t next;             /* the lowest address that was never given */
    tla_live_addresses places; /* granules by address: where they are in their arena, plus 1 */
};

tla_status tla_arena_ranges_create(tla_arena_set *set, tla_arena_ranges **out) {
    *out = malloc(sizeof **out);
    if (!*out) return TLA_NO_HOST_MEMORY;
    **out = (tla_arena_ranges){.set = set, .next = first_address};
    return TLA_OK;
}

void tla_arena_ranges_destroy(tla_arena_ranges *ranges) {
    if (!ranges) return;
    tla_live_addresses_clear(&ranges->places);
    free(ranges);
}

static tla_status reserve(void *context, uint32_t device, uint64_t nbytes, uint64_t granule, uint64_t *address,
                          tla_work *work) {
    tla_arena_ranges *ranges = context;
    (void)work;
    if (device >= ranges->set->count) return TLA_OUT_OF_RANGE;
    uint64_t at = (ranges->next + granule - 1) / granule * granule;
    if (nbytes > ((uint64_t)1 << 63) - at) return TLA_EXHAUSTED;
    *address = at;
    ranges->next = at + nbytes;
    return TLA_OK;
}

static tla_status release(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)context, (void)device, (void)address, (void)nbytes, (void)work;
    return TLA_OK;
}

/* Releases granules to the arena, which cannot reject its own blocks. */
static tla_status give(tla_arena_ranges *ranges, tla_arena *arena, uint64_t address, uint64_t nbytes, uint64_t granule,
                       tla_work *work) {
    for (uint64_t at = address; at < address + nbytes; at += granule) {
        void *place = tla_live_addresses_get(&ranges->places, at);
        if (!place) return TLA_NOT_ALLOCATED;
        tla_status status = tla_arena_free(arena, (tla_block){(uintptr_t)place - 1, granule}, work);
        if (status) return status;
        tla_live_addresses_remove(&ranges->places, at);
        if (!work) continue;
        work->chunks++;
        work->pte_writes += granule / page;
    }
    return TLA_OK;
}

static tla_status map(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                      tla_work *work) {
    tla_arena_ranges *ranges = context;
    if (device >= ranges->set->count) return TLA_OUT_OF_RANGE;
    tla_arena *arena = ranges->set->arenas[device];
    for (uint64_t at = address; at < address + nbytes; at += granule) {
        tla_block block;
        tla_status status = tla_live_addresses_reserve(&ranges->places);
        if (!status) status = tla_arena_alloc(arena, granule, &block, work);
        if (status) {
            tla_status undone = give(ranges, arena, address, at - address, granule, work);
            return undone ? undone : status;
        }
        tla_live_addresses_put(&ranges->places, at, (void *)(uintptr_t)(block.offset + 1));
        if (!work) continue;
        work->chunks++;
        work->pte_writes += granule / page;
    }
    return TLA_OK;
}

static tla_status unmap(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                        tla_work *work) {
    tla_arena_ranges *ranges = context;
    if (device >= ranges->set->count) return TLA_OUT_OF_RANGE;
    if (work) work->invalidates++;
    return give(ranges, ranges->set->arenas[device], address, nbytes, granule, work);
}

tla_upstream_ranges tla_arena_ranges_upstream(tla_arena_ranges *ranges) {
    return (tla_upstream_ranges){.reserve = reserve, .release = release, .map = map, .unmap = unmap, .context = ranges};
}
