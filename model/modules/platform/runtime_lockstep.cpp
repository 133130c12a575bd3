// Tensors in slices that have one owner: which parts of a tensor are one decision, and where the parts lie then.
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/modules/runtime.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tlmalloc {

namespace {

// Parts that lie at one offset: of one owner, and with each other or, when blocks go back, where they are.
using together = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

struct decision {
    std::uint64_t nbytes = 0; // of the largest part: every slice gives as much
    std::vector<std::size_t> parts;
};

void join(decision &d, std::size_t part, std::uint64_t nbytes) {
    d.nbytes = std::max(d.nbytes, nbytes);
    d.parts.push_back(part);
}

} // namespace

std::uint64_t runtime::memory_base(const pe_location &where, tla_memory_kind kind) const {
    tla_paddr pa{};
    tla_pe_memory_config memory{};
    memory.sip = where.sip;
    memory.die = where.cube;
    memory.pe = where.pe;
    memory.of[TLA_HBM].bytes = settings_.hbm_slice;
    memory.of[TLA_TCM].bytes = 1; // its place does not depend on its size
    tla_pe_memory_address(&memory, kind, 0, &pa);
    return pa.value;
}

// A command about all slices of a PE's cube or SIP goes to the processor that owns them.
runtime::addressed_command runtime::to_owner(const pe_location &where, tla_command command) const {
    const std::uint64_t port = settings_.control_port * std::uint64_t{TLA_PORT_BYTES};
    const bool of_cube = settings_.lockstep == TLA_LOCKSTEP_CUBE;
    tla_paddr pa{};
    if (of_cube)
        tla_paddr_m_cpu_control(where.sip, where.cube, port, &pa);
    else
        tla_paddr_io_cpu_control(where.sip, port, &pa);
    command.target = of_cube ? TLA_TARGET_M_CPU : TLA_TARGET_IO_CPU;
    command.memory = TLA_HBM;
    return {pa.value, command, where.sip};
}

// The first parts of all PEs of an owner are one block in every slice, their second parts another.
std::vector<tla_completion> runtime::allocate_in_lockstep(const tensor &t, const std::vector<shard> &wanted,
                                                          std::uint32_t correlation_id) {
    const bool of_cube = settings_.lockstep == TLA_LOCKSTEP_CUBE;
    std::map<together, decision> decisions;
    std::map<together, std::uint64_t> parts_of; // by PE
    for (std::size_t i = 0; i < wanted.size(); i++) {
        const pe_location &at = wanted[i].where;
        const std::uint64_t which = parts_of[{at.sip, at.cube, at.pe}]++;
        join(decisions[{at.sip, of_cube ? at.cube : 0, which}], i, wanted[i].nbytes);
    }
    std::vector<addressed_command> commands;
    for (const auto &[place, d] : decisions) {
        tla_command command = new_command(TLA_OP_ALLOC, TLA_TARGET_M_CPU, correlation_id);
        command.object = t.object;
        command.nbytes = d.nbytes;
        commands.push_back(to_owner(wanted[d.parts.front()].where, command));
    }
    const std::vector<tla_completion> answers = send_commands(way::fabric, std::move(commands));
    std::vector<tla_completion> completions(wanted.size());
    auto answer = answers.begin();
    for (const auto &[place, d] : decisions) {
        for (const std::size_t part : d.parts) {
            completions[part] = *answer;
            if (!answer->status) completions[part].value += memory_base(wanted[part].where, TLA_HBM);
        }
        ++answer;
    }
    return completions;
}

std::vector<tla_completion> runtime::free_in_lockstep(const std::vector<shard> &shards, std::uint32_t correlation_id) {
    const bool of_cube = settings_.lockstep == TLA_LOCKSTEP_CUBE;
    std::map<together, decision> decisions;
    for (std::size_t i = 0; i < shards.size(); i++) {
        const pe_location &at = shards[i].where;
        const std::uint64_t offset = shards[i].pa.value - memory_base(at, TLA_HBM);
        join(decisions[{at.sip, of_cube ? at.cube : 0, offset}], i, shards[i].nbytes);
    }
    std::vector<addressed_command> commands;
    for (const auto &[place, d] : decisions) {
        tla_command command = new_command(TLA_OP_FREE, TLA_TARGET_M_CPU, correlation_id);
        command.pa = {std::get<2>(place)};
        command.nbytes = d.nbytes;
        commands.push_back(to_owner(shards[d.parts.front()].where, command));
    }
    const std::vector<tla_completion> answers = send_commands(way::fabric, std::move(commands));
    std::vector<tla_completion> completions(shards.size());
    auto answer = answers.begin();
    for (const auto &[place, d] : decisions) {
        for (const std::size_t part : d.parts)
            completions[part] = *answer;
        ++answer;
    }
    return completions;
}

} // namespace tlmalloc
