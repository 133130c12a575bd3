/* What mappings were, until their changes are visible. */
#include "tlmalloc/map_window.h"

#include <stdlib.h>

/* A stretch of one address space that was uniformly mapped, or uniformly not. */
typedef struct stretch {
    uint64_t va, nbytes, pa;
    uint64_t visible_ps;  /* until then this is what an access sees */
    uint32_t asid, flags; /* flags 0: not mapped */
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
    if (window->count == window->room) {
        size_t room = window->room ? 2 * window->room : 16;
        stretch *grown = realloc(window->items, room * sizeof *grown);
        if (!grown) return TLA_NO_HOST_MEMORY;
        window->items = grown;
        window->room = room;
    }
    window->items[window->count++] = item;
    return TLA_OK;
}

tla_status tla_map_window_keep(tla_map_window *window, const tla_page_table *table, uint32_t asid, tla_vaddr va,
                               uint64_t nbytes) {
    for (uint64_t done = 0; done < nbytes;) {
        stretch item = {.va = va.value + done, .nbytes = nbytes - done, .asid = asid};
        tla_translation t;
        tla_vaddr next;
        if (tla_page_table_translate_in(table, asid, (tla_vaddr){item.va}, item.nbytes, 0, &t, NULL) == TLA_OK) {
            item.pa = t.pa.value;
            item.flags = t.flags;
            item.nbytes = t.nbytes;
        } else if (tla_page_table_first_mapped(table, asid, (tla_vaddr){item.va}, item.nbytes, &next)) {
            item.nbytes = next.value - item.va;
        }
        tla_status status = append(window, item);
        if (status) return status;
        done += item.nbytes;
    }
    return TLA_OK;
}

void tla_map_window_commit(tla_map_window *window, uint64_t visible_ps) {
    while (window->committed < window->count)
        window->items[window->committed++].visible_ps = visible_ps;
}

void tla_map_window_drop(tla_map_window *window) {
    window->count = window->committed;
}

bool tla_map_window_find(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t nbytes, uint32_t access,
                         uint64_t at_ps, tla_status *status, tla_translation *translation) {
    *translation = (tla_translation){.nbytes = nbytes};
    for (size_t i = 0; i < window->committed; i++) {
        const stretch *s = &window->items[i];
        if (s->asid != asid || s->visible_ps <= at_ps) continue;
        if (s->va > va.value) { /* what lies further on may be governed by this change: the answer ends before it */
            if (s->va - va.value < translation->nbytes) translation->nbytes = s->va - va.value;
            continue;
        }
        uint64_t into = va.value - s->va;
        if (into >= s->nbytes) continue;
        /* The oldest change that is not visible yet says what the access sees. */
        if (s->nbytes - into < translation->nbytes) translation->nbytes = s->nbytes - into;
        translation->flags = s->flags;
        translation->pa.value = s->flags ? s->pa + into : 0;
        *status = !s->flags ? TLA_UNMAPPED : access & ~s->flags ? TLA_PERMISSION : TLA_OK;
        return true;
    }
    return false;
}

void tla_map_window_advance(tla_map_window *window, uint64_t now_ps) {
    size_t kept = 0;
    for (size_t i = 0; i < window->count; i++)
        if (i >= window->committed || window->items[i].visible_ps > now_ps) window->items[kept++] = window->items[i];
    window->committed -= window->count - kept;
    window->count = kept;
}
