/* Receipts: what the modelled engine did for one operation.
 *
 * The core knows no clock. It counts the events that cost a hardware engine (or its firmware) time; tla_cost_price
 * (cost.h) turns the counts into picoseconds. Operations ADD to a receipt, so that one receipt can cover a batch:
 * start from `tla_work work = {0};`. */
#ifndef TLMALLOC_WORK_H
#define TLMALLOC_WORK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_work {
    /* allocation */
    uint64_t nodes_visited;  /* free-list nodes that a walk from the front looks at, up to and including the one taken;
                                all of them when none fits (ADR-0048 D1) */
    uint64_t insert_nodes;   /* nodes that a linear ordered insert passes before it finds its place (free) */
    uint64_t probes;         /* probes of the binary search for the same place: bisect_left on the list (ADR-0048 D1);
                                of buddies and TLSF see tla_policy (arena.h) */
    uint64_t splits;         /* blocks cut in two */
    uint64_t merges;         /* neighbours joined */
    uint64_t list_length;    /* free blocks on the list when the operation began (of a batch: the sum) */
    uint64_t metadata_lines; /* lines of metadata that were touched, where a layer keeps metadata in memory */
    uint64_t allocs;        /* ranges that were taken from the free list: of an ALLOC one, of a batch each block, or all
                               of it where it is contiguous */
    uint64_t frees;         /* ranges that were put on the free list: of a FREE one, of a batch each run of blocks that
                               touch */
    uint64_t nodes_created; /* nodes of the list that came into being: a free joined with nothing, a block of which both
                               sides stayed; 0 with buddies, whose engine keeps bitmaps */
    uint64_t nodes_released; /* nodes that went: a block taken whole, a free joined on both sides; 0 with buddies */
    /* mapping */
    uint64_t chunks;       /* physically contiguous ranges mapped or unmapped */
    uint64_t pte_writes;   /* page-table entries or sub-page regions written or cleared */
    uint64_t table_levels; /* page-table levels read */
    uint64_t invalidates;  /* TLB invalidations issued */
    /* of a front, and what it asks of the arena or the driver below it */
    uint64_t class_lookups; /* size classes that a request or a free was assigned to */
    uint64_t list_pops;     /* blocks taken from a list that a front keeps, last in, first out; a node visited each */
    uint64_t list_pushes;   /* blocks put on such a list */
    uint64_t slots;         /* slots taken from a queue or given back; of those taken a node visited each */
    uint64_t driver_calls;  /* requests to the driver: a block or segment taken or given back, a range reserved, mapped
                               or unmapped; refused ones too */
    struct tla_engine_work *engine; /* the receipt of the engine that the list has, the caller's (engine_work.h); NULL:
                                       nobody asks for it */
} tla_work;

#ifdef __cplusplus
}
#endif
#endif
