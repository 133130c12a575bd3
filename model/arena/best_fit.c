/* Best fit: the smallest block that is large enough, the lowest among equals. The modelled engine keeps its list in
 * offset order only: it walks until a block fits exactly, otherwise through all blocks. */
#include "list_placement.h"
#include "size_index.h"

typedef struct best_fit {
    tla_free_list list;
    tla_size_index index; /* the same blocks by size */
} best_fit;

static void destroy(void *state) {
    best_fit *b = state;
    tla_size_index_release(&b->index);
    tla_list_destroy(b);
}

static tla_status create(const tla_arena_config *config, void **state) {
    (void)config;
    void *made;
    tla_status status = tla_list_make(sizeof(best_fit), &made);
    if (status) return status;
    best_fit *b = made;
    status = tla_size_index_init(&b->index);
    if (status)
        destroy(b);
    else
        *state = b;
    return status;
}

/* Takes `part` out of a block, which is at a spot of the list and at a place of the index. */
static tla_status take(best_fit *b, tla_free_spot *spot, const tla_size_path *at, tla_block part, uint64_t visited,
                       tla_work *work) {
    tla_block front = {spot->block.offset, part.offset - spot->block.offset}, back = {part.offset + part.nbytes, 0};
    back.nbytes = spot->block.nbytes - front.nbytes - part.nbytes;
    size_t rest = (size_t)(front.nbytes > 0) + (back.nbytes > 0);
    if (tla_size_index_make_room(&b->index, rest)) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_list_take(&b->list, spot, part, visited, work);
    if (status) return status;
    tla_size_index_remove_at(&b->index, at);
    if (front.nbytes) tla_size_index_insert(&b->index, front);
    if (back.nbytes) tla_size_index_insert(&b->index, back);
    return TLA_OK;
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    best_fit *b = state;
    tla_size_path at;
    tla_block found, part;
    for (tla_block key = {0, nbytes}; tla_size_index_at_least(&b->index, key, &at);
         key = (tla_block){found.offset + 1, found.nbytes}) {
        found = tla_size_index_block(&at);
        if (!tla_aligned_fit(found, nbytes, alignment, &part)) continue;
        tla_free_spot spot;
        tla_list_holding(&b->list, found, &spot);
        uint64_t visited = found.nbytes == nbytes ? spot.rank + 1 : tla_free_list_count(&b->list);
        tla_status status = take(b, &spot, &at, part, visited, work);
        if (status == TLA_OK) *block = part;
        return status;
    }
    return tla_list_nothing_fits(&b->list, work);
}

static tla_status reserve(void *state, tla_block range, tla_work *work) {
    best_fit *b = state;
    tla_free_spot spot;
    tla_size_path at;
    if (!tla_list_holding(&b->list, range, &spot)) return TLA_OVERLAP;
    tla_size_index_at_least(&b->index, spot.block, &at);
    return take(b, &spot, &at, range, spot.rank + 1, work);
}

static tla_status give_back(void *state, tla_block range, tla_work *work) {
    best_fit *b = state;
    tla_free_join join;
    if (tla_size_index_make_room(&b->index, 1)) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_list_put(&b->list, range, &join, work);
    if (status) return status;
    uint64_t start = range.offset - join.previous, end = range.offset + range.nbytes;
    if (join.previous) tla_size_index_remove(&b->index, (tla_block){start, join.previous});
    if (join.next) tla_size_index_remove(&b->index, (tla_block){end, join.next});
    tla_size_index_insert(&b->index, (tla_block){start, end + join.next - start});
    return TLA_OK;
}

static tla_status make_room(void *state, size_t n) {
    best_fit *b = state;
    tla_status status = tla_free_list_make_room(&b->list, n);
    return status ? status : tla_size_index_make_room(&b->index, n);
}

/* The rest of a block enters the index again; on the list it keeps its place. The number of blocks does not grow, so
 * any number of allocs splits no more nodes than as many inserts. */
static tla_status make_alloc_room(void *state, size_t n) {
    tla_size_index *index = &((best_fit *)state)->index;
    size_t most = 2 * (size_t)index->count + 64;
    return tla_size_index_make_room(index, n < most ? n : most);
}

const tla_placement tla_best_fit = {
    .create = create,
    .destroy = destroy,
    .alloc = alloc,
    .search_in_vain = tla_list_search_in_vain,
    .reserve = reserve,
    .free = give_back,
    .add = give_back,
    .may_free = tla_list_may_free,
    .fits = tla_list_fits,
    .make_room = make_room,
    .make_alloc_room = make_alloc_room,
    .largest = tla_list_largest,
    .count = tla_list_count,
    .copy = tla_list_copy,
};
