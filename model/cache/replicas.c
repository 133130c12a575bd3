/* Replicas in segments: preferred ones, a sample by free ratio, a random pass. */
#include "tlmalloc/cache/replicas.h"

#include "base/wide.h"

#include <stdlib.h>

enum { MOST_TRIED = 100, SAMPLE_PER_REPLICA = 6 };

/* What one request must not try again. */
typedef enum mark {
    OPEN,
    REFUSED, /* by its place in the preferred list or in the sample, until that is over */
    CLOSED   /* excluded, or holds a replica */
} mark;

typedef struct segment {
    tla_arena *arena;
    uint64_t nbytes, used;
    mark mark;
} segment;

struct tla_replicas {
    tla_replica_policy policy;
    uint32_t count;
    segment of[];
};

/* A request as it proceeds. */
typedef struct search {
    const tla_replica_request *request;
    tla_replica *found;
    uint32_t count, starts_used;
    tla_status status; /* of the last segment tried */
    tla_work *work;
} search;

tla_status tla_replicas_create(const tla_arena_set *arenas, tla_replica_policy policy, tla_replicas **out) {
    *out = NULL;
    if (arenas->count == 0) return TLA_INVALID_ARGUMENT;
    tla_replicas *r = calloc(1, sizeof *r + arenas->count * sizeof *r->of);
    if (!r) return TLA_NO_HOST_MEMORY;
    r->policy = policy;
    r->count = arenas->count;
    for (uint32_t i = 0; i < r->count; i++) {
        r->of[i].arena = arenas->arenas[i];
        r->of[i].nbytes = tla_arena_get_stats(arenas->arenas[i]).capacity;
        if (r->of[i].nbytes > 0) continue;
        free(r);
        return TLA_INVALID_ARGUMENT;
    }
    *out = r;
    return TLA_OK;
}

void tla_replicas_destroy(tla_replicas *r) {
    free(r);
}

static bool goes_on(const search *s) {
    return s->count < s->request->replicas && s->status != TLA_NO_HOST_MEMORY;
}

static void try_segment(tla_replicas *r, search *s, uint32_t number) {
    segment *of = &r->of[number];
    const uint64_t nbytes = s->request->nbytes;
    tla_block block;
    if (s->work) s->work->class_lookups++;
    s->status = tla_arena_alloc(of->arena, nbytes, &block, s->work);
    of->mark = s->status ? REFUSED : CLOSED;
    if (s->status) return;
    of->used += nbytes;
    s->found[s->count++] = (tla_replica){number, {block.offset, nbytes}};
}

/* The next phase may try again what this one was refused. */
static void reopen(tla_replicas *r) {
    for (uint32_t i = 0; i < r->count; i++)
        if (r->of[i].mark == REFUSED) r->of[i].mark = OPEN;
}

static void try_preferred(tla_replicas *r, search *s) {
    for (uint32_t i = 0; i < s->request->preferred_count && goes_on(s); i++)
        if (r->of[s->request->preferred[i]].mark == OPEN) try_segment(r, s, s->request->preferred[i]);
    reopen(r);
}

static uint32_t next_start(search *s) {
    return s->request->starts[s->starts_used++];
}

static uint32_t around(const tla_replicas *r, uint32_t start, uint32_t step) {
    return (uint32_t)(((uint64_t)start + step) % r->count);
}

static bool is_freer(const segment *a, const segment *b) {
    const tla_wide left = wide_product(a->nbytes - a->used, b->nbytes),
                   right = wide_product(b->nbytes - b->used, a->nbytes);
    return left.high != right.high ? left.high > right.high : left.low > right.low;
}

static void try_sample(tla_replicas *r, search *s) {
    const uint64_t wanted = (uint64_t)SAMPLE_PER_REPLICA * (s->request->replicas - s->count);
    const uint32_t size = wanted < r->count ? (uint32_t)wanted : r->count, start = next_start(s);
    for (uint32_t i = 0; s->work && i < size; i++)
        s->work->class_lookups += r->of[around(r, start, i)].mark == OPEN;
    while (goes_on(s)) {
        uint32_t best = r->count;
        for (uint32_t i = 0; i < size; i++) {
            const uint32_t at = around(r, start, i);
            if (r->of[at].mark == OPEN && (best == r->count || is_freer(&r->of[at], &r->of[best]))) best = at;
        }
        if (best == r->count) break;
        try_segment(r, s, best);
    }
    reopen(r);
}

static void try_in_turn(tla_replicas *r, search *s) {
    const uint32_t start = next_start(s);
    for (uint32_t i = 0; i < r->count && i < MOST_TRIED && goes_on(s); i++) {
        const uint32_t at = around(r, start, i);
        if (r->of[at].mark == OPEN) try_segment(r, s, at);
    }
}

static bool is_valid(const tla_replicas *r, const tla_replica_request *q) {
    bool valid = q->nbytes > 0 && q->nbytes <= UINT64_C(1) << 63 && q->replicas > 0 && q->starts[0] < r->count &&
                 q->starts[1] < r->count;
    for (uint32_t i = 0; i < q->preferred_count; i++)
        valid = valid && q->preferred[i] < r->count;
    for (uint32_t i = 0; i < q->excluded_count; i++)
        valid = valid && q->excluded[i] < r->count;
    return valid;
}

static void search_segments(tla_replicas *r, search *s) {
    for (uint32_t i = 0; i < r->count; i++)
        r->of[i].mark = OPEN;
    for (uint32_t i = 0; i < s->request->excluded_count; i++)
        r->of[s->request->excluded[i]].mark = CLOSED;
    if (r->policy == TLA_REPLICAS_RANDOM && r->count == 1) {
        if (r->of[0].mark == OPEN) try_segment(r, s, 0);
        return;
    }
    try_preferred(r, s);
    if (goes_on(s) && r->policy == TLA_REPLICAS_FREE_RATIO_FIRST) try_sample(r, s);
    if (goes_on(s)) try_in_turn(r, s);
}

tla_status tla_replicas_alloc(tla_replicas *r, const tla_replica_request *request, tla_replica *found,
                              tla_replica_result *result, tla_work *work) {
    search s = {.request = request, .found = found, .status = TLA_NOT_FOUND, .work = work};
    *result = (tla_replica_result){0, 0};
    if (!is_valid(r, request)) return TLA_INVALID_ARGUMENT;
    search_segments(r, &s);
    while (s.status == TLA_NO_HOST_MEMORY && s.count > 0)
        (void)tla_replicas_free(r, found[--s.count], NULL);
    *result = (tla_replica_result){s.count, s.starts_used};
    return s.count > 0 ? TLA_OK : s.status;
}

tla_status tla_replicas_free(tla_replicas *r, tla_replica replica, tla_work *work) {
    if (replica.segment >= r->count) return TLA_INVALID_ARGUMENT;
    segment *of = &r->of[replica.segment];
    const tla_status status = tla_arena_free(of->arena, replica.block, work);
    if (status == TLA_OK) of->used -= replica.block.nbytes;
    return status;
}

uint64_t tla_replicas_used(const tla_replicas *r, uint32_t segment_number) {
    return r->of[segment_number].used;
}
