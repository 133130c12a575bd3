/* Changes of mappings: rehearsed, made in one step, and then written to the table memory. */
#include "base/grow.h"
#include "base/little_endian.h"
#include "mmu_state.h"

#include <stdlib.h>

/* ---- the tables that a change takes ---- */

static tla_status want(mmu_change *c, uint64_t nbytes) {
    if (!tla_grow(&c->tables, &c->table_room, c->wanted + 1, sizeof *c->tables)) return TLA_NO_HOST_MEMORY;
    c->tables[c->wanted++] = (mmu_table){nbytes, {0}};
    return TLA_OK;
}

static tla_status take_table(void *context, uint64_t nbytes, tla_paddr *pa) {
    mmu_change *c = &((tla_mmu *)context)->change;
    if (c->rehearsing) {
        pa->value = 0;
        return want(c, nbytes);
    }
    if (c->taken == c->given) return c->refusal ? c->refusal : TLA_LIMIT;
    *pa = c->tables[c->taken++].pa;
    return TLA_OK;
}

/* An undone change: its tables are released from the list. */
static void forget_table(void *context, tla_paddr pa, uint64_t nbytes) {
    (void)context, (void)pa, (void)nbytes;
}

tla_table_memory mmu_table_memory(tla_mmu *m) {
    return (tla_table_memory){.alloc = take_table, .free = forget_table, .context = m};
}

/* ---- the change ---- */

static tla_status keep_old(tla_mmu *m, const mmu_change *c) {
    if (c->what != TLA_TABLE_RESTORE && tla_map_undo_expect(m->undo, c->count))
        return tla_error_set(c->error, TLA_NO_HOST_MEMORY, "no host memory");
    for (size_t i = 0; i < c->count; i++) { /* entries that no table accepts have nothing to keep */
        const tla_map_entry *e = &c->entries[i];
        if (e->nbytes == 0 || e->va.value > UINT64_MAX - (e->nbytes - 1)) continue;
        const size_t runs = tla_map_window_runs(m->window);
        tla_status status = tla_map_window_keep(m->window, m->table, e->asid, e->va, e->nbytes);
        if (!status && c->what != TLA_TABLE_RESTORE) status = tla_map_undo_keep(m->undo, m->window, runs);
        if (status) return tla_error_set(c->error, status, "no host memory");
    }
    return TLA_OK;
}

/* Ends the TLB entries of the change when the change is visible, and ranges at once. */
static void end_entries(tla_mmu *m, const mmu_change *c) {
    for (size_t i = 0; i < c->count && m->tlb; i++) {
        const tla_map_entry *e = &c->entries[i];
        tla_tlb_end_range(m->tlb, e->asid, e->va, e->nbytes);
        if (m->ranges) tla_range_buffer_drop(m->ranges, e->asid, e->va.value, e->nbytes);
        tla_walkers_invalidate(m->walkers, e->asid);
    }
}

/* For taking it back later. */
static void end_record(tla_mmu *m, const mmu_change *c, bool changed) {
    if (c->what != TLA_TABLE_RESTORE)
        tla_map_undo_end(m->undo, changed);
    else if (changed)
        tla_map_undo_done(m->undo, c->sender);
}

static tla_status make(tla_mmu *m) {
    mmu_change *c = &m->change;
    c->status = keep_old(m, c);
    if (!c->status) c->status = tla_page_table_change(m->table, c->what, c->entries, c->count, c->work, c->error);
    if (c->status) {
        tla_map_window_drop(m->window);
        end_record(m, c, false);
        c->phase = CHANGE_REFUSED;
        return c->status;
    }
    end_entries(m, c);
    end_record(m, c, true);
    m->changing = true;
    c->made_epoch = ++m->epoch;
    c->phase = CHANGE_MADE;
    return TLA_OK;
}

static tla_status begin(tla_mmu *m, tla_table_change what, const tla_map_entry *entries, size_t count, tla_work *work,
                        tla_error *error) {
    mmu_change *c = &m->change;
    c->what = what;
    c->entries = entries;
    c->count = count;
    c->work = work;
    c->error = error;
    c->wanted = c->given = c->taken = 0;
    c->duty_kept = false;
    c->refusal = TLA_OK;
    tla_status status = TLA_OK;
    if (m->config.walk != TLA_WALK_MEMORY) {
        status = make(m);
    } else {
        c->rehearsing = true;
        status = tla_page_table_rehearse(m->table, what, entries, count, error);
        c->rehearsing = false;
        c->phase = CHANGE_REHEARSED;
        if (status) end_record(m, c, false);
    }
    if (status) c->phase = CHANGE_NONE;
    return status;
}

static tla_status refuse_second(tla_error *error) {
    return tla_error_set(error, TLA_BUSY, "another change is in progress");
}

tla_status tla_mmu_command(tla_mmu *m, uint32_t sender, uint32_t tag) {
    tla_status status = tla_map_undo_begin(m->undo, sender, tag);
    m->announced = !status;
    return status;
}

tla_status tla_mmu_change_begin(tla_mmu *m, tla_table_change what, const tla_map_entry *entries, size_t count,
                                tla_work *work, tla_error *error) {
    if (m->change.phase != CHANGE_NONE) return refuse_second(error);
    tla_status status = m->announced ? TLA_OK : tla_mmu_command(m, 0, 0);
    if (status) return tla_error_set(error, status, "no host memory");
    m->announced = false;
    return begin(m, what, entries, count, work, error);
}

tla_status tla_mmu_take_back_begin(tla_mmu *m, uint32_t sender, uint32_t tag, tla_work *work, tla_error *error) {
    if (m->change.phase != CHANGE_NONE) return refuse_second(error);
    const tla_map_entry *entries = NULL;
    size_t count = 0;
    tla_status status = tla_map_undo_find(m->undo, sender, tag, &entries, &count);
    if (status)
        return tla_error_set(error, status,
                             status == TLA_OVERLAP ? "cannot undo: another sender has changed the same mappings"
                                                   : "nothing to undo: this is not the sender's last change");
    m->change.sender = sender;
    return begin(m, TLA_TABLE_RESTORE, entries, count, work, error);
}

void tla_mmu_change_allocated(tla_mmu *m, tla_status status, tla_paddr pa) {
    mmu_change *c = &m->change;
    c->refusal = status;
    if (status)
        c->wanted = c->given; /* with fewer tables the change fails, with a text */
    else
        c->tables[c->given++].pa = pa;
}

/* A walk that began before the change may still read tables that are gone. */
static bool old_walks(const tla_mmu *m) {
    uint32_t walker = UINT32_MAX;
    for (const tla_walk_request *w; (w = tla_walkers_under_way(m->walkers, &walker));)
        if (((const tla_mmu_request *)w->owner)->epoch < m->change.made_epoch) return true;
    return false;
}

/* A word as it stands in memory: little-endian, whatever the host is. */
static void store(uint64_t *word) {
    put_little_endian(word, *word, sizeof *word);
}

static bool next_duty(tla_mmu *m, tla_mmu_bus_work *todo) {
    mmu_change *c = &m->change;
    if (!c->duty_kept && !tla_page_table_next(m->table, &c->duty, c->words)) return false;
    c->duty_kept = !c->duty.write && old_walks(m);
    *todo = (tla_mmu_bus_work){c->duty_kept ? TLA_MMU_DRAIN : TLA_MMU_FREE, c->duty.pa, c->duty.nbytes, NULL};
    if (!c->duty.write) return true;
    todo->kind = TLA_MMU_WRITE;
    todo->bytes = (const uint8_t *)c->words;
    for (uint64_t i = 0; i < c->duty.nbytes / 8; i++)
        store(c->words + i);
    return true;
}

bool tla_mmu_change_next(tla_mmu *m, tla_mmu_bus_work *todo) {
    mmu_change *c = &m->change;
    if (c->phase == CHANGE_REHEARSED) {
        if (c->given < c->wanted) {
            *todo = (tla_mmu_bus_work){TLA_MMU_ALLOC, {0}, c->tables[c->given].nbytes, NULL};
            return true;
        }
        make(m);
    }
    if (c->phase == CHANGE_MADE) return next_duty(m, todo);
    if (c->phase != CHANGE_REFUSED || c->given == 0) return false;
    const mmu_table *unused = &c->tables[--c->given];
    *todo = (tla_mmu_bus_work){TLA_MMU_FREE, unused->pa, unused->nbytes, NULL};
    return true;
}

tla_status tla_mmu_change_end(tla_mmu *m) {
    tla_status status = m->change.phase == CHANGE_REFUSED ? m->change.status : TLA_OK;
    m->change.phase = CHANGE_NONE;
    return status;
}
