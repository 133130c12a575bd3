// SystemC's own AT examples (libsystemc-doc), their files as they are: their initiators in front of a target of ours,
// and the bridge in front of their targets, which answer in one, two and four phases.
#define REPORT_DEFINE_GLOBALS // the examples want one file to define their reporting switches
#include "at_target_1_phase.h"
#include "at_target_2_phase.h"
#include "at_target_4_phase.h"
#include "initiator_top.h"
#include "reporting.h"
#include "tests/modules/random_accesses.hpp"
#include "tlmalloc/modules/at_lt_bridge.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/lt_at_bridge.hpp"

#include <boost/test/unit_test.hpp>

using tlmalloc::testing::random_accesses;

namespace {

constexpr std::uint64_t memory_bytes = 1 << 16;

tlmalloc::lt_at_bridge::config bridge_config(unsigned outstanding) {
    tlmalloc::lt_at_bridge::config c;
    c.capacity = memory_bytes;
    c.outstanding = outstanding;
    c.byte_enables = false; // the examples' memory has none
    return c;
}

// Accesses with data checks to one of the examples' targets, which refuse the last word of their memory and are slow:
// each writes texts about every phase.
template <typename Target>
void is_right_behind_the_bridge(unsigned outstanding) {
    const sc_core::sc_time ns(1, sc_core::SC_NS);
    Target target("target", 201, "memory_socket", memory_bytes + 4, 4, 2 * ns, 10 * ns, 6 * ns);
    tlmalloc::lt_at_bridge bridge("bridge", bridge_config(outstanding));
    random_accesses::settings s;
    s.size = memory_bytes;
    s.bounded = true;
    s.count = 400;
    s.debug = false; // the examples' targets move no bytes then
    random_accesses from("from", s);
    from.checker.out.bind(bridge.in);
    bridge.out.bind(target.m_memory_socket);
    sc_core::sc_start();
    from.check_all_went_well();
    BOOST_TEST(bridge.get_statistics().protocol_errors == 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_initiator_of_the_examples_writes_and_reads_back) {
    initiator_top initiator("initiator", 101, 0, 4096, 2);
    tlmalloc::at_lt_bridge bridge("bridge", {});
    tlmalloc::hbm_slice slice("slice", {});
    initiator.initiator_socket(bridge.in);
    bridge.out.bind(slice.in);
    sc_core::sc_start();
    const tlmalloc::hbm_slice::statistics s = slice.get_statistics();
    BOOST_TEST(s.errors == 0u);
    BOOST_TEST(s.writes == 32u);
    BOOST_TEST(s.reads == 32u);
    BOOST_TEST(sc_core::sc_report_handler::get_count(sc_core::SC_ERROR) == 0u); // it compares what it reads
}

BOOST_AUTO_TEST_CASE(a_target_of_one_phase_is_right_behind_the_bridge) {
    is_right_behind_the_bridge<at_target_1_phase>(1); // at times it moves bytes at once, at times with the response
}
BOOST_AUTO_TEST_CASE(a_target_of_two_phases_is_right_behind_the_bridge) {
    is_right_behind_the_bridge<at_target_2_phase>(8);
}
BOOST_AUTO_TEST_CASE(a_target_of_four_phases_is_right_behind_the_bridge) {
    is_right_behind_the_bridge<at_target_4_phase>(8);
}
