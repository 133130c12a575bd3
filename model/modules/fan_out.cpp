#include "fan_out.hpp"

#include "scatter.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

bool overlap(const tla_scope &a, const tla_scope &b) {
    return (a.sip_mask & b.sip_mask) && (a.die_mask & b.die_mask) && (a.pe_mask & b.pe_mask);
}

} // namespace

fan_out::result fan_out::send(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, tla_command command,
                              tla_target target, std::uint64_t at_ps, bool gather) {
    command.target = target;
    std::vector<std::size_t> children;
    for (std::size_t child = 0; child < children_.size(); child++)
        if (overlap(children_[child].covers, command.scope)) children.push_back(child);
    collect_posted(socket, in_order, children, at_ps);
    result r{children.empty() ? TLA_INVALID_ARGUMENT : TLA_OK, at_ps, at_ps};
    scatter commands(socket, in_order);
    for (const std::size_t child : children)
        commands.command(children_[child].port_address, command, std::max(at_ps, free_ps_[child]), gather);
    commands.gather();
    std::vector<std::size_t> done;
    for (std::size_t i = 0; i < children.size(); i++) {
        const scatter::outcome &sent = commands.outcomes()[i];
        r.written_ps = std::max(r.written_ps, sent.written_ps);
        if (gather)
            r.done_ps = std::max(r.done_ps, free_ps_[children[i]] = sent.answered_ps);
        else
            posted_[children[i]] = sent.status == TLA_OK;
        if (!sent.status)
            done.push_back(children[i]);
        else if (!r.status)
            r.status = sent.status;
    }
    r.done_ps = std::max(r.done_ps, r.written_ps);
    if (!gather || !r.status || command.opcode != TLA_OP_MAP) return r;
    command.opcode = TLA_OP_UNMAP; // all or none
    scatter taken_back(socket, in_order);
    for (const std::size_t child : done)
        taken_back.command(children_[child].port_address, command, r.done_ps, true);
    taken_back.gather();
    for (std::size_t i = 0; i < done.size(); i++)
        r.done_ps = std::max(r.done_ps, free_ps_[done[i]] = taken_back.outcomes()[i].answered_ps);
    return r;
}

// A port is taken until the answer to what was posted there has been read.
void fan_out::collect_posted(tlm::tlm_fw_transport_if<> &socket, outlet *in_order,
                             const std::vector<std::size_t> &children, std::uint64_t at_ps) {
    scatter answers(socket, in_order);
    std::vector<std::size_t> asked;
    for (const std::size_t child : children) {
        if (!posted_[child]) continue;
        answers.completion(children_[child].port_address, std::max(at_ps, free_ps_[child]));
        asked.push_back(child);
        posted_[child] = false;
    }
    answers.gather();
    for (std::size_t i = 0; i < asked.size(); i++) {
        free_ps_[asked[i]] = answers.outcomes()[i].answered_ps;
        lost_ += answers.outcomes()[i].status != TLA_OK;
    }
}

} // namespace tlmalloc
