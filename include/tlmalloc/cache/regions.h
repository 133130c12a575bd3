/* Ordered regions, each with an allocator of its own: LMCache of 2026.
 *
 * A request tries the regions in the order of a policy, and the first that serves it is its region. Linear is the order
 * of the regions. Interleaving fills regions in proportion to their sizes. Before any success the order is by size, the
 * largest first. Later it is by deficit, size / sum of sizes - count / total count, the largest first; equal regions
 * are in their order. A count is the number of successful requests of a region; a batch is one request.
 *
 * LMCache compares deficits in floating point, where equal ones may differ. Here they are integers, size * total count
 * - count * sum of sizes: in hardware a counter for each region and a multiplier.
 *
 * Not thread safe; one owner at a time. */
#ifndef TLMALLOC_CACHE_REGIONS_H
#define TLMALLOC_CACHE_REGIONS_H

#include "tlmalloc/cache/upstream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_region_policy { TLA_REGIONS_LINEAR, TLA_REGIONS_INTERLEAVING } tla_region_policy;

typedef struct tla_regions tla_regions;

typedef struct tla_region_block {
    uint32_t region;
    tla_block block;
} tla_region_block;

/* Creates regions over 1 or more arenas, which must outlive it and not change their sizes; the set itself is copied.
 * TLA_INVALID_ARGUMENT without arenas, TLA_NO_HOST_MEMORY; *regions is NULL then. */
tla_status tla_regions_create(const tla_arena_set *arenas, tla_region_policy policy, tla_regions **regions);
void tla_regions_destroy(tla_regions *regions); /* NULL is allowed; the arenas keep their blocks */

/* Allocates n blocks of nbytes each in one region, carved from its free blocks (tla_arena_alloc_batch), all or none;
 * n = 0 does nothing. Adds the work of all regions that were tried, and to work->class_lookups one for each of them
 * (work may be NULL). If none serves it, the status is that of the last one tried. TLA_NO_HOST_MEMORY: nothing has
 * changed. */
tla_status tla_regions_alloc(tla_regions *regions, uint64_t nbytes, size_t n, tla_region_block *blocks, tla_work *work);

/* Allocates n blocks one by one, each in a region of its own choice, all or none. After a failure the blocks before it
 * are free again, but LMCache still counts them, and so does this call. */
tla_status tla_regions_distribute(tla_regions *regions, uint64_t nbytes, size_t n, tla_region_block *blocks,
                                  tla_work *work);

/* Releases a block. TLA_INVALID_ARGUMENT for an unknown region; else as tla_arena_free. */
tla_status tla_regions_free(tla_regions *regions, tla_region_block block, tla_work *work);

/* Returns the number of successful requests of a region. */
uint64_t tla_regions_count(const tla_regions *regions, uint32_t region);

#ifdef __cplusplus
}
#endif
#endif
