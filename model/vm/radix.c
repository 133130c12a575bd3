/* Nodes of the page table's radix tree, and transactions over them. */
#include "radix.h"
#include "base/grow.h"

#include <stdlib.h>

enum { LIST_WORDS_MIN = 8 /* 64 bytes: three regions and the end */, CHANGES_KEPT = 256 };

void radix_begin(tla_page_table *t, size_t entries) {
    (void)tla_grow(&t->changes, &t->change_room, entries, sizeof *t->changes); /* else when it is needed */
    t->stats_before = t->stats;
    t->touched = NULL;
    t->no_table = false;
}

static size_t host_bytes(const radix_node *node) {
    return sizeof *node + node->words * sizeof node->slots[0];
}

static void release(tla_page_table *t, radix_node *node) {
    if (t->config.memory.alloc)
        t->config.memory.free(t->config.memory.context, (tla_paddr){node->table_pa}, UINT64_C(8) * node->words);
    free(node);
}

static void touch(tla_page_table *t, radix_node *node) {
    if (node->born || node->dead) return;
    node->next = t->touched;
    t->touched = node;
}

tla_status radix_new(tla_page_table *t, uint8_t level, uint32_t regions, radix_node **out) {
    const tla_table_memory *memory = &t->config.memory;
    uint32_t words;
    if (level == LIST_LEVEL) {
        for (words = LIST_WORDS_MIN; words / 2 - 1 < regions;)
            words *= 2;
    } else {
        words = UINT32_C(1) << t->level[level].bits;
    }
    radix_node *node = calloc(1, sizeof *node + words * sizeof node->slots[0]);
    if (!node) return TLA_NO_HOST_MEMORY;
    node->words = words;
    node->level = level;
    if (memory->alloc) {
        tla_paddr pa;
        tla_status status = memory->alloc(memory->context, UINT64_C(8) * words, &pa);
        if (status) {
            free(node);
            t->no_table = true;
            return status;
        }
        node->table_pa = pa.value;
        t->stats.tables++;
        t->stats.table_bytes += UINT64_C(8) * words;
    }
    touch(t, node);
    node->born = true;
    t->stats.host_bytes += host_bytes(node);
    *out = node;
    return TLA_OK;
}

static void put(radix_node *node, uint32_t index, uint64_t slot) {
    node->live += (uint32_t)(slot != 0) - (uint32_t)(node->slots[index] != 0);
    node->slots[index] = slot;
}

tla_status radix_set(tla_page_table *t, radix_node *node, uint32_t index, uint64_t slot) {
    if (!node->born) { /* nodes that this batch has created vanish as a whole */
        if (!tla_grow(&t->changes, &t->change_room, t->change_count + 1, sizeof *t->changes)) return TLA_NO_HOST_MEMORY;
        t->changes[t->change_count++] = (radix_change){node, index, node->slots[index]};
    }
    put(node, index, slot);
    return TLA_OK;
}

void radix_retire(tla_page_table *t, radix_node *node) {
    touch(t, node);
    node->dead = true;
    t->stats.host_bytes -= host_bytes(node);
    if (t->config.memory.alloc) {
        t->stats.tables--;
        t->stats.table_bytes -= UINT64_C(8) * node->words;
    }
}

static uint64_t entry_of(uint64_t slot) {
    tla_pte pte = {.kind = TLA_PTE_ABSENT};
    switch (slot_kind(slot)) {
    case SLOT_PAGE:
        pte = (tla_pte){TLA_PTE_PAGE, {slot_pa(slot)}, slot_flags(slot)};
        break;
    case SLOT_NODE:
        pte = (tla_pte){TLA_PTE_TABLE, {slot_node(slot)->table_pa}, 0};
        break;
    case SLOT_LIST:
        pte = (tla_pte){TLA_PTE_REGIONS, {slot_node(slot)->table_pa}, 0};
        break;
    default:
        break;
    }
    uint64_t word = 0;
    tla_pte_encode(&pte, &word);
    return word;
}

/* A write of at most `count` entries of a node from `index` on. */
static tla_table_duty write_of(const radix_node *node, uint32_t index, uint32_t count, uint64_t *entries) {
    uint32_t n = count < TLA_TABLE_WRITE_ENTRIES ? count : TLA_TABLE_WRITE_ENTRIES;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t slot = node->slots[index + i];
        bool offset_word = node->level == LIST_LEVEL && (index + i) % 2 == 0;
        entries[i] = offset_word ? slot : entry_of(slot);
    }
    return (tla_table_duty){true, {node->table_pa + UINT64_C(8) * index}, UINT64_C(8) * n};
}

/* New tables first, the deepest first (they were born last). */
static bool next_table(tla_page_table *t, tla_table_duty *duty, uint64_t *entries) {
    for (; t->to_write; t->to_write = t->to_write->next, t->written_words = 0) {
        const radix_node *node = t->to_write;
        if (!node->born || node->dead || t->written_words == node->words) continue;
        *duty = write_of(node, t->written_words, node->words - t->written_words, entries);
        t->written_words += (uint32_t)(duty->nbytes / 8);
        return true;
    }
    return false;
}

/* Then the entries that make them visible: neighbours together. */
static bool next_change(tla_page_table *t, tla_table_duty *duty, uint64_t *entries) {
    while (t->written_changes < t->change_count) {
        const radix_change *c = &t->changes[t->written_changes];
        size_t n = 1;
        while (t->written_changes + n < t->change_count && n < TLA_TABLE_WRITE_ENTRIES && c[n].node == c->node &&
               c[n].index == c->index + n)
            n++;
        t->written_changes += n;
        if (c->node->dead || c->node == t->contexts) continue;
        *duty = write_of(c->node, c->index, (uint32_t)n, entries);
        return true;
    }
    return false;
}

/* A long log is not kept for the next batch. */
static void forget_changes(tla_page_table *t) {
    t->change_count = 0;
    if (t->change_room <= CHANGES_KEPT) return;
    free(t->changes);
    t->changes = NULL;
    t->change_room = 0;
}

void radix_undo(tla_page_table *t) {
    while (t->change_count > 0) {
        radix_change c = t->changes[--t->change_count];
        put(c.node, c.index, c.old);
    }
    t->stats = t->stats_before;
    while (t->touched) {
        radix_node *node = t->touched;
        t->touched = node->next;
        if (node->born)
            release(t, node);
        else
            node->dead = false;
    }
    forget_changes(t);
}

void radix_keep(tla_page_table *t) {
    t->pending = true;
    t->to_write = t->touched;
    t->written_words = 0;
    t->written_changes = 0;
}

bool radix_next(tla_page_table *t, tla_table_duty *duty, uint64_t entries[TLA_TABLE_WRITE_ENTRIES]) {
    if (!t->pending) return false;
    bool in_memory = t->config.memory.alloc != NULL;
    if (in_memory && (next_table(t, duty, entries) || next_change(t, duty, entries))) return true;
    if (t->change_count > 0) forget_changes(t);
    while (t->touched) {
        radix_node *node = t->touched;
        t->touched = node->next;
        node->born = false;
        if (!node->dead) continue;
        *duty = (tla_table_duty){false, {node->table_pa}, UINT64_C(8) * node->words};
        free(node);
        if (in_memory) return true;
    }
    t->pending = false;
    return false;
}

void radix_forget(tla_page_table *t) {
    while (t->touched) {
        radix_node *node = t->touched;
        t->touched = node->next;
        if (node->dead) release(t, node);
    }
    t->pending = false;
}

void radix_free(tla_page_table *t, radix_node *node) {
    if (node->level != LIST_LEVEL)
        for (uint32_t i = 0; i < node->words; i++)
            if (slot_kind(node->slots[i]) >= SLOT_NODE) radix_free(t, slot_node(node->slots[i]));
    if (node->level == CONTEXTS_LEVEL)
        free(node);
    else
        release(t, node);
}
