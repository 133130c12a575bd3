/* A memory in two parts, and a pacer of pins: LMCache of 2026.
 *
 * The first part (L1) stages what is loaded and written, the second one (L2) keeps the rest. In hardware the partition
 * is one register with the bytes of L1.
 *
 * The pacer decides when the next chunk of a memory that grows is pinned: not while DMA submissions are in flight, but
 * also not for ever later. It needs the time at which a chunk could be pinned, and the time at which no submission is
 * in flight. Both are pure functions of their arguments. */
#ifndef TLMALLOC_CACHE_PARTITION_H
#define TLMALLOC_CACHE_PARTITION_H

#include "tlmalloc/base/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_partition_config {
    uint64_t nbytes;     /* of both parts */
    uint32_t permille;   /* of L1, 1 .. 999; LMCache has 300 */
    uint64_t chunk;      /* bytes that are staged at once; 0: no least size of L1 */
    uint64_t prefetches; /* outstanding at most, 2.5 chunks each; LMCache has 8 */
    uint64_t writes;     /* outstanding at most, a chunk each; LMCache has 1 */
} tla_partition_config;

typedef struct tla_partition {
    uint64_t l1, l2; /* bytes; l1 is rounded down */
    uint64_t least;  /* bytes of L1 that staging needs: floor(prefetches * 2.5 * chunk) + writes * chunk */
} tla_partition;

/* TLA_INVALID_ARGUMENT for permille outside its range; TLA_EXHAUSTED if L1 is smaller than the least size, or if that
 * exceeds 64 bits. After an error *partition is unchanged. */
tla_status tla_partition_of(const tla_partition_config *config, tla_partition *partition);

/* Moves the border, so that L1 has l1 bytes of both parts. TLA_INVALID_ARGUMENT if a part would have none,
 * TLA_EXHAUSTED if L1 would be smaller than the least size. After an error *partition is unchanged. */
tla_status tla_partition_move(tla_partition *partition, uint64_t l1);

/* Returns when a chunk that could be pinned at ready_ps is pinned. idle_ps: the first time at or after ready_ps at
 * which no submission is in flight; UINT64_MAX: never. The chunk waits until then, but wait_ps at most. */
uint64_t tla_pacer_start(uint64_t ready_ps, uint64_t idle_ps, uint64_t wait_ps);

/* The changes of the number of submissions in flight; all zero: none. A submission is in flight at its beginning, and
 * not at its end. Begins and ends may be noted in any order of time. */
typedef struct tla_submissions {
    struct tla_submission_change *changes; /* ascending in time */
    size_t count, room;
    uint64_t in_flight; /* begun, without a noted end */
    int64_t before;     /* number before the first change */
} tla_submissions;

/* Notes a begin. TLA_NO_HOST_MEMORY: nothing has changed. */
tla_status tla_submissions_begin(tla_submissions *submissions, uint64_t at_ps);

/* Notes the end of a submission whose begin has been noted; the host needs no memory for it. */
void tla_submissions_end(tla_submissions *submissions, uint64_t at_ps);

/* Returns the first time at or after from_ps at which no submission is in flight; UINT64_MAX if there is none before
 * further ends are noted. */
uint64_t tla_submissions_idle(const tla_submissions *submissions, uint64_t from_ps);

/* Joins the changes until then, for times at and after which alone it is asked. */
void tla_submissions_forget(tla_submissions *submissions, uint64_t until_ps);

/* Releases the memory: there are no submissions. */
void tla_submissions_clear(tla_submissions *submissions);

#ifdef __cplusplus
}
#endif
#endif
