/* The radix tree behind page_table.h: its nodes, and the transactions that change them.
 *
 * A slot is one word: empty, a page (or a run of pages that fills the slot and is contiguous on both sides), a node of
 * the next level, or the region list of a page. A table that lives in a memory has no runs and 9 bits a level, so that
 * its nodes are the modelled tables; any other has 6, so that a scattered page costs little.
 *
 * Everything a batch does to the tree goes through radix_set, radix_new and radix_retire between radix_begin and
 * radix_keep, or radix_undo, after which none of it was. */
#ifndef TLMALLOC_MODEL_VM_RADIX_H
#define TLMALLOC_MODEL_VM_RADIX_H

#include "tlmalloc/vm/page_table.h"

enum { SLOT_EMPTY, SLOT_PAGE, SLOT_NODE, SLOT_LIST, SLOT_KIND = 3 };
enum { CONTEXTS_LEVEL = 254, LIST_LEVEL = 255 }; /* `level` of objects that are not a level of the tree */
enum { RADIX_LEVELS_MAX = 12 };

/* A table, or a region list: pairs of words (offset | nbytes << 32, page slot), sorted, ended by a pair of zeros. */
typedef struct radix_node {
    struct radix_node *next; /* of those that the batch made or retired */
    uint64_t table_pa;
    uint32_t words;
    uint32_t live; /* slots that are not empty; of a list its regions */
    uint8_t level;
    bool born, dead; /* in this batch */
    uint64_t slots[];
} radix_node;

/* Where lookups of an address space start: the deepest node below which everything lies. */
typedef struct radix_entry {
    const radix_node *node; /* NULL: nothing is mapped */
    uint64_t mask, prefix;  /* va & mask == prefix, or va is not mapped */
} radix_entry;

typedef struct radix_change {
    radix_node *node;
    uint32_t index;
    uint64_t old;
} radix_change;

struct tla_page_table {
    tla_page_table_config config;
    uint32_t size_count, asids, va_bits;
    uint64_t sizes[TLA_PAGE_SIZES_MAX];
    uint32_t depth[TLA_PAGE_SIZES_MAX];     /* entries that a modelled walk reads for a page of that size */
    uint8_t walk_shift[TLA_WALK_READS_MAX]; /* of the modelled levels, root first */
    uint32_t levels;
    struct {
        uint8_t shift, bits;
    } level[RADIX_LEVELS_MAX]; /* root first */
    radix_node *contexts;      /* slots: the root of every address space */
    radix_entry *entry;        /* per address space */
    tla_page_table_stats stats;
    /* the current batch */
    radix_change *changes;
    size_t change_count, change_room;
    radix_node *touched;
    tla_page_table_stats stats_before;
    uint64_t written, cleared; /* pages and regions */
    /* a kept batch whose effects on the table memory are not all returned */
    bool pending;
    radix_node *to_write; /* of those it touched */
    uint32_t written_words;
    size_t written_changes;
    bool no_table; /* the table memory gave none */
};

static inline unsigned slot_kind(uint64_t slot) {
    return slot & SLOT_KIND;
}
static inline radix_node *slot_node(uint64_t slot) {
    return (radix_node *)(uintptr_t)(slot & ~(uint64_t)SLOT_KIND);
}
static inline uint64_t node_slot(const radix_node *node, unsigned kind) {
    return (uint64_t)(uintptr_t)node | kind;
}

/* A page slot: pa, permission, and which of the page sizes. */
static inline uint64_t page_slot(uint64_t pa, uint32_t flags, uint32_t size) {
    return pa << 8 | (uint64_t)size << 4 | flags << 2 | SLOT_PAGE;
}
static inline uint64_t slot_pa(uint64_t slot) {
    return slot >> 8;
}
static inline uint32_t slot_flags(uint64_t slot) {
    return slot >> 2 & 3;
}
static inline uint32_t slot_size(uint64_t slot) {
    return slot >> 4 & 3;
}

static inline uint32_t list_room(const radix_node *list) {
    return list->words / 2 - 1;
}
static inline uint32_t region_offset(const radix_node *list, uint32_t i) {
    return (uint32_t)list->slots[2 * i];
}
static inline uint32_t region_nbytes(const radix_node *list, uint32_t i) {
    return (uint32_t)(list->slots[2 * i] >> 32);
}

/* Bytes that one slot of a level covers, and the slot in which va lies. */
static inline uint64_t level_span(const tla_page_table *t, unsigned level) {
    return UINT64_C(1) << t->level[level].shift;
}
static inline uint32_t level_index(const tla_page_table *t, unsigned level, uint64_t va) {
    return (uint32_t)(va >> t->level[level].shift) & ((UINT32_C(1) << t->level[level].bits) - 1);
}

/* The deepest node, from that of the slot on, that has all of va .. last below it. */
static inline radix_node *radix_descend(const tla_page_table *t, uint64_t slot, uint64_t va, uint64_t last) {
    for (;;) {
        radix_node *const node = slot_node(slot);
        if ((va ^ last) >> t->level[node->level].shift) return node;
        slot = node->slots[level_index(t, node->level, va)];
        if (slot_kind(slot) != SLOT_NODE) return node;
    }
}

/* The page or region (or run of pages) in which va lies. */
typedef struct radix_piece {
    uint64_t va, nbytes, pa;
    uint32_t flags, size;
    bool region;
    const radix_node *node; /* the slot, or the list and the region */
    uint32_t index;
} radix_piece;

/* False when va, which lies below the node, is not mapped. */
bool radix_find(const tla_page_table *t, const radix_node *node, uint64_t va, radix_piece *piece);
/* Whether any byte of va .. last is mapped, and the first that is. */
bool radix_find_first(const tla_page_table *t, const radix_node *node, uint64_t va, uint64_t last, uint64_t *first);

/* Maps va .. last, which is unmapped; or unmaps it, with TLA_UNMAPPED when `whole` and a byte was not mapped. Parts of
 * a batch: radix_map.c. */
tla_status radix_map(tla_page_table *t, uint32_t asid, uint64_t va, uint64_t last, uint64_t pa, uint32_t flags);
tla_status radix_unmap(tla_page_table *t, uint32_t asid, uint64_t va, uint64_t last, bool whole);
/* Leads va .. last elsewhere, entry by entry: no entries are joined, and no table ends. It takes tables only to divide
 * pages and regions that the range cuts, or pages whose new address is not aligned. Another rewrite of the range to its
 * old place therefore takes none. For tables in a memory: TLA_UNMAPPED for others, and when a byte was not mapped. */
tla_status radix_rewrite(tla_page_table *t, uint32_t asid, uint64_t va, uint64_t last, uint64_t pa, uint32_t flags);

/* Begins a batch with this number of entries. */
void radix_begin(tla_page_table *t, size_t entries);
/* Creates a node of a level, or a list for `regions` regions, with empty slots. TLA_NO_HOST_MEMORY, or the error of the
 * table memory. */
tla_status radix_new(tla_page_table *t, uint8_t level, uint32_t regions, radix_node **node);
/* Writes a slot. TLA_NO_HOST_MEMORY. */
tla_status radix_set(tla_page_table *t, radix_node *node, uint32_t index, uint64_t slot);
/* The node is no longer part of the tree. */
void radix_retire(tla_page_table *t, radix_node *node);
/* Undoes the batch. */
void radix_undo(tla_page_table *t);
/* Keeps the batch; radix_next then returns its effects on the table memory. */
void radix_keep(tla_page_table *t);
bool radix_next(tla_page_table *t, tla_table_duty *duty, uint64_t entries[TLA_TABLE_WRITE_ENTRIES]);
/* Drops the effects of a kept batch that are not returned yet; releases its removed tables. */
void radix_forget(tla_page_table *t);
/* Frees a node and everything below it. */
void radix_free(tla_page_table *t, radix_node *node);

#endif
