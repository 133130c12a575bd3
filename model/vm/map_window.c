/* Old mappings, until their changes are visible. */
#include "map_window.h"
#include "base/grow.h"

#include <stdlib.h>

/* A stretch of one address space that was mapped in one way, or not mapped. */
typedef struct stretch {
    uint64_t va, nbytes, pa;
    uint64_t visible_ps;                         /* until then this is what an access sees */
    uint32_t asid, flags;                        /* flags 0: not mapped */
    uint64_t page_va;                            /* of its first page or region */
    uint32_t page_nbytes;                        /* of each */
    uint8_t page_shift;                          /* log2 of the page size */
    uint8_t reads, va_shift[TLA_WALK_READS_MAX]; /* of a walk */
} stretch;

struct tla_map_window {
    stretch *items; /* oldest change first */
    size_t count, committed, room;
};

tla_status tla_map_window_create(tla_map_window **window) {
    *window = calloc(1, sizeof **window);
    return *window ? TLA_OK : TLA_NO_HOST_MEMORY;
}

void tla_map_window_destroy(tla_map_window *window) {
    if (!window) return;
    free(window->items);
    free(window);
}

static tla_status append(tla_map_window *window, stretch item) {
    if (!tla_grow(&window->items, &window->room, window->count + 1, sizeof *window->items)) return TLA_NO_HOST_MEMORY;
    window->items[window->count++] = item;
    return TLA_OK;
}

static stretch stretch_of(const tla_walk *walk, uint64_t va, uint64_t nbytes) {
    stretch item = {.va = va,
                    .visible_ps = UINT64_MAX,
                    .nbytes = nbytes,
                    .asid = walk->asid,
                    .flags = walk->flags,
                    .page_va = walk->va.value,
                    .page_nbytes = (uint32_t)walk->nbytes,
                    .page_shift = (uint8_t)__builtin_ctzll(walk->page_size),
                    .reads = (uint8_t)walk->reads};
    if (walk->flags) item.pa = walk->pa.value + (va - walk->va.value);
    for (uint32_t i = 0; i < walk->reads; i++)
        item.va_shift[i] = (uint8_t)walk->read[i].va_shift;
    return item;
}

tla_status tla_map_window_keep(tla_map_window *window, const tla_page_table *table, uint32_t asid, tla_vaddr va,
                               uint64_t nbytes) {
    for (uint64_t done = 0, run; done < nbytes; done += run) {
        tla_vaddr front = {va.value + done};
        tla_walk walk;
        if (tla_page_table_walk_run(table, asid, front, nbytes - done, &walk, &run) == TLA_INVALID_ARGUMENT) break;
        tla_status status = append(window, stretch_of(&walk, front.value, run));
        if (status) return status;
    }
    return TLA_OK;
}

size_t tla_map_window_runs(const tla_map_window *window) {
    return window->count;
}

tla_map_entry tla_map_window_run(const tla_map_window *window, size_t number) {
    const stretch *s = &window->items[number];
    return (tla_map_entry){{s->va}, {s->pa}, s->nbytes, s->flags, s->asid};
}

void tla_map_window_commit(tla_map_window *window, uint64_t visible_ps) {
    while (window->committed < window->count)
        window->items[window->committed++].visible_ps = visible_ps;
}

void tla_map_window_drop(tla_map_window *window) {
    window->count = window->committed;
}

/* Finds the oldest invisible change that covers va: the mapping that it kept of va, or NULL. *nbytes, at first the
 * requested bytes, becomes the number of bytes for which the result holds. */
static const stretch *governing(const tla_map_window *window, uint32_t asid, uint64_t va, uint64_t at_ps,
                                uint64_t *nbytes) {
    for (size_t i = 0; i < window->count; i++) {
        const stretch *s = &window->items[i];
        if (s->asid != asid || s->visible_ps <= at_ps) continue;
        if (s->va > va) { /* what lies further on may be governed by this change: the answer ends before it */
            if (s->va - va < *nbytes) *nbytes = s->va - va;
            continue;
        }
        uint64_t into = va - s->va;
        if (into >= s->nbytes) continue;
        if (s->nbytes - into < *nbytes) *nbytes = s->nbytes - into;
        return s;
    }
    return NULL;
}

bool tla_map_window_find(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t nbytes, uint32_t access,
                         uint64_t at_ps, tla_status *status, tla_translation *translation) {
    *translation = (tla_translation){.nbytes = nbytes};
    const stretch *s = governing(window, asid, va.value, at_ps, &translation->nbytes);
    if (!s) return false;
    translation->flags = s->flags;
    translation->pa.value = s->flags ? s->pa + (va.value - s->va) : 0;
    *status = !s->flags ? TLA_UNMAPPED : access & ~s->flags ? TLA_PERMISSION : TLA_OK;
    return true;
}

uint64_t tla_map_window_until(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t nbytes,
                              uint64_t at_ps) {
    uint64_t until_ps = 0;
    for (size_t i = 0; i < window->count; i++) {
        const stretch *s = &window->items[i];
        bool touches = s->va <= va.value + (nbytes - 1) && va.value <= s->va + (s->nbytes - 1);
        if (s->asid == asid && touches && s->visible_ps > at_ps && s->visible_ps > until_ps) until_ps = s->visible_ps;
    }
    return until_ps;
}

uint64_t tla_map_window_next(const tla_map_window *window, uint64_t at_ps) {
    for (size_t i = 0; i < window->committed; i++) /* in the order of their times */
        if (window->items[i].visible_ps > at_ps) return window->items[i].visible_ps;
    return 0;
}

tla_status tla_map_window_walk(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t at_ps,
                               tla_walk *walk, uint64_t *visible_ps) {
    uint64_t nbytes = UINT64_MAX;
    const stretch *s = governing(window, asid, va.value, at_ps, &nbytes);
    *walk = (tla_walk){.asid = asid};
    if (!s) return TLA_INVALID_ARGUMENT;
    *visible_ps = s->visible_ps;
    const uint64_t page_size = UINT64_C(1) << s->page_shift;
    walk->page_size = page_size;
    walk->va.value = va.value & ~(page_size - 1);
    for (walk->reads = 0; walk->reads < s->reads; walk->reads++) {
        walk->read[walk->reads].nbytes = 8;
        walk->read[walk->reads].va_shift = s->va_shift[walk->reads];
    }
    if (!s->flags) return TLA_UNMAPPED;
    if (s->page_nbytes < page_size) walk->va.value = s->page_va; /* a region */
    walk->nbytes = s->page_nbytes;
    walk->flags = s->flags;
    walk->pa.value = s->pa + (walk->va.value - s->va);
    return TLA_OK;
}

void tla_map_window_advance(tla_map_window *window, uint64_t now_ps) {
    size_t kept = 0;
    for (size_t i = 0; i < window->count; i++)
        if (i >= window->committed || window->items[i].visible_ps > now_ps) window->items[kept++] = window->items[i];
    window->committed -= window->count - kept;
    window->count = kept;
}
