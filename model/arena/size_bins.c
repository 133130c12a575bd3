/* Bins of free blocks: an array of nodes, linked by index, and a hash table from offset to node. */
#include "size_bins.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(uint64_t offset) {
    return (uint32_t)((offset * 0x9E3779B97F4A7C15u) >> 32); /* 2^64 / golden ratio: Knuth, TAOCP 3, 6.4 */
}

static size_t home_of(const tla_size_bins *bins, uint32_t hash) {
    return hash >> (32 - bins->table_bits);
}

static uint64_t entry_of(uint32_t hash, uint32_t node) {
    return (uint64_t)hash << 32 | (node + 1);
}

static void table_insert(tla_size_bins *bins, uint64_t entry) {
    size_t mask = ((size_t)1 << bins->table_bits) - 1, slot = home_of(bins, (uint32_t)(entry >> 32));
    while (bins->table[slot])
        slot = (slot + 1) & mask;
    bins->table[slot] = entry;
}

/* Returns the slot of the node that starts at `offset`; SIZE_MAX if no node does. */
static size_t table_find(const tla_size_bins *bins, uint64_t offset) {
    uint32_t hash = hash_of(offset);
    size_t mask = ((size_t)1 << bins->table_bits) - 1;
    for (size_t slot = home_of(bins, hash); bins->table[slot]; slot = (slot + 1) & mask) {
        uint64_t entry = bins->table[slot];
        if (entry >> 32 == hash && bins->nodes[(uint32_t)entry - 1].block.offset == offset) return slot;
    }
    return SIZE_MAX;
}

/* Closes the gap, so that no search stops short of an entry that had to move on (Knuth, TAOCP 3, 6.4, algorithm R). */
static void table_remove(tla_size_bins *bins, size_t gap) {
    size_t mask = ((size_t)1 << bins->table_bits) - 1;
    for (size_t slot = (gap + 1) & mask; bins->table[slot]; slot = (slot + 1) & mask) {
        size_t home = home_of(bins, (uint32_t)(bins->table[slot] >> 32));
        if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
        bins->table[gap] = bins->table[slot];
        gap = slot;
    }
    bins->table[gap] = 0;
}

tla_status tla_size_bins_make_room(tla_size_bins *bins, size_t n) {
    if (n <= bins->room - bins->count) return TLA_OK;
    if (n > UINT32_MAX / 8 - bins->count) return TLA_NO_HOST_MEMORY; /* nodes are numbered with 32 bits */
    unsigned bits = bins->table_bits;
    while (((size_t)1 << bits) < 2 * (bins->count + n))
        bits++;
    uint32_t room = (uint32_t)1 << (bits - 1); /* the table is half empty at least */
    uint64_t *table = calloc((size_t)1 << bits, sizeof *table);
    tla_binned *nodes = table ? realloc(bins->nodes, room * sizeof *nodes) : NULL;
    if (!nodes) {
        free(table);
        return TLA_NO_HOST_MEMORY;
    }
    for (uint32_t node = room; node-- > bins->room;) {
        nodes[node].after = bins->unused;
        bins->unused = node + 1;
    }
    uint64_t *old = bins->table;
    size_t old_slots = old ? (size_t)1 << bins->table_bits : 0;
    bins->nodes = nodes;
    bins->room = room;
    bins->table = table;
    bins->table_bits = bits;
    for (size_t slot = 0; slot < old_slots; slot++)
        if (old[slot]) table_insert(bins, old[slot]);
    free(old);
    return TLA_OK;
}

tla_status tla_size_bins_init(tla_size_bins *bins) {
    memset(bins, 0, sizeof *bins);
    bins->table_bits = 5;
    return tla_size_bins_make_room(bins, 16);
}

void tla_size_bins_release(tla_size_bins *bins) {
    free(bins->nodes);
    free(bins->table);
}

tla_block tla_size_bins_head(const tla_size_bins *bins, uint32_t bin) {
    return bins->nodes[bins->heads[bin] - 1].block;
}

const tla_binned *tla_size_bins_find(const tla_size_bins *bins, uint64_t offset) {
    size_t slot = table_find(bins, offset);
    return slot == SIZE_MAX ? NULL : &bins->nodes[(uint32_t)bins->table[slot] - 1];
}

void tla_size_bins_push(tla_size_bins *bins, uint32_t bin, tla_block block) {
    uint32_t node = bins->unused - 1, head = bins->heads[bin];
    bins->unused = bins->nodes[node].after;
    bins->count++;
    bins->nodes[node] = (tla_binned){.block = block, .bin = bin, .after = head};
    if (head) bins->nodes[head - 1].before = node + 1;
    bins->heads[bin] = node + 1;
    tla_class_set_add(&bins->filled, bin);
    table_insert(bins, entry_of(hash_of(block.offset), node));
}

void tla_size_bins_remove(tla_size_bins *bins, uint64_t offset) {
    size_t slot = table_find(bins, offset);
    uint32_t node = (uint32_t)bins->table[slot] - 1;
    table_remove(bins, slot);
    tla_binned *gone = &bins->nodes[node];
    if (gone->after) bins->nodes[gone->after - 1].before = gone->before;
    if (gone->before) {
        bins->nodes[gone->before - 1].after = gone->after;
    } else {
        bins->heads[gone->bin] = gone->after;
        if (!gone->after) tla_class_set_drop(&bins->filled, gone->bin);
    }
    gone->after = bins->unused;
    bins->unused = node + 1;
    bins->count--;
}

void tla_size_bins_saved(const tla_size_bins *bins, tla_block *blocks) {
    for (uint32_t bin = tla_class_set_next(&bins->filled, 0); bin < TLA_CLASSES;
         bin = tla_class_set_next(&bins->filled, bin + 1)) {
        uint32_t node = bins->heads[bin];
        while (bins->nodes[node - 1].after)
            node = bins->nodes[node - 1].after;
        for (; node; node = bins->nodes[node - 1].before)
            *blocks++ = bins->nodes[node - 1].block;
    }
}
