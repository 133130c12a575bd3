/* Nodes of the page table's radix tree, and transactions over them. */
#include "radix.h"

#include <stdlib.h>

enum { LIST_WORDS_MIN = 8 /* 64 bytes: three regions and the end */, CHANGES_KEPT = 256 };

void radix_begin(tla_page_table *t) {
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
    if (!node->born) { /* what is born in this batch vanishes as a whole */
        if (t->change_count == t->change_room) {
            size_t room = t->change_room ? 2 * t->change_room : 16;
            radix_change *grown = realloc(t->changes, room * sizeof *grown);
            if (!grown) return TLA_NO_HOST_MEMORY;
            t->changes = grown;
            t->change_room = room;
        }
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

/* Writes `count` entries of a node from `index` on to the table memory. */
static void write_entries(const tla_page_table *t, const radix_node *node, uint32_t index, uint32_t count) {
    enum { BURST = 512 };
    uint64_t entries[BURST];
    while (count > 0) {
        uint32_t n = count < BURST ? count : BURST;
        for (uint32_t i = 0; i < n; i++) {
            uint64_t slot = node->slots[index + i];
            bool offset_word = node->level == LIST_LEVEL && (index + i) % 2 == 0;
            entries[i] = offset_word ? slot : entry_of(slot);
        }
        t->config.memory.write(t->config.memory.context, (tla_paddr){node->table_pa + UINT64_C(8) * index}, entries, n);
        index += n;
        count -= n;
    }
}

/* New tables first, the deepest first (they were born last); then the entries that make them visible. */
static void write_batch(const tla_page_table *t) {
    for (const radix_node *node = t->touched; node; node = node->next)
        if (node->born && !node->dead) write_entries(t, node, 0, node->words);
    for (size_t i = 0, n; i < t->change_count; i += n) {
        const radix_change *c = &t->changes[i];
        for (n = 1; i + n < t->change_count && c[n].node == c->node && c[n].index == c->index + n;)
            n++;
        if (!c->node->dead && c->node != t->contexts) write_entries(t, c->node, c->index, (uint32_t)n);
    }
}

/* A long log is not kept for the next batch. */
static void forget_changes(tla_page_table *t) {
    t->change_count = 0;
    if (t->change_room <= CHANGES_KEPT) return;
    free(t->changes);
    t->changes = NULL;
    t->change_room = 0;
}

void radix_end(tla_page_table *t, bool keep) {
    if (keep && t->config.memory.write) write_batch(t);
    if (!keep) {
        while (t->change_count > 0) {
            radix_change c = t->changes[--t->change_count];
            put(c.node, c.index, c.old);
        }
        t->stats = t->stats_before;
    }
    while (t->touched) {
        radix_node *node = t->touched;
        t->touched = node->next;
        if (keep ? node->dead : node->born)
            release(t, node);
        else
            node->born = node->dead = false;
    }
    forget_changes(t);
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
