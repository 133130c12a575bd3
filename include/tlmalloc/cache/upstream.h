/* Where a cache gets large pieces of memory: the "driver" (cudaMalloc and cudaFree in the systems that are modelled),
 * and where it gets addresses and memory for a part of them (cuMemAddressReserve, cuMemMap).
 *
 * Two interfaces, and one of each that is ready to use: an arena per device. */
#ifndef TLMALLOC_CACHE_UPSTREAM_H
#define TLMALLOC_CACHE_UPSTREAM_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_upstream {
    /* Takes nbytes of the device's memory; *address is where. A status other than TLA_OK leaves the device as it was;
     * TLA_EXHAUSTED, TLA_FRAGMENTED and TLA_LIMIT mean that memory which is given back may help. Adds to work (may be
     * NULL). */
    tla_status (*alloc)(void *context, uint32_t device, uint64_t nbytes, uint64_t *address, tla_work *work);
    /* Gives back exactly what one alloc took. */
    tla_status (*free)(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work);
    void *context;
    /* Says for a person why an alloc of nbytes is refused as things stand, as tla_arena_explain does, and returns the
     * status; called after such a refusal only. NULL for a driver that cannot say. */
    tla_status (*explain)(void *context, uint32_t device, uint64_t nbytes, tla_error *error);
    /* Bytes that the device has more when these blocks are given back in this order, each of which one alloc took, if
     * an alloc of nbytes is served then; else 0. Nothing is changed. NULL for a driver that cannot tell. */
    uint64_t (*serves_after)(void *context, uint32_t device, const tla_block *returned, size_t count, uint64_t nbytes);
} tla_upstream;

/* One arena a device; device numbers are 0 .. count - 1. */
typedef struct tla_arena_set {
    tla_arena **arenas;
    uint32_t count;
} tla_arena_set;

/* The driver over a set of arenas, which must outlive it. TLA_OUT_OF_RANGE for a device that the set does not have.
 * Calls for different devices may run at the same time; those for one device may not, as an arena has no lock. */
tla_upstream tla_arena_upstream(tla_arena_set *set);

/* Addresses, and memory for a part of them. Adds to work (may be NULL) as a MAP command would. */
typedef struct tla_upstream_ranges {
    /* Reserves nbytes of addresses, a multiple of the granule; nothing is mapped. */
    tla_status (*reserve)(void *context, uint32_t device, uint64_t nbytes, uint64_t granule, uint64_t *address,
                          tla_work *work);
    /* Gives back what one reserve took; nothing of it is mapped. */
    tla_status (*release)(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work);
    /* Maps whole granules, each with memory of its own; all or nothing. TLA_EXHAUSTED, TLA_FRAGMENTED and TLA_LIMIT
     * mean that memory which is given back may help. */
    tla_status (*map)(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                      tla_work *work);
    /* Unmaps whole granules, mapped by one call or by several. */
    tla_status (*unmap)(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                        tla_work *work);
    void *context;
} tla_upstream_ranges;

/* Ranges whose granules are blocks of the arenas of a set, one block each. */
typedef struct tla_arena_ranges tla_arena_ranges;

/* The set must outlive it. Addresses are given in ascending order from 2^46 on, so that they are none of an arena's.
 * TLA_NO_HOST_MEMORY; *ranges is NULL then. */
tla_status tla_arena_ranges_create(tla_arena_set *set, tla_arena_ranges **ranges);
void tla_arena_ranges_destroy(tla_arena_ranges *ranges); /* NULL is allowed; the arenas keep what is mapped */

/* Receipts: what the arena does for a granule; a chunk for each, an entry of a page table for each 2 MiB, one
 * invalidation an unmap. */
tla_upstream_ranges tla_arena_ranges_upstream(tla_arena_ranges *ranges);

#ifdef __cplusplus
}
#endif
#endif
