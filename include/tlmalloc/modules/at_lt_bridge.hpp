// Converts four phases to b_transport: initiators of the base protocol call a target that accepts blocking calls only.
#ifndef TLMALLOC_MODULES_AT_LT_BRIDGE_HPP
#define TLMALLOC_MODULES_AT_LT_BRIDGE_HPP

#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/resettable.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <cstdint>

namespace tlmalloc {

// `in` serves the four phases as every tlmalloc target does (target_socket.hpp). Threads call b_transport at `out` with
// the unchanged payloads, so the target may wait. Blocking calls, DMI and debug accesses pass through unchanged. If
// several initiators call at one time, the bridge serves first the initiator whose name is first as text.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/kit/AT_LT_BRIDGE.md.
class at_lt_bridge : public instrumented, public resettable, private access_target {
  public:
    struct config {
        // Accepted requests per initiator without END_RESP, at least 1; more wait for END_REQ.
        unsigned outstanding = 64;
    };

    target_socket<0> in;
    initiator_socket<at_lt_bridge> out{"out"};

    // Reports an error /tlmalloc/at/config if `outstanding` is 0.
    at_lt_bridge(sc_core::sc_module_name name, const config &settings);

  private:
    void begin_reset() override { in.withdraw_dmi(0, UINT64_MAX); }
    void make_new() override {} // the bridge keeps no state
    void serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override;
    unsigned debug(tlm::tlm_generic_payload &payload) override;
    bool grant_dmi(unsigned input, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) override;
    void invalidate(sc_dt::uint64 first, sc_dt::uint64 last);

    arrival_gate gate_{name()};
};

} // namespace tlmalloc
#endif
