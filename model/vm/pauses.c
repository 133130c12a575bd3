/* Which accesses wait while ranges are paused, and whether those that have entered are gone. */
#include "tlmalloc/vm/pauses.h"
#include "base/grow.h"

#include <stdlib.h>

struct tla_pauses {
    tla_map_entry *ranges;
    size_t count, room;
    tla_passage *first, *last; /* inside, or waiting; in the order of arrival */
    size_t waiting;
    bool to_look_at; /* a waiting passage may be able to enter */
};

tla_status tla_pauses_create(tla_pauses **pauses) {
    *pauses = calloc(1, sizeof **pauses);
    return *pauses ? TLA_OK : TLA_NO_HOST_MEMORY;
}

void tla_pauses_destroy(tla_pauses *p) {
    if (!p) return;
    free(p->ranges);
    free(p);
}

/* ---- accesses ---- */

static bool touch(uint32_t asid, uint64_t va, uint64_t nbytes, uint32_t other, uint64_t other_va,
                  uint64_t other_nbytes) {
    return asid == other && va <= other_va + (other_nbytes - 1) && other_va <= va + (nbytes - 1);
}

static bool touches(const tla_map_entry *range, const tla_mmu_access *access) {
    return touch(range->asid, range->va.value, range->nbytes, access->asid, access->va.value, access->nbytes);
}

static bool in_conflict(const tla_mmu_access *a, const tla_mmu_access *b) {
    return (a->access == TLA_WRITE || b->access == TLA_WRITE) &&
           touch(a->asid, a->va.value, a->nbytes, b->asid, b->va.value, b->nbytes);
}

bool tla_pauses_cover(const tla_pauses *p, uint32_t asid, tla_vaddr va, uint64_t nbytes) {
    const tla_mmu_access bytes = {.asid = asid, .va = va, .nbytes = nbytes};
    for (size_t i = 0; i < p->count; i++)
        if (touches(&p->ranges[i], &bytes)) return true;
    return false;
}

static bool must_wait(const tla_pauses *p, const tla_passage *passage) {
    const tla_mmu_access *wanted = &passage->access;
    if (tla_pauses_cover(p, wanted->asid, wanted->va, wanted->nbytes)) return true;
    if (p->waiting == 0) return false;
    for (const tla_passage *before = passage->earlier; before; before = before->earlier)
        if (before->waits && in_conflict(&before->access, wanted)) return true;
    return false;
}

bool tla_pauses_enter(tla_pauses *p, tla_passage *passage) {
    passage->earlier = p->last;
    passage->later = NULL;
    *(p->last ? &p->last->later : &p->first) = passage;
    p->last = passage;
    passage->waits = must_wait(p, passage);
    p->waiting += passage->waits;
    return !passage->waits;
}

tla_passage *tla_pauses_next(tla_pauses *p) {
    for (tla_passage *one = p->to_look_at ? p->first : NULL; one; one = one->later) {
        if (!one->waits || must_wait(p, one)) continue;
        one->waits = false;
        p->waiting--;
        return one;
    }
    p->to_look_at = false;
    return NULL;
}

void tla_pauses_leave(tla_pauses *p, tla_passage *passage) {
    *(passage->earlier ? &passage->earlier->later : &p->first) = passage->later;
    *(passage->later ? &passage->later->earlier : &p->last) = passage->earlier;
    if (!passage->waits) return;
    p->waiting--;
    p->to_look_at = true;
}

size_t tla_pauses_waiting(const tla_pauses *p) {
    return p->waiting;
}

/* ---- pauses ---- */

static tla_status check(const tla_pauses *p, const tla_map_entry *ranges, size_t number, tla_error *error) {
    const tla_map_entry *range = &ranges[number];
    if (range->nbytes == 0 || range->va.value > UINT64_MAX - (range->nbytes - 1))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "range %zu: has 0 bytes, or passes 2^64", number);
    bool overlaps = tla_pauses_cover(p, range->asid, range->va, range->nbytes);
    const tla_mmu_access bytes = {.asid = range->asid, .va = range->va, .nbytes = range->nbytes};
    for (size_t i = 0; i < number; i++)
        overlaps |= touches(&ranges[i], &bytes);
    if (!overlaps) return TLA_OK;
    return tla_error_set(error, TLA_OVERLAP, "range %zu: part of [0x%llx, 0x%llx] is paused already", number,
                         (unsigned long long)range->va.value,
                         (unsigned long long)(range->va.value + (range->nbytes - 1)));
}

tla_status tla_pauses_begin(tla_pauses *p, const tla_map_entry *ranges, size_t count, tla_error *error) {
    for (size_t i = 0; i < count; i++) {
        const tla_status status = check(p, ranges, i, error);
        if (status) return status;
    }
    if (!tla_grow(&p->ranges, &p->room, p->count + count, sizeof *p->ranges))
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    for (size_t i = 0; i < count; i++)
        p->ranges[p->count++] = ranges[i];
    return TLA_OK;
}

bool tla_pauses_are_drained(const tla_pauses *p, const tla_map_entry *ranges, size_t count) {
    for (const tla_passage *one = p->first; one; one = one->later)
        for (size_t i = 0; i < count && !one->waits; i++)
            if (touches(&ranges[i], &one->access)) return false;
    return true;
}

void tla_pauses_end_all(tla_pauses *p) {
    p->count = 0;
    p->to_look_at = true;
}

static size_t find(const tla_pauses *p, const tla_map_entry *range) {
    size_t i = 0;
    while (i < p->count && !(p->ranges[i].asid == range->asid && p->ranges[i].va.value == range->va.value &&
                             p->ranges[i].nbytes == range->nbytes))
        i++;
    return i;
}

tla_status tla_pauses_end(tla_pauses *p, const tla_map_entry *ranges, size_t count, tla_error *error) {
    for (size_t i = 0; i < count; i++)
        if (find(p, &ranges[i]) == p->count)
            return tla_error_set(error, TLA_NOT_FOUND, "range %zu: 0x%llx is not paused with %llu bytes", i,
                                 (unsigned long long)ranges[i].va.value, (unsigned long long)ranges[i].nbytes);
    for (size_t i = 0; i < count; i++) {
        const size_t at = find(p, &ranges[i]);
        if (at < p->count) p->ranges[at] = p->ranges[--p->count];
    }
    p->to_look_at = true;
    return TLA_OK;
}
