/* Small pages of several sizes in large pages of one size. */
#include "tlmalloc/kv/kv_cache.h"

#include "base/host_array.h"
#include "base/numbers.h"

#include <stdbool.h>
#include <stdlib.h>

static const uint32_t NONE = UINT32_MAX;

/* Neighbours in a list; NONE at its ends. */
typedef struct links {
    uint32_t next, before;
} links;

/* A large page. One that is in use and has free small pages stands in its type's list, and in that of the sequence
 * that began it while that has not ended. */
typedef struct large {
    uint32_t type, owner; /* of a page in use; owner NONE: it has ended */
    uint32_t owner_life;  /* of the sequence, which is used again by others */
    uint32_t used;        /* small pages */
    uint32_t first_free;  /* the free ones are a chain; NONE: no free one */
    links of_type, of_owner;
} large;

/* The blocks of a sequence in a type: the blocks of [first, end) exist. */
typedef struct run {
    uint64_t *pages; /* by block: large page * small_max + small page */
    uint64_t first, end, room;
    uint32_t partial; /* the first of the large pages that it began and that have free small ones */
} run;

struct tla_kv_layers {
    tla_kv_layers_config config;
    uint64_t small_bytes[TLA_KV_TYPES_MAX];
    uint32_t per_large[TLA_KV_TYPES_MAX], partial[TLA_KV_TYPES_MAX];
    uint32_t small_max; /* the most small pages of a large one */
    uint32_t count, free_first;
    large *pages;
    uint32_t *chain; /* small_max for each large page */
    run *runs;       /* type_count for each sequence */
    tla_kv_lengths *lengths;
    uint32_t *lives; /* how often a sequence has ended */
    tla_kv_layers_stats stats;
};

/* ---- required blocks ---- */

static uint64_t needed_from(const tla_kv_layer_type *type, uint64_t tokens) {
    return type->window && tokens > type->window ? tokens - type->window : 0;
}

uint64_t tla_kv_layers_needed(const tla_kv_layers_config *config, const tla_kv_lengths *lengths) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < config->type_count; i++) {
        const tla_kv_layer_type *type = &config->types[i];
        const uint64_t tokens = lengths->tokens[type->stream];
        sum += type->layers * type->token_bytes * (tokens - needed_from(type, tokens));
    }
    return sum;
}

uint64_t tla_kv_layers_uniform(const tla_kv_layers_config *config, const tla_kv_lengths *lengths) {
    uint64_t tokens = 0, bytes = 0;
    for (uint32_t i = 0; i < TLA_KV_STREAMS_MAX; i++)
        tokens += lengths->tokens[i];
    for (uint32_t i = 0; i < config->type_count; i++)
        bytes += config->types[i].layers * config->types[i].token_bytes;
    return tokens * bytes;
}

/* ---- making one ---- */

/* The sizes of pages; false for some that cannot be. */
static bool find_sizes(tla_kv_layers *l) {
    const tla_kv_layers_config *c = &l->config;
    uint64_t large_bytes = 1;
    if (!c->type_count || c->type_count > TLA_KV_TYPES_MAX || !c->block_tokens || c->block_tokens > 1 << 16 ||
        !c->sequences)
        return false;
    for (uint32_t i = 0; i < c->type_count; i++) {
        const tla_kv_layer_type *type = &c->types[i];
        if (!type->layers || type->layers > 1 << 20 || !type->token_bytes || type->token_bytes > 1 << 20 ||
            type->stream >= TLA_KV_STREAMS_MAX)
            return false;
        l->small_bytes[i] = type->layers * type->token_bytes * c->block_tokens; /* at most 2^56 */
        const uint64_t factor = l->small_bytes[i] / common_divisor(l->small_bytes[i], large_bytes);
        if (__builtin_mul_overflow(large_bytes, factor, &large_bytes) || large_bytes > INT64_MAX) return false;
    }
    for (uint32_t i = 0; i < c->type_count; i++) {
        if (large_bytes / l->small_bytes[i] > TLA_KV_SMALL_PAGES_MAX) return false;
        l->per_large[i] = (uint32_t)(large_bytes / l->small_bytes[i]);
        if (l->per_large[i] > l->small_max) l->small_max = l->per_large[i];
    }
    const uint64_t count = c->nbytes / large_bytes;
    l->count = (uint32_t)count;
    l->stats = (tla_kv_layers_stats){.large_bytes = large_bytes, .large_pages = count, .free_large = count};
    return count >= 1 && count < NONE;
}

static bool take_memory(tla_kv_layers *l) {
    const uint64_t runs = (uint64_t)l->config.sequences * l->config.type_count;
    l->pages = calloc(l->count, sizeof *l->pages);
    l->chain = host_array_new((uint64_t)l->count * l->small_max, sizeof *l->chain);
    l->runs = host_array_new(runs, sizeof *l->runs);
    l->lengths = calloc(l->config.sequences, sizeof *l->lengths);
    l->lives = calloc(l->config.sequences, sizeof *l->lives);
    if (!l->pages || !l->chain || !l->runs || !l->lengths || !l->lives) return false;
    for (uint64_t i = 0; i < runs; i++)
        l->runs[i].partial = NONE;
    for (uint32_t i = 0; i < l->count; i++)
        l->pages[i].of_type.next = i + 1 < l->count ? i + 1 : NONE; /* the chain of free large pages */
    for (uint32_t i = 0; i < TLA_KV_TYPES_MAX; i++)
        l->partial[i] = NONE;
    return true;
}

tla_status tla_kv_layers_create(const tla_kv_layers_config *config, tla_kv_layers **made) {
    *made = NULL;
    tla_kv_layers *l = calloc(1, sizeof *l);
    if (!l) return TLA_NO_HOST_MEMORY;
    l->config = *config;
    tla_status status = find_sizes(l) ? TLA_OK : TLA_INVALID_ARGUMENT;
    if (!status && !take_memory(l)) status = TLA_NO_HOST_MEMORY;
    if (status)
        tla_kv_layers_destroy(l);
    else
        *made = l;
    return status;
}

void tla_kv_layers_destroy(tla_kv_layers *l) {
    if (!l) return;
    const uint64_t runs = (uint64_t)l->config.sequences * l->config.type_count;
    for (uint64_t i = 0; l->runs && i < runs; i++)
        free(l->runs[i].pages);
    free(l->runs);
    free(l->lengths);
    free(l->lives);
    free(l->chain);
    free(l->pages);
    free(l);
}

/* ---- lists of large pages that have free small ones ---- */

static run *run_of(const tla_kv_layers *l, uint32_t sequence, uint32_t type) {
    return &l->runs[(uint64_t)sequence * l->config.type_count + type];
}

static void link_partial(tla_kv_layers *l, uint32_t page) {
    large *p = &l->pages[page];
    uint32_t *head = &l->partial[p->type];
    p->of_type = (links){*head, NONE};
    if (*head != NONE) l->pages[*head].of_type.before = page;
    *head = page;
    if (p->owner != NONE && l->lives[p->owner] != p->owner_life) p->owner = NONE;
    if (p->owner == NONE) return;
    head = &run_of(l, p->owner, p->type)->partial;
    p->of_owner = (links){*head, NONE};
    if (*head != NONE) l->pages[*head].of_owner.before = page;
    *head = page;
}

static void unlink_from_owner(tla_kv_layers *l, const large *p) {
    const links at = p->of_owner;
    if (at.next != NONE) l->pages[at.next].of_owner.before = at.before;
    if (at.before != NONE)
        l->pages[at.before].of_owner.next = at.next;
    else
        run_of(l, p->owner, p->type)->partial = at.next;
}

static void unlink_partial(tla_kv_layers *l, const large *p) {
    const links at = p->of_type;
    if (at.next != NONE) l->pages[at.next].of_type.before = at.before;
    if (at.before != NONE)
        l->pages[at.before].of_type.next = at.next;
    else
        l->partial[p->type] = at.next;
    if (p->owner != NONE) unlink_from_owner(l, p);
}

/* ---- small pages ---- */

/* A free large page becomes one of a type, begun by a sequence. */
static uint32_t begin_large(tla_kv_layers *l, uint32_t sequence, uint32_t type, tla_work *work) {
    const uint32_t page = l->free_first;
    large *p = &l->pages[page];
    uint32_t *chain = l->chain + (uint64_t)page * l->small_max;
    l->free_first = p->of_type.next;
    *p = (large){.type = type, .owner = sequence, .owner_life = l->lives[sequence]};
    for (uint32_t i = 0; i < l->per_large[type]; i++)
        chain[i] = i + 1 < l->per_large[type] ? i + 1 : NONE;
    link_partial(l, page);
    const uint64_t in_use = l->stats.large_pages - --l->stats.free_large;
    if (in_use > l->stats.peak_large) l->stats.peak_large = in_use;
    work->splits++;
    return page;
}

/* Takes a small page for a sequence; such a page exists, or a large page that may be begun. */
static uint64_t take_small(tla_kv_layers *l, uint32_t sequence, uint32_t type, uint64_t *may_begin, tla_work *work) {
    uint32_t page = run_of(l, sequence, type)->partial;
    if (page == NONE && *may_begin) {
        page = begin_large(l, sequence, type, work);
        --*may_begin;
    }
    if (page == NONE) page = l->partial[type];
    large *p = &l->pages[page];
    const uint32_t small = p->first_free;
    p->first_free = l->chain[(uint64_t)page * l->small_max + small];
    p->used++;
    if (p->first_free == NONE) unlink_partial(l, p);
    l->stats.small_pages++;
    l->stats.small_bytes += l->small_bytes[type];
    work->nodes_visited++;
    work->slots++;
    return (uint64_t)page * l->small_max + small;
}

static void give_small(tla_kv_layers *l, uint64_t where, tla_work *work) {
    const uint32_t page = (uint32_t)(where / l->small_max), small = (uint32_t)(where % l->small_max);
    large *p = &l->pages[page];
    const bool was_full = p->first_free == NONE;
    l->chain[where] = p->first_free;
    p->first_free = small;
    l->stats.small_pages--;
    l->stats.small_bytes -= l->small_bytes[p->type];
    work->slots++;
    if (was_full) link_partial(l, page);
    if (--p->used > 0) return;
    unlink_partial(l, p);
    p->of_type.next = l->free_first;
    l->free_first = page;
    l->stats.free_large++;
    work->merges++;
}

/* ---- sequences ---- */

static uint64_t blocks_for(const tla_kv_layers *l, uint64_t tokens) {
    return (tokens + l->config.block_tokens - 1) / l->config.block_tokens;
}

/* The blocks that a type needs of so many tokens: [*first, *end). */
static void blocks_needed(const tla_kv_layers *l, uint32_t type, const tla_kv_lengths *lengths, uint64_t *first,
                          uint64_t *end) {
    const tla_kv_layer_type *t = &l->config.types[type];
    const uint64_t tokens = lengths->tokens[t->stream];
    *first = needed_from(t, tokens) / l->config.block_tokens;
    *end = blocks_for(l, tokens);
}

static void drop_before(tla_kv_layers *l, run *r, uint64_t first, tla_work *work) {
    for (; r->first < first && r->first < r->end; r->first++)
        give_small(l, r->pages[r->first], work);
}

/* How many large pages each type must have beside the small ones that are free in its own, and how many more there
 * are. False when there are not enough for all. */
static bool fits(const tla_kv_layers *l, uint32_t sequence, const tla_kv_lengths *lengths, uint64_t *large_wanted,
                 uint64_t *spare) {
    uint64_t all = 0;
    for (uint32_t type = 0; type < l->config.type_count; type++) {
        const run *r = run_of(l, sequence, type);
        uint64_t first, end, free_small = 0;
        blocks_needed(l, type, lengths, &first, &end);
        const uint64_t from = first > r->end ? first : r->end, wanted = end > from ? end - from : 0;
        for (uint32_t page = l->partial[type]; page != NONE && free_small < wanted; page = l->pages[page].of_type.next)
            free_small += l->per_large[type] - l->pages[page].used;
        large_wanted[type] =
            wanted > free_small ? (wanted - free_small + l->per_large[type] - 1) / l->per_large[type] : 0;
        all += large_wanted[type];
    }
    *spare = l->stats.free_large - all;
    return all <= l->stats.free_large;
}

static bool make_room(run *r, uint64_t end) {
    if (end <= r->room) return true;
    const uint64_t room = end > 2 * r->room ? end : 2 * r->room;
    uint64_t *grown = host_array_resize(r->pages, room, sizeof *grown);
    if (!grown) return false;
    r->pages = grown;
    r->room = room;
    return true;
}

static tla_status check_lengths(const tla_kv_layers *l, uint32_t sequence, const tla_kv_lengths *lengths) {
    if (sequence >= l->config.sequences) return TLA_OUT_OF_RANGE;
    for (uint32_t i = 0; i < TLA_KV_STREAMS_MAX; i++)
        if (lengths->tokens[i] < l->lengths[sequence].tokens[i] || lengths->tokens[i] > INT64_MAX)
            return TLA_INVALID_ARGUMENT;
    return TLA_OK;
}

tla_status tla_kv_layers_grow(tla_kv_layers *l, uint32_t sequence, const tla_kv_lengths *lengths, tla_work *work) {
    uint64_t first, end, spare, large_wanted[TLA_KV_TYPES_MAX];
    tla_status status = check_lengths(l, sequence, lengths);
    for (uint32_t type = 0; !status && type < l->config.type_count; type++) {
        blocks_needed(l, type, lengths, &first, &end);
        if (end - first > (uint64_t)l->count * l->per_large[type]) return TLA_EXHAUSTED;
        if (!make_room(run_of(l, sequence, type), end)) return TLA_NO_HOST_MEMORY;
    }
    if (status) return status;
    for (uint32_t type = 0; type < l->config.type_count; type++) {
        blocks_needed(l, type, lengths, &first, &end);
        drop_before(l, run_of(l, sequence, type), first, work);
    }
    if (!fits(l, sequence, lengths, large_wanted, &spare)) return TLA_EXHAUSTED;
    for (uint32_t type = 0; type < l->config.type_count; type++) {
        run *r = run_of(l, sequence, type);
        uint64_t may_begin = large_wanted[type] + spare;
        blocks_needed(l, type, lengths, &first, &end);
        if (r->end < first) r->first = r->end = first;
        while (r->end < end)
            r->pages[r->end++] = take_small(l, sequence, type, &may_begin, work);
        if (may_begin < spare) spare = may_begin;
    }
    l->lengths[sequence] = *lengths;
    return TLA_OK;
}

tla_status tla_kv_layers_release(tla_kv_layers *l, uint32_t sequence, tla_work *work) {
    if (sequence >= l->config.sequences) return TLA_OUT_OF_RANGE;
    for (uint32_t type = 0; type < l->config.type_count; type++) {
        run *r = run_of(l, sequence, type);
        while (r->end > r->first)
            give_small(l, r->pages[--r->end], work);
        r->first = r->end = 0;
        while (r->partial != NONE) { /* others have small pages there */
            large *p = &l->pages[r->partial];
            unlink_from_owner(l, p);
            p->owner = NONE;
        }
    }
    l->lengths[sequence] = (tla_kv_lengths){0};
    l->lives[sequence]++;
    return TLA_OK;
}

tla_status tla_kv_layers_find(const tla_kv_layers *l, uint32_t sequence, uint32_t type, uint64_t token,
                              uint64_t *offset) {
    if (sequence >= l->config.sequences || type >= l->config.type_count) return TLA_OUT_OF_RANGE;
    const run *r = run_of(l, sequence, type);
    const uint64_t block = token / l->config.block_tokens;
    if (block < r->first || block >= r->end) return TLA_UNMAPPED;
    const uint64_t where = r->pages[block];
    *offset = where / l->small_max * l->stats.large_bytes + where % l->small_max * l->small_bytes[type];
    return TLA_OK;
}

tla_kv_layers_stats tla_kv_layers_get_stats(const tla_kv_layers *l) {
    return l->stats;
}
