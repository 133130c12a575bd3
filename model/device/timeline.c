/* When a shared resource may serve the next request: free for good, and the last few gaps before that. */
#include "tlmalloc/timeline.h"

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t add_saturated(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Place in the ring of the gap that is `index` after the oldest. */
static uint32_t place(const tla_timeline *t, uint32_t index) {
    return (t->first_gap + index) % TLA_TIMELINE_GAPS;
}

static void remove_gap(tla_timeline *t, uint32_t index) {
    t->gap_count--;
    if (index == 0) t->first_gap = place(t, 1);
    for (; index > 0 && index < t->gap_count; index++)
        t->gaps[place(t, index)] = t->gaps[place(t, index + 1)];
}

/* Puts a gap before the one at `index`; when there is no room the oldest goes, be it this one. */
static void insert_gap(tla_timeline *t, uint32_t index, uint64_t start, uint64_t end) {
    if (t->gap_count == TLA_TIMELINE_GAPS) {
        if (index == 0) return;
        remove_gap(t, 0);
        index--;
    }
    for (uint32_t i = t->gap_count++; i > index; i--)
        t->gaps[place(t, i)] = t->gaps[place(t, i - 1)];
    t->gaps[place(t, index)].start = start;
    t->gaps[place(t, index)].end = end;
}

/* Takes [start, start + duration) out of a gap that contains it. */
static void take_from_gap(tla_timeline *t, uint32_t index, uint64_t start, uint64_t duration) {
    const uint32_t at = place(t, index);
    const uint64_t gap_start = t->gaps[at].start, gap_end = t->gaps[at].end;
    if (start + duration == gap_end)
        remove_gap(t, index);
    else
        t->gaps[at].start = start + duration;
    if (gap_start < start) insert_gap(t, index, gap_start, start);
}

uint64_t tla_timeline_reserve(tla_timeline *t, uint64_t earliest, uint64_t duration) {
    if (earliest < t->free_at) {
        for (uint32_t i = 0; i < t->gap_count; i++) {
            const uint32_t at = place(t, i);
            uint64_t start = later(t->gaps[at].start, earliest);
            if (start >= t->gaps[at].end || t->gaps[at].end - start < duration) continue;
            if (duration > 0) take_from_gap(t, i, start, duration);
            return start;
        }
    }
    uint64_t start = later(t->free_at, earliest);
    if (duration > 0) {
        if (start > t->free_at) insert_gap(t, t->gap_count, t->free_at, start);
        t->free_at = add_saturated(start, duration);
    }
    return start;
}
