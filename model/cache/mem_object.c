/* Counts of references and pins, and the list of pinned objects. */
#include "tlmalloc/cache/objects.h"

#include <stdlib.h>

struct tla_mem_object {
    tla_mem_object_config config;
    uint64_t refs, pins;
    bool valid;
    tla_mem_object_meta meta;
    uint64_t pinned_until;           /* ps: the last time at which the pins hold */
    tla_mem_object *previous, *next; /* in the monitor's list, from the first pin to the last unpin */
};

struct tla_pin_monitor {
    uint64_t timeout_ps;
    tla_pin_monitor_stats stats;
    tla_mem_object *first, *last; /* in the order in which they time out */
};

tla_status tla_mem_object_create(const tla_mem_object_config *config, tla_mem_object **out) {
    *out = NULL;
    if (config->used > config->nbytes) return TLA_INVALID_ARGUMENT;
    tla_mem_object *object = calloc(1, sizeof *object);
    if (!object) return TLA_NO_HOST_MEMORY;
    object->config = *config;
    object->refs = 1;
    object->valid = true;
    *out = object;
    return TLA_OK;
}

/* Searches from the last object, after which an object mostly belongs: pins with one time-out arrive in order. */
static void watch(tla_mem_object *object, uint64_t until_ps) {
    tla_pin_monitor *monitor = object->config.monitor;
    tla_mem_object *before = monitor->last;
    while (before && before->pinned_until > until_ps)
        before = before->previous;
    tla_mem_object *after = before ? before->next : monitor->first;
    object->pinned_until = until_ps;
    object->previous = before;
    object->next = after;
    *(before ? &before->next : &monitor->first) = object;
    *(after ? &after->previous : &monitor->last) = object;
    monitor->stats.watched++;
}

static void unwatch(tla_mem_object *object) {
    tla_pin_monitor *monitor = object->config.monitor;
    if (object->previous)
        object->previous->next = object->next;
    else
        monitor->first = object->next;
    if (object->next)
        object->next->previous = object->previous;
    else
        monitor->last = object->previous;
    monitor->stats.watched--;
}

static tla_status give_back(tla_mem_object *object, tla_work *work) {
    const tla_mem_object_config *c = &object->config;
    if (!object->valid) return TLA_OK;
    tla_status status = c->parent.free ? c->parent.free(c->parent.context, c->address, c->nbytes, work) : TLA_OK;
    if (!status && !c->recycled) object->valid = false;
    return status;
}

/* Sets the counts, and releases the object accordingly; nothing changes when the parent fails. */
static tla_status settle(tla_mem_object *object, uint64_t refs, uint64_t pins, tla_work *work) {
    tla_status status = refs == 0 && pins == 0 ? give_back(object, work) : TLA_OK;
    if (status) return status;
    if (object->config.monitor && object->pins > 0 && pins == 0) unwatch(object);
    object->refs = refs;
    object->pins = pins;
    return TLA_OK;
}

tla_status tla_mem_object_ref_up(tla_mem_object *object) {
    if (!object->valid) return TLA_NOT_ALLOCATED;
    if (!object->config.uncounted) object->refs++;
    return TLA_OK;
}

tla_status tla_mem_object_ref_down(tla_mem_object *object, tla_work *work) {
    if (object->config.uncounted) return TLA_OK;
    bool none = object->refs == 0;
    tla_status status = settle(object, none ? 0 : object->refs - 1, object->pins, work);
    return !status && none ? TLA_NOT_ALLOCATED : status;
}

tla_status tla_mem_object_pin(tla_mem_object *object, uint64_t now_ps) {
    return tla_mem_object_pin_for(object, now_ps, object->config.monitor ? object->config.monitor->timeout_ps : 0);
}

tla_status tla_mem_object_pin_for(tla_mem_object *object, uint64_t now_ps, uint64_t timeout_ps) {
    if (!object->valid) return TLA_NOT_ALLOCATED;
    if (object->config.monitor) {
        if (object->pins > 0) unwatch(object);
        watch(object, timeout_ps > UINT64_MAX - now_ps ? UINT64_MAX : now_ps + timeout_ps);
    }
    object->pins++;
    return TLA_OK;
}

tla_status tla_mem_object_unpin(tla_mem_object *object, tla_work *work) {
    bool none = object->pins == 0;
    tla_status status = settle(object, object->refs, none ? 0 : object->pins - 1, work);
    return !status && none ? TLA_NOT_ALLOCATED : status;
}

tla_status tla_mem_object_set_used(tla_mem_object *object, uint64_t used) {
    if (used > object->config.nbytes) return TLA_INVALID_ARGUMENT;
    object->config.used = used;
    return TLA_OK;
}

void tla_mem_object_set_meta(tla_mem_object *object, const tla_mem_object_meta *meta) {
    object->meta = *meta;
}

tla_mem_object_meta tla_mem_object_get_meta(const tla_mem_object *object) {
    return object->meta;
}

void tla_mem_object_move(tla_mem_object *object, uint64_t address) {
    object->config.address = address;
}

void tla_mem_object_renew(tla_mem_object *object) {
    object->refs = 1;
    object->meta = (tla_mem_object_meta){0};
    object->config.used = object->config.nbytes;
}

bool tla_mem_object_can_evict(const tla_mem_object *object) {
    return object->pins == 0 && (object->config.uncounted || object->refs == 1);
}

bool tla_mem_object_is_valid(const tla_mem_object *object) {
    return object->valid;
}
uint64_t tla_mem_object_ref_count(const tla_mem_object *object) {
    return object->refs;
}
uint64_t tla_mem_object_pin_count(const tla_mem_object *object) {
    return object->pins;
}
uint64_t tla_mem_object_address(const tla_mem_object *object) {
    return object->config.address;
}
uint64_t tla_mem_object_used(const tla_mem_object *object) {
    return object->config.used;
}

tla_status tla_mem_object_destroy(tla_mem_object *object, tla_work *work) {
    if (!object) return TLA_OK;
    bool held = object->valid && ((object->refs > 0 && !object->config.uncounted) || object->pins > 0);
    /* A recycled object without owners is in its parent's hands already. */
    bool returned = object->config.recycled && object->refs == 0 && object->pins == 0;
    if (object->config.monitor && object->pins > 0) unwatch(object);
    tla_status status = returned ? TLA_OK : give_back(object, work);
    free(object);
    return held ? TLA_LEAK : status;
}

tla_status tla_pin_monitor_create(uint64_t timeout_ps, tla_pin_monitor **out) {
    tla_pin_monitor *monitor = calloc(1, sizeof *monitor);
    *out = monitor;
    if (!monitor) return TLA_NO_HOST_MEMORY;
    monitor->timeout_ps = timeout_ps;
    return TLA_OK;
}

void tla_pin_monitor_destroy(tla_pin_monitor *monitor) {
    if (!monitor) return;
    for (tla_mem_object *object = monitor->first; object; object = object->next)
        object->config.monitor = NULL;
    free(monitor);
}

tla_status tla_pin_monitor_end(tla_pin_monitor *monitor, tla_mem_object *object, tla_work *work) {
    tla_status status = settle(object, object->refs, 0, work);
    if (!status) monitor->stats.forced++;
    return status;
}

tla_status tla_pin_monitor_check(tla_pin_monitor *monitor, uint64_t now_ps, tla_work *work) {
    tla_status first = TLA_OK;
    for (tla_mem_object *next, *object = monitor->first; object && now_ps > object->pinned_until; object = next) {
        next = object->next;
        tla_status status = tla_pin_monitor_end(monitor, object, work);
        if (!first) first = status;
    }
    return first;
}

tla_mem_object *tla_pin_monitor_next(const tla_pin_monitor *monitor, uint64_t *until_ps) {
    if (!monitor->first || monitor->first->pinned_until == UINT64_MAX) return NULL;
    *until_ps = monitor->first->pinned_until;
    return monitor->first;
}

tla_pin_monitor_stats tla_pin_monitor_get_stats(const tla_pin_monitor *monitor) {
    return monitor->stats;
}
