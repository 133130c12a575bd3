/* Live blocks as a treap: a search tree by offset that is a heap by a priority drawn from the offset, so that its shape
 * depends on nothing but its content (Seidel and Aragon, Algorithmica 16, 1996). Nodes are indices into one array. */
#include "live_blocks.h"
#include "base/grow.h"

#include <stdlib.h>

typedef struct {
    tla_live_block entry;
    uint32_t left, right; /* 0 = none */
} node;

struct tla_live_blocks {
    node *nodes; /* nodes[0] is not used */
    size_t room, used;
    uint32_t root, spare; /* spare nodes are linked by `left` */
    size_t count;
};

tla_live_blocks *tla_live_blocks_create(void) {
    tla_live_blocks *live = calloc(1, sizeof *live);
    if (live) live->used = 1;
    return live;
}

void tla_live_blocks_destroy(tla_live_blocks *live) {
    if (!live) return;
    free(live->nodes);
    free(live);
}

size_t tla_live_blocks_count(const tla_live_blocks *live) {
    return live->count;
}

tla_status tla_live_blocks_make_room(tla_live_blocks *live, size_t n) {
    if (n >= UINT32_MAX - live->count - 1) return TLA_NO_HOST_MEMORY;
    const size_t need = live->count + 1 + n;
    return tla_grow(&live->nodes, &live->room, need, sizeof *live->nodes) ? TLA_OK : TLA_NO_HOST_MEMORY;
}

/* The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014): a bijection, so priorities never tie. */
static uint64_t priority(uint64_t offset) {
    offset = (offset ^ (offset >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    offset = (offset ^ (offset >> 27)) * UINT64_C(0x94d049bb133111eb);
    return offset ^ (offset >> 31);
}

static uint64_t offset_of(const tla_live_blocks *live, uint32_t index) {
    return live->nodes[index].entry.block.offset;
}

void tla_live_blocks_insert(tla_live_blocks *live, tla_block block, tla_owner owner) {
    uint32_t index = live->spare;
    if (index)
        live->spare = live->nodes[index].left;
    else
        index = (uint32_t)live->used++;
    node *added = &live->nodes[index];
    *added = (node){.entry = {block, owner}};
    uint64_t mine = priority(block.offset);
    uint32_t *link = &live->root;
    while (*link && priority(offset_of(live, *link)) > mine) {
        node *at = &live->nodes[*link];
        link = at->entry.block.offset < block.offset ? &at->right : &at->left;
    }
    /* the subtree below is split by the offset into the new node's two sides */
    uint32_t rest = *link, *below = &added->left, *above = &added->right;
    *link = index;
    while (rest) {
        node *at = &live->nodes[rest];
        if (at->entry.block.offset < block.offset) {
            *below = rest;
            below = &at->right;
            rest = at->right;
        } else {
            *above = rest;
            above = &at->left;
            rest = at->left;
        }
    }
    *below = *above = 0;
    live->count++;
}

void tla_live_blocks_remove(tla_live_blocks *live, uint64_t offset) {
    uint32_t *link = &live->root;
    while (offset_of(live, *link) != offset)
        link = offset_of(live, *link) < offset ? &live->nodes[*link].right : &live->nodes[*link].left;
    uint32_t index = *link, left = live->nodes[index].left, right = live->nodes[index].right;
    while (left && right) {
        if (priority(offset_of(live, left)) > priority(offset_of(live, right))) {
            *link = left;
            link = &live->nodes[left].right;
            left = *link;
        } else {
            *link = right;
            link = &live->nodes[right].left;
            right = *link;
        }
    }
    *link = left ? left : right;
    live->nodes[index].left = live->spare;
    live->spare = index;
    live->count--;
}

const tla_live_block *tla_live_blocks_at_or_below(const tla_live_blocks *live, uint64_t offset) {
    const tla_live_block *found = NULL;
    for (uint32_t at = live->root; at;) {
        const node *n = &live->nodes[at];
        if (n->entry.block.offset <= offset) {
            found = &n->entry;
            at = n->right;
        } else {
            at = n->left;
        }
    }
    return found;
}

const tla_live_block *tla_live_blocks_at_or_above(const tla_live_blocks *live, uint64_t offset) {
    const tla_live_block *found = NULL;
    for (uint32_t at = live->root; at;) {
        const node *n = &live->nodes[at];
        if (n->entry.block.offset >= offset) {
            found = &n->entry;
            at = n->left;
        } else {
            at = n->right;
        }
    }
    return found;
}
