/* An arena for each segment, in the order of addresses. */
#include "tlmalloc/cache/segmented_memory.h"

#include <stdlib.h>

enum { ATTEMPTS = 3 };

static const uint64_t waits_ps[ATTEMPTS] = {0, UINT64_C(10000000000000), UINT64_C(60000000000000)};

struct tla_segmented_memory {
    tla_segmented_config config; /* rounded */
    uint64_t largest;            /* bytes of the largest planned segment */
    uint32_t planned, present;
    uint64_t nbytes; /* of those that are present */
    uint32_t failures;
    uint64_t next_ps;
    tla_arena *segments[];
};

static bool is_power(uint64_t value) {
    return value > 0 && (value & (value - 1)) == 0;
}

static uint64_t round_up(uint64_t nbytes, uint64_t granule) {
    return (nbytes + granule - 1) / granule * granule;
}

static uint64_t pieces(uint64_t nbytes, uint64_t segment) {
    return nbytes / segment + (nbytes % segment > 0);
}

/* No segment crosses the end of the initial bytes. */
uint64_t tla_segmented_piece(const tla_segmented_config *c, uint64_t begin) {
    const uint64_t end = begin < c->initial ? c->initial : c->final;
    return end - begin < c->segment ? end - begin : c->segment;
}

static tla_status add_segment(tla_segmented_memory *m) {
    const tla_arena_config config = {.base = m->nbytes,
                                     .capacity = tla_segmented_piece(&m->config, m->nbytes),
                                     .policy = TLA_FIRST_FIT,
                                     .alignment = m->config.alignment};
    const tla_status status = tla_arena_create(&config, &m->segments[m->present]);
    if (status) return status;
    m->present++;
    m->nbytes += config.capacity;
    return TLA_OK;
}

tla_status tla_segmented_create(const tla_segmented_config *config, tla_segmented_memory **out) {
    *out = NULL;
    const uint64_t most = UINT64_C(1) << 62,
                   granule = config->page > config->alignment ? config->page : config->alignment;
    if (!is_power(config->alignment) || !is_power(config->page) || granule > most || config->initial == 0 ||
        config->final == 0 || config->initial > most || config->final > most || config->segment == 0 ||
        config->segment % granule != 0)
        return TLA_INVALID_ARGUMENT;
    tla_segmented_config c = *config;
    c.final = round_up(c.final, granule);
    c.initial = round_up(c.initial, granule);
    if (c.initial > c.final) c.initial = c.final;
    const uint64_t planned = pieces(c.initial, c.segment) + pieces(c.final - c.initial, c.segment);
    if (planned > UINT32_MAX) return TLA_INVALID_ARGUMENT;
    tla_segmented_memory *m = calloc(1, sizeof *m + planned * sizeof(tla_arena *));
    if (!m) return TLA_NO_HOST_MEMORY;
    m->config = c;
    m->planned = (uint32_t)planned;
    const uint64_t larger = c.initial > c.final - c.initial ? c.initial : c.final - c.initial;
    m->largest = larger < c.segment ? larger : c.segment;
    tla_status status = TLA_OK;
    while (!status && m->nbytes < c.initial)
        status = add_segment(m);
    if (status)
        tla_segmented_destroy(m);
    else
        *out = m;
    return status;
}

void tla_segmented_destroy(tla_segmented_memory *m) {
    for (uint32_t i = 0; m && i < m->present; i++)
        tla_arena_destroy(m->segments[i]);
    free(m);
}

/* The blocks of a batch that a segment holds: at most n. */
static size_t holds(const tla_arena *segment, uint64_t nbytes, size_t n) {
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = high - (high - low) / 2;
        if (tla_arena_fits(segment, nbytes, middle))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static tla_status refuse(const tla_segmented_memory *m, uint64_t nbytes, size_t n, tla_work *work) {
    uint64_t left = 0;
    for (uint32_t i = 0; i < m->present; i++) {
        const tla_arena_stats stats = tla_arena_get_stats(m->segments[i]);
        left += stats.free;
        if (!work) continue;
        work->nodes_visited += stats.free_blocks;
        work->list_length += stats.free_blocks;
    }
    return left / nbytes < n ? TLA_EXHAUSTED : TLA_FRAGMENTED;
}

/* Frees the first `count` blocks of a batch again. */
static void undo(tla_segmented_memory *m, const tla_block *blocks, size_t count) {
    while (count-- > 0)
        (void)tla_segmented_free(m, blocks[count], NULL);
}

tla_status tla_segmented_alloc(tla_segmented_memory *m, uint64_t nbytes, size_t n, tla_block *blocks, tla_work *work) {
    size_t fit = 0;
    if (n == 0) return TLA_OK;
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    if (nbytes > m->largest) return TLA_OUT_OF_RANGE; /* which is a multiple of the alignment */
    const uint64_t granted = round_up(nbytes, m->config.alignment);
    for (uint32_t i = 0; i < m->present && fit < n; i++)
        fit += holds(m->segments[i], granted, n - fit);
    if (fit < n) return refuse(m, granted, n, work);
    size_t done = 0;
    for (uint32_t i = 0; done < n; i++) {
        const size_t here = holds(m->segments[i], granted, n - done);
        const tla_arena_stats stats = tla_arena_get_stats(m->segments[i]);
        const tla_status status =
            tla_arena_alloc_batch(m->segments[i], granted, here, TLA_BATCH_CARVED, &blocks[done], work);
        if (status) {
            undo(m, blocks, done);
            return status;
        }
        if (here == 0 && work) { /* the walk passes it */
            work->nodes_visited += stats.free_blocks;
            work->list_length += stats.free_blocks;
        }
        done += here;
    }
    return TLA_OK;
}

tla_status tla_segmented_free(tla_segmented_memory *m, tla_block block, tla_work *work) {
    for (uint32_t i = 0; i < m->present; i++) {
        const tla_arena_config c = tla_arena_get_config(m->segments[i]);
        if (block.offset >= c.base && block.offset - c.base < c.capacity)
            return tla_arena_free(m->segments[i], block, work);
    }
    return TLA_OUT_OF_RANGE;
}

bool tla_segmented_next_attempt(const tla_segmented_memory *m, uint64_t *at_ps) {
    if (m->present == m->planned || m->failures == ATTEMPTS) return false;
    *at_ps = m->next_ps;
    return true;
}

tla_status tla_segmented_attempted(tla_segmented_memory *m, bool success, uint64_t now_ps) {
    uint64_t due_ps;
    if (!tla_segmented_next_attempt(m, &due_ps)) return TLA_NOT_FOUND;
    const tla_status status = success ? add_segment(m) : TLA_OK;
    if (status) return status;
    m->failures = success ? 0 : m->failures + 1;
    m->next_ps = now_ps + (m->failures < ATTEMPTS ? waits_ps[m->failures] : 0);
    return TLA_OK;
}

uint32_t tla_segmented_planned(const tla_segmented_memory *m) {
    return m->planned;
}

uint32_t tla_segmented_present(const tla_segmented_memory *m) {
    return m->present;
}

uint64_t tla_segmented_largest(const tla_segmented_memory *m) {
    return m->largest;
}

const tla_arena *tla_segmented_arena(const tla_segmented_memory *m, uint32_t segment) {
    return m->segments[segment];
}
