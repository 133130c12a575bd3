/* Where the slots of messages lie, and what they cost by KernBench's tables. */
#ifndef TLMALLOC_KERNEL_SLOT_COSTS_H
#define TLMALLOC_KERNEL_SLOT_COSTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In which memory of the receiver the slots lie: its TCM, its HBM slice, the SRAM of its cube. */
typedef enum tla_slot_memory { TLA_SLOTS_TCM, TLA_SLOTS_HBM, TLA_SLOTS_SRAM, TLA_SLOT_MEMORY_COUNT } tla_slot_memory;

/* "tcm", "hbm", "sram"; NULL for a value that is none. */
const char *tla_slot_memory_name(tla_slot_memory memory);

/* What an access to a slot costs: what the memory, and the way to it, take; or a set-up time and bytes by a bandwidth
 * from KernBench's tables, after all of the piece is there, and receivers wait for their credits: with slots as large
 * as the messages this is KernBench's model (CSV A; CSV B with the hop from the PE to its bank). */
typedef enum tla_slot_costs {
    TLA_SLOT_COSTS_MEMORY,
    TLA_SLOT_COSTS_KERNBENCH,
    TLA_SLOT_COSTS_KERNBENCH_HOP,
    TLA_SLOT_COSTS_COUNT
} tla_slot_costs;

/* "memory", "kernbench", "kernbench_hop"; NULL for a value that is none. */
const char *tla_slot_costs_name(tla_slot_costs costs);

/* What such an access takes by a table, in ps; 0 with TLA_SLOT_COSTS_MEMORY. */
uint64_t tla_slot_cost_ps(tla_slot_costs costs, tla_slot_memory memory, uint64_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
