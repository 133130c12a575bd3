// at_lt_bridge: initiators in four phases in front of a target that takes blocking calls only, and waits in them.
#include "phased_memory.hpp"
#include "random_accesses.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/at_lt_bridge.hpp"

using namespace tlmalloc;
using namespace tlmalloc::testing;

namespace {

// Somebody else's memory: no phases; every other call waits, the rest annotate.
struct blocking_memory : sc_core::sc_module {
    tlm_utils::simple_target_socket<blocking_memory> in{"in"};
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(1 << 18);
    std::uint64_t calls = 0;

    explicit blocking_memory(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &blocking_memory::b_transport);
        in.register_transport_dbg(this, &blocking_memory::transport_dbg);
        in.register_get_direct_mem_ptr(this, &blocking_memory::get_direct_mem_ptr);
    }
    unsigned transport_dbg(tlm::tlm_generic_payload &payload) {
        return debug_copy(payload, bytes.data(), bytes.size());
    }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) {
        dmi.set_dmi_ptr(bytes.data());
        dmi.set_start_address(0);
        dmi.set_end_address(bytes.size() - 1);
        dmi.allow_read_write();
        return true;
    }
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        payload.set_response_status(check_payload(payload, bytes.size()));
        if (payload.is_response_ok()) copy_payload(payload, bytes.data());
        delay += sc_core::sc_time(10, sc_core::SC_NS);
        if (calls++ % 2) return;
        sc_core::wait(delay);
        delay = sc_core::SC_ZERO_TIME;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(random_accesses_in_four_phases_are_right) {
    at_lt_bridge bridge("bridge", {});
    blocking_memory memory("memory");
    bridge.out.bind(memory.in);
    std::deque<random_accesses> all;
    for (unsigned i = 0; i < 4; i++) {
        random_accesses::settings s;
        s.base = i * 0x10000;
        s.bounded = i == 3;
        s.count = i == 0 ? 5'000 : 20'000;
        s.style = i == 0 ? coding::loosely_timed : coding::approximately_timed;
        s.seed = 50 + i;
        all.emplace_back(("initiator" + std::to_string(i)).c_str(), s).checker.out.bind(bridge.in);
    }
    sc_core::sc_start();
    for (const random_accesses &one : all) {
        one.check_all_went_well();
        BOOST_CHECK_GT(one.debug_accesses(), 100u);
        BOOST_CHECK_GT(one.direct_accesses(), 100u);
    }
    BOOST_CHECK(memory.calls == 65'000);
}

BOOST_AUTO_TEST_CASE(a_bridge_without_a_limit_is_refused) {
    check_refused([] { at_lt_bridge bridge("bridge", {0}); }, "/tlmalloc/at/config: outstanding must be at least 1");
}
