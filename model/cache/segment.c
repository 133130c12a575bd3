/* The treap of free blocks, and the list of blocks of a segment. */
#include "segment.h"

#include <stdlib.h>

/* Where the addresses of one range are taken for more than they are, as a replay may do for a while, another range can
 * begin among them. */
static bool is_below(const tla_segment_tree *tree, const tla_segment_block *a, const tla_segment_block *b) {
    if (a->stream != b->stream) return a->stream < b->stream;
    if (a->nbytes != b->nbytes && !tree->by_address) return a->nbytes < b->nbytes;
    if (a->address != b->address) return a->address < b->address;
    return a->range && b->range && a->range->address < b->range->address;
}

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014); a bijection, so that no two blocks have the same priority. */
static uint64_t priority_of(const tla_segment_block *block) {
    uint64_t x = block->address + 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Cuts a tree in those below the block and the others. */
static void divide(const tla_segment_tree *tree, tla_segment_block *node, const tla_segment_block *at,
                   tla_segment_block **below, tla_segment_block **rest) {
    while (node) {
        if (is_below(tree, node, at)) {
            *below = node;
            below = &node->right;
            node = node->right;
        } else {
            *rest = node;
            rest = &node->left;
            node = node->left;
        }
    }
    *below = *rest = NULL;
}

void tla_segment_tree_insert(tla_segment_tree *tree, tla_segment_block *block) {
    tla_segment_block **link = &tree->root;
    block->priority = priority_of(block);
    while (*link && (*link)->priority > block->priority)
        link = is_below(tree, *link, block) ? &(*link)->right : &(*link)->left;
    divide(tree, *link, block, &block->left, &block->right);
    *link = block;
    tree->count++;
}

void tla_segment_tree_remove(tla_segment_tree *tree, tla_segment_block *block) {
    tla_segment_block **link = &tree->root;
    while (*link != block)
        link = is_below(tree, *link, block) ? &(*link)->right : &(*link)->left;
    tla_segment_block *left = block->left, *right = block->right;
    while (left && right) {
        if (left->priority > right->priority) {
            *link = left;
            link = &left->right;
            left = left->right;
        } else {
            *link = right;
            link = &right->left;
            right = right->left;
        }
    }
    *link = left ? left : right;
    tree->count--;
}

tla_segment_block *tla_segment_tree_lower_bound(const tla_segment_tree *tree, const tla_segment_block *key) {
    tla_segment_block *found = NULL;
    for (tla_segment_block *node = tree->root; node;) {
        bool below = is_below(tree, node, key);
        if (!below) found = node;
        node = below ? node->right : node->left;
    }
    return found;
}

tla_segment_block *tla_segment_tree_below(const tla_segment_tree *tree, const tla_segment_block *key) {
    tla_segment_block *found = NULL;
    for (tla_segment_block *node = tree->root; node;) {
        bool below = is_below(tree, node, key);
        if (below) found = node;
        node = below ? node->right : node->left;
    }
    return found;
}

tla_segment_block *tla_segment_tree_first(const tla_segment_tree *tree) {
    tla_segment_block *node = tree->root;
    while (node && node->left)
        node = node->left;
    return node;
}

tla_segment_block *tla_segment_tree_after(const tla_segment_tree *tree, const tla_segment_block *block) {
    tla_segment_block next = {.stream = block->stream, .nbytes = block->nbytes, .address = block->address + 1};
    return tla_segment_tree_lower_bound(tree, &next);
}

uint64_t tla_segment_tree_probes(const tla_segment_tree *tree) {
    return tree->count ? 64 - (uint64_t)__builtin_clzll(tree->count) : 0;
}

void tla_segment_split(tla_segment_block *block, uint64_t nbytes, tla_segment_block *front) {
    *front = (tla_segment_block){.address = block->address,
                                 .nbytes = nbytes,
                                 .stream = block->stream,
                                 .previous = block->previous,
                                 .next = block,
                                 .owner = block->owner,
                                 .range = block->range,
                                 .small = block->small};
    if (block->previous) block->previous->next = front;
    block->previous = front;
    block->address += nbytes;
    block->nbytes -= nbytes;
}

void tla_segment_join(tla_segment_block *block, tla_segment_block *neighbour) {
    if (block->previous == neighbour) {
        block->address = neighbour->address;
        block->previous = neighbour->previous;
        if (block->previous) block->previous->next = block;
    } else {
        block->next = neighbour->next;
        if (block->next) block->next->previous = block;
    }
    block->nbytes += neighbour->nbytes;
}

tla_status tla_segment_records_reserve(tla_segment_records *records, size_t n) {
    while (records->count < n) {
        tla_segment_block *block = malloc(sizeof *block);
        if (!block) return TLA_NO_HOST_MEMORY;
        tla_segment_records_give(records, block);
    }
    return TLA_OK;
}

tla_segment_block *tla_segment_records_take(tla_segment_records *records) {
    tla_segment_block *block = records->spare;
    records->spare = block->next;
    records->count--;
    return block;
}

void tla_segment_records_give(tla_segment_records *records, tla_segment_block *block) {
    block->next = records->spare;
    records->spare = block;
    records->count++;
}

void tla_segment_records_clear(tla_segment_records *records) {
    while (records->count)
        free(tla_segment_records_take(records));
}
