/* A list of all free blocks, which knows their neighbours, and a list for each size class, which is searched. */
#include "tlmalloc/stack/class_list.h"

#include "arena/list_placement.h"

#include <stdlib.h>

enum { LEAST_CLASSES = 2, MOST_CLASSES = 18 };

struct tla_class_list {
    tla_class_list_config config;
    uint64_t shrunk, used;
    unsigned classes;
    tla_free_list all; /* the free blocks */
    tla_free_list of[MOST_CLASSES];
};

static const uint64_t largest = (uint64_t)1 << 63, first_class = 1024;

static unsigned log2_of(uint64_t n) {
    return 63 - (unsigned)__builtin_clzll(n);
}

static unsigned class_of(const tla_class_list *c, uint64_t nbytes) {
    const unsigned i = nbytes < 2 * first_class ? 0 : log2_of(nbytes / first_class);
    return i < c->classes ? i : c->classes - 1;
}

static unsigned classes_for(uint64_t bytes) {
    const unsigned bits = bytes < first_class ? 0 : log2_of(bytes / first_class) + 1;
    return bits < LEAST_CLASSES ? LEAST_CLASSES : bits > MOST_CLASSES ? MOST_CLASSES : bits;
}

tla_status tla_class_list_create(const tla_class_list_config *config, tla_class_list **out) {
    *out = NULL;
    tla_class_list_config c = *config;
    if (c.alignment == 0) c.alignment = 1;
    if (c.least == 0) c.least = 1;
    const uint64_t mask = c.alignment - 1;
    if (c.bytes == 0 || c.base > largest || c.bytes > largest - c.base || c.least > largest || (c.alignment & mask) ||
        ((c.base | c.bytes) & mask) || c.search > TLA_CLASS_BEST)
        return TLA_INVALID_ARGUMENT;
    tla_class_list *made = calloc(1, sizeof *made);
    if (!made) return TLA_NO_HOST_MEMORY;
    made->config = c;
    tla_free_join join;
    tla_status status = tla_free_list_init(&made->all);
    const unsigned classes = classes_for(c.bytes);
    for (; made->classes < classes && !status; made->classes++)
        status = tla_free_list_init(&made->of[made->classes]);
    const tla_block whole = {c.base, c.bytes};
    if (!status) status = tla_free_list_put(&made->all, whole, &join);
    if (!status) status = tla_free_list_put(&made->of[class_of(made, c.bytes)], whole, &join);
    if (status) {
        tla_class_list_destroy(made);
        return status;
    }
    *out = made;
    return TLA_OK;
}

void tla_class_list_destroy(tla_class_list *c) {
    if (!c) return;
    tla_free_list_release(&c->all);
    for (unsigned i = 0; i < c->classes; i++)
        tla_free_list_release(&c->of[i]);
    free(c);
}

/* The size that a request of nbytes is given; 0 when no request can have it. */
static uint64_t granted(const tla_class_list *c, uint64_t nbytes) {
    const uint64_t mask = c->config.alignment - 1;
    if (nbytes == 0 || nbytes > largest) return 0;
    return ((nbytes < c->config.least ? c->config.least : nbytes) + mask) & ~mask;
}

/* Moves blocks between classes: the list of a class loses one and gains another, which has room. */
static void leave_class(tla_class_list *c, tla_block block) {
    tla_free_list *list = &c->of[class_of(c, block.nbytes)];
    tla_free_spot spot;
    uint64_t splits;
    if (tla_free_list_up_to(list, block.offset, &spot)) tla_free_list_take(list, &spot, block, &splits);
}

static void enter_class(tla_class_list *c, tla_block block, tla_work *work) {
    tla_free_join join;
    if (block.nbytes == 0 || tla_free_list_put(&c->of[class_of(c, block.nbytes)], block, &join)) return;
    work->insert_nodes += join.rank;
    work->class_lookups++;
}

/* Takes a part out of the free block at a spot of the list of all blocks. */
static tla_status take(tla_class_list *c, tla_free_spot *spot, tla_block part, tla_work *work) {
    const tla_block whole = spot->block;
    const tla_block front = {whole.offset, part.offset - whole.offset},
                    back = {part.offset + part.nbytes, whole.nbytes - front.nbytes - part.nbytes};
    const tla_block rests[] = {front, back};
    for (unsigned i = 0; i < 2; i++)
        if (rests[i].nbytes > 0 && tla_free_list_make_room(&c->of[class_of(c, rests[i].nbytes)], 2))
            return TLA_NO_HOST_MEMORY;
    const tla_status status = tla_list_take(&c->all, spot, part, 0, work);
    if (status) return status;
    leave_class(c, whole);
    enter_class(c, front, work);
    enter_class(c, back, work);
    c->used += part.nbytes;
    return TLA_OK;
}

/* Finds the first block of a class that is large enough, in the direction, and adds the nodes that its walk visits. */
static bool walk_class(const tla_free_list *list, tla_fill fill, uint64_t nbytes, tla_block *block, tla_work *work) {
    const uint64_t count = tla_free_list_count(list);
    tla_free_spot spot;
    const bool found =
        fill == TLA_BOTTOM_UP ? tla_free_list_first(list, nbytes, &spot) : tla_free_list_last(list, nbytes, &spot);
    work->class_lookups++;
    work->nodes_visited += !found ? count : fill == TLA_BOTTOM_UP ? spot.rank + 1 : count - spot.rank;
    if (found) *block = spot.block;
    return found;
}

static bool search(const tla_class_list *c, tla_fill fill, uint64_t nbytes, tla_block *best, tla_work *work) {
    bool any = false;
    for (unsigned i = class_of(c, nbytes); i < c->classes; i++) {
        tla_block block;
        if (!walk_class(&c->of[i], fill, nbytes, &block, work)) continue;
        if (!any || (block.offset < best->offset) == (fill == TLA_BOTTOM_UP)) *best = block;
        any = true;
        if (c->config.search == TLA_CLASS_BEST) break;
    }
    return any;
}

tla_status tla_class_list_alloc(tla_class_list *c, uint64_t nbytes, tla_fill fill, tla_block *block, tla_work *work) {
    tla_work unwanted = {0};
    if (!work) work = &unwanted;
    const uint64_t size = granted(c, nbytes);
    if (size == 0 || fill > TLA_TOP_DOWN) return TLA_INVALID_ARGUMENT;
    tla_work cost = *work;
    tla_block found;
    tla_free_spot spot;
    if (!search(c, fill, size, &found, &cost) || !tla_free_list_up_to(&c->all, found.offset, &spot)) {
        cost.list_length += tla_free_list_count(&c->all);
        *work = cost;
        return tla_class_list_get_stats(c).free < size ? TLA_EXHAUSTED : TLA_FRAGMENTED;
    }
    const tla_block part = {fill == TLA_BOTTOM_UP ? found.offset : found.offset + found.nbytes - size, size};
    const tla_status status = take(c, &spot, part, &cost);
    if (status) return status;
    *work = cost;
    *block = part;
    return TLA_OK;
}

/* TLA_INVALID_ARGUMENT, TLA_OUT_OF_RANGE; otherwise rounds the block's size. */
static tla_status check_place(const tla_class_list *c, tla_block *block) {
    const uint64_t begin = c->config.base + c->shrunk, end = c->config.base + c->config.bytes;
    block->nbytes = granted(c, block->nbytes);
    if (block->nbytes == 0 || (block->offset & (c->config.alignment - 1))) return TLA_INVALID_ARGUMENT;
    const bool inside = block->offset >= begin && block->offset < end && block->nbytes <= end - block->offset;
    return inside ? TLA_OK : TLA_OUT_OF_RANGE;
}

tla_status tla_class_list_reserve(tla_class_list *c, tla_block block, tla_work *work) {
    tla_work unwanted = {0};
    tla_free_spot spot;
    const tla_status status = check_place(c, &block);
    if (status) return status;
    if (!tla_list_holding(&c->all, block, &spot)) return TLA_OVERLAP;
    return take(c, &spot, block, work ? work : &unwanted);
}

static tla_status put(tla_class_list *c, tla_block block, tla_work *work) {
    tla_free_spot spot;
    tla_block whole = block;
    if (tla_free_list_up_to(&c->all, block.offset, &spot) && spot.block.offset + spot.block.nbytes == block.offset) {
        whole.offset = spot.block.offset;
        whole.nbytes += spot.block.nbytes;
    }
    if (tla_free_list_first_from(&c->all, block.offset, 1, &spot) && spot.block.offset == block.offset + block.nbytes)
        whole.nbytes += spot.block.nbytes;
    tla_status status = tla_free_list_make_room(&c->of[class_of(c, whole.nbytes)], 1);
    if (status) return status;
    const uint64_t count = tla_free_list_count(&c->all);
    tla_free_join join;
    status = tla_free_list_put(&c->all, block, &join);
    if (status) return status;
    tla_list_joined(&join, work);
    work->list_length += count;
    if (join.previous > 0) leave_class(c, (tla_block){whole.offset, join.previous});
    if (join.next > 0) leave_class(c, (tla_block){block.offset + block.nbytes, join.next});
    enter_class(c, whole, work);
    c->used -= block.nbytes;
    return TLA_OK;
}

tla_status tla_class_list_free(tla_class_list *c, tla_block block, tla_work *work) {
    tla_work unwanted = {0};
    const tla_status status = check_place(c, &block);
    return status ? status : put(c, block, work ? work : &unwanted);
}

size_t tla_class_list_available(const tla_class_list *c, uint64_t nbytes, uint64_t from, tla_block *blocks,
                                size_t max) {
    const uint64_t size = granted(c, nbytes);
    size_t count = 0;
    tla_free_spot spot;
    while (size > 0 && count < max && tla_free_list_first_from(&c->all, from, size, &spot)) {
        blocks[count++] = spot.block;
        from = spot.block.offset + spot.block.nbytes;
    }
    return count;
}

tla_status tla_class_list_shrink(tla_class_list *c, uint64_t nbytes) {
    tla_work unpriced = {0};
    const tla_block block = {c->config.base, nbytes};
    tla_free_spot spot;
    if (c->shrunk > 0 || nbytes == 0 || nbytes > c->config.bytes || (nbytes & (c->config.alignment - 1)))
        return TLA_INVALID_ARGUMENT;
    if (!tla_list_holding(&c->all, block, &spot)) return TLA_OVERLAP;
    const tla_status status = take(c, &spot, block, &unpriced);
    if (status) return status;
    c->shrunk = nbytes;
    c->used -= nbytes; /* it is no longer of the range */
    return TLA_OK;
}

tla_status tla_class_list_unshrink(tla_class_list *c) {
    tla_work unpriced = {0};
    if (c->shrunk == 0) return TLA_OK;
    c->used += c->shrunk;
    const tla_status status = put(c, (tla_block){c->config.base, c->shrunk}, &unpriced);
    if (status)
        c->used -= c->shrunk;
    else
        c->shrunk = 0;
    return status;
}

bool tla_class_list_lowest(const tla_class_list *c, uint64_t *offset) {
    const uint64_t begin = c->config.base + c->shrunk;
    tla_free_spot spot;
    if (c->used == 0) return false;
    *offset = begin;
    if (tla_free_list_up_to(&c->all, begin, &spot)) *offset += spot.block.nbytes;
    return true;
}

tla_class_list_stats tla_class_list_get_stats(const tla_class_list *c) {
    return (tla_class_list_stats){.used = c->used,
                                  .free = c->config.bytes - c->shrunk - c->used,
                                  .largest_free = tla_free_list_largest(&c->all),
                                  .free_blocks = tla_free_list_count(&c->all)};
}
