/* Many blocks in one call, all or none: LMCache's batched_allocate (both kinds) and batched_free. */
#include "arena_state.h"
#include "driven.h"

#include <stdlib.h>

/* Cuts one block into the items. The bytes that rounding the whole adds beyond the items are released at once, so they
 * never count as used. */
static tla_status take_contiguous(tla_arena *arena, uint64_t each, size_t n, tla_block *blocks, tla_work *work) {
    const tla_placement *placement = arena->placement;
    uint64_t total = each * n, granted = tla_arena_granted(arena, total);
    tla_block whole;
    /* Makes room for the blocks that the alloc halves, and for the released bytes. */
    if (granted > total && placement->make_room(arena->state, 2 * TLA_RANGE_BLOCKS)) return TLA_NO_HOST_MEMORY;
    tla_status status = placement->alloc(arena->state, granted, arena->config.alignment, &whole, work);
    if (status) return status;
    if (granted > total) placement->add(arena->state, (tla_block){whole.offset + total, granted - total}, work);
    for (size_t i = 0; i < n; i++)
        blocks[i] = (tla_block){whole.offset + i * each, each};
    return TLA_OK;
}

static tla_status take_carved(tla_arena *arena, uint64_t each, size_t n, tla_block *blocks, tla_work *work) {
    const tla_placement *placement = arena->placement;
    if (placement->fits(arena->state, each, n) < n) {
        placement->search_in_vain(arena->state, each, work);
        if (arena->nodes > 0 && placement->regions->lacks_node(arena->state, each, n))
            return tla_arena_refuse_node(arena, "a batch with blocks", each);
        return TLA_FRAGMENTED;
    }
    if (placement->carve) {
        placement->carve(arena->state, each, n, blocks, work);
        return TLA_OK;
    }
    if (placement->make_alloc_room && placement->make_alloc_room(arena->state, n)) return TLA_NO_HOST_MEMORY;
    tla_status status = TLA_OK;
    size_t taken = 0;
    while (taken < n && status == TLA_OK) { /* n fit, and there is room: only an engine behind them can differ */
        status = placement->alloc(arena->state, each, arena->config.alignment, &blocks[taken], work);
        taken += status == TLA_OK;
    }
    for (; status && taken > 0; taken--)
        placement->free(arena->state, blocks[taken - 1], work);
    return status;
}

tla_status tla_arena_alloc_batch(tla_arena *arena, uint64_t nbytes, size_t n, tla_batch kind, tla_block *blocks,
                                 tla_work *work) {
    tla_work ignored = {0};
    if (!work) work = &ignored;
    if (n == 0) return TLA_OK;
    uint64_t each = tla_arena_granted(arena, nbytes);
    if (each == 0) return tla_arena_refuse_size(arena, nbytes);
    bool contiguous = kind == TLA_BATCH_CONTIGUOUS;
    if (contiguous && arena->driven && tla_driven_may_cut(arena->driven, n)) return TLA_UNSUPPORTED;
    uint64_t asked = n > UINT64_MAX / nbytes ? UINT64_MAX : nbytes * n; /* what no arena has either way */
    if (n > arena->config.capacity / each) {
        uint64_t most = (uint64_t)1 << 63, total = n > most / each ? most : each * n;
        arena->placement->search_in_vain(arena->state, contiguous ? tla_arena_granted(arena, total) : each, work);
        return tla_arena_no_fit(arena, asked);
    }
    if (contiguous && arena->placement->regions && n > 1)
        return tla_error_set(&arena->last_error, TLA_UNSUPPORTED,
                             "%s: cannot release parts of a block that was allocated whole",
                             tla_policy_name(arena->config.policy));
    if (arena->live && tla_live_blocks_make_room(arena->live, n)) return TLA_NO_HOST_MEMORY;
    tla_status status =
        contiguous ? take_contiguous(arena, each, n, blocks, work) : take_carved(arena, each, n, blocks, work);
    if (status) return status == TLA_FRAGMENTED ? tla_arena_no_fit(arena, asked) : status;
    tla_arena_count_used(arena, each * n);
    for (size_t i = 0; i < n && arena->live; i++)
        tla_live_blocks_insert(arena->live, blocks[i], arena->owner);
    return TLA_OK;
}

bool tla_arena_fits(const tla_arena *arena, uint64_t nbytes, size_t n) {
    const uint64_t each = tla_arena_granted(arena, nbytes);
    return each > 0 && n <= arena->config.capacity / each && arena->placement->fits(arena->state, each, n) >= n;
}

static int by_offset(const void *a, const void *b) {
    const tla_block *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The run that begins at blocks[*i]: everything that touches, or one block when the placement wants it so. */
static tla_block next_run(const tla_arena *arena, const tla_block *blocks, size_t n, size_t *i) {
    const bool joined = !arena->placement->whole_blocks && !arena->placement->regions;
    tla_block run = {blocks[*i].offset, tla_arena_granted(arena, blocks[*i].nbytes)};
    while (++*i < n && joined && blocks[*i].offset == run.offset + run.nbytes)
        run.nbytes += tla_arena_granted(arena, blocks[*i].nbytes);
    return run;
}

tla_status tla_arena_free_batch(tla_arena *arena, tla_block *blocks, size_t n, tla_work *work) {
    tla_work ignored = {0};
    if (!work) work = &ignored;
    if (n == 0) return TLA_OK;
    qsort(blocks, n, sizeof *blocks, by_offset);
    tla_block range, last = {0, 0};
    size_t runs = 0;
    tla_status status = TLA_OK;
    for (size_t i = 0; i < n; i++, last = range) {
        status = tla_arena_may_free(arena, blocks[i], &range);
        if (status) return status;
        if (range.offset < last.offset + last.nbytes) return tla_arena_refuse_double(arena, range);
    }
    for (size_t i = 0; i < n; runs++) {
        range = next_run(arena, blocks, n, &i);
        if (arena->placement->may_free(arena->state, range)) return tla_arena_refuse_double(arena, range);
    }
    status = arena->placement->make_room(arena->state, runs);
    if (status) return status;
    for (size_t i = 0; i < n;) {
        range = next_run(arena, blocks, n, &i);
        /* all may go, and there is room: only an engine can differ, and then it is done all the same */
        const tla_status freed = arena->placement->free(arena->state, range, work);
        if (!status) status = freed;
        arena->used -= range.nbytes;
    }
    if (arena->live)
        for (size_t i = 0; i < n; i++)
            tla_live_blocks_remove(arena->live, blocks[i].offset);
    return status;
}
