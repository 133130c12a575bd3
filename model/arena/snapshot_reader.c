/* Reading a snapshot: everything is read and checked before anything of the arena changes. */
#include "driven.h"
#include "tlmalloc/arena/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *at, *end;
    unsigned line;
    tla_error *error;
} reader;

typedef struct {
    tla_arena_config config;
    uint64_t peak, cursor, free_bytes;
    tla_block *blocks; /* free, as they stand in the text */
    size_t count;
    tla_live_block *live;
    size_t live_count;
} snapshot;

static tla_status damaged(const reader *r, const char *expected) {
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    size_t rest = (size_t)((newline ? newline : r->end) - r->at);
    return tla_error_set(r->error, TLA_SYNTAX, "line %u: found \"%.*s\", expected %s", r->line,
                         (int)(rest < 40 ? rest : 40), r->at, expected);
}

/* Goes past `word` when the text continues with it. */
static bool skip(reader *r, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
    r->at += n;
    if (n > 0 && word[n - 1] == '\n') r->line++;
    return true;
}

/* A decimal number as printf writes it, and what ends it. */
static bool number(reader *r, const char *after, uint64_t *value) {
    const char *start = r->at;
    uint64_t n = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        uint64_t digit = (uint64_t)(*r->at - '0');
        if (n > (UINT64_MAX - digit) / 10) break;
        n = 10 * n + digit;
    }
    *value = n;
    if (r->at > start && (*start != '0' || r->at == start + 1) && skip(r, after)) return true;
    r->at = start;
    return false;
}

static tla_status keyed(reader *r, const char *key, const char *expected, uint64_t *value) {
    return skip(r, key) && number(r, "\n", value) ? TLA_OK : damaged(r, expected);
}

static tla_status read_config(reader *r, snapshot *s) {
    if (!skip(r, "tlmalloc-arena 1\n")) return damaged(r, "\"tlmalloc-arena 1\"");
    bool known = false;
    if (skip(r, "policy "))
        for (int p = 0; p < TLA_POLICY_COUNT && !known; p++) {
            reader before = *r;
            known = skip(r, tla_policy_name((tla_policy)p)) && skip(r, "\n");
            if (known)
                s->config.policy = (tla_policy)p;
            else
                *r = before;
        }
    if (!known) return damaged(r, "\"policy\" and the name of a policy");
    tla_status status = keyed(r, "base ", "\"base\" and a number", &s->config.base);
    if (!status) status = keyed(r, "capacity ", "\"capacity\" and a number", &s->config.capacity);
    if (status) return status;
    reader before = *r;
    status = keyed(r, "alignment ", "\"alignment\" and a number", &s->config.alignment);
    if (status) return status;
    if (s->config.alignment == 0 || tla_arena_check_config(&s->config))
        return damaged(&before, "a range below 2^63 and an alignment that is a power of two and divides the base");
    return TLA_OK;
}

static bool inside(const tla_arena_config *c, tla_block b) {
    return b.nbytes > 0 && b.nbytes <= c->capacity && b.offset >= c->base &&
           b.offset - c->base <= c->capacity - b.nbytes;
}

/* "key n" and room for n entries; a line of one has at least min_line bytes, so that a short text cannot ask for much.
 */
static tla_status list_of(reader *r, const char *key, const char *expected, size_t size, size_t min_line, void **list,
                          size_t *count) {
    reader before = *r;
    uint64_t n = 0;
    tla_status status = keyed(r, key, expected, &n);
    if (status) return status;
    if (n > (size_t)(r->end - r->at) / min_line)
        return damaged(&before, "a count that matches the entries that follow");
    *count = (size_t)n;
    *list = calloc((size_t)n + 1, size);
    return *list ? TLA_OK : TLA_NO_HOST_MEMORY;
}

static tla_status read_free(reader *r, snapshot *s) {
    void *list = NULL;
    tla_status status = list_of(r, "free ", "\"free\" and a number", sizeof *s->blocks, 4, &list, &s->count);
    if (status) return status;
    s->blocks = list;
    for (size_t i = 0; i < s->count; i++) {
        reader before = *r;
        tla_block *b = &s->blocks[i];
        if (!number(r, " ", &b->offset) || !number(r, "\n", &b->nbytes)) return damaged(&before, "offset and size");
        if (!inside(&s->config, *b)) return damaged(&before, "a block inside the arena");
        s->free_bytes += b->nbytes;
        if (s->free_bytes > s->config.capacity) return damaged(&before, "no more free bytes than the capacity");
    }
    return TLA_OK;
}

static tla_status read_live(reader *r, snapshot *s) {
    void *list = NULL;
    tla_status status = list_of(r, "live ", "\"live\" and a number", sizeof *s->live, 10, &list, &s->live_count);
    if (status) return status;
    s->live = list;
    uint64_t end = 0, total = 0;
    for (size_t i = 0; i < s->live_count; i++) {
        reader before = *r;
        tla_block *b = &s->live[i].block;
        tla_owner *o = &s->live[i].owner;
        if (!number(r, " ", &b->offset) || !number(r, " ", &b->nbytes) || !number(r, " ", &o->tag) ||
            !number(r, " ", &o->who) || !number(r, "\n", &o->time))
            return damaged(&before, "offset, size, tag, who and time");
        if (!inside(&s->config, *b) || b->offset < end)
            return damaged(&before, "a block inside the arena and after the previous block");
        end = b->offset + b->nbytes;
        total += b->nbytes;
    }
    if (total != s->config.capacity - s->free_bytes)
        return damaged(r, "live blocks that cover exactly what is not free");
    return TLA_OK;
}

static int by_offset(const void *a, const void *b) {
    const tla_block *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Whether free blocks are disjoint, joined unless they are buddies, and disjoint from the live ones. */
static tla_status check_disjoint(const snapshot *s, tla_error *error) {
    tla_block *sorted = malloc((s->count + 1) * sizeof *sorted);
    if (!sorted) return TLA_NO_HOST_MEMORY;
    memcpy(sorted, s->blocks, s->count * sizeof *sorted);
    qsort(sorted, s->count, sizeof *sorted, by_offset);
    bool joined = !tla_placement_of(s->config.policy)->whole_blocks, good = true;
    size_t live = 0, bad = 0;
    for (size_t i = 0; i < s->count && good; i++) {
        uint64_t previous_end = i > 0 ? sorted[i - 1].offset + sorted[i - 1].nbytes : 0;
        good = i == 0 || previous_end < sorted[i].offset || (previous_end == sorted[i].offset && !joined);
        while (live < s->live_count && s->live[live].block.offset + s->live[live].block.nbytes <= sorted[i].offset)
            live++;
        if (live < s->live_count && s->live[live].block.offset < sorted[i].offset + sorted[i].nbytes) good = false;
        if (!good) bad = i;
    }
    tla_block found = sorted[bad];
    free(sorted);
    if (good) return TLA_OK;
    return tla_error_set(error, TLA_SYNTAX,
                         "free block of %" PRIu64 " bytes at %" PRIu64 ": overlaps another block or touches a free one",
                         found.nbytes, found.offset);
}

static tla_status read_all(const char *text, size_t length, snapshot *s, tla_error *error) {
    reader r = {text, text + length, 1, error};
    *s = (snapshot){.blocks = NULL};
    tla_status status = read_config(&r, s);
    if (!status) status = keyed(&r, "peak ", "\"peak\" and a number", &s->peak);
    if (!status) status = keyed(&r, "cursor ", "\"cursor\" and a number", &s->cursor);
    if (!status) status = read_free(&r, s);
    if (status) return status;
    s->config.validate = r.end - r.at > 1 && *r.at == 'l';
    if (s->config.validate && (status = read_live(&r, s))) return status;
    if (!skip(&r, "end\n")) return damaged(&r, s->config.validate ? "\"end\"" : "\"live\" or \"end\"");
    if (r.at < r.end) return damaged(&r, "nothing after \"end\"");
    if (s->peak < s->config.capacity - s->free_bytes || s->peak > s->config.capacity)
        return tla_error_set(error, TLA_SYNTAX,
                             "peak %" PRIu64 ": must be at least the %" PRIu64 " bytes in use and at most the capacity",
                             s->peak, s->config.capacity - s->free_bytes);
    if (s->cursor != 0 && (s->cursor < s->config.base || s->cursor > s->config.base + s->config.capacity))
        return tla_error_set(error, TLA_SYNTAX, "cursor %" PRIu64 ": must be an offset inside the arena", s->cursor);
    return check_disjoint(s, error);
}

static void forget(snapshot *s) {
    free(s->blocks);
    free(s->live);
}

tla_status tla_arena_snapshot_config(const char *text, size_t length, tla_arena_config *config, tla_error *error) {
    snapshot s;
    tla_status status = read_all(text, length, &s, error);
    if (status == TLA_OK) *config = s.config;
    if (status == TLA_NO_HOST_MEMORY) tla_error_set(error, status, "no host memory for the snapshot");
    forget(&s);
    return status;
}

/* Checks whether the arena can use the blocks of a snapshot that another policy or alignment made. */
static tla_status check_suits(const tla_arena *arena, const snapshot *s, tla_error *error) {
    const tla_arena_config *c = &arena->config;
    if (s->config.base != c->base || s->config.capacity != c->capacity)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the snapshot has %" PRIu64 " bytes at %" PRIu64 ", the arena %" PRIu64
                             " bytes at %" PRIu64 ": use a snapshot of the same range",
                             s->config.capacity, s->config.base, c->capacity, c->base);
    if (arena->live && !s->config.validate)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "the arena validates frees, but the snapshot does not list the live blocks");
    uint64_t mask = c->alignment - 1, tail = (c->base + c->capacity) & ~mask; /* from there on nothing is ever taken */
    bool suits = true;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t start = s->blocks[i].offset, end = start + s->blocks[i].nbytes;
        suits = suits && (!(start & mask) || start > tail) && (!(end & mask) || end > tail);
    }
    for (size_t i = 0; i < s->live_count && arena->live; i++)
        suits = suits && !(s->live[i].block.offset & mask) &&
                tla_arena_granted(arena, s->live[i].block.nbytes) == s->live[i].block.nbytes;
    if (suits) return TLA_OK;
    return tla_error_set(error, TLA_UNSUPPORTED,
                         "the snapshot has blocks that policy %s with alignment %" PRIu64 " cannot produce: "
                         "age the trace with this policy and alignment",
                         tla_policy_name(c->policy), c->alignment);
}

/* The live blocks of a snapshot; if it does not list them, the ranges between free blocks. */
static uint64_t count_live(const snapshot *s) {
    if (s->config.validate) return s->live_count;
    uint64_t ranges = s->count + 1;
    for (size_t i = 0; i < s->count; i++) {
        const tla_block *b = &s->blocks[i];
        ranges -= b->offset == s->config.base;
        ranges -= b->offset + b->nbytes == s->config.base + s->config.capacity;
    }
    return ranges;
}

static tla_status rebuild(const tla_arena *arena, const snapshot *s, void **state, tla_live_blocks **live,
                          tla_error *error) {
    const tla_placement *p = arena->placement;
    tla_status status = p->create(&arena->config, state);
    for (size_t i = 0; i < s->count && status == TLA_OK; i++)
        status = p->add(*state, s->blocks[i], &(tla_work){0});
    if (status) return status;
    if (p->regions && p->regions->limit(*state, arena->nodes, count_live(s)))
        return tla_error_set(error, TLA_LIMIT,
                             "%zu free and %" PRIu64 " live blocks need more than the %" PRIu64 " nodes of %s",
                             s->count, count_live(s), arena->nodes, tla_policy_name(arena->config.policy));
    if (p->set_cursor && s->config.policy == arena->config.policy) p->set_cursor(*state, s->cursor);
    if (!arena->live) return TLA_OK;
    *live = tla_live_blocks_create();
    if (!*live || tla_live_blocks_make_room(*live, s->live_count)) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < s->live_count; i++)
        tla_live_blocks_insert(*live, s->live[i].block, s->live[i].owner);
    return TLA_OK;
}

tla_status tla_arena_restore(tla_arena *arena, const char *text, size_t length, tla_error *error) {
    snapshot s;
    void *state = NULL;
    tla_live_blocks *live = NULL;
    tla_driven *driven = tla_driven_take_off(arena);
    tla_status status = read_all(text, length, &s, error);
    if (!status) status = check_suits(arena, &s, error);
    if (!status && driven) status = tla_driven_has_room(driven, s.count, error);
    if (!status) status = rebuild(arena, &s, &state, &live, error);
    if (!status) {
        void *old_state = arena->state;
        tla_live_blocks *old_live = arena->live;
        arena->state = state;
        arena->live = live;
        arena->used = s.config.capacity - s.free_bytes;
        arena->peak_used = s.peak;
        state = old_state;
        live = old_live;
    }
    if (status == TLA_NO_HOST_MEMORY) tla_error_set(error, status, "no host memory for the snapshot");
    if (state) arena->placement->destroy(state);
    tla_live_blocks_destroy(live);
    forget(&s);
    if (!driven) return status;
    tla_driven_put_back(arena, driven);
    return status ? status : tla_driven_follow(arena, error);
}
