// A mapping command for many targets: sent to each, answers gathered, taken back where one refuses.
#include "fan_out.hpp"

#include "scatter.hpp"

#include <algorithm>
#include <utility>

namespace tlmalloc {

namespace {

bool overlap(const tla_scope &a, const tla_scope &b) {
    return (a.sip_mask & b.sip_mask) && (a.die_mask & b.die_mask) && (a.pe_mask & b.pe_mask);
}

} // namespace

fan_out::result fan_out::send(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, tla_command command,
                              tla_target target, std::uint64_t at_ps, bool gather) {
    command.target = target;
    settle(socket, in_order, at_ps); // their ports are taken until the answers have been read
    std::vector<std::size_t> children, done;
    scatter commands(socket, in_order);
    for (std::size_t child = 0; child < children_.size(); child++) {
        if (!overlap(children_[child].covers, command.scope)) continue;
        children.push_back(child);
        commands.command(children_[child].port_address, command, std::max(at_ps, free_ps_[child]), gather);
    }
    commands.gather();
    result r{children.empty() ? TLA_INVALID_ARGUMENT : TLA_OK, at_ps, at_ps};
    for (std::size_t i = 0; i < children.size(); i++) {
        const scatter::outcome &sent = commands.outcomes()[i];
        r.written_ps = std::max(r.written_ps, sent.written_ps);
        if (gather) r.done_ps = std::max(r.done_ps, free_ps_[children[i]] = sent.answered_ps);
        if (!sent.status)
            done.push_back(children[i]);
        else if (!r.status)
            r.status = sent.status;
    }
    r.done_ps = std::max(r.done_ps, r.written_ps);
    if (!gather) {
        posted_command_ = command;
        posted_refused_ = r.status != TLA_OK;
        posted_ = done;
    } else if (r.status) {
        r.done_ps = take_back(socket, in_order, command, done, r.done_ps);
    }
    return r;
}

// All or none: those that did the command undo it.
std::uint64_t fan_out::take_back(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, tla_command command,
                                 std::vector<std::size_t> done, std::uint64_t at_ps) {
    if (command.opcode != TLA_OP_MAP && command.opcode != TLA_OP_UNMAP) return at_ps;
    command.opcode = TLA_OP_TAKE_BACK;
    std::uint64_t end_ps = at_ps;
    for (unsigned tries = 0; !done.empty() && tries < take_back_tries; tries++) {
        scatter commands(socket, in_order);
        for (const std::size_t child : done)
            commands.command(children_[child].port_address, command, std::max(at_ps, free_ps_[child]), true);
        commands.gather();
        std::vector<std::size_t> again;
        for (std::size_t i = 0; i < done.size(); i++) {
            const scatter::outcome &sent = commands.outcomes()[i];
            end_ps = std::max(end_ps, free_ps_[done[i]] = sent.answered_ps);
            if (sent.status == TLA_BUSY)
                again.push_back(done[i]);
            else
                not_restored_ += sent.status != TLA_OK;
        }
        done = again;
    }
    not_restored_ += done.size();
    return end_ps;
}

std::uint64_t fan_out::settle(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, std::uint64_t at_ps) {
    const std::vector<std::size_t> asked = std::exchange(posted_, {});
    bool refused = std::exchange(posted_refused_, false);
    scatter answers(socket, in_order);
    for (const std::size_t child : asked)
        answers.completion(children_[child].port_address, std::max(at_ps, free_ps_[child]));
    answers.gather();
    std::vector<std::size_t> done;
    std::uint64_t end_ps = at_ps;
    for (std::size_t i = 0; i < asked.size(); i++) {
        const scatter::outcome &answer = answers.outcomes()[i];
        end_ps = std::max(end_ps, free_ps_[asked[i]] = answer.answered_ps);
        lost_ += answer.status != TLA_OK;
        refused |= answer.status != TLA_OK;
        if (!answer.status) done.push_back(asked[i]);
    }
    return refused ? take_back(socket, in_order, posted_command_, done, end_ps) : end_ps;
}

} // namespace tlmalloc
