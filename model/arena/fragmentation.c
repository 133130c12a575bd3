/* How fragmented free memory is. */
#include "tlmalloc/arena.h"

uint64_t tla_arena_fragmentation_permille(const tla_arena_stats *stats) {
    __extension__ typedef unsigned __int128 wide;
    if (stats->free == 0) return 0;
    return (uint64_t)((wide)1000 * (stats->free - stats->largest_free) / stats->free);
}
