/* Offset bins in constant time as firmware of a memory controller: a stack of free regions for every bin, and a node
 * for every region.
 *
 * Placements are those of tla_arena with TLA_OFFSET_BINS and TLA_OFFSET_BINS_ROUNDED: sizes come already rounded, and
 * `nodes` counts those that are used. A release names the node, and is trusted. */
#include "serve.h"

#include <stdint.h>

enum { NODES = 1024, BINS = 240, NOBODY = NODES + BINS, LAST_BIN_SHIFT = 28 };

/* A region. The heads of the stacks follow the regions: a stack is a ring through its head. */
static struct {
    uint32_t offset, size;
    uint16_t left, right;  /* neighbours, NOBODY at the ends */
    uint16_t above, below; /* of a free region in its stack */
} nodes[NODES + BINS + 1];
static uint8_t is_free[NODES + BINS + 1];
static uint16_t spares[NODES];
static unsigned spare_count;
static uint32_t groups;                    /* a bit for each group of eight bins with a region */
static uint8_t filled[(NODES + BINS) / 8]; /* of eight heads a bit for each with a region; of regions nothing */

/* The bit of a power of two: its product with a de Bruijn sequence has other five bits at the top for each. */
static unsigned bit_of(uint32_t power) {
    static const uint8_t bit[32] = {0,  1,  28, 2,  29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4,  8,
                                    31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6,  11, 5,  10, 9};
    return bit[(uint32_t)(power * 0x077cb531u) >> 27];
}

static unsigned lowest(uint32_t bits) {
    return bit_of(bits & -bits);
}

/* Bits of a size behind its four highest ones; none for sizes below 8, which are their own bins. */
static unsigned exponent_of(uint32_t size) {
    size |= 8;
    size |= size >> 1;
    size |= size >> 2;
    size |= size >> 4;
    size |= size >> 8;
    size |= size >> 16;
    return bit_of(size - (size >> 1)) - 3;
}

static unsigned bin_below(uint32_t size) {
    const unsigned exponent = exponent_of(size);
    return 8 * exponent + (size >> exponent);
}

static unsigned bin_above(uint32_t size) {
    const unsigned exponent = exponent_of(size);
    const uint32_t whole = size >> exponent;
    return 8 * exponent + whole + (whole << exponent < size);
}

static void push(unsigned node) {
    const unsigned head = NODES + bin_below(nodes[node].size), below = nodes[head].below;
    is_free[node] = 1;
    nodes[node].above = (uint16_t)head;
    nodes[node].below = (uint16_t)below;
    nodes[head].below = nodes[below].above = (uint16_t)node;
    filled[head / 8] |= (uint8_t)(1u << head % 8);
    groups |= 1u << (head - NODES) / 8;
}

/* Without a branch: if a region is above, all bits stay. */
static void remove(unsigned node) {
    const unsigned above = nodes[node].above, below = nodes[node].below;
    nodes[above].below = (uint16_t)below;
    nodes[below].above = (uint16_t)above;
    const unsigned last = above == below, bins = filled[above / 8] & ~(last << above % 8);
    filled[above / 8] = (uint8_t)bins;
    groups &= ~((last & (bins == 0)) << above / 8 % 32);
}

__attribute__((noinline, cold)) static tla_mailbox_status begin(uint64_t count, uint64_t size) {
    if (count == 0 || count > NODES || size > UINT64_C(15) << LAST_BIN_SHIFT) return TLA_MAILBOX_NO_NODE;
    for (unsigned i = NODES; i <= NOBODY; i++)
        nodes[i].above = nodes[i].below = (uint16_t)i;
    is_free[NOBODY] = 0;
    for (unsigned i = 0; i < sizeof filled; i++)
        filled[i] = 0;
    groups = 0;
    spare_count = 0;
    for (unsigned i = (unsigned)count; i-- > 1;)
        spares[spare_count++] = (uint16_t)i;
    nodes[0].offset = 0;
    nodes[0].size = (uint32_t)size;
    nodes[0].left = nodes[0].right = NOBODY;
    push(0);
    return TLA_MAILBOX_DONE;
}

/* The highest free region of the lowest bin with one in which every region is large enough; NOBODY: none. */
static unsigned find(uint32_t size) {
    const unsigned wanted = NODES + bin_above(size);
    unsigned eight = wanted / 8;
    const uint32_t from = groups >> (eight - NODES / 8);
    uint32_t bins = 0;
    if (from & 1) bins = filled[eight] >> wanted % 8 << wanted % 8;
    if (!bins) {
        if (from < 2) return NOBODY;
        eight += lowest(from & ~1u);
        bins = filled[eight];
    }
    return nodes[8 * eight + lowest(bins)].below;
}

static tla_mailbox_status take(uint64_t size, uint64_t *offset) {
    unsigned node;
    if (*offset == TLA_MAILBOX_EXACT) {
        node = find(1); /* the only free region */
    } else {
        if (spare_count == 0) return TLA_MAILBOX_NO_NODE;
        if (size > UINT64_C(15) << LAST_BIN_SHIFT) return TLA_MAILBOX_NO_BLOCK;
        node = find((uint32_t)size);
        if (node == NOBODY) return TLA_MAILBOX_NO_BLOCK;
    }
    remove(node);
    const uint32_t at = nodes[node].offset, rest = nodes[node].size - (uint32_t)size;
    is_free[node] = 0;
    nodes[node].size = (uint32_t)size;
    if (rest > 0) {
        const unsigned made = spares[--spare_count], right = nodes[node].right;
        nodes[made].offset = at + (uint32_t)size;
        nodes[made].size = rest;
        nodes[made].left = (uint16_t)node;
        nodes[made].right = (uint16_t)right;
        nodes[right].left = nodes[node].right = (uint16_t)made;
        push(made);
    }
    *offset = (uint64_t)node << TLA_MAILBOX_NODE_SHIFT | at;
    return TLA_MAILBOX_DONE;
}

/* Joins a region with its right neighbour, which loses its node. */
static void join(unsigned left, unsigned right) {
    const unsigned after = nodes[right].right;
    nodes[left].size += nodes[right].size;
    nodes[left].right = (uint16_t)after;
    nodes[after].left = (uint16_t)left;
    spares[spare_count++] = (uint16_t)right;
}

static tla_mailbox_status give_back(uint64_t offset, uint64_t size) {
    (void)size; /* the node knows it */
    unsigned node = (unsigned)(offset >> TLA_MAILBOX_NODE_SHIFT);
    const unsigned left = nodes[node].left;
    if (is_free[left]) {
        remove(left);
        join(left, node);
        node = left;
    }
    const unsigned right = nodes[node].right;
    if (is_free[right]) {
        remove(right);
        join(node, right);
    }
    push(node);
    return TLA_MAILBOX_DONE;
}
