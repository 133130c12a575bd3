/* The front end of an MMU: table, TLB, walkers and the window of changes, asked in the right order. */
#include "mmu_state.h"

#include "tlmalloc/base/memory_kind.h"

#include <stdlib.h>

const char *tla_walk_mode_name(tla_walk_mode mode) {
    static const char *const names[] = {"ideal", "flat", "memory"};
    return (unsigned)mode < TLA_WALK_MODE_COUNT ? names[mode] : NULL;
}

/* ---- life ---- */

static tla_status create_parts(tla_mmu *m, tla_error *error) {
    tla_page_table_config table = m->config.table;
    table.memory = (tla_table_memory){0};
    if (m->config.walk == TLA_WALK_MEMORY) {
        table.memory = mmu_table_memory(m);
        m->change.words = malloc(TLA_TABLE_WRITE_ENTRIES * sizeof *m->change.words);
        if (!m->change.words) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    }
    tla_status status = tla_page_table_create(&table, &m->table);
    if (status)
        return tla_error_set(error, status, "page sizes, va_bits or asids out of the range that page_table.h gives");
    status = tla_map_window_create(&m->window);
    if (!status) status = tla_map_undo_create(&m->undo);
    if (status || m->config.walk == TLA_WALK_IDEAL) return status;
    tla_tlb_config tlb = m->config.tlb;
    tlb.page_sizes[0] = table.page_size;
    for (unsigned i = 1; i < TLA_PAGE_SIZES_MAX; i++)
        tlb.page_sizes[i] = table.larger_page_sizes[i - 1];
    status = tla_tlb_create(&tlb, &m->tlb);
    if (status)
        return tla_error_set(error, status,
                             "TLB: ways must divide entries into a power of two of sets, plru needs "
                             "a power of two of ways");
    status = tla_walkers_create(&m->config.walkers, &m->walkers);
    if (status) return tla_error_set(error, status, "walkers: 1 .. 4096, and a walk cache of at most 4096 entries");
    if (m->config.ranges > 0) status = tla_range_buffer_create(m->config.ranges, &m->ranges);
    if (status) return tla_error_set(error, status, "ranges: 0 .. %d", TLA_RANGES_MAX);
    return TLA_OK;
}

tla_status tla_mmu_create(const tla_mmu_config *config, tla_mmu **mmu, tla_error *error) {
    *mmu = NULL;
    tla_mmu *m = calloc(1, sizeof *m);
    if (!m) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory");
    m->config = *config;
    tla_status status = create_parts(m, error);
    if (status == TLA_NO_HOST_MEMORY) tla_error_set(error, status, "no host memory");
    if (status)
        tla_mmu_destroy(m);
    else
        *mmu = m;
    return status;
}

void tla_mmu_destroy(tla_mmu *m) {
    if (!m) return;
    tla_page_table_destroy(m->table);
    tla_tlb_destroy(m->tlb);
    tla_range_buffer_destroy(m->ranges);
    tla_walkers_destroy(m->walkers);
    tla_map_window_destroy(m->window);
    tla_map_undo_destroy(m->undo);
    free(m->change.tables);
    free(m->change.words);
    free(m);
}

/* ---- accesses ---- */

bool mmu_wraps(const tla_mmu_access *a) {
    return a->va.value > UINT64_MAX - (a->nbytes - 1);
}

tla_status mmu_fall_back(const tla_mmu *m, const tla_mmu_access *a, uint64_t limit, tla_mmu_piece *piece) {
    uint64_t page = m->config.table.page_size, rest = page - a->va.value % page;
    if (!m->config.pa_fallback) return TLA_UNMAPPED;
    piece->pa.value = a->va.value;
    piece->nbytes = limit < rest ? limit : rest;
    piece->fallback = true;
    return TLA_OK;
}

/* Returns whether a change is invisible at at_ps; the window may also have older changes, which are over. */
static bool is_changing(const tla_mmu *m, uint64_t at_ps) {
    return at_ps < m->window_ps || m->changing;
}

static uint64_t changed_until(const tla_mmu *m, uint32_t asid, tla_vaddr va, uint64_t nbytes, uint64_t at_ps) {
    return is_changing(m, at_ps) ? tla_map_window_until(m->window, asid, va, nbytes, at_ps) : 0;
}

bool mmu_find_old(const tla_mmu *m, const tla_mmu_access *a, uint64_t at_ps, uint64_t *limit, tla_status *status,
                  tla_mmu_piece *piece) {
    *limit = a->nbytes;
    if (!is_changing(m, at_ps)) return false;
    tla_translation old;
    bool decided = tla_map_window_find(m->window, a->asid, a->va, a->nbytes, a->access, at_ps, status, &old);
    *limit = old.nbytes;
    if (!decided) return false;
    if (*status == TLA_OK) *piece = (tla_mmu_piece){.pa = old.pa, .nbytes = old.nbytes, .stale = true};
    if (*status == TLA_UNMAPPED) *status = mmu_fall_back(m, a, old.nbytes, piece);
    return true;
}

tla_status tla_mmu_probe(const tla_mmu *m, const tla_mmu_access *a, uint64_t at_ps, tla_mmu_piece *piece) {
    *piece = (tla_mmu_piece){0};
    if (mmu_wraps(a)) return TLA_OUT_OF_RANGE;
    tla_status status = TLA_OK;
    uint64_t limit;
    if (mmu_find_old(m, a, at_ps, &limit, &status, piece)) return status;
    tla_translation found;
    status = tla_page_table_translate_in(m->table, a->asid, a->va, limit, a->access, &found, NULL);
    if (status == TLA_UNMAPPED) return mmu_fall_back(m, a, limit, piece);
    if (status == TLA_OK) *piece = (tla_mmu_piece){.pa = found.pa, .nbytes = found.nbytes};
    return status;
}

tla_status tla_mmu_find_page(const tla_mmu *m, uint32_t asid, tla_vaddr va, uint64_t at_ps, tla_walk *page,
                             uint64_t *until_ps) {
    if (until_ps) *until_ps = UINT64_MAX;
    tla_status status = tla_page_table_walk(m->table, asid, va, page);
    if (status) return status;
    uint64_t until = changed_until(m, asid, page->va, page->nbytes, at_ps);
    if (until_ps) *until_ps = until;
    return until ? TLA_BUSY : TLA_OK;
}

/* Returns the first mapped byte of [at, end), or `stop` if that is lower. */
static uint64_t next_mapped(const tla_mmu *m, uint32_t asid, uint64_t at, uint64_t end, uint64_t stop) {
    tla_vaddr next;
    if (at >= end || !tla_page_table_first_mapped(m->table, asid, (tla_vaddr){at}, end - at, &next)) next.value = end;
    return at <= stop && stop < next.value ? stop : next.value;
}

void tla_mmu_find_run(const tla_mmu *m, const tla_mmu_access *extent, tla_vaddr va, uint64_t at_ps, tla_vaddr *first,
                      uint64_t *nbytes) {
    uint64_t end = extent->va.value + extent->nbytes, run = 0, run_end = 0, pa_end = 0;
    for (uint64_t at = extent->va.value; at < end;) {
        tla_mmu_access rest = {.asid = extent->asid, .va = {at}, .nbytes = end - at};
        tla_mmu_piece piece;
        bool mapped = tla_mmu_probe(m, &rest, at_ps, &piece) == TLA_OK && !piece.fallback;
        bool goes_on = mapped && run_end > run && piece.pa.value == pa_end;
        if (at > va.value && !goes_on) break;
        if (!goes_on) run = at;
        at = mapped ? at + piece.nbytes : next_mapped(m, extent->asid, at + 1, end, va.value);
        run_end = mapped ? at : run;
        pa_end = piece.pa.value + piece.nbytes;
    }
    bool found = run <= va.value && va.value < run_end;
    first->value = found ? run : va.value;
    *nbytes = found ? run_end - run : 1;
}

bool tla_mmu_piece_join(tla_mmu_piece *last, const tla_mmu_piece *next) {
    if (last->fallback || next->fallback || last->pa.value + last->nbytes != next->pa.value) return false;
    last->nbytes += next->nbytes;
    return true;
}

bool tla_mmu_piece_cut(tla_mmu_piece *piece, uint64_t slice_bytes, tla_mmu_piece *rest) {
    tla_paddr_fields place;
    tla_memory_kind memory;
    if (slice_bytes == 0 || tla_paddr_decode(piece->pa, &place)) return false;
    if (tla_memory_kind_of_fields(&place, &memory) || memory != TLA_HBM) return false;
    const uint64_t left = slice_bytes - place.offset % slice_bytes;
    if (piece->nbytes <= left) return false;
    *rest = *piece;
    rest->pa.value += left;
    rest->nbytes -= left;
    rest->walk_start_ps = rest->walk_end_ps = 0;
    rest->walked = false;
    piece->nbytes = left;
    return true;
}

/* ---- commands ---- */

static void drop(tla_mmu *m, const tla_map_entry *e) {
    if (m->config.walk == TLA_WALK_IDEAL) return;
    if (e->nbytes == 0)
        tla_tlb_invalidate_asid(m->tlb, e->asid);
    else
        tla_tlb_invalidate_range(m->tlb, e->asid, e->va, e->nbytes);
    if (m->ranges) tla_range_buffer_drop(m->ranges, e->asid, e->va.value, e->nbytes);
    tla_walkers_invalidate(m->walkers, e->asid);
}

tla_status tla_mmu_invalidate(tla_mmu *m, const tla_map_entry *ranges, size_t count, tla_work *work, tla_error *error) {
    uint32_t asids = m->config.table.asids ? m->config.table.asids : 1;
    for (size_t i = 0; i < count; i++)
        if (ranges[i].asid >= asids)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "range %zu: asid %u must be 0 .. %u", i, ranges[i].asid,
                                 asids - 1);
    for (size_t i = 0; i < count; i++)
        drop(m, &ranges[i]);
    if (work && count > 0) work->invalidates++;
    return TLA_OK;
}

void tla_mmu_make_visible(tla_mmu *m, uint64_t visible_ps) {
    tla_map_window_commit(m->window, visible_ps);
    if (m->tlb) tla_tlb_end(m->tlb, visible_ps);
    if (m->walkers) tla_walkers_make_visible(m->walkers, visible_ps);
    if (m->window_ps < visible_ps) m->window_ps = visible_ps;
    if (m->changing) m->epoch++;
    m->changing = false;
    if (m->next_ps == 0 || visible_ps < m->next_ps) m->next_ps = visible_ps;
}

uint64_t tla_mmu_settled_ps(const tla_mmu *m, uint32_t asid, tla_vaddr va, uint64_t nbytes, uint64_t at_ps) {
    uint64_t until_ps = changed_until(m, asid, va, nbytes, at_ps);
    return until_ps > at_ps ? until_ps : at_ps;
}

void tla_mmu_advance(tla_mmu *m, uint64_t now_ps) {
    if (m->next_ps == 0 || now_ps < m->next_ps) return;
    tla_map_window_advance(m->window, now_ps);
    m->next_ps = tla_map_window_next(m->window, now_ps);
    if (m->tlb) tla_tlb_advance(m->tlb, now_ps); /* entries that have ended make room */
}

tla_mmu_stats tla_mmu_get_stats(const tla_mmu *m) {
    tla_mmu_stats stats = {
        .hits = m->hits, .misses = m->misses, .walk_errors = m->walk_errors, .repeated = m->repeated};
    stats.table = tla_page_table_get_stats(m->table);
    if (m->walkers) stats.walkers = tla_walkers_get_stats(m->walkers);
    if (m->ranges) stats.ranges = tla_range_buffer_get_stats(m->ranges);
    for (uint32_t level = 0; m->tlb && level < TLA_TLB_LEVELS_MAX; level++)
        stats.tlb[level] = tla_tlb_get_stats(m->tlb, level);
    return stats;
}
