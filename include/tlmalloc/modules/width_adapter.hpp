// Connects sockets of two widths: tlmalloc's sockets have TLM's default of 32 bits, and many initiators have 64 or 128.
#ifndef TLMALLOC_MODULES_WIDTH_ADAPTER_HPP
#define TLMALLOC_MODULES_WIDTH_ADAPTER_HPP

#include "tlmalloc/modules/systemc.hpp"

namespace tlmalloc {

// The width of a TLM-2.0 socket is part of its type; therefore sockets of two widths do not bind. The payload means the
// same on both sides. The adapter forwards all calls unchanged in both directions, in no time: both coding styles, DMI
// and debug accesses. Use one adapter for each initiator:
//
//   tlmalloc::width_adapter<64> wide{"wide"}; // in front of a tlmalloc socket
//   initiator.out.bind(wide.in);
//   wide.out.bind(controller.in);
//
// width_adapter<32, 128> connects a tlmalloc initiator socket to a target of 128 bits.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/kit/WIDTH_ADAPTER.md.
template <unsigned in_bits, unsigned out_bits = 32>
class width_adapter : public sc_core::sc_module,
                      private tlm::tlm_fw_transport_if<>,
                      private tlm::tlm_bw_transport_if<> {
    static constexpr bool is_width(unsigned bits) { return bits >= 8 && (bits & (bits - 1)) == 0; }
    static_assert(is_width(in_bits) && is_width(out_bits), "a socket must be 8, 16, 32, 64, 128, ... bits wide");

  public:
    tlm::tlm_target_socket<in_bits> in{"in"};
    tlm::tlm_initiator_socket<out_bits> out{"out"};

    explicit width_adapter(sc_core::sc_module_name name) : sc_module(name) {
        in.bind(static_cast<tlm::tlm_fw_transport_if<> &>(*this));
        out.bind(static_cast<tlm::tlm_bw_transport_if<> &>(*this));
    }

  private:
    using payload_type = tlm::tlm_generic_payload;

    void b_transport(payload_type &payload, sc_core::sc_time &delay) override { out->b_transport(payload, delay); }
    tlm::tlm_sync_enum nb_transport_fw(payload_type &payload, tlm::tlm_phase &phase, sc_core::sc_time &delay) override {
        return out->nb_transport_fw(payload, phase, delay);
    }
    bool get_direct_mem_ptr(payload_type &payload, tlm::tlm_dmi &dmi) override {
        return out->get_direct_mem_ptr(payload, dmi);
    }
    unsigned transport_dbg(payload_type &payload) override { return out->transport_dbg(payload); }
    tlm::tlm_sync_enum nb_transport_bw(payload_type &payload, tlm::tlm_phase &phase, sc_core::sc_time &delay) override {
        return in->nb_transport_bw(payload, phase, delay);
    }
    void invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last) override {
        in->invalidate_direct_mem_ptr(first, last);
    }
};

} // namespace tlmalloc
#endif
