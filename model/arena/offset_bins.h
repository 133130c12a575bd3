/* What offset_bins and offset_bins_rounded share: all but the size that a request is given, and how many of the nodes
 * are used. Internal. */
#ifndef TLMALLOC_OFFSET_BINS_H
#define TLMALLOC_OFFSET_BINS_H

#include "binned_list.h"

/* Members of tla_placement, and of tla_region_nodes. */
tla_status tla_offset_bins_create(const tla_arena_config *config, void **state);
tla_status tla_offset_bins_alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work);
void tla_offset_bins_search_in_vain(const void *state, uint64_t nbytes, tla_work *work);
uint64_t tla_offset_bins_sufficient(const void *state, uint64_t nbytes);
tla_status tla_offset_bins_free(void *state, tla_block range, tla_work *work);
tla_status tla_offset_bins_add(void *state, tla_block range, tla_work *work);
uint64_t tla_offset_bins_fits(const void *state, uint64_t nbytes, uint64_t limit);
uint64_t tla_offset_bins_unit(uint64_t alignment, uint64_t capacity);
tla_status tla_offset_bins_limit(void *state, uint64_t nodes, uint64_t live);
uint64_t tla_offset_bins_live(const void *state);
bool tla_offset_bins_lacks_node(const void *state, uint64_t nbytes, uint64_t n);
uint64_t tla_offset_bins_largest_bin(const void *state);

#endif
