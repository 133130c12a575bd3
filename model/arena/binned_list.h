/* Free blocks in offset order and in bins by size: what TLSF and offset_bins keep. Internal.
 *
 * The modelled engines find neighbours by tags or links, this code in the sorted list. `state` is a structure that
 * begins with a tla_binned_list. */
#ifndef TLMALLOC_BINNED_LIST_H
#define TLMALLOC_BINNED_LIST_H

#include "list_placement.h"
#include "size_bins.h"

typedef struct tla_binned_list {
    tla_free_list list;
    tla_size_bins bins; /* the same blocks */
    uint64_t granule;   /* every offset is a multiple */
    uint32_t (*bin_of)(uint64_t nbytes, uint64_t granule);
} tla_binned_list;

/* A state of `size` bytes, zero but for its list. TLA_NO_HOST_MEMORY. */
tla_status tla_binned_list_make(size_t size, const tla_arena_config *config,
                                uint32_t (*bin_of)(uint64_t nbytes, uint64_t granule), void **state);

/* Takes `part` out of the block at a spot; the rest enters its bins, the back of it last. */
tla_status tla_binned_list_take(tla_binned_list *b, tla_free_spot *spot, tla_block part, uint64_t visited,
                                tla_work *work);

/* Members of tla_placement. */
void tla_binned_list_destroy(void *state);
tla_status tla_binned_list_free(void *state, tla_block range, tla_work *work);
tla_status tla_binned_list_make_room(void *state, size_t n);
void tla_binned_list_saved(const void *state, tla_block *blocks);

#endif
