// Somebody else's target: stands in front of any other and spends its time by waiting, not by annotating.
#ifndef TLMALLOC_TESTS_MODULES_SLOW_LANE_HPP
#define TLMALLOC_TESTS_MODULES_SLOW_LANE_HPP

#include <algorithm>
#include <functional>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

// A call waits until its local time has come, then `before`, then what the target behind annotated, then `after`: legal
// for a b_transport (IEEE 1666-2011 11.1.1), and then other threads come in while it waits.
class slow_lane : public sc_core::sc_module {
  public:
    tlm_utils::simple_target_socket<slow_lane> in{"in"};
    tlm_utils::simple_initiator_socket<slow_lane> out{"out"};
    sc_core::sc_time before{3, sc_core::SC_NS}, after{2, sc_core::SC_NS};
    std::function<void(tlm::tlm_generic_payload &)> inside; // called while the access is under way
    unsigned calls = 0, under_way = 0, most_under_way = 0;

    explicit slow_lane(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &slow_lane::b_transport);
        in.register_transport_dbg(this, &slow_lane::transport_dbg);
        in.register_get_direct_mem_ptr(this, &slow_lane::get_direct_mem_ptr);
        out.register_invalidate_direct_mem_ptr(this, &slow_lane::invalidate_direct_mem_ptr);
    }

  private:
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        calls++;
        most_under_way = std::max(most_under_way, ++under_way);
        sc_core::wait(delay + before);
        delay = sc_core::SC_ZERO_TIME;
        if (inside) inside(payload);
        out->b_transport(payload, delay);
        sc_core::wait(delay + after);
        delay = sc_core::SC_ZERO_TIME;
        under_way--;
    }
    unsigned transport_dbg(tlm::tlm_generic_payload &payload) { return out->transport_dbg(payload); }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
        return out->get_direct_mem_ptr(payload, dmi);
    }
    void invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last) {
        in->invalidate_direct_mem_ptr(first, last);
    }
};

#endif
