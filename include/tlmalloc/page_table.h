/* Virtual to physical: pages, and the sub-page regions of KernBench's ADR-0039 D3.
 *
 * An entry maps [va, va + nbytes) to [pa, pa + nbytes): any alignment, any size. Whole pages whose va is page-aligned
 * become pages; what is left becomes regions inside a page. HBM addresses are byte granular, so a translation is
 * base + offset, an addition, never a concatenation of bits. Not thread safe. */
#ifndef TLMALLOC_PAGE_TABLE_H
#define TLMALLOC_PAGE_TABLE_H

#include "tlmalloc/phys_addr.h"
#include "tlmalloc/work.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a mapping permits, and what an access needs. */
enum { TLA_READ = 1u, TLA_WRITE = 2u };

typedef struct tla_map_entry {
    tla_vaddr va;
    tla_paddr pa;    /* ignored by unmap */
    uint64_t nbytes; /* > 0 */
    uint32_t flags;  /* TLA_READ | TLA_WRITE; ignored by unmap */
    uint32_t asid;   /* address space (context) that the entry belongs to; 0 where there is one only */
} tla_map_entry;

typedef struct tla_page_table_config {
    uint64_t page_size; /* power of two, 4 KiB .. 1 GiB */
    bool allow_remap;   /* false: a map that overlaps is TLA_OVERLAP; true: the last one wins */
} tla_page_table_config;

typedef struct tla_page_table tla_page_table;

/* Where an access goes: nbytes from pa are physically contiguous (at most what was asked for). */
typedef struct tla_translation {
    tla_paddr pa;
    uint64_t nbytes;
    uint32_t flags;
} tla_translation;

typedef struct tla_page_table_stats {
    uint64_t mapped_bytes;
    uint64_t pages;      /* whole-page entries */
    uint64_t regions;    /* sub-page regions */
    uint64_t host_bytes; /* host memory that the table uses */
} tla_page_table_stats;

/* TLA_INVALID_ARGUMENT for a bad page size; *table is NULL then. */
tla_status tla_page_table_create(const tla_page_table_config *config, tla_page_table **table);
void tla_page_table_destroy(tla_page_table *table);

/* Maps all entries or none. TLA_INVALID_ARGUMENT for zero bytes, a range that wraps 2^64, a pa past 51 bits, no
 * permission at all; TLA_OVERLAP (also among the entries themselves), and the error names both ranges.
 * work: chunks, pte_writes. */
tla_status tla_page_table_map(tla_page_table *table, const tla_map_entry *entries, size_t count, tla_work *work,
                              tla_error *error);

/* Unmaps all ranges or none; a range may cut mappings, what is outside stays mapped. TLA_UNMAPPED when a byte of a
 * range is not mapped. work: chunks, pte_writes, invalidates (one). */
tla_status tla_page_table_unmap(tla_page_table *table, const tla_map_entry *ranges, size_t count, tla_work *work,
                                tla_error *error);

/* Translates the front of [va, va + nbytes): one page or region, joined with what follows while it is physically
 * adjacent and has the same flags. `access` is TLA_READ, TLA_WRITE or 0 (no check). TLA_UNMAPPED when va itself is not
 * mapped, TLA_PERMISSION. work: table_levels. */
tla_status tla_page_table_translate(const tla_page_table *table, tla_vaddr va, uint64_t nbytes, uint32_t access,
                                    tla_translation *translation, tla_work *work);

tla_page_table_stats tla_page_table_get_stats(const tla_page_table *table);

#ifdef __cplusplus
}
#endif
#endif
