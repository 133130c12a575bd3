/* The mappings that changes replaced, by sender. */
#include "map_undo.h"
#include "base/grow.h"

#include <stdlib.h>

typedef struct record {
    uint32_t sender, tag;
    bool changed, overtaken, taken_back;
    tla_map_entry *entries; /* flags 0: was not mapped */
    size_t count, room;
} record;

struct tla_map_undo {
    record *records; /* one a sender */
    size_t count;
    size_t current; /* of the command that has begun */
};

tla_status tla_map_undo_create(tla_map_undo **undo) {
    *undo = calloc(1, sizeof **undo);
    return *undo ? TLA_OK : TLA_NO_HOST_MEMORY;
}

void tla_map_undo_destroy(tla_map_undo *undo) {
    if (!undo) return;
    for (size_t i = 0; i < undo->count; i++)
        free(undo->records[i].entries);
    free(undo->records);
    free(undo);
}

static record *find(const tla_map_undo *undo, uint32_t sender) {
    for (size_t i = 0; i < undo->count; i++)
        if (undo->records[i].sender == sender) return &undo->records[i];
    return NULL;
}

static void forget(record *r) {
    enum { KEPT = 64 }; /* a long record is not kept for the next command */
    r->changed = r->overtaken = r->taken_back = false;
    r->count = 0;
    if (r->room <= KEPT) return;
    free(r->entries);
    r->entries = NULL;
    r->room = 0;
}

tla_status tla_map_undo_begin(tla_map_undo *undo, uint32_t sender, uint32_t tag) {
    record *r = find(undo, sender);
    if (!r) {
        if (!tla_grow_by_one(&undo->records, undo->count, sizeof *undo->records)) return TLA_NO_HOST_MEMORY;
        r = &undo->records[undo->count++];
        *r = (record){.sender = sender};
    }
    forget(r);
    r->tag = tag;
    undo->current = (size_t)(r - undo->records);
    return TLA_OK;
}

static tla_status make_room(record *r, size_t more) {
    const bool made = tla_grow(&r->entries, &r->room, r->count + more, sizeof *r->entries);
    return made ? TLA_OK : TLA_NO_HOST_MEMORY;
}

tla_status tla_map_undo_expect(tla_map_undo *undo, size_t ranges) {
    return make_room(&undo->records[undo->current], ranges);
}

tla_status tla_map_undo_keep(tla_map_undo *undo, const tla_map_window *window, size_t first_run) {
    record *const r = &undo->records[undo->current];
    const tla_status status = make_room(r, tla_map_window_runs(window) - first_run);
    if (status) return status;
    for (size_t i = first_run; i < tla_map_window_runs(window); i++) {
        const tla_map_entry run = tla_map_window_run(window, i);
        tla_map_entry *const last = i > first_run ? &r->entries[r->count - 1] : NULL;
        if (last && run.flags && run.flags == last->flags && run.pa.value == last->pa.value + last->nbytes) {
            last->nbytes += run.nbytes;
            continue;
        }
        r->entries[r->count++] = run;
    }
    return TLA_OK;
}

static bool overlap(const tla_map_entry *a, const tla_map_entry *b) {
    return a->asid == b->asid && a->va.value <= b->va.value + (b->nbytes - 1) &&
           b->va.value <= a->va.value + (a->nbytes - 1);
}

static bool any_overlap(const record *a, const record *b) {
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++)
            if (overlap(&a->entries[i], &b->entries[j])) return true;
    return false;
}

void tla_map_undo_end(tla_map_undo *undo, bool changed) {
    record *mine = &undo->records[undo->current];
    if (!changed) {
        forget(mine);
        return;
    }
    mine->changed = true;
    for (size_t i = 0; i < undo->count; i++) {
        record *other = &undo->records[i];
        if (other != mine && other->changed && !other->overtaken && any_overlap(mine, other)) other->overtaken = true;
    }
}

tla_status tla_map_undo_find(const tla_map_undo *undo, uint32_t sender, uint32_t tag, const tla_map_entry **entries,
                             size_t *count) {
    const record *r = find(undo, sender);
    *entries = NULL;
    *count = 0;
    if (r && r->taken_back && r->tag == tag) return TLA_OK;
    if (!r || !r->changed || r->tag != tag) return TLA_NOT_ALLOCATED;
    if (r->overtaken) return TLA_OVERLAP;
    *entries = r->entries;
    *count = r->count;
    return TLA_OK;
}

void tla_map_undo_done(tla_map_undo *undo, uint32_t sender) {
    record *r = find(undo, sender);
    if (!r) return;
    forget(r);
    r->taken_back = true;
}
