/* Ranges compared one after the other, each with the time of its last use. */
#include "range_buffer.h"

#include <stdlib.h>

typedef struct entry {
    tla_range range;
    uint64_t last_use; /* 0: not valid */
} entry;

struct tla_range_buffer {
    uint32_t count;
    uint64_t uses;
    tla_ranges_stats stats;
    entry entries[];
};

tla_status tla_range_buffer_create(uint32_t entries, tla_range_buffer **buffer) {
    *buffer = NULL;
    if (entries == 0 || entries > TLA_RANGES_MAX) return TLA_INVALID_ARGUMENT;
    *buffer = calloc(1, sizeof **buffer + entries * sizeof(entry));
    if (!*buffer) return TLA_NO_HOST_MEMORY;
    (*buffer)->count = entries;
    return TLA_OK;
}

void tla_range_buffer_destroy(tla_range_buffer *b) {
    free(b);
}

bool tla_range_buffer_lookup(tla_range_buffer *b, uint32_t asid, uint64_t va, tla_range *hit) {
    b->stats.lookups++;
    for (uint32_t i = 0; i < b->count; i++) {
        entry *e = &b->entries[i];
        if (e->last_use == 0 || e->range.asid != asid || va - e->range.va >= e->range.nbytes) continue;
        e->last_use = ++b->uses;
        b->stats.hits++;
        *hit = e->range;
        return true;
    }
    return false;
}

static void forget(tla_range_buffer *b, entry *e) {
    e->last_use = 0;
    b->stats.valid--;
}

static uint64_t last_of(const tla_range *r) {
    return r->va + (r->nbytes - 1);
}

/* Whether they overlap, or one continues the other; a range that ends at 2^64 is continued by none. */
static bool touch(const tla_range *a, const tla_range *b) {
    const bool alike = a->asid == b->asid && a->flags == b->flags && a->pa - a->va == b->pa - b->va;
    return alike && (last_of(b) == UINT64_MAX || a->va <= last_of(b) + 1) &&
           (last_of(a) == UINT64_MAX || b->va <= last_of(a) + 1);
}

static void extend(tla_range *r, const tla_range *by) {
    const uint64_t last = last_of(r) > last_of(by) ? last_of(r) : last_of(by);
    if (by->va < r->va) {
        r->va = by->va;
        r->pa = by->pa;
    }
    r->nbytes = last - r->va + 1;
}

static entry *victim(tla_range_buffer *b) {
    entry *oldest = &b->entries[0];
    for (uint32_t i = 1; i < b->count; i++)
        if (b->entries[i].last_use < oldest->last_use) oldest = &b->entries[i];
    return oldest;
}

void tla_range_buffer_fill(tla_range_buffer *b, const tla_range *run, bool lone) {
    tla_range whole = *run;
    bool joined = false, known = false;
    for (uint32_t i = 0; i < b->count; i++) {
        entry *e = &b->entries[i];
        if (e->last_use == 0 || !touch(&e->range, run)) continue;
        known = known || (e->range.va <= run->va && last_of(&e->range) >= last_of(run));
        extend(&whole, &e->range);
        joined = true;
        forget(b, e);
    }
    if (lone && !joined) return;
    entry *e = victim(b);
    if (e->last_use) {
        forget(b, e);
        b->stats.evictions++;
    }
    *e = (entry){whole, ++b->uses};
    b->stats.valid++;
    b->stats.fills += !known;
}

void tla_range_buffer_drop(tla_range_buffer *b, uint32_t asid, uint64_t va, uint64_t nbytes) {
    const uint64_t last = nbytes == 0 || nbytes - 1 > UINT64_MAX - va ? UINT64_MAX : va + (nbytes - 1);
    const uint64_t first = nbytes == 0 ? 0 : va;
    for (uint32_t i = 0; i < b->count; i++) {
        entry *e = &b->entries[i];
        if (e->last_use == 0 || e->range.asid != asid || e->range.va > last || last_of(&e->range) < first) continue;
        forget(b, e);
        b->stats.dropped++;
    }
}

tla_ranges_stats tla_range_buffer_get_stats(const tla_range_buffer *b) {
    return b->stats;
}
