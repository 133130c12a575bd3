// Sending a command to a control port and reading its completion, as any initiator does it.
#ifndef TLMALLOC_MODULES_COMMAND_SENDER_HPP
#define TLMALLOC_MODULES_COMMAND_SENDER_HPP

#include "tlmalloc/command/command.h"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/systemc.hpp"

namespace tlmalloc {

// The functions that make transactions for their caller take one: pass them a socket or an interface, both convert.
// Every initiator socket of TLM's base protocol for one target is accepted, whatever its width and its class. A socket
// that is not bound yet is SystemC's error report at the call. The path must not outlive the socket or the interface.
class forward_path {
  public:
    forward_path(tlm::tlm_fw_transport_if<> &target) : target_(target) {}
    forward_path(sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &socket) : target_(*socket.operator->()) {}

    tlm::tlm_fw_transport_if<> *operator->() const { return &target_; }

  private:
    tlm::tlm_fw_transport_if<> &target_;
};

// All of them: `target` is an initiator socket, as in `send_command(control, 0, ...)`, or an interface. `who` is the
// extension that says who asks, if there is one; it stays the caller's. A thread that is killed or reset in a call
// leaves what it has sent on its way (target_socket.hpp).

// Writes the descriptor to the port whose registers begin at `port_address`; delay grows by the time of the write.
// TLA_BUS_ERROR when the write is answered with an error, TLA_INVALID_ARGUMENT when the command cannot be encoded.
tla_status post_command(forward_path target, std::uint64_t port_address, const tla_command &command,
                        sc_core::sc_time &delay, requester *who = nullptr);

// Reads the completion; delay ends when the command is done and the answer is back. Returns its status, or
// TLA_BUS_ERROR when the read is answered with an error or what comes back is no completion.
tla_status read_completion(forward_path target, std::uint64_t port_address, tla_completion &completion,
                           sc_core::sc_time &delay, requester *who = nullptr);

// Both, one after the other.
tla_status send_command(forward_path target, std::uint64_t port_address, const tla_command &command,
                        tla_completion &completion, sc_core::sc_time &delay, requester *who = nullptr);

using retry_policy = tla_retry_policy;

// A command that is sent again as the policy says; `retried` grows by how often it was.
tla_status send_command(forward_path target, std::uint64_t port_address, const tla_command &command,
                        tla_completion &completion, sc_core::sc_time &delay, const retry_policy &policy,
                        std::uint64_t &retried, requester *who = nullptr);

// An access, part of a transfer if `extent` says so, and of a transaction if `part` does, of a message if `token` does;
// true when it is answered with OK.
bool access(forward_path target, tlm::tlm_command command, std::uint64_t address, void *data, std::uint32_t nbytes,
            sc_core::sc_time &delay, requester *who = nullptr, transfer_extent *extent = nullptr,
            transaction_part *part = nullptr, message_token *token = nullptr);

} // namespace tlmalloc
#endif
