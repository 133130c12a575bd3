/* Prices: picoseconds for the events on a receipt.
 *
 * price = fixed + sum(count * unit). Where an engine behind the arena was asked (engine.h), its cycles take the place
 * of fixed and of what it walked: cycles * clock + sum(count * unit) of what is beside the engine. A batch that
 * is one command pays `fixed` once. What goes on behind the answer is not in the price, but keeps the list's next
 * request waiting (tla_cost_behind). The linear form is what published measurements fit (a fixed part, a part per
 * chunk, a part per PTE, a part per invalidation). */
#ifndef TLMALLOC_COST_H
#define TLMALLOC_COST_H

#include "tlmalloc/base/work.h"

#ifdef __cplusplus
extern "C" {
#endif

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
