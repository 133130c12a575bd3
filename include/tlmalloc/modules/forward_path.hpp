// Where the calls of an initiator go: to what its socket is bound to, or to an interface that the caller has.
#ifndef TLMALLOC_MODULES_FORWARD_PATH_HPP
#define TLMALLOC_MODULES_FORWARD_PATH_HPP

#include "tlmalloc/modules/systemc.hpp"

namespace tlmalloc {

// The functions that make transactions for their caller (command_sender.hpp) take one: pass them a socket or an
// interface, both convert. Every initiator socket of TLM's base protocol for one target is accepted, whatever its width
// and its class. A socket that is not bound yet is SystemC's error report at the call. The path must not outlive the
// socket or the interface.
class forward_path {
  public:
    forward_path(tlm::tlm_fw_transport_if<> &target) : target_(target) {}
    forward_path(sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &socket) : target_(*socket.operator->()) {}

    tlm::tlm_fw_transport_if<> *operator->() const { return &target_; }

  private:
    tlm::tlm_fw_transport_if<> &target_;
};

} // namespace tlmalloc
#endif
