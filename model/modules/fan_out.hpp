// One command to several control ports, and the gathering of their answers.
#ifndef TLMALLOC_MODEL_MODULES_FAN_OUT_HPP
#define TLMALLOC_MODEL_MODULES_FAN_OUT_HPP

#include "tlmalloc/detail/in_order.hpp"
#include "tlmalloc/modules/control_window.hpp"

#include <vector>

namespace tlmalloc {

class fan_out {
  public:
    explicit fan_out(std::vector<command_route> children)
        : children_(std::move(children)), free_ps_(children_.size()) {}

    struct result {
        tla_status status;        // the first failure, TLA_INVALID_ARGUMENT when no child lies in the scope
        std::uint64_t written_ps; // every child has accepted the command
        std::uint64_t done_ps;    // every child has answered; written_ps when nobody waits for that
    };

    // Passes the command (its target replaced) on to every child in its scope, all at once at at_ps; a child whose port
    // still runs the command before gets it when that has been answered. With `gather` the answers are waited for, and
    // a MAP or UNMAP that a child refuses is taken back from those that did it (TLA_OP_TAKE_BACK: one more command to
    // them, and its answers). Without, the same is done by settle(), which the next send() calls.
    // in_order: the way to the children in the exact style, in which the calling thread waits; else nullptr.
    result send(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, tla_command command, tla_target target,
                std::uint64_t at_ps, bool gather);

    // Reads the answers to what was posted, from at_ps on. What a child has refused is counted in lost() and taken back
    // from the others. Returns when that was done.
    std::uint64_t settle(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, std::uint64_t at_ps);

    std::uint64_t lost() const { return lost_; }
    std::uint64_t not_restored() const { return not_restored_; } // children that could not take a command back

  private:
    std::uint64_t take_back(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, tla_command command,
                            std::vector<std::size_t> done, std::uint64_t at_ps);

    static constexpr unsigned take_back_tries = 16; // of a child that refuses for now
    std::vector<command_route> children_;
    std::vector<std::size_t> posted_; // children whose answers to posted_command_ nobody has read
    tla_command posted_command_{};
    bool posted_refused_ = false;        // by a child that has answered already
    std::vector<std::uint64_t> free_ps_; // when the last answer that was read has come back: the port is free
    std::uint64_t lost_ = 0, not_restored_ = 0;
};

} // namespace tlmalloc
#endif
