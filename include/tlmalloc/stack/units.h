/* Units with a memory each and one range of addresses: tt-metal's L1, in its modes per core, lockstep, range lockstep
 * and common.
 *
 * One list, that of lockstep, holds the buffers that lie at one address in many units. Each unit also has a list of its
 * own. All lists cover the same range. A request is placed where the lists that it depends on are free:
 *
 *     mode       address             taken from            free in
 *     single     of its unit         the unit's list       that list, and lockstep's
 *     lockstep   one in all units    lockstep's list       that list, and those of all units
 *     range      one in its units    lockstep's list       that list, and those of its units
 *     common     one in its units    each unit's list      these lists, and lockstep's
 *
 * A range buffer belongs to lockstep's list: later buffers of all modes avoid it in every unit. It may lie at the
 * address of an older buffer of a unit that it does not name. Its owner then must not access it in that unit. tt-metal
 * uses either range or single buffers, never both; here both are allowed.
 *
 * The lowest address wins, or with TLA_TOP_DOWN the highest. The modelled engine walks all lists of a request in step,
 * from below or from above, and passes over the lists of units without a buffer, unless it takes the range from there.
 * Its receipt counts in each list the nodes up to the block that holds the range; when nothing fits, all nodes.
 * list_length is the sum over these lists. With lockstep buffers only, the receipts are those of a single list. A
 * common buffer takes a range from each list of its units, and a FREE returns as many. Not thread safe; one owner at a
 * time. */
#ifndef TLMALLOC_STACK_UNITS_H
#define TLMALLOC_STACK_UNITS_H

#include "tlmalloc/stack/lockstep.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_units tla_units;

typedef struct tla_units_config {
    uint32_t units;     /* at least 1 */
    uint64_t base;      /* first address in every unit; a multiple of alignment */
    uint64_t bytes;     /* bytes of every unit, at least 1; base + bytes at most 2^63 */
    uint64_t alignment; /* addresses are multiples of it, and sizes are rounded up to it; a power of two, 0 = 1 */
} tla_units_config;

typedef enum tla_units_mode {
    TLA_UNITS_SINGLE,
    TLA_UNITS_LOCKSTEP,
    TLA_UNITS_RANGE,
    TLA_UNITS_COMMON,
    TLA_UNITS_MODE_COUNT
} tla_units_mode;

/* "single", "lockstep", "range", "common"; NULL for an unknown value. */
const char *tla_units_mode_name(tla_units_mode mode);

/* A buffer without its address. */
typedef struct tla_units_request {
    tla_units_mode mode;
    tla_fill fill;           /* of the engine's walk; where a buffer is freed, it changes the receipt only */
    uint64_t nbytes;         /* in each of its units, 1 .. 2^63; unused with extents */
    const uint32_t *units;   /* its units in ascending order; of lockstep: unused */
    size_t count;            /* of them, at least 1; of single: 1; of lockstep: unused */
    const uint64_t *extents; /* of common: bytes in each of its units, 1 .. 2^63; NULL: nbytes. Otherwise unused */
} tla_units_request;

typedef struct tla_units_stats { /* of one list, in bytes */
    uint64_t used;
    uint64_t free;
    uint64_t largest_free;
    uint64_t free_blocks; /* their number */
} tla_units_stats;

#define TLA_UNITS_ALL UINT32_MAX /* in place of a unit: lockstep's list */

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; after an error *units is NULL. */
tla_status tla_units_create(const tla_units_config *config, tla_units **units);

/* NULL is allowed. */
void tla_units_destroy(tla_units *units);

/* Allocates a buffer. Adds its cost to work (may be NULL), also that of a search in vain.
 *
 * TLA_INVALID_ARGUMENT for a request outside its ranges. TLA_EXHAUSTED if fewer bytes are free in all its lists at once
 * than its largest extent, else TLA_FRAGMENTED. TLA_NO_HOST_MEMORY leaves work unchanged. After an error nothing is
 * allocated. */
tla_status tla_units_alloc(tla_units *units, const tla_units_request *request, uint64_t *address, tla_work *work);

/* Allocates a buffer at this address. TLA_INVALID_ARGUMENT also for a misaligned address, TLA_OUT_OF_RANGE,
 * TLA_OVERLAP when any byte is not free in a list of the request, TLA_NO_HOST_MEMORY. After an error nothing has
 * changed. */
tla_status tla_units_reserve(tla_units *units, const tla_units_request *request, uint64_t address, tla_work *work);

/* Releases the buffer that this request has allocated at this address; the request must be the same but for `fill`
 * (ADR-0048 D2 trusts it). TLA_INVALID_ARGUMENT as tla_units_reserve, TLA_OUT_OF_RANGE, TLA_NOT_ALLOCATED when any byte
 * of the buffer is already free, TLA_NO_HOST_MEMORY. After an error the buffer is live in all its units. */
tla_status tla_units_free(tla_units *units, const tla_units_request *request, uint64_t address, tla_work *work);

/* Writes a readable explanation of a failed request: its bytes and lists, the bytes that are free in all of them at
 * once, the largest such range, and the free bytes of lockstep's list alone. `what` names the memory in the text.
 * Returns the status; total_free and largest_free of *error (may be NULL) are those of all its lists at once. */
tla_status tla_units_explain(const tla_units *units, const char *what, const tla_units_request *request,
                             tla_error *error);

/* Bytes that are free in all lists of a request at once, and the largest such range. TLA_INVALID_ARGUMENT as
 * tla_units_alloc. */
tla_status tla_units_get_room(const tla_units *units, const tla_units_request *request, uint64_t *free,
                              uint64_t *largest_free);

/* Statistics of a unit's list, or of lockstep's (TLA_UNITS_ALL). TLA_OUT_OF_RANGE for a unit that does not exist. */
tla_status tla_units_get_stats(const tla_units *units, uint32_t unit, tla_units_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
