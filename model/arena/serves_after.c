/* Whether a request would be served if blocks were released: tried on a copy of the free list. */
#include "driven.h"

enum { BLOCKS_AT_ONCE = 256 };

/* A placement of its own, and how many blocks its list may have. */
typedef struct copy {
    const tla_placement *placement;
    void *state;
    uint64_t nodes;
} copy;

static bool add(const copy *c, tla_block block) {
    return c->placement->add(c->state, block, &(tla_work){0}) == TLA_OK && c->placement->count(c->state) <= c->nodes;
}

static bool give_back(const copy *c, tla_block block) {
    return c->placement->regions ? c->placement->free(c->state, block, &(tla_work){0}) == TLA_OK : add(c, block);
}

static bool add_free_blocks(const copy *c, const tla_arena *arena) {
    tla_block blocks[BLOCKS_AT_ONCE];
    uint64_t from = 0;
    for (size_t n; (n = tla_arena_free_blocks(arena, from, blocks, BLOCKS_AT_ONCE)) > 0;) {
        for (size_t i = 0; i < n; i++)
            if (!add(c, blocks[i])) return false;
        from = blocks[n - 1].offset + blocks[n - 1].nbytes;
    }
    return true;
}

uint64_t tla_arena_serves_after(const tla_arena *arena, const tla_block *returned, size_t count, uint64_t nbytes) {
    const uint64_t granted = tla_arena_granted(arena, nbytes);
    uint64_t back = 0;
    for (size_t i = 0; i < count; i++)
        back += tla_arena_granted(arena, returned[i].nbytes);
    /* Most requests that fail need no copy. */
    if (granted == 0 || arena->config.capacity - arena->used + back < granted) return 0;
    copy c = {.placement = tla_placement_of(arena->config.policy),
              .nodes = arena->driven ? arena->driven->nodes : UINT64_MAX};
    if (c.placement->create(&arena->config, &c.state)) return 0;
    const tla_region_nodes *regions = c.placement->regions;
    bool served =
        add_free_blocks(&c, arena) &&
        (!regions || regions->limit(c.state, arena->nodes, arena->placement->regions->live(arena->state)) == TLA_OK);
    for (size_t i = 0; i < count && served; i++)
        served = give_back(&c, (tla_block){returned[i].offset, tla_arena_granted(arena, returned[i].nbytes)});
    served = served && c.placement->fits(c.state, granted, 1) > 0;
    c.placement->destroy(c.state);
    return served ? back : 0;
}
