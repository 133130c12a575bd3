/* The live blocks of an arena that validates, by offset, with their owners. Internal to model/arena. */
#ifndef TLMALLOC_LIVE_BLOCKS_H
#define TLMALLOC_LIVE_BLOCKS_H

#include "tlmalloc/arena/arena.h"

typedef struct tla_live_blocks tla_live_blocks;

typedef struct tla_live_block {
    tla_block block;
    tla_owner owner;
} tla_live_block;

/* NULL when the host's malloc fails. */
tla_live_blocks *tla_live_blocks_create(void);
void tla_live_blocks_destroy(tla_live_blocks *live);

size_t tla_live_blocks_count(const tla_live_blocks *live);

/* Makes sure that n insertions in a row cannot fail. TLA_NO_HOST_MEMORY. */
tla_status tla_live_blocks_make_room(tla_live_blocks *live, size_t n);

/* Notes a block, for which make_room has been called. O(log n) expected. */
void tla_live_blocks_insert(tla_live_blocks *live, tla_block block, tla_owner owner);

/* Removes the block at this offset, which exists. O(log n) expected. */
void tla_live_blocks_remove(tla_live_blocks *live, uint64_t offset);

/* Returns the last block that starts at or below the offset; NULL if no block does. O(log n) expected. */
const tla_live_block *tla_live_blocks_at_or_below(const tla_live_blocks *live, uint64_t offset);

/* Returns the first block that starts at or above the offset; NULL if no block does. O(log n) expected. */
const tla_live_block *tla_live_blocks_at_or_above(const tla_live_blocks *live, uint64_t offset);

#endif
