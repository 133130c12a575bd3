/* Receipts and prices: what the modelled engine did for one operation, and how long that takes.
 *
 * The core knows no clock. It counts the events that cost a hardware engine (or its firmware) time; tla_cost_price
 * turns the counts into picoseconds. Operations ADD to a receipt, so that one receipt can cover a batch: start from
 * `tla_work work = {0};`. */
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
    struct tla_engine_work *engine; /* the receipt of the engine that the list has, the caller's; NULL:
                                       nobody asks for it */
} tla_work;

/* --- The engine of a list ---
 *
 * The receipt of a free list's engine, beside the receipt that every list has. Two engines fill it: that of worst fit,
 * which keeps the largest block and searches for the next one after its answer, and an engine behind an arena
 * (engine.h). Operations add to it if tla_work.engine points to one. */

typedef struct tla_engine_work {
    uint64_t
        requests; /* that it served. Above 0: what the list does behind its last answer keeps the next one waiting */
    /* of worst fit: when the list has changed, its engine walks it for the largest block */
    uint64_t walks;             /* such walks */
    uint64_t walk_nodes;        /* free blocks that they pass, all of them each time */
    uint64_t walks_behind;      /* 1: the last of them goes on behind the answer, and the list's next request waits */
    uint64_t walk_nodes_behind; /* for it; those before it are over, for requests of this receipt have waited */
    /* of an engine behind an arena: of its requests the receipt has only nodes_visited and list_length */
    uint64_t cycles;        /* of its clock, up to the last answer */
    uint64_t cycles_behind; /* those behind that answer in which it takes no request */
    uint64_t nodes;         /* those of nodes_visited that it walked, within its cycles */
} tla_engine_work;

/* --- Prices ---
 *
 * Picoseconds for the events on a receipt.
 *
 * price = fixed + sum(count * unit). Where an engine behind the arena was asked (engine.h), its cycles take the place
 * of fixed and of what it walked: cycles * clock + sum(count * unit) of what is beside the engine. A batch that
 * is one command pays `fixed` once. What goes on behind the answer is not in the price, but keeps the list's next
 * request waiting (tla_cost_behind). The linear form is what published measurements fit (a fixed part, a part per
 * chunk, a part per PTE, a part per invalidation). */

/* Every member in picoseconds per event; the event is the member of the same name of tla_work, or of tla_engine_work.
 */
typedef struct tla_cost_profile {
    uint64_t fixed_ps; /* per command */
    uint64_t node_ps;
    uint64_t insert_node_ps;
    uint64_t probe_ps;
    uint64_t split_ps;
    uint64_t merge_ps;
    uint64_t metadata_line_ps;
    uint64_t alloc_ps; /* of a range taken from the list, beside fixed_ps of its command */
    uint64_t free_ps;  /* of a range put on the list, beside fixed_ps of its command */
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
    uint64_t clock_ps; /* period of the engine's clock, at an edge of which a command begins; 0: at any time */
} tla_cost_profile;

/* Price of one command with this receipt, and its engine's, in picoseconds; saturates at UINT64_MAX. */
uint64_t tla_cost_price(const tla_cost_profile *profile, const tla_work *work);

/* How long the list of this receipt takes no further request once the command is done, in picoseconds; saturates. */
uint64_t tla_cost_behind(const tla_cost_profile *profile, const tla_work *work);

#ifdef __cplusplus
}
#endif
#endif
