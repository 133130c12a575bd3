// Sockets as other frameworks see them: found by their names in SystemC's hierarchy, by the type that TLM's sockets
// have by default, and bound as that; several initiators at one socket, and sockets that nobody binds.
#include "bare.hpp"
#include "random_accesses.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/at_lt_bridge.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/host.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/lt_at_bridge.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/width_adapter.hpp"

using namespace tlmalloc;
using namespace test_initiator;
using tlmalloc::testing::coding;
using tlmalloc::testing::random_accesses;

namespace {

using any_initiator = tlm::tlm_base_initiator_socket<>;
using any_target = tlm::tlm_base_target_socket<>;

// As a platform does that binds what its configuration names.
void bind(const std::string &initiator_name, const std::string &target_name) {
    auto *const from = dynamic_cast<any_initiator *>(sc_core::sc_find_object(initiator_name.c_str()));
    auto *const to = dynamic_cast<any_target *>(sc_core::sc_find_object(target_name.c_str()));
    BOOST_REQUIRE_MESSAGE(from, initiator_name << " is not found");
    BOOST_REQUIRE_MESSAGE(to, target_name << " is not found");
    from->bind(*to);
}

memory_controller::config controller_config() {
    memory_controller::config c = bare<memory_controller>();
    c.memory.of[TLA_HBM].bytes = 1 << 18;
    c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
    c.memory.layout = TLA_LAYOUT_PLAIN;
    return c;
}

hbm_slice::config slice_config() {
    hbm_slice::config c = bare<hbm_slice>();
    c.capacity = 1 << 18;
    return c;
}

// Two initiators at the controller's socket and one at the fabric in front of it, all bound by name; each has its part
// of the slice.
void several_initiators_are_bound_by_name(coding how) {
    memory_controller controller("controller", controller_config());
    hbm_slice slice("slice", slice_config());
    interconnect::config roads = bare<interconnect>();
    roads.nodes.resize(2);
    roads.links = {{0, 1, 1'000, 256'000'000'000, 0}, {1, 0, 1'000, 256'000'000'000, 0}};
    roads.sources = {0};
    roads.targets = {1};
    roads.windows = {{0x20000, 0x10000, 0, false}};
    interconnect fabric("fabric", roads);
    std::deque<random_accesses> all;
    for (unsigned i = 0; i < 3; i++) {
        random_accesses::settings s;
        s.base = i * 0x10000;
        s.count = 2'000;
        s.style = how;
        s.seed = 60 + i;
        all.emplace_back(("initiator" + std::to_string(i)).c_str(), s);
    }
    bind("initiator0.checker.out", "controller.in");
    bind("initiator1.checker.out", "controller.in");
    bind("initiator2.checker.out", "fabric.in");
    bind("fabric.out", "controller.in");
    bind("controller.slice", "slice.in");
    initiator commands("commands");
    bind("commands.out", "controller.control");
    commands.body = [&] { BOOST_CHECK_EQUAL(commands.command(0, alloc_command(TLA_HBM, 64)).status, TLA_OK); };
    simulate({&commands});
    for (const random_accesses &one : all)
        one.check_all_went_well();
}

template <typename Socket>
void is_found(const char *name) {
    BOOST_CHECK_MESSAGE(dynamic_cast<Socket *>(sc_core::sc_find_object(name)), name << " is not found");
}

// 20,000 accesses by initiators of `bits` through adapters, and by as many of 32 without: the same bytes; by one of
// them the same times (of several it depends on who comes first at a time).
template <unsigned bits>
void an_adapter_takes_no_time(coding how, unsigned initiators = 1) {
    struct wide : sc_core::sc_module { // an initiator of 32 bits, made wider, and its adapter
        width_adapter<32, bits> out{"out"};
        width_adapter<bits> adapter{"adapter"};
        explicit wide(sc_core::sc_module_name name) : sc_module(name) { out.out.bind(adapter.in); }
    };
    struct memory : sc_core::sc_module {
        memory_controller controller;
        hbm_slice slice;
        memory(sc_core::sc_module_name name)
            : sc_module(name), controller("controller", controller_config()), slice("slice", slice_config()) {
            controller.slice.bind(slice.in);
        }
    };
    memory with("with"), without("without");
    initiator with_control("with_control"), without_control("without_control"); // do nothing
    with_control.out.bind(with.controller.control);
    without_control.out.bind(without.controller.control);
    std::deque<wide> outer;
    std::deque<random_accesses> far, near;
    for (unsigned i = 0; i < initiators; i++) {
        const std::string number = std::to_string(i);
        random_accesses::settings s;
        s.count = 20'000 / initiators;
        s.style = how;
        s.size = (1 << 18) / initiators;
        s.base = i * s.size;
        s.bounded = i == initiators - 1;
        s.seed = 70 + i;
        outer.emplace_back(("outer" + number).c_str());
        far.emplace_back(("far" + number).c_str(), s).checker.out.bind(outer[i].out.in);
        outer[i].adapter.out.bind(with.controller.in);
        near.emplace_back(("near" + number).c_str(), s).checker.out.bind(without.controller.in);
    }
    sc_core::sc_start();
    for (unsigned i = 0; i < initiators; i++) {
        far[i].check_all_went_well();
        near[i].check_all_went_well();
        if (initiators == 1) BOOST_CHECK_EQUAL(to_ps(far[i].ended()), to_ps(near[i].ended()));
        BOOST_CHECK_GT(far[i].debug_accesses(), 100u);
        BOOST_CHECK_EQUAL(far[i].direct_accesses(), near[i].direct_accesses());
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(several_initiators_are_bound_to_one_socket_by_name) {
    several_initiators_are_bound_by_name(coding::loosely_timed);
}
BOOST_AUTO_TEST_CASE(several_initiators_in_four_phases_are_bound_to_one_socket_by_name) {
    several_initiators_are_bound_by_name(coding::approximately_timed);
}

BOOST_AUTO_TEST_CASE(every_socket_of_the_modules_that_others_use_is_found) {
    memory_controller controller("controller", controller_config());
    pe_mmu mmu("mmu", bare<pe_mmu>());
    interconnect::config roads = bare<interconnect>();
    roads.nodes.resize(1);
    roads.sources = roads.targets = {0};
    interconnect fabric("fabric", roads);
    hbm_slice slice("slice", slice_config());
    at_lt_bridge at("at", {});
    lt_at_bridge::config c;
    c.capacity = 1 << 18;
    lt_at_bridge lt("lt", c);
    width_adapter<32, 32> width("width");
    host runs("host", bare<host>());
    for (const char *name : {"controller.in", "controller.control", "mmu.in", "mmu.control", "fabric.in", "slice.in",
                             "at.in", "lt.in", "width.in", "host.faults"})
        is_found<any_target>(name);
    for (const char *name : {"controller.slice", "controller.tcm", "controller.sram", "controller.m_cpu_memory",
                             "controller.host_memory", "mmu.out", "mmu.walk", "mmu.allocator", "mmu.fault",
                             "fabric.out", "at.out", "lt.out", "width.out", "host.out", "host.va"})
        is_found<any_initiator>(name);
}

BOOST_AUTO_TEST_CASE(an_adapter_of_64_bits_takes_no_time) {
    an_adapter_takes_no_time<64>(coding::loosely_timed);
}
BOOST_AUTO_TEST_CASE(an_adapter_of_128_bits_takes_no_time) {
    an_adapter_takes_no_time<128>(coding::loosely_timed);
}
BOOST_AUTO_TEST_CASE(an_adapter_of_512_bits_takes_no_time_in_four_phases) {
    an_adapter_takes_no_time<512>(coding::approximately_timed);
}
BOOST_AUTO_TEST_CASE(an_adapter_of_8_bits_takes_no_time_in_four_phases) {
    an_adapter_takes_no_time<8>(coding::approximately_timed);
}
BOOST_AUTO_TEST_CASE(adapters_of_64_bits_of_two_initiators_keep_every_byte) {
    an_adapter_takes_no_time<64>(coding::loosely_timed, 2);
}
BOOST_AUTO_TEST_CASE(adapters_of_128_bits_of_two_initiators_keep_every_byte_in_four_phases) {
    an_adapter_takes_no_time<128>(coding::approximately_timed, 2);
}
