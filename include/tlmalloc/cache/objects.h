/* Allocations as objects: counts of references and pins, and a cache that keeps objects under keys. */
#ifndef TLMALLOC_CACHE_OBJECTS_H
#define TLMALLOC_CACHE_OBJECTS_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Objects ---
 *
 * An allocation with a reference count and a pin count, and a monitor that ends pins held for too long: LMCache's
 * MemoryObj and PinMonitor (seed 003).
 *
 * An object begins with one reference and no pin. It is given back to its parent when both counts are 0; a pin keeps it
 * from eviction, which only ever takes what nobody but the cache refers to. Not thread safe; one owner at a time. */

typedef struct tla_mem_object tla_mem_object;
typedef struct tla_pin_monitor tla_pin_monitor;

/* Where an object's memory goes back to: any allocator. free may be NULL for memory that nobody takes back. */
typedef struct tla_mem_parent {
    tla_status (*free)(void *context, uint64_t address, uint64_t nbytes, tla_work *work);
    void *context;
} tla_mem_parent;

/* What an object holds, which travels with it: LMCache's MemoryObjMetadata beyond address, size and counts. */
typedef struct tla_mem_object_meta {
    uint8_t dtype;                      /* in the owner's numbers */
    uint8_t dimensions;                 /* 0 .. 6 of the shape */
    uint32_t shape[6];                  /* 0 beyond the dimensions */
    uint64_t first_position, positions; /* of the tokens that are cached in it: a range */
} tla_mem_object_meta;

typedef struct tla_mem_object_config {
    uint64_t address; /* in the parent's terms: an offset, or the index of a slot */
    uint64_t nbytes;  /* as granted by the parent (phy_size) */
    uint64_t used;    /* as asked for: 0 .. nbytes */
    tla_mem_parent parent;
    tla_pin_monitor *monitor; /* watches the pins; NULL: nobody does */
    bool recycled;  /* giving it back leaves the object valid, as LMCache's paged allocator does: a reference that is
                       dropped twice then gives it back twice */
    bool uncounted; /* the reference count is always 1 and its calls do nothing (BytesBufferMemoryObj) */
} tla_mem_object_config;

/* TLA_INVALID_ARGUMENT when used is more than nbytes, TLA_NO_HOST_MEMORY; *object is NULL then. */
tla_status tla_mem_object_create(const tla_mem_object_config *config, tla_mem_object **object);

/* Ends the object itself; NULL is allowed. LMCache's safety net: one that is still valid is given back to its parent,
 * and TLA_LEAK says that something still referred to it or pinned it. Else what the parent says. */
tla_status tla_mem_object_destroy(tla_mem_object *object, tla_work *work);

/* One reference more. TLA_NOT_ALLOCATED, and nothing changed, for an object that has been given back. */
tla_status tla_mem_object_ref_up(tla_mem_object *object);

/* One reference less; with none left and no pin the memory goes back to the parent. TLA_NOT_ALLOCATED when there was no
 * reference: the count stays 0, and a recycled object is given back once more (as in LMCache). When the parent refuses,
 * its status is the answer and nothing has changed. */
tla_status tla_mem_object_ref_down(tla_mem_object *object, tla_work *work);

/* One pin more, at now_ps; the monitor's clock for this object begins again. TLA_NOT_ALLOCATED for an object that has
 * been given back. */
tla_status tla_mem_object_pin(tla_mem_object *object, uint64_t now_ps);

/* The same with a time-out of its own instead of the monitor's, for all pins that the object has now; UINT64_MAX: they
 * do not time out. */
tla_status tla_mem_object_pin_for(tla_mem_object *object, uint64_t now_ps, uint64_t timeout_ps);

/* One pin less; the last one ends the watch, and gives back an object without references. TLA_NOT_ALLOCATED when there
 * was no pin: the count stays 0. A parent that refuses: as tla_mem_object_ref_down. */
tla_status tla_mem_object_unpin(tla_mem_object *object, tla_work *work);

/* Narrows the logical size to 0 .. nbytes; TLA_INVALID_ARGUMENT for more. The next owner of a recycled object has the
 * whole again. */
tla_status tla_mem_object_set_used(tla_mem_object *object, uint64_t used);

/* What it holds; all zero until somebody says. */
void tla_mem_object_set_meta(tla_mem_object *object, const tla_mem_object_meta *meta);
tla_mem_object_meta tla_mem_object_get_meta(const tla_mem_object *object);

/* A recycled object has a new owner: one reference, the whole size. LMCache does not reset the pins, and so do we. */
void tla_mem_object_renew(tla_mem_object *object);

/* Not pinned, and one reference, that of the cache. Uncounted objects: not pinned. */
bool tla_mem_object_can_evict(const tla_mem_object *object);

/* The memory is the object's: it has not been given back. */
bool tla_mem_object_is_valid(const tla_mem_object *object);

uint64_t tla_mem_object_ref_count(const tla_mem_object *object);
uint64_t tla_mem_object_pin_count(const tla_mem_object *object);
uint64_t tla_mem_object_address(const tla_mem_object *object);
uint64_t tla_mem_object_used(const tla_mem_object *object); /* logical bytes */

/* ---- the monitor ---- */

/* LMCache's pin_timeout_sec: 300 s. */
#define TLA_PIN_TIMEOUT_PS UINT64_C(300000000000000)

/* TLA_NO_HOST_MEMORY; *monitor is NULL then. */
tla_status tla_pin_monitor_create(uint64_t timeout_ps, tla_pin_monitor **monitor);

/* NULL is allowed. Objects that are pinned now are watched no more; the others must have ended before. */
void tla_pin_monitor_destroy(tla_pin_monitor *monitor);

/* Ends, in the order in which they time out, of several at one time in that in which they were pinned, the pins of all
 * objects whose last pin is MORE than its time-out ago, however many pins they have; one without references is given
 * back. Returns the first failure of a parent, whose object keeps its pins. */
tla_status tla_pin_monitor_check(tla_pin_monitor *monitor, uint64_t now_ps, tla_work *work);

/* The object whose pins time out next, and the last time at which they hold; NULL when no pin will. */
tla_mem_object *tla_pin_monitor_next(const tla_pin_monitor *monitor, uint64_t *until_ps);

/* Ends the pins of one watched object as its time-out does. A parent that refuses: as tla_mem_object_ref_down. */
tla_status tla_pin_monitor_end(tla_pin_monitor *monitor, tla_mem_object *object, tla_work *work);

typedef struct tla_pin_monitor_stats {
    uint64_t watched; /* objects with at least one pin */
    uint64_t forced;  /* objects whose pins were ended, since the beginning */
} tla_pin_monitor_stats;

tla_pin_monitor_stats tla_pin_monitor_get_stats(const tla_pin_monitor *monitor);

/* --- Objects under keys ---
 *
 * Objects under keys, the least recently used evicted to serve a request: LMCache's LocalCPUBackend.
 *
 * An entry is a group of objects, one a layer or just one, which come and go together. The cache has a reference to
 * each. Where LMCache sleeps until something can be evicted, a call here says TLA_BUSY: the core has no clock.
 * Evicting k objects does not make a hole for k of them (issues #1285, #2767, #3187): whether it does is the
 * allocator's affair. Not thread safe; one owner at a time. */

typedef struct tla_hot_cache tla_hot_cache;

/* TLA_NO_HOST_MEMORY; *cache is NULL then. */
tla_status tla_hot_cache_create(tla_hot_cache **cache);

/* Drops every entry, least recently used first, and its references; NULL is allowed. The objects belong to the caller.
 * Returns the first failure of a parent. */
tla_status tla_hot_cache_destroy(tla_hot_cache *cache, tla_work *work);

/* Enters n objects (at least 1) under a key, most recently used, with one more reference each. A key that is there
 * already is left as it is, with TLA_OK and *added (may be NULL) false. TLA_INVALID_ARGUMENT for n = 0,
 * TLA_NOT_ALLOCATED for an object that has been given back, TLA_NO_HOST_MEMORY; nothing is changed then. */
tla_status tla_hot_cache_put(tla_hot_cache *cache, uint64_t key, tla_mem_object *const *objects, size_t n, bool *added);

/* What stands under a key, without using it: no reference, and its place in the order stays. TLA_NOT_ALLOCATED when
 * there is no such key. */
tla_status tla_hot_cache_peek(const tla_hot_cache *cache, uint64_t key, tla_mem_object *const **objects, size_t *n);

/* Makes the entry the most recently used; *objects (n of them, the cache's own array, valid until the entry goes) have
 * one more reference each, for the caller. TLA_NOT_ALLOCATED when there is no such key. */
tla_status tla_hot_cache_get(tla_hot_cache *cache, uint64_t key, tla_mem_object *const **objects, size_t *n);

/* Whether the key is there; and if so, and `pin`, pins its objects at now_ps. Does not change the order. */
bool tla_hot_cache_contains(tla_hot_cache *cache, uint64_t key, bool pin, uint64_t now_ps);

/* Takes the entry out and drops its references: memory goes back when nobody else has one. TLA_NOT_ALLOCATED when there
 * is no such key; else what a parent says that refuses (the entry is out all the same). */
tla_status tla_hot_cache_remove(tla_hot_cache *cache, uint64_t key, tla_work *work);

/* What a request asks for: any allocation, single or batch. Called until it succeeds or nothing can be evicted. */
typedef tla_status (*tla_hot_cache_try)(void *context, tla_work *work);

/* Tries; when memory is wanting (TLA_EXHAUSTED, TLA_FRAGMENTED, TLA_LIMIT) evicts the least recently used entry of
 * which every object can be evicted, and tries again at once. With nothing left to evict: TLA_BUSY with `busy_loop`
 * (LMCache waits 0.1 s and tries for ever: call again later; stores must not do so, they deadlock), else what the last
 * try said. Other failures are handed on. Evicted entries stay evicted. */
tla_status tla_hot_cache_alloc(tla_hot_cache *cache, tla_hot_cache_try attempt, void *context, bool busy_loop,
                               tla_work *work);

typedef struct tla_hot_cache_stats {
    uint64_t entries;
    uint64_t evicted;  /* entries, since the beginning */
    uint64_t waits;    /* answers TLA_BUSY */
    uint64_t failures; /* requests that failed for want of memory */
} tla_hot_cache_stats;

tla_hot_cache_stats tla_hot_cache_get_stats(const tla_hot_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
