/* The pinned chunks are the time divided by the time of a chunk, or what a pacer lets through; whole commits enter the
 * arena. */
#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/cache/partition.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tla_lazy_arena {
    tla_lazy_arena_config config; /* sizes rounded up */
    tla_arena *arena;
    uint64_t committed; /* bytes */
    tla_lazy_pacer pacer;
    uint64_t pinned, ready_ps, looked_ps, waited_ps; /* with a pacer: bytes until the next commit at most; end of their
                                                        last pin; time until which pins are decided; waiting */
};

static const uint64_t largest = (uint64_t)1 << 63;

/* At most 2^63, or 0 when it would be more. */
static uint64_t round_up(uint64_t nbytes, uint64_t step) {
    uint64_t over = nbytes % step;
    if (nbytes > largest || (over && step - over > largest - nbytes)) return 0;
    return over ? nbytes + (step - over) : nbytes;
}

tla_status tla_lazy_arena_create(const tla_lazy_arena_config *config, tla_lazy_arena **out) {
    *out = NULL;
    tla_lazy_arena_config c = *config;
    if (c.alignment == 0) c.alignment = 1;
    if (c.chunk_bytes == 0 || c.chunk_bytes > largest || c.chunk_bytes % c.alignment || c.commit_bytes == 0 ||
        c.commit_bytes % c.chunk_bytes || c.initial_bytes > c.final_bytes)
        return TLA_INVALID_ARGUMENT;
    const bool none = c.final_bytes == 0;
    c.initial_bytes = round_up(c.initial_bytes, c.chunk_bytes);
    c.final_bytes = round_up(c.final_bytes, c.chunk_bytes);
    if ((c.final_bytes == 0 && !none) || c.base > largest - c.final_bytes) return TLA_INVALID_ARGUMENT;
    tla_lazy_arena *lazy = calloc(1, sizeof *lazy);
    if (!lazy) return TLA_NO_HOST_MEMORY;
    lazy->config = c;
    lazy->committed = c.initial_bytes;
    tla_arena_config arena = {
        .base = c.base, .capacity = c.initial_bytes, .policy = c.policy, .alignment = c.alignment};
    tla_status status = tla_arena_create(&arena, &lazy->arena);
    if (status) {
        free(lazy);
        return status;
    }
    *out = lazy;
    return TLA_OK;
}

void tla_lazy_arena_destroy(tla_lazy_arena *lazy) {
    if (!lazy) return;
    tla_arena_destroy(lazy->arena);
    free(lazy);
}

/* Bytes that are in the arena after the commit that follows `committed`. */
static uint64_t next_target(const tla_lazy_arena *lazy) {
    uint64_t left = lazy->config.final_bytes - lazy->committed;
    return lazy->committed + (left < lazy->config.commit_bytes ? left : lazy->config.commit_bytes);
}

/* ---- pins without a pacer ---- */

static uint64_t after_chunks(uint64_t at_ps, uint64_t chunks, uint64_t chunk_ps) { /* UINT64_MAX: never */
    return chunk_ps && chunks > (UINT64_MAX - at_ps) / chunk_ps ? UINT64_MAX : at_ps + chunks * chunk_ps;
}

static uint64_t steady_target(const tla_lazy_arena *lazy, uint64_t now_ps) {
    const tla_lazy_arena_config *c = &lazy->config;
    uint64_t chunks = (c->final_bytes - c->initial_bytes) / c->chunk_bytes;
    if (c->chunk_ps && (now_ps - c->start_ps) / c->chunk_ps < chunks) chunks = (now_ps - c->start_ps) / c->chunk_ps;
    uint64_t pinned = chunks * c->chunk_bytes;
    return c->initial_bytes +
           (c->initial_bytes + pinned == c->final_bytes ? pinned : pinned - pinned % c->commit_bytes);
}

/* ---- pins with a pacer ---- */

static bool is_paced(const tla_lazy_arena *lazy) {
    return lazy->pacer.wait_ps > 0;
}

void tla_lazy_arena_pace(tla_lazy_arena *lazy, const tla_lazy_pacer *pacer) {
    if (lazy->config.chunk_ps == 0) return;
    lazy->pacer = *pacer;
    lazy->pinned = lazy->config.initial_bytes;
    lazy->ready_ps = lazy->looked_ps = lazy->config.start_ps;
}

/* When the next pin begins, as far as it is known. */
static uint64_t next_start(const tla_lazy_arena *lazy) {
    return tla_pacer_start(lazy->ready_ps, lazy->pacer.idle(lazy->pacer.context, lazy->ready_ps), lazy->pacer.wait_ps);
}

void tla_lazy_arena_pin(tla_lazy_arena *lazy, uint64_t now_ps) {
    if (!is_paced(lazy)) return;
    if (now_ps > lazy->looked_ps) lazy->looked_ps = now_ps;
    while (lazy->pinned < next_target(lazy)) {
        const uint64_t start_ps = next_start(lazy);
        if (start_ps > now_ps || now_ps - start_ps < lazy->config.chunk_ps) return;
        lazy->waited_ps += start_ps - lazy->ready_ps;
        lazy->ready_ps = start_ps + lazy->config.chunk_ps;
        lazy->pinned += lazy->config.chunk_bytes;
    }
}

uint64_t tla_lazy_arena_waited(const tla_lazy_arena *lazy, uint64_t *ready_ps) {
    *ready_ps = lazy->ready_ps;
    return lazy->waited_ps;
}

/* A pin that is not decided begins when submissions end, which may be now. */
static uint64_t earliest_commit(const tla_lazy_arena *lazy) {
    const uint64_t target = next_target(lazy);
    if (lazy->pinned == target) return lazy->ready_ps;
    const uint64_t idle_ps = lazy->pacer.idle(lazy->pacer.context, lazy->ready_ps),
                   least_ps = idle_ps == UINT64_MAX ? lazy->looked_ps : idle_ps;
    return after_chunks(tla_pacer_start(lazy->ready_ps, least_ps, lazy->pacer.wait_ps),
                        (target - lazy->pinned) / lazy->config.chunk_bytes, lazy->config.chunk_ps);
}

/* ---- commits ---- */

bool tla_lazy_arena_next_commit(const tla_lazy_arena *lazy, uint64_t *when_ps) {
    const tla_lazy_arena_config *c = &lazy->config;
    if (lazy->committed == c->final_bytes) return false;
    *when_ps = is_paced(lazy)
                   ? earliest_commit(lazy)
                   : after_chunks(c->start_ps, (next_target(lazy) - c->initial_bytes) / c->chunk_bytes, c->chunk_ps);
    return true;
}

/* Grows the arena to these bytes, if it has fewer. */
static tla_status commit(tla_lazy_arena *lazy, uint64_t target, tla_work *work) {
    if (target <= lazy->committed) return TLA_OK;
    tla_status status = tla_arena_grow(lazy->arena, target - lazy->committed, work);
    if (!status) lazy->committed = target;
    return status;
}

tla_status tla_lazy_arena_advance(tla_lazy_arena *lazy, uint64_t now_ps, tla_work *work) {
    const tla_lazy_arena_config *c = &lazy->config;
    if (now_ps < c->start_ps || lazy->committed == c->final_bytes) return TLA_OK;
    if (!is_paced(lazy)) return commit(lazy, steady_target(lazy, now_ps), work);
    tla_status status = TLA_OK;
    for (;;) {
        tla_lazy_arena_pin(lazy, now_ps);
        if (status || lazy->committed == c->final_bytes || lazy->pinned < next_target(lazy)) return status;
        status = commit(lazy, next_target(lazy), work);
    }
}

tla_status tla_lazy_arena_alloc(tla_lazy_arena *lazy, uint64_t now_ps, uint64_t nbytes, tla_block *block,
                                tla_work *work) {
    tla_status status = tla_lazy_arena_advance(lazy, now_ps, work);
    return status ? status : tla_arena_alloc(lazy->arena, nbytes, block, work);
}

tla_status tla_lazy_arena_alloc_batch(tla_lazy_arena *lazy, uint64_t now_ps, uint64_t nbytes, size_t n, tla_batch kind,
                                      tla_block *blocks, tla_work *work) {
    tla_status status = tla_lazy_arena_advance(lazy, now_ps, work);
    return status ? status : tla_arena_alloc_batch(lazy->arena, nbytes, n, kind, blocks, work);
}

tla_status tla_lazy_arena_free(tla_lazy_arena *lazy, uint64_t now_ps, tla_block block, tla_work *work) {
    tla_status status = tla_lazy_arena_advance(lazy, now_ps, work);
    return status ? status : tla_arena_free(lazy->arena, block, work);
}

uint64_t tla_lazy_arena_granted(const tla_lazy_arena *lazy, uint64_t nbytes) {
    return tla_arena_granted(lazy->arena, nbytes);
}

tla_status tla_lazy_arena_explain(const tla_lazy_arena *lazy, const char *what, uint64_t nbytes, tla_error *error) {
    tla_status status = tla_arena_explain(lazy->arena, what, nbytes, error);
    uint64_t when_ps;
    if (!error || !tla_lazy_arena_next_commit(lazy, &when_ps)) return status;
    size_t used = strlen(error->text);
    char next[48] = "only after the end of simulated time";
    if (when_ps != UINT64_MAX)
        snprintf(next, sizeof next, "at %" PRIu64 " ps%s", when_ps, is_paced(lazy) ? " or later" : "");
    snprintf(error->text + used, sizeof error->text - used,
             "; %" PRIu64 " bytes of %" PRIu64 " are committed, the next %s", lazy->committed, lazy->config.final_bytes,
             next);
    return status;
}

tla_arena_stats tla_lazy_arena_get_stats(const tla_lazy_arena *lazy) {
    return tla_arena_get_stats(lazy->arena);
}
