/* Events in the order of time: a calendar of short intervals ahead, a heap for the interval that is being worked off,
 * and another for what lies beyond the calendar.
 *
 * After R. Brown, "Calendar queues" (CACM 31(10), 1988): most events are posted a short time ahead, so that the cost of
 * an insertion into an interval does not depend on the number of events. The length of an interval follows the number
 * of its events. The order of the events does not depend on it. */
#include "tlmalloc/base/event_queue.h"
#include "grow.h"

#include <stdlib.h>

enum { DAYS = 16384, WORDS = DAYS / 64, FIRST_SHIFT = 8, SHIFT_MAX = 40 };
static const uint32_t NONE = UINT32_MAX;
enum { CROWDED = 4, SPARSE = 2, REVIEW = 4096 }; /* events of a day that are too many and too few; days between looks */

typedef struct entry {
    uint64_t at_ps;
    uint64_t place; /* resource and port in one number */
    uint64_t sequence;
    tla_event_action action;
    void *context;
} entry;

typedef struct heap {
    entry *entries;
    size_t count, room;
} heap;

/* Resources whose events may be left behind. */
typedef struct island {
    heap events;      /* while it is left */
    uint64_t waiting; /* events of its resources in the queue */
    bool left;
} island;

/* An entry in the calendar, or a free place. */
typedef struct node {
    entry event;
    uint32_t next;
} node;

struct tla_event_queue {
    heap today;   /* all of the current day and of those before */
    heap faraway; /* all that is DAYS or more after it */
    uint64_t day; /* number of the current one: time >> shift */
    unsigned shift;
    uint32_t days[DAYS];   /* first node of each; day % DAYS */
    uint64_t taken[WORDS]; /* a bit for each that is not empty */
    node *nodes;
    uint32_t free_node;
    size_t count, room; /* events, but for those of islands that are left; for so many there are places everywhere */
    uint64_t posted;
    uint64_t days_seen, events_seen; /* since the last look at the length of a day */
    island *islands;                 /* number 0 is none */
    uint32_t island_count;
    uint32_t *island_of; /* of each resource */
    uint32_t resource_count;
};

static inline bool before(const entry *a, const entry *b) {
    if (a->at_ps != b->at_ps) return a->at_ps < b->at_ps;
    if (a->place != b->place) return a->place < b->place;
    return a->sequence < b->sequence;
}

/* ---- heaps ---- */

static tla_status heap_reserve(heap *h, size_t count) {
    return tla_grow(&h->entries, &h->room, count, sizeof *h->entries) ? TLA_OK : TLA_NO_HOST_MEMORY;
}

/* There is room. */
static void heap_push(heap *h, const entry *added) {
    const entry e = *added;
    size_t i = h->count++;
    for (; i > 0 && before(&e, &h->entries[(i - 1) / 2]); i = (i - 1) / 2)
        h->entries[i] = h->entries[(i - 1) / 2];
    h->entries[i] = e;
}

static entry heap_pop(heap *h) {
    entry *const e = h->entries;
    const entry top = e[0], last = e[--h->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < h->count; i = child) {
        if (child + 1 < h->count && before(&e[child + 1], &e[child])) child++;
        if (!before(&e[child], &last)) break;
        e[i] = e[child];
    }
    e[i] = last;
    return top;
}

/* ---- the calendar ---- */

/* Puts a node that has its event into the calendar. */
static void enter_node(tla_event_queue *q, uint32_t n) {
    const uint32_t slot = (q->nodes[n].event.at_ps >> q->shift) % DAYS;
    q->nodes[n].next = q->days[slot];
    q->days[slot] = n;
    q->taken[slot / 64] |= UINT64_C(1) << slot % 64;
}

static void enter(tla_event_queue *q, const entry *e) {
    const uint32_t n = q->free_node;
    q->free_node = q->nodes[n].next;
    q->nodes[n].event = *e;
    enter_node(q, n);
}

/* Where an event belongs; there is room. */
static void place_event(tla_event_queue *q, const entry *e) {
    const uint64_t day = e->at_ps >> q->shift;
    if (day <= q->day)
        heap_push(&q->today, e);
    else if (day - q->day < DAYS)
        enter(q, e);
    else
        heap_push(&q->faraway, e);
}

/* Returns the first day that is not empty; such a day exists. */
static uint64_t next_day(const tla_event_queue *q) {
    const uint32_t today = q->day % DAYS;
    for (uint32_t step = 0;; step++) {
        const uint32_t word = (today / 64 + step) % WORDS;
        uint64_t bits = q->taken[word];
        if (step == 0) bits &= UINT64_MAX << today % 64; /* the bit of today itself is never set */
        if (step == WORDS) bits &= ~(UINT64_MAX << today % 64);
        if (bits) return q->day + (word * 64 + (uint32_t)__builtin_ctzll(bits) - today) % DAYS;
    }
}

/* Takes the events of the current day out of the calendar. */
static void begin_day(tla_event_queue *q) {
    const uint32_t slot = q->day % DAYS;
    for (uint32_t n = q->days[slot], next; n != NONE; n = next) {
        next = q->nodes[n].next;
        __builtin_prefetch(q->nodes[n].event.context); /* on its way while those before it are acted on */
        heap_push(&q->today, &q->nodes[n].event);
        q->nodes[n].next = q->free_node;
        q->free_node = n;
        q->events_seen++;
    }
    q->days[slot] = NONE;
    q->taken[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    q->days_seen++;
}

/* Makes days longer or shorter when they hold too few or too many events: it enters everything again. */
static void review(tla_event_queue *q) {
    const uint64_t seen = q->events_seen, days = q->days_seen;
    if (days < REVIEW && seen < (uint64_t)REVIEW * CROWDED) return;
    unsigned shift = q->shift;
    if (seen > days * CROWDED && shift > 0) shift--;
    if (seen < days * SPARSE && shift < SHIFT_MAX) shift++;
    q->days_seen = q->events_seen = 0;
    if (shift == q->shift) return;
    uint32_t all = NONE;
    for (uint32_t slot = 0; slot < DAYS; slot++) {
        for (uint32_t n = q->days[slot], next; n != NONE; n = next) {
            next = q->nodes[n].next;
            q->nodes[n].next = all;
            all = n;
        }
        q->days[slot] = NONE;
    }
    for (uint32_t word = 0; word < WORDS; word++)
        q->taken[word] = 0;
    q->day = (q->day << q->shift) >> shift;
    q->shift = shift;
    for (uint32_t n = all, next; n != NONE; n = next) {
        next = q->nodes[n].next;
        const uint64_t day = q->nodes[n].event.at_ps >> shift;
        if (day > q->day && day - q->day < DAYS) {
            enter_node(q, n);
            continue;
        }
        heap_push(day <= q->day ? &q->today : &q->faraway, &q->nodes[n].event);
        q->nodes[n].next = q->free_node;
        q->free_node = n;
    }
}

/* Moves events that are now within reach into the calendar. */
static void approach(tla_event_queue *q) {
    while (q->faraway.count > 0 && (q->faraway.entries[0].at_ps >> q->shift) < q->day + DAYS) {
        const entry e = heap_pop(&q->faraway);
        place_event(q, &e);
    }
}

/* Advances to the next day with an event; such a day exists. */
static void settle(tla_event_queue *q) {
    while (q->today.count == 0) {
        review(q);
        if (q->today.count > 0) return;
        const uint64_t near = q->count > q->faraway.count ? next_day(q) : UINT64_MAX;
        const uint64_t far = q->faraway.count ? q->faraway.entries[0].at_ps >> q->shift : UINT64_MAX;
        q->day = near < far ? near : far;
        begin_day(q);
        while (q->faraway.count > 0 && q->faraway.entries[0].at_ps >> q->shift <= q->day) {
            const entry e = heap_pop(&q->faraway);
            heap_push(&q->today, &e);
        }
        approach(q);
    }
}

/* ---- the queue ---- */

tla_status tla_event_queue_create(tla_event_queue **queue) {
    tla_event_queue *q = *queue = calloc(1, sizeof *q);
    if (!q) return TLA_NO_HOST_MEMORY;
    q->shift = FIRST_SHIFT;
    q->free_node = NONE;
    for (uint32_t slot = 0; slot < DAYS; slot++)
        q->days[slot] = NONE;
    return TLA_OK;
}

void tla_event_queue_destroy(tla_event_queue *queue) {
    if (!queue) return;
    for (uint32_t i = 0; i < queue->island_count; i++)
        free(queue->islands[i].events.entries);
    free(queue->islands);
    free(queue->island_of);
    free(queue->today.entries);
    free(queue->faraway.entries);
    free(queue->nodes);
    free(queue);
}

static entry entry_of(tla_event_queue *queue, const tla_event *event) {
    return (entry){event->at_ps, (uint64_t)event->resource << 32 | event->port, queue->posted++, event->action,
                   event->context};
}

static tla_event event_of(const entry *e) {
    return (tla_event){e->at_ps, (uint32_t)(e->place >> 32), (uint32_t)e->place, e->action, e->context};
}

/* Makes room for one more event, at any place. */
static tla_status reserve(tla_event_queue *queue) {
    if (queue->count < queue->room) return TLA_OK;
    const size_t room = queue->room ? 2 * queue->room : 256;
    if (room > NONE || heap_reserve(&queue->today, room) || heap_reserve(&queue->faraway, room))
        return TLA_NO_HOST_MEMORY;
    node *const nodes = realloc(queue->nodes, room * sizeof *nodes);
    if (!nodes) return TLA_NO_HOST_MEMORY;
    queue->nodes = nodes;
    for (uint32_t i = (uint32_t)queue->room; i < room; i++) {
        nodes[i].next = queue->free_node;
        queue->free_node = i;
    }
    queue->room = room;
    return TLA_OK;
}

tla_status tla_event_queue_post(tla_event_queue *queue, const tla_event *event) {
    const uint32_t number = tla_event_queue_island_of(queue, event->resource);
    island *const home = number ? &queue->islands[number] : NULL;
    if (home && home->left) {
        if (heap_reserve(&home->events, home->events.count + 1)) return TLA_NO_HOST_MEMORY;
        const entry e = entry_of(queue, event);
        heap_push(&home->events, &e);
        return TLA_OK;
    }
    if (reserve(queue)) return TLA_NO_HOST_MEMORY;
    const entry e = entry_of(queue, event);
    place_event(queue, &e);
    queue->count++;
    if (home) home->waiting++;
    return TLA_OK;
}

uint64_t tla_event_queue_next_ps(tla_event_queue *queue) {
    if (queue->count == 0) return UINT64_MAX;
    if (queue->today.count == 0) settle(queue);
    return queue->today.entries[0].at_ps;
}

bool tla_event_queue_would_be_next(tla_event_queue *queue, uint64_t at_ps, uint32_t resource) {
    return tla_event_queue_next_ps(queue) > at_ps &&
           !tla_event_queue_is_left(queue, tla_event_queue_island_of(queue, resource));
}

bool tla_event_queue_take(tla_event_queue *queue, tla_event *event) {
    if (queue->count == 0) return false;
    if (queue->today.count == 0) settle(queue);
    const entry e = heap_pop(&queue->today);
    queue->count--;
    *event = event_of(&e);
    const uint32_t home = tla_event_queue_island_of(queue, event->resource);
    if (home) queue->islands[home].waiting--;
    return true;
}

size_t tla_event_queue_count(const tla_event_queue *queue) {
    size_t count = queue->count;
    for (uint32_t i = 1; i < queue->island_count; i++)
        count += queue->islands[i].events.count;
    return count;
}

/* ---- islands ---- */

tla_status tla_event_queue_add_island(tla_event_queue *queue, uint32_t *number) {
    const uint32_t count = queue->island_count ? queue->island_count + 1 : 2;
    island *const islands = realloc(queue->islands, count * sizeof *islands);
    if (!islands) return TLA_NO_HOST_MEMORY;
    for (uint32_t i = queue->island_count; i < count; i++)
        islands[i] = (island){0};
    queue->islands = islands;
    queue->island_count = count;
    *number = count - 1;
    return TLA_OK;
}

tla_status tla_event_queue_put_on_island(tla_event_queue *queue, uint32_t resource, uint32_t number) {
    if (resource >= queue->resource_count) {
        const uint32_t count = resource < UINT32_MAX / 2 ? 2 * resource + 2 : UINT32_MAX;
        uint32_t *const islands = realloc(queue->island_of, count * sizeof *islands);
        if (!islands) return TLA_NO_HOST_MEMORY;
        for (uint32_t i = queue->resource_count; i < count; i++)
            islands[i] = 0;
        queue->island_of = islands;
        queue->resource_count = count;
    }
    queue->island_of[resource] = number;
    return TLA_OK;
}

uint32_t tla_event_queue_island_of(const tla_event_queue *queue, uint32_t resource) {
    return resource < queue->resource_count ? queue->island_of[resource] : 0;
}

bool tla_event_queue_is_left(const tla_event_queue *queue, uint32_t number) {
    return number && queue->islands[number].left;
}

bool tla_event_queue_leave(tla_event_queue *queue, uint32_t number) {
    island *const left = &queue->islands[number];
    if (left->left || left->waiting > 0) return false;
    return left->left = true;
}

bool tla_event_queue_take_left(tla_event_queue *queue, uint32_t number, const tla_event *before_this,
                               tla_event *event) {
    island *const left = &queue->islands[number];
    const entry limit = {before_this->at_ps, (uint64_t)before_this->resource << 32 | before_this->port, 0, NULL, NULL};
    if (left->events.count == 0 || !before(&left->events.entries[0], &limit)) return false;
    const entry e = heap_pop(&left->events);
    *event = event_of(&e);
    return true;
}

tla_status tla_event_queue_join(tla_event_queue *queue, uint32_t number) {
    island *const left = &queue->islands[number];
    while (left->events.count > 0) {
        if (reserve(queue)) return TLA_NO_HOST_MEMORY;
        const entry e = heap_pop(&left->events);
        place_event(queue, &e);
        queue->count++;
        left->waiting++;
    }
    left->left = false;
    return TLA_OK;
}
