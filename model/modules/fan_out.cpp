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
    std::vector<sent> all;
    result r{TLA_OK, at_ps, at_ps};
    for (std::size_t child = 0; child < children_.size(); child++) {
        if (!overlap(children_[child].covers, command.scope)) continue;
        std::uint64_t start = std::max(at_ps, free_ps_[child]);
        if (posted_[child]) { // its port is taken until the answer has been read
            tla_status earlier = TLA_OK;
            start = collect(socket, child, start, earlier);
            posted_[child] = false;
            lost_ += earlier != TLA_OK;
        }
        sc_core::sc_time delay = delay_to(start);
        const tla_status status = post_command(socket, children_[child].port_address, command, delay);
        all.push_back({child, local_ps(delay), status});
        r.written_ps = std::max(r.written_ps, local_ps(delay));
        if (status && !r.status) r.status = status;
    }
    r.done_ps = r.written_ps;
    if (all.empty()) r.status = TLA_INVALID_ARGUMENT;
    if (!gather) {
        for (const sent &s : all)
            posted_[s.child] = s.status == TLA_OK;
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
    if (!r.status || command.opcode != TLA_OP_MAP) return r;
    command.opcode = TLA_OP_UNMAP; // all or none
    for (const std::size_t child : done) {
        sc_core::sc_time delay = delay_to(r.done_ps);
        tla_status undone = post_command(socket, children_[child].port_address, command, delay);
        if (!undone) r.done_ps = std::max(r.done_ps, collect(socket, child, local_ps(delay), undone));
    }
    return r;
}

} // namespace tlmalloc
