#include "fan_out.hpp"

#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

bool overlap(const tla_scope &a, const tla_scope &b) {
    return (a.sip_mask & b.sip_mask) && (a.die_mask & b.die_mask) && (a.pe_mask & b.pe_mask);
}

// A transaction cannot begin in the kernel's past.
sc_core::sc_time delay_to(std::uint64_t at_ps) {
    sc_core::sc_time delay;
    set_local_ps(delay, std::max(at_ps, to_ps(sc_core::sc_time_stamp())));
    return delay;
}

} // namespace

// Reads a child's completion at at_ps; returns when the answer is back.
std::uint64_t fan_out::collect(tlm::tlm_fw_transport_if<> &socket, std::size_t child, std::uint64_t at_ps,
                               tla_status &status) {
    tla_completion answer{};
    sc_core::sc_time delay = delay_to(at_ps);
    status = read_completion(socket, children_[child].port_address, answer, delay);
    return free_ps_[child] = local_ps(delay);
}

fan_out::result fan_out::send(tlm::tlm_fw_transport_if<> &socket, tla_command command, tla_target target,
                              std::uint64_t at_ps, bool gather) {
    command.target = target;
    struct sent {
        std::size_t child;
        std::uint64_t written_ps;
        tla_status status;
    };
    settle(socket, at_ps); // their ports are taken until the answers have been read
    std::vector<sent> all;
    result r{TLA_OK, at_ps, at_ps};
    for (std::size_t child = 0; child < children_.size(); child++) {
        if (!overlap(children_[child].covers, command.scope)) continue;
        std::uint64_t start = std::max(at_ps, free_ps_[child]);
        sc_core::sc_time delay = delay_to(start);
        const tla_status status = post_command(socket, children_[child].port_address, command, delay);
        all.push_back({child, local_ps(delay), status});
        r.written_ps = std::max(r.written_ps, local_ps(delay));
        if (status && !r.status) r.status = status;
    }
    r.done_ps = r.written_ps;
    if (all.empty()) r.status = TLA_INVALID_ARGUMENT;
    if (!gather) {
        posted_command_ = command;
        posted_refused_ = r.status != TLA_OK;
        for (const sent &s : all)
            if (!s.status) posted_.push_back(s.child);
        return r;
    }
    std::vector<std::size_t> done;
    for (sent &s : all) {
        if (!s.status) r.done_ps = std::max(r.done_ps, collect(socket, s.child, s.written_ps, s.status));
        if (!s.status)
            done.push_back(s.child);
        else if (!r.status)
            r.status = s.status;
    }
    if (r.status) r.done_ps = take_back(socket, command, done, r.done_ps);
    return r;
}

// All or none: those that did the command undo it.
std::uint64_t fan_out::take_back(tlm::tlm_fw_transport_if<> &socket, tla_command command,
                                 const std::vector<std::size_t> &done, std::uint64_t at_ps) {
    if (command.opcode != TLA_OP_MAP && command.opcode != TLA_OP_UNMAP) return at_ps;
    command.opcode = TLA_OP_TAKE_BACK;
    std::uint64_t end_ps = at_ps;
    for (const std::size_t child : done) {
        tla_status status = TLA_BUSY;
        std::uint64_t from_ps = at_ps;
        for (unsigned tries = 0; status == TLA_BUSY && tries < take_back_tries; tries++) {
            sc_core::sc_time delay = delay_to(from_ps);
            status = post_command(socket, children_[child].port_address, command, delay);
            from_ps = status ? local_ps(delay) : collect(socket, child, local_ps(delay), status);
        }
        not_restored_ += status != TLA_OK;
        end_ps = std::max(end_ps, from_ps);
    }
    return end_ps;
}

void fan_out::settle(tlm::tlm_fw_transport_if<> &socket, std::uint64_t at_ps) {
    std::vector<std::size_t> asked, done;
    asked.swap(posted_);
    std::uint64_t end_ps = at_ps;
    bool refused = posted_refused_;
    posted_refused_ = false;
    for (const std::size_t child : asked) {
        tla_status status = TLA_OK;
        end_ps = std::max(end_ps, collect(socket, child, std::max(at_ps, free_ps_[child]), status));
        lost_ += status != TLA_OK;
        refused |= status != TLA_OK;
        if (!status) done.push_back(child);
    }
    if (refused) take_back(socket, posted_command_, done, end_ps);
}

} // namespace tlmalloc
