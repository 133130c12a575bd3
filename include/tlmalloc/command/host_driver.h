/* The driver of a host: what cudaMalloc and cudaFree are to a process. Who may be in it, in which order, for how long.
 *
 * The threads of a process allocate and free device memory by calls that take time. Three drivers:
 *
 *     serial        one lock for the process: a call of one thread waits for those of all others
 *     per_device    a lock for each device
 *     asynchronous  no lock: the caller goes on, and the device does what calls ask for, one after the other; what
 *                   the device is given afterwards waits for it (cudaMallocAsync, cudaFreeAsync: the stream's order)
 *
 * A lock is given in the order in which it was asked for, and held for the call. The core decides who is next and
 * counts; whoever simulates makes threads wait. A call is a node in its owner's memory, so that nothing here can fail
 * for want of memory. Times are picoseconds of whoever calls, and never go back. One owner at a time. */
#ifndef TLMALLOC_COMMAND_HOST_DRIVER_H
#define TLMALLOC_COMMAND_HOST_DRIVER_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_host_driver_kind {
    TLA_HOST_DRIVER_NONE, /* calls take no time and wait for nobody */
    TLA_HOST_DRIVER_SERIAL,
    TLA_HOST_DRIVER_PER_DEVICE,
    TLA_HOST_DRIVER_ASYNCHRONOUS,
    TLA_HOST_DRIVER_KIND_COUNT
} tla_host_driver_kind;

/* "none", "serial", "per_device", "asynchronous"; NULL for a value that is none. */
const char *tla_host_driver_kind_name(tla_host_driver_kind kind);

typedef enum tla_host_driver_operation {
    TLA_HOST_DRIVER_ALLOC,
    TLA_HOST_DRIVER_FREE,
    TLA_HOST_DRIVER_OPERATIONS
} tla_host_driver_operation;

typedef struct tla_host_driver_parameters {
    tla_host_driver_kind kind;  /* host.driver */
    uint64_t alloc_ps, free_ps; /* host.driver_alloc, host.driver_free: of a call, from the moment when it is in; the
                                   command to the memory's controller is a part of it */
    bool synchronous;           /* host.driver_synchronous: a call, once it is in, begins when the device has done what
                                   it was given before */
} tla_host_driver_parameters;

/* What the host keeps in front of its driver: nothing, or freed blocks by size class for each memory of a device
 * (driver_pools.h). */
typedef enum tla_host_pool { TLA_HOST_POOL_NONE, TLA_HOST_POOL_CACHING, TLA_HOST_POOL_COUNT } tla_host_pool;

/* "none", "caching_pool"; NULL for a value that is none. */
const char *tla_host_pool_name(tla_host_pool pool);

typedef struct tla_host_driver tla_host_driver;

/* A call on its way; its owner's from tla_host_driver_enter to tla_host_driver_leave. Members are read only. */
typedef struct tla_host_driver_call {
    bool inside; /* it may go on; false: it waits */
    uint32_t device;
    tla_host_driver_operation operation;
    uint64_t asked_ps, entered_ps;     /* entered_ps: once it is inside */
    struct tla_host_driver_call *next; /* behind it, for the same lock */
} tla_host_driver_call;

typedef struct tla_host_driver_stats {
    uint64_t allocs, frees; /* calls that have come in */
    uint64_t waits;         /* of them, those that found the lock held */
    uint64_t foreign_waits; /* of these, those that were held up by a call for another device */
    uint64_t waited_ps;     /* from asking to coming in, of all */
    uint64_t busy_ps;       /* in the driver: of an asynchronous one, what the device did for calls */
} tla_host_driver_stats;

/* TLA_INVALID_ARGUMENT without devices or for a kind that is none, TLA_NO_HOST_MEMORY; *driver is NULL then. */
tla_status tla_host_driver_create(const tla_host_driver_parameters *parameters, uint32_t devices,
                                  tla_host_driver **driver);

/* NULL is allowed. Calls that wait are forgotten. */
void tla_host_driver_destroy(tla_host_driver *driver);

/* A thread asks for the lock that a call for this device needs; call->inside says whether it has it. TLA_OUT_OF_RANGE
 * for a device that there is not. */
tla_status tla_host_driver_enter(tla_host_driver *driver, uint32_t device, tla_host_driver_operation operation,
                                 uint64_t now_ps, tla_host_driver_call *call);

/* The call is over, or given up while it waits. Returns the one that is inside from now on instead of it, whose thread
 * is to be woken; NULL: none. */
tla_host_driver_call *tla_host_driver_leave(tla_host_driver *driver, tla_host_driver_call *call, uint64_t now_ps);

/* How long a call takes once it is inside. */
uint64_t tla_host_driver_price(const tla_host_driver *driver, tla_host_driver_operation operation);

/* Of an asynchronous driver: the device gets what a call asks for at now_ps; returns when that is done. */
uint64_t tla_host_driver_post(tla_host_driver *driver, uint32_t device, tla_host_driver_operation operation,
                              uint64_t now_ps);

/* When a device has done all that was posted to it; 0: nothing was. */
uint64_t tla_host_driver_ready_ps(const tla_host_driver *driver, uint32_t device);

/* What was posted to the devices is gone; what has been counted stays. No call may be on its way. */
void tla_host_driver_make_idle(tla_host_driver *driver);

/* Calls for a device; all zero for one that there is not. */
tla_host_driver_stats tla_host_driver_get_stats(const tla_host_driver *driver, uint32_t device);

#ifdef __cplusplus
}
#endif
#endif
