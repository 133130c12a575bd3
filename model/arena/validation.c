/* Validation (ADR-0048 A2): what D2 trusts the caller with, checked, and the offender named. */
#include "arena_state.h"

#include <inttypes.h>
#include <stdio.h>

/* The owner is a number, or unknown (tla_who's TLA_WHO_UNKNOWN in guard.h). */
typedef struct {
    char text[32];
} requester;

static requester requester_of(tla_owner owner) {
    requester r = {"an unknown initiator"};
    if (owner.who != UINT64_MAX) snprintf(r.text, sizeof r.text, "%" PRIu64, owner.who);
    return r;
}

typedef struct {
    char text[176];
} description;

static description describe(const tla_live_block *live) {
    description d;
    snprintf(d.text, sizeof d.text,
             "%" PRIu64 " bytes at %" PRIu64 " (tag %" PRIu64 ", allocated by %s at time %" PRIu64 ")",
             live->block.nbytes, live->block.offset, live->owner.tag, requester_of(live->owner).text, live->owner.time);
    return d;
}

void tla_arena_set_owner(tla_arena *arena, tla_owner owner) {
    arena->owner = owner;
}

/* The live block that holds the offset, or the next one. */
static const tla_live_block *first_touched(const tla_arena *arena, uint64_t offset) {
    const tla_live_block *live = tla_live_blocks_at_or_below(arena->live, offset);
    if (live && live->block.offset + live->block.nbytes > offset) return live;
    return tla_live_blocks_at_or_above(arena->live, offset);
}

tla_status tla_arena_check_owner(tla_arena *arena, tla_block range) {
    const tla_live_block *live = first_touched(arena, range.offset);
    uint64_t end = range.offset + range.nbytes;
    if (live && live->block.offset == range.offset && live->block.nbytes == range.nbytes) return TLA_OK;
    tla_status status;
    const char *kind;
    if (!live || live->block.offset >= end) {
        live = NULL;
        status = TLA_NOT_ALLOCATED;
        kind = "not allocated (double free?)";
    } else if (live->block.offset == range.offset) {
        status = TLA_SIZE_MISMATCH;
        kind = "wrong size for";
    } else if (live->block.offset < range.offset && live->block.offset + live->block.nbytes >= end) {
        status = TLA_SIZE_MISMATCH;
        kind = "only a part of";
    } else {
        status = TLA_OVERLAP;
        kind = "overlaps";
    }
    tla_error_set(&arena->last_error, status,
                  "free of %" PRIu64 " bytes at %" PRIu64 " (tag %" PRIu64 ", by %s at time %" PRIu64 "): %s%s%s",
                  range.nbytes, range.offset, arena->owner.tag, requester_of(arena->owner).text, arena->owner.time,
                  kind, live ? " " : "", live ? describe(live).text : "");
    return status;
}

tla_status tla_arena_find(const tla_arena *arena, uint64_t offset, tla_block *block, tla_owner *owner) {
    if (!arena->live) return TLA_UNSUPPORTED;
    const tla_live_block *live = tla_live_blocks_at_or_below(arena->live, offset);
    if (!live || offset - live->block.offset >= live->block.nbytes) return TLA_NOT_ALLOCATED;
    *block = live->block;
    if (owner) *owner = live->owner;
    return TLA_OK;
}

tla_status tla_arena_check_leaks(const tla_arena *arena, tla_error *error) {
    if (arena->used == 0) return TLA_OK;
    if (!arena->live) return tla_error_set(error, TLA_LEAK, "%" PRIu64 " bytes are still allocated", arena->used);
    return tla_error_set(error, TLA_LEAK, "%" PRIu64 " bytes in %zu blocks are still allocated, the first %s",
                         arena->used, tla_live_blocks_count(arena->live),
                         describe(tla_live_blocks_at_or_above(arena->live, 0)).text);
}

static tla_status broken(tla_error *error, tla_block block, const char *how) {
    return tla_error_set(error, TLA_OVERLAP, "free block of %" PRIu64 " bytes at %" PRIu64 " %s", block.nbytes,
                         block.offset, how);
}

tla_status tla_arena_check(const tla_arena *arena, tla_error *error) {
    const tla_placement *p = arena->placement;
    tla_block chunk[64], last = {0, 0};
    uint64_t from = 0, total = 0, largest = 0, blocks = 0;
    for (size_t n; (n = p->copy(arena->state, from, chunk, 64)) > 0; from = last.offset + 1)
        for (size_t i = 0; i < n; i++, blocks++) {
            tla_block block = chunk[i];
            if (!tla_arena_contains(arena, block)) return broken(error, block, "is not inside the arena");
            if (blocks > 0 && block.offset < last.offset + last.nbytes)
                return broken(error, block, "overlaps another free block");
            if (blocks > 0 && block.offset == last.offset + last.nbytes && !p->whole_blocks)
                return broken(error, block, "is not merged with its neighbour");
            const tla_live_block *live = arena->live ? first_touched(arena, block.offset) : NULL;
            if (live && live->block.offset < block.offset + block.nbytes)
                return broken(error, block, "overlaps a live block");
            total += block.nbytes;
            if (block.nbytes > largest) largest = block.nbytes;
            last = block;
        }
    if (total + arena->used != arena->config.capacity)
        return tla_error_set(error, TLA_OVERLAP,
                             "%" PRIu64 " bytes free and %" PRIu64
                             " bytes used do not add up to the capacity, %" PRIu64,
                             total, arena->used, arena->config.capacity);
    if (blocks != p->count(arena->state) || largest != p->largest(arena->state))
        return tla_error_set(error, TLA_OVERLAP,
                             "%" PRIu64 " free blocks, the largest of %" PRIu64 " bytes: the placement counts others",
                             blocks, largest);
    return TLA_OK;
}
