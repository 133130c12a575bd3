/* The locks of a host's driver: rows of calls, first come first served. */
#include "tlmalloc/command/host_driver.h"

#include <stdlib.h>

/* First in the row: the call that is inside. */
typedef struct lock {
    tla_host_driver_call *first;
} lock;

typedef struct device_state {
    uint64_t ready_ps; /* of an asynchronous driver */
    tla_host_driver_stats stats;
} device_state;

struct tla_host_driver {
    tla_host_driver_parameters parameters;
    uint32_t device_count;
    lock process; /* serial */
    lock *locks;  /* per_device: one each */
    device_state *devices;
};

const char *tla_host_driver_kind_name(tla_host_driver_kind kind) {
    static const char *const names[] = {"none", "serial", "per_device", "asynchronous"};
    return (unsigned)kind < TLA_HOST_DRIVER_KIND_COUNT ? names[kind] : NULL;
}

const char *tla_host_pool_name(tla_host_pool pool) {
    static const char *const names[] = {"none", "caching_pool"};
    return (unsigned)pool < TLA_HOST_POOL_COUNT ? names[pool] : NULL;
}

tla_status tla_host_driver_create(const tla_host_driver_parameters *parameters, uint32_t devices,
                                  tla_host_driver **driver) {
    *driver = NULL;
    if (devices == 0 || !tla_host_driver_kind_name(parameters->kind)) return TLA_INVALID_ARGUMENT;
    tla_host_driver *made = calloc(1, sizeof *made);
    if (!made) return TLA_NO_HOST_MEMORY;
    made->parameters = *parameters;
    made->device_count = devices;
    made->locks = calloc(devices, sizeof *made->locks);
    made->devices = calloc(devices, sizeof *made->devices);
    if (!made->locks || !made->devices) {
        tla_host_driver_destroy(made);
        return TLA_NO_HOST_MEMORY;
    }
    *driver = made;
    return TLA_OK;
}

void tla_host_driver_destroy(tla_host_driver *driver) {
    if (!driver) return;
    free(driver->locks);
    free(driver->devices);
    free(driver);
}

/* The lock that a call for a device needs; NULL: none. */
static lock *lock_of(tla_host_driver *driver, uint32_t device) {
    switch (driver->parameters.kind) {
    case TLA_HOST_DRIVER_SERIAL:
        return &driver->process;
    case TLA_HOST_DRIVER_PER_DEVICE:
        return &driver->locks[device];
    default:
        return NULL;
    }
}

static void come_in(tla_host_driver *driver, tla_host_driver_call *call, uint64_t now_ps) {
    tla_host_driver_stats *stats = &driver->devices[call->device].stats;
    call->inside = true;
    call->entered_ps = now_ps;
    stats->waited_ps += now_ps - call->asked_ps;
    ++*(call->operation == TLA_HOST_DRIVER_ALLOC ? &stats->allocs : &stats->frees);
}

tla_status tla_host_driver_enter(tla_host_driver *driver, uint32_t device, tla_host_driver_operation operation,
                                 uint64_t now_ps, tla_host_driver_call *call) {
    *call = (tla_host_driver_call){.device = device, .operation = operation, .asked_ps = now_ps};
    if (device >= driver->device_count) return TLA_OUT_OF_RANGE;
    lock *needed = lock_of(driver, device);
    if (!needed) {
        come_in(driver, call, now_ps);
        return TLA_OK;
    }
    tla_host_driver_call **last = &needed->first;
    bool foreign = false;
    for (; *last; last = &(*last)->next)
        foreign |= (*last)->device != device;
    *last = call;
    if (needed->first == call) {
        come_in(driver, call, now_ps);
        return TLA_OK;
    }
    driver->devices[device].stats.waits++;
    driver->devices[device].stats.foreign_waits += foreign;
    return TLA_OK;
}

tla_host_driver_call *tla_host_driver_leave(tla_host_driver *driver, tla_host_driver_call *call, uint64_t now_ps) {
    if (call->device >= driver->device_count) return NULL;
    lock *held = lock_of(driver, call->device);
    if (!held) return NULL; /* tla_host_driver_post counts the work of the device */
    const bool was_inside = call->inside;
    if (was_inside) driver->devices[call->device].stats.busy_ps += now_ps - call->entered_ps;
    tla_host_driver_call **place = &held->first;
    while (*place && *place != call)
        place = &(*place)->next;
    if (*place) *place = call->next;
    call->inside = false;
    if (!was_inside || !held->first) return NULL;
    come_in(driver, held->first, now_ps);
    return held->first;
}

uint64_t tla_host_driver_price(const tla_host_driver *driver, tla_host_driver_operation operation) {
    if (driver->parameters.kind == TLA_HOST_DRIVER_NONE) return 0;
    return operation == TLA_HOST_DRIVER_ALLOC ? driver->parameters.alloc_ps : driver->parameters.free_ps;
}

uint64_t tla_host_driver_post(tla_host_driver *driver, uint32_t device, tla_host_driver_operation operation,
                              uint64_t now_ps) {
    if (device >= driver->device_count) return now_ps;
    device_state *state = &driver->devices[device];
    const uint64_t price = tla_host_driver_price(driver, operation);
    state->ready_ps = (state->ready_ps > now_ps ? state->ready_ps : now_ps) + price;
    state->stats.busy_ps += price;
    return state->ready_ps;
}

uint64_t tla_host_driver_ready_ps(const tla_host_driver *driver, uint32_t device) {
    return device < driver->device_count ? driver->devices[device].ready_ps : 0;
}

void tla_host_driver_make_idle(tla_host_driver *driver) {
    for (uint32_t device = 0; device < driver->device_count; device++)
        driver->devices[device].ready_ps = 0;
}

tla_host_driver_stats tla_host_driver_get_stats(const tla_host_driver *driver, uint32_t device) {
    return device < driver->device_count ? driver->devices[device].stats : (tla_host_driver_stats){0};
}
