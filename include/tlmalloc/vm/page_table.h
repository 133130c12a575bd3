/* Virtual to physical: pages of several sizes, and the sub-page regions of KernBench's ADR-0039 D3.
 *
 * An entry maps [va, va + nbytes) to [pa, pa + nbytes), with any alignment and any size. Whole pages whose va is
 * page-aligned become pages; the rest becomes regions inside a page. HBM addresses are byte granular, so a translation
 * is base + offset, an addition, never a concatenation of bits. A larger page is used where va and pa are both aligned
 * to it. Address spaces (ASIDs) are separate. Not thread safe.
 *
 * On the host the table is a radix tree. In it a run of pages that is contiguous on both sides takes one slot, so that
 * simple mappings stay small. A table in a modelled memory has the tables, entries and addresses that a walker of
 * 8-byte entries reads. It has one level at every page size, at most 9 bits per level. */
#ifndef TLMALLOC_VM_PAGE_TABLE_H
#define TLMALLOC_VM_PAGE_TABLE_H

#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/base/work.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The permissions of a mapping, and the need of an access. */
enum { TLA_READ = 1u, TLA_WRITE = 2u };

typedef struct tla_map_entry {
    tla_vaddr va;
    tla_paddr pa;    /* ignored by unmap */
    uint64_t nbytes; /* > 0 */
    uint32_t flags;  /* TLA_READ | TLA_WRITE; ignored by unmap */
    uint32_t asid;   /* address space (context) of the entry; 0 with a single address space */
} tla_map_entry;

enum {
    TLA_PAGE_SIZES_MAX = 4,
    TLA_WALK_READS_MAX = 12 /* the deepest possible table, and a region list */
};

/* The memory of the tables when they live in a modelled memory; all NULL = none. */
typedef struct tla_table_memory {
    /* Allocates nbytes for one table. Any status except TLA_OK makes the map or unmap fail with that status. */
    tla_status (*alloc)(void *context, uint64_t nbytes, tla_paddr *pa);
    /* Releases a table, with the nbytes of its allocation. */
    void (*free)(void *context, tla_paddr pa, uint64_t nbytes);
    /* Writes changed entries, when no later failure is possible: `count` entries of 8 bytes, little-endian in memory,
     * from pa on. A table is written before the entry that points to it. May be NULL. */
    void (*write)(void *context, tla_paddr pa, const uint64_t *entries, size_t count);
    void *context;
} tla_table_memory;

typedef struct tla_page_table_config {
    uint64_t page_size; /* the smallest page: power of two, 4 KiB .. 1 GiB */
    bool allow_remap;   /* false: an overlapping map returns TLA_OVERLAP; true: the last map wins, and is counted */
    uint64_t larger_page_sizes[TLA_PAGE_SIZES_MAX - 1]; /* ascending powers of two up to 1 GiB; 0 = no more */
    uint32_t va_bits;        /* width of a virtual address: above that of the largest page, at most 64; 0 = 64 */
    uint32_t asids;          /* address spaces 0 .. asids - 1, at most 65536; 0 = 1 */
    tla_table_memory memory; /* both alloc and free, or neither */
} tla_page_table_config;

typedef struct tla_page_table tla_page_table;

/* The translation of an access: nbytes from pa are physically contiguous (at most the requested bytes). */
typedef struct tla_translation {
    tla_paddr pa;
    uint64_t nbytes;
    uint32_t flags;
} tla_translation;

typedef struct tla_page_table_stats {
    uint64_t mapped_bytes;
    uint64_t pages;                             /* whole-page entries of every size */
    uint64_t pages_of_size[TLA_PAGE_SIZES_MAX]; /* the same, smallest size first */
    uint64_t regions;                           /* sub-page regions */
    uint64_t remaps;                            /* entries that replaced a mapping (allow_remap) */
    uint64_t tables;                            /* tables and region lists in the table memory */
    uint64_t table_bytes;                       /* their bytes */
    uint64_t host_bytes;                        /* host memory that the table uses */
} tla_page_table_stats;

/* TLA_INVALID_ARGUMENT for a bad page size, va_bits, asids, or half a table memory, TLA_NO_HOST_MEMORY; *table is NULL
 * then. */
tla_status tla_page_table_create(const tla_page_table_config *config, tla_page_table **table);

/* Releases everything, including tables in the table memory. NULL is allowed. */
void tla_page_table_destroy(tla_page_table *table);

/* Maps all entries or none. TLA_INVALID_ARGUMENT for zero bytes, a range that wraps 2^64, a pa past 51 bits, no
 * permission at all, an asid out of range. TLA_OUT_OF_RANGE for a va past va_bits. TLA_OVERLAP (also among the entries
 * themselves); the error names both ranges. Otherwise the error of a table memory without space for a table. work:
 * chunks, pte_writes (written pages and regions; for a large page that had to be broken, the pages that replace it). */
tla_status tla_page_table_map(tla_page_table *table, const tla_map_entry *entries, size_t count, tla_work *work,
                              tla_error *error);

/* Unmaps all ranges or none. A range may cut mappings, and the parts outside stay mapped: a cut large page is broken
 * into smaller pages, the smallest into regions. TLA_UNMAPPED when a byte of a range is not mapped, else as map. work:
 * chunks, pte_writes, invalidates (one). */
tla_status tla_page_table_unmap(tla_page_table *table, const tla_map_entry *ranges, size_t count, tla_work *work,
                                tla_error *error);

/* The same changes in steps, for a table memory that is accessed in simulated time. Errors and receipts as above.
 *
 * - tla_page_table_rehearse tests whether a change can be made. It allocates with config.memory.alloc as the change
 *   would, in that order, then undoes everything and releases the tables.
 * - tla_page_table_change makes the change at once, but writes nothing to the table memory and releases nothing.
 * - tla_page_table_next returns the writes one after the other: new tables first, then the entries that point to them.
 *   Then it returns the releases, and false after the last. Until then other changes return TLA_BUSY.
 *
 * TLA_TABLE_RESTORE gives every byte of the entries the stated mapping, independent of its present mapping: mapped as
 * by map, or, with flags 0, unmapped. TLA_TABLE_REMAP maps the entries as by map, and every byte of them must be mapped
 * before: otherwise TLA_UNMAPPED. Neither returns TLA_OVERLAP or counts a remap. In a table memory both rewrite the
 * entries of mapped bytes where they stand. A RESTORE after a REMAP of the same ranges therefore takes no table. */
typedef enum tla_table_change { TLA_TABLE_MAP, TLA_TABLE_UNMAP, TLA_TABLE_RESTORE, TLA_TABLE_REMAP } tla_table_change;

tla_status tla_page_table_rehearse(tla_page_table *table, tla_table_change change, const tla_map_entry *entries,
                                   size_t count, tla_error *error);
tla_status tla_page_table_change(tla_page_table *table, tla_table_change change, const tla_map_entry *entries,
                                 size_t count, tla_work *work, tla_error *error);

enum { TLA_TABLE_WRITE_ENTRIES = 512 /* maximum of one write */ };

typedef struct tla_table_duty {
    bool write;      /* true: write; false: release */
    tla_paddr pa;    /* address */
    uint64_t nbytes; /* bytes of the table, or 8 for each entry */
} tla_table_duty;

bool tla_page_table_next(tla_page_table *table, tla_table_duty *duty, uint64_t entries[TLA_TABLE_WRITE_ENTRIES]);

/* Translates the front of [va, va + nbytes) in address space 0. The result is one page or region, joined with its
 * successors while they are physically adjacent and have the same flags. `access` is TLA_READ, TLA_WRITE or 0 (no
 * check). TLA_UNMAPPED when va itself is not mapped, TLA_PERMISSION. work: table_levels, of the walk for va itself. */
tla_status tla_page_table_translate(const tla_page_table *table, tla_vaddr va, uint64_t nbytes, uint32_t access,
                                    tla_translation *translation, tla_work *work);

/* As tla_page_table_translate, in any address space; TLA_INVALID_ARGUMENT for an asid out of range. */
tla_status tla_page_table_translate_in(const tla_page_table *table, uint32_t asid, tla_vaddr va, uint64_t nbytes,
                                       uint32_t access, tla_translation *translation, tla_work *work);

/* Finds the first mapped byte of [va, va + nbytes), nbytes > 0, of an address space. Returns false if none is mapped,
 * or for an unknown address space. A range that wraps 2^64 ends there. */
bool tla_page_table_first_mapped(const tla_page_table *table, uint32_t asid, tla_vaddr va, uint64_t nbytes,
                                 tla_vaddr *first);

/* The reads of a hardware walk for one address, and its result. */
typedef struct tla_walk {
    uint32_t asid;
    uint32_t reads; /* number of table entries read, root first; a region list counts as one more */
    struct {
        tla_paddr pa;      /* address; 0 unless the table lives in a memory */
        uint32_t nbytes;   /* 8; for a region list its length */
        uint32_t va_shift; /* the entry serves every va with the same bits from this bit up */
    } read[TLA_WALK_READS_MAX];
    /* the result: a page, or a region inside a page of the smallest size */
    tla_vaddr va;       /* its first byte */
    uint64_t nbytes;    /* its length; for a region less than page_size */
    uint64_t page_size; /* size of the page, or of the page around the region */
    tla_paddr pa;       /* address of its first byte */
    uint32_t flags;
} tla_walk;

/* Walks for va. TLA_UNMAPPED fills asid, reads and read (without a table memory: of the full depth), and sets `va`,
 * `page_size` to the smallest page there. TLA_INVALID_ARGUMENT for an asid out of range. */
tla_status tla_page_table_walk(const tla_page_table *table, uint32_t asid, tla_vaddr va, tla_walk *walk);

/* As tla_page_table_walk, and counts in *run the bytes of [va, va + nbytes), nbytes > 0, with the same walk. These are
 * pages of one size, or one region, physically adjacent and with the same flags. If va is unmapped, *run is the number
 * of unmapped bytes. 0 for an unknown asid. */
tla_status tla_page_table_walk_run(const tla_page_table *table, uint32_t asid, tla_vaddr va, uint64_t nbytes,
                                   tla_walk *walk, uint64_t *run);

/* Returns the address of an address space's root table: TLA_UNMAPPED without mappings or without a table memory. */
tla_status tla_page_table_root(const tla_page_table *table, uint32_t asid, tla_paddr *pa);

tla_page_table_stats tla_page_table_get_stats(const tla_page_table *table);

/* One 8-byte entry of a table in memory:
 *
 *     [50:0] byte address   [51] read   [52] write   [54:53] kind   [63:55] 0
 *
 * An absent entry is the word 0. A region list is a sorted sequence of pairs, ended by two words 0. A pair is [31:0]
 * offset in the page and [63:32] bytes, then an entry of kind page for the region's first byte. */
typedef enum tla_pte_kind { TLA_PTE_ABSENT, TLA_PTE_PAGE, TLA_PTE_TABLE, TLA_PTE_REGIONS } tla_pte_kind;

typedef struct tla_pte {
    tla_pte_kind kind;
    tla_paddr pa;
    uint32_t flags; /* TLA_READ | TLA_WRITE for a page, else 0 */
} tla_pte;

/* TLA_INVALID_ARGUMENT for an address past 51 bits, a page without permission, flags of any other kind. */
tla_status tla_pte_encode(const tla_pte *pte, uint64_t *word);

/* TLA_BAD_COMMAND for a word that tla_pte_encode never writes. */
tla_status tla_pte_decode(uint64_t word, tla_pte *pte);

#ifdef __cplusplus
}
#endif
#endif
