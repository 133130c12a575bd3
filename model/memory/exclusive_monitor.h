/* Exclusive accesses (LR and SC, exclusive reads and writes of AXI): the reservations of the bytes of a memory.
 *
 * An exclusive read reserves its bytes for its initiator, and replaces the earlier reservation of that initiator. Any
 * write to a reserved byte breaks the reservation. An exclusive write is executed while its reservation stands, and
 * breaks it. If two initiators read the same bytes exclusively, at most one can therefore write: neither write is lost.
 * An exclusive write that is not executed also ends the reservation of its initiator (RISC-V's SC): the module that
 * rejects the write releases the reservation. Internal to the model. */
#ifndef TLMALLOC_MODEL_MEMORY_EXCLUSIVE_MONITOR_H
#define TLMALLOC_MODEL_MEMORY_EXCLUSIVE_MONITOR_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_reservation {
    uint64_t who; /* the caller's number of an initiator */
    uint64_t first, last;
} tla_reservation;

/* All zero: nothing is reserved. */
typedef struct tla_exclusive_monitor {
    tla_reservation *reservations; /* one for each initiator at most */
    size_t count, room;
} tla_exclusive_monitor;

/* Gives back the host's memory; nothing is reserved. */
void tla_exclusive_monitor_clear(tla_exclusive_monitor *monitor);

/* `who` reserves [first, last], first <= last. TLA_NO_HOST_MEMORY: nothing is reserved for him then. O(initiators), as
 * all calls. */
tla_status tla_exclusive_monitor_reserve(tla_exclusive_monitor *monitor, uint64_t who, uint64_t first, uint64_t last);

/* Whether all of [first, last] is reserved for `who`. */
bool tla_exclusive_monitor_holds(const tla_exclusive_monitor *monitor, uint64_t who, uint64_t first, uint64_t last);

/* Ends the reservation of `who`. */
void tla_exclusive_monitor_release(tla_exclusive_monitor *monitor, uint64_t who);

/* Somebody writes [first, last]: breaks what overlaps. */
void tla_exclusive_monitor_break(tla_exclusive_monitor *monitor, uint64_t first, uint64_t last);

/* Cuts [*first, *last], which contains `at`, to the unreserved bytes around `at`. Returns false when `at` itself is
 * reserved: the range is then the reserved bytes. */
bool tla_exclusive_monitor_cut(const tla_exclusive_monitor *monitor, uint64_t at, uint64_t *first, uint64_t *last);

#ifdef __cplusplus
}
#endif
#endif
