/* Receipts and prices: the work of the modelled engine for one operation, and its duration.
 *
 * The core has no clock. It counts the events that cost a hardware engine (or its firmware) time; tla_cost_price
 * converts the counts into picoseconds. Operations ADD to a receipt, so that one receipt can cover a batch: start with
 * `tla_work work = {0};`. */
#ifndef TLMALLOC_WORK_H
#define TLMALLOC_WORK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_work {
    /* allocation */
    uint64_t nodes_visited; /* free-list nodes that a walk from the front visits, including the node that it allocates
                               from; all nodes when none fits (ADR-0048 D1) */
    uint64_t insert_nodes;  /* nodes that a linear ordered insert passes before it finds its place (free) */
    uint64_t probes;       /* probes of the binary search for the same place: bisect_left on the list (ADR-0048 D1); for
                              buddies and TLSF see tla_policy (arena.h) */
    uint64_t bin_searches; /* offset bins: searches of the bins for a region, also in vain; none without a node */
    uint64_t splits;       /* blocks cut in two */
    uint64_t merges;       /* neighbours joined */
    uint64_t list_length;  /* free blocks on the list when the operation began (for a batch: the sum) */
    uint64_t metadata_lines; /* accessed lines of metadata, where a layer keeps metadata in memory */
    uint64_t allocs; /* ranges allocated from the free list: an ALLOC counts one; a batch counts each block, or one if
                        it is contiguous */
    uint64_t frees;  /* ranges released to the free list: a FREE counts one, a batch each run of adjacent blocks */
    uint64_t nodes_created;  /* new nodes of the list: a free that joins no neighbour, a block of which both sides
                                remain; 0 with buddies, whose engine keeps bitmaps */
    uint64_t nodes_released; /* removed nodes: a block allocated whole, a free joined on both sides; 0 with buddies */
    /* mapping */
    uint64_t chunks;       /* physically contiguous ranges mapped or unmapped */
    uint64_t pte_writes;   /* page-table entries or sub-page regions written or cleared */
    uint64_t table_levels; /* page-table levels read */
    uint64_t invalidates;  /* TLB invalidations issued */
    /* a front, and its requests to the arena or the driver below it */
    uint64_t class_lookups; /* size classes that a request or a free was assigned to */
    uint64_t list_pops;   /* blocks taken from a list that a front keeps, last in, first out; each also counts a visited
                             node */
    uint64_t list_pushes; /* blocks put on such a list */
    uint64_t slots;       /* slots taken from a queue or returned to it; each taken slot also counts a visited node */
    uint64_t driver_calls; /* requests to the driver: a block or segment allocated or released, a range reserved, mapped
                              or unmapped; failed requests too */
    struct tla_engine_work *engine; /* the receipt of the list's engine, owned by the caller; NULL: not wanted */
} tla_work;

/* --- The engine of a list ---
 *
 * The receipt of a free list's engine, beside the receipt that every list has. Two engines fill it. The engine of worst
 * fit keeps the largest block, and searches for the next one after its answer. The other is an engine that serves an
 * arena (engine.h). Operations add to this receipt if tla_work.engine points to it. */

typedef struct tla_engine_work {
    uint64_t requests; /* served requests. Above 0: the list's work after its last answer delays the next request */
    /* worst fit: when the list has changed, its engine walks it for the largest block */
    uint64_t walks;             /* number of such walks */
    uint64_t walk_nodes;        /* free blocks that the walks pass: all blocks each time */
    uint64_t walks_behind;      /* 1: the last walk continues after the answer, and delays the list's next request */
    uint64_t walk_nodes_behind; /* its nodes; earlier walks are over, because requests of this receipt have waited for
                                   them */
    /* an engine that serves an arena: for its requests the receipt has only nodes_visited and list_length */
    uint64_t cycles;        /* cycles of its clock, up to the last answer */
    uint64_t cycles_behind; /* cycles after that answer in which it accepts no request */
    uint64_t nodes;         /* nodes among nodes_visited that it walked, within its cycles */
    uint64_t instructions;  /* of its firmware, up to the last answer; without price: for energies */
} tla_engine_work;

/* --- Prices ---
 *
 * Picoseconds for the events on a receipt.
 *
 * The formula is price = fixed + sum(count * unit). If an engine serves the arena (engine.h), its cycles replace the
 * fixed part and its own walks. The price is then cycles * clock + sum(count * unit) of the events outside the engine.
 * A batch that is one command pays `fixed` once. Work after the answer is not in the price, but delays the list's next
 * request (tla_cost_behind). The linear form is what published measurements fit (a fixed part, a part per chunk, a part
 * per PTE, a part per invalidation). */

/* Every member is in picoseconds per event. The event is the member of the same name of tla_work, or of
 * tla_engine_work. */
typedef struct tla_cost_profile {
    uint64_t fixed_ps; /* per command */
    uint64_t node_ps;
    uint64_t insert_node_ps;
    uint64_t probe_ps;
    uint64_t bin_search_ps;
    uint64_t split_ps;
    uint64_t merge_ps;
    uint64_t metadata_line_ps;
    uint64_t alloc_ps; /* per range allocated from the list, in addition to fixed_ps of its command */
    uint64_t free_ps;  /* per range released to the list, in addition to fixed_ps of its command */
    uint64_t node_created_ps;
    uint64_t node_released_ps;
    uint64_t walk_ps;
    uint64_t walk_node_ps;
    uint64_t chunk_ps;
    uint64_t pte_write_ps;
    uint64_t table_level_ps;
    uint64_t invalidate_ps;
    uint64_t class_lookup_ps;
    uint64_t list_pop_ps;
    uint64_t list_push_ps;
    uint64_t slot_ps;
    uint64_t driver_call_ps;
    uint64_t clock_ps; /* period of the engine's clock; a command begins at an edge of it; 0: at any time */
} tla_cost_profile;

/* Returns the price of one command with this receipt and its engine's, in picoseconds; saturates at UINT64_MAX. */
uint64_t tla_cost_price(const tla_cost_profile *profile, const tla_work *work);

/* Returns how long the list of this receipt accepts no further request after the command is done, in picoseconds;
 * saturates. */
uint64_t tla_cost_behind(const tla_cost_profile *profile, const tla_work *work);

#ifdef __cplusplus
}
#endif
#endif
