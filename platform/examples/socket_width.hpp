// From sockets of one width to sockets of another: tlmalloc's have TLM's default of 32 bits, many initiators 64.
//
// The width of a TLM-2.0 socket is the size of its bus word. It is part of the type, so that sockets of two widths do
// not bind; the payload has no words but an array of bytes in the order of their addresses, and means the same on both
// sides. So all calls go through unchanged, in both directions, in no time, for both coding styles. (A host that stores
// words in another order than its model, IEEE 1666-2011 14.18, would have to swap here; the modules assume
// little-endian hosts as Debian's are.)
#ifndef TLMALLOC_PLATFORM_EXAMPLES_SOCKET_WIDTH_HPP
#define TLMALLOC_PLATFORM_EXAMPLES_SOCKET_WIDTH_HPP

#include "tlmalloc/modules/systemc.hpp"

#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

template <unsigned from_bits, unsigned to_bits>
class socket_width : public sc_core::sc_module {
  public:
    tlm_utils::simple_target_socket<socket_width, from_bits> in{"in"};
    tlm_utils::simple_initiator_socket<socket_width, to_bits> out{"out"};

    explicit socket_width(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &socket_width::b_transport);
        in.register_nb_transport_fw(this, &socket_width::nb_transport_fw);
        in.register_get_direct_mem_ptr(this, &socket_width::get_direct_mem_ptr);
        in.register_transport_dbg(this, &socket_width::transport_dbg);
        out.register_nb_transport_bw(this, &socket_width::nb_transport_bw);
        out.register_invalidate_direct_mem_ptr(this, &socket_width::invalidate_direct_mem_ptr);
    }

  private:
    using payload = tlm::tlm_generic_payload;

    void b_transport(payload &p, sc_core::sc_time &delay) { out->b_transport(p, delay); }
    tlm::tlm_sync_enum nb_transport_fw(payload &p, tlm::tlm_phase &phase, sc_core::sc_time &delay) {
        return out->nb_transport_fw(p, phase, delay);
    }
    tlm::tlm_sync_enum nb_transport_bw(payload &p, tlm::tlm_phase &phase, sc_core::sc_time &delay) {
        return in->nb_transport_bw(p, phase, delay);
    }
    bool get_direct_mem_ptr(payload &p, tlm::tlm_dmi &region) { return out->get_direct_mem_ptr(p, region); }
    unsigned transport_dbg(payload &p) { return out->transport_dbg(p); }
    void invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last) {
        in->invalidate_direct_mem_ptr(first, last);
    }
};

#endif
