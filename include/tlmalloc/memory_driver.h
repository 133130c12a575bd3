/* Where a cache gets large pieces of memory: the "driver" (cudaMalloc and cudaFree in the systems that are modelled).
 *
 * An interface of three calls, and one that is ready to use: an arena per device. */
#ifndef TLMALLOC_MEMORY_DRIVER_H
#define TLMALLOC_MEMORY_DRIVER_H

#include "tlmalloc/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_memory_driver {
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
} tla_memory_driver;

/* One arena a device; device numbers are 0 .. count - 1. */
typedef struct tla_arena_set {
    tla_arena **arenas;
    uint32_t count;
} tla_arena_set;

/* The driver over a set of arenas, which must outlive it. TLA_OUT_OF_RANGE for a device that the set does not have.
 * Calls for different devices may run at the same time; those for one device may not, as an arena has no lock. */
tla_memory_driver tla_arena_driver(tla_arena_set *set);

#ifdef __cplusplus
}
#endif
#endif
