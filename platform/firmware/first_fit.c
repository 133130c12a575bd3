/* First fit over a linked list of free blocks in offset order, as firmware of a memory controller. Placements are those
 * of tla_arena with TLA_FIRST_FIT, which trusts its callers. */
#include "serve.h"

#include <stddef.h>

enum { NODES = 1024 };

struct node {
    struct node *next;
    uint64_t offset, size;
};

static struct node nodes[NODES];
static struct node head;   /* no block: next is the first free one */
static struct node *spare; /* nodes that were released, linked by next */
static struct node *fresh; /* from here on nodes were never used */
static struct node *end_of_nodes;

__attribute__((noinline, cold)) static tla_mailbox_status begin(uint64_t count, uint64_t size) {
    if (count == 0 || count > NODES) return TLA_MAILBOX_NO_NODE;
    nodes[0] = (struct node){NULL, 0, size};
    head.next = size ? &nodes[0] : NULL;
    spare = NULL;
    fresh = &nodes[1];
    end_of_nodes = &nodes[count];
    return TLA_MAILBOX_DONE;
}

/* Takes the node behind `before` off the list. */
static void release(struct node *before, struct node *node) {
    before->next = node->next;
    node->next = spare;
    spare = node;
}

static tla_mailbox_status take(uint64_t size, uint64_t *offset) {
    struct node *before, *node = &head;
    do {
        before = node;
        node = before->next;
        if (!node) return TLA_MAILBOX_NO_BLOCK;
    } while (node->size < size);
    *offset = node->offset;
    if (node->size == size) {
        release(before, node);
    } else {
        node->offset += size;
        node->size -= size;
    }
    return TLA_MAILBOX_DONE;
}

static tla_mailbox_status give_back(uint64_t offset, uint64_t size) {
    const uint64_t end = offset + size;
    struct node *before, *node = &head;
    do {
        before = node;
        node = before->next;
    } while (node && node->offset < offset);
    if (node && node->offset < end) return TLA_MAILBOX_NOT_TAKEN;
    const int joins_node = node && node->offset == end;
    if (before != &head) {
        const uint64_t before_end = before->offset + before->size;
        if (before_end > offset) return TLA_MAILBOX_NOT_TAKEN;
        if (before_end == offset) {
            before->size += size;
            if (joins_node) {
                before->size += node->size;
                release(before, node);
            }
            return TLA_MAILBOX_DONE;
        }
    }
    if (joins_node) {
        node->offset = offset;
        node->size += size;
        return TLA_MAILBOX_DONE;
    }
    struct node *made = spare;
    if (made)
        spare = made->next;
    else if (fresh < end_of_nodes)
        made = fresh++;
    else
        return TLA_MAILBOX_NO_NODE;
    *made = (struct node){node, offset, size};
    before->next = made;
    return TLA_MAILBOX_DONE;
}
