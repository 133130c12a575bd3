// Tensors in slices that have one owner: which parts of a tensor are one decision, and where the parts lie then.
#include "modules/memory/owed_frees.hpp"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/modules/runtime.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

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

runtime::addressed_command runtime::alloc_of_owner(const pe_location &where, std::uint64_t nbytes, std::uint32_t object,
                                                   std::uint32_t correlation_id) const {
    tla_command command = new_command(TLA_OP_ALLOC, TLA_TARGET_M_CPU, correlation_id);
    command.object = object;
    command.nbytes = nbytes;
    return to_owner(where, command);
}

pe_location runtime::first_of_owner(const pe_location &where) const {
    return {where.sip, settings_.lockstep == TLA_LOCKSTEP_CUBE ? where.cube : 0, 0};
}

runtime::owned_place runtime::place_in_slices(const pe_location &where, std::uint64_t offset) const {
    const pe_location first = first_of_owner(where);
    return {first.sip, first.cube, offset};
}

runtime::owned_place runtime::place_in_slices(const shard &s) const {
    return place_in_slices(s.where, s.pa.value - memory_base(s.where, TLA_HBM));
}

// The first parts of all PEs of an owner are one block in every slice, their second parts another.
std::vector<tla_completion> runtime::allocate_in_lockstep(const tensor &t, const std::vector<shard> &wanted,
                                                          std::uint32_t correlation_id) {
    std::map<owned_place, decision> decisions; // with a number instead of the offset
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> parts_of; // by PE
    for (std::size_t i = 0; i < wanted.size(); i++) {
        const pe_location &at = wanted[i].where;
        const std::uint64_t which = parts_of[{at.sip, at.cube, at.pe}]++;
        join(decisions[place_in_slices(at, which)], i, wanted[i].nbytes);
    }
    std::vector<addressed_command> commands;
    for (const auto &[place, d] : decisions)
        commands.push_back(alloc_of_owner(wanted[d.parts.front()].where, d.nbytes, t.object, correlation_id));
    const std::vector<tla_completion> answers = send_commands(way::fabric, std::move(commands));
    std::vector<tla_completion> completions(wanted.size());
    auto answer = answers.begin();
    for (const auto &[place, d] : decisions) {
        const pe_location &owner = wanted[d.parts.front()].where;
        if (!answer->status) owned_blocks_[place_in_slices(owner, answer->value)] = d.nbytes;
        for (const std::size_t part : d.parts) {
            completions[part] = *answer;
            if (!answer->status) completions[part].value += memory_base(wanted[part].where, TLA_HBM);
        }
        ++answer;
    }
    return completions;
}

std::vector<tla_completion> runtime::free_in_lockstep(const std::vector<shard> &shards, std::uint32_t correlation_id) {
    std::map<owned_place, decision> decisions;
    for (std::size_t i = 0; i < shards.size(); i++)
        join(decisions[place_in_slices(shards[i])], i, shards[i].nbytes);
    std::vector<addressed_command> commands;
    for (const auto &[place, d] : decisions) {
        const auto known = owned_blocks_.find(place); // a move may have left its largest part elsewhere
        tla_command command = new_command(TLA_OP_FREE, TLA_TARGET_M_CPU, correlation_id);
        command.pa = {std::get<2>(place)};
        command.nbytes = known == owned_blocks_.end() ? d.nbytes : known->second;
        commands.push_back(to_owner(shards[d.parts.front()].where, command));
    }
    const std::vector<tla_completion> answers = send_commands(way::fabric, std::move(commands));
    std::vector<tla_completion> completions(shards.size());
    auto answer = answers.begin();
    for (const auto &[place, d] : decisions) {
        for (const std::size_t part : d.parts)
            completions[part] = *answer;
        if (!stays_owed(static_cast<tla_status>(answer->status))) owned_blocks_.erase(place);
        ++answer;
    }
    return completions;
}

} // namespace tlmalloc
