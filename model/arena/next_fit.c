/* Next fit: first fit with a roving pointer, once around the list (Knuth, TAOCP 1, 2.5, exercise 6).
 *
 * The pointer is an offset: the end of the last allocation. A search begins with the first block that starts there or
 * above, and continues at the front after the last block. A free or a growth whose joined block contains the pointer in
 * its middle moves it to the start of that block, as a pointer to the node would move. No other free, no reserve and no
 * failure moves it. `ahead` is the position of the first block at or above the pointer, kept so that the number of
 * nodes that a walk visits is known without counting. */
#include "list_placement.h"

typedef struct next_fit {
    tla_free_list list;
    uint64_t pointer;
    uint64_t ahead; /* free blocks that start below the pointer */
} next_fit;

static tla_status create(const tla_arena_config *config, void **state) {
    tla_status status = tla_list_make(sizeof(next_fit), state);
    if (status == TLA_OK) ((next_fit *)*state)->pointer = config->base;
    return status;
}

/* From the pointer to the end of the list, then from its front to the pointer. */
static bool search(const next_fit *n, uint64_t nbytes, uint64_t alignment, tla_free_spot *spot, tla_block *part) {
    bool more = tla_free_list_first_from(&n->list, n->pointer, nbytes, spot);
    for (; more; more = tla_free_list_first_from(&n->list, spot->block.offset + 1, nbytes, spot))
        if (tla_aligned_fit(spot->block, nbytes, alignment, part)) return true;
    more = tla_free_list_first(&n->list, nbytes, spot);
    for (; more && spot->block.offset < n->pointer;
         more = tla_free_list_first_from(&n->list, spot->block.offset + 1, nbytes, spot))
        if (tla_aligned_fit(spot->block, nbytes, alignment, part)) return true;
    return false;
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    next_fit *n = state;
    tla_free_spot spot;
    tla_block part;
    if (!search(n, nbytes, alignment, &spot, &part)) return tla_list_nothing_fits(&n->list, work);
    uint64_t wrapped = spot.rank < n->ahead ? tla_free_list_count(&n->list) : 0;
    tla_status status = tla_list_take(&n->list, &spot, part, spot.rank + wrapped - n->ahead + 1, work);
    if (status) return status;
    n->pointer = part.offset + part.nbytes;
    n->ahead = spot.rank + (part.offset > spot.block.offset);
    *block = part;
    return TLA_OK;
}

static tla_status reserve(void *state, tla_block range, tla_work *work) {
    next_fit *n = state;
    tla_free_spot spot;
    if (!tla_list_holding(&n->list, range, &spot)) return TLA_OVERLAP;
    uint64_t end = range.offset + range.nbytes, block_end = spot.block.offset + spot.block.nbytes;
    tla_status status = tla_list_take(&n->list, &spot, range, spot.rank + 1, work);
    if (status) return status;
    if (spot.block.offset < n->pointer && spot.block.offset == range.offset) n->ahead--;
    if (end < n->pointer && end < block_end) n->ahead++;
    return TLA_OK;
}

static tla_status give_back(void *state, tla_block range, tla_work *work) {
    next_fit *n = state;
    tla_free_join join;
    tla_status status = tla_list_put(&n->list, range, &join, work);
    if (status) return status;
    uint64_t start = range.offset - join.previous, end = range.offset + range.nbytes;
    if (start < n->pointer && n->pointer < end + join.next) {
        n->pointer = start;
        n->ahead = join.rank - (join.previous > 0);
        return TLA_OK;
    }
    if (join.previous == 0 && range.offset < n->pointer) n->ahead++;
    if (join.next > 0 && end < n->pointer) n->ahead--;
    return TLA_OK;
}

static uint64_t cursor(const void *state) {
    return ((const next_fit *)state)->pointer;
}

static void set_cursor(void *state, uint64_t offset) {
    next_fit *n = state;
    tla_free_spot spot;
    n->pointer = offset;
    n->ahead = tla_free_list_last_below(&n->list, offset, 1, &spot) ? spot.rank + 1 : 0;
}

const tla_placement tla_next_fit = {
    .create = create,
    .destroy = tla_list_destroy,
    .alloc = alloc,
    .search_in_vain = tla_list_search_in_vain,
    .reserve = reserve,
    .free = give_back,
    .add = give_back,
    .may_free = tla_list_may_free,
    .fits = tla_list_fits,
    .make_room = tla_list_make_room,
    .largest = tla_list_largest,
    .count = tla_list_count,
    .copy = tla_list_copy,
    .cursor = cursor,
    .set_cursor = set_cursor,
};
