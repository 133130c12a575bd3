/* Fragmentation measures: of the largest block, by size, and Gorman's two indices. */
#include "tlmalloc/arena/arena.h"

#include "base/wide.h"

/* Visits the free blocks in offset order. */
static size_t next_chunk(const tla_arena *arena, tla_block *chunk, size_t n, size_t room) {
    uint64_t from = n == 0 ? 0 : chunk[n - 1].offset + 1;
    return tla_arena_free_blocks(arena, from, chunk, room);
}

static unsigned permille(uint64_t part, uint64_t whole) {
    return whole ? (unsigned)wide_ratio(1000, part, whole) : 0;
}

uint64_t tla_arena_fragmentation_permille(const tla_arena_stats *stats) {
    return permille(stats->free - stats->largest_free, stats->free);
}

void tla_arena_histogram(const tla_arena *arena, tla_free_histogram *histogram) {
    *histogram = (tla_free_histogram){{0}, {0}};
    tla_block chunk[64];
    for (size_t n = 0; (n = next_chunk(arena, chunk, n, 64)) > 0;)
        for (size_t i = 0; i < n; i++) {
            int bucket = 63 - __builtin_clzll(chunk[i].nbytes);
            histogram->blocks[bucket]++;
            histogram->nbytes[bucket] += chunk[i].nbytes;
        }
}

int tla_fragmentation_index(const tla_arena *arena, uint64_t nbytes) {
    tla_arena_stats s = tla_arena_get_stats(arena);
    if (s.largest_free >= nbytes) return -1000;
    if (s.free_blocks == 0) return 0;
    uint64_t lost = (1000 + wide_ratio(1000, s.free, nbytes)) / s.free_blocks; /* s.free < nbytes * s.free_blocks */
    return lost < 1000 ? 1000 - (int)lost : 0;
}

unsigned tla_unusable_permille(const tla_arena *arena, uint64_t nbytes) {
    uint64_t usable = 0;
    tla_block chunk[64];
    for (size_t n = 0; (n = next_chunk(arena, chunk, n, 64)) > 0;)
        for (size_t i = 0; i < n; i++)
            if (chunk[i].nbytes >= nbytes) usable += chunk[i].nbytes;
    tla_arena_stats s = tla_arena_get_stats(arena);
    return permille(s.free - usable, s.free);
}
