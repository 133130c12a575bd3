/* First fit from the top: the highest block that is large enough gives its end. Two arenas of which one places from
 * below and one from the top can share a region (tt-metal's circular buffers and L1 buffers). The modelled engine walks
 * the list from its last node, to allocate and to insert. */
#include "list_placement.h"

/* The highest multiple of alignment in `block` that leaves room for nbytes. */
static bool aligned_fit_at_end(tla_block block, uint64_t nbytes, uint64_t alignment, tla_block *part) {
    if (block.nbytes < nbytes) return false;
    uint64_t offset = (block.offset + block.nbytes - nbytes) & ~(alignment - 1);
    if (offset < block.offset) return false;
    *part = (tla_block){offset, nbytes};
    return true;
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    tla_free_list *list = state;
    tla_free_spot spot;
    tla_block part;
    uint64_t count = tla_free_list_count(list);
    for (bool more = tla_free_list_last(list, nbytes, &spot); more;
         more = tla_free_list_last_below(list, spot.block.offset, nbytes, &spot))
        if (aligned_fit_at_end(spot.block, nbytes, alignment, &part)) {
            tla_status status = tla_list_take(list, &spot, part, count - spot.rank, work);
            if (status == TLA_OK) *block = part;
            return status;
        }
    return tla_list_nothing_fits(list, work);
}

static tla_status reserve(void *state, tla_block range, tla_work *work) {
    tla_free_spot spot;
    if (!tla_list_holding(state, range, &spot)) return TLA_OVERLAP;
    return tla_list_take(state, &spot, range, tla_free_list_count(state) - spot.rank, work);
}

static tla_status give_back(void *state, tla_block range, tla_work *work) {
    uint64_t count = tla_free_list_count(state);
    tla_work from_front = {0};
    tla_free_join join;
    tla_status status = tla_list_put(state, range, &join, &from_front);
    if (status) return status;
    work->insert_nodes += count - join.rank;
    work->probes += from_front.probes;
    tla_list_joined(&join, work);
    work->list_length += count;
    return TLA_OK;
}

/* A block whose end is not aligned, at most the arena's own end, leaves a tail after the allocated range. */
static tla_status make_alloc_room(void *state, size_t n) {
    (void)n;
    return tla_free_list_make_room(state, 1);
}

const tla_placement tla_first_fit_top = {
    .create = tla_list_create,
    .destroy = tla_list_destroy,
    .alloc = alloc,
    .search_in_vain = tla_list_search_in_vain,
    .reserve = reserve,
    .free = give_back,
    .add = give_back,
    .may_free = tla_list_may_free,
    .fits = tla_list_fits,
    .make_room = tla_list_make_room,
    .make_alloc_room = make_alloc_room,
    .largest = tla_list_largest,
    .count = tla_list_count,
    .copy = tla_list_copy,
};
