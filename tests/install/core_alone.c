/* The allocators linked from plain C, as firmware or a driver would. */
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/version.h"

#include <stdio.h>

#if TLA_VERSION < TLA_VERSION_OF(0, 1, 0)
#error "the headers are older than the package that was asked for"
#endif

int main(void) {
    tla_arena *arena = NULL;
    tla_block a = {0}, b = {0};
    if (tla_arena_create(&(tla_arena_config){.capacity = 65536}, &arena)) return 1;
    if (tla_arena_alloc(arena, 4096, &a, NULL) || tla_arena_alloc(arena, 100, &b, NULL)) return 1;
    printf("core alone: %llu %llu\n", (unsigned long long)a.offset, (unsigned long long)b.offset);
    tla_arena_destroy(arena);
    return 0;
}
