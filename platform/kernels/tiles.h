/* Several tiles taken and given back as one. */
#ifndef TLMALLOC_PLATFORM_KERNELS_TILES_H
#define TLMALLOC_PLATFORM_KERNELS_TILES_H

#include "tlmalloc/kernel.h"

/* Allocates tiles in order; rows, columns and type are read from each, its address is filled. On failure none is held:
 * those that were taken are given back, and the status of the one that failed is returned. */
tla_status tl_alloc_tiles(tl_context *tl, tl_tile *tiles, size_t count);

/* Gives tiles back, the last first, also after one could not be given back. Returns `status`, or when that is TLA_OK
 * the first failure. */
tla_status tl_free_tiles(tl_context *tl, const tl_tile *tiles, size_t count, tla_status status);

#endif
