/* The driver of a host: the equivalent of cudaMalloc and cudaFree for a process. It decides which call may run, in
 * which order, and for how long.
 *
 * The threads of a process allocate and free device memory by calls that take time. The model has three drivers:
 *
 *     serial        one lock for the process: a call of one thread waits for the calls of all other threads
 *     per_device    a lock for each device
 *     asynchronous  no lock: the caller continues, and the device executes the calls in order. Later work of the device
 *                   waits for them (cudaMallocAsync, cudaFreeAsync: the stream's order)
 *
 * The driver grants a lock in the order of requests, and each call holds it until it leaves. The core decides the next
 * call and counts; the simulator blocks the threads. A call is a node in its owner's memory, so that no call here can
 * fail for lack of memory. Times are the caller's, in picoseconds, and never decrease. One owner at a time. */
#ifndef TLMALLOC_COMMAND_HOST_DRIVER_H
#define TLMALLOC_COMMAND_HOST_DRIVER_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_host_driver_kind {
    TLA_HOST_DRIVER_NONE, /* calls take no time and do not wait */
    TLA_HOST_DRIVER_SERIAL,
    TLA_HOST_DRIVER_PER_DEVICE,
    TLA_HOST_DRIVER_ASYNCHRONOUS,
    TLA_HOST_DRIVER_KIND_COUNT
} tla_host_driver_kind;

/* "none", "serial", "per_device", "asynchronous"; NULL for an unknown value. */
const char *tla_host_driver_kind_name(tla_host_driver_kind kind);

typedef enum tla_host_driver_operation {
    TLA_HOST_DRIVER_ALLOC,
    TLA_HOST_DRIVER_FREE,
    TLA_HOST_DRIVER_OPERATIONS
} tla_host_driver_operation;

typedef struct tla_host_driver_parameters {
    tla_host_driver_kind kind;  /* host.driver */
    uint64_t alloc_ps, free_ps; /* host.driver_alloc, host.driver_free: duration of a call after it has entered;
                                   includes the command to the memory's controller */
    bool synchronous; /* host.driver_synchronous: a call, once inside, begins when the device has completed its earlier
                         work */
} tla_host_driver_parameters;

/* The pool of the host in front of its driver: none, or freed blocks by size class for each memory of a device
 * (driver_pools.h). */
typedef enum tla_host_pool { TLA_HOST_POOL_NONE, TLA_HOST_POOL_CACHING, TLA_HOST_POOL_COUNT } tla_host_pool;

/* "none", "caching_pool"; NULL for an unknown value. */
const char *tla_host_pool_name(tla_host_pool pool);

typedef struct tla_host_driver tla_host_driver;

/* An outstanding call. It is its owner's memory from tla_host_driver_enter to tla_host_driver_leave. Members are read
 * only. */
typedef struct tla_host_driver_call {
    bool inside; /* true: the call may proceed; false: it waits */
    uint32_t device;
    tla_host_driver_operation operation;
    uint64_t asked_ps, entered_ps;     /* entered_ps: valid once it is inside */
    struct tla_host_driver_call *next; /* the next call that waits for the same lock */
} tla_host_driver_call;

typedef struct tla_host_driver_stats {
    uint64_t allocs, frees; /* calls that have entered */
    uint64_t waits;         /* entered calls that found the lock held */
    uint64_t foreign_waits; /* calls among `waits` that were delayed by a call for another device */
    uint64_t waited_ps;     /* sum over all calls of the time from request to entry */
    uint64_t busy_ps;       /* time in the driver; asynchronous driver: the device's time for calls */
} tla_host_driver_stats;

/* TLA_INVALID_ARGUMENT without devices or for an unknown kind, TLA_NO_HOST_MEMORY; *driver is NULL then. */
tla_status tla_host_driver_create(const tla_host_driver_parameters *parameters, uint32_t devices,
                                  tla_host_driver **driver);

/* NULL is allowed. The driver forgets waiting calls. */
void tla_host_driver_destroy(tla_host_driver *driver);

/* Requests the lock that a call for this device needs; call->inside is true if the call has it. TLA_OUT_OF_RANGE for a
 * device that does not exist. */
tla_status tla_host_driver_enter(tla_host_driver *driver, uint32_t device, tla_host_driver_operation operation,
                                 uint64_t now_ps, tla_host_driver_call *call);

/* Ends a call, or gives it up while it waits. Returns the call that enters instead, whose thread the caller must wake;
 * NULL if no call enters. */
tla_host_driver_call *tla_host_driver_leave(tla_host_driver *driver, tla_host_driver_call *call, uint64_t now_ps);

/* Returns the duration of a call once it is inside. */
uint64_t tla_host_driver_price(const tla_host_driver *driver, tla_host_driver_operation operation);

/* For an asynchronous driver: posts the work of a call to the device at now_ps. Returns the time at which it is
 * done. */
uint64_t tla_host_driver_post(tla_host_driver *driver, uint32_t device, tla_host_driver_operation operation,
                              uint64_t now_ps);

/* Returns the time at which a device has completed all posted work; 0: no work was posted. */
uint64_t tla_host_driver_ready_ps(const tla_host_driver *driver, uint32_t device);

/* Drops the work that was posted to the devices; counters keep their values. No call may be outstanding. */
void tla_host_driver_make_idle(tla_host_driver *driver);

/* Returns the counters of a device; all zero for a device that does not exist. */
tla_host_driver_stats tla_host_driver_get_stats(const tla_host_driver *driver, uint32_t device);

#ifdef __cplusplus
}
#endif
#endif
