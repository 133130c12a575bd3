// Mistakes planted in the engine in RTL are found by the memory controller that it stands in.
#include "modules/bare.hpp"
#include "modules/test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "unit/seeded_random.hpp"

#include <vector>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

// Random commands to a controller whose engines stand for planted ones here, each of another mistake. Buddies are of
// 1024 units, as the planted ones.
void check_found(tla_policy policy, std::uint32_t node_cycles) {
    memory_controller::config config = bare<memory_controller>();
    config.memory.of[TLA_HBM].bytes = 1 << 20;
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
    config.engine = TLA_ENGINE_RTL;
    config.engine_node_cycles = node_cycles;
    config.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_NONE, policy);
    config.memory.alignment = policy == TLA_BUDDY ? 1024 : 1;
    hbm_slice::config of_slice = bare<hbm_slice>();
    of_slice.capacity = 1 << 20;
    hbm_slice slice("slice", of_slice);
    memory_controller controller("controller", config);
    initiator cpu("cpu"), data("data");
    controller.slice.bind(slice.in);
    cpu.out.bind(controller.control);
    data.out.bind(controller.in);
    bool found = false;
    cpu.body = [&] {
        seeded_random random(7);
        std::vector<tla_completion> live;
        for (int i = 0; i < 1000 && !found; i++) {
            if (live.empty() || random.one_in(2)) {
                const tla_completion done = cpu.command(0, alloc_command(TLA_HBM, random.between(1, 9000)));
                found = done.status == TLA_ENGINE_DIFFERS;
                if (done.status == TLA_OK) live.push_back(done);
            } else {
                const std::size_t which = random.between(0, live.size() - 1);
                const tla_completion done = cpu.command(0, free_command(live[which].value, live[which].nbytes));
                found = done.status == TLA_ENGINE_DIFFERS;
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
            }
        }
        // From then on nothing is placed.
        if (found) BOOST_CHECK_EQUAL(cpu.command(0, alloc_command(TLA_HBM, 1)).status, TLA_ENGINE_DIFFERS);
    };
    simulate({&cpu, &data});
    BOOST_CHECK(found);
    BOOST_CHECK_EQUAL(controller.get_statistics(TLA_HBM).engine_differences, 2u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_lost_merge_is_found_by_the_controller) {
    check_found(TLA_FIRST_FIT, 1);
}

BOOST_AUTO_TEST_CASE(a_lost_merge_of_worst_fit_is_found_by_the_controller) {
    check_found(TLA_WORST_FIT, 1);
}

BOOST_AUTO_TEST_CASE(a_lost_merge_of_buddies_is_found_by_the_controller) {
    check_found(TLA_BUDDY, 1);
}

BOOST_AUTO_TEST_CASE(a_lost_merge_of_offset_bins_is_found_by_the_controller) {
    check_found(TLA_OFFSET_BINS, 1);
}

BOOST_AUTO_TEST_CASE(a_split_of_rounded_offset_bins_that_is_one_short_is_found_by_the_controller) {
    check_found(TLA_OFFSET_BINS_ROUNDED, 1);
}

BOOST_AUTO_TEST_CASE(a_split_that_is_one_short_is_found_by_the_controller) {
    check_found(TLA_FIRST_FIT, 2);
}
