/* The time of an access to a slot by KernBench's tables. */
#include "tlmalloc/kernel/message_queue.h"

#include "tlmalloc/base/timeline.h"

const char *tla_slot_memory_name(tla_slot_memory memory) {
    static const char *const names[] = {"tcm", "hbm", "sram"};
    return (unsigned)memory < TLA_SLOT_MEMORY_COUNT ? names[memory] : 0;
}

const char *tla_slot_costs_name(tla_slot_costs costs) {
    static const char *const names[] = {"memory", "kernbench", "kernbench_hop", "kernbench_free"};
    return (unsigned)costs < TLA_SLOT_COSTS_COUNT ? names[costs] : 0;
}

#define GB_S UINT64_C(1000000000)

uint64_t tla_slot_cost_ps(tla_slot_costs costs, tla_slot_memory memory, uint64_t nbytes) {
    /* bytes/s, set-up in ps, and the hop from the PE to the bank, bytes/s; 0: no hop */
    static const struct {
        uint64_t bandwidth, setup_ps, hop;
    } tables[][TLA_SLOT_MEMORY_COUNT] = {
        [TLA_SLOT_COSTS_KERNBENCH] = {[TLA_SLOTS_TCM] = {512 * GB_S, 0, 0},
                                      [TLA_SLOTS_HBM] = {32 * GB_S, 6000, 0},
                                      [TLA_SLOTS_SRAM] = {128 * GB_S, 2000, 0}},
        [TLA_SLOT_COSTS_KERNBENCH_HOP] = {[TLA_SLOTS_TCM] = {512 * GB_S, 0, 0},
                                          [TLA_SLOTS_HBM] = {256 * GB_S, 6000, 256 * GB_S},
                                          [TLA_SLOTS_SRAM] = {512 * GB_S, 2000, 128 * GB_S}},
    };
    if (costs != TLA_SLOT_COSTS_KERNBENCH && costs != TLA_SLOT_COSTS_KERNBENCH_HOP) return 0;
    if ((unsigned)memory >= TLA_SLOT_MEMORY_COUNT) return 0;
    const uint64_t hop = tables[costs][memory].hop;
    return tables[costs][memory].setup_ps + tla_transfer_ps(nbytes, tables[costs][memory].bandwidth) +
           (hop ? tla_transfer_ps(nbytes, hop) : 0);
}
