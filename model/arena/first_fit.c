/* First fit by lowest offset (ADR-0048 D1). */
#include "list_placement.h"
#include "short_list.h"

/* On a short list; false when the front of the first block that is large enough is not aligned. */
static bool alloc_from_short(tla_free_list *list, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work,
                             tla_status *status) {
    tla_free_leaf *leaf = list->root;
    uint32_t count = list->count;
    unsigned slot = tla_short_first(list, nbytes);
    *status = slot < count ? TLA_OK : TLA_FRAGMENTED;
    if (slot < count) {
        uint64_t offset = leaf->offset[slot];
        if (offset & (alignment - 1)) return false;
        *block = (tla_block){offset, nbytes};
        work->allocs++;
        if (leaf->nbytes[slot] == nbytes) {
            tla_short_remove(list, slot);
            work->nodes_released++;
        } else {
            leaf->offset[slot] = offset + nbytes;
            leaf->nbytes[slot] -= nbytes;
            work->splits++;
        }
    }
    work->nodes_visited += slot + (slot < count);
    work->list_length += count;
    return true;
}

/* On any list. Not inlined, so that a short list does not pay for the registers and the stack that this takes. */
__attribute__((noinline)) static tla_status alloc_from_list(tla_free_list *list, uint64_t nbytes, uint64_t alignment,
                                                            tla_block *block, tla_work *work) {
    tla_free_spot spot;
    for (bool more = tla_free_list_first(list, nbytes, &spot); more;
         more = tla_free_list_first_from(list, spot.block.offset + 1, nbytes, &spot))
        if (tla_aligned_fit(spot.block, nbytes, alignment, block))
            return tla_list_take(list, &spot, *block, spot.rank + 1, work);
    return tla_list_nothing_fits(list, work);
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    tla_free_list *list = state;
    tla_status status;
    if (tla_is_short(list) && alloc_from_short(list, nbytes, alignment, block, work, &status)) return status;
    return alloc_from_list(list, nbytes, alignment, block, work);
}

/* The walk uses up each block before it continues, so it never turns back (LMCache PR #2767). */
static void carve(void *state, uint64_t nbytes, size_t n, tla_block *blocks, tla_work *work) {
    tla_free_list *list = state;
    uint64_t walked = 0, gone = 0, splits;
    work->list_length += tla_free_list_count(list);
    work->allocs += n;
    while (n > 0) {
        tla_free_spot spot;
        tla_free_list_first(list, nbytes, &spot);
        uint64_t items = spot.block.nbytes / nbytes;
        if (items > n) items = n;
        tla_free_list_take(list, &spot, (tla_block){spot.block.offset, items * nbytes}, &splits);
        walked = spot.rank + gone + 1;
        gone += splits == 0;
        work->splits += splits;
        work->nodes_released += splits == 0;
        for (uint64_t i = 0; i < items; i++)
            *blocks++ = (tla_block){spot.block.offset + i * nbytes, nbytes};
        n -= (size_t)items;
    }
    work->nodes_visited += walked;
}

const tla_placement tla_first_fit = {
    .create = tla_list_create,
    .destroy = tla_list_destroy,
    .alloc = alloc,
    .search_in_vain = tla_list_search_in_vain,
    .carve = carve,
    .reserve = tla_list_reserve,
    .free = tla_list_free,
    .add = tla_list_free,
    .may_free = tla_list_may_free,
    .fits = tla_list_fits,
    .make_room = tla_list_make_room,
    .largest = tla_list_largest,
    .count = tla_list_count,
    .copy = tla_list_copy,
};
