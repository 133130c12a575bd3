/* Free blocks in bins, as buddies and TLSF keep them: a doubly linked list a bin, last in first out, and any block
 * found by its offset.
 *
 * Internal. Which sizes belong to which bin is the caller's. Everything is O(1), growth apart. */
#ifndef TLMALLOC_SIZE_BINS_H
#define TLMALLOC_SIZE_BINS_H

#include "size_class.h"
#include "tlmalloc/arena/arena.h"

typedef struct tla_binned {
    tla_block block;
    uint32_t bin;
    uint32_t before,
        after; /* on the list of the bin: node + 1, 0 = none; of an unused node, `after` is the next unused */
} tla_binned;

typedef struct tla_size_bins {
    tla_binned *nodes;
    uint32_t count, room, unused; /* nodes in use, of all; the first unused + 1 */
    uint64_t *table;              /* open addressing by offset: hash of the offset << 32 | node + 1; 0 = empty */
    unsigned table_bits;
    tla_class_set filled;        /* bins that hold a block */
    uint32_t heads[TLA_CLASSES]; /* node + 1 */
} tla_size_bins;

tla_status tla_size_bins_init(tla_size_bins *bins);
void tla_size_bins_release(tla_size_bins *bins);

/* Makes sure that n pushes in a row need no host memory. TLA_NO_HOST_MEMORY; nothing is changed then. */
tla_status tla_size_bins_make_room(tla_size_bins *bins, size_t n);

/* The block that was pushed last into a bin that holds one. */
tla_block tla_size_bins_head(const tla_size_bins *bins, uint32_t bin);

/* The block that starts at an offset, NULL when none does. */
const tla_binned *tla_size_bins_find(const tla_size_bins *bins, uint64_t offset);

/* Puts a block at the head of a bin; there must be room (tla_size_bins_make_room). */
void tla_size_bins_push(tla_size_bins *bins, uint32_t bin, tla_block block);

/* Takes the block that starts at an offset (there must be one) out. */
void tla_size_bins_remove(tla_size_bins *bins, uint64_t offset);

/* Returns all blocks (`count` in number), bin by bin, each bin from its tail: pushed in this order they make the same
 * lists. */
void tla_size_bins_saved(const tla_size_bins *bins, tla_block *blocks);

#endif
