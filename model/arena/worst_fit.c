/* Worst fit: the largest block, the lowest among equals. No order by size is kept, so that a search walks the whole
 * list: before the answer (nodes_visited), or by an engine that knows the largest block, after each answer that has
 * changed the list (walks). The receipt has both. */
#include "list_placement.h"
#include "tlmalloc/base/work.h"

/* The receipt of a request that has been answered, and may have changed the list. */
static void answered(const tla_free_list *list, bool changed, tla_work *work) {
    tla_engine_work *engine = work->engine;
    if (!engine) return;
    const uint64_t passed = changed ? tla_free_list_count(list) : 0;
    engine->requests++;
    engine->walks += changed;
    engine->walk_nodes += passed;
    engine->walks_behind = changed;
    engine->walk_nodes_behind = passed;
}

static void search_in_vain(const void *state, uint64_t nbytes, tla_work *work) {
    tla_list_search_in_vain(state, nbytes, work);
    answered(state, false, work);
}

static tla_status nothing_fits(const tla_free_list *list, tla_work *work) {
    search_in_vain(list, 0, work);
    return TLA_FRAGMENTED;
}

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
    if (largest < nbytes || !tla_free_list_first(list, largest, &spot)) return nothing_fits(list, work);
    if (!tla_aligned_fit(spot.block, nbytes, alignment, &part) &&
        !largest_aligned(list, nbytes, alignment, &spot, &part))
        return nothing_fits(list, work);
    tla_status status = tla_list_take(list, &spot, part, tla_free_list_count(list), work);
    if (status) return status;
    answered(list, true, work);
    *block = part;
    return TLA_OK;
}

static tla_status reserve(void *state, tla_block range, tla_work *work) {
    const tla_status status = tla_list_reserve(state, range, work);
    if (status == TLA_OK) answered(state, true, work);
    return status;
}

static tla_status give_back(void *state, tla_block range, tla_work *work) {
    const tla_status status = tla_list_free(state, range, work);
    if (status == TLA_OK) answered(state, true, work);
    return status;
}

const tla_placement tla_worst_fit = {
    .create = tla_list_create,
    .destroy = tla_list_destroy,
    .alloc = alloc,
    .search_in_vain = search_in_vain,
    .reserve = reserve,
    .free = give_back,
    .add = give_back,
    .may_free = tla_list_may_free,
    .fits = tla_list_fits,
    .make_room = tla_list_make_room,
    .largest = tla_list_largest,
    .count = tla_list_count,
    .copy = tla_list_copy,
};
