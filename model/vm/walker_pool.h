/* Inside a pool of walkers: what both ways to ask it share (walker.h). */
#ifndef TLMALLOC_MODEL_VM_WALKER_POOL_H
#define TLMALLOC_MODEL_VM_WALKER_POOL_H

#include "tlmalloc/translation/walker.h"

typedef struct walker {
    uint64_t start_ps, busy_until_ps; /* of a walk whose end was known when it began */
    tla_walk_request *request;        /* the walk under way whose end nobody knows */
    uint64_t va;                      /* of the page that it walks or walked for */
    uint32_t asid;
    uint32_t merged;     /* requests that joined */
    uint32_t path_shift; /* its path register knows the upper levels down to this bit; 64 = none */
    bool joinable;
} walker;

/* An upper-level entry: what a walk for any va with this prefix reads at this level. */
typedef struct cached {
    uint64_t prefix, last_use; /* last_use 0 = not valid */
    uint32_t asid, va_shift;
} cached;

struct tla_walkers {
    tla_walkers_config config;
    walker *pool;
    cached *cache;
    uint64_t uses;
    uint64_t visible_ps; /* of the last change */
    tla_walkers_stats stats;
    /* requests that are begun and finished */
    tla_walk_request **buckets; /* under way or queued, by page */
    uint32_t bucket_bits;
    uint64_t *idle; /* a bit for each walker */
    uint32_t under_way;
    tla_walk_request *queue, *queue_end;
};

uint64_t walk_page(const tla_walk *walk);
/* Reads that lead to a next table: those above the page, without the one that ended the walk. */
uint32_t walk_upper_reads(const tla_walk *walk);
/* How many of the first reads this walker need not make. */
uint32_t walkers_known_reads(tla_walkers *w, const walker *k, const tla_walk *walk);
/* Its path register and the walk cache know what this walk has read. */
void walkers_remember(tla_walkers *w, walker *k, const tla_walk *walk);
void walkers_count_stall(tla_walkers *w, uint64_t wait_ps);

#endif
