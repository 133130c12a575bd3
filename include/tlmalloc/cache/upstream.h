/* The sources of large memory blocks for a cache. A "driver" allocates memory (cudaMalloc and cudaFree in the modelled
 * systems). Ranges provide addresses, and memory for some of these (cuMemAddressReserve, cuMemMap).
 *
 * Both are interfaces, and each has one ready implementation: an arena per device. */
#ifndef TLMALLOC_CACHE_UPSTREAM_H
#define TLMALLOC_CACHE_UPSTREAM_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_upstream {
    /* Allocates nbytes of the device's memory; *address is the block. A status other than TLA_OK leaves the device
     * unchanged. After TLA_EXHAUSTED, TLA_FRAGMENTED and TLA_LIMIT released memory may help. Adds to work (may be
     * NULL). */
    tla_status (*alloc)(void *context, uint32_t device, uint64_t nbytes, uint64_t *address, tla_work *work);
    /* Releases exactly one allocation. */
    tla_status (*free)(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work);
    void *context;
    /* Writes a readable explanation of an alloc of nbytes that fails in the present state, as tla_arena_explain does,
     * and returns the status. Called only after such a failure. NULL for a driver that cannot explain. */
    tla_status (*explain)(void *context, uint32_t device, uint64_t nbytes, tla_error *error);
    /* Assumes that these blocks, each one allocation, are released in this order. Returns the bytes that the device
     * gains, if an alloc of nbytes would then succeed; else 0. Changes nothing. NULL for a driver that cannot find
     * out. */
    uint64_t (*serves_after)(void *context, uint32_t device, const tla_block *returned, size_t count, uint64_t nbytes);
} tla_upstream;

/* One arena per device; device numbers are 0 .. count - 1. */
typedef struct tla_arena_set {
    tla_arena **arenas;
    uint32_t count;
} tla_arena_set;

/* Returns the driver over a set of arenas, which must outlive it. TLA_OUT_OF_RANGE for a device that the set does not
 * have. Calls for different devices may run at the same time. Calls for one device may not, because an arena has no
 * lock. */
tla_upstream tla_arena_upstream(tla_arena_set *set);

/* Addresses, and memory for some of these. Calls add to work (may be NULL) as a MAP command would. */
typedef struct tla_upstream_ranges {
    /* Reserves nbytes of addresses, a multiple of the granule; nothing is mapped. */
    tla_status (*reserve)(void *context, uint32_t device, uint64_t nbytes, uint64_t granule, uint64_t *address,
                          tla_work *work);
    /* Releases exactly one reservation; none of it may be mapped. */
    tla_status (*release)(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work);
    /* Maps whole granules, each with memory of its own; all or none. After TLA_EXHAUSTED, TLA_FRAGMENTED and TLA_LIMIT
     * released memory may help. */
    tla_status (*map)(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                      tla_work *work);
    /* Unmaps whole granules, mapped by one call or by several. */
    tla_status (*unmap)(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                        tla_work *work);
    void *context;
} tla_upstream_ranges;

/* Ranges whose granules are blocks of the arenas of a set, one block each. */
typedef struct tla_arena_ranges tla_arena_ranges;

/* The set must outlive it. Addresses are assigned in ascending order from 2^46 on, above all addresses of an arena.
 * TLA_NO_HOST_MEMORY; *ranges is NULL then. */
tla_status tla_arena_ranges_create(tla_arena_set *set, tla_arena_ranges **ranges);
void tla_arena_ranges_destroy(tla_arena_ranges *ranges); /* NULL is allowed; the arenas keep the mapped memory */

/* Receipts: the arena's work for a granule. Each granule counts a chunk, each 2 MiB an entry of a page table, and each
 * unmap one invalidation. */
tla_upstream_ranges tla_arena_ranges_upstream(tla_arena_ranges *ranges);

#ifdef __cplusplus
}
#endif
#endif
