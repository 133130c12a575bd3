/* The segments of a device, added up by pool and stream. */
#include "torch/usage.h"
#include "torch/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_GRANULE = 2 << 20, LARGE_GRANULE = 20 << 20 };

/* A segment, for sorting. */
typedef struct item {
    const torch_segment *segment;
    torch_pool owner;
} item;

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int by_address(const void *a, const void *b) {
    const item *x = a, *y = b;
    return compare(x->segment->address, y->segment->address);
}

static int by_row(const void *a, const void *b) {
    const item *x = a, *y = b;
    int order = compare(x->owner.a, y->owner.a);
    if (!order) order = compare(x->owner.b, y->owner.b);
    if (!order) order = compare(y->segment->small, x->segment->small);
    if (!order) order = compare(x->segment->stream, y->segment->stream);
    return order ? order : by_address(a, b);
}

static bool same_row(const item *a, const item *b) {
    return a->segment->pool == b->segment->pool && a->segment->small == b->segment->small &&
           a->segment->stream == b->segment->stream;
}

/* The bytes of the granules that a span [begin, end) of a segment covers. */
static uint64_t granules_in(uint64_t begin, uint64_t end, uint64_t nbytes, uint64_t granule) {
    const uint64_t first = begin % granule ? begin + (granule - begin % granule) : begin;
    const uint64_t behind = end == nbytes ? end : end - end % granule;
    return behind > first ? behind - first : 0;
}

/* The free bytes of a segment that its allocator can return; `waited`: pending blocks count as free. */
static uint64_t whole_of(const torch_segment *s, const torch_block *blocks, uint64_t granule, bool waited) {
    uint64_t whole = 0, begin = 0, at = 0;
    for (size_t i = 0; i < s->block_count; i++) {
        const torch_block *b = &blocks[i];
        const bool live = b->state == TORCH_ALLOCATED || (b->state == TORCH_PENDING && !waited);
        if (live && !s->expandable) return 0;
        if (live) whole += granules_in(begin, at, s->nbytes, granule);
        at += b->nbytes;
        if (live) begin = at;
    }
    return whole + (s->expandable ? granules_in(begin, at, s->nbytes, granule) : s->nbytes);
}

static torch_usage usage_of(const torch_segment *s, const torch_block *blocks, uint64_t granule) {
    torch_usage u = {.segments = 1, .reserved = s->nbytes};
    uint64_t is_free = 0;
    for (size_t i = 0; i < s->block_count; i++) {
        const torch_block *b = &blocks[i];
        u.allocated += b->state == TORCH_ALLOCATED ? b->nbytes : 0;
        u.requested += b->state != TORCH_ALLOCATED                        ? 0
                       : b->requested > b->nbytes || b->requested_is_size ? b->nbytes
                                                                          : b->requested;
        u.pending += b->state == TORCH_PENDING ? b->nbytes : 0;
        is_free += b->state == TORCH_INACTIVE ? b->nbytes : 0;
        if (b->state == TORCH_INACTIVE && b->nbytes > u.largest_free) u.largest_free = b->nbytes;
    }
    u.whole = whole_of(s, blocks, granule, false);
    u.pieces = is_free - u.whole;
    u.waiting = u.pending ? whole_of(s, blocks, granule, true) - u.whole : 0;
    return u;
}

void torch_usage_add(torch_usage *sum, const torch_usage *more) {
    sum->segments += more->segments;
    sum->reserved += more->reserved;
    sum->allocated += more->allocated;
    sum->requested += more->requested;
    sum->pending += more->pending;
    sum->whole += more->whole;
    sum->pieces += more->pieces;
    sum->waiting += more->waiting;
    if (more->largest_free > sum->largest_free) sum->largest_free = more->largest_free;
}

/* Keeps the segments with the most bytes in pieces; of equal ones the first. */
static void add_blocker(torch_usage_report *r, const torch_segment *s, const torch_block *blocks, uint64_t pieces) {
    torch_usage_blocker found = {.segment = s->address, .pieces = pieces};
    size_t at = r->blocker_count;
    while (at > 0 && r->blockers[at - 1].pieces < pieces)
        at--;
    if (!pieces || at == TORCH_USAGE_BLOCKERS) return;
    for (size_t i = 0; i < s->block_count; i++) {
        if (blocks[i].state == TORCH_INACTIVE) continue;
        found.live += blocks[i].nbytes;
        found.blocks++;
        if (blocks[i].nbytes <= found.largest_bytes) continue;
        found.largest_block = blocks[i].address;
        found.largest_bytes = blocks[i].nbytes;
        found.source = blocks[i].source;
    }
    if (r->blocker_count < TORCH_USAGE_BLOCKERS) r->blocker_count++;
    memmove(r->blockers + at + 1, r->blockers + at, (r->blocker_count - 1 - at) * sizeof found);
    r->blockers[at] = found;
}

static void add_segment(torch_usage_report *r, const torch_snapshot *s, const item *it, bool new_row) {
    const torch_segment *segment = it->segment;
    const torch_block *blocks = s->devices[r->device].blocks + segment->first_block;
    const uint64_t large = s->settings.large_segment_size ? s->settings.large_segment_size : LARGE_GRANULE;
    const torch_usage usage = usage_of(segment, blocks, segment->small ? SMALL_GRANULE : large);
    if (new_row)
        r->rows[r->row_count++] =
            (torch_usage_row){.owner = it->owner, .small = segment->small, .stream = segment->stream};
    torch_usage_add(&r->rows[r->row_count - 1].usage, &usage);
    torch_usage_add(&r->all, &usage);
    if (segment->pool)
        r->private_whole += usage.whole;
    else
        r->empty_cache += usage.whole + usage.waiting;
    add_blocker(r, segment, blocks, usage.pieces);
}

/* Memory is in one segment only. */
static tla_status check_apart(const torch_snapshot *s, const item *items, size_t count, tla_error *error) {
    for (size_t i = 1; i < count; i++)
        if (items[i].segment->address - items[i - 1].segment->address < items[i - 1].segment->nbytes)
            return tla_error_set(error, TLA_SYNTAX, "%s: the segments list the memory at 0x%" PRIx64 " twice",
                                 torch_where_is(s, torch_place(s, items[i].segment->source)).text,
                                 items[i].segment->address);
    return TLA_OK;
}

static tla_status add_segments(const torch_snapshot *s, item *items, torch_usage_report *r, tla_error *error) {
    const torch_device *d = &s->devices[r->device];
    for (size_t i = 0; i < d->segment_count; i++)
        items[i] = (item){&d->segments[i], s->pools[d->segments[i].pool]};
    qsort(items, d->segment_count, sizeof *items, by_address);
    tla_status status = check_apart(s, items, d->segment_count, error);
    if (status) return status;
    qsort(items, d->segment_count, sizeof *items, by_row);
    for (size_t i = 0; i < d->segment_count; i++)
        add_segment(r, s, &items[i], i == 0 || !same_row(&items[i - 1], &items[i]));
    return TLA_OK;
}

tla_status torch_usage_find(const torch_snapshot *s, size_t device, torch_usage_report *r, tla_error *error) {
    const torch_device *d = &s->devices[device];
    *r = (torch_usage_report){.device = device};
    if (d->contradictions)
        return tla_error_set(error, TLA_SYNTAX, "%s: %s", torch_where_is(s, d->contradiction_at).text,
                             d->contradiction);
    item *items = malloc((d->segment_count + 1) * sizeof *items);
    r->rows = malloc((d->segment_count + 1) * sizeof *r->rows);
    tla_status status = items && r->rows ? add_segments(s, items, r, error)
                                         : tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", s->name);
    free(items);
    if (status) torch_usage_clear(r);
    return status;
}

void torch_usage_clear(torch_usage_report *r) {
    free(r->rows);
    *r = (torch_usage_report){0};
}
