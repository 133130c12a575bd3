/* Binary buddies as firmware of a memory controller: a list of free blocks for every order, last in first out.
 *
 * A block of order k is 2^k units at a multiple of 2^k; sizes are powers of two, and at most 8192 units exist.
 * Placements are those of tla_arena with TLA_BUDDY, which trusts its callers: it rejects only ranges that are not
 * blocks. */
#include "serve.h"

#include <stdint.h>

enum { ORDERS = 14, UNITS = 1 << (ORDERS - 1), NOBODY = UNITS };

static uint16_t heads[ORDERS];
static struct {
    uint16_t next, previous;
} links[UNITS + 1];               /* of the free block that begins at the unit; the last one is a sentinel */
static uint8_t free_order[UNITS]; /* of the free block that begins at the unit, and 1; else 0 */
static unsigned highest;          /* order of the largest block that there can be */

/* The order of a power of two: its product with a de Bruijn sequence has other five bits at the top for each. */
static unsigned order_of(uint64_t size) {
    static const uint8_t order[32] = {0,  1,  28, 2,  29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4,  8,
                                      31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6,  11, 5,  10, 9};
    return order[(uint32_t)((uint32_t)size * 0x077cb531u) >> 27];
}

static void push(unsigned at, unsigned order) {
    const unsigned next = heads[order];
    links[at].next = (uint16_t)next;
    links[at].previous = NOBODY;
    links[next].previous = (uint16_t)at;
    heads[order] = (uint16_t)at;
    free_order[at] = (uint8_t)(order + 1);
}

static void remove(unsigned at, unsigned order) {
    const unsigned next = links[at].next, previous = links[at].previous;
    free_order[at] = 0;
    links[next].previous = (uint16_t)previous;
    if (previous == NOBODY)
        heads[order] = (uint16_t)next;
    else
        links[previous].next = (uint16_t)next;
}

/* Puts a block on its list, joined with its buddy as often as that is free. */
static void file(unsigned at, unsigned order) {
    for (; order < highest; order++) {
        const unsigned buddy = at ^ 1u << order;
        if (free_order[buddy] != order + 1) break;
        remove(buddy, order);
        at &= ~(1u << order);
    }
    push(at, order);
}

__attribute__((noinline, cold)) static tla_mailbox_status begin(uint64_t nodes, uint64_t size) {
    (void)nodes; /* every unit has a node */
    if (size > UNITS) return TLA_MAILBOX_NO_NODE;
    for (unsigned i = 0; i < sizeof free_order; i++)
        free_order[i] = 0;
    for (unsigned i = 0; i < ORDERS; i++)
        heads[i] = NOBODY;
    for (highest = 0; size >> highest > 1;)
        highest++;
    for (unsigned at = 0, order = highest; size > 0; order--)
        if (size & 1u << order) {
            push(at, order);
            at += 1u << order;
            size -= 1u << order;
        }
    return TLA_MAILBOX_DONE;
}

static tla_mailbox_status take(uint64_t size, uint64_t *offset) {
    if (size > UNITS) return TLA_MAILBOX_NO_BLOCK;
    const unsigned wanted = order_of(size);
    unsigned order = wanted;
    for (;; order++) {
        if (order > highest) return TLA_MAILBOX_NO_BLOCK;
        if (heads[order] != NOBODY) break;
    }
    const unsigned at = heads[order];
    remove(at, order);
    while (order > wanted) {
        order--;
        push(at + (1u << order), order);
    }
    *offset = at;
    return TLA_MAILBOX_DONE;
}

static tla_mailbox_status give_back(uint64_t offset, uint64_t size) {
    if (size > UNITS || offset >= UNITS || (offset & (size - 1))) return TLA_MAILBOX_NOT_TAKEN;
    file((unsigned)offset, order_of(size));
    return TLA_MAILBOX_DONE;
}
