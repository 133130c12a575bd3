/* VA -> PA as an ordered array of extents: one a mapped entry, whatever its size and alignment. */
#include "tlmalloc/page_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct extent {
    uint64_t va, nbytes, pa;
    uint32_t flags;
} extent;

typedef struct extents {
    extent *list;
    size_t count, room;
} extents;

struct tla_page_table {
    tla_page_table_config config;
    extents mapped;
};

tla_status tla_page_table_create(const tla_page_table_config *config, tla_page_table **out) {
    *out = NULL;
    uint64_t page = config->page_size;
    if (page < 4096 || page > UINT64_C(1) << 30 || (page & (page - 1))) return TLA_INVALID_ARGUMENT;
    tla_page_table *table = calloc(1, sizeof *table);
    if (!table) return TLA_NO_HOST_MEMORY;
    table->config = *config;
    *out = table;
    return TLA_OK;
}

void tla_page_table_destroy(tla_page_table *table) {
    if (!table) return;
    free(table->mapped.list);
    free(table);
}

/* Index of the first extent that ends after va. */
static size_t find(const extents *m, uint64_t va) {
    size_t low = 0, high = m->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->list[middle].va + (m->list[middle].nbytes - 1) < va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t pages_of(const tla_page_table *table, const extent *e) {
    uint64_t page = table->config.page_size, into = e->va % page, skip = into ? page - into : 0;
    return e->nbytes > skip ? (e->nbytes - skip) / page : 0;
}

static uint64_t regions_of(const tla_page_table *table, const extent *e) {
    uint64_t page = table->config.page_size, last = e->va + (e->nbytes - 1);
    if (e->va / page == last / page) return e->nbytes == page ? 0 : 1;
    return (uint64_t)(e->va % page != 0) + (last % page != page - 1);
}

/* Room for `extra` extents more in a copy of the table's, on which a batch works: it becomes the table's on success. */
static tla_status begin(const tla_page_table *table, size_t extra, extents *copy) {
    *copy = (extents){.count = table->mapped.count, .room = table->mapped.count + extra};
    copy->list = malloc(copy->room * sizeof *copy->list);
    if (!copy->list) return TLA_NO_HOST_MEMORY;
    if (copy->count) memcpy(copy->list, table->mapped.list, copy->count * sizeof *copy->list);
    return TLA_OK;
}

static void finish(tla_page_table *table, extents copy) {
    free(table->mapped.list);
    table->mapped = copy;
}

static void replace(extents *m, size_t at, size_t removed, const extent *added, size_t count) {
    memmove(m->list + at + count, m->list + at + removed, (m->count - at - removed) * sizeof *m->list);
    memcpy(m->list + at, added, count * sizeof *added);
    m->count += count - removed;
}

/* Takes [va, last] out of the extents, cutting those at its ends; needs room for one more. Returns bytes taken. */
static uint64_t cut(const tla_page_table *table, extents *m, uint64_t va, uint64_t last, uint64_t *pte_writes) {
    size_t from = find(m, va), to = from, kept = 0;
    extent keep[2];
    uint64_t taken = 0;
    for (; to < m->count && m->list[to].va <= last; to++) {
        extent e = m->list[to];
        uint64_t e_last = e.va + (e.nbytes - 1);
        if (e.va < va) {
            keep[kept] = e;
            keep[kept++].nbytes = va - e.va;
        }
        if (e_last > last) keep[kept++] = (extent){last + 1, e_last - last, e.pa + (last + 1 - e.va), e.flags};
        uint64_t first = e.va > va ? e.va : va, end = e_last < last ? e_last : last;
        extent gone = {first, end - first + 1, 0, 0};
        *pte_writes += pages_of(table, &gone) + regions_of(table, &gone);
        taken += gone.nbytes;
    }
    replace(m, from, to - from, keep, kept);
    return taken;
}

static tla_status check_range(const char *what, size_t index, const tla_map_entry *e, tla_error *error) {
    if (e->nbytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s %zu at va 0x%" PRIx64 ": zero bytes", what, index,
                             e->va.value);
    if (e->nbytes - 1 > UINT64_MAX - e->va.value)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s %zu: va 0x%" PRIx64 " + %" PRIu64 " bytes wraps 2^64",
                             what, index, e->va.value, e->nbytes);
    return TLA_OK;
}

static tla_status check_entry(size_t index, const tla_map_entry *e, tla_error *error) {
    tla_status status = check_range("entry", index, e, error);
    if (status) return status;
    if (e->nbytes > UINT64_C(1) << TLA_PADDR_BITS || e->pa.value > (UINT64_C(1) << TLA_PADDR_BITS) - e->nbytes)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "entry %zu: pa 0x%" PRIx64 " + %" PRIu64 " bytes lies past %d bits", index, e->pa.value,
                             e->nbytes, TLA_PADDR_BITS);
    if (e->flags == 0 || e->flags > (TLA_READ | TLA_WRITE))
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "entry %zu at va 0x%" PRIx64 ": flags 0x%" PRIx32
                             ", expected read (1), write (2) or both (3)",
                             index, e->va.value, e->flags);
    return TLA_OK;
}

tla_status tla_page_table_map(tla_page_table *table, const tla_map_entry *entries, size_t count, tla_work *work,
                              tla_error *error) {
    uint64_t pte_writes = 0;
    for (size_t i = 0; i < count; i++) {
        tla_status status = check_entry(i, &entries[i], error);
        if (status) return status;
    }
    extents copy;
    tla_status status = begin(table, 2 * count + 1, &copy);
    if (status) return tla_error_set(error, status, "%s", tla_status_text(status));
    for (size_t i = 0; i < count; i++) {
        extent e = {entries[i].va.value, entries[i].nbytes, entries[i].pa.value, entries[i].flags};
        uint64_t last = e.va + (e.nbytes - 1);
        size_t at = find(&copy, e.va);
        if (at < copy.count && copy.list[at].va <= last) {
            if (!table->config.allow_remap) {
                extent old = copy.list[at];
                free(copy.list);
                return tla_error_set(error, TLA_OVERLAP,
                                     "entry %zu, va 0x%" PRIx64 "..0x%" PRIx64 ", overlaps the mapping of va 0x%" PRIx64
                                     "..0x%" PRIx64,
                                     i, e.va, last, old.va, old.va + (old.nbytes - 1));
            }
            uint64_t cleared = 0; /* overwritten, not written twice */
            cut(table, &copy, e.va, last, &cleared);
            at = find(&copy, e.va);
        }
        replace(&copy, at, 0, &e, 1);
        pte_writes += pages_of(table, &e) + regions_of(table, &e);
    }
    finish(table, copy);
    if (work) {
        work->chunks += count;
        work->pte_writes += pte_writes;
    }
    return TLA_OK;
}

tla_status tla_page_table_unmap(tla_page_table *table, const tla_map_entry *ranges, size_t count, tla_work *work,
                                tla_error *error) {
    uint64_t pte_writes = 0;
    for (size_t i = 0; i < count; i++) {
        tla_status status = check_range("range", i, &ranges[i], error);
        if (status) return status;
    }
    extents copy;
    tla_status status = begin(table, count + 1, &copy);
    if (status) return tla_error_set(error, status, "%s", tla_status_text(status));
    for (size_t i = 0; i < count; i++) {
        uint64_t va = ranges[i].va.value, last = va + (ranges[i].nbytes - 1);
        if (cut(table, &copy, va, last, &pte_writes) != ranges[i].nbytes) {
            free(copy.list);
            return tla_error_set(error, TLA_UNMAPPED,
                                 "range %zu, va 0x%" PRIx64 "..0x%" PRIx64 ", is not mapped as a whole", i, va, last);
        }
    }
    finish(table, copy);
    if (work && count) {
        work->chunks += count;
        work->pte_writes += pte_writes;
        work->invalidates++;
    }
    return TLA_OK;
}

tla_status tla_page_table_translate(const tla_page_table *table, tla_vaddr va, uint64_t nbytes, uint32_t access,
                                    tla_translation *translation, tla_work *work) {
    const extents *m = &table->mapped;
    if (work) work->table_levels++;
    size_t at = find(m, va.value);
    if (at == m->count || m->list[at].va > va.value) return TLA_UNMAPPED;
    const extent *e = &m->list[at];
    if (access & ~e->flags) return TLA_PERMISSION;
    uint64_t into = va.value - e->va, left = e->nbytes - into;
    *translation = (tla_translation){{e->pa + into}, left, e->flags};
    while (translation->nbytes < nbytes && ++at < m->count && e[1].va == e->va + e->nbytes &&
           e[1].pa == e->pa + e->nbytes && e[1].flags == e->flags) {
        e++;
        translation->nbytes += e->nbytes;
    }
    if (translation->nbytes > nbytes) translation->nbytes = nbytes;
    return TLA_OK;
}

tla_page_table_stats tla_page_table_get_stats(const tla_page_table *table) {
    tla_page_table_stats stats = {.host_bytes = sizeof *table + table->mapped.room * sizeof *table->mapped.list};
    for (size_t i = 0; i < table->mapped.count; i++) {
        const extent *e = &table->mapped.list[i];
        stats.mapped_bytes += e->nbytes;
        stats.pages += pages_of(table, e);
        stats.regions += regions_of(table, e);
    }
    return stats;
}
