/* Translation lookaside buffers: a hierarchy of levels, each with entries, ways, a latency and a replacement policy.
 *
 * An entry holds what a walk found, a page of any of the page sizes or a region inside a page, and the ASID it was
 * found for. It keeps serving that until it is replaced or invalidated, whatever the table says meanwhile: that is what
 * makes stale translations visible. Host cost of a lookup does not depend on the number of entries or ways. The core
 * knows no clock: the caller says when a lookup happens, and fills an entry when its walk has ended. Not thread safe.
 */
#ifndef TLMALLOC_VM_TLB_H
#define TLMALLOC_VM_TLB_H

#include "tlmalloc/vm/page_table.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
