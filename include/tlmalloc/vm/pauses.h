/* Pauses of an MMU: accesses to some virtual ranges wait, while the block behind the ranges moves.
 *
 * An access enters when it arrives, before it is translated, and leaves when it has been answered. An access to a
 * paused range waits outside. An access also waits outside if it conflicts with an earlier access that waits: both
 * touch the same bytes, and one of them writes. Accesses that have entered therefore never wait for one that has not,
 * and a pause is always drained in the end: every access to its ranges that entered before it has left. Not thread
 * safe. */
#ifndef TLMALLOC_VM_PAUSES_H
#define TLMALLOC_VM_PAUSES_H

#include "tlmalloc/vm/mmu.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_pauses tla_pauses;

/* TLA_NO_HOST_MEMORY; *pauses is NULL then. */
tla_status tla_pauses_create(tla_pauses **pauses);

/* Passages that are inside or wait are forgotten. NULL is allowed. */
void tla_pauses_destroy(tla_pauses *pauses);

/* One access: the caller's memory until it leaves. */
typedef struct tla_passage {
    tla_mmu_access access; /* set by the caller; nbytes > 0, and no wrap past 2^64 */
    void *owner;           /* the caller's */
    /* Private. */
    struct tla_passage *earlier, *later;
    bool waits;
} tla_passage;

/* Enters an access, in the order of arrival. False: it waits, until tla_pauses_next returns it. */
bool tla_pauses_enter(tla_pauses *pauses, tla_passage *passage);

/* Returns the next access that waited and may go on: it has entered. NULL: none. Call it until it returns NULL after
 * tla_pauses_end and tla_pauses_end_all, and after a waiting access has left. */
tla_passage *tla_pauses_next(tla_pauses *pauses);

/* An access leaves. It need not have entered: a waiting access may be answered with an error. */
void tla_pauses_leave(tla_pauses *pauses, tla_passage *passage);

/* Pauses all ranges (va, nbytes, asid of the entries) or none. TLA_INVALID_ARGUMENT for 0 bytes or a range that wraps
 * 2^64, TLA_OVERLAP with a paused range or among the ranges, TLA_NO_HOST_MEMORY. The error names the range. */
tla_status tla_pauses_begin(tla_pauses *pauses, const tla_map_entry *ranges, size_t count, tla_error *error);

/* Whether no access to the ranges is inside. */
bool tla_pauses_are_drained(const tla_pauses *pauses, const tla_map_entry *ranges, size_t count);

/* Ends the pauses of exactly these ranges, or of none: TLA_NOT_FOUND if one of the ranges is not paused; the error
 * names it. */
tla_status tla_pauses_end(tla_pauses *pauses, const tla_map_entry *ranges, size_t count, tla_error *error);

/* Ends all pauses. */
void tla_pauses_end_all(tla_pauses *pauses);

/* Whether the byte range touches a paused range. */
bool tla_pauses_cover(const tla_pauses *pauses, uint32_t asid, tla_vaddr va, uint64_t nbytes);

/* Accesses that wait now. */
size_t tla_pauses_waiting(const tla_pauses *pauses);

#ifdef __cplusplus
}
#endif
#endif
