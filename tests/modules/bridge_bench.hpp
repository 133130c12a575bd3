// An lt_at_bridge between initiators and a memory that takes four phases only, with a checker of the protocol between.
#ifndef TLMALLOC_TESTS_MODULES_BRIDGE_BENCH_HPP
#define TLMALLOC_TESTS_MODULES_BRIDGE_BENCH_HPP

#include "phased_memory.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/lt_at_bridge.hpp"
#include "tlmalloc/testing/base_protocol_checker.hpp"

namespace tlmalloc::testing {

inline constexpr std::uint64_t bridged_bytes = 1 << 18;

inline lt_at_bridge::config bridge_config(lt_at_bridge::response_end how = lt_at_bridge::response_end::updated) {
    lt_at_bridge::config c;
    c.capacity = bridged_bytes;
    c.outstanding = 8; // fewer than the memory could have
    c.ending = how;
    return c;
}

// Initiators -> bridge -> checker -> memory.
struct bridge_bench {
    lt_at_bridge bridge;
    base_protocol_checker checker{"behind"};
    phased_memory memory;

    bridge_bench(const lt_at_bridge::config &how, const phased_memory::settings &of)
        : bridge("bridge", how), memory("memory", of) {
        bridge.out.bind(checker.in);
        checker.out.bind(memory.in);
    }
    void check_all_is_over() const {
        BOOST_TEST(checker.report() == "");
        BOOST_TEST(checker.in_flight() == 0u);
        BOOST_TEST(memory.faults.size() == 0u);
        if (!memory.faults.empty()) BOOST_TEST_MESSAGE(memory.faults.front());
        BOOST_TEST(bridge.get_statistics().protocol_errors == 0u);
        BOOST_TEST(bridge.get_statistics().requests == memory.requests);
    }
};

} // namespace tlmalloc::testing
#endif
