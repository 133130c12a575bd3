/* Page tables: configuration, and batches of map and unmap. */
#include "radix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOST_LEVEL_BITS = 6, TABLE_LEVEL_BITS = 9, ASIDS_MAX = 65536, VA_BITS_MAX = 64 };

static const uint64_t page_size_min = UINT64_C(1) << 12, page_size_max = UINT64_C(1) << 30;

static bool is_page_size(uint64_t size) {
    return size >= page_size_min && size <= page_size_max && (size & (size - 1)) == 0;
}

static unsigned log2_of(uint64_t power) {
    return (unsigned)__builtin_ctzll(power);
}

/* Shifts of the levels, root first: one level ends at every page size, none has more than max_bits. Returns how many;
 * bits may be NULL. */
static uint32_t lay_levels(const tla_page_table *t, unsigned max_bits, uint8_t *shifts, uint8_t *bits) {
    uint32_t count = 0;
    for (uint32_t size = t->size_count; size-- > 0;) {
        unsigned low = log2_of(t->sizes[size]);
        unsigned high = size + 1 < t->size_count ? log2_of(t->sizes[size + 1]) : t->va_bits;
        while (high > low) { /* the uppermost level of a stretch covers the rest */
            unsigned width = (high - low - 1) % max_bits + 1;
            high -= width;
            shifts[count] = (uint8_t)high;
            if (bits) bits[count] = (uint8_t)width;
            count++;
        }
    }
    return count;
}

static tla_status read_config(tla_page_table *t, const tla_page_table_config *c) {
    t->config = *c;
    t->va_bits = c->va_bits ? c->va_bits : VA_BITS_MAX;
    t->asids = c->asids ? c->asids : 1;
    t->sizes[t->size_count++] = c->page_size;
    if (!is_page_size(c->page_size)) return TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < TLA_PAGE_SIZES_MAX - 1 && c->larger_page_sizes[i]; i++) {
        uint64_t size = c->larger_page_sizes[i];
        if (!is_page_size(size) || size <= t->sizes[t->size_count - 1]) return TLA_INVALID_ARGUMENT;
        t->sizes[t->size_count++] = size;
    }
    if (t->va_bits > VA_BITS_MAX || t->va_bits <= log2_of(t->sizes[t->size_count - 1]) || t->asids > ASIDS_MAX ||
        !c->memory.alloc != !c->memory.free || (c->memory.write && !c->memory.alloc))
        return TLA_INVALID_ARGUMENT;
    uint8_t shifts[RADIX_LEVELS_MAX], bits[RADIX_LEVELS_MAX];
    t->levels = lay_levels(t, c->memory.alloc ? TABLE_LEVEL_BITS : HOST_LEVEL_BITS, shifts, bits);
    for (uint32_t i = 0; i < t->levels; i++) {
        t->level[i].shift = shifts[i];
        t->level[i].bits = bits[i];
    }
    uint32_t walk_levels = lay_levels(t, TABLE_LEVEL_BITS, t->walk_shift, NULL);
    for (uint32_t size = 0; size < t->size_count; size++)
        for (uint32_t i = 0; i < walk_levels && t->walk_shift[i] >= log2_of(t->sizes[size]); i++)
            t->depth[size] = i + 1;
    return TLA_OK;
}

tla_status tla_page_table_create(const tla_page_table_config *config, tla_page_table **out) {
    *out = NULL;
    tla_page_table *t = calloc(1, sizeof *t);
    if (!t) return TLA_NO_HOST_MEMORY;
    tla_status status = read_config(t, config);
    if (!status) {
        t->contexts = calloc(1, sizeof *t->contexts + t->asids * sizeof t->contexts->slots[0]);
        t->entry = calloc(t->asids, sizeof *t->entry);
        if (!t->contexts || !t->entry) status = TLA_NO_HOST_MEMORY;
    }
    if (status) {
        free(t->contexts);
        free(t->entry);
        free(t);
        return status;
    }
    t->contexts->words = t->asids;
    t->contexts->level = CONTEXTS_LEVEL;
    t->stats.host_bytes =
        sizeof *t + sizeof *t->contexts + t->asids * (sizeof t->contexts->slots[0] + sizeof *t->entry);
    *out = t;
    return TLA_OK;
}

void tla_page_table_destroy(tla_page_table *t) {
    if (!t) return;
    radix_forget(t);
    radix_free(t, t->contexts);
    free(t->entry);
    free(t->changes);
    free(t);
}

tla_page_table_stats tla_page_table_get_stats(const tla_page_table *t) {
    tla_page_table_stats stats = t->stats;
    stats.host_bytes += t->change_room * sizeof *t->changes;
    return stats;
}

/* ---- batches ---- */

static tla_status check_range(const tla_page_table *t, const char *what, size_t i, const tla_map_entry *e,
                              tla_error *error) {
    if (e->nbytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s %zu at va 0x%" PRIx64 ": size must be at least 1 byte",
                             what, i, e->va.value);
    if (e->nbytes - 1 > UINT64_MAX - e->va.value)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s %zu: va 0x%" PRIx64 " + %" PRIu64 " bytes wraps 2^64",
                             what, i, e->va.value, e->nbytes);
    if (e->asid >= t->asids)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s %zu at va 0x%" PRIx64 ": asid %" PRIu32 " must be 0 .. %" PRIu32, what, i, e->va.value,
                             e->asid, t->asids - 1);
    if (t->va_bits < VA_BITS_MAX && (e->va.value + (e->nbytes - 1)) >> t->va_bits)
        return tla_error_set(error, TLA_OUT_OF_RANGE,
                             "%s %zu: va 0x%" PRIx64 " + %" PRIu64 " bytes exceeds the table's %" PRIu32 " bits", what,
                             i, e->va.value, e->nbytes, t->va_bits);
    return TLA_OK;
}

static tla_status check_entry(const tla_page_table *t, size_t i, const tla_map_entry *e, tla_error *error) {
    tla_status status = check_range(t, "entry", i, e, error);
    if (status) return status;
    if (e->nbytes > UINT64_C(1) << TLA_PADDR_BITS || e->pa.value > (UINT64_C(1) << TLA_PADDR_BITS) - e->nbytes)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "entry %zu: pa 0x%" PRIx64 " + %" PRIu64 " bytes exceeds %d bits", i, e->pa.value,
                             e->nbytes, TLA_PADDR_BITS);
    if (e->flags == 0 || e->flags > (TLA_READ | TLA_WRITE))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "entry %zu at va 0x%" PRIx64 ": flags 0x%" PRIx32
                             " must be read (1), write (2) or both (3)",
                             i, e->va.value, e->flags);
    return TLA_OK;
}

/* The mapping around a mapped va: all that is contiguous on both sides and has the same flags. */
static void mapping_around(const tla_page_table *t, const radix_node *root, uint64_t va, uint64_t *first,
                           uint64_t *last) {
    radix_piece here, next;
    radix_find(t, root, va, &here);
    *first = here.va;
    *last = here.va + (here.nbytes - 1);
    uint64_t pa = here.pa;
    while (*first > 0 && radix_find(t, root, *first - 1, &next) && next.pa + next.nbytes == pa &&
           next.flags == here.flags) {
        *first = next.va;
        pa = next.pa;
    }
    pa = here.pa + here.nbytes;
    while (*last < UINT64_MAX && radix_find(t, root, *last + 1, &next) && next.pa == pa && next.flags == here.flags) {
        *last += next.nbytes;
        pa += next.nbytes;
    }
}

/* Why a change failed that was well asked for. */
static const char *reason(const tla_page_table *t, tla_status status, char *text, size_t room) {
    if (!t->no_table) return status == TLA_UNMAPPED ? "not entirely mapped" : tla_status_text(status);
    snprintf(text, room, "a page table cannot be allocated: %s", tla_status_text(status));
    return text;
}

static tla_status map_entry(tla_page_table *t, size_t i, const tla_map_entry *e, tla_error *error) {
    uint64_t va = e->va.value, last = va + (e->nbytes - 1), taken;
    uint64_t root = t->contexts->slots[e->asid];
    char text[128];
    if (root && radix_find_first(t, slot_node(root), va, last, &taken)) {
        if (!t->config.allow_remap) {
            uint64_t old_first, old_last;
            mapping_around(t, slot_node(root), taken, &old_first, &old_last);
            return tla_error_set(error, TLA_OVERLAP,
                                 "entry %zu, va 0x%" PRIx64 "..0x%" PRIx64 ", overlaps the mapping of va 0x%" PRIx64
                                 "..0x%" PRIx64,
                                 i, va, last, old_first, old_last);
        }
        uint64_t cleared = t->cleared; /* overwritten, not cleared and then written */
        tla_status status = radix_unmap(t, e->asid, va, last, false);
        if (status) return tla_error_set(error, status, "entry %zu: %s", i, reason(t, status, text, sizeof text));
        t->cleared = cleared;
        t->stats.remaps++;
    }
    tla_status status = radix_map(t, e->asid, va, last, e->pa.value, e->flags);
    if (status)
        tla_error_set(error, status, "entry %zu, va 0x%" PRIx64 "..0x%" PRIx64 ": %s", i, va, last,
                      reason(t, status, text, sizeof text));
    return status;
}

/* whole: every byte must be mapped before. Tables in a memory stay where their entries can be rewritten: a REMAP can
 * then be taken back when the memory is full. */
static tla_status replace_entry(tla_page_table *t, size_t i, const tla_map_entry *e, bool whole, tla_error *error) {
    uint64_t va = e->va.value, last = va + (e->nbytes - 1), written = t->written, cleared = t->cleared;
    char text[128];
    tla_status status = e->flags ? radix_rewrite(t, e->asid, va, last, e->pa.value, e->flags) : TLA_UNMAPPED;
    if (status == TLA_UNMAPPED) {
        t->written = written;
        status = radix_unmap(t, e->asid, va, last, whole);
        if (!status && e->flags) status = radix_map(t, e->asid, va, last, e->pa.value, e->flags);
        if (e->flags) t->cleared = cleared; /* overwritten */
    }
    if (status)
        tla_error_set(error, status, "entry %zu, va 0x%" PRIx64 "..0x%" PRIx64 ": %s", i, va, last,
                      reason(t, status, text, sizeof text));
    return status;
}

static tla_status restore_entry(tla_page_table *t, size_t i, const tla_map_entry *e, tla_error *error) {
    return replace_entry(t, i, e, false, error);
}

static tla_status remap_entry(tla_page_table *t, size_t i, const tla_map_entry *e, tla_error *error) {
    return replace_entry(t, i, e, true, error);
}

static tla_status unmap_range(tla_page_table *t, size_t i, const tla_map_entry *e, tla_error *error) {
    uint64_t va = e->va.value, last = va + (e->nbytes - 1);
    char text[128];
    tla_status status = radix_unmap(t, e->asid, va, last, true);
    if (status)
        tla_error_set(error, status, "range %zu, va 0x%" PRIx64 "..0x%" PRIx64 ": %s", i, va, last,
                      reason(t, status, text, sizeof text));
    return status;
}

/* Lookups start at the deepest node below which the whole address space lies; va is an address in it that changed. */
static void refresh_entry(tla_page_table *t, uint32_t asid, uint64_t va) {
    uint64_t root = t->contexts->slots[asid];
    radix_entry entry = {root ? slot_node(root) : NULL, t->va_bits < VA_BITS_MAX ? UINT64_MAX << t->va_bits : 0, 0};
    while (entry.node && entry.node->live == 1) {
        unsigned level = entry.node->level;
        uint64_t slot = entry.node->slots[level_index(t, level, va)];
        if (slot_kind(slot) != SLOT_NODE) break;
        entry.mask = ~(level_span(t, level) - 1);
        entry.prefix = va & entry.mask;
        entry.node = slot_node(slot);
    }
    t->entry[asid] = entry;
}

typedef tla_status (*batch_step)(tla_page_table *t, size_t i, const tla_map_entry *e, tla_error *error);

/* Makes the whole batch, still to be kept or undone; undone when it fails. */
static tla_status run_batch(tla_page_table *t, const tla_map_entry *entries, size_t count, batch_step step,
                            tla_error *error) {
    t->written = t->cleared = 0;
    radix_begin(t, count);
    for (size_t i = 0; i < count; i++) {
        tla_status status = step(t, i, &entries[i], error);
        if (status) {
            radix_undo(t);
            return status;
        }
    }
    return TLA_OK;
}

static tla_status try_change(tla_page_table *t, tla_table_change change, const tla_map_entry *entries, size_t count,
                             tla_error *error) {
    if (t->pending) return tla_error_set(error, TLA_BUSY, "the previous change is not yet in the table memory");
    static const batch_step steps[] = {map_entry, unmap_range, restore_entry, remap_entry};
    for (size_t i = 0; i < count; i++) {
        bool maps =
            change == TLA_TABLE_MAP || change == TLA_TABLE_REMAP || (change == TLA_TABLE_RESTORE && entries[i].flags);
        tla_status status =
            maps ? check_entry(t, i, &entries[i], error) : check_range(t, "range", i, &entries[i], error);
        if (status) return status;
    }
    return run_batch(t, entries, count, steps[change], error);
}

tla_status tla_page_table_rehearse(tla_page_table *t, tla_table_change change, const tla_map_entry *entries,
                                   size_t count, tla_error *error) {
    tla_status status = try_change(t, change, entries, count, error);
    if (!status) radix_undo(t);
    return status;
}

tla_status tla_page_table_change(tla_page_table *t, tla_table_change change, const tla_map_entry *entries, size_t count,
                                 tla_work *work, tla_error *error) {
    tla_status status = try_change(t, change, entries, count, error);
    if (status) return status;
    radix_keep(t);
    for (size_t i = 0; i < count; i++) /* the last of an address space is enough */
        if (i + 1 == count || entries[i + 1].asid != entries[i].asid)
            refresh_entry(t, entries[i].asid, entries[i].va.value);
    if (work) {
        work->chunks += count;
        work->pte_writes += t->written + t->cleared;
        if (change == TLA_TABLE_UNMAP && count > 0) work->invalidates++;
    }
    return TLA_OK;
}

bool tla_page_table_next(tla_page_table *t, tla_table_duty *duty, uint64_t entries[TLA_TABLE_WRITE_ENTRIES]) {
    return radix_next(t, duty, entries);
}

/* Makes the whole change; its callbacks write to the table memory. */
static tla_status change_now(tla_page_table *t, tla_table_change change, const tla_map_entry *entries, size_t count,
                             tla_work *work, tla_error *error) {
    uint64_t words[TLA_TABLE_WRITE_ENTRIES];
    tla_status status = tla_page_table_change(t, change, entries, count, work, error);
    if (status) return status;
    const tla_table_memory *memory = &t->config.memory;
    for (tla_table_duty duty; radix_next(t, &duty, words);) {
        if (!duty.write)
            memory->free(memory->context, duty.pa, duty.nbytes);
        else if (memory->write)
            memory->write(memory->context, duty.pa, words, (size_t)(duty.nbytes / 8));
    }
    return TLA_OK;
}

tla_status tla_page_table_map(tla_page_table *t, const tla_map_entry *entries, size_t count, tla_work *work,
                              tla_error *error) {
    return change_now(t, TLA_TABLE_MAP, entries, count, work, error);
}

tla_status tla_page_table_unmap(tla_page_table *t, const tla_map_entry *ranges, size_t count, tla_work *work,
                                tla_error *error) {
    return change_now(t, TLA_TABLE_UNMAP, ranges, count, work, error);
}
