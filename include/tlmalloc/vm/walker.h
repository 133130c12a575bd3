/* Page-table walkers: a finite pool, in which misses to one page may share a walk.
 *
 * After NeuMMU (Hyun et al., ASPLOS 2020): each walker has a merge table (pending request merging buffer) for requests
 * that find a walk to their page under way, and a register of the path of its last walk (translation path register),
 * from which a walk that shares the upper levels starts. A walk cache keeps upper-level entries for all walkers.
 *
 * A request that finds no free walker holds up everything behind it. One that finds a walk to its page under way but no
 * merge slot holds up its own stream only: the requests for that page. It and they wait outside, for the answer that
 * comes when that walk ends, and requests for other pages pass. How many slots there are, as long as there is one,
 * decides who waits inside and who outside, which is what the statistics tell: no request is answered later for more
 * slots.
 *
 * A walk is begun, the caller makes its reads one after the other when their time has come, and it is finished at a
 * time that nobody knew at its start. The core knows no clock: times are picoseconds of the caller, and all calls come
 * in the order of time. Not thread safe. */
#ifndef TLMALLOC_VM_WALKER_H
#define TLMALLOC_VM_WALKER_H

#include "tlmalloc/vm/page_table.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_WALKERS_MAX = 4096, TLA_WALK_CACHE_MAX = 4096 };

typedef struct tla_walkers_config {
    uint32_t walkers;            /* 1 .. 4096 */
    uint32_t merge_slots;        /* requests that may join one walk; 0 = no merging, every miss walks */
    uint32_t walk_cache_entries; /* upper-level entries kept for all walkers, LRU, at most 4096; 0 = none */
    bool path_registers;         /* one a walker */
    bool hit_under_miss;         /* false: nothing is looked up while a request waits for its walk */
    uint64_t level_ps;           /* time of one table read, where tables are not in the modelled memory */
} tla_walkers_config;

typedef struct tla_walkers tla_walkers;

typedef enum tla_walk_outcome {
    TLA_WALK_STARTED, /* a walker of its own */
    TLA_WALK_MERGED,  /* joined a walk under way */
    TLA_WALK_WAITED,  /* a walk to the page was under way, its merge table full: waits for its end outside */
    TLA_WALK_QUEUED   /* waits for a walker */
} tla_walk_outcome;

typedef struct tla_walkers_stats {
    uint64_t requests, walks, merged;
    uint64_t stalls;   /* requests that found no free walker or merge slot */
    uint64_t stall_ps; /* what they waited for one */
    uint64_t reads, reads_skipped;
    uint64_t busy_ps; /* of all walkers together */
} tla_walkers_stats;

/* TLA_INVALID_ARGUMENT when a member breaks its rule; *walkers is NULL then. */
tla_status tla_walkers_create(const tla_walkers_config *config, tla_walkers **walkers);
void tla_walkers_destroy(tla_walkers *walkers);

/* A miss, for what tla_page_table_walk told (also for an address that is not mapped: finding that out takes a walk
 * too). The caller's memory, until the caller has heard of the walk's end. Any number may be under way. */
typedef struct tla_walk_request {
    tla_walk walk; /* set by the caller, as are the next two */
    void *owner;
    uint64_t closed_ps; /* once it has begun, no request at that time or later joins it, since a change that has been
                           decided is visible then; 0: no change is pending */
    tla_walk_outcome outcome;
    uint32_t walker;             /* whose walk it is, and the first of the reads that it has to make (STARTED) */
    uint32_t first;              /* reads before that one were saved by a path register or the walk cache */
    uint64_t asked_ps, start_ps; /* when it came, when its own walk began */
    struct tla_walk_request *next, *joined; /* the requests that wait for its walk too, linked by `next` */
    /* The walkers' own. */
    struct tla_walk_request *chain, *last_joined;
    uint64_t page;
    uint32_t merged;
    bool joinable;
} tla_walk_request;

/* A miss at at_ps, in the order of time. TLA_WALK_STARTED: the caller makes the reads walk.read[first ..], one after
 * the other, and calls tla_walkers_finish when the last one is there; it makes none where first == reads.
 * TLA_WALK_MERGED and TLA_WALK_WAITED: that call, for the walk which it joined, tells it. TLA_WALK_QUEUED: all walkers
 * are busy, and it waits behind those that came before. */
tla_walk_outcome tla_walkers_begin(tla_walkers *walkers, tla_walk_request *request, uint64_t at_ps);

/* The walk of this request is over. good: it has read what its `walk` says, and that is remembered. Returns the
 * requests that it served beside, in the order in which they came, linked by `next`. */
tla_walk_request *tla_walkers_finish(tla_walkers *walkers, tla_walk_request *request, uint64_t at_ps, bool good);

/* The request whose turn it is while a walker is free, taken out of the queue; NULL when there is none. The caller
 * starts it (its `walk` may be asked of the table again before that), and is told as by tla_walkers_begin. */
tla_walk_request *tla_walkers_next(tla_walkers *walkers);
void tla_walkers_start(tla_walkers *walkers, tla_walk_request *request, uint64_t at_ps);

/* After a mapping of an address space changed: its walk-cache entries and path registers are forgotten, and nothing
 * joins a walk of it that is under way. */
void tla_walkers_invalidate(tla_walkers *walkers, uint32_t asid);

/* A change is visible from then on: no request at that time or later joins a walk that is under way now. For walks that
 * begin before that time, the caller sets closed_ps. */
void tla_walkers_make_visible(tla_walkers *walkers, uint64_t visible_ps);

/* The walk under way of the next walker after *number that has one, and *number that walker; NULL when there is none.
 * From *number = UINT32_MAX on these are all. */
const tla_walk_request *tla_walkers_under_way(const tla_walkers *walkers, uint32_t *number);

/* Walks under way: begun, and not finished. */
uint32_t tla_walkers_begun(const tla_walkers *walkers);

tla_walkers_stats tla_walkers_get_stats(const tla_walkers *walkers);

#ifdef __cplusplus
}
#endif
#endif
