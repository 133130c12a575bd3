/* A memory of segments that appear one after the other: LMCache of 2026.
 *
 * Segment k begins where segment k - 1 ends. All free blocks are in one list in the order of addresses, which first fit
 * walks. A block lies in one segment, and neighbours join only inside one. A request that is larger than every planned
 * segment is never served, also when all segments have appeared; that is another error than a lack of memory.
 *
 * Later segments appear by attempts in the background, in their order: at once, 10 s after a failure, and 60 s after
 * the second. A third failure of a segment ends growth for good. The core has no clock, so that the caller makes the
 * attempts and tells their ends. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_CACHE_SEGMENTED_MEMORY_H
#define TLMALLOC_CACHE_SEGMENTED_MEMORY_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_segmented_memory tla_segmented_memory;

typedef struct tla_segmented_config {
    uint64_t initial;   /* bytes at the beginning; above 0, rounded up to granules, at most final */
    uint64_t final;     /* bytes after all attempts have succeeded; above 0, rounded up to granules */
    uint64_t segment;   /* bytes of a segment, a multiple of granules; initial bytes and the growth are each cut into
                           segments and a rest */
    uint64_t alignment; /* of blocks and sizes; a power of two */
    uint64_t page;      /* a power of two; a granule is the larger one of page and alignment */
} tla_segmented_config;

/* TLA_INVALID_ARGUMENT for a value outside its range and for more than 2^32 - 1 segments; TLA_NO_HOST_MEMORY; *memory
 * is NULL then. */
tla_status tla_segmented_create(const tla_segmented_config *config, tla_segmented_memory **memory);
void tla_segmented_destroy(tla_segmented_memory *memory); /* NULL is allowed */

/* Returns the bytes of the segment that begins at `begin`, of a plan whose members are multiples of granules; 0 at its
 * end. */
uint64_t tla_segmented_piece(const tla_segmented_config *config, uint64_t begin);

/* Allocates n blocks of nbytes each, all or none: as many from each free block as it holds, in the order of addresses.
 * n = 0 does nothing. TLA_OUT_OF_RANGE for a size that no planned segment can hold. Other errors are those of
 * tla_arena_alloc; TLA_EXHAUSTED if fewer bytes are free than all blocks need, else TLA_FRAGMENTED. After an error
 * nothing has changed. A batch costs one walk of the list up to the last block; a failed one a walk of the whole
 * list. */
tla_status tla_segmented_alloc(tla_segmented_memory *memory, uint64_t nbytes, size_t n, tla_block *blocks,
                               tla_work *work);

/* Releases a block. TLA_OUT_OF_RANGE when it is not inside one segment that has appeared; else as tla_arena_free. */
tla_status tla_segmented_free(tla_segmented_memory *memory, tla_block block, tla_work *work);

/* Finds the time at which the next attempt begins; false when all segments have appeared or growth has ended. */
bool tla_segmented_next_attempt(const tla_segmented_memory *memory, uint64_t *at_ps);

/* An attempt has ended at now_ps. After a success the next segment has appeared. TLA_NOT_FOUND when no attempt is due;
 * TLA_NO_HOST_MEMORY: nothing has changed. */
tla_status tla_segmented_attempted(tla_segmented_memory *memory, bool success, uint64_t now_ps);

/* Planned segments, and those that have appeared. */
uint32_t tla_segmented_planned(const tla_segmented_memory *memory);
uint32_t tla_segmented_present(const tla_segmented_memory *memory);

/* Returns the bytes of the largest planned segment: no larger request is ever served. */
uint64_t tla_segmented_largest(const tla_segmented_memory *memory);

/* Returns a segment that has appeared, for reading. */
const tla_arena *tla_segmented_arena(const tla_segmented_memory *memory, uint32_t segment);

#ifdef __cplusplus
}
#endif
#endif
