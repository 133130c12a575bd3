/* How far a shared resource is from serving requests in the order of their arrival.
 *
 * Whoever simulates with temporal decoupling books requests in the order of the calls. The figures say what that did to
 * time: they compare every booking's start with the start that it would have had if all bookings so far had come in the
 * order of arrival (ties in the order of the calls), each for the first moment when all before it are done. They are 0
 * when the calls are in that order. Times are picoseconds of whoever calls. */
#ifndef TLMALLOC_ORDER_H
#define TLMALLOC_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_order {
    uint64_t late;         /* bookings made after one that arrives later */
    uint64_t displaced_ps; /* sum of |start - start in order of arrival|; saturates */
    uint64_t worst_ps;     /* the largest of these */
} tla_order;

/* Adds the figures of another resource. */
void tla_order_add(tla_order *sum, const tla_order *other);

typedef struct tla_booking {
    uint64_t arrival_ps, start_ps, duration_ps;
} tla_booking;

/* The bookings of a resource that a later call may still come before. Members are the log's own. */
typedef struct tla_order_log {
    tla_order settled;  /* `late` is of all bookings, the rest of those that nothing can come before any more */
    uint64_t latest_ps; /* arrival */
    uint64_t free_ps;   /* when the settled ones, served in order of arrival, are done */
    tla_booking *bookings;
    size_t count, room;
    bool unsorted; /* bookings are not in order of arrival */
} tla_order_log;   /* all zero = nothing is booked */

/* Frees what the log holds; it is as at the beginning then. */
void tla_order_log_destroy(tla_order_log *log);

/* Notes a booking; O(1). When the host's memory ends, what was noted is settled as it is, so that the figures miss what
 * later calls do to it; nothing else suffers. */
void tla_order_book(tla_order_log *log, tla_booking booking);

/* No booking will arrive before before_ps any more: what arrives earlier need not be kept. Takes time in proportion to
 * what is kept, and sorts it where calls were out of order. */
void tla_order_settle(tla_order_log *log, uint64_t before_ps);

/* For a resource that is served in order of the calls, which ought to be the order of arrival: keeps nothing. A late
 * booking counts with its wait, which is at most what it lost itself. */
void tla_order_check(tla_order_log *log, uint64_t arrival_ps, uint64_t start_ps);

/* The figures of all bookings so far. Takes time in proportion to what is kept; where that is not in order and the host
 * has no memory to sort it, the figures are of the settled bookings. */
tla_order tla_order_so_far(const tla_order_log *log);

#ifdef __cplusplus
}
#endif
#endif
