// KernBench's tables of what slots cost, against the differences between its published tables of an all-reduce.
#include "tlmalloc/kernel/message_queue.h"

#include <boost/test/unit_test.hpp>

#include <string>

// The longest chain of its all-reduce over 6 SIPs has 12 hops, each with a write and a read of a slot that holds all
// bytes of a PE (CSV A of 84a1325, CSV B of 9c129d6; the TCM's column is the same in both).
BOOST_AUTO_TEST_CASE(the_published_tables_differ_by_24_accesses_to_slots) {
    struct row {
        std::uint64_t nbytes;
        std::int64_t tcm, sram_a, hbm_a, sram_b, hbm_b; // published, ns
    };
    const row rows[] = {{256, 1678, 1762, 2002, 1774, 1858},
                        {2048, 1957, 2293, 3541, 2389, 2389},
                        {16384, 4225, 6577, 15889, 7345, 6673},
                        {65536, 12001, 21265, 58225, 24337, 21361}};
    for (const row &r : rows) {
        const auto more_ps = [&r](tla_slot_costs costs, tla_slot_memory memory) {
            return 24 * static_cast<std::int64_t>(tla_slot_cost_ps(costs, memory, r.nbytes) -
                                                  tla_slot_cost_ps(costs, TLA_SLOTS_TCM, r.nbytes));
        };
        BOOST_CHECK_EQUAL(more_ps(TLA_SLOT_COSTS_KERNBENCH, TLA_SLOTS_SRAM), (r.sram_a - r.tcm) * 1000);
        BOOST_CHECK_EQUAL(more_ps(TLA_SLOT_COSTS_KERNBENCH, TLA_SLOTS_HBM), (r.hbm_a - r.tcm) * 1000);
        BOOST_CHECK_EQUAL(more_ps(TLA_SLOT_COSTS_KERNBENCH_HOP, TLA_SLOTS_SRAM), (r.sram_b - r.tcm) * 1000);
        BOOST_CHECK_EQUAL(more_ps(TLA_SLOT_COSTS_KERNBENCH_HOP, TLA_SLOTS_HBM), (r.hbm_b - r.tcm) * 1000);
    }
}

BOOST_AUTO_TEST_CASE(slots_of_memory_have_no_table_and_names_are_those_of_the_keys) {
    BOOST_CHECK_EQUAL(tla_slot_cost_ps(TLA_SLOT_COSTS_MEMORY, TLA_SLOTS_HBM, 4096), 0u);
    for (const tla_slot_memory memory : {TLA_SLOTS_TCM, TLA_SLOTS_HBM, TLA_SLOTS_SRAM})
        BOOST_CHECK_EQUAL(tla_slot_cost_ps(TLA_SLOT_COSTS_KERNBENCH_FREE, memory, 4096), 0u);
    BOOST_CHECK_EQUAL(tla_slot_cost_ps(TLA_SLOT_COSTS_COUNT, TLA_SLOTS_HBM, 4096), 0u);
    BOOST_CHECK_EQUAL(std::string(tla_slot_costs_name(TLA_SLOT_COSTS_KERNBENCH_HOP)), "kernbench_hop");
    BOOST_CHECK_EQUAL(std::string(tla_slot_memory_name(TLA_SLOTS_SRAM)), "sram");
    BOOST_CHECK(!tla_slot_costs_name(TLA_SLOT_COSTS_COUNT) && !tla_slot_memory_name(TLA_SLOT_MEMORY_COUNT));
}
