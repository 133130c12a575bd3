/* The common code of all policies: arguments, rounding, accounting. The policy is behind placement.h. */
#include "arena_state.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const tla_placement *placement;
} policies[] = {
#define POLICY(value, name) [value] = {#name, &tla_##name},
    TLA_POLICIES(POLICY)
#undef POLICY
};

const char *tla_policy_name(tla_policy policy) {
    return (unsigned)policy < TLA_POLICY_COUNT ? policies[policy].name : NULL;
}

bool tla_policy_from_name(const char *name, tla_policy *policy) {
    for (int i = 0; i < TLA_POLICY_COUNT; i++)
        if (strcmp(name, policies[i].name) == 0) {
            *policy = (tla_policy)i;
            return true;
        }
    return false;
}

bool tla_policy_takes_ranges(tla_policy policy) {
    return !policies[policy].placement->regions;
}

uint64_t tla_policy_unit(tla_policy policy, uint64_t alignment, uint64_t capacity) {
    const tla_region_nodes *regions = policies[policy].placement->regions;
    return regions ? regions->unit(alignment, capacity) : alignment;
}

const tla_placement *tla_placement_of(tla_policy policy) {
    return (unsigned)policy < TLA_POLICY_COUNT ? policies[policy].placement : NULL;
}

static const uint64_t limit = (uint64_t)1 << 63; /* offsets stay below, so that they are also good signed numbers */

static uint64_t alignment_of(const tla_arena_config *config) {
    return config->alignment ? config->alignment : 1;
}

tla_status tla_arena_check_config(const tla_arena_config *config) {
    uint64_t alignment = alignment_of(config);
    bool good = tla_placement_of(config->policy) && config->base < limit && config->capacity <= limit - config->base &&
                is_power_of_two(alignment) && config->base % alignment == 0;
    return good ? TLA_OK : TLA_INVALID_ARGUMENT;
}

tla_status tla_arena_create_with(const tla_placement *placement, const tla_arena_config *config, tla_arena **out) {
    *out = NULL;
    tla_status status = tla_arena_check_config(config);
    if (status) return status;
    tla_arena *arena = calloc(1, sizeof *arena);
    if (!arena) return TLA_NO_HOST_MEMORY;
    arena->config = *config;
    arena->config.alignment = alignment_of(config);
    arena->placement = placement;
    if (placement->regions)
        arena->config.alignment = placement->regions->unit(arena->config.alignment, config->capacity);
    if (config->base % arena->config.alignment != 0)
        status = TLA_INVALID_ARGUMENT;
    else
        status = placement->create(&arena->config, &arena->state);
    if (!status && config->validate && !(arena->live = tla_live_blocks_create())) status = TLA_NO_HOST_MEMORY;
    if (!status && config->capacity > 0)
        status = arena->placement->add(arena->state, (tla_block){config->base, config->capacity}, &(tla_work){0});
    if (status) {
        tla_arena_destroy(arena);
        return status;
    }
    *out = arena;
    return TLA_OK;
}

tla_status tla_arena_create(const tla_arena_config *config, tla_arena **out) {
    return tla_arena_create_with(tla_placement_of(config->policy), config, out);
}

void tla_arena_destroy(tla_arena *arena) {
    if (!arena) return;
    if (arena->state) arena->placement->destroy(arena->state);
    tla_live_blocks_destroy(arena->live);
    free(arena);
}

tla_arena_config tla_arena_get_config(const tla_arena *arena) {
    return arena->config;
}

bool tla_arena_takes_size(uint64_t nbytes) {
    return nbytes > 0 && nbytes <= limit;
}

uint64_t tla_arena_granted(const tla_arena *arena, uint64_t nbytes) {
    if (!tla_arena_takes_size(nbytes)) return 0;
    uint64_t mask = arena->config.alignment - 1, rounded = (nbytes + mask) & ~mask;
    return arena->placement->granted ? arena->placement->granted(arena->state, rounded) : rounded;
}

tla_status tla_arena_refuse_size(tla_arena *arena, uint64_t nbytes) {
    if (nbytes == 0) return tla_error_set(&arena->last_error, TLA_INVALID_ARGUMENT, "size must be at least 1 byte");
    return tla_error_set(&arena->last_error, TLA_INVALID_ARGUMENT, "size of %" PRIu64 " bytes: must be at most 2^63",
                         nbytes);
}

tla_status tla_arena_refuse_node(tla_arena *arena, const char *what, uint64_t nbytes) {
    return tla_error_set(&arena->last_error, TLA_LIMIT,
                         "%s of %" PRIu64 " bytes: needs a node, but none of the %" PRIu64 " nodes of %s is left", what,
                         nbytes, arena->nodes, tla_policy_name(arena->config.policy));
}

bool tla_arena_lacks_node(const tla_arena *arena, uint64_t granted) {
    return arena->nodes > 0 && arena->placement->regions->lacks_node(arena->state, granted, 1);
}

void tla_arena_count_used(tla_arena *arena, uint64_t nbytes) {
    arena->used += nbytes;
    if (arena->used > arena->peak_used) arena->peak_used = arena->used;
}

tla_status tla_arena_no_fit(const tla_arena *arena, uint64_t nbytes) {
    return arena->config.capacity - arena->used < nbytes ? TLA_EXHAUSTED : TLA_FRAGMENTED;
}

/* Asks the placement for the `granted` bytes of a request of nbytes, and accounts for them. */
static inline tla_status take(tla_arena *arena, uint64_t nbytes, uint64_t granted, uint64_t alignment, tla_block *block,
                              tla_work *work) {
    tla_status status = arena->placement->alloc(arena->state, granted, alignment, block, work);
    if (status == TLA_LIMIT && arena->nodes > 0) return tla_arena_refuse_node(arena, "allocation", nbytes);
    if (status) return status == TLA_FRAGMENTED ? tla_arena_no_fit(arena, nbytes) : status;
    tla_arena_count_used(arena, granted);
    return TLA_OK;
}

#define OUT_OF_THE_WAY                                                                                                 \
    __attribute__((noinline)) /* so that the common way does not pay for its registers and its stack */

OUT_OF_THE_WAY static tla_status alloc(tla_arena *arena, uint64_t nbytes, uint64_t alignment, tla_block *block,
                                       tla_work *work) {
    uint64_t granted = tla_arena_granted(arena, nbytes);
    if (granted == 0) return tla_arena_refuse_size(arena, nbytes);
    if (arena->live && tla_live_blocks_make_room(arena->live, 1)) return TLA_NO_HOST_MEMORY;
    tla_status status = take(arena, nbytes, granted, alignment, block, work ? work : &(tla_work){0});
    if (status == TLA_OK && arena->live) tla_live_blocks_insert(arena->live, *block, arena->owner);
    return status;
}

/* Whether all there is to a call on this arena is a call of its placement: then the common way is as short as it can
 * be. */
static bool plain(const tla_arena *arena, const tla_work *work) {
    return !arena->live && !arena->placement->granted && !arena->driven && work;
}

tla_status tla_arena_alloc(tla_arena *arena, uint64_t nbytes, tla_block *block, tla_work *work) {
    uint64_t alignment = arena->config.alignment;
    if (!plain(arena, work) || nbytes - 1 >= limit) return alloc(arena, nbytes, alignment, block, work);
    return take(arena, nbytes, (nbytes + alignment - 1) & ~(alignment - 1), alignment, block, work);
}

tla_status tla_arena_alloc_aligned(tla_arena *arena, uint64_t nbytes, uint64_t alignment, tla_block *block,
                                   tla_work *work) {
    if (!is_power_of_two(alignment))
        return tla_error_set(&arena->last_error, TLA_INVALID_ARGUMENT, "alignment %" PRIu64 " must be a power of two",
                             alignment);
    if (alignment > arena->config.alignment && arena->placement->regions)
        return tla_error_set(&arena->last_error, TLA_UNSUPPORTED,
                             "%s: a block's alignment must not exceed the arena's alignment, %" PRIu64,
                             tla_policy_name(arena->config.policy), arena->config.alignment);
    return alloc(arena, nbytes, alignment > arena->config.alignment ? alignment : arena->config.alignment, block, work);
}

static tla_status refuse_range(tla_arena *arena, tla_block range) {
    return tla_error_set(&arena->last_error, TLA_OUT_OF_RANGE,
                         "%" PRIu64 " bytes at %" PRIu64 ": outside the arena of %" PRIu64 " bytes at %" PRIu64,
                         range.nbytes, range.offset, arena->config.capacity, arena->config.base);
}

tla_status tla_arena_reserve(tla_arena *arena, tla_block block, tla_work *work) {
    tla_block range = {block.offset, tla_arena_granted(arena, block.nbytes)};
    if (range.nbytes == 0) return tla_arena_refuse_size(arena, block.nbytes);
    if (!tla_arena_contains(arena, range)) return refuse_range(arena, block);
    if (range.offset % arena->config.alignment != 0)
        return tla_error_set(&arena->last_error, TLA_INVALID_ARGUMENT,
                             "offset %" PRIu64 " must be a multiple of %" PRIu64, range.offset,
                             arena->config.alignment);
    if (arena->placement->regions)
        return tla_error_set(&arena->last_error, TLA_UNSUPPORTED,
                             "%s chooses the addresses of blocks and cannot reserve a given range",
                             tla_policy_name(arena->config.policy));
    if (arena->live && tla_live_blocks_make_room(arena->live, 1)) return TLA_NO_HOST_MEMORY;
    tla_status status = arena->placement->reserve(arena->state, range, work ? work : &(tla_work){0});
    if (status) return status;
    tla_arena_count_used(arena, range.nbytes);
    if (arena->live) tla_live_blocks_insert(arena->live, range, arena->owner);
    return TLA_OK;
}

tla_status tla_arena_may_free(tla_arena *arena, tla_block block, tla_block *range) {
    *range = (tla_block){block.offset, tla_arena_granted(arena, block.nbytes)};
    if (block.nbytes == 0) return tla_arena_refuse_size(arena, 0);
    if (!tla_arena_contains(arena, *range)) return refuse_range(arena, block);
    return arena->live ? tla_arena_check_owner(arena, *range) : TLA_OK;
}

tla_status tla_arena_refuse_double(tla_arena *arena, tla_block range) {
    return tla_error_set(&arena->last_error, TLA_NOT_ALLOCATED,
                         "free of %" PRIu64 " bytes at %" PRIu64 ": part of the range is already free", range.nbytes,
                         range.offset);
}

OUT_OF_THE_WAY static tla_status release(tla_arena *arena, tla_block block, tla_work *work) {
    tla_block range;
    tla_status status = tla_arena_may_free(arena, block, &range);
    if (status) return status;
    status = arena->placement->free(arena->state, range, work ? work : &(tla_work){0});
    if (status == TLA_NOT_ALLOCATED) return tla_arena_refuse_double(arena, range);
    if (status && status != TLA_ENGINE_DIFFERS) return status;
    arena->used -= range.nbytes;
    if (arena->live) tla_live_blocks_remove(arena->live, range.offset);
    return status;
}

tla_status tla_arena_free(tla_arena *arena, tla_block block, tla_work *work) {
    if (plain(arena, work)) {
        uint64_t alignment = arena->config.alignment;
        tla_block range = {block.offset, (block.nbytes + alignment - 1) & ~(alignment - 1)};
        if (tla_arena_contains(arena, range) && arena->placement->free(arena->state, range, work) == TLA_OK) {
            arena->used -= range.nbytes;
            return TLA_OK;
        }
    }
    return release(arena, block, work);
}

tla_status tla_arena_grow(tla_arena *arena, uint64_t nbytes, tla_work *work) {
    if (nbytes == 0) return tla_arena_refuse_size(arena, 0);
    uint64_t mask = arena->config.alignment - 1, end = arena->config.base + arena->config.capacity;
    if (nbytes > limit || ((nbytes + mask) & ~mask) > limit - end)
        return tla_error_set(&arena->last_error, TLA_OUT_OF_RANGE,
                             "growth by %" PRIu64 " bytes at %" PRIu64 ": the arena would end past 2^63", nbytes, end);
    nbytes = (nbytes + mask) & ~mask;
    tla_status status = arena->placement->add(arena->state, (tla_block){end, nbytes}, work ? work : &(tla_work){0});
    if (status == TLA_OK) arena->config.capacity += nbytes;
    return status == TLA_LIMIT && arena->nodes > 0 ? tla_arena_refuse_node(arena, "growth", nbytes) : status;
}

tla_arena_stats tla_arena_get_stats(const tla_arena *arena) {
    const tla_region_nodes *regions = arena->placement->regions;
    tla_arena_stats stats = {.capacity = arena->config.capacity,
                             .used = arena->used,
                             .peak_used = arena->peak_used,
                             .free = arena->config.capacity - arena->used,
                             .largest_free = arena->placement->largest(arena->state),
                             .free_blocks = arena->placement->count(arena->state)};
    if (tla_arena_lacks_node(arena, arena->config.alignment)) return stats;
    stats.proven_free = stats.free - (regions ? arena->config.capacity % arena->config.alignment : 0);
    stats.proven_largest = regions ? regions->largest_bin(arena->state) : stats.largest_free;
    return stats;
}

size_t tla_arena_free_blocks(const tla_arena *arena, uint64_t from, tla_block *blocks, size_t max) {
    return arena->placement->copy(arena->state, from, blocks, max);
}

const tla_error *tla_arena_last_error(const tla_arena *arena) {
    return &arena->last_error;
}
