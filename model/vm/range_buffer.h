/* Ranges: a lookaside buffer of stretches that are contiguous in virtual and in physical addresses.
 *
 * A range is one entry for any number of pages with the same permissions in one address space. Ranges have different
 * sizes, so that a lookup compares an address with all of them. No two ranges overlap, and none continues another: a
 * run that touches a range becomes part of it. Replacement is least recently used.
 *
 * The buffer holds what it is given until it is dropped or evicted: whoever changes a mapping drops it first. The core
 * has no clock. Not thread safe. */
#ifndef TLMALLOC_MODEL_VM_RANGE_BUFFER_H
#define TLMALLOC_MODEL_VM_RANGE_BUFFER_H

#include "tlmalloc/vm/mmu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* [va, va + nbytes) of an address space leads to [pa, pa + nbytes), with these permissions. It ends at 2^64 or before.
 */
typedef struct tla_range {
    uint64_t va, nbytes, pa;
    uint32_t asid, flags;
} tla_range;

typedef struct tla_range_buffer tla_range_buffer;

/* entries: 1 .. TLA_RANGES_MAX, otherwise TLA_INVALID_ARGUMENT. TLA_NO_HOST_MEMORY. *buffer is NULL then. */
tla_status tla_range_buffer_create(uint32_t entries, tla_range_buffer **buffer);
void tla_range_buffer_destroy(tla_range_buffer *buffer);

/* Finds the range with this byte, which is then the most recently used. False, and *hit as it was, on a miss. */
bool tla_range_buffer_lookup(tla_range_buffer *buffer, uint32_t asid, uint64_t va, tla_range *hit);

/* Enters a run, nbytes > 0, whose every byte leads where the ranges that touch it say. They become one range with it,
 * the most recently used. If none touches it, the run takes a free place or that of the least recently used range;
 * a `lone` run, of a single page, then stays outside: the TLB serves it as well. */
void tla_range_buffer_fill(tla_range_buffer *buffer, const tla_range *run, bool lone);

/* Drops every range that overlaps [va, va + nbytes) of an address space; nbytes 0: every range of it. A range that
 * wraps 2^64 ends there. */
void tla_range_buffer_drop(tla_range_buffer *buffer, uint32_t asid, uint64_t va, uint64_t nbytes);

tla_ranges_stats tla_range_buffer_get_stats(const tla_range_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
