/* Searches differ between the list policies; taking, giving back and looking do not. */
#include "list_placement.h"
#include "bisect.h"
#include "short_list.h"

#include <stdlib.h>

tla_status tla_list_make(size_t size, void **state) {
    tla_free_list *list = calloc(1, size);
    if (!list) return TLA_NO_HOST_MEMORY;
    tla_status status = tla_free_list_init(list);
    if (status) {
        free(list);
        return status;
    }
    *state = list;
    return TLA_OK;
}

tla_status tla_list_create(const tla_arena_config *config, void **state) {
    (void)config;
    return tla_list_make(sizeof(tla_free_list), state);
}

void tla_list_destroy(void *state) {
    tla_free_list_release(state);
    free(state);
}

tla_status tla_list_take(tla_free_list *list, tla_free_spot *spot, tla_block part, uint64_t visited, tla_work *work) {
    uint64_t count = tla_free_list_count(list), splits;
    tla_status status = tla_free_list_take(list, spot, part, &splits);
    if (status) return status;
    work->nodes_visited += visited;
    work->list_length += count;
    work->allocs++;
    work->splits += splits;
    work->nodes_released += splits == 0;
    work->nodes_created += splits == 2;
    return TLA_OK;
}

void tla_list_search_in_vain(const void *state, uint64_t nbytes, tla_work *work) {
    uint64_t count = tla_free_list_count(state);
    (void)nbytes;
    work->nodes_visited += count;
    work->list_length += count;
}

tla_status tla_list_nothing_fits(const tla_free_list *list, tla_work *work) {
    tla_list_search_in_vain(list, 0, work);
    return TLA_FRAGMENTED;
}

bool tla_list_holding(const tla_free_list *list, tla_block range, tla_free_spot *spot) {
    return tla_free_list_up_to(list, range.offset, spot) &&
           spot->block.offset + spot->block.nbytes >= range.offset + range.nbytes;
}

tla_status tla_list_reserve(void *state, tla_block range, tla_work *work) {
    tla_free_spot spot;
    if (!tla_list_holding(state, range, &spot)) return TLA_OVERLAP;
    return tla_list_take(state, &spot, range, spot.rank + 1, work);
}

void tla_list_joined(const tla_free_join *join, tla_work *work) {
    const uint64_t merges = (uint64_t)(join->previous > 0) + (join->next > 0);
    work->merges += merges;
    work->frees++;
    work->nodes_created += merges == 0;
    work->nodes_released += merges == 2;
}

static inline void receipt(uint64_t count, const tla_free_join *join, tla_work *work) {
    work->insert_nodes += join->rank;
    work->probes += tla_bisect_probes(count, join->rank);
    work->list_length += count;
    tla_list_joined(join, work);
}

tla_status tla_list_put(tla_free_list *list, tla_block range, tla_free_join *join, tla_work *work) {
    uint64_t count = tla_free_list_count(list);
    tla_status status = tla_free_list_put(list, range, join);
    if (status == TLA_OK) receipt(count, join, work);
    return status;
}

/* Not inlined, so that a short list does not pay for its stack. */
__attribute__((noinline)) static tla_status free_on_tree(tla_free_list *list, tla_block range, tla_work *work) {
    tla_free_join join;
    return tla_list_put(list, range, &join, work);
}

tla_status tla_list_free(void *state, tla_block range, tla_work *work) {
    tla_free_list *list = state;
    uint64_t count = tla_free_list_count(list);
    if (!tla_is_short(list)) return free_on_tree(list, range, work);
    tla_free_join join;
    tla_status status = tla_short_put(list, range, &join);
    if (status == TLA_OK) receipt(count, &join, work);
    return status;
}

tla_status tla_list_may_free(const void *state, tla_block range) {
    return tla_free_list_touches(state, range) ? TLA_NOT_ALLOCATED : TLA_OK;
}

uint64_t tla_list_fits(const void *state, uint64_t nbytes, uint64_t limit) {
    return tla_free_list_fits(state, nbytes, limit);
}

tla_status tla_list_make_room(void *state, size_t n) {
    return tla_free_list_make_room(state, n);
}

uint64_t tla_list_largest(const void *state) {
    return tla_free_list_largest(state);
}

uint64_t tla_list_count(const void *state) {
    return tla_free_list_count(state);
}

size_t tla_list_copy(const void *state, uint64_t from, tla_block *blocks, size_t max) {
    return tla_free_list_copy(state, from, blocks, max);
}
