// Everything is in the socket; here it is led on.
#include "tlmalloc/modules/at_lt_bridge.hpp"

#include "dmi.hpp"

namespace tlmalloc {

at_lt_bridge::at_lt_bridge(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "at_lt_bridge"), in("in", *this, settings.outstanding) {
    in.serve_for(*this);
    out.register_invalidate_direct_mem_ptr(this, &at_lt_bridge::invalidate);
}

void at_lt_bridge::serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    // The gate is left before the call, which may wait.
    if (in.size() > 1) arrival_gate::passage(gate_, in.place_of(input)).leave();
    out->b_transport(payload, delay);
}

unsigned at_lt_bridge::debug(tlm::tlm_generic_payload &payload) {
    return out->transport_dbg(payload);
}

bool at_lt_bridge::grant_dmi(unsigned, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    return in_reset() ? refuse_dmi(dmi) : out->get_direct_mem_ptr(payload, dmi);
}

void at_lt_bridge::invalidate(sc_dt::uint64 first, sc_dt::uint64 last) {
    in.withdraw_dmi(first, last);
}

} // namespace tlmalloc
