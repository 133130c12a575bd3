/* B+ trees over (nbytes, offset) whose inner nodes keep the first key of each child.
 *
 * A full node is split in halves; one that gets small is joined with a neighbour when both fit well into one node, and
 * goes when it is empty. Nothing is borrowed. */
#include "size_index.h"
#include "vector_units.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROOM = 32,             /* of a node */
    SMALL = ROOM / 4,      /* a node below this looks for a neighbour to join */
    JOINED = ROOM * 3 / 4, /* and joins it when both together are no more than this */
    FEW = 8                /* blocks of a leaf that a plain loop searches faster than vectors */
};

/* As in the free list's tree, unused slots hold a key that is before no key, so that every loop runs over a whole node.
 * */
struct tla_size_node {
    uint64_t nbytes[ROOM]; /* leaf: the blocks; inner: the first block below each child, but 0 for the first child */
    uint64_t offset[ROOM];
    tla_size_node *children[ROOM]; /* inner nodes only; [0] links the spares */
    unsigned count;
};

#define UNUSED UINT64_MAX
static const tla_block lowest_key = {0, 0};

static tla_block key_at(const tla_size_node *node, unsigned slot) {
    return (tla_block){node->offset[slot], node->nbytes[slot]};
}

static void set_key(tla_size_node *node, unsigned slot, tla_block key) {
    node->nbytes[slot] = key.nbytes;
    node->offset[slot] = key.offset;
}

/* How many keys of a node are before (nbytes, offset). */
IN_NODE unsigned count_before(const tla_size_node *node, uint64_t nbytes, uint64_t offset) {
    uint64_t count = 0;
    for (int i = 0; i < ROOM; i++)
        count += (node->nbytes[i] < nbytes) | ((node->nbytes[i] == nbytes) & (node->offset[i] < offset));
    return (unsigned)count;
}

/* The child of an inner node under which `key` belongs: the last whose first block is not after it. */
IN_NODE unsigned route(const tla_size_node *node, tla_block key) {
    unsigned count = count_before(node, key.nbytes, key.offset + 1);
    return count - (count > 0);
}

tla_status tla_size_index_make_room(tla_size_index *index, size_t n) {
    /* Each of n inserts may split its whole path and make a root. But an existing node splits once, and again only
     * after ROOM - JOINED more inserts. A split is an insert into the level above, in all less than a seventh of the
     * level below. A class begins once, and grows a root after more than ROOM inserts. */
    size_t paths = n > SIZE_MAX / (2 * TLA_SIZE_INDEX_HEIGHT) ? SIZE_MAX : n * (index->tallest + 2);
    size_t nodes = index->nodes + index->nodes / 4 + n / (ROOM - JOINED) / 3 * 4 + 2 * TLA_CLASSES;
    size_t wanted = paths < nodes ? paths : nodes;
    if (n > 1) wanted += TLA_SIZE_INDEX_HEIGHT + 2; /* the last insert asks again, and must find enough */
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
    memset(node->nbytes, 0xff, sizeof node->nbytes);
    return node;
}

static void give_back(tla_size_index *index, tla_size_node *node) {
    index->nodes--;
    if (index->spares > 2 * TLA_SIZE_INDEX_HEIGHT) {
        free(node);
        return;
    }
    node->children[0] = index->spare;
    index->spare = node;
    index->spares++;
}

tla_status tla_size_index_init(tla_size_index *index) {
    memset(index, 0, sizeof *index);
    return tla_size_index_make_room(index, 1);
}

static void release_below(tla_size_node *node, unsigned height) {
    for (unsigned i = 0; height > 0 && i < node->count; i++)
        release_below(node->children[i], height - 1);
    free(node);
}

void tla_size_index_release(tla_size_index *index) {
    for (uint32_t size_class = tla_class_set_next(&index->filled, 0); size_class < TLA_CLASSES;
         size_class = tla_class_set_next(&index->filled, size_class + 1))
        release_below(index->trees[size_class].root, index->trees[size_class].height);
    while (index->spare) {
        tla_size_node *next = index->spare->children[0];
        free(index->spare);
        index->spare = next;
    }
}

/* A leaf of few blocks, as most are where a heap is small. */
IN_NODE unsigned few_before(const tla_size_node *leaf, tla_block key) {
    unsigned slot = 0;
    while (slot < leaf->count &&
           (leaf->nbytes[slot] < key.nbytes || (leaf->nbytes[slot] == key.nbytes && leaf->offset[slot] < key.offset)))
        slot++;
    return slot;
}

FOR_EACH_VECTOR_UNIT static void descend_tree(tla_size_node *node, unsigned height, tla_block key, tla_size_path *p) {
    for (unsigned level = height; level > 0; level--) {
        unsigned slot = route(node, key);
        p->nodes[level] = node;
        p->slots[level] = slot;
        if (slot > 0) {
            p->first = node;
            p->first_slot = slot;
        }
        node = node->children[slot];
    }
    p->nodes[0] = node;
    p->slots[0] = count_before(node, key.nbytes, key.offset);
}

/* The way to where `key` is or belongs; the class must have a block. */
static void descend(const tla_size_index *index, uint32_t size_class, tla_block key, tla_size_path *p) {
    tla_size_node *root = index->trees[size_class].root;
    unsigned height = index->trees[size_class].height;
    p->size_class = size_class;
    p->first = NULL;
    p->first_slot = 0;
    if (height == 0 && root->count <= FEW) {
        p->nodes[0] = root;
        p->slots[0] = few_before(root, key);
    } else {
        descend_tree(root, height, key, p);
    }
}

/* From the end of a leaf to the beginning of the next one. */
static bool next_leaf(const tla_size_index *index, tla_size_path *p) {
    unsigned level = 1, height = index->trees[p->size_class].height;
    while (level <= height && p->slots[level] + 1 == p->nodes[level]->count)
        level++;
    if (level > height) return false;
    p->first = p->nodes[level];
    p->first_slot = ++p->slots[level];
    for (; level > 0; level--) {
        p->nodes[level - 1] = p->nodes[level]->children[p->slots[level]];
        p->slots[level - 1] = 0;
    }
    return true;
}

bool tla_size_index_at_least(const tla_size_index *index, tla_block key, tla_size_path *found) {
    uint32_t size_class = tla_class_of(key.nbytes), next = tla_class_set_next(&index->filled, size_class);
    if (next == size_class) {
        descend(index, size_class, key, found);
        if (found->slots[0] < found->nodes[0]->count || next_leaf(index, found)) return true;
        next = tla_class_set_next(&index->filled, size_class + 1);
    }
    if (next == TLA_CLASSES) return false;
    descend(index, next, lowest_key, found);
    return true;
}

tla_block tla_size_index_block(const tla_size_path *at) {
    return key_at(at->nodes[0], at->slots[0]);
}

static void open_gap(tla_size_node *node, unsigned at, bool inner) {
    unsigned n = node->count++ - at;
    memmove(node->nbytes + at + 1, node->nbytes + at, n * sizeof node->nbytes[0]);
    memmove(node->offset + at + 1, node->offset + at, n * sizeof node->offset[0]);
    if (inner) memmove(node->children + at + 1, node->children + at, n * sizeof node->children[0]);
}

static void close_gap(tla_size_node *node, unsigned at, bool inner) {
    unsigned n = --node->count - at;
    memmove(node->nbytes + at, node->nbytes + at + 1, n * sizeof node->nbytes[0]);
    memmove(node->offset + at, node->offset + at + 1, n * sizeof node->offset[0]);
    if (inner) memmove(node->children + at, node->children + at + 1, n * sizeof node->children[0]);
    node->nbytes[node->count] = UNUSED;
}

/* Moves the entries of `from` from position `at` on to the end of `to`. */
static void move_tail(tla_size_node *from, unsigned at, tla_size_node *to, bool inner) {
    for (unsigned i = at; i < from->count; i++, to->count++) {
        set_key(to, to->count, key_at(from, i));
        if (inner) to->children[to->count] = from->children[i];
        from->nbytes[i] = UNUSED;
    }
    from->count = at;
}

static void add_root(tla_size_index *index, uint32_t size_class, tla_block first, tla_size_node *right) {
    tla_size_node *root = take_spare(index);
    root->count = 2;
    set_key(root, 0, lowest_key);
    set_key(root, 1, first);
    root->children[0] = index->trees[size_class].root;
    root->children[1] = right;
    index->trees[size_class].root = root;
    unsigned height = ++index->trees[size_class].height;
    if (height > index->tallest) index->tallest = height;
}

void tla_size_index_insert(tla_size_index *index, tla_block block) {
    tla_size_path p;
    uint32_t size_class = tla_class_of(block.nbytes);
    tla_size_node **root = &index->trees[size_class].root, *child = NULL;
    index->count++;
    if (!*root) {
        *root = take_spare(index);
        tla_class_set_add(&index->filled, size_class);
    }
    descend(index, size_class, block, &p);
    /* In a leaf the block is inserted alone; in a level above, it is inserted with a child: the right half of the split
     * node. */
    for (unsigned level = 0;; level++) {
        if (level > index->trees[size_class].height) { /* the root was split */
            add_root(index, size_class, block, child);
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
        set_key(node, at, block);
        if (level > 0) node->children[at] = child;
        if (!right) return;
        block = key_at(right, 0);
        if (level > 0) set_key(right, 0, lowest_key);
        child = right;
    }
}

/* Joins child `left` of an inner node with the one behind it, when they are small enough. */
static bool join(tla_size_index *index, tla_size_node *parent, unsigned left, bool inner) {
    if (left + 1 >= parent->count) return false;
    tla_size_node *a = parent->children[left], *b = parent->children[left + 1];
    if (a->count + b->count > JOINED) return false;
    set_key(b, 0, key_at(parent, left + 1)); /* what an inner node does not keep itself */
    move_tail(b, 0, a, inner);
    give_back(index, b);
    close_gap(parent, left + 1, true);
    return true;
}

/* The subtrees of the path begin with another block now. */
static void set_first(const tla_size_path *p, tla_block first) {
    if (p->first) set_key(p->first, p->first_slot, first);
}

void tla_size_index_remove_at(tla_size_index *index, const tla_size_path *p) {
    tla_size_node *leaf = p->nodes[0], **root = &index->trees[p->size_class].root;
    unsigned *height = &index->trees[p->size_class].height;
    index->count--;
    close_gap(leaf, p->slots[0], false);
    if (p->slots[0] == 0 && leaf->count > 0) set_first(p, key_at(leaf, 0));
    for (unsigned level = 0; level < *height && p->nodes[level]->count < SMALL; level++) {
        tla_size_node *parent = p->nodes[level + 1];
        unsigned slot = p->slots[level + 1];
        if (p->nodes[level]->count > 0) {
            if (join(index, parent, slot, level > 0) || (slot > 0 && join(index, parent, slot - 1, level > 0)))
                continue;
            break;
        }
        give_back(index, p->nodes[level]);
        close_gap(parent, slot, true);
        if (slot == 0 && parent->count > 0) {
            set_first(p, key_at(parent, 0));
            set_key(parent, 0, lowest_key);
        }
    }
    while (*height > 0 && (*root)->count == 1) {
        tla_size_node *child = (*root)->children[0];
        give_back(index, *root);
        *root = child;
        --*height;
    }
    if ((*root)->count == 0) {
        give_back(index, *root);
        *root = NULL;
        tla_class_set_drop(&index->filled, p->size_class);
    }
}

void tla_size_index_remove(tla_size_index *index, tla_block block) {
    tla_size_path p;
    descend(index, tla_class_of(block.nbytes), block, &p);
    tla_size_index_remove_at(index, &p);
}
