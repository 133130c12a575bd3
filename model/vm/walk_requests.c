/* Requests for walks: those with a walker, those that join a walk, and those that wait. */
#include "walker_pool.h"

static uint64_t page_of(const tla_walk *walk) {
    return walk->va.value & ~(walk->page_size - 1);
}

static tla_walk_request **bucket_of(const tla_walkers *w, uint32_t asid, uint64_t page) {
    uint64_t key = (page >> 12) + ((uint64_t)asid << 52);
    return &w->buckets[key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - w->bucket_bits)];
}

/* Inserts the request after earlier requests to the same page. */
static void enter(tla_walkers *w, tla_walk_request *r) {
    r->page = page_of(&r->walk);
    tla_walk_request **link = bucket_of(w, r->walk.asid, r->page);
    while (*link)
        link = &(*link)->chain;
    r->chain = NULL;
    *link = r;
}

static void leave(tla_walkers *w, tla_walk_request *r) {
    tla_walk_request **link = bucket_of(w, r->walk.asid, r->page);
    while (*link != r)
        link = &(*link)->chain;
    *link = r->chain;
}

/* Finds the walk to this page, in flight or queued, that a request may join: with merging at most one exists. */
static tla_walk_request *find_walk(const tla_walkers *w, const tla_walk *walk, uint64_t at_ps) {
    if (w->config.merge_slots == 0) return NULL;
    uint64_t page = page_of(walk);
    for (tla_walk_request *r = *bucket_of(w, walk->asid, page); r; r = r->chain) {
        bool closed = r->outcome == TLA_WALK_STARTED && r->closed_ps && at_ps >= r->closed_ps;
        bool answers = r->joinable && !closed;
        if (answers && r->page == page && r->walk.asid == walk->asid) return r;
    }
    return NULL;
}

static walker *idle_walker(const tla_walkers *w) {
    for (uint32_t i = 0; i < w->config.walkers; i += 64)
        if (w->idle[i / 64]) return &w->pool[i + (uint32_t)__builtin_ctzll(w->idle[i / 64])];
    return NULL;
}

static void append(tla_walk_request **first, tla_walk_request **last, tla_walk_request *r) {
    r->next = NULL;
    if (*first)
        (*last)->next = r;
    else
        *first = r;
    *last = r;
}

static void count_stall(tla_walkers *w, uint64_t wait_ps) {
    w->stats.stalls++;
    w->stats.stall_ps += wait_ps;
}

/* The request continues when the walk ends, with a slot or without. */
static void join(tla_walkers *w, tla_walk_request *walk, tla_walk_request *r) {
    r->outcome = walk->merged < w->config.merge_slots ? TLA_WALK_MERGED : TLA_WALK_WAITED;
    if (r->outcome == TLA_WALK_MERGED) {
        walk->merged++;
        w->stats.merged++;
    }
    append(&walk->joined, &walk->last_joined, r);
}

void tla_walkers_start(tla_walkers *w, tla_walk_request *r, uint64_t at_ps) {
    walker *k = idle_walker(w);
    r->outcome = TLA_WALK_STARTED;
    r->walker = (uint32_t)(k - w->pool);
    r->first = walkers_known_reads(w, k, &r->walk);
    r->start_ps = at_ps;
    r->joinable = true;
    enter(w, r);
    k->request = r;
    w->idle[r->walker / 64] &= ~(UINT64_C(1) << r->walker % 64);
    if (at_ps > r->asked_ps) count_stall(w, at_ps - r->asked_ps);
    w->under_way++;
    w->stats.walks++;
    w->stats.reads += r->walk.reads - r->first;
    w->stats.reads_skipped += r->first;
}

tla_walk_outcome tla_walkers_begin(tla_walkers *w, tla_walk_request *r, uint64_t at_ps) {
    w->stats.requests++;
    r->asked_ps = at_ps;
    r->joined = NULL;
    r->merged = 0;
    r->joinable = true;
    tla_walk_request *under_way = find_walk(w, &r->walk, at_ps);
    if (under_way) {
        join(w, under_way, r);
    } else if (!w->queue && idle_walker(w)) {
        tla_walkers_start(w, r, at_ps);
    } else {
        r->outcome = TLA_WALK_QUEUED;
        enter(w, r);
        append(&w->queue, &w->queue_end, r);
    }
    return r->outcome;
}

tla_walk_request *tla_walkers_finish(tla_walkers *w, tla_walk_request *r, uint64_t at_ps, bool good) {
    walker *k = &w->pool[r->walker];
    leave(w, r);
    k->request = NULL;
    w->under_way--;
    w->idle[r->walker / 64] |= UINT64_C(1) << r->walker % 64;
    w->stats.busy_ps += at_ps - r->start_ps;
    if (good && r->joinable)
        walkers_remember(w, k, &r->walk);
    else
        k->path_shift = 64;
    for (const tla_walk_request *j = r->joined; j; j = j->next)
        if (j->outcome == TLA_WALK_WAITED) count_stall(w, at_ps - j->asked_ps);
    return r->joined;
}

tla_walk_request *tla_walkers_next(tla_walkers *w) {
    tla_walk_request *r = w->queue;
    if (!r || !idle_walker(w)) return NULL;
    w->queue = r->next;
    leave(w, r);
    return r;
}

uint32_t tla_walkers_begun(const tla_walkers *w) {
    return w->under_way;
}

const tla_walk_request *tla_walkers_under_way(const tla_walkers *w, uint32_t *number) {
    while (++*number < w->config.walkers)
        if (w->pool[*number].request) return w->pool[*number].request;
    return NULL;
}

void tla_walkers_make_visible(tla_walkers *w, uint64_t visible_ps) {
    uint32_t number = UINT32_MAX;
    while (tla_walkers_under_way(w, &number)) {
        tla_walk_request *r = w->pool[number].request;
        if (r->closed_ps == 0 || visible_ps < r->closed_ps) r->closed_ps = visible_ps;
    }
}
