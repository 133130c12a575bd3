/* Bookings of a resource, replayed in the order of their arrival once nothing can come before them. */
#include "tlmalloc/timing/order.h"

#include "saturate.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

static void displace(tla_order *order, uint64_t ps) {
    order->displaced_ps = add_saturated(order->displaced_ps, ps);
    if (ps > order->worst_ps) order->worst_ps = ps;
}

void tla_order_add(tla_order *sum, const tla_order *other) {
    sum->late += other->late;
    sum->displaced_ps = add_saturated(sum->displaced_ps, other->displaced_ps);
    if (other->worst_ps > sum->worst_ps) sum->worst_ps = other->worst_ps;
}

void tla_order_log_destroy(tla_order_log *log) {
    free(log->bookings);
    *log = (tla_order_log){0};
}

/* Serves bookings, which are in order of arrival, one after the other from *free_ps on. */
static void replay(const tla_booking *bookings, size_t count, uint64_t *free_ps, tla_order *order) {
    for (size_t i = 0; i < count; i++) {
        const tla_booking *b = &bookings[i];
        const uint64_t start = b->arrival_ps > *free_ps ? b->arrival_ps : *free_ps;
        if (start != b->start_ps) displace(order, start > b->start_ps ? start - b->start_ps : b->start_ps - start);
        *free_ps = add_saturated(start, b->duration_ps);
    }
}

/* The end of the ascending run that begins at `begin`. */
static size_t run_end(const tla_booking *b, size_t begin, size_t count) {
    size_t end = begin + 1;
    while (end < count && b[end - 1].arrival_ps <= b[end].arrival_ps)
        end++;
    return end;
}

/* Merges neighbouring runs of `from` into `to`; false when there was only one. */
static bool merge_runs(const tla_booking *from, tla_booking *to, size_t count) {
    for (size_t begin = 0, out = 0; begin < count;) {
        const size_t middle = run_end(from, begin, count);
        if (begin == 0 && middle == count) return false;
        const size_t end = middle < count ? run_end(from, middle, count) : middle;
        size_t a = begin, b = middle;
        while (a < middle && b < end)
            to[out++] = from[from[a].arrival_ps <= from[b].arrival_ps ? a++ : b++];
        while (a < middle)
            to[out++] = from[a++];
        while (b < end)
            to[out++] = from[b++];
        begin = end;
    }
    return true;
}

/* Sorts by arrival with the runs that the calls made, stable: each initiator's calls are in order, so runs are long and
 * few. false without host memory; nothing has changed then. */
static bool sort_by_arrival(tla_booking *bookings, size_t count) {
    tla_booking *const scratch = malloc(count * sizeof *scratch);
    if (!scratch) return false;
    tla_booking *from = bookings, *to = scratch;
    while (merge_runs(from, to, count)) {
        tla_booking *const merged = to;
        to = from;
        from = merged;
    }
    if (from != bookings) memcpy(bookings, from, count * sizeof *bookings);
    free(scratch);
    return true;
}

static size_t arriving_before(const tla_order_log *log, uint64_t before_ps) {
    size_t low = 0, high = log->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (log->bookings[middle].arrival_ps < before_ps)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void settle_first(tla_order_log *log, size_t count) {
    if (count == 0) return;
    replay(log->bookings, count, &log->free_ps, &log->settled);
    log->count -= count;
    memmove(log->bookings, log->bookings + count, log->count * sizeof *log->bookings);
}

/* Without memory to sort or to keep them, bookings are settled in the order of the calls where that is all there is. */
static void settle_all(tla_order_log *log) {
    if (log->unsorted) sort_by_arrival(log->bookings, log->count);
    settle_first(log, log->count);
    log->unsorted = false;
}

void tla_order_settle(tla_order_log *log, uint64_t before_ps) {
    if (log->count == 0) return;
    if (log->unsorted && !sort_by_arrival(log->bookings, log->count)) {
        settle_all(log);
        return;
    }
    log->unsorted = false;
    settle_first(log, arriving_before(log, before_ps));
}

static bool make_room(tla_order_log *log) {
    const size_t room = log->room ? 2 * log->room : FIRST_ROOM;
    tla_booking *bookings = realloc(log->bookings, room * sizeof *bookings);
    if (!bookings) return false;
    log->bookings = bookings;
    log->room = room;
    return true;
}

void tla_order_book(tla_order_log *log, tla_booking booking) {
    const bool late = booking.arrival_ps < log->latest_ps;
    if (late)
        log->settled.late++;
    else
        log->latest_ps = booking.arrival_ps;
    if (log->count == log->room && !make_room(log)) {
        settle_all(log);
        if (log->room == 0) {
            replay(&booking, 1, &log->free_ps, &log->settled);
            return;
        }
    }
    if (late && log->count > 0) log->unsorted = true;
    log->bookings[log->count++] = booking;
}

void tla_order_check(tla_order_log *log, uint64_t arrival_ps, uint64_t start_ps) {
    if (arrival_ps >= log->latest_ps) {
        log->latest_ps = arrival_ps;
        return;
    }
    log->settled.late++;
    displace(&log->settled, start_ps - arrival_ps);
}

tla_order tla_order_so_far(const tla_order_log *log) {
    tla_order order = log->settled;
    uint64_t free_ps = log->free_ps;
    if (!log->unsorted) {
        replay(log->bookings, log->count, &free_ps, &order);
        return order;
    }
    tla_booking *const sorted = malloc(log->count * sizeof *sorted);
    if (!sorted) return order;
    memcpy(sorted, log->bookings, log->count * sizeof *sorted);
    if (sort_by_arrival(sorted, log->count)) replay(sorted, log->count, &free_ps, &order);
    free(sorted);
    return order;
}
