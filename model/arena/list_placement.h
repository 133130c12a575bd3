/* The common code of placements whose free blocks are a list in offset order. Internal.
 *
 * `state` is a structure that begins with its tla_free_list. */
#ifndef TLMALLOC_LIST_PLACEMENT_H
#define TLMALLOC_LIST_PLACEMENT_H

#include "free_list.h"
#include "placement.h"

/* A state of `size` bytes, zero but for the list. */
tla_status tla_list_make(size_t size, void **state);

/* Members of tla_placement as they stand there, for a state that is a list and nothing else where it has to be. */
tla_status tla_list_create(const tla_arena_config *config, void **state);
void tla_list_destroy(void *state);
tla_status tla_list_reserve(void *state, tla_block range, tla_work *work);
tla_status tla_list_free(void *state, tla_block range, tla_work *work);
tla_status tla_list_may_free(const void *state, tla_block range);
uint64_t tla_list_fits(const void *state, uint64_t nbytes, uint64_t limit);
tla_status tla_list_make_room(void *state, size_t n);
uint64_t tla_list_largest(const void *state);
uint64_t tla_list_count(const void *state);
size_t tla_list_copy(const void *state, uint64_t from, tla_block *blocks, size_t max);

/* Takes `part` out of the block at a spot (its block and rank stay known), with the receipt of a search that visited so
 * many nodes. */
tla_status tla_list_take(tla_free_list *list, tla_free_spot *spot, tla_block part, uint64_t visited, tla_work *work);

/* The receipt of a search that went through the whole list; the second with the status of such a search. */
void tla_list_search_in_vain(const void *state, uint64_t nbytes, tla_work *work);
tla_status tla_list_nothing_fits(const tla_free_list *list, tla_work *work);

/* The free block that holds all of a range; false when a byte of it is not free. */
bool tla_list_holding(const tla_free_list *list, tla_block range, tla_free_spot *spot);

/* Adds the joins of a range on the list to the receipt. */
void tla_list_joined(const tla_free_join *join, tla_work *work);

/* Puts a range on the list, with the receipt of an ordered insert from the front. */
tla_status tla_list_put(tla_free_list *list, tla_block range, tla_free_join *join, tla_work *work);

#endif
