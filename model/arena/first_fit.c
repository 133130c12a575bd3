/* First fit by lowest offset (ADR-0048 D1). */
#include "free_list.h"
#include "placement.h"

#include <stdlib.h>

static tla_status create(const tla_arena_config *config, void **state) {
    (void)config;
    tla_free_list *list = malloc(sizeof *list);
    if (!list) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_free_list_init(list);
    if (status) {
        free(list);
        return status;
    }
    *state = list;
    return TLA_OK;
}

static void destroy(void *state) {
    tla_free_list_release(state);
    free(state);
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    tla_free_list *list = state;
    uint64_t count = tla_free_list_count(list), from = 0, splits;
    tla_free_spot spot;
    while (tla_free_list_first_from(list, from, nbytes, &spot)) {
        tla_block part;
        if (tla_aligned_fit(spot.block, nbytes, alignment, &part)) {
            tla_status status = tla_free_list_take(list, &spot, part, &splits);
            if (status) return status;
            work->nodes_visited += spot.rank + 1;
            work->list_length += count;
            work->splits += splits;
            *block = part;
            return TLA_OK;
        }
        from = spot.block.offset + 1;
    }
    work->nodes_visited += count;
    work->list_length += count;
    return TLA_FRAGMENTED;
}

/* Each block is used up before the walk goes on, so the walk never turns back (LMCache PR #2767). */
static void carve(void *state, uint64_t nbytes, size_t n, tla_block *blocks, tla_work *work) {
    tla_free_list *list = state;
    uint64_t walked = 0, gone = 0, splits;
    work->list_length += tla_free_list_count(list);
    while (n > 0) {
        tla_free_spot spot;
        tla_free_list_first(list, nbytes, &spot);
        uint64_t items = spot.block.nbytes / nbytes;
        if (items > n) items = n;
        tla_free_list_take(list, &spot, (tla_block){spot.block.offset, items * nbytes}, &splits);
        walked = spot.rank + gone + 1;
        gone += splits == 0;
        work->splits += splits;
        for (uint64_t i = 0; i < items; i++)
            *blocks++ = (tla_block){spot.block.offset + i * nbytes, nbytes};
        n -= (size_t)items;
    }
    work->nodes_visited += walked;
}

static tla_status reserve(void *state, tla_block range, tla_work *work) {
    tla_free_list *list = state;
    uint64_t count = tla_free_list_count(list), splits;
    tla_free_spot spot;
    if (!tla_free_list_last_below(list, range.offset + 1, 1, &spot) ||
        spot.block.offset + spot.block.nbytes < range.offset + range.nbytes)
        return TLA_OVERLAP;
    tla_status status = tla_free_list_take(list, &spot, range, &splits);
    if (status) return status;
    work->nodes_visited += spot.rank + 1;
    work->list_length += count;
    work->splits += splits;
    return TLA_OK;
}

static tla_status give_back(void *state, tla_block range, tla_work *work) {
    tla_free_list *list = state;
    uint64_t count = tla_free_list_count(list);
    tla_free_join join;
    tla_status status = tla_free_list_put(list, range, &join);
    if (status) return status;
    work->insert_nodes += join.rank;
    work->probes += tla_bisect_probes(count, join.rank);
    work->merges += (uint64_t)(join.previous > 0) + (join.next > 0);
    work->list_length += count;
    return TLA_OK;
}

static tla_status may_free(const void *state, tla_block range) {
    return tla_free_list_touches(state, range) ? TLA_NOT_ALLOCATED : TLA_OK;
}

static uint64_t fits(const void *state, uint64_t nbytes, uint64_t limit) {
    return tla_free_list_fits(state, nbytes, limit);
}

static tla_status make_room(void *state, size_t n) {
    return tla_free_list_make_room(state, n);
}

static uint64_t largest(const void *state) {
    return tla_free_list_largest(state);
}

static uint64_t count_of(const void *state) {
    return tla_free_list_count(state);
}

static size_t copy(const void *state, uint64_t from, tla_block *blocks, size_t max) {
    return tla_free_list_copy(state, from, blocks, max);
}

const tla_placement tla_first_fit = {
    .create = create,
    .destroy = destroy,
    .alloc = alloc,
    .carve = carve,
    .reserve = reserve,
    .free = give_back,
    .add = give_back,
    .may_free = may_free,
    .fits = fits,
    .make_room = make_room,
    .largest = largest,
    .count = count_of,
    .copy = copy,
};
