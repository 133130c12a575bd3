/* Worst fit: the largest block, the lowest of equals. The modelled engine keeps no order by size, so it walks the whole
 * list every time. */
#include "list_placement.h"

/* The largest block in which the aligned range has room, when the largest of all has none. O(blocks that are large
 * enough without the alignment). */
static bool largest_aligned(const tla_free_list *list, uint64_t nbytes, uint64_t alignment, tla_free_spot *found,
                            tla_block *part) {
    tla_free_spot spot;
    found->block.nbytes = 0;
    for (uint64_t from = 0; tla_free_list_first_from(list, from, nbytes, &spot); from = spot.block.offset + 1)
        if (spot.block.nbytes > found->block.nbytes && tla_aligned_fit(spot.block, nbytes, alignment, part))
            *found = spot;
    return found->block.nbytes > 0 && tla_aligned_fit(found->block, nbytes, alignment, part);
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    tla_free_list *list = state;
    uint64_t largest = tla_free_list_largest(list);
    tla_free_spot spot;
    tla_block part;
    if (largest < nbytes || !tla_free_list_first(list, largest, &spot)) return tla_list_nothing_fits(list, work);
    if (!tla_aligned_fit(spot.block, nbytes, alignment, &part) &&
        !largest_aligned(list, nbytes, alignment, &spot, &part))
        return tla_list_nothing_fits(list, work);
    tla_status status = tla_list_take(list, &spot, part, tla_free_list_count(list), work);
    if (status == TLA_OK) *block = part;
    return status;
}

const tla_placement tla_worst_fit = {
    .create = tla_list_create,
    .destroy = tla_list_destroy,
    .alloc = alloc,
    .search_in_vain = tla_list_search_in_vain,
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
