/* The front end of an MMU: what it is made of, what it knows at a time, and which changes can be seen.
 *
 * Puts the page table, the TLB, the walkers and the window of changes that are not visible yet together. Accesses are
 * translated and mappings changed in steps. Three ways to translate: `ideal` asks the table, in no time (KernBench
 * ADR-0039); `flat` asks the TLB, and a miss walks with a latency for each level; `memory` does the same with every
 * level a read of the modelled memory, where the table then lives: its tables are allocated, written and freed there.
 * What a walk reads is decoded and compared with the table, so that a table that somebody overwrote is noticed.
 *
 * The core knows no clock: every call says when it happens, in picoseconds, and calls come in the order of time, but
 * for those that only look (probe, find). Not thread safe. */
#ifndef TLMALLOC_VM_MMU_H
#define TLMALLOC_VM_MMU_H

#include "tlmalloc/vm/page_table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- TLB ---
 *
 * Translation lookaside buffers: a hierarchy of levels, each with entries, ways, a latency and a replacement policy.
 *
 * An entry holds what a walk found, a page of any of the page sizes or a region inside a page, and the ASID it was
 * found for. It keeps serving that until it is replaced or invalidated, whatever the table says meanwhile: that is what
 * makes stale translations visible. Host cost of a lookup does not depend on the number of entries or ways. The core
 * knows no clock: the caller says when a lookup happens, and fills an entry when its walk has ended. Not thread safe.
 */

/* Which entry of a full set makes room. */
typedef enum tla_replacement {
    TLA_REPLACE_LRU,    /* the one used longest ago */
    TLA_REPLACE_FIFO,   /* the one filled longest ago */
    TLA_REPLACE_RANDOM, /* any, from the seed */
    TLA_REPLACE_PLRU,   /* tree pseudo-LRU: one bit a fork, pointing away from the last use */
    TLA_REPLACEMENT_COUNT
} tla_replacement;

/* Name as in configuration files, "lru", "fifo", "random", "plru"; NULL for a value that is none. */
const char *tla_replacement_name(tla_replacement replacement);

enum { TLA_TLB_LEVELS_MAX = 3, TLA_TLB_ENTRIES_MAX = 65536 };

typedef struct tla_tlb_level_config {
    uint32_t entries;            /* 1 .. 65536 */
    uint32_t ways;               /* divides entries into a power of two of sets; 0 = fully associative */
    uint64_t latency_ps;         /* of a lookup in this level, hit or miss */
    tla_replacement replacement; /* TLA_REPLACE_PLRU: ways must be a power of two */
} tla_tlb_level_config;

typedef struct tla_tlb_config {
    uint32_t levels;                                /* 0 = no TLB: every lookup misses, at no cost */
    tla_tlb_level_config level[TLA_TLB_LEVELS_MAX]; /* nearest first */
    uint64_t page_sizes[TLA_PAGE_SIZES_MAX];        /* those of the page table, ascending; 0 = no more */
    uint64_t seed;                                  /* of TLA_REPLACE_RANDOM */
} tla_tlb_config;

typedef struct tla_tlb tla_tlb;

/* What a lookup found. */
typedef struct tla_tlb_hit {
    tla_vaddr va; /* the page or region that holds the address: its first byte, its length, where it begins */
    uint64_t nbytes;
    tla_paddr pa;
    uint32_t flags;      /* what it permits: for the caller to check */
    uint32_t level;      /* which level held it; the number of levels on a miss */
    uint64_t latency_ps; /* of all levels that were asked */
} tla_tlb_hit;

typedef struct tla_tlb_stats {
    uint64_t lookups, hits;
    uint64_t fills;
    uint64_t evictions;   /* valid entries that made room */
    uint64_t invalidated; /* entries removed by invalidations */
    uint32_t valid;       /* entries that are valid now */
} tla_tlb_stats;

/* TLA_INVALID_ARGUMENT when a member breaks its rule; *tlb is NULL then. */
tla_status tla_tlb_create(const tla_tlb_config *config, tla_tlb **tlb);
void tla_tlb_destroy(tla_tlb *tlb);

/* Looks va up level by level at the time at_ps; a hit beyond the first level refills the nearer ones. False on a miss:
 * only level and latency_ps of *hit mean something then. */
bool tla_tlb_lookup(tla_tlb *tlb, uint32_t asid, tla_vaddr va, uint64_t at_ps, tla_tlb_hit *hit);

/* Enters what a walk found into every level. An entry of the same page size and ASID that overlaps it is replaced; one
 * that says the same stays. TLA_INVALID_ARGUMENT when walk->page_size is not one of the configured, or the walk found
 * nothing. */
tla_status tla_tlb_fill(tla_tlb *tlb, const tla_walk *walk);

/* The same for what a change, decided already, ends: to be hit before until_ps only. */
tla_status tla_tlb_fill_until(tla_tlb *tlb, const tla_walk *walk, uint64_t until_ps);

/* Lets every entry of an ASID that overlaps [va, va + nbytes), or of an ASID, serve until tla_tlb_end says until when.
 * An entry that ends sooner already does. Counted as invalidated. */
void tla_tlb_end_range(tla_tlb *tlb, uint32_t asid, tla_vaddr va, uint64_t nbytes);
void tla_tlb_end_asid(tla_tlb *tlb, uint32_t asid);
void tla_tlb_end(tla_tlb *tlb, uint64_t until_ps);

/* Drops what no lookup at now_ps or later can hit. */
void tla_tlb_advance(tla_tlb *tlb, uint64_t now_ps);

/* Drops every entry of an ASID that overlaps [va, va + nbytes), of an ASID, or all; returns how many. A range that
 * wraps 2^64 ends there. */
uint64_t tla_tlb_invalidate_range(tla_tlb *tlb, uint32_t asid, tla_vaddr va, uint64_t nbytes);
uint64_t tla_tlb_invalidate_asid(tla_tlb *tlb, uint32_t asid);
uint64_t tla_tlb_invalidate_all(tla_tlb *tlb);

/* Of one level; all zero for a level that is none. */
tla_tlb_stats tla_tlb_get_stats(const tla_tlb *tlb, uint32_t level);

/* --- Walkers ---
 *
 * Page-table walkers: a finite pool, in which misses to one page may share a walk.
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

/* --- The MMU --- */

typedef enum tla_walk_mode { TLA_WALK_IDEAL, TLA_WALK_FLAT, TLA_WALK_MEMORY, TLA_WALK_MODE_COUNT } tla_walk_mode;

/* Name as in configuration files, "ideal", "flat", "memory"; NULL for a value that is none. */
const char *tla_walk_mode_name(tla_walk_mode mode);

typedef struct tla_mmu_config {
    tla_walk_mode walk;
    tla_page_table_config table; /* without its memory: what a change does to it is told */
    tla_tlb_config tlb;          /* without its page sizes: they are the table's. Not used by TLA_WALK_IDEAL */
    tla_walkers_config walkers;  /* not used by TLA_WALK_IDEAL */
    bool pa_fallback;            /* an unmapped virtual address is taken for physical (KernBench's PageFault path) */
} tla_mmu_config;

typedef struct tla_mmu tla_mmu;

/* What an access wants: [va, va + nbytes), nbytes > 0, for TLA_READ, TLA_WRITE or 0 (no check), in an address space. */
typedef struct tla_mmu_access {
    uint32_t asid;
    tla_vaddr va;
    uint64_t nbytes;
    uint32_t access;
} tla_mmu_access;

/* Where its front goes. */
typedef struct tla_mmu_piece {
    tla_paddr pa;
    uint64_t nbytes; /* contiguous from there, at most what was asked for */
    bool fallback;   /* the virtual address itself, taken for physical */
    bool stale;      /* through a mapping that a change, decided and not visible yet, has replaced or removed */
    bool walked;     /* a TLB miss: a walk of its own, or another's that it joined */
    uint64_t walk_start_ps, walk_end_ps; /* of a walk of its own; else both 0 */
} tla_mmu_piece;

/* Whether a piece goes on where the one before it ends, in physical memory: then `last` is both. False, and nothing
 * changed, where they part, or where one is a fallback. */
bool tla_mmu_piece_join(tla_mmu_piece *last, const tla_mmu_piece *next);

typedef struct tla_mmu_stats {
    uint64_t hits, misses; /* of the TLB, all levels together */
    uint64_t walk_errors;  /* walks that read what the table does not say, or could not read */
    uint64_t repeated;     /* lookups made again because a change came during their walk */
    tla_walkers_stats walkers;
    tla_tlb_stats tlb[TLA_TLB_LEVELS_MAX];
    tla_page_table_stats table;
} tla_mmu_stats;

/* Errors of tla_page_table_create, tla_tlb_create and tla_walkers_create; *mmu is NULL then, and the error says which
 * part it was. */
tla_status tla_mmu_create(const tla_mmu_config *config, tla_mmu **mmu, tla_error *error);

/* Tables that are still in the memory stay there. */
void tla_mmu_destroy(tla_mmu *mmu);

/* Where the front of an access goes at at_ps, for a debug access: in no time, without TLB and walks, uncounted. One
 * page or region, joined with what follows while it is physically adjacent. TLA_UNMAPPED, TLA_PERMISSION,
 * TLA_INVALID_ARGUMENT (no such address space), TLA_OUT_OF_RANGE (past 2^64). An access before a change is visible goes
 * where it went before. */
tla_status tla_mmu_probe(const tla_mmu *mmu, const tla_mmu_access *access, uint64_t at_ps, tla_mmu_piece *piece);

/* The page or region around va, for a direct pointer: as tla_page_table_walk, but TLA_BUSY while a change of any of it
 * is not visible at at_ps; *until_ps (NULL: not wanted) = until when, UINT64_MAX when that has not been said. */
tla_status tla_mmu_find_page(const tla_mmu *mmu, uint32_t asid, tla_vaddr va, uint64_t at_ps, tla_walk *page,
                             uint64_t *until_ps);

/* The stretch of an extent (its access is not looked at) around va, one of its bytes, that leads to one stretch of
 * physical addresses at at_ps: [*first, *first + *nbytes); va itself and one byte where nothing is mapped there. In no
 * time, uncounted. */
void tla_mmu_find_run(const tla_mmu *mmu, const tla_mmu_access *extent, tla_vaddr va, uint64_t at_ps, tla_vaddr *first,
                      uint64_t *nbytes);

/* Says whose command follows and under which tag, so that it can be taken back: until the sender's next command the MMU
 * keeps what it replaces (map_undo.h). A change that nobody announced is one of sender 0
 * with tag 0. TLA_NO_HOST_MEMORY. */
tla_status tla_mmu_command(tla_mmu *mmu, uint32_t sender, uint32_t tag);

/* Drops TLB entries and what walkers remember of the ranges at once; nbytes 0 = of the range's whole address space.
 * Mappings stay, and nothing joins a walk under way. TLA_INVALID_ARGUMENT, nothing dropped, for an asid that is none.
 * work: invalidates (one). */
tla_status tla_mmu_invalidate(tla_mmu *mmu, const tla_map_entry *ranges, size_t count, tla_work *work,
                              tla_error *error);

/* What changed since the last call can be seen from visible_ps on: only after a change that was made. */
void tla_mmu_make_visible(tla_mmu *mmu, uint64_t visible_ps);

/* When every change of [va, va + nbytes), nbytes > 0, that is decided so far can be seen: at_ps or later. */
uint64_t tla_mmu_settled_ps(const tla_mmu *mmu, uint32_t asid, tla_vaddr va, uint64_t nbytes, uint64_t at_ps);

/* No access comes before now_ps any more. */
void tla_mmu_advance(tla_mmu *mmu, uint64_t now_ps);

tla_mmu_stats tla_mmu_get_stats(const tla_mmu *mmu);

/* --- Steps ---
 *
 * What an MMU does in steps: translations and changes of mappings.
 *
 * A walk shares the memory with others, so that nobody knows at its start how long it takes. A request is begun, the
 * caller makes its reads one after the other when their time has come, and any number of requests may be under way. The
 * same holds for changes: what they do to the memory comes out as a list. All calls come in the order of time.
 *
 * When a walk ends and its page leads elsewhere than when the walk began, its requests are neither told old knowledge
 * nor refused: they are looked up again at that time, which costs that lookup, and another walk when it misses. */

/* What a request needs next. */
typedef enum tla_mmu_phase {
    TLA_MMU_DONE,  /* nothing: status and piece, known at at_ps, are there */
    TLA_MMU_LATER, /* tla_mmu_step at at_ps */
    TLA_MMU_READ,  /* the read_nbytes at read_pa, asked for at at_ps; tla_mmu_step when they are there */
    TLA_MMU_WAIT   /* something else has to happen first: tla_mmu_next returns the request when it continues */
} tla_mmu_phase;

/* The translation of the front of what is left of an access: the caller's memory until it is TLA_MMU_DONE. A lookup
 * shortens access.nbytes to what the piece will cover, one page or region at most unless the walk mode is
 * TLA_WALK_IDEAL, and a change may shorten it again. A lookup that is going to fail keeps the length: the rest is not
 * looked up. The caller begins the rest as soon as it sees a shorter length: after tla_mmu_begin, tla_mmu_step, and for
 * each request of tla_mmu_next. */
typedef struct tla_mmu_request {
    tla_mmu_access access; /* set by the caller */
    void *owner;           /* the caller's */
    tla_mmu_phase phase;
    uint64_t at_ps; /* may lie ahead of the call that set it, never before it */
    tla_paddr read_pa;
    uint32_t read_nbytes;
    tla_status status;   /* as of tla_mmu_probe, or TLA_BUS_ERROR: the walk could not read, or read something wrong */
    tla_mmu_piece piece; /* when a change came meanwhile, it may cover less than access.nbytes: begin the rest */
    /* The MMU's own. */
    struct tla_mmu_request *next;
    tla_walk_request walk;
    tla_walk found;
    tla_status expected;
    uint64_t limit, arrival, arrived_ps, epoch, visible_ps;
    uint32_t level;
    bool asking, holds, governed, disturbed, told;
} tla_mmu_request;

/* An access arrives. A hit needs no more than this call. A request that finds no walker holds up those after it. */
tla_mmu_phase tla_mmu_begin(tla_mmu *mmu, tla_mmu_request *request, uint64_t at_ps);

/* Goes on with a request that is TLA_MMU_LATER, or with what it has read (NULL: the memory answered with an error). */
tla_mmu_phase tla_mmu_step(tla_mmu *mmu, tla_mmu_request *request, uint64_t at_ps, const void *bytes);

/* The rest of an access after the request `before`, which has been looked up: it takes the place of its access in the
 * order of arrival. A request that holds up others holds up the rest of its own access first, then later accesses. */
tla_mmu_phase tla_mmu_begin_rest(tla_mmu *mmu, tla_mmu_request *request, const tla_mmu_request *before, uint64_t at_ps);

/* The next request whose phase or length has changed because of another request; its phase may still be TLA_MMU_WAIT.
 * Call it until it returns NULL after each tla_mmu_begin, tla_mmu_begin_rest and tla_mmu_step, at the same time, and
 * handle each request before the next call. */
tla_mmu_request *tla_mmu_next(tla_mmu *mmu, uint64_t at_ps);

/* Walks under way. */
uint32_t tla_mmu_walks_in_flight(const tla_mmu *mmu);

/* What a change does to the table memory. */
typedef enum tla_mmu_duty {
    TLA_MMU_ALLOC, /* take nbytes for a table: answered by tla_mmu_change_allocated */
    TLA_MMU_WRITE, /* write nbytes at pa. If that fails, the next walk finds the entry to be wrong */
    TLA_MMU_FREE,  /* give back the table of nbytes at pa */
    TLA_MMU_DRAIN  /* nothing: walks may still read what is freed next; ask again when one has ended */
} tla_mmu_duty;

typedef struct tla_mmu_bus_work {
    tla_mmu_duty kind;
    tla_paddr pa;
    uint64_t nbytes;
    const uint8_t *bytes; /* until the next call */
} tla_mmu_bus_work;

/* Begins a change of mappings, of all entries or none: errors and receipts as tla_page_table_change; TLA_BUSY while
 * another change is under way. The pointers must stay valid until the end. What it does to the memory comes from
 * tla_mmu_change_next, one after the other, false when that was all: first what tables it takes, then, when the change
 * has been made in one step, entries to write and tables that are gone. When that is done, tla_mmu_change_end says
 * whether the change was made (else what the table memory answered when it refused a table), and the caller says
 * with tla_mmu_make_visible when it can be seen; until then accesses go where they went, also by TLB entries. */
tla_status tla_mmu_change_begin(tla_mmu *mmu, tla_table_change change, const tla_map_entry *entries, size_t count,
                                tla_work *work, tla_error *error);

/* Begins to take back a sender's last change, as a change of its own that goes on like any other: every byte of it is
 * what it was before. Once more it does nothing. TLA_NOT_ALLOCATED when the sender's last change has another tag or was
 * refused, TLA_OVERLAP when another sender has changed any of it since, or at the end what the table memory says when
 * it has no room for a table any more: nothing changes then, and it may be tried again. TLA_BUSY as above. */
tla_status tla_mmu_take_back_begin(tla_mmu *mmu, uint32_t sender, uint32_t tag, tla_work *work, tla_error *error);

bool tla_mmu_change_next(tla_mmu *mmu, tla_mmu_bus_work *todo);
void tla_mmu_change_allocated(tla_mmu *mmu, tla_status status, tla_paddr pa);
tla_status tla_mmu_change_end(tla_mmu *mmu);

#ifdef __cplusplus
}
#endif
#endif
