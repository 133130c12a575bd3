/* Regions in the order of a policy. */
#include "tlmalloc/cache/regions.h"

#include "base/wide.h"

#include <stdlib.h>

typedef struct ordered_region {
    tla_arena *arena;
    uint64_t nbytes, count;
} ordered_region;

struct tla_regions {
    tla_region_policy policy;
    uint32_t region_count;
    uint64_t nbytes, count; /* of all */
    uint32_t *order;
    ordered_region of[];
};

tla_status tla_regions_create(const tla_arena_set *arenas, tla_region_policy policy, tla_regions **out) {
    *out = NULL;
    if (arenas->count == 0) return TLA_INVALID_ARGUMENT;
    tla_regions *r = calloc(1, sizeof *r + arenas->count * sizeof *r->of);
    if (!r) return TLA_NO_HOST_MEMORY;
    r->order = calloc(arenas->count, sizeof *r->order);
    if (!r->order) {
        free(r);
        return TLA_NO_HOST_MEMORY;
    }
    r->policy = policy;
    r->region_count = arenas->count;
    for (uint32_t i = 0; i < arenas->count; i++) {
        r->of[i].arena = arenas->arenas[i];
        r->of[i].nbytes = tla_arena_get_stats(arenas->arenas[i]).capacity;
        r->nbytes += r->of[i].nbytes;
        r->order[i] = i;
    }
    *out = r;
    return TLA_OK;
}

void tla_regions_destroy(tla_regions *r) {
    if (!r) return;
    free(r->order);
    free(r);
}

static tla_wide sum(tla_wide a, tla_wide b) {
    const tla_wide both = {a.high + b.high + (a.low + b.low < a.low), a.low + b.low};
    return both;
}

/* Whether a region's deficit is larger than another's, of equal ones the first. The subtrahends are on the other
 * side. */
static bool is_before(const tla_regions *r, uint32_t region, uint32_t other) {
    const ordered_region *a = &r->of[region], *b = &r->of[other];
    if (r->count == 0) return a->nbytes != b->nbytes ? a->nbytes > b->nbytes : region < other;
    const tla_wide left = sum(wide_product(a->nbytes, r->count), wide_product(b->count, r->nbytes));
    const tla_wide right = sum(wide_product(b->nbytes, r->count), wide_product(a->count, r->nbytes));
    if (left.high != right.high) return left.high > right.high;
    return left.low != right.low ? left.low > right.low : region < other;
}

/* From the order of the request before, which differs little. */
static void sort(tla_regions *r) {
    if (r->policy == TLA_REGIONS_LINEAR) return;
    for (uint32_t i = 1; i < r->region_count; i++) {
        const uint32_t region = r->order[i];
        uint32_t at = i;
        for (; at > 0 && is_before(r, region, r->order[at - 1]); at--)
            r->order[at] = r->order[at - 1];
        r->order[at] = region;
    }
}

/* Allocates the blocks of one request into the array of a region's blocks. */
static tla_status alloc(tla_regions *r, uint64_t nbytes, size_t n, tla_block *blocks, uint32_t *where, tla_work *work) {
    tla_status status = TLA_OK;
    sort(r);
    for (uint32_t i = 0; i < r->region_count; i++) {
        ordered_region *of = &r->of[r->order[i]];
        if (work) work->class_lookups++;
        status = tla_arena_alloc_batch(of->arena, nbytes, n, TLA_BATCH_CARVED, blocks, work);
        if (status == TLA_NO_HOST_MEMORY) return status;
        if (status) continue;
        of->count++;
        r->count++;
        *where = r->order[i];
        return TLA_OK;
    }
    return status;
}

tla_status tla_regions_alloc(tla_regions *r, uint64_t nbytes, size_t n, tla_region_block *blocks, tla_work *work) {
    uint32_t where;
    if (n == 0) return TLA_OK;
    tla_block *found = calloc(n, sizeof *found);
    if (!found) return TLA_NO_HOST_MEMORY;
    const tla_status status = alloc(r, nbytes, n, found, &where, work);
    for (size_t i = 0; !status && i < n; i++)
        blocks[i] = (tla_region_block){where, found[i]};
    free(found);
    return status;
}

tla_status tla_regions_distribute(tla_regions *r, uint64_t nbytes, size_t n, tla_region_block *blocks, tla_work *work) {
    for (size_t i = 0; i < n; i++) {
        const tla_status status = alloc(r, nbytes, 1, &blocks[i].block, &blocks[i].region, work);
        if (!status) continue;
        while (i-- > 0)
            (void)tla_regions_free(r, blocks[i], work);
        return status;
    }
    return TLA_OK;
}

tla_status tla_regions_free(tla_regions *r, tla_region_block block, tla_work *work) {
    if (block.region >= r->region_count) return TLA_INVALID_ARGUMENT;
    return tla_arena_free(r->of[block.region].arena, block.block, work);
}

uint64_t tla_regions_count(const tla_regions *r, uint32_t region) {
    return r->of[region].count;
}
