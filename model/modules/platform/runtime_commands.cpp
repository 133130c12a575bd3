// Commands of the runtime: their destinations, their retries, and the commands that are calls of the driver.
#include "runtime_places.hpp"
#include "tlmalloc/command/control_port.h"

#include <algorithm>

namespace tlmalloc {

tla_command runtime::new_command(tla_opcode opcode, tla_target target, std::uint32_t correlation_id) {
    tla_command command{};
    command.opcode = opcode;
    command.target = target;
    command.correlation_id = correlation_id;
    return command;
}

runtime::addressed_command runtime::to_controller(unsigned port, tla_opcode opcode, tla_memory_kind memory,
                                                  const shard &s, std::uint32_t correlation_id, std::uint32_t object) {
    tla_paddr address{};
    tla_memory_kind_control(memory, s.where.sip, s.where.cube, s.where.pe, port * std::uint64_t{TLA_PORT_BYTES},
                            &address);
    addressed_command to{address.value, new_command(opcode, TLA_TARGET_MEMORY_CONTROLLER, correlation_id),
                         tla_memory_of_pe(memory, s.where).sip};
    to.command.memory = memory;
    to.command.object = object;
    to.command.pa = s.pa;
    to.command.nbytes = s.nbytes;
    return to;
}

std::vector<tla_completion> runtime::send_commands(way to, std::vector<addressed_command> commands) {
    std::vector<tla_sent_command> sent(commands.size());
    std::vector<tla_sent_command *> waiting;
    for (std::size_t i = 0; i < commands.size(); i++) {
        commands[i].command.request_id = next_request_++;
        sent[i].port_address = commands[i].port_address;
        sent[i].command = &commands[i].command;
        sent[i].gather = true;
        waiting.push_back(&sent[i]);
    }
    for (unsigned tries_left = settings_.retry.retries;; tries_left--) {
        std::vector<tla_sent_command *> now; // to different ports: the second to one follows when the first is answered
        for (tla_sent_command *p : waiting) {
            const auto to_its_port = [p](const tla_sent_command *other) {
                return other->port_address == p->port_address;
            };
            if (std::any_of(now.begin(), now.end(), to_its_port)) {
                post(to, now);
                now.clear();
            }
            p->at_ps = now_ps();
            p->completion = {};
            now.push_back(p);
        }
        if (!now.empty()) post(to, now);
        const auto was_taken = [](const tla_sent_command *p) { return p->status != TLA_BUSY; };
        waiting.erase(std::remove_if(waiting.begin(), waiting.end(), was_taken), waiting.end());
        if (waiting.empty() || tries_left == 0) break;
        wait_for_ps(settings_.retry.delay_ps);
        retries_ += waiting.size();
    }
    std::vector<tla_completion> completions;
    for (const tla_sent_command &p : sent) {
        completions.push_back(p.completion);
        completions.back().status = p.status;
        completions.back().correlation_id = p.command->correlation_id; // of what did not answer, too
        completions.back().request_id = p.command->request_id;
    }
    return completions;
}

tla_completion runtime::call_driver(const addressed_command &what) {
    const auto operation = what.command.opcode == TLA_OP_ALLOC ? TLA_HOST_DRIVER_ALLOC : TLA_HOST_DRIVER_FREE;
    tla_completion completion{};
    const tla_status status = in_driver(what.sip, operation, [&] {
        completion = send_commands(way::fabric, {what})[0];
        return static_cast<tla_status>(completion.status);
    });
    completion.status = status;
    return completion;
}

tla_status runtime::va_command(const tla_command &command, tla_completion &completion) {
    const std::uint64_t port = settings_.control_port * std::uint64_t{TLA_PORT_BYTES};
    completion = send_commands(way::addresses, {{port, command, 0}})[0];
    return completion.status;
}

} // namespace tlmalloc
