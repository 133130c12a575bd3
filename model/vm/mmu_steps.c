/* Translations in steps: lookups, the walkers for which misses wait, and the effects of changes meanwhile. */
#include "base/numbers.h"
#include "mmu_state.h"
#include "pte_check.h"
#include "pte_line.h"

static void go_on(tla_mmu_request *r, tla_mmu_phase phase, uint64_t at_ps) {
    r->phase = phase;
    r->at_ps = at_ps;
}

static void finish(tla_mmu_request *r, tla_status status, uint64_t at_ps) {
    r->status = status;
    go_on(r, TLA_MMU_DONE, at_ps);
}

static void append(tla_mmu_request **first, tla_mmu_request **last, tla_mmu_request *r) {
    r->next = NULL;
    if (*first)
        (*last)->next = r;
    else
        *first = r;
    *last = r;
}

/* tla_mmu_next returns it, once. */
static void tell(tla_mmu *m, tla_mmu_request *r) {
    if (!r->told) append(&m->news, &m->news_end, r);
    r->told = true;
}

static void hold(tla_mmu *m, tla_mmu_request *r) {
    if (!r->holds) m->holding++;
    r->holds = true;
}

/* Lookups behind it began while it waited, so that their results come right after it. */
static void release(tla_mmu *m, tla_mmu_request *r, uint64_t at_ps) {
    if (!r->holds) return;
    r->holds = false;
    m->holding--;
    uint64_t lookup_ps = 0;
    for (uint32_t n = 0; n < m->config.tlb.levels; n++)
        lookup_ps += m->config.tlb.level[n].latency_ps;
    m->resumed_ps = at_ps > lookup_ps ? at_ps - lookup_ps : 0;
}

/* ---- the expected result of a walk ---- */

/* Where an access goes at this time, and the walk that finds it. TLA_INVALID_ARGUMENT: no such address space. */
static tla_status expect(tla_mmu *m, tla_mmu_request *r, uint64_t now_ps) {
    r->piece = (tla_mmu_piece){0};
    r->expected = TLA_OK;
    r->epoch = m->epoch;
    r->visible_ps = 0;
    r->governed = mmu_find_old(m, &r->access, now_ps, &r->limit, &r->expected, &r->piece);
    tla_status status = TLA_OK;
    if (r->governed)
        status = tla_map_window_walk(m->window, r->access.asid, r->access.va, now_ps, &r->found, &r->visible_ps);
    if (r->governed && m->config.walk != TLA_WALK_MEMORY) {
        r->walk.walk = r->found;
        return TLA_OK;
    }
    status = tla_page_table_walk(m->table, r->access.asid, r->access.va, &r->walk.walk);
    if (status == TLA_INVALID_ARGUMENT) return status;
    if (r->governed) return TLA_OK; /* tables in memory are read as they stand */
    r->found = r->walk.walk;
    r->expected = status;
    return TLA_OK;
}

static bool found_alike(const tla_walk *a, const tla_walk *b) {
    return a->va.value == b->va.value && a->nbytes == b->nbytes && a->page_size == b->page_size &&
           a->pa.value == b->pa.value && a->flags == b->flags;
}

/* The result of a walk, or a hit, in r->found. */
static tla_status locate(const tla_mmu *m, tla_mmu_request *r) {
    uint64_t into = r->access.va.value - r->found.va.value, room = r->found.nbytes - into;
    if (r->governed) { /* the old mapping may be longer: a lookup covers a page */
        if (!r->expected && !r->piece.fallback && room < r->piece.nbytes) r->piece.nbytes = room;
        return r->expected;
    }
    if (r->expected == TLA_UNMAPPED) return mmu_fall_back(m, &r->access, r->limit, &r->piece);
    if (r->expected) return r->expected;
    if (r->access.access & ~r->found.flags) return TLA_PERMISSION;
    r->piece.pa.value = r->found.pa.value + into;
    r->piece.nbytes = room < r->limit ? room : r->limit;
    return TLA_OK;
}

/* How much of the access the piece will cover; what fails ends the access. */
static void settle_length(const tla_mmu *m, tla_mmu_request *r) {
    tla_mmu_piece kept = r->piece;
    if (locate(m, r) == TLA_OK) r->access.nbytes = r->piece.nbytes;
    r->piece = kept;
}

static tla_status remember(tla_mmu *m, const tla_mmu_request *r) {
    const tla_walk *found = &r->found;
    if (found->nbytes == 0) return TLA_OK;
    if (!r->governed) return tla_tlb_fill(m->tlb, found);
    if (r->visible_ps != UINT64_MAX) return tla_tlb_fill_until(m->tlb, found, r->visible_ps);
    tla_status status = tla_tlb_fill(m->tlb, found);
    tla_tlb_end_range(m->tlb, found->asid, found->va, found->nbytes);
    return status;
}

/* ---- lookups ---- */

static void ask_for_walk(tla_mmu *m, tla_mmu_request *r, uint64_t now_ps);

/* A TLB miss that a range serves, in the time of the last level: the smallest page there, which nearer levels then
 * hold. */
static bool find_in_ranges(tla_mmu *m, const tla_mmu_access *a, tla_tlb_hit *hit) {
    tla_range range;
    if (!m->ranges || !tla_range_buffer_lookup(m->ranges, a->asid, a->va.value, &range)) return false;
    const uint64_t page = m->config.table.page_size, va = a->va.value & ~(page - 1);
    hit->va.value = va;
    hit->nbytes = page;
    hit->pa.value = range.pa + (va - range.va);
    hit->flags = range.flags;
    const tla_walk found = {
        .asid = a->asid, .va = hit->va, .nbytes = page, .page_size = page, .pa = hit->pa, .flags = hit->flags};
    tla_tlb_fill_nearer(m->tlb, &found);
    return true;
}

/* A lookup that ends at now_ps at the earliest. */
static void look_up(tla_mmu *m, tla_mmu_request *r, uint64_t lookup_ps, uint64_t now_ps) {
    tla_mmu_access *a = &r->access;
    tla_tlb_hit hit;
    tla_mmu_advance(m, now_ps);
    const bool in_tlb = tla_tlb_lookup(m->tlb, a->asid, a->va, now_ps, &hit);
    if (in_tlb || find_in_ranges(m, a, &hit)) {
        m->hits += in_tlb;
        r->piece = (tla_mmu_piece){0};
        r->expected = TLA_OK;
        r->governed = mmu_find_old(m, a, now_ps, &r->limit, &r->expected, &r->piece);
        r->piece.ranged = !in_tlb;
        r->found.va = hit.va;
        r->found.nbytes = hit.nbytes;
        r->found.pa = hit.pa;
        r->found.flags = hit.flags;
        tla_status status = locate(m, r);
        if (!status) a->nbytes = r->piece.nbytes;
        finish(r, status, later(lookup_ps + hit.latency_ps, now_ps));
        return;
    }
    uint64_t missed_ps = later(lookup_ps + hit.latency_ps, now_ps);
    tla_status status = expect(m, r, now_ps);
    if (status) {
        finish(r, status, missed_ps);
        return;
    }
    m->misses++;
    settle_length(m, r);
    r->asking = true;
    if (!m->config.walkers.hit_under_miss) hold(m, r);
    if (missed_ps > now_ps)
        go_on(r, TLA_MMU_LATER, missed_ps);
    else
        ask_for_walk(m, r, now_ps);
}

/* The front is sorted by arrival. */
static void join_front(tla_mmu *m, tla_mmu_request *r) {
    if (!m->front || m->front_end->arrival <= r->arrival) {
        append(&m->front, &m->front_end, r);
        return;
    }
    tla_mmu_request **link = &m->front;
    while ((*link)->arrival <= r->arrival)
        link = &(*link)->next;
    r->next = *link;
    *link = r;
}

static tla_mmu_phase enter(tla_mmu *m, tla_mmu_request *r, uint64_t now_ps) {
    r->holds = r->told = false;
    if (m->config.walk == TLA_WALK_IDEAL || mmu_wraps(&r->access)) {
        finish(r, tla_mmu_probe(m, &r->access, now_ps, &r->piece), now_ps);
        if (!r->status) r->access.nbytes = r->piece.nbytes;
    } else if (m->holding > 0 || (m->front && m->front->arrival <= r->arrival)) {
        go_on(r, TLA_MMU_WAIT, now_ps);
        join_front(m, r);
    } else {
        look_up(m, r, later(r->arrived_ps, m->resumed_ps), now_ps);
    }
    return r->phase;
}

tla_mmu_phase tla_mmu_begin(tla_mmu *m, tla_mmu_request *r, uint64_t at_ps) {
    r->arrival = ++m->arrivals;
    r->arrived_ps = at_ps;
    return enter(m, r, at_ps);
}

tla_mmu_phase tla_mmu_begin_rest(tla_mmu *m, tla_mmu_request *r, const tla_mmu_request *before, uint64_t at_ps) {
    r->arrival = before->arrival;
    r->arrived_ps = before->arrived_ps;
    return enter(m, r, at_ps);
}

/* Requests that were held up are looked up one at a time: the rest of one comes before the next. */
tla_mmu_request *tla_mmu_next(tla_mmu *m, uint64_t at_ps) {
    tla_mmu_request *r = m->news;
    if (r) {
        m->news = r->next;
        r->told = false;
    } else if (m->holding == 0 && m->front) {
        r = m->front;
        m->front = r->next;
        look_up(m, r, later(r->arrived_ps, m->resumed_ps), at_ps);
    }
    return r;
}

/* ---- walks ---- */

static void read_next(tla_mmu *m, tla_mmu_request *r, uint64_t now_ps) {
    const tla_walk *walk = &r->walk.walk;
    uint64_t left = walk->reads - r->level;
    if (m->config.walk == TLA_WALK_FLAT || left == 0) {
        go_on(r, TLA_MMU_LATER, now_ps + left * m->config.walkers.level_ps);
        return;
    }
    r->read_pa = walk->read[r->level].pa;
    r->read_nbytes = walk->read[r->level].nbytes;
    if (m->ranges) {
        const pte_line line = pte_line_of(walk, r->level, m->config.table.va_bits);
        r->read_pa.value = line.pa;
        r->read_nbytes = line.nbytes;
    }
    go_on(r, TLA_MMU_READ, now_ps);
}

/* The walk of a request begins now, or may begin. */
static void prepare_walk(tla_mmu *m, tla_mmu_request *r, uint64_t now_ps) {
    r->walk.owner = r;
    tla_mmu_advance(m, now_ps);
    r->walk.closed_ps = m->next_ps;
}

static void begin_reads(tla_mmu *m, tla_mmu_request *r, uint64_t now_ps) {
    r->level = r->walk.first;
    r->disturbed = false;
    if (m->config.walkers.hit_under_miss) release(m, r, now_ps);
    read_next(m, r, now_ps);
}

/* The expectation of the lookup may no longer hold: computes it again. */
static void expect_again(tla_mmu *m, tla_mmu_request *r, uint64_t now_ps) {
    if (r->epoch != m->epoch || r->governed) expect(m, r, now_ps);
}

static void ask_for_walk(tla_mmu *m, tla_mmu_request *r, uint64_t now_ps) {
    r->asking = false;
    prepare_walk(m, r, now_ps);
    go_on(r, TLA_MMU_WAIT, now_ps);
    switch (tla_walkers_begin(m->walkers, &r->walk, now_ps)) {
    case TLA_WALK_STARTED:
        begin_reads(m, r, now_ps);
        break;
    case TLA_WALK_QUEUED:
        hold(m, r);
        break;
    default:
        break;
    }
}

typedef enum walk_end { WALK_GOOD, WALK_WRONG, WALK_OVERTAKEN } walk_end;

/* The walk that a request waited for has ended: it knows its piece, or is looked up again. */
static void settle(tla_mmu *m, tla_mmu_request *r, walk_end end, uint64_t now_ps) {
    release(m, r, now_ps);
    if (end == WALK_WRONG) {
        r->piece = (tla_mmu_piece){.walked = true};
        finish(r, TLA_BUS_ERROR, now_ps);
        return;
    }
    if (end == WALK_GOOD && (r->epoch != m->epoch || r->governed)) {
        const tla_walk before = r->found;
        expect(m, r, now_ps);
        if (!found_alike(&r->found, &before)) end = WALK_OVERTAKEN;
    }
    if (end == WALK_OVERTAKEN) {
        m->repeated++;
        r->arrived_ps = now_ps; /* of a rest that the change leaves too */
        look_up(m, r, now_ps, now_ps);
        return;
    }
    tla_status status = remember(m, r);
    if (!status) status = locate(m, r);
    if (!status && r->piece.nbytes < r->access.nbytes) r->arrived_ps = now_ps;
    r->piece.walked = true;
    if (r->walk.outcome == TLA_WALK_STARTED) {
        r->piece.walk_start_ps = r->walk.start_ps;
        r->piece.walk_end_ps = now_ps;
    }
    finish(r, status, now_ps);
}

/* Memory and table may differ because of an outstanding change, or of a change since the walk was decided. */
static bool in_flux(const tla_mmu *m, const tla_mmu_request *r) {
    return m->changing || r->epoch != m->epoch;
}

/* A good walk has read a line of entries. No mapping may have changed since, and no change may be hidden still. */
static void fill_ranges(tla_mmu *m, const tla_mmu_request *r, const uint8_t *line, uint64_t now_ps) {
    const tla_walk *walk = &r->walk.walk;
    const bool is_page = walk->nbytes > 0 && walk->nbytes == walk->page_size;
    if (!m->ranges || !is_page || r->governed || in_flux(m, r) || now_ps < m->window_ps) return;
    const tla_range run = pte_line_run(m->table, walk, m->config.table.va_bits, line);
    tla_range_buffer_fill(m->ranges, &run, run.nbytes == walk->page_size);
}

/* line: of a good walk the data of its last read, or NULL outside any memory. */
static void end_walk(tla_mmu *m, tla_mmu_request *r, walk_end end, const void *line, uint64_t now_ps) {
    const uint32_t asid = r->access.asid;
    tla_mmu_advance(m, now_ps);
    tla_walk_request *joined = tla_walkers_finish(m->walkers, &r->walk, now_ps, end == WALK_GOOD && !r->disturbed);
    if (end == WALK_WRONG) {
        m->walk_errors++;
        tla_walkers_invalidate(m->walkers, asid); /* no walk starts from its path */
    }
    if (end == WALK_GOOD) fill_ranges(m, r, line, now_ps);
    settle(m, r, end, now_ps);
    for (tla_walk_request *j = joined, *next; j; j = next) {
        next = j->next;
        settle(m, j->owner, end, now_ps);
        tell(m, j->owner);
    }
    for (tla_walk_request *w; (w = tla_walkers_next(m->walkers));) {
        expect_again(m, w->owner, now_ps);
        for (tla_walk_request *j = w->joined; j; j = j->next)
            expect_again(m, j->owner, now_ps);
        prepare_walk(m, w->owner, now_ps);
        tla_walkers_start(m->walkers, w, now_ps);
        begin_reads(m, w->owner, now_ps);
        tell(m, w->owner);
    }
}

/* The entry that the walk needs, in the data of its read. */
static const uint8_t *entry_in(const tla_mmu *m, const tla_mmu_request *r, const void *bytes) {
    const uint32_t before = m->ranges ? pte_line_of(&r->walk.walk, r->level, m->config.table.va_bits).before : 0;
    return (const uint8_t *)bytes + before;
}

tla_mmu_phase tla_mmu_step(tla_mmu *m, tla_mmu_request *r, uint64_t at_ps, const void *bytes) {
    if (r->phase == TLA_MMU_READ) {
        bool matches = bytes && tla_walk_read_matches(&r->walk.walk, r->level, entry_in(m, r, bytes));
        r->disturbed = r->disturbed || !matches;
        if (!bytes || (!matches && !in_flux(m, r))) {
            end_walk(m, r, WALK_WRONG, NULL, at_ps);
        } else if (!matches && !r->governed) {
            end_walk(m, r, WALK_OVERTAKEN, NULL, at_ps);
        } else if (++r->level < r->walk.walk.reads) {
            read_next(m, r, at_ps);
        } else {
            end_walk(m, r, WALK_GOOD, bytes, at_ps);
        }
    } else if (r->asking) {
        expect_again(m, r, at_ps);
        ask_for_walk(m, r, at_ps);
    } else {
        end_walk(m, r, WALK_GOOD, NULL, at_ps);
    }
    return r->phase;
}

uint32_t tla_mmu_walks_in_flight(const tla_mmu *m) {
    return m->walkers ? tla_walkers_begun(m->walkers) : 0;
}
