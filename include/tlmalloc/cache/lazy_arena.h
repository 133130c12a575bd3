/* An arena whose memory is committed in the background of simulated time: LMCache's LazyMemoryAllocator.
 *
 * The first part is there at once; the rest is pinned chunk by chunk, and enters the arena (sbrk) each time that a
 * commit's worth is pinned. So the same request can fail early and succeed later. The caller's clock drives it: every
 * call is told the time. Modelled is the generation that coalesces across commits. Not thread safe; one owner at a
 * time. */
#ifndef TLMALLOC_CACHE_LAZY_ARENA_H
#define TLMALLOC_CACHE_LAZY_ARENA_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_lazy_arena tla_lazy_arena;

typedef struct tla_lazy_arena_config {
    uint64_t base;          /* address; a multiple of alignment */
    uint64_t initial_bytes; /* there at once; rounded up to a multiple of chunk_bytes */
    uint64_t final_bytes;   /* in the end; rounded up likewise; at least initial_bytes; 0: there is never any */
    uint64_t chunk_bytes;   /* pinned in one go: 64 MiB in LMCache, 16 MiB before; a multiple of alignment */
    uint64_t commit_bytes;  /* enters the arena in one go: 1 GiB in LMCache; a multiple of chunk_bytes */
    uint64_t chunk_ps;      /* time to pin a chunk, picoseconds; 0: everything is there at once */
    uint64_t start_ps;      /* when pinning begins */
    uint64_t alignment;     /* of every block; a power of two, 0 = 1; LMCache: 4096 */
    tla_policy policy;
} tla_lazy_arena_config;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; *lazy is NULL then. */
tla_status tla_lazy_arena_create(const tla_lazy_arena_config *config, tla_lazy_arena **lazy);

/* NULL is allowed. */
void tla_lazy_arena_destroy(tla_lazy_arena *lazy);

/* Commits what is pinned at now_ps. A time before an earlier one changes nothing: memory never goes away.
 * TLA_NO_HOST_MEMORY: nothing is changed. */
tla_status tla_lazy_arena_advance(tla_lazy_arena *lazy, uint64_t now_ps, tla_work *work);

/* When the next commit comes, or came and waits for tla_lazy_arena_advance; false, and *when_ps untouched, after the
 * last. */
bool tla_lazy_arena_next_commit(const tla_lazy_arena *lazy, uint64_t *when_ps);

/* As tla_arena_alloc and tla_arena_free, after tla_lazy_arena_advance to now_ps. */
tla_status tla_lazy_arena_alloc(tla_lazy_arena *lazy, uint64_t now_ps, uint64_t nbytes, tla_block *block,
                                tla_work *work);
tla_status tla_lazy_arena_alloc_batch(tla_lazy_arena *lazy, uint64_t now_ps, uint64_t nbytes, size_t n, tla_batch kind,
                                      tla_block *blocks, tla_work *work);
tla_status tla_lazy_arena_free(tla_lazy_arena *lazy, uint64_t now_ps, tla_block block, tla_work *work);

/* As tla_arena_granted. */
uint64_t tla_lazy_arena_granted(const tla_lazy_arena *lazy, uint64_t nbytes);

/* As tla_arena_explain, and how much of the memory is committed and when more will be: waiting may help. */
tla_status tla_lazy_arena_explain(const tla_lazy_arena *lazy, const char *what, uint64_t nbytes, tla_error *error);

/* Of the arena; capacity is what is committed. */
tla_arena_stats tla_lazy_arena_get_stats(const tla_lazy_arena *lazy);

#ifdef __cplusplus
}
#endif
#endif
