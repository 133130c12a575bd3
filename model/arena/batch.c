/* Many blocks in one call, all or none: LMCache's batched_allocate (both kinds) and batched_free. */
#include "arena_state.h"

#include <stdlib.h>

static tla_status no_fit(const tla_arena *arena, uint64_t nbytes, tla_work *work) {
    uint64_t count = arena->placement->count(arena->state);
    work->nodes_visited += count;
    work->list_length += count;
    return tla_arena_no_fit(arena, nbytes);
}

/* One block, cut up. What rounding the whole adds beyond the items goes straight back. */
static tla_status take_contiguous(tla_arena *arena, uint64_t each, size_t n, tla_block *blocks, tla_work *work) {
    uint64_t total = each * n, granted = tla_arena_granted(arena, total);
    if (granted == 0) return TLA_EXHAUSTED;
    tla_block whole;
    tla_status status = tla_arena_take(arena, granted, arena->config.alignment, &whole, work);
    if (status) return status;
    if (granted > total) {
        status = arena->placement->add(arena->state, (tla_block){whole.offset + total, granted - total}, work);
        arena->used -= status ? granted : granted - total;
        if (status) {
            arena->placement->free(arena->state, whole, &(tla_work){0});
            return status;
        }
    }
    for (size_t i = 0; i < n; i++)
        blocks[i] = (tla_block){whole.offset + i * each, each};
    return TLA_OK;
}

static tla_status take_carved(tla_arena *arena, uint64_t each, size_t n, tla_block *blocks, tla_work *work) {
    if (arena->placement->fits(arena->state, each, n) < n) return no_fit(arena, each * n, work);
    if (arena->placement->carve) {
        arena->placement->carve(arena->state, each, n, blocks, work);
        tla_arena_count_used(arena, each * n);
        return TLA_OK;
    }
    for (size_t i = 0; i < n; i++) {
        tla_status status = tla_arena_take(arena, each, arena->config.alignment, &blocks[i], work);
        if (status == TLA_OK) continue;
        while (i-- > 0) {
            arena->placement->free(arena->state, blocks[i], &(tla_work){0});
            arena->used -= each;
        }
        return status;
    }
    return TLA_OK;
}

tla_status tla_arena_alloc_batch(tla_arena *arena, uint64_t nbytes, size_t n, tla_batch kind, tla_block *blocks,
                                 tla_work *work) {
    tla_work ignored;
    if (!work) work = &ignored;
    if (n == 0) return TLA_OK;
    uint64_t each = tla_arena_granted(arena, nbytes);
    if (each == 0) return tla_arena_refuse_size(arena, nbytes);
    if (each > arena->config.capacity || n > arena->config.capacity / each) return TLA_EXHAUSTED;
    if (arena->live && tla_live_blocks_make_room(arena->live, n)) return TLA_NO_HOST_MEMORY;
    tla_status status = kind == TLA_BATCH_CONTIGUOUS ? take_contiguous(arena, each, n, blocks, work)
                                                     : take_carved(arena, each, n, blocks, work);
    if (status == TLA_OK && arena->live)
        for (size_t i = 0; i < n; i++)
            tla_live_blocks_insert(arena->live, blocks[i], arena->owner);
    return status;
}

static int by_offset(const void *a, const void *b) {
    const tla_block *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The run that begins at blocks[*i]: everything that touches, or one block when the placement wants it so. */
static tla_block next_run(const tla_arena *arena, const tla_block *blocks, size_t n, size_t *i) {
    tla_block run = {blocks[*i].offset, tla_arena_granted(arena, blocks[*i].nbytes)};
    while (++*i < n && !arena->placement->whole_blocks && blocks[*i].offset == run.offset + run.nbytes)
        run.nbytes += tla_arena_granted(arena, blocks[*i].nbytes);
    return run;
}

tla_status tla_arena_free_batch(tla_arena *arena, tla_block *blocks, size_t n, tla_work *work) {
    tla_work ignored;
    if (!work) work = &ignored;
    if (n == 0) return TLA_OK;
    qsort(blocks, n, sizeof *blocks, by_offset);
    tla_block range, last = {0, 0};
    size_t runs = 0;
    for (size_t i = 0; i < n; i++, last = range) {
        tla_status status = tla_arena_may_free(arena, blocks[i], &range);
        if (status) return status;
        if (range.offset < last.offset + last.nbytes) return tla_arena_refuse_double(arena, range);
    }
    for (size_t i = 0; i < n; runs++) {
        range = next_run(arena, blocks, n, &i);
        if (arena->placement->may_free(arena->state, range)) return tla_arena_refuse_double(arena, range);
    }
    if (arena->placement->make_room && arena->placement->make_room(arena->state, runs)) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < n;) {
        range = next_run(arena, blocks, n, &i);
        arena->placement->free(arena->state, range, work);
        arena->used -= range.nbytes;
    }
    if (arena->live)
        for (size_t i = 0; i < n; i++)
            tla_live_blocks_remove(arena->live, blocks[i].offset);
    return TLA_OK;
}
