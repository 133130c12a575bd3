/* First fit by lowest offset over a sorted array of free blocks (ADR-0048 D1). */
#include "tlmalloc/arena.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct tla_arena {
    tla_arena_config config;
    uint64_t used, peak_used;
    tla_block *free;
    size_t count, room;
};

static const char *const policy_names[TLA_POLICY_COUNT] = {[TLA_FIRST_FIT] = "first_fit"};

const char *tla_policy_name(tla_policy policy) {
    return (unsigned)policy < TLA_POLICY_COUNT ? policy_names[policy] : NULL;
}

tla_status tla_arena_create(const tla_arena_config *config, tla_arena **out) {
    *out = NULL;
    if ((unsigned)config->policy >= TLA_POLICY_COUNT || config->base > INT64_MAX ||
        config->capacity > (uint64_t)INT64_MAX + 1 - config->base)
        return TLA_INVALID_ARGUMENT;
    tla_arena *arena = calloc(1, sizeof *arena);
    tla_block *list = malloc(16 * sizeof *list);
    if (!arena || !list) {
        free(arena);
        free(list);
        return TLA_NO_HOST_MEMORY;
    }
    *arena = (tla_arena){.config = *config, .free = list, .room = 16, .count = config->capacity > 0};
    list[0] = (tla_block){config->base, config->capacity};
    *out = arena;
    return TLA_OK;
}

void tla_arena_destroy(tla_arena *arena) {
    if (!arena) return;
    free(arena->free);
    free(arena);
}

static void remove_at(tla_arena *arena, size_t index) {
    arena->count--;
    memmove(arena->free + index, arena->free + index + 1, (arena->count - index) * sizeof *arena->free);
}

static tla_status insert_at(tla_arena *arena, size_t index, tla_block block) {
    if (arena->count == arena->room) {
        tla_block *grown = realloc(arena->free, 2 * arena->room * sizeof *grown);
        if (!grown) return TLA_NO_HOST_MEMORY;
        arena->free = grown;
        arena->room *= 2;
    }
    memmove(arena->free + index + 1, arena->free + index, (arena->count - index) * sizeof *arena->free);
    arena->free[index] = block;
    arena->count++;
    return TLA_OK;
}

tla_status tla_arena_alloc(tla_arena *arena, uint64_t nbytes, tla_block *block, tla_work *work) {
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    size_t index = 0;
    while (index < arena->count && arena->free[index].nbytes < nbytes)
        index++;
    bool found = index < arena->count;
    if (work) {
        work->nodes_visited += index + found;
        work->list_length += arena->count;
    }
    if (!found) return arena->config.capacity - arena->used < nbytes ? TLA_EXHAUSTED : TLA_FRAGMENTED;
    tla_block *taken = &arena->free[index];
    *block = (tla_block){taken->offset, nbytes};
    if (taken->nbytes == nbytes) {
        remove_at(arena, index);
    } else {
        taken->offset += nbytes;
        taken->nbytes -= nbytes;
        if (work) work->splits++;
    }
    arena->used += nbytes;
    if (arena->used > arena->peak_used) arena->peak_used = arena->used;
    return TLA_OK;
}

/* bisect_left(free, offset), counting its probes. */
static size_t bisect(const tla_arena *arena, uint64_t offset, uint64_t *probes) {
    size_t low = 0, high = arena->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        ++*probes;
        if (arena->free[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

tla_status tla_arena_free(tla_arena *arena, tla_block block, tla_work *work) {
    const tla_arena_config *c = &arena->config;
    if (block.nbytes == 0) return TLA_INVALID_ARGUMENT;
    if (block.offset < c->base || block.nbytes > c->capacity || block.offset - c->base > c->capacity - block.nbytes)
        return TLA_OUT_OF_RANGE;
    uint64_t probes = 0, end = block.offset + block.nbytes;
    size_t index = bisect(arena, block.offset, &probes), length = arena->count;
    tla_block *previous = index > 0 ? &arena->free[index - 1] : NULL;
    tla_block *next = index < arena->count ? &arena->free[index] : NULL;
    if ((previous && previous->offset + previous->nbytes > block.offset) || (next && end > next->offset))
        return TLA_NOT_ALLOCATED;
    bool join_previous = previous && previous->offset + previous->nbytes == block.offset;
    bool join_next = next && end == next->offset;
    if (join_previous) {
        previous->nbytes += block.nbytes;
        if (join_next) {
            previous->nbytes += next->nbytes;
            remove_at(arena, index);
        }
    } else if (join_next) {
        *next = (tla_block){block.offset, block.nbytes + next->nbytes};
    } else {
        tla_status status = insert_at(arena, index, block);
        if (status) return status;
    }
    arena->used -= block.nbytes;
    if (work) {
        work->probes += probes;
        work->insert_nodes += index;
        work->merges += (uint64_t)join_previous + join_next;
        work->list_length += length;
    }
    return TLA_OK;
}

tla_arena_stats tla_arena_get_stats(const tla_arena *arena) {
    tla_arena_stats stats = {.capacity = arena->config.capacity,
                             .used = arena->used,
                             .peak_used = arena->peak_used,
                             .free = arena->config.capacity - arena->used,
                             .free_blocks = arena->count};
    for (size_t i = 0; i < arena->count; i++)
        if (arena->free[i].nbytes > stats.largest_free) stats.largest_free = arena->free[i].nbytes;
    return stats;
}

size_t tla_arena_free_blocks(const tla_arena *arena, uint64_t from, tla_block *blocks, size_t max) {
    uint64_t probes = 0;
    size_t index = bisect(arena, from, &probes), count = 0;
    while (count < max && index < arena->count)
        blocks[count++] = arena->free[index++];
    return count;
}
