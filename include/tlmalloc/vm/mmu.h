/* The front end of an MMU: its components, its present state, and the visibility of changes.
 *
 * It combines the page table, the TLB, the walkers and the window of changes that are not visible yet. It translates
 * accesses and changes mappings in steps. Three modes translate: `ideal` reads the table in no time (KernBench
 * ADR-0039). `flat` uses the TLB, and a miss walks with a latency for each level. `memory` does the same, and every
 * level is a read of the modelled memory. The table lives in that memory: its tables are allocated, written and freed
 * there. The MMU decodes the data of a walk and compares it with the table, so that it detects an overwritten table.
 *
 * The core has no clock: every call passes its time, in picoseconds. Calls are in the order of time, except those that
 * only inspect (probe, find). Not thread safe. */
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
 * An entry holds the result of a walk: a page of any of the page sizes or a region inside a page, and its ASID. The
 * entry serves this result until it is replaced or invalidated, even if the table changes: stale translations are
 * therefore visible. The host cost of a lookup does not depend on the number of entries or ways. The core has no clock:
 * the caller passes the time of a lookup, and fills an entry when its walk has ended. Not thread safe. */

/* The entry of a full set that is replaced. */
typedef enum tla_replacement {
    TLA_REPLACE_LRU,    /* the least recently used */
    TLA_REPLACE_FIFO,   /* the least recently filled */
    TLA_REPLACE_RANDOM, /* any, from the seed */
    TLA_REPLACE_PLRU,   /* tree pseudo-LRU: one bit per fork, pointing away from the last use */
    TLA_REPLACEMENT_COUNT
} tla_replacement;

/* Name as in configuration files, "lru", "fifo", "random", "plru"; NULL for an unknown value. */
const char *tla_replacement_name(tla_replacement replacement);

enum { TLA_TLB_LEVELS_MAX = 3, TLA_TLB_ENTRIES_MAX = 65536 };

typedef struct tla_tlb_level_config {
    uint32_t entries;            /* 1 .. 65536 */
    uint32_t ways;               /* divides entries into a power of two of sets; 0 = fully associative */
    uint64_t latency_ps;         /* latency of a lookup in this level, hit or miss */
    tla_replacement replacement; /* TLA_REPLACE_PLRU: ways must be a power of two */
} tla_tlb_level_config;

typedef struct tla_tlb_config {
    uint32_t levels;                                /* 0 = no TLB: every lookup misses, at no cost */
    tla_tlb_level_config level[TLA_TLB_LEVELS_MAX]; /* nearest first */
    uint64_t page_sizes[TLA_PAGE_SIZES_MAX];        /* those of the page table, ascending; 0 = no more */
    uint64_t seed;                                  /* seed of TLA_REPLACE_RANDOM */
} tla_tlb_config;

typedef struct tla_tlb tla_tlb;

/* The result of a lookup. */
typedef struct tla_tlb_hit {
    tla_vaddr va; /* the page or region with the address: its first byte, its length, its physical address */
    uint64_t nbytes;
    tla_paddr pa;
    uint32_t flags;      /* its permissions, which the caller checks */
    uint32_t level;      /* the level that hit; the number of levels on a miss */
    uint64_t latency_ps; /* latency of all levels that were looked up */
} tla_tlb_hit;

typedef struct tla_tlb_stats {
    uint64_t lookups, hits;
    uint64_t fills;
    uint64_t evictions;   /* valid entries that were replaced */
    uint64_t invalidated; /* entries removed by invalidations */
    uint32_t valid;       /* entries that are now valid */
} tla_tlb_stats;

/* TLA_INVALID_ARGUMENT when a member breaks its rule; *tlb is NULL then. */
tla_status tla_tlb_create(const tla_tlb_config *config, tla_tlb **tlb);
void tla_tlb_destroy(tla_tlb *tlb);

/* Looks va up level by level at the time at_ps; a hit beyond the first level refills the nearer levels. False on a
 * miss: only level and latency_ps of *hit are then valid. */
bool tla_tlb_lookup(tla_tlb *tlb, uint32_t asid, tla_vaddr va, uint64_t at_ps, tla_tlb_hit *hit);

/* Enters the result of a walk into every level. It replaces an overlapping entry of the same page size and ASID; an
 * identical entry stays. TLA_INVALID_ARGUMENT when walk->page_size is not a configured size, or the walk found no
 * mapping. */
tla_status tla_tlb_fill(tla_tlb *tlb, const tla_walk *walk);

/* As tla_tlb_fill, for a mapping that a decided change ends: the entry can be hit only before until_ps. */
tla_status tla_tlb_fill_until(tla_tlb *tlb, const tla_walk *walk, uint64_t until_ps);

/* As tla_tlb_fill, in all levels except the last: for a translation that was found beside the last. */
tla_status tla_tlb_fill_nearer(tla_tlb *tlb, const tla_walk *walk);

/* Marks every entry of an ASID that overlaps [va, va + nbytes), or every entry of an ASID. Marked entries serve until
 * the time that tla_tlb_end sets. An entry that ends sooner is unchanged. Counted as invalidated. */
void tla_tlb_end_range(tla_tlb *tlb, uint32_t asid, tla_vaddr va, uint64_t nbytes);
void tla_tlb_end_asid(tla_tlb *tlb, uint32_t asid);
void tla_tlb_end(tla_tlb *tlb, uint64_t until_ps);

/* Drops entries that no lookup at now_ps or later can hit. */
void tla_tlb_advance(tla_tlb *tlb, uint64_t now_ps);

/* Drops every entry of an ASID that overlaps [va, va + nbytes), every entry of an ASID, or all entries; returns their
 * number. A range that wraps 2^64 ends there. */
uint64_t tla_tlb_invalidate_range(tla_tlb *tlb, uint32_t asid, tla_vaddr va, uint64_t nbytes);
uint64_t tla_tlb_invalidate_asid(tla_tlb *tlb, uint32_t asid);
uint64_t tla_tlb_invalidate_all(tla_tlb *tlb);

/* Statistics of one level; all zero for an unknown level. */
tla_tlb_stats tla_tlb_get_stats(const tla_tlb *tlb, uint32_t level);

/* --- Ranges ---
 *
 * A lookaside buffer of ranges beside the last TLB level: each leads any number of pages, contiguous on both sides and
 * with the same permissions, to their place. Walks fill it. A change of any part of a range drops it when the change is
 * decided, so that no range ever leads to an old place. */

enum { TLA_RANGES_MAX = 1024 };

typedef struct tla_ranges_stats {
    uint64_t lookups, hits; /* lookups that no TLB level served, and those of them that a range served */
    uint64_t fills;         /* walks that entered a range or extended one */
    uint64_t evictions;     /* ranges that were replaced */
    uint64_t dropped;       /* ranges removed by changes and invalidations */
    uint32_t valid;         /* ranges that are now valid */
} tla_ranges_stats;

/* --- Walkers ---
 *
 * Page-table walkers: a finite pool, in which misses to one page may share a walk.
 *
 * The model follows NeuMMU (Hyun et al., ASPLOS 2020). Each walker has a merge table (pending request merging buffer),
 * for requests to a page that it already walks. It also has a register of the path of its last walk (translation path
 * register), from which a walk that shares the upper levels starts. A walk cache keeps upper-level entries for all
 * walkers.
 *
 * A request without a free walker stalls all later requests. A request to a page that is already walked, but without a
 * free merge slot, stalls only the requests for that page. These wait outside the walkers for the end of that walk, and
 * requests for other pages pass. If at least one slot exists, the number of slots decides only whether requests wait
 * inside or outside. Statistics report that; no request completes later because of more slots.
 *
 * The caller begins a walk, makes its reads one after the other at their times, and finishes it. The end is unknown at
 * the start. The core has no clock: times are the caller's picoseconds, and all calls are in the order of time. Not
 * thread safe. */

enum { TLA_WALKERS_MAX = 4096, TLA_WALK_CACHE_MAX = 4096 };

typedef struct tla_walkers_config {
    uint32_t walkers;            /* 1 .. 4096 */
    uint32_t merge_slots;        /* requests that may join one walk; 0 = no merging, every miss walks */
    uint32_t walk_cache_entries; /* upper-level entries for all walkers, LRU, at most 4096; 0 = none */
    bool path_registers;         /* one per walker */
    bool hit_under_miss;         /* false: no lookups while a request waits for its walk */
    uint64_t level_ps;           /* time of one table read, where tables are not in the modelled memory */
} tla_walkers_config;

typedef struct tla_walkers tla_walkers;

typedef enum tla_walk_outcome {
    TLA_WALK_STARTED, /* a walker of its own */
    TLA_WALK_MERGED,  /* joined an outstanding walk */
    TLA_WALK_WAITED,  /* the page is already walked, and the merge table is full: waits outside for the end of the walk
                       */
    TLA_WALK_QUEUED   /* waits for a walker */
} tla_walk_outcome;

typedef struct tla_walkers_stats {
    uint64_t requests, walks, merged;
    uint64_t stalls;   /* requests that found no free walker or merge slot */
    uint64_t stall_ps; /* total wait for a walker or a merge slot */
    uint64_t reads, reads_skipped;
    uint64_t busy_ps; /* sum over all walkers */
} tla_walkers_stats;

/* TLA_INVALID_ARGUMENT when a member breaks its rule; *walkers is NULL then. */
tla_status tla_walkers_create(const tla_walkers_config *config, tla_walkers **walkers);
void tla_walkers_destroy(tla_walkers *walkers);

/* A miss, with the result of tla_page_table_walk. An unmapped address also needs a walk to find that out. The request
 * is the caller's memory, until the walkers have reported the walk's end to the caller. Any number may be
 * outstanding. */
typedef struct tla_walk_request {
    tla_walk walk; /* set by the caller, like the next two */
    void *owner;
    uint64_t closed_ps; /* after the start, no request at that time or later joins it, since a decided change is then
                           visible; 0: no pending change */
    tla_walk_outcome outcome;
    uint32_t walker;                        /* its walker, and the first read that it has to make (STARTED) */
    uint32_t first;                         /* a path register or the walk cache saved the reads before it */
    uint64_t asked_ps, start_ps;            /* its arrival, and the start of its own walk */
    struct tla_walk_request *next, *joined; /* the requests that also wait for its walk, linked by `next` */
    /* Private to the walkers. */
    struct tla_walk_request *chain, *last_joined;
    uint64_t page;
    uint32_t merged;
    bool joinable;
} tla_walk_request;

/* Begins a miss at at_ps, in the order of time. TLA_WALK_STARTED: the caller makes the reads walk.read[first ..], one
 * after the other, and calls tla_walkers_finish after the last one; it makes none if first == reads. TLA_WALK_MERGED
 * and TLA_WALK_WAITED: tla_walkers_finish of the joined walk returns the request. TLA_WALK_QUEUED: all walkers are
 * busy, and it waits after the earlier requests. */
tla_walk_outcome tla_walkers_begin(tla_walkers *walkers, tla_walk_request *request, uint64_t at_ps);

/* Ends the walk of this request. good: it has read the data of its `walk`, and the walkers remember it. Returns the
 * other requests that it served, in the order of their arrival, linked by `next`. */
tla_walk_request *tla_walkers_finish(tla_walkers *walkers, tla_walk_request *request, uint64_t at_ps, bool good);

/* Returns the next queued request while a walker is free, and removes it from the queue; NULL if none is queued. The
 * caller starts it, and may first look its `walk` up in the table again. Its outcome is then as from
 * tla_walkers_begin. */
tla_walk_request *tla_walkers_next(tla_walkers *walkers);
void tla_walkers_start(tla_walkers *walkers, tla_walk_request *request, uint64_t at_ps);

/* Call it after a change of a mapping of an address space. The walkers drop its walk-cache entries and path registers,
 * and no request joins an outstanding walk of it. */
void tla_walkers_invalidate(tla_walkers *walkers, uint32_t asid);

/* Sets the time from which a change is visible: no request at that time or later joins a walk that is outstanding now.
 * For walks that begin before that time, the caller sets closed_ps. */
void tla_walkers_make_visible(tla_walkers *walkers, uint64_t visible_ps);

/* Returns the outstanding walk of the next walker after *number that has a walk, and sets *number to that walker; NULL
 * after the last. Starting with *number = UINT32_MAX this visits all. */
const tla_walk_request *tla_walkers_under_way(const tla_walkers *walkers, uint32_t *number);

/* Returns the number of outstanding walks: begun, and not finished. */
uint32_t tla_walkers_begun(const tla_walkers *walkers);

tla_walkers_stats tla_walkers_get_stats(const tla_walkers *walkers);

/* --- The MMU --- */

typedef enum tla_walk_mode { TLA_WALK_IDEAL, TLA_WALK_FLAT, TLA_WALK_MEMORY, TLA_WALK_MODE_COUNT } tla_walk_mode;

/* Name as in configuration files, "ideal", "flat", "memory"; NULL for an unknown value. */
const char *tla_walk_mode_name(tla_walk_mode mode);

typedef struct tla_mmu_config {
    tla_walk_mode walk;
    tla_page_table_config table; /* without its memory: the effects of a change on it are returned */
    tla_tlb_config tlb;          /* without its page sizes, which are the table's. Not used by TLA_WALK_IDEAL */
    tla_walkers_config walkers;  /* not used by TLA_WALK_IDEAL */
    bool pa_fallback; /* an unmapped virtual address is used as a physical address (KernBench's PageFault path) */
    /* Ranges beside the TLB, at most TLA_RANGES_MAX; 0: none. With them a walk in memory reads lines of eight entries.
     * Not used by TLA_WALK_IDEAL. */
    uint32_t ranges;
} tla_mmu_config;

typedef struct tla_mmu tla_mmu;

/* An access: [va, va + nbytes), nbytes > 0, for TLA_READ, TLA_WRITE or 0 (no check), in an address space. */
typedef struct tla_mmu_access {
    uint32_t asid;
    tla_vaddr va;
    uint64_t nbytes;
    uint32_t access;
} tla_mmu_access;

/* The translation of its front. */
typedef struct tla_mmu_piece {
    tla_paddr pa;
    uint64_t nbytes; /* contiguous from there, at most the requested bytes */
    bool fallback;   /* the virtual address itself, used as a physical address */
    bool stale;      /* uses a mapping that a decided change, not yet visible, has replaced or removed */
    bool walked;     /* a miss: a walk of its own, or a joined walk */
    bool ranged;     /* a TLB miss that a range served */
    uint64_t walk_start_ps, walk_end_ps; /* start and end of its own walk; else both 0 */
} tla_mmu_piece;

/* Returns whether a piece continues the previous piece in physical memory; `last` then covers both. Returns false, and
 * changes nothing, if they are separate, or if either is a fallback. */
bool tla_mmu_piece_join(tla_mmu_piece *last, const tla_mmu_piece *next);

/* Ends a piece where the HBM slice of its first byte ends, because each slice is a memory of its own; *rest is what
 * follows. slice_bytes: of every slice; 0: unknown. Returns false, and changes nothing, for a piece that does not go on
 * behind its slice. */
bool tla_mmu_piece_cut(tla_mmu_piece *piece, uint64_t slice_bytes, tla_mmu_piece *rest);

typedef struct tla_mmu_stats {
    uint64_t hits, misses; /* lookups that the TLB served, all levels together; that neither TLB nor ranges served */
    uint64_t walk_errors;  /* walks whose data differed from the table, or could not be read */
    uint64_t repeated;     /* lookups repeated because of a change during their walk */
    tla_walkers_stats walkers;
    tla_tlb_stats tlb[TLA_TLB_LEVELS_MAX];
    tla_ranges_stats ranges;
    tla_page_table_stats table;
} tla_mmu_stats;

/* Errors of tla_page_table_create, tla_tlb_create and tla_walkers_create; *mmu is NULL then, and the error names the
 * component. */
tla_status tla_mmu_create(const tla_mmu_config *config, tla_mmu **mmu, tla_error *error);

/* Tables that are still in the memory stay there. */
void tla_mmu_destroy(tla_mmu *mmu);

/* Translates the front of an access at at_ps, for a debug access: in no time, without TLB and walks, uncounted. The
 * result is one page or region, joined with its successors while they are physically adjacent. TLA_UNMAPPED,
 * TLA_PERMISSION, TLA_INVALID_ARGUMENT (unknown address space), TLA_OUT_OF_RANGE (past 2^64). An access before a change
 * is visible uses the old mapping. */
tla_status tla_mmu_probe(const tla_mmu *mmu, const tla_mmu_access *access, uint64_t at_ps, tla_mmu_piece *piece);

/* Finds the page or region around va, for a direct pointer: as tla_page_table_walk, but TLA_BUSY while a change of any
 * part of it is not visible at at_ps. The end of that time is written to *until_ps (NULL: not wanted), UINT64_MAX when
 * it is not yet set. */
tla_status tla_mmu_find_page(const tla_mmu *mmu, uint32_t asid, tla_vaddr va, uint64_t at_ps, tla_walk *page,
                             uint64_t *until_ps);

/* Finds the part of an extent around va, one of its bytes, that maps to contiguous physical addresses at at_ps:
 * [*first, *first + *nbytes). The extent's access is ignored. If va is unmapped: va itself and one byte. In no time,
 * uncounted. */
void tla_mmu_find_run(const tla_mmu *mmu, const tla_mmu_access *extent, tla_vaddr va, uint64_t at_ps, tla_vaddr *first,
                      uint64_t *nbytes);

/* Announces the sender and the tag of the following command, so that it can be undone. Until the sender's next command
 * the MMU keeps the replaced mappings (map_undo.h). A change without an announcement belongs to sender 0 with tag 0.
 * TLA_NO_HOST_MEMORY. */
tla_status tla_mmu_command(tla_mmu *mmu, uint32_t sender, uint32_t tag);

/* Drops TLB entries and the walkers' state of the ranges at once; nbytes 0 = of the range's whole address space.
 * Mappings stay, and no request joins an outstanding walk. TLA_INVALID_ARGUMENT, with nothing dropped, for an unknown
 * asid. work: invalidates (one). */
tla_status tla_mmu_invalidate(tla_mmu *mmu, const tla_map_entry *ranges, size_t count, tla_work *work,
                              tla_error *error);

/* Makes the changes since the last call visible from visible_ps on. Call it only after a successful change. */
void tla_mmu_make_visible(tla_mmu *mmu, uint64_t visible_ps);

/* Returns the time from which every decided change of [va, va + nbytes), nbytes > 0, is visible: at_ps or later. */
uint64_t tla_mmu_settled_ps(const tla_mmu *mmu, uint32_t asid, tla_vaddr va, uint64_t nbytes, uint64_t at_ps);

/* States that no access before now_ps follows. */
void tla_mmu_advance(tla_mmu *mmu, uint64_t now_ps);

tla_mmu_stats tla_mmu_get_stats(const tla_mmu *mmu);

/* --- Steps ---
 *
 * Translations and changes of mappings in steps.
 *
 * A walk shares the memory with other traffic, so its duration is unknown at its start. A request is begun, and the
 * caller makes its reads one after the other at their times; any number of requests may be outstanding. Changes work in
 * the same way: their effects on the memory are returned as a list. All calls are in the order of time.
 *
 * If a page's mapping changes during its walk, the waiting requests receive neither the old mapping nor an error. The
 * MMU repeats their lookup at the end of the walk, which costs that lookup, and another walk when it misses. */

/* The next step of a request. */
typedef enum tla_mmu_phase {
    TLA_MMU_DONE,  /* no step: status and piece, known at at_ps, are valid */
    TLA_MMU_LATER, /* call tla_mmu_step at at_ps */
    TLA_MMU_READ,  /* read the read_nbytes at read_pa, at at_ps; call tla_mmu_step when the data have arrived */
    TLA_MMU_WAIT   /* no step: tla_mmu_next returns the request when another has changed its phase or length */
} tla_mmu_phase;

/* The translation of the front of the rest of an access: the caller's memory until it is TLA_MMU_DONE. A lookup
 * shortens access.nbytes to the bytes that the piece will cover. That is at most one page or region, unless the walk
 * mode is TLA_WALK_IDEAL; a change may shorten it again. A lookup that will fail keeps the length: the rest is not
 * looked up. The caller begins the rest as soon as it sees a shorter length: after tla_mmu_begin, tla_mmu_step, and for
 * each request of tla_mmu_next. */
typedef struct tla_mmu_request {
    tla_mmu_access access; /* set by the caller */
    void *owner;           /* the caller's */
    tla_mmu_phase phase;
    uint64_t at_ps; /* may be later than the call that set it, never earlier */
    tla_paddr read_pa;
    uint32_t read_nbytes;
    tla_status status;   /* as from tla_mmu_probe, or TLA_BUS_ERROR: the walk could not read, or read wrong data */
    tla_mmu_piece piece; /* after a change it may cover less than access.nbytes: begin the rest */
    /* Private to the MMU. */
    struct tla_mmu_request *next;
    tla_walk_request walk;
    tla_walk found;
    tla_status expected;
    uint64_t limit, arrival, arrived_ps, epoch, visible_ps;
    uint32_t level;
    bool asking, holds, governed, disturbed, told;
} tla_mmu_request;

/* Begins an access at its arrival. A hit needs only this call. A request without a free walker stalls later
 * requests. */
tla_mmu_phase tla_mmu_begin(tla_mmu *mmu, tla_mmu_request *request, uint64_t at_ps);

/* Continues a request that is TLA_MMU_LATER, or passes the data that it has read (NULL: the memory returned an
 * error). */
tla_mmu_phase tla_mmu_step(tla_mmu *mmu, tla_mmu_request *request, uint64_t at_ps, const void *bytes);

/* Begins the rest of an access after the request `before`, which has been looked up. The rest has the place of its
 * access in the order of arrival. A request that stalls others stalls the rest of its own access first, then later
 * accesses. */
tla_mmu_phase tla_mmu_begin_rest(tla_mmu *mmu, tla_mmu_request *request, const tla_mmu_request *before, uint64_t at_ps);

/* Returns the next request whose phase or length has changed because of another request; its phase may still be
 * TLA_MMU_WAIT. Call it until it returns NULL after each tla_mmu_begin, tla_mmu_begin_rest and tla_mmu_step, at the
 * same time. Handle each request before the next call. */
tla_mmu_request *tla_mmu_next(tla_mmu *mmu, uint64_t at_ps);

/* Returns the number of outstanding walks. */
uint32_t tla_mmu_walks_in_flight(const tla_mmu *mmu);

/* The effect of a change on the table memory. */
typedef enum tla_mmu_duty {
    TLA_MMU_ALLOC, /* allocate nbytes for a table: complete it with tla_mmu_change_allocated */
    TLA_MMU_WRITE, /* write nbytes at pa. If that fails, the next walk detects the wrong entry */
    TLA_MMU_FREE,  /* release the table of nbytes at pa */
    TLA_MMU_DRAIN  /* no effect: walks may still read the memory that is freed next; call again when a walk has ended */
} tla_mmu_duty;

typedef struct tla_mmu_bus_work {
    tla_mmu_duty kind;
    tla_paddr pa;
    uint64_t nbytes;
    const uint8_t *bytes; /* valid until the next call */
} tla_mmu_bus_work;

/* Begins a change of mappings, of all entries or none. Errors and receipts as tla_page_table_change; TLA_BUSY while
 * another change is outstanding. The pointers must stay valid until the end. Its effects on the memory are returned by
 * tla_mmu_change_next, one after the other, and false after the last. First it allocates tables. Then, after the change
 * was made in one step, it writes entries and frees tables. Finally tla_mmu_change_end returns whether the change was
 * made; otherwise it returns the error of the table memory that failed an allocation. The caller sets the time of
 * visibility with tla_mmu_make_visible. Until then accesses use the old mappings, also from TLB entries. */
tla_status tla_mmu_change_begin(tla_mmu *mmu, tla_table_change change, const tla_map_entry *entries, size_t count,
                                tla_work *work, tla_error *error);

/* Begins to undo a sender's last change, as a change of its own with the same steps. Every byte of it then has its
 * earlier mapping again. A repeated call has no effect. TLA_NOT_ALLOCATED when the sender's last change has another tag
 * or was rejected. TLA_OVERLAP when another sender has since changed any part of it. At the end, the error of a table
 * memory without space for a table: nothing has changed then, and the caller may retry. A REMAP never needs a table to
 * be undone. TLA_BUSY as above. */
tla_status tla_mmu_take_back_begin(tla_mmu *mmu, uint32_t sender, uint32_t tag, tla_work *work, tla_error *error);

bool tla_mmu_change_next(tla_mmu *mmu, tla_mmu_bus_work *todo);
void tla_mmu_change_allocated(tla_mmu *mmu, tla_status status, tla_paddr pa);
tla_status tla_mmu_change_end(tla_mmu *mmu);

#ifdef __cplusplus
}
#endif
#endif
