/* The tree of the free list as a structure: memory of nodes, insertion and splits, removal and merges, upkeep. */
#include "free_list_nodes.h"

#include <stdlib.h>
#include <string.h>

/* Neighbours are joined when one has fallen to `thin` slots and both have at most `packed`. Two neighbours then always
 * hold more than packed, or more than thin each, so that a block costs at most 41 bytes of nodes. */
enum { thin = 14, packed = 28 };

/* ---- memory ---- */

enum { line = 64 }; /* bytes; nodes begin on a line so that vectors do not cross one */

typedef struct chunk {
    struct chunk *next;
} chunk;

static void push(void **spare, void *node) {
    memcpy(node, spare, sizeof *spare);
    *spare = node;
}

static void *pop(void **spare) {
    void *node = *spare;
    memcpy(spare, node, sizeof *spare);
    return node;
}

/* n nodes of a size, linked through their first word, in front of *spare. */
static tla_status stock(tla_free_list *list, size_t size, size_t n, void **spare) {
    size_t nbytes = line + n * size;
    chunk *added = n > SIZE_MAX / size - 1 ? NULL : aligned_alloc(line, nbytes);
    if (!added) return TLA_NO_HOST_MEMORY;
    added->next = list->chunks;
    list->chunks = added;
    char *node = (char *)added + line;
    for (size_t i = 0; i < n; i++, node += size)
        push(spare, node);
    return TLA_OK;
}

/* Grows by an eighth of the present size, so that chunks are few. */
static size_t more(size_t missing, size_t in_use) {
    size_t eighth = in_use / 8;
    return missing > eighth ? missing : eighth;
}

tla_status tla_free_list_stock(tla_free_list *list, size_t leaves, size_t inners) {
    if (list->spare_leaf_count < leaves) {
        size_t n = more(leaves - list->spare_leaf_count, list->leaves);
        if (stock(list, sizeof(tla_free_leaf), n, &list->spare_leaves)) return TLA_NO_HOST_MEMORY;
        list->spare_leaf_count += n;
    }
    if (list->spare_inner_count < inners) {
        size_t n = more(inners - list->spare_inner_count, list->inners);
        if (stock(list, sizeof(tla_free_inner), n, &list->spare_inners)) return TLA_NO_HOST_MEMORY;
        list->spare_inner_count += n;
    }
    return TLA_OK;
}

tla_free_leaf *tla_free_list_new_leaf(tla_free_list *list) {
    tla_free_leaf *leaf = pop(&list->spare_leaves);
    list->spare_leaf_count--;
    list->leaves++;
    memset(leaf->nbytes, 0, sizeof leaf->nbytes);
    memset(leaf->offset, 0xff, sizeof leaf->offset);
    return leaf;
}

static tla_free_inner *new_inner(tla_free_list *list) {
    tla_free_inner *inner = pop(&list->spare_inners);
    list->spare_inner_count--;
    list->inners++;
    memset(inner, 0, sizeof *inner);
    memset(inner->first, 0xff, sizeof inner->first);
    return inner;
}

static void drop_leaf(tla_free_list *list, tla_free_leaf *leaf) {
    push(&list->spare_leaves, leaf);
    list->spare_leaf_count++;
    list->leaves--;
}

static void drop_inner(tla_free_list *list, tla_free_inner *inner) {
    push(&list->spare_inners, inner);
    list->spare_inner_count++;
    list->inners--;
}

tla_status tla_free_list_init(tla_free_list *list) {
    *list = (tla_free_list){0};
    if (tla_free_list_stock(list, 1, 0)) return TLA_NO_HOST_MEMORY;
    list->root = tla_free_list_new_leaf(list);
    return TLA_OK;
}

void tla_free_list_release(tla_free_list *list) {
    for (chunk *next, *at = list->chunks; at; at = next) {
        next = at->next;
        free(at);
    }
}

size_t tla_free_list_host_bytes(const tla_free_list *list) {
    return list->leaves * sizeof(tla_free_leaf) + list->inners * sizeof(tla_free_inner);
}

/* A put splits at most one node a level and makes a new root. A leaf that splits was full before, or 16 puts went
 * there; one that was merged may be nearly full, but its merge gave a leaf back. An inner node that was merged may be
 * full again after four splits below it. */
tla_status tla_free_list_make_room(tla_free_list *list, size_t n) {
    if (n >= UINT32_MAX - list->count) return TLA_NO_HOST_MEMORY;
    size_t leaves = list->leaves + n / (FAN / 2) + 1;
    if (leaves > n) leaves = n;
    size_t inners = list->inners + leaves / 4 + 1;
    if (inners > leaves * (list->height + 1)) inners = leaves * (list->height + 1);
    return tla_free_list_stock(list, leaves, inners + list->height + 1);
}

/* ---- upkeep of the levels above ---- */

void tla_free_list_set_first(tla_free_list *list, const tla_free_spot *spot, uint64_t offset) {
    for (unsigned level = list->height; level-- > 0;) {
        spot->path[level].node->first[spot->path[level].slot] = offset;
        if (spot->path[level].slot > 0) return;
    }
}

/* In the levels above `level`. */
static void raise_above(const tla_free_spot *spot, unsigned level, uint64_t nbytes) {
    while (level-- > 0) {
        uint64_t *largest = &spot->path[level].node->largest[spot->path[level].slot];
        if (*largest >= nbytes) return;
        *largest = nbytes;
    }
}

void tla_free_list_raise(tla_free_list *list, const tla_free_spot *spot, uint64_t nbytes) {
    raise_above(spot, list->height, nbytes);
}

/* The node below the slot may hold less than it did. */
IN_NODE void lower_from(const tla_free_spot *spot, unsigned levels, const uint64_t *below, uint64_t old_nbytes) {
    while (levels-- > 0) {
        tla_free_inner *node = spot->path[levels].node;
        uint64_t *largest = &node->largest[spot->path[levels].slot];
        if (*largest != old_nbytes) return;
        *largest = largest_of(below);
        if (*largest == old_nbytes) return;
        below = node->largest;
    }
}

FOR_EACH_VECTOR_UNIT void tla_free_list_lower(tla_free_list *list, const tla_free_spot *spot, uint64_t old_nbytes) {
    if (list->height > 0 && spot->path[list->height - 1].node->largest[spot->path[list->height - 1].slot] == old_nbytes)
        lower_from(spot, list->height, spot->leaf->nbytes, old_nbytes);
}

/* `change` blocks more (or less, modulo 2^32) below the spot. */
IN_NODE void count(tla_free_list *list, const tla_free_spot *spot, uint32_t change) {
    list->count += change;
    for (unsigned level = 0; level < list->height; level++) {
        uint32_t *before = spot->path[level].node->before;
        for (unsigned i = 0; i < FAN; i++)
            before[i] += i > spot->path[level].slot ? change : 0;
    }
}

/* ---- insertion ---- */

#define OPEN_SLOT(array, slot) memmove((array) + (slot) + 1, (array) + (slot), (FAN - 1 - (slot)) * sizeof *(array))
#define CLOSE_SLOT(array, slot) memmove((array) + (slot), (array) + (slot) + 1, (FAN - 1 - (slot)) * sizeof *(array))

/* Moves the upper half of an array to another, leaving `unused` behind. */
static void move_half(uint64_t *from, uint64_t *to, uint64_t unused) {
    for (int i = 0; i < FAN / 2; i++) {
        to[i] = from[FAN / 2 + i];
        from[FAN / 2 + i] = unused;
    }
}

/* Makes a root above the root, which becomes its only child. */
static void add_root(tla_free_list *list, tla_free_spot *spot, uint64_t first, uint64_t largest) {
    tla_free_inner *root = new_inner(list);
    root->child[0] = list->root;
    root->first[0] = first;
    root->largest[0] = largest;
    memmove(spot->path + 1, spot->path, list->height * sizeof *spot->path);
    spot->path[0].node = root;
    spot->path[0].slot = 0;
    list->root = root;
    list->height++;
}

/* Puts a child into the node `up` levels above the leaf, after the slot of the path, and splits as needed; the path
 * still leads to the same child. That child has moved all but `before` of its blocks to the new child. */
static void add_child(tla_free_list *list, tla_free_spot *spot, unsigned up, void *child, uint64_t first,
                      uint64_t largest, uint32_t before) {
    unsigned level = list->height - up;
    tla_free_inner *node = spot->path[level].node;
    if (node->first[FAN - 1] != NOWHERE) {
        if (level == 0) add_root(list, spot, node->first[0], 0);
        tla_free_inner *right = new_inner(list);
        uint32_t half = node->before[FAN / 2];
        for (int i = 0; i < FAN / 2; i++) {
            right->before[i] = node->before[FAN / 2 + i] - half;
            right->child[i] = node->child[FAN / 2 + i];
        }
        move_half(node->first, right->first, NOWHERE);
        move_half(node->largest, right->largest, 0);
        level = list->height - up;
        spot->path[level - 1].node->largest[spot->path[level - 1].slot] = largest_of(node->largest);
        add_child(list, spot, up + 1, right, right->first[0], largest_of(right->largest), half);
        level = list->height - up;
        if (spot->path[level].slot >= FAN / 2) {
            spot->path[level - 1].slot++;
            spot->path[level].node = node = right;
            spot->path[level].slot -= FAN / 2;
        }
        raise_above(spot, level, largest); /* the new child was not there yet when the halves were measured */
    }
    unsigned slot = spot->path[level].slot + 1;
    OPEN_SLOT(node->child, slot);
    OPEN_SLOT(node->first, slot);
    OPEN_SLOT(node->largest, slot);
    OPEN_SLOT(node->before, slot);
    node->child[slot] = child;
    node->first[slot] = first;
    node->largest[slot] = largest;
    node->before[slot] = node->before[slot - 1] + before;
}

static void split_leaf(tla_free_list *list, tla_free_spot *spot) {
    tla_free_leaf *left = spot->leaf, *right = tla_free_list_new_leaf(list);
    move_half(left->offset, right->offset, NOWHERE);
    move_half(left->nbytes, right->nbytes, 0);
    if (list->height == 0) add_root(list, spot, left->offset[0], 0);
    unsigned level = list->height - 1;
    spot->path[level].node->largest[spot->path[level].slot] = largest_of(left->nbytes);
    add_child(list, spot, 1, right, right->offset[0], largest_of(right->nbytes), FAN / 2);
    if (spot->slot > FAN / 2) {
        spot->path[list->height - 1].slot++;
        spot->leaf = right;
        spot->slot -= FAN / 2;
    }
}

FOR_EACH_VECTOR_UNIT void tla_free_list_insert(tla_free_list *list, tla_free_spot *spot, tla_block block) {
    if (spot->leaf->offset[FAN - 1] != NOWHERE) split_leaf(list, spot);
    OPEN_SLOT(spot->leaf->offset, spot->slot);
    OPEN_SLOT(spot->leaf->nbytes, spot->slot);
    spot->leaf->offset[spot->slot] = block.offset;
    spot->leaf->nbytes[spot->slot] = block.nbytes;
    tla_free_list_raise(list, spot, block.nbytes);
    if (spot->slot == 0) tla_free_list_set_first(list, spot, block.offset);
    count(list, spot, 1);
}

/* ---- removal ---- */

static bool used(const uint64_t *offsets, unsigned slot) {
    return slot < FAN && offsets[slot] != NOWHERE;
}

static void merge_inner(tla_free_list *list, tla_free_spot *spot, unsigned up);

/* Closes a slot of the node `up` levels above the leaf; its child is empty, or has moved to the slot before. */
static void remove_child(tla_free_list *list, tla_free_spot *spot, unsigned up, unsigned slot) {
    unsigned level = list->height - up;
    tla_free_inner *node = spot->path[level].node;
    CLOSE_SLOT(node->child, slot);
    CLOSE_SLOT(node->first, slot);
    CLOSE_SLOT(node->largest, slot);
    CLOSE_SLOT(node->before, slot);
    node->first[FAN - 1] = NOWHERE;
    node->largest[FAN - 1] = 0;
    if (!used(node->first, 0)) {
        drop_inner(list, node);
        remove_child(list, spot, up + 1, spot->path[level - 1].slot);
        return;
    }
    for (unsigned l = level; slot == 0 && l-- > 0;) {
        spot->path[l].node->first[spot->path[l].slot] = node->first[0];
        if (spot->path[l].slot > 0) break;
    }
    if (level > 0) {
        if (!used(node->first, thin)) merge_inner(list, spot, up);
        return;
    }
    while (list->height > 0 && !used(((tla_free_inner *)list->root)->first, 1)) {
        node = list->root;
        list->root = node->child[0];
        list->height--;
        drop_inner(list, node);
    }
}

/* Whether the child in `slot` of a parent and the next one fit into one node; *n and *m are their used slots. */
static bool fit_together(const tla_free_inner *parent, unsigned slot, bool leaves, unsigned *n, unsigned *m) {
    if (!used(parent->first, slot + 1)) return false;
    const void *left = parent->child[slot], *right = parent->child[slot + 1];
    *n = used_slots(leaves ? ((const tla_free_leaf *)left)->offset : ((const tla_free_inner *)left)->first);
    *m = used_slots(leaves ? ((const tla_free_leaf *)right)->offset : ((const tla_free_inner *)right)->first);
    return *n + *m <= packed;
}

/* The slot of the left one of two neighbours of which one is the path's at this level and that fit into one node. */
static bool find_pair(const tla_free_inner *parent, unsigned slot, bool leaves, unsigned *left, unsigned *n,
                      unsigned *m) {
    *left = slot;
    if (fit_together(parent, slot, leaves, n, m)) return true;
    *left = slot - 1;
    return slot > 0 && fit_together(parent, slot - 1, leaves, n, m);
}

static void take_larger(tla_free_inner *parent, unsigned slot) {
    if (parent->largest[slot + 1] > parent->largest[slot]) parent->largest[slot] = parent->largest[slot + 1];
}

static void merge_inner(tla_free_list *list, tla_free_spot *spot, unsigned up) {
    unsigned level = list->height - up - 1, slot, n, m;
    tla_free_inner *parent = spot->path[level].node;
    if (!find_pair(parent, spot->path[level].slot, false, &slot, &n, &m)) return;
    tla_free_inner *left = parent->child[slot], *right = parent->child[slot + 1];
    uint32_t below_left = parent->before[slot + 1] - parent->before[slot];
    memcpy(left->child + n, right->child, m * sizeof *left->child);
    memcpy(left->first + n, right->first, m * sizeof *left->first);
    memcpy(left->largest + n, right->largest, m * sizeof *left->largest);
    for (unsigned i = 0; i < m; i++)
        left->before[n + i] = right->before[i] + below_left;
    take_larger(parent, slot);
    drop_inner(list, right);
    remove_child(list, spot, up + 1, slot + 1);
}

static void merge_leaf(tla_free_list *list, tla_free_spot *spot) {
    unsigned level = list->height - 1, slot, n, m;
    tla_free_inner *parent = spot->path[level].node;
    if (!find_pair(parent, spot->path[level].slot, true, &slot, &n, &m)) return;
    tla_free_leaf *left = parent->child[slot], *right = parent->child[slot + 1];
    memcpy(left->offset + n, right->offset, m * sizeof *left->offset);
    memcpy(left->nbytes + n, right->nbytes, m * sizeof *left->nbytes);
    take_larger(parent, slot);
    drop_leaf(list, right);
    remove_child(list, spot, 1, slot + 1);
}

FOR_EACH_VECTOR_UNIT void tla_free_list_remove(tla_free_list *list, tla_free_spot *spot) {
    tla_free_leaf *leaf = spot->leaf;
    uint64_t old = leaf->nbytes[spot->slot];
    CLOSE_SLOT(leaf->offset, spot->slot);
    CLOSE_SLOT(leaf->nbytes, spot->slot);
    leaf->offset[FAN - 1] = NOWHERE;
    leaf->nbytes[FAN - 1] = 0;
    count(list, spot, UINT32_MAX);
    if (list->height == 0) return;
    lower_from(spot, list->height, leaf->nbytes, old);
    if (!used(leaf->offset, 0)) {
        drop_leaf(list, leaf);
        remove_child(list, spot, 1, spot->path[list->height - 1].slot);
        return;
    }
    if (spot->slot == 0) tla_free_list_set_first(list, spot, leaf->offset[0]);
    if (!used(leaf->offset, thin)) merge_leaf(list, spot);
}
