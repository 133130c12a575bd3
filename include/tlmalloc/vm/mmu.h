/* The front end of an MMU: what it is made of, what it knows at a time, and which changes can be seen.
 *
 * Puts the page table, the TLB, the walkers and the window of changes that are not visible yet together. Accesses are
 * translated and mappings changed in steps (mmu_steps.h). Three ways to
 * translate: `ideal` asks the table, in no time (KernBench ADR-0039); `flat` asks the TLB, and a miss walks with a
 * latency for each level; `memory` does the same with every level a read of the modelled memory, where the table then
 * lives: its tables are allocated, written and freed there. What a walk reads is decoded and compared with the table,
 * so that a table that somebody overwrote is noticed.
 *
 * The core knows no clock: every call says when it happens, in picoseconds, and calls come in the order of time, but
 * for those that only look (probe, find). Not thread safe. */
#ifndef TLMALLOC_VM_MMU_H
#define TLMALLOC_VM_MMU_H

#include "tlmalloc/vm/tlb.h"
#include "tlmalloc/vm/walker.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_walk_mode { TLA_WALK_IDEAL, TLA_WALK_FLAT, TLA_WALK_MEMORY, TLA_WALK_MODE_COUNT } tla_walk_mode;

/* Name as in configuration files, "ideal", "flat", "memory"; NULL for a value that is none. */
const char *tla_walk_mode_name(tla_walk_mode mode);

typedef struct tla_mmu_config {
    tla_walk_mode walk;
    tla_page_table_config table; /* without its memory: what a change does to it is told (mmu_steps.h) */
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
    uint64_t repeated;     /* lookups made again because a change came during their walk (mmu_steps.h) */
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

#ifdef __cplusplus
}
#endif
#endif
