// Sends a command to a control port and reads its completion, as any initiator does.
#ifndef TLMALLOC_MODULES_COMMAND_SENDER_HPP
#define TLMALLOC_MODULES_COMMAND_SENDER_HPP

#include "tlmalloc/command/command.h"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/systemc.hpp"

namespace tlmalloc {

// The argument of functions that make transactions for their caller: a socket or an interface, which both convert to
// it. It accepts every initiator socket of TLM's base protocol for one target, whatever its width and its class. If the
// socket is not bound yet, SystemC reports an error at the call. The path must not outlive the socket or the interface.
class forward_path {
  public:
    forward_path(tlm::tlm_fw_transport_if<> &target) : target_(target) {}
    forward_path(sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &socket) : target_(*socket.operator->()) {}

    tlm::tlm_fw_transport_if<> *operator->() const { return &target_; }

  private:
    tlm::tlm_fw_transport_if<> &target_;
};

// For all functions below: `target` is an initiator socket, as in `send_command(control, 0, ...)`, or an interface.
// `who` is the extension that identifies the requester, or null; it stays the caller's. `delay` is the caller's local
// time, and grows by the time of the transactions, also when they fail. The target may wait: call the functions from a
// thread. If a thread is killed or reset in a call, its transactions remain in flight (target_socket.hpp).

// Writes the descriptor to the port whose registers begin at `port_address`. Returns TLA_BUS_ERROR if the target
// answers the write with an error. Returns TLA_INVALID_ARGUMENT, with a warning /tlmalloc/command_sender, if the
// command cannot be encoded; nothing is sent then.
tla_status post_command(forward_path target, std::uint64_t port_address, const tla_command &command,
                        sc_core::sc_time &delay, requester *who = nullptr);

// Reads the completion; delay then ends when the command is done and the answer has returned. Returns the completion's
// status. Returns TLA_BUS_ERROR if the target answers the read with an error, or if the bytes are not a completion;
// `completion` is unchanged then.
tla_status read_completion(forward_path target, std::uint64_t port_address, tla_completion &completion,
                           sc_core::sc_time &delay, requester *who = nullptr);

// Posts the command, then reads its completion. Errors as the two functions above; after an error of the first,
// `completion` is unchanged.
tla_status send_command(forward_path target, std::uint64_t port_address, const tla_command &command,
                        tla_completion &completion, sc_core::sc_time &delay, requester *who = nullptr);

using retry_policy = tla_retry_policy;

// Sends a command, and repeats it while it returns TLA_BUSY, at most policy.retries times, policy.delay_ps after each
// rejection. `retried` grows by the number of repetitions. Returns the status of the last attempt.
tla_status send_command(forward_path target, std::uint64_t port_address, const tla_command &command,
                        tla_completion &completion, sc_core::sc_time &delay, const retry_policy &policy,
                        std::uint64_t &retried, requester *who = nullptr);

// Makes an access of nbytes at an address; `data` holds nbytes. With `extent` the access is part of a transfer, with
// `part` of a transaction, with `token` of a message; the caller owns these extensions. Returns true if the answer is
// OK. Otherwise the target determines what has changed; tlmalloc's memories change nothing.
bool access(forward_path target, tlm::tlm_command command, std::uint64_t address, void *data, std::uint32_t nbytes,
            sc_core::sc_time &delay, requester *who = nullptr, transfer_extent *extent = nullptr,
            transaction_part *part = nullptr, message_token *token = nullptr);

} // namespace tlmalloc
#endif
