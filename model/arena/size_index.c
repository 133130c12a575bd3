/* A B+ tree over (nbytes, offset) whose inner nodes keep the first key of each child.
 *
 * A full node is split in halves; one that gets small is joined with a neighbour when both fit well into one node, and
 * goes when it is empty. Nothing is borrowed. */
#include "size_index.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROOM = 30,             /* of a node: 30 keys and 30 children are 11 cache lines, half of which a search reads */
    SMALL = ROOM / 4,      /* a node below this looks for a neighbour to join */
    JOINED = ROOM * 3 / 4, /* and joins it when both together are no more than this */
    DEEPEST = 16           /* levels: every level multiplies by more than ten, and 2^63 blocks do not exist */
};

struct tla_size_node {
    unsigned count;
    tla_block first[ROOM];         /* leaf: the blocks; inner: the first block below each child, [0] is not kept */
    tla_size_node *children[ROOM]; /* inner nodes only; [0] links the spares */
};

static inline bool before(tla_block a, tla_block b) {
    return (a.nbytes < b.nbytes) | ((a.nbytes == b.nbytes) & (a.offset < b.offset));
}

/* How many of the first n keys are before `key`, without a branch on data. */
static inline unsigned lower_bound(const tla_block *keys, unsigned n, tla_block key) {
    const tla_block *base = keys;
    while (n > 1) {
        unsigned half = n / 2;
        base = before(base[half - 1], key) ? base + half : base;
        n -= half;
    }
    return (unsigned)(base - keys) + (n == 1 && before(*base, key));
}

/* The child of an inner node under which `key` belongs: the last whose first block is not after it. */
static inline unsigned route(const tla_size_node *node, tla_block key) {
    unsigned position = lower_bound(node->first + 1, node->count - 1, key); /* children 1 .. position are before it */
    if (position + 1 < node->count && !before(key, node->first[position + 1])) position++;
    return position;
}

tla_status tla_size_index_make_room(tla_size_index *index, size_t n) {
    /* Of n inserts each may split its whole path; but a node that is there splits once, and its halves again only after
     * ROOM / 2 more. */
    size_t paths = n > SIZE_MAX / DEEPEST ? SIZE_MAX : n * (index->height + 1), nodes = index->nodes + n / (ROOM / 4);
    size_t wanted = (paths < nodes ? paths : nodes) + index->height + 2;
    while (index->spares < wanted) {
        tla_size_node *node = malloc(sizeof *node);
        if (!node) return TLA_NO_HOST_MEMORY;
        node->children[0] = index->spare;
        index->spare = node;
        index->spares++;
    }
    return TLA_OK;
}

static tla_size_node *take_spare(tla_size_index *index) {
    tla_size_node *node = index->spare;
    index->spare = node->children[0];
    index->spares--;
    index->nodes++;
    node->count = 0;
    return node;
}

static void give_back(tla_size_index *index, tla_size_node *node) {
    index->nodes--;
    if (index->spares > 2 * DEEPEST) {
        free(node);
        return;
    }
    node->children[0] = index->spare;
    index->spare = node;
    index->spares++;
}

tla_status tla_size_index_init(tla_size_index *index) {
    *index = (tla_size_index){0};
    if (tla_size_index_make_room(index, 1)) {
        tla_size_index_release(index);
        return TLA_NO_HOST_MEMORY;
    }
    index->root = take_spare(index);
    return TLA_OK;
}

static void release_below(tla_size_node *node, unsigned height) {
    for (unsigned i = 0; height > 0 && i < node->count; i++)
        release_below(node->children[i], height - 1);
    free(node);
}

void tla_size_index_release(tla_size_index *index) {
    if (index->root) release_below(index->root, index->height);
    while (index->spare) {
        tla_size_node *next = index->spare->children[0];
        free(index->spare);
        index->spare = next;
    }
    *index = (tla_size_index){0};
}

bool tla_size_index_at_least(const tla_size_index *index, tla_block key, tla_block *found) {
    const tla_size_node *node = index->root;
    const tla_block *after = NULL; /* the first block of the nearest subtree behind the path */
    for (unsigned level = index->height; level > 0; level--) {
        unsigned child = route(node, key);
        if (child + 1 < node->count) after = &node->first[child + 1];
        node = node->children[child];
    }
    unsigned position = lower_bound(node->first, node->count, key);
    if (position < node->count) after = &node->first[position];
    if (!after) return false;
    *found = *after;
    return true;
}

/* The way from the root to a leaf: nodes[0] is the leaf, slots[h] the child of nodes[h] that was taken. */
typedef struct path {
    tla_size_node *nodes[DEEPEST];
    unsigned slots[DEEPEST];
    tla_block *first; /* where the first block of the leaf is kept above it; NULL for the leftmost leaf */
} path;

static void descend(const tla_size_index *index, tla_block key, path *p) {
    tla_size_node *node = index->root;
    p->first = NULL;
    for (unsigned level = index->height; level > 0; level--) {
        unsigned slot = route(node, key);
        p->nodes[level] = node;
        p->slots[level] = slot;
        if (slot > 0) p->first = &node->first[slot];
        node = node->children[slot];
    }
    p->nodes[0] = node;
    p->slots[0] = lower_bound(node->first, node->count, key);
}

static void open_gap(tla_size_node *node, unsigned at, bool inner) {
    memmove(node->first + at + 1, node->first + at, (node->count - at) * sizeof node->first[0]);
    if (inner) memmove(node->children + at + 1, node->children + at, (node->count - at) * sizeof node->children[0]);
    node->count++;
}

static void close_gap(tla_size_node *node, unsigned at, bool inner) {
    node->count--;
    memmove(node->first + at, node->first + at + 1, (node->count - at) * sizeof node->first[0]);
    if (inner) memmove(node->children + at, node->children + at + 1, (node->count - at) * sizeof node->children[0]);
}

/* Moves the entries of `from` from position `at` on to the end of `to`. */
static void move_tail(tla_size_node *from, unsigned at, tla_size_node *to, bool inner) {
    unsigned n = from->count - at;
    memcpy(to->first + to->count, from->first + at, n * sizeof to->first[0]);
    if (inner) memcpy(to->children + to->count, from->children + at, n * sizeof to->children[0]);
    to->count += n;
    from->count = at;
}

void tla_size_index_insert(tla_size_index *index, tla_block block) {
    path p;
    descend(index, block, &p);
    tla_size_node *child = NULL; /* what goes in beside the key: nothing in a leaf, the new right half above */
    index->count++;
    for (unsigned level = 0;; level++) {
        if (level > index->height) { /* the root was split */
            tla_size_node *root = take_spare(index);
            root->count = 2;
            root->children[0] = index->root;
            root->first[1] = block;
            root->children[1] = child;
            index->root = root;
            index->height = level;
            return;
        }
        tla_size_node *node = p.nodes[level], *right = NULL;
        unsigned at = level == 0 ? p.slots[0] : p.slots[level] + 1;
        if (node->count == ROOM) {
            right = take_spare(index);
            move_tail(node, ROOM / 2, right, level > 0);
            if (at > ROOM / 2) {
                at -= ROOM / 2;
                node = right;
            }
        }
        open_gap(node, at, level > 0);
        node->first[at] = block;
        if (level > 0) node->children[at] = child;
        if (!right) return;
        block = right->first[0];
        child = right;
    }
}

/* Joins child `left` of an inner node with the one behind it, when they are small enough. */
static bool join(tla_size_index *index, tla_size_node *parent, unsigned left, bool inner) {
    if (left + 1 >= parent->count) return false;
    tla_size_node *a = parent->children[left], *b = parent->children[left + 1];
    if (a->count + b->count > JOINED) return false;
    b->first[0] = parent->first[left + 1]; /* what an inner node does not keep itself */
    move_tail(b, 0, a, inner);
    give_back(index, b);
    close_gap(parent, left + 1, true);
    return true;
}

void tla_size_index_remove(tla_size_index *index, tla_block block) {
    path p;
    descend(index, block, &p);
    tla_size_node *leaf = p.nodes[0];
    index->count--;
    close_gap(leaf, p.slots[0], false);
    if (p.slots[0] == 0 && leaf->count > 0 && p.first) *p.first = leaf->first[0];
    for (unsigned level = 0; level < index->height && p.nodes[level]->count < SMALL; level++) {
        tla_size_node *parent = p.nodes[level + 1];
        unsigned slot = p.slots[level + 1];
        if (p.nodes[level]->count > 0) {
            if (join(index, parent, slot, level > 0) || (slot > 0 && join(index, parent, slot - 1, level > 0)))
                continue;
            break;
        }
        give_back(index, p.nodes[level]);
        close_gap(parent, slot, true);
        if (slot == 0 && parent->count > 0 && p.first) *p.first = parent->first[0];
    }
    while (index->height > 0 && index->root->count == 1) {
        tla_size_node *child = index->root->children[0];
        give_back(index, index->root);
        index->root = child;
        index->height--;
    }
}
