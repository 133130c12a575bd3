/* Undoes segment events. The range of an unmapped piece is not recorded: its neighbours identify it. */
#include "torch/runs.h"
#include "model/base/grow.h"
#include "torch/parts.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL_SEGMENT = 2 << 20, LARGE_GRANULE = 20 << 20 };

/* The number of runs at or below an address. */
static size_t runs_below(const torch_runs *r, uint64_t address) {
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->runs[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const torch_run *torch_runs_find(const torch_runs *r, uint64_t address) {
    size_t below = runs_below(r, address);
    if (below == 0) return NULL;
    const torch_run *run = &r->runs[below - 1];
    return address - run->address < run->nbytes ? run : NULL;
}

static bool insert(torch_runs *r, torch_run run) {
    if (!tla_grow(&r->runs, &r->room, r->count + 1, sizeof run)) return false;
    size_t at = runs_below(r, run.address);
    memmove(r->runs + at + 1, r->runs + at, (r->count - at) * sizeof run);
    r->runs[at] = run;
    r->count++;
    return true;
}

static void erase(torch_runs *r, size_t at) {
    memmove(r->runs + at, r->runs + at + 1, (r->count - at - 1) * sizeof *r->runs);
    r->count--;
}

static bool new_range(torch_runs *r, uint64_t base, bool small, size_t *range) {
    if (!tla_grow(&r->ranges, &r->range_room, r->range_count + 1, sizeof *r->ranges)) return false;
    *range = r->range_count++;
    r->ranges[*range] = (torch_range){base, small ? SMALL_SEGMENT : r->large_granule};
    return true;
}

/* Whether bytes at an address can be a part of a range: whole granules from its base, and not further than it is long.
 */
static bool may_belong(const torch_runs *r, const torch_run *run, uint64_t address) {
    const torch_range *range = &r->ranges[run->range];
    uint64_t distance = address > range->base ? address - range->base : range->base - address;
    return distance % range->granule == 0 && distance < r->range_bytes;
}

static bool same_pool(const torch_run *a, const torch_run *b) {
    return a->expandable && b->expandable && a->pool == b->pool && a->small == b->small && a->stream == b->stream;
}

/* At the end: runs of one pool and stream are of one range if they may be. */
static bool find_ranges(torch_runs *r) {
    for (size_t i = 0; i < r->count; i++) {
        torch_run *run = &r->runs[i];
        if (!run->expandable) continue;
        bool found = false;
        for (size_t k = i; k > 0 && !found; k--) {
            if (!same_pool(&r->runs[k - 1], run)) continue;
            found = may_belong(r, &r->runs[k - 1], run->address);
            if (found) run->range = r->runs[k - 1].range;
            break;
        }
        if (!found && !new_range(r, run->address, run->small, &run->range)) return false;
    }
    return true;
}

bool torch_runs_begin(torch_runs *r, const torch_device *device, const tla_segment_cache_config *settings,
                      uint64_t device_bytes) {
    *r = (torch_runs){.large_granule = settings->large_segment_size ? settings->large_segment_size : LARGE_GRANULE};
    r->range_bytes = device_bytes + device_bytes / 8 + r->large_granule;
    for (size_t i = 0; i < device->segment_count; i++) {
        const torch_segment *s = &device->segments[i];
        if (!insert(r, (torch_run){s->address, s->nbytes, s->stream, s->pool, s->small, s->expandable, 0}))
            return false;
    }
    return find_ranges(r);
}

void torch_runs_clear(torch_runs *r) {
    free(r->runs);
    free(r->ranges);
    *r = (torch_runs){0};
}

/* Undoing */

static const char *undo_segment_alloc(torch_runs *r, const torch_entry *e) {
    size_t below = runs_below(r, e->address);
    if (below == 0 || r->runs[below - 1].address != e->address || r->runs[below - 1].expandable)
        return "it allocates a segment that is missing afterwards";
    if (r->runs[below - 1].nbytes != e->nbytes) return "it allocates a segment that has another size afterwards";
    erase(r, below - 1);
    return NULL;
}

static bool overlaps(const torch_runs *r, const torch_entry *e) {
    size_t below = runs_below(r, e->address);
    if (below && e->address - r->runs[below - 1].address < r->runs[below - 1].nbytes) return true;
    return below < r->count && r->runs[below].address - e->address < e->nbytes;
}

/* Of the common pools, if its pool is not recorded. */
static const char *undo_segment_free(torch_runs *r, const torch_entry *e, bool *good) {
    if (overlaps(r, e)) return "it releases memory that exists afterwards";
    *good = insert(r, (torch_run){e->address, e->nbytes, e->stream, e->pool, e->nbytes == SMALL_SEGMENT, false, 0});
    return NULL;
}

static const char *undo_segment_map(torch_runs *r, const torch_entry *e, bool *good) {
    size_t below = runs_below(r, e->address);
    torch_run *run = below ? &r->runs[below - 1] : NULL;
    if (!run || !run->expandable || e->address - run->address >= run->nbytes ||
        e->nbytes > run->nbytes - (e->address - run->address))
        return "it maps memory that is missing afterwards";
    torch_run rest = *run;
    rest.address = e->address + e->nbytes;
    rest.nbytes = run->address + run->nbytes - rest.address;
    run->nbytes = e->address - run->address;
    if (run->nbytes == 0) erase(r, below - 1);
    if (rest.nbytes) *good = insert(r, rest);
    return NULL;
}

/* The run next to an unmapped piece whose range it was a part of: one that touches it, else the nearer below, else the
 * one above. */
static const torch_run *neighbour(const torch_runs *r, const torch_entry *e, int is_small) {
    size_t below = runs_below(r, e->address);
    const torch_run *found = NULL;
    for (int touching = 1; touching >= 0 && !found; touching--)
        for (size_t i = 0; i < 2 && !found; i++) {
            if (i == 0 ? below == 0 : below >= r->count) continue;
            const torch_run *run = &r->runs[below - 1 + i];
            bool touches = i == 0 ? run->address + run->nbytes == e->address : e->address + e->nbytes == run->address;
            if (!run->expandable || run->stream != e->stream || (touching && !touches)) continue;
            if (is_small >= 0 && run->small != (bool)is_small) continue;
            if (e->has_pool && run->pool != e->pool) continue;
            if (e->nbytes % r->ranges[run->range].granule || !may_belong(r, run, e->address)) continue;
            found = run;
        }
    return found;
}

static void join_neighbours(torch_runs *r, uint64_t address) {
    size_t at = runs_below(r, address) - 1;
    for (size_t i = at + 1; i > at - (at > 0); i--) { /* the one behind, then the one before */
        if (i >= r->count || i == 0) continue;
        torch_run *a = &r->runs[i - 1], *b = &r->runs[i];
        if (!same_pool(a, b) || a->range != b->range || a->address + a->nbytes != b->address) continue;
        a->nbytes += b->nbytes;
        erase(r, i);
    }
}

static const char *undo_segment_unmap(torch_runs *r, const torch_entry *e, int is_small, bool *good) {
    if (overlaps(r, e)) return "it unmaps memory that exists afterwards";
    const torch_run *near = neighbour(r, e, is_small);
    torch_run run = {e->address, e->nbytes, e->stream, e->pool, false, true, 0};
    if (near) {
        run.pool = near->pool;
        run.small = near->small;
        run.range = near->range;
        if (e->address < r->ranges[run.range].base) r->ranges[run.range].base = e->address;
    } else { /* the whole range went away with it */
        run.small = is_small >= 0 ? is_small : e->nbytes % r->large_granule != 0;
        *good = new_range(r, e->address, run.small, &run.range);
    }
    *good = *good && insert(r, run);
    if (*good) join_neighbours(r, e->address);
    return NULL;
}

const char *torch_runs_undo(torch_runs *r, const torch_entry *e, int is_small, bool *good) {
    *good = true;
    switch (e->action) {
    case TORCH_SEGMENT_ALLOC:
        return undo_segment_alloc(r, e);
    case TORCH_SEGMENT_FREE:
        return undo_segment_free(r, e, good);
    case TORCH_SEGMENT_MAP:
        return undo_segment_map(r, e, good);
    case TORCH_SEGMENT_UNMAP:
        return undo_segment_unmap(r, e, is_small, good);
    default:
        return NULL;
    }
}
