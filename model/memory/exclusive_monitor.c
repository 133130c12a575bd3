/* Reservations of exclusive accesses: a short array, one entry for each initiator that has one. */
#include "exclusive_monitor.h"

#include <stdlib.h>

void tla_exclusive_monitor_clear(tla_exclusive_monitor *monitor) {
    free(monitor->reservations);
    *monitor = (tla_exclusive_monitor){0};
}

static void drop(tla_exclusive_monitor *monitor, size_t index) {
    monitor->reservations[index] = monitor->reservations[--monitor->count];
}

void tla_exclusive_monitor_release(tla_exclusive_monitor *monitor, uint64_t who) {
    for (size_t i = 0; i < monitor->count; i++)
        if (monitor->reservations[i].who == who) {
            drop(monitor, i);
            return;
        }
}

tla_status tla_exclusive_monitor_reserve(tla_exclusive_monitor *monitor, uint64_t who, uint64_t first, uint64_t last) {
    tla_exclusive_monitor_release(monitor, who);
    if (monitor->count == monitor->room) {
        const size_t room = monitor->room ? 2 * monitor->room : 8;
        tla_reservation *more = realloc(monitor->reservations, room * sizeof *more);
        if (!more) return TLA_NO_HOST_MEMORY;
        monitor->reservations = more;
        monitor->room = room;
    }
    monitor->reservations[monitor->count++] = (tla_reservation){who, first, last};
    return TLA_OK;
}

bool tla_exclusive_monitor_holds(const tla_exclusive_monitor *monitor, uint64_t who, uint64_t first, uint64_t last) {
    for (size_t i = 0; i < monitor->count; i++) {
        const tla_reservation *r = &monitor->reservations[i];
        if (r->who == who) return r->first <= first && last <= r->last;
    }
    return false;
}

void tla_exclusive_monitor_break(tla_exclusive_monitor *monitor, uint64_t first, uint64_t last) {
    for (size_t i = 0; i < monitor->count;) {
        const tla_reservation *r = &monitor->reservations[i];
        if (r->first <= last && first <= r->last)
            drop(monitor, i);
        else
            i++;
    }
}

bool tla_exclusive_monitor_cut(const tla_exclusive_monitor *monitor, uint64_t at, uint64_t *first, uint64_t *last) {
    for (size_t i = 0; i < monitor->count; i++) {
        const tla_reservation *r = &monitor->reservations[i];
        if (r->first <= at && at <= r->last) {
            *first = r->first;
            *last = r->last;
            return false;
        }
        if (r->last < at && *first <= r->last) *first = r->last + 1;
        if (r->first > at && *last >= r->first) *last = r->first - 1;
    }
    return true;
}
