/* Page-table walkers: a finite pool, in which misses to one page may share a walk.
 *
 * After NeuMMU (Hyun et al., ASPLOS 2020): each walker has a merge table (pending request merging buffer) for requests
 * that find a walk to their page under way, and a register of the path of its last walk (translation path register),
 * from which a walk that shares the upper levels starts. A walk cache keeps upper-level entries for all walkers.
 *
 * A request that finds no free walker holds up everything behind it. One that finds a walk to its page under way but no
 * merge slot holds up its own stream only: the requests for that page. It and they wait outside, for the answer that
 * comes when that walk ends, and requests for other pages pass. How many slots there are, as long as there is one,
 * decides who waits inside and who outside, which is what the statistics tell. Asked in the order of their times, no
 * request is answered later for more slots. Out of that order, as a platform in the fast style asks when its initiators
 * run ahead by a quantum, one may be: who is asked first takes a walker, and the number of slots changes who that is.
 *
 * The core knows no clock: times are picoseconds of the caller, who asks in about the order of time. Not thread safe.
 */
#ifndef TLMALLOC_WALKER_H
#define TLMALLOC_WALKER_H

#include "tlmalloc/translation/page_table.h"

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
    uint64_t level_ps;           /* time of one table read, where the caller gives no service */
} tla_walkers_config;

typedef struct tla_walkers tla_walkers;

/* Makes the reads walk->read[first ..] from start_ps on; returns when the last one is there. */
typedef uint64_t (*tla_walk_service)(void *context, const tla_walk *walk, uint32_t first, uint64_t start_ps);

typedef enum tla_walk_outcome {
    TLA_WALK_STARTED, /* a walker of its own */
    TLA_WALK_MERGED,  /* joined a walk under way */
    TLA_WALK_WAITED,  /* a walk to the page was under way, its merge table full: waits for its end outside */
    TLA_WALK_QUEUED   /* waits for a walker; only of tla_walkers_begin */
} tla_walk_outcome;

typedef struct tla_walk_result {
    tla_walk_outcome outcome;
    uint32_t walker;      /* whose walk it was */
    uint32_t skipped;     /* reads that a path register or the walk cache saved (STARTED) */
    uint64_t start_ps;    /* when that walk began */
    uint64_t done_ps;     /* when the translation is there */
    uint64_t accepted_ps; /* when the next request can be looked up; later than asked = the requester was stalled */
} tla_walk_result;

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

/* A miss at at_ps, for what tla_page_table_walk told (also for an address that is not mapped: finding that out takes
 * a walk too). service NULL = level_ps for each read. */
tla_walk_result tla_walkers_request(tla_walkers *walkers, const tla_walk *walk, uint64_t at_ps,
                                    tla_walk_service service, void *context);

/* A request for a walk of which nobody can say at its start how long its reads take. The caller's memory, until the
 * caller has heard of the walk's end. Any number may be under way. */
typedef struct tla_walk_request {
    tla_walk walk; /* what tla_page_table_walk told; set by the caller, as is the owner */
    void *owner;
    tla_walk_outcome outcome;
    uint32_t walker;             /* whose walk it is, and the first of the reads that it has to make (STARTED) */
    uint32_t first;              /* reads before that one were saved by a path register or the walk cache */
    uint64_t asked_ps, start_ps; /* when it came, when its own walk began */
    /* The walkers' own. */
    struct tla_walk_request *next, *chain, *joined, *last_joined;
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

/* A change is visible from then on: no request at that time or later joins a walk that began before. */
void tla_walkers_make_visible(tla_walkers *walkers, uint64_t visible_ps);

/* The walk under way of the next walker after *number that has one, and *number that walker; NULL when there is none.
 * From *number = UINT32_MAX on these are all. */
const tla_walk_request *tla_walkers_under_way(const tla_walkers *walkers, uint32_t *number);

/* Walkers with a request that has been begun and is not finished. */
uint32_t tla_walkers_begun(const tla_walkers *walkers);

/* Walkers that the requests so far keep busy at a time. */
uint32_t tla_walkers_in_flight(const tla_walkers *walkers, uint64_t at_ps);

tla_walkers_stats tla_walkers_get_stats(const tla_walkers *walkers);

#ifdef __cplusplus
}
#endif
#endif
