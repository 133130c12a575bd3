/* The blocks and segments that existed at the first entry. Blocks: the first entry of an address shows whether it was
 * allocated, and addresses without an entry live in the segments at the end. Segments: the end, undone event by event.
 * A block that was freed in the trace has only its requested size: the neighbours show its additional bytes. */
#include "model/base/grow.h"
#include "torch/parts.h"
#include "torch/runs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_SLACK = 1 << 20 };

/* An entry of a block, for sorting by address and then in order. */
typedef struct mention {
    uint64_t address;
    size_t entry;
} mention;

typedef struct finder {
    torch_snapshot *snapshot;
    torch_device *device;
    torch_start *start;
    mention *mentions;
    size_t mention_count;
    const torch_block **ends; /* active at the end, by address */
    size_t end_count;
    size_t block_room;
    torch_runs runs;
} finder;

static void contradict(finder *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void contradict(finder *f, const char *format, ...) {
    if (f->start->contradictions++) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->start->contradiction, sizeof f->start->contradiction, format, arguments);
    va_end(arguments);
}

static int by_address(const void *a, const void *b) {
    const mention *x = a, *y = b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static int by_block_address(const void *a, const void *b) {
    const torch_block *x = *(const torch_block *const *)a, *y = *(const torch_block *const *)b;
    return (x->address > y->address) - (x->address < y->address);
}

static int by_start_address(const void *a, const void *b) {
    const torch_start_block *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

static bool collect(finder *f) {
    const torch_device *d = f->device;
    f->mentions = malloc((d->entry_count + 1) * sizeof *f->mentions);
    f->ends = malloc((d->block_count + 1) * sizeof *f->ends);
    if (!f->mentions || !f->ends) return false;
    for (size_t i = 0; i < d->entry_count; i++)
        if (d->entries[i].action <= TORCH_FREE_COMPLETED)
            f->mentions[f->mention_count++] = (mention){d->entries[i].address, i};
    for (size_t i = 0; i < d->block_count; i++)
        if (d->blocks[i].state != TORCH_INACTIVE) f->ends[f->end_count++] = &d->blocks[i];
    qsort(f->mentions, f->mention_count, sizeof *f->mentions, by_address);
    qsort(f->ends, f->end_count, sizeof *f->ends, by_block_address);
    return true;
}

static bool add_block(finder *f, torch_start_block block) {
    if (!tla_grow(&f->start->blocks, &f->block_room, f->start->block_count + 1, sizeof block)) return false;
    f->start->blocks[f->start->block_count++] = block;
    return true;
}

/* Blocks */

/* Returns the state of an address after an entry; records a contradiction of the entry. */
static torch_state follow(finder *f, const torch_entry *e, size_t index, torch_state state) {
    static const torch_state before[] = {TORCH_INACTIVE, TORCH_ALLOCATED, TORCH_PENDING};
    static const torch_state after[] = {TORCH_ALLOCATED, TORCH_PENDING, TORCH_INACTIVE};
    static const char *const names[] = {"free", "allocated", "freed but not completed"};
    if (state != before[e->action])
        contradict(f, "entry %zu (%s at 0x%" PRIx64 "): the block is already %s: events are missing", index,
                   torch_action_name(e->action), e->address, names[state]);
    return after[e->action];
}

static void compare_with_end(finder *f, uint64_t address, torch_state state, const torch_block *end) {
    torch_state found = end ? end->state : TORCH_INACTIVE;
    if (!f->snapshot->has_segments || found == state) return;
    static const char *const names[] = {"inactive or absent", "allocated", "pending"};
    contradict(f, "the trace leaves the block at 0x%" PRIx64 " %s, the segments say it is %s", address, names[state],
               names[found]);
}

/* Follows all entries of one address: whether a block lived there before, and the state at the end. */
static bool follow_address(finder *f, const mention *mentions, size_t count, const torch_block *end) {
    static const torch_state needed[] = {TORCH_INACTIVE, TORCH_ALLOCATED, TORCH_PENDING};
    const torch_entry *entries = f->device->entries, *first = &entries[mentions[0].entry];
    torch_state state = needed[first->action];
    torch_start_block older = {.address = first->address,
                               .requested = first->nbytes,
                               .source = first->source,
                               .pending = state == TORCH_PENDING,
                               .guessed = true};
    bool good = state == TORCH_INACTIVE || add_block(f, older);
    for (size_t i = 0; i < count; i++)
        state = follow(f, &entries[mentions[i].entry], mentions[i].entry, state);
    compare_with_end(f, first->address, state, end);
    return good;
}

static bool add_untouched(finder *f, const torch_block *end) {
    torch_start_block block = {.address = end->address,
                               .nbytes = end->nbytes,
                               .requested = end->requested,
                               .source = end->source,
                               .pending = end->state == TORCH_PENDING};
    return add_block(f, block);
}

static bool find_blocks(finder *f) {
    size_t at = 0;
    bool good = true;
    for (size_t i = 0, next; i < f->mention_count && good; i = next) {
        uint64_t address = f->mentions[i].address;
        next = i + 1;
        while (next < f->mention_count && f->mentions[next].address == address)
            next++;
        for (; at < f->end_count && f->ends[at]->address < address && good; at++)
            good = add_untouched(f, f->ends[at]);
        const torch_block *end = at < f->end_count && f->ends[at]->address == address ? f->ends[at++] : NULL;
        good = good && follow_address(f, f->mentions + i, next - i, end);
    }
    for (; at < f->end_count && good; at++)
        good = add_untouched(f, f->ends[at]);
    if (f->start->block_count)
        qsort(f->start->blocks, f->start->block_count, sizeof *f->start->blocks, by_start_address);
    f->start->older = f->start->block_count;
    return good;
}

/* Segments */

/* The mentions from an address on. */
static size_t mentions_from(const finder *f, uint64_t address) {
    size_t low = 0, high = f->mention_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->mentions[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether blocks in these bytes were small ones; -1: none was. */
static int was_small(const finder *f, const torch_entry *e) {
    for (size_t i = mentions_from(f, e->address); i < f->mention_count; i++) {
        if (f->mentions[i].address - e->address >= e->nbytes) break;
        uint64_t nbytes = f->device->entries[f->mentions[i].entry].nbytes;
        return tla_segment_cache_round_with(nbytes, &f->snapshot->settings) <= LARGEST_SLACK;
    }
    return -1;
}

/* Memory is in one segment only. */
static void check_apart(finder *f) {
    const torch_run *runs = f->runs.runs;
    for (size_t i = 1; i < f->runs.count; i++)
        if (runs[i].address - runs[i - 1].address < runs[i - 1].nbytes)
            contradict(f, "the segments list the memory at 0x%" PRIx64 " twice", runs[i].address);
}

static bool undo_segments(finder *f) {
    bool pools = f->snapshot->pool_count > 2, good = true;
    if (!f->snapshot->has_segments) return true;
    if (!torch_runs_begin(&f->runs, f->device, &f->snapshot->settings, f->start->device_bytes)) return false;
    check_apart(f);
    for (size_t i = f->device->entry_count; i > 0 && good; i--) {
        torch_entry *e = &f->device->entries[i - 1];
        if (e->action == TORCH_ALLOC && pools && !e->has_pool) {
            const torch_run *run = torch_runs_find(&f->runs, e->address);
            e->pool = run ? run->pool : 0;
        }
        int is_small = e->action == TORCH_SEGMENT_UNMAP ? was_small(f, e) : -1;
        const char *why = torch_runs_undo(&f->runs, e, is_small, &good);
        if (why)
            contradict(f, "entry %zu (%s of %" PRIu64 " bytes at 0x%" PRIx64 "): %s", i - 1,
                       torch_action_name(e->action), e->nbytes, e->address, why);
    }
    return good;
}

/* Sizes of the blocks that were freed in the trace */

/* Where the block ends if something was allocated behind it while it lived: not more than the slack that a block can
 * have behind its rounded end. 0: nothing was. */
static uint64_t end_by_neighbour(const finder *f, const torch_start_block *block, uint64_t rounded_end) {
    size_t freed = f->device->entry_count;
    for (size_t i = mentions_from(f, block->address); i < f->mention_count && f->mentions[i].address == block->address;
         i++)
        if (f->device->entries[f->mentions[i].entry].action == TORCH_FREE_COMPLETED) {
            freed = f->mentions[i].entry;
            break;
        }
    size_t first = freed;
    uint64_t end = 0;
    for (size_t i = mentions_from(f, rounded_end); i < f->mention_count; i++) {
        const mention *m = &f->mentions[i];
        if (m->address - rounded_end > LARGEST_SLACK) break;
        if (m->entry >= first || f->device->entries[m->entry].action != TORCH_ALLOC) continue;
        first = m->entry;
        end = m->address;
    }
    return end;
}

/* `limit` is where the next block that lives, or the segment, begins or ends. */
static uint64_t size_of(finder *f, const torch_start_segment *segment, const torch_start_block *block, uint64_t limit) {
    const tla_segment_cache_config *c = &f->snapshot->settings;
    uint64_t rounded = tla_segment_cache_round_with(block->requested, c), room = limit - block->address;
    if (segment->small || segment->expandable || rounded >= room) return rounded;
    if (room - rounded <= LARGEST_SLACK) return room;
    if (c->max_split_size && !c->expandable && rounded >= c->max_split_size) return room; /* is never split */
    uint64_t end = end_by_neighbour(f, block, block->address + rounded);
    f->start->uncertain += end == 0;
    return end ? end - block->address : rounded;
}

static void place_blocks(finder *f) {
    torch_start *start = f->start;
    size_t at = 0;
    for (size_t i = 0; i < start->segment_count; i++) {
        torch_start_segment *s = &start->segments[i];
        uint64_t end = s->address + s->nbytes;
        for (; at < start->block_count && start->blocks[at].address < s->address; at++)
            contradict(f, "the block at 0x%" PRIx64 " existed before the trace, outside all segments",
                       start->blocks[at].address);
        s->first_block = at;
        for (; at < start->block_count && start->blocks[at].address < end; at++) {
            torch_start_block *b = &start->blocks[at];
            bool last = at + 1 == start->block_count || start->blocks[at + 1].address >= end;
            uint64_t limit = last ? end : start->blocks[at + 1].address;
            if (b->guessed) b->nbytes = size_of(f, s, b, limit);
            if (b->nbytes > limit - b->address)
                contradict(f,
                           "the block of %" PRIu64 " bytes at 0x%" PRIx64
                           " existed before the trace and passes 0x%" PRIx64 ", its limit",
                           b->nbytes, b->address, limit);
        }
        s->block_count = at - s->first_block;
    }
    for (; at < start->block_count; at++)
        contradict(f, "the block at 0x%" PRIx64 " existed before the trace, outside all segments",
                   start->blocks[at].address);
}

/* The runs that are left, and their ranges numbered. */
static bool keep_segments(finder *f) {
    torch_start *start = f->start;
    size_t *numbers = malloc((f->runs.range_count + 1) * sizeof *numbers);
    start->segments = malloc((f->runs.count + 1) * sizeof *start->segments);
    start->range_bases = malloc((f->runs.range_count + 1) * sizeof *start->range_bases);
    if (!numbers || !start->segments || !start->range_bases) {
        free(numbers);
        return false;
    }
    for (size_t i = 0; i < f->runs.range_count; i++)
        numbers[i] = SIZE_MAX;
    for (size_t i = 0; i < f->runs.count; i++) {
        const torch_run *run = &f->runs.runs[i];
        torch_start_segment s = {run->address,    run->nbytes, run->stream, run->pool, run->small,
                                 run->expandable, 0,           0,           0};
        if (run->expandable && numbers[run->range] == SIZE_MAX) {
            numbers[run->range] = start->range_count;
            start->range_bases[start->range_count++] = f->runs.ranges[run->range].base;
        }
        if (run->expandable) s.range = numbers[run->range];
        start->segments[start->segment_count++] = s;
    }
    free(numbers);
    return true;
}

/* Finds released segments: of the recorded pools, or in the common pools, until a replay shows another pool. */
static bool find_lots(finder *f) {
    const torch_device *d = f->device;
    size_t count = 0, room = 0;
    mention *events = malloc((d->entry_count + 1) * sizeof *events);
    bool good = events != NULL;
    for (size_t i = 0; i < d->entry_count && good; i++)
        if (d->entries[i].action == TORCH_SEGMENT_ALLOC || d->entries[i].action == TORCH_SEGMENT_FREE)
            events[count++] = (mention){d->entries[i].address, i};
    if (count) qsort(events, count, sizeof *events, by_address);
    for (size_t i = 0; i < count && good; i++) {
        const torch_entry *e = &d->entries[events[i].entry];
        const mention *before = i > 0 && events[i - 1].address == e->address ? &events[i - 1] : NULL;
        if (e->action != TORCH_SEGMENT_FREE) continue;
        torch_lot lot = {.address = e->address, .nbytes = e->nbytes, .to = events[i].entry, .older = !before};
        if (before) lot.from = before->entry;
        lot.known = e->has_pool;
        lot.pool = e->pool;
        good = tla_grow(&f->start->lots, &room, f->start->lot_count + 1, sizeof lot);
        if (good) f->start->lots[f->start->lot_count++] = lot;
    }
    free(events);
    return good;
}

tla_status torch_start_find(torch_snapshot *snapshot, size_t device, torch_start *start, tla_error *error) {
    *start = (torch_start){.contradictions = snapshot->devices[device].contradictions};
    memcpy(start->contradiction, snapshot->devices[device].contradiction, sizeof start->contradiction);
    finder f = {.snapshot = snapshot, .device = &snapshot->devices[device], .start = start};
    bool good = collect(&f) && find_blocks(&f);
    if (good) {
        torch_sizes_find(snapshot, device, start);
        good = undo_segments(&f) && keep_segments(&f) && find_lots(&f);
    }
    if (good && snapshot->has_segments) place_blocks(&f);
    torch_runs_clear(&f.runs);
    free(f.mentions);
    free(f.ends);
    if (good) return TLA_OK;
    torch_start_clear(start);
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", snapshot->name);
}

void torch_start_clear(torch_start *start) {
    free(start->segments);
    free(start->blocks);
    free(start->range_bases);
    free(start->lots);
    *start = (torch_start){0};
}
