// Planners of compaction on a host without memory.
#include "compaction_heaps.hpp"
#include "host_memory/failing.hpp"

#include <memory>

using namespace compaction;

BOOST_AUTO_TEST_CASE(a_planner_without_host_memory_makes_no_plan_and_then_the_whole_one) {
    heap twice; // exact searches sets, and sequences of moves
    twice.range() = {1, 12};
    twice.hole = 5;
    twice.add(1, 3);
    twice.add(5, 2);
    twice.add(10, 2);
    heap many;
    many.range() = {0, 980};
    many.hole = 20;
    for (std::uint64_t i = 0; i < 70; i++)
        many.add(14 * i, 4);
    heap buddies;
    buddies.range() = {0, 32};
    buddies.buddies = true;
    buddies.hole = 16;
    buddies.add(2, 2);
    buddies.add(20, 1);
    for (const char *name : {"exact", "window", "slide"})
        for (const heap *problem : {&twice, &many, &buddies}) {
            const tla_compaction_planner *planner = tla_compaction_planner_named(name);
            const std::size_t allocations = host_memory::exhaust(
                name, [] { return std::make_unique<plan_of>(); },
                [&](plan_of &plan) {
                    const tla_status status = plan.find(*problem, *planner);
                    return status == TLA_LIMIT ? TLA_OK : status; // window and slide may have no plan
                },
                [](plan_of &plan) { return std::to_string(plan.count) + " moves"; });
            BOOST_CHECK_GT(allocations, 0u);
        }
}
