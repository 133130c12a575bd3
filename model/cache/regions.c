/* Regions in the order of a policy. */
#include "tlmalloc/cache/regions.h"

#include "base/wide.h"

#include <stdlib.h>
#include <string.h>

typedef struct ordered_region {
    tla_arena *arena;
    uint64_t nbytes, count;
} ordered_region;

/* Regions of one size: their order of deficits is that of counts. */
typedef struct peers {
    uint32_t begin, end; /* in the order */
    uint32_t next;       /* of them, for the current request */
} peers;

struct tla_regions {
    tla_region_policy policy;
    uint32_t region_count;
    uint64_t nbytes, count; /* of all */
    uint32_t *order;        /* linear: of all; interleaving: by size, then by count, each group of peers in its part */
    peers *groups;
    uint32_t group_count;
    uint32_t *heap; /* groups that have a next region, the region of the largest deficit first */
    uint32_t heap_count;
    ordered_region of[];
};

static void sort_by_size(tla_regions *r) {
    for (uint32_t i = 1; i < r->region_count; i++) {
        uint32_t at = i;
        for (; at > 0 && r->of[i].nbytes > r->of[r->order[at - 1]].nbytes; at--)
            r->order[at] = r->order[at - 1];
        r->order[at] = i;
    }
}

static void make_groups(tla_regions *r) {
    if (r->policy == TLA_REGIONS_INTERLEAVING) sort_by_size(r);
    for (uint32_t i = 0; i < r->region_count; i++) {
        const bool alike =
            i > 0 && (r->policy == TLA_REGIONS_LINEAR || r->of[r->order[i]].nbytes == r->of[r->order[i - 1]].nbytes);
        if (!alike) r->groups[r->group_count++].begin = i;
        r->groups[r->group_count - 1].end = i + 1;
    }
}

tla_status tla_regions_create(const tla_arena_set *arenas, tla_region_policy policy, tla_regions **out) {
    *out = NULL;
    if (arenas->count == 0) return TLA_INVALID_ARGUMENT;
    tla_regions *r = calloc(1, sizeof *r + arenas->count * sizeof *r->of);
    if (!r) return TLA_NO_HOST_MEMORY;
    r->order = calloc(arenas->count, sizeof *r->order);
    r->groups = calloc(arenas->count, sizeof *r->groups);
    r->heap = calloc(arenas->count, sizeof *r->heap);
    if (!r->order || !r->groups || !r->heap) {
        tla_regions_destroy(r);
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
    make_groups(r);
    *out = r;
    return TLA_OK;
}

void tla_regions_destroy(tla_regions *r) {
    if (!r) return;
    free(r->order);
    free(r->groups);
    free(r->heap);
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

static uint32_t next_of(const tla_regions *r, uint32_t group) {
    return r->order[r->groups[group].next];
}

/* Lets a group sink to its place in the heap. */
static void sink(tla_regions *r, uint32_t at) {
    const uint32_t group = r->heap[at];
    for (uint32_t child; (child = 2 * at + 1) < r->heap_count; at = child) {
        if (child + 1 < r->heap_count && is_before(r, next_of(r, r->heap[child + 1]), next_of(r, r->heap[child])))
            child++;
        if (is_before(r, next_of(r, group), next_of(r, r->heap[child]))) break;
        r->heap[at] = r->heap[child];
    }
    r->heap[at] = group;
}

static void begin_request(tla_regions *r) {
    r->heap_count = r->group_count;
    for (uint32_t group = 0; group < r->group_count; group++) {
        r->groups[group].next = r->groups[group].begin;
        r->heap[group] = group;
    }
    for (uint32_t at = r->heap_count / 2; at > 0; at--)
        sink(r, at - 1);
}

static void pass_over(tla_regions *r) {
    peers *group = &r->groups[r->heap[0]];
    if (++group->next == group->end) r->heap[0] = r->heap[--r->heap_count];
    sink(r, 0);
}

/* The region that is next has served the request: among its peers it stands behind those of its new count that come
 * before it. */
static void count_next(tla_regions *r) {
    const peers *group = &r->groups[r->heap[0]];
    const uint32_t region = r->order[group->next];
    const uint64_t count = ++r->of[region].count;
    r->count++;
    if (r->policy == TLA_REGIONS_LINEAR) return;
    uint32_t low = group->next + 1, high = group->end;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2, other = r->order[middle];
        if (r->of[other].count < count || (r->of[other].count == count && other < region))
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&r->order[group->next], &r->order[group->next + 1], (low - 1 - group->next) * sizeof *r->order);
    r->order[low - 1] = region;
}

/* Allocates the blocks of one request into the array of a region's blocks. */
static tla_status alloc(tla_regions *r, uint64_t nbytes, size_t n, tla_block *blocks, uint32_t *where, tla_work *work) {
    tla_status status = TLA_OK;
    for (begin_request(r); r->heap_count > 0; pass_over(r)) {
        const uint32_t region = next_of(r, r->heap[0]);
        if (work) work->class_lookups++;
        status = tla_arena_alloc_batch(r->of[region].arena, nbytes, n, TLA_BATCH_CARVED, blocks, work);
        if (status == TLA_NO_HOST_MEMORY) return status;
        if (status) continue;
        count_next(r);
        *where = region;
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
