/* The state of a pool of walkers (mmu.h): cached upper levels, and the outstanding requests. */
#ifndef TLMALLOC_MODEL_VM_WALKER_POOL_H
#define TLMALLOC_MODEL_VM_WALKER_POOL_H

#include "tlmalloc/vm/mmu.h"

typedef struct walker {
    tla_walk_request *request; /* the current walk */
    uint64_t va;               /* where it walked last, and in which address space */
    uint32_t asid;
    uint32_t path_shift; /* its path register knows the upper levels down to this bit; 64 = none */
} walker;

/* An upper-level entry: the entry that a walk for any va with this prefix reads at this level. */
typedef struct cached {
    uint64_t prefix, last_use; /* last_use 0 = not valid */
    uint32_t asid, va_shift;
} cached;

struct tla_walkers {
    tla_walkers_config config;
    walker *pool;
    cached *cache;
    uint64_t uses;
    tla_walkers_stats stats;
    tla_walk_request **buckets; /* in flight or queued, by page */
    uint32_t bucket_bits;
    uint64_t *idle; /* a bit for each walker */
    uint32_t under_way;
    tla_walk_request *queue, *queue_end;
};

/* How many of the first reads this walker need not make. */
uint32_t walkers_known_reads(tla_walkers *w, const walker *k, const tla_walk *walk);
/* Its path register and the walk cache know what this walk has read. */
void walkers_remember(tla_walkers *w, walker *k, const tla_walk *walk);

#endif
