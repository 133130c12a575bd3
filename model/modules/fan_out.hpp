// One command to several control ports, and the gathering of their answers.
#ifndef TLMALLOC_MODEL_MODULES_FAN_OUT_HPP
#define TLMALLOC_MODEL_MODULES_FAN_OUT_HPP

#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/in_order.hpp"

#include <vector>

namespace tlmalloc {

class fan_out {
  public:
    explicit fan_out(std::vector<command_route> children)
        : children_(std::move(children)), posted_(children_.size()), free_ps_(children_.size()) {}

    struct result {
        tla_status status;        // the first failure, TLA_INVALID_ARGUMENT when no child lies in the scope
        std::uint64_t written_ps; // every child has accepted the command
        std::uint64_t done_ps;    // every child has answered; written_ps when nobody waits for that
    };

    // Passes the command (its target replaced) on to every child in its scope, all at once at at_ps; a child whose port
    // still runs the command before gets it when that has been answered. With `gather` the
    // answers are waited for, and a MAP that a child refuses is taken back from those that did it. Without, the answers
    // are collected before the next command to the same child; failures among them are counted in lost().
    // in_order: the way to the children in the exact style, in which the calling thread waits; else nullptr.
    result send(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, tla_command command, tla_target target,
                std::uint64_t at_ps, bool gather);

    std::uint64_t lost() const { return lost_; }

  private:
    void collect_posted(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, const std::vector<std::size_t> &children,
                        std::uint64_t at_ps);

    std::vector<command_route> children_;
    std::vector<bool> posted_;           // a command was posted whose answer nobody has read
    std::vector<std::uint64_t> free_ps_; // when the last answer that was read has come back: the port is free
    std::uint64_t lost_ = 0;
};

} // namespace tlmalloc
#endif
