/* Allocations as objects: counts of references and pins, and a cache that keeps objects under keys. */
#ifndef TLMALLOC_CACHE_OBJECTS_H
#define TLMALLOC_CACHE_OBJECTS_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/base/work.h"
#include "tlmalloc/cache/victims.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Objects ---
 *
 * An allocation with a reference count and a pin count. A monitor ends pins that are held for too long. The models are
 * LMCache's MemoryObj and PinMonitor (seed 003).
 *
 * An object begins with one reference and no pin. It returns to its parent when both counts are 0. A pin protects it
 * from eviction, which only affects objects without references outside the cache. Not thread safe; one owner at a
 * time. */

typedef struct tla_mem_object tla_mem_object;
typedef struct tla_pin_monitor tla_pin_monitor;

/* The allocator that receives an object's memory back. free may be NULL for memory that is never released. */
typedef struct tla_mem_parent {
    tla_status (*free)(void *context, uint64_t address, uint64_t nbytes, tla_work *work);
    void *context;
} tla_mem_parent;

/* A description of an object's contents, kept with the object: LMCache's MemoryObjMetadata beyond address, size and
 * counts. */
typedef struct tla_mem_object_meta {
    uint8_t dtype;                      /* in the owner's numbers */
    uint8_t dimensions;                 /* dimensions of the shape, 0 .. 6 */
    uint32_t shape[6];                  /* 0 beyond the dimensions */
    uint64_t first_position, positions; /* range of the tokens that are cached in it */
} tla_mem_object_meta;

typedef struct tla_mem_object_config {
    uint64_t address; /* in the parent's terms: an offset, or the index of a slot */
    uint64_t nbytes;  /* as granted by the parent (phy_size) */
    uint64_t used;    /* as requested: 0 .. nbytes */
    tla_mem_parent parent;
    tla_pin_monitor *monitor; /* watches the pins; NULL: not watched */
    bool recycled; /* releasing it leaves the object valid, as in LMCache's paged allocator: a reference that is dropped
                      twice then releases it twice */
    bool uncounted; /* the reference count is always 1, and its calls have no effect (BytesBufferMemoryObj) */
} tla_mem_object_config;

/* TLA_INVALID_ARGUMENT when used is more than nbytes, TLA_NO_HOST_MEMORY; *object is NULL then. */
tla_status tla_mem_object_create(const tla_mem_object_config *config, tla_mem_object **object);

/* Destroys the object itself; NULL is allowed. LMCache's safety net: an object that is still valid is released to its
 * parent, and TLA_LEAK reports remaining references or pins. Else the parent's status. */
tla_status tla_mem_object_destroy(tla_mem_object *object, tla_work *work);

/* Adds a reference. TLA_NOT_ALLOCATED, without any change, for an object that was released. */
tla_status tla_mem_object_ref_up(tla_mem_object *object);

/* Drops a reference; without references and pins the memory returns to the parent. TLA_NOT_ALLOCATED when there was no
 * reference: the count stays 0, and a recycled object is released once more (as in LMCache). If the parent fails, the
 * call returns its status, and nothing has changed. */
tla_status tla_mem_object_ref_down(tla_mem_object *object, tla_work *work);

/* Adds a pin, at now_ps, and restarts the monitor's clock for this object. TLA_NOT_ALLOCATED for an object that was
 * released. */
tla_status tla_mem_object_pin(tla_mem_object *object, uint64_t now_ps);

/* As tla_mem_object_pin, with a time-out of its own instead of the monitor's, for all present pins of the object;
 * UINT64_MAX: no time-out. */
tla_status tla_mem_object_pin_for(tla_mem_object *object, uint64_t now_ps, uint64_t timeout_ps);

/* Drops a pin; the last one ends the watch, and releases an object without references. TLA_NOT_ALLOCATED when there was
 * no pin: the count stays 0. If the parent fails: as tla_mem_object_ref_down. */
tla_status tla_mem_object_unpin(tla_mem_object *object, tla_work *work);

/* Narrows the logical size to 0 .. nbytes; TLA_INVALID_ARGUMENT for more. The next owner of a recycled object has the
 * whole size again. */
tla_status tla_mem_object_set_used(tla_mem_object *object, uint64_t used);

/* Sets or returns the description; all zero until it is set. */
void tla_mem_object_set_meta(tla_mem_object *object, const tla_mem_object_meta *meta);
tla_mem_object_meta tla_mem_object_get_meta(const tla_mem_object *object);

/* Its contents have moved: the address from now on. */
void tla_mem_object_move(tla_mem_object *object, uint64_t address);

/* Gives a recycled object to a new owner: one reference, the whole size. As in LMCache the pins are not reset. */
void tla_mem_object_renew(tla_mem_object *object);

/* Returns whether it has no pin and one reference, that of the cache. Uncounted objects: whether it has no pin. */
bool tla_mem_object_can_evict(const tla_mem_object *object);

/* Returns whether the memory still belongs to the object: it was not released. */
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

/* NULL is allowed. Objects with pins are no longer watched; the other objects must have been destroyed before. */
void tla_pin_monitor_destroy(tla_pin_monitor *monitor);

/* Ends the pins of all objects whose last pin is MORE than its time-out ago, however many pins they have. The order is
 * that of the time-outs, and for equal times that of the pins. An object without references is released. Returns the
 * first failure of a parent, whose object keeps its pins. */
tla_status tla_pin_monitor_check(tla_pin_monitor *monitor, uint64_t now_ps, tla_work *work);

/* Returns the object whose pins time out next, and the last time at which they hold; NULL when no pin will time out. */
tla_mem_object *tla_pin_monitor_next(const tla_pin_monitor *monitor, uint64_t *until_ps);

/* Ends the pins of one watched object as its time-out does. If the parent fails: as tla_mem_object_ref_down. */
tla_status tla_pin_monitor_end(tla_pin_monitor *monitor, tla_mem_object *object, tla_work *work);

typedef struct tla_pin_monitor_stats {
    uint64_t watched; /* objects with at least one pin */
    uint64_t forced;  /* objects whose pins were ended, since the start */
} tla_pin_monitor_stats;

tla_pin_monitor_stats tla_pin_monitor_get_stats(const tla_pin_monitor *monitor);

/* --- Objects under keys ---
 *
 * Objects under keys, with eviction of the least recently used to serve a request: LMCache's LocalCPUBackend.
 *
 * An entry is a group of objects, one per layer or a single one, which enter and leave together. The cache has a
 * reference to each. Where LMCache sleeps until an entry can be evicted, a call here returns TLA_BUSY: the core has no
 * clock. Evicting k objects does not guarantee space for k objects (issues #1285, #2767, #3187): that depends on the
 * allocator. Not thread safe; one owner at a time. */

typedef struct tla_hot_cache tla_hot_cache;

/* The rule chooses the entries that leave (victims.h); LMCache's LocalCPUBackend has TLA_VICTIM_LRU.
 * TLA_INVALID_ARGUMENT for an unknown rule, TLA_NO_HOST_MEMORY; *cache is NULL then. */
tla_status tla_hot_cache_create(tla_victim_rule rule, tla_hot_cache **cache);

/* Drops every entry, in the order of use of each of the rule's lists, and its references; NULL is allowed. The objects
 * belong to the caller. Returns the first failure of a parent. */
tla_status tla_hot_cache_destroy(tla_hot_cache *cache, tla_work *work);

/* Enters n objects (at least 1) of a tenant under a key, as most recently used, and adds a reference to each. An
 * existing key stays unchanged; the call then returns TLA_OK, with *added (may be NULL) false. Adds the work of the
 * rule to *work (may be NULL). TLA_INVALID_ARGUMENT for n = 0, TLA_NOT_ALLOCATED for an object that was released,
 * TLA_NO_HOST_MEMORY; after an error nothing has changed. */
tla_status tla_hot_cache_put(tla_hot_cache *cache, uint64_t tenant, uint64_t key, tla_mem_object *const *objects,
                             size_t n, bool *added, tla_work *work);

/* Returns the objects under a key, without using them: it adds no reference and keeps the order. TLA_NOT_ALLOCATED for
 * an unknown key. */
tla_status tla_hot_cache_peek(const tla_hot_cache *cache, uint64_t key, tla_mem_object *const **objects, size_t *n);

/* Makes the entry the most recently used, and adds a reference for the caller to each of its n objects. The array
 * *objects is the cache's own, and valid as long as the entry. TLA_NOT_ALLOCATED for an unknown key. */
tla_status tla_hot_cache_get(tla_hot_cache *cache, uint64_t key, tla_mem_object *const **objects, size_t *n);

/* Returns whether the key exists. If it does, and `pin`, pins its objects at now_ps. Does not change the order. */
bool tla_hot_cache_contains(tla_hot_cache *cache, uint64_t key, bool pin, uint64_t now_ps);

/* Removes the entry and drops its references: memory is released when no other holder has a reference.
 * TLA_NOT_ALLOCATED for an unknown key; else the error of a parent (the entry is removed all the same). */
tla_status tla_hot_cache_remove(tla_hot_cache *cache, uint64_t key, tla_work *work);

/* A request: any allocation, single or batch. The cache calls it until it succeeds or no entry can be evicted. */
typedef tla_status (*tla_hot_cache_try)(void *context, tla_work *work);

/* Tries the request. When memory is lacking (TLA_EXHAUSTED, TLA_FRAGMENTED, TLA_LIMIT), the call evicts an entry and
 * retries at once. It evicts the entry that the rule chooses among those of which every object can be evicted; with
 * TLA_VICTIM_TENANT_LRU an entry of the tenant that asks. If no entry can be evicted, it returns TLA_BUSY with
 * `busy_loop`, else the status of the last try. In this case LMCache waits 0.1 s and retries forever; here the caller
 * retries later. Stores must not do so, because they deadlock. Other failures are returned unchanged. Evicted entries
 * stay evicted. */
tla_status tla_hot_cache_alloc(tla_hot_cache *cache, uint64_t tenant, tla_hot_cache_try attempt, void *context,
                               bool busy_loop, tla_work *work);

/* Evicts a share of the entries, in permille (tla_victims_share), as far as the rule finds entries that can be evicted:
 * LMCache's pass over a memory that has reached its watermark (tla_watermark_is_reached). TLA_NO_HOST_MEMORY: nothing
 * has changed; else the first failure of a parent. */
tla_status tla_hot_cache_evict(tla_hot_cache *cache, uint64_t tenant, uint32_t permille, tla_work *work);

typedef struct tla_hot_cache_stats {
    uint64_t entries;
    uint64_t evicted;  /* entries, since the start */
    uint64_t waits;    /* results TLA_BUSY */
    uint64_t failures; /* requests that failed for lack of memory */
} tla_hot_cache_stats;

tla_hot_cache_stats tla_hot_cache_get_stats(const tla_hot_cache *cache);

#ifdef __cplusplus
}
#endif
#endif
