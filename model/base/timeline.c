/* When a shared resource may serve the next request: free for good, and the gaps before that, in groups which are
 * skipped as a whole where none of their gaps is long enough. */
#include "tlmalloc/timing/timeline.h"

#include "saturate.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP_GAPS = 32, FIRST_GROUPS = 4, FORGET_LEAST = 64 };

static const uint64_t nowhere = UINT64_MAX;

static uint64_t later(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

void tla_timeline_destroy(tla_timeline *t) {
    for (size_t i = 0; i < t->group_count; i++)
        free(t->groups[i].gaps);
    free(t->groups);
    tla_order_log_destroy(&t->log);
    *t = (tla_timeline){0};
}

/* ---- the list of gaps ---- */

static void note_end(tla_timeline *t) {
    t->gaps_end = t->group_count ? t->groups[t->group_count - 1].end : 0;
}

/* Puts a group without gaps at `index`; NULL without host memory. */
static tla_gap_group *insert_group(tla_timeline *t, size_t index) {
    if (t->group_count == t->group_room) {
        const size_t room = t->group_room ? 2 * t->group_room : FIRST_GROUPS;
        tla_gap_group *groups = realloc(t->groups, room * sizeof *groups);
        if (!groups) return NULL;
        t->groups = groups;
        t->group_room = room;
    }
    tla_idle_gap *gaps = malloc(GROUP_GAPS * sizeof *gaps);
    if (!gaps) return NULL;
    tla_gap_group *group = &t->groups[index];
    memmove(group + 1, group, (t->group_count - index) * sizeof *group);
    t->group_count++;
    *group = (tla_gap_group){.gaps = gaps};
    return group;
}

static void remove_groups(tla_timeline *t, size_t index, size_t count) {
    for (size_t i = index; i < index + count; i++) {
        t->gap_count -= t->groups[i].count;
        free(t->groups[i].gaps);
    }
    t->group_count -= count;
    memmove(&t->groups[index], &t->groups[index + count], (t->group_count - index) * sizeof t->groups[0]);
}

static void remove_gaps(tla_timeline *t, size_t index, uint32_t slot, uint32_t count) {
    tla_gap_group *group = &t->groups[index];
    if (count == group->count) {
        remove_groups(t, index, 1);
        return;
    }
    t->gap_count -= count;
    group->count -= count;
    memmove(&group->gaps[slot], &group->gaps[slot + count], (group->count - slot) * sizeof group->gaps[0]);
    group->end = group->gaps[group->count - 1].end;
}

/* Moves the upper half of a full group into one of its own behind it; false without host memory. */
static bool split_group(tla_timeline *t, size_t index) {
    tla_gap_group *upper = insert_group(t, index + 1);
    if (!upper) return false;
    tla_gap_group *lower = &t->groups[index];
    lower->count = GROUP_GAPS / 2;
    upper->count = GROUP_GAPS - lower->count;
    memcpy(upper->gaps, &lower->gaps[lower->count], upper->count * sizeof upper->gaps[0]);
    upper->end = lower->end;
    upper->longest = lower->longest;
    lower->end = lower->gaps[lower->count - 1].end;
    return true;
}

/* Puts a gap before the one at `slot`, which exists; without host memory the new gap is lost. */
static void insert_gap(tla_timeline *t, size_t index, uint32_t slot, tla_idle_gap gap) {
    if (t->groups[index].count == GROUP_GAPS) {
        if (!split_group(t, index)) return;
        if (slot >= t->groups[index].count) {
            slot -= t->groups[index].count;
            index++;
        }
    }
    tla_gap_group *group = &t->groups[index];
    memmove(&group->gaps[slot + 1], &group->gaps[slot], (group->count - slot) * sizeof gap);
    group->gaps[slot] = gap;
    group->count++;
    t->gap_count++;
}

/* Adds a gap behind all others; without host memory it is lost. */
static void append_gap(tla_timeline *t, tla_idle_gap gap) {
    tla_gap_group *group = t->group_count ? &t->groups[t->group_count - 1] : NULL;
    if ((!group || group->count == GROUP_GAPS) && !(group = insert_group(t, t->group_count))) return;
    group->gaps[group->count++] = gap;
    group->end = gap.end;
    group->longest = later(group->longest, gap.end - gap.start);
    t->gaps_end = gap.end;
    t->gap_count++;
}

/* The first group that ends after `time`, which the last one does. Most requests arrive near the end. */
static size_t group_behind(const tla_timeline *t, uint64_t time) {
    size_t low = 0, high = t->group_count - 1;
    if (high == 0 || t->groups[high - 1].end <= time) return high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (t->groups[middle].end > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- serving ---- */

/* Takes [start, start + duration) out of a gap that contains it. */
static void take_from_gap(tla_timeline *t, size_t index, uint32_t slot, uint64_t start, uint64_t duration) {
    tla_gap_group *group = &t->groups[index];
    tla_idle_gap *gap = &group->gaps[slot];
    const tla_idle_gap front = {gap->start, start};
    const bool to_the_end = start + duration == gap->end;
    if (to_the_end && front.start < front.end) {
        gap->end = start;
        group->end = group->gaps[group->count - 1].end;
    } else if (to_the_end) {
        remove_gaps(t, index, slot, 1);
    } else {
        gap->start = start + duration;
        if (front.start < front.end) insert_gap(t, index, slot, front);
    }
    note_end(t);
}

/* The first gap that has room, taken; `nowhere` when there is none. */
static uint64_t reserve_gap(tla_timeline *t, uint64_t earliest, uint64_t duration) {
    for (size_t i = group_behind(t, earliest); i < t->group_count; i++) {
        tla_gap_group *group = &t->groups[i];
        if (group->longest < duration) continue;
        uint64_t longest = 0;
        for (uint32_t slot = 0; slot < group->count; slot++) {
            const tla_idle_gap gap = group->gaps[slot];
            longest = later(longest, gap.end - gap.start);
            const uint64_t start = later(gap.start, earliest);
            if (start >= gap.end || gap.end - start < duration) continue;
            if (duration > 0) take_from_gap(t, i, slot, start, duration);
            return start;
        }
        group->longest = longest;
    }
    return nowhere;
}

uint64_t tla_timeline_reserve(tla_timeline *t, uint64_t earliest, uint64_t duration) {
    uint64_t start = earliest < t->gaps_end ? reserve_gap(t, earliest, duration) : nowhere;
    if (start == nowhere) {
        start = later(t->free_at, earliest);
        if (duration == 0) return start;
        if (start > t->free_at) append_gap(t, (tla_idle_gap){t->free_at, start});
        t->free_at = add_saturated(start, duration);
    }
    if (duration > 0) tla_order_book(&t->log, (tla_booking){earliest, start, duration});
    return start;
}

uint64_t tla_timeline_serve(tla_timeline *t, uint64_t arrival, uint64_t duration) {
    const uint64_t start = later(t->free_at, arrival);
    if (duration == 0) return start;
    t->free_at = add_saturated(start, duration);
    tla_order_check(&t->log, arrival, start);
    return start;
}

/* ---- forgetting ---- */

void tla_timeline_forget_now(tla_timeline *t, uint64_t before_ps) {
    size_t over = 0;
    while (over < t->group_count && t->groups[over].end <= before_ps)
        over++;
    if (over > 0) remove_groups(t, 0, over);
    if (t->group_count > 0) {
        uint32_t slots = 0;
        while (t->groups[0].gaps[slots].end <= before_ps)
            slots++;
        if (slots > 0) remove_gaps(t, 0, 0, slots);
    }
    note_end(t);
    tla_order_settle(&t->log, before_ps);
    t->forget_at = 2 * (t->gap_count + t->log.count);
    if (t->forget_at < FORGET_LEAST) t->forget_at = FORGET_LEAST;
}

tla_order tla_timeline_order(const tla_timeline *t) {
    return tla_order_so_far(&t->log);
}

size_t tla_timeline_host_bytes(const tla_timeline *t) {
    return t->group_room * sizeof t->groups[0] + t->group_count * GROUP_GAPS * sizeof(tla_idle_gap) +
           t->log.room * sizeof t->log.bookings[0];
}
