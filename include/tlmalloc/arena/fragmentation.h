/* How broken up the free space of an arena is, beyond tla_arena_fragmentation_permille. */
#ifndef TLMALLOC_ARENA_FRAGMENTATION_H
#define TLMALLOC_ARENA_FRAGMENTATION_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Free blocks by size: bucket i holds those of 2^i .. 2^(i+1) - 1 bytes. */
typedef struct tla_free_histogram {
    uint64_t blocks[64];
    uint64_t nbytes[64];
} tla_free_histogram;

/* Fills *histogram. O(n). */
void tla_arena_histogram(const tla_arena *arena, tla_free_histogram *histogram);

/* Gorman's fragmentation index for a request of nbytes (> 0), in permille, as Linux computes it (mm/vmstat.c): -1000
 * when the request would succeed; otherwise towards 0 it fails for lack of memory, towards 1000 because of
 * fragmentation: 1000 - (1000 + 1000 * free / nbytes) / free_blocks, not below 0. */
int tla_fragmentation_index(const tla_arena *arena, uint64_t nbytes);

/* Gorman's unusable free space index in permille: the share of the free bytes that lies in blocks smaller than nbytes;
 * 0 when nothing is free. O(n). */
unsigned tla_unusable_permille(const tla_arena *arena, uint64_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
