// Tensors in slices that have one owner: which parts of a tensor are one decision, and where the parts lie then.
#include "modules/memory/owed_frees.hpp"
#include "runtime_places.hpp"
#include "runtime_slices.hpp"
#include "tlmalloc/command/control_port.h"

#include <algorithm>

namespace tlmalloc {

namespace {

struct decision {
    std::uint64_t nbytes = 0; // of the largest part: every slice gives as much, unless each has a size of its own
    std::vector<std::size_t> parts;
};

void join(decision &d, std::size_t part, std::uint64_t nbytes) {
    d.nbytes = std::max(d.nbytes, nbytes);
    d.parts.push_back(part);
}

void add(tla_pe_set &pes, const pe_location &pe) {
    pes.cubes[pe.cube] = static_cast<std::uint16_t>(pes.cubes[pe.cube] | 1u << pe.pe);
}

// Of a common block whose parts, one in each PE, have different sizes.
std::vector<std::uint64_t> extents_of(const decision &d, const std::vector<shard> &wanted) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> by_pe;
    for (const std::size_t part : d.parts)
        by_pe[{wanted[part].where.cube, wanted[part].where.pe}] = wanted[part].nbytes;
    std::vector<std::uint64_t> extents;
    for (const auto &[pe, nbytes] : by_pe)
        extents.push_back(nbytes);
    const bool alike = std::all_of(extents.begin(), extents.end(), [&](std::uint64_t e) { return e == d.nbytes; });
    return alike ? std::vector<std::uint64_t>{} : extents;
}

} // namespace

bool runtime::owned_slices::place::operator<(const place &other) const {
    return std::tie(first.sip, first.cube, offset) < std::tie(other.first.sip, other.first.cube, other.offset);
}

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

// A command about slices of a PE's cube or SIP goes to the processor that owns them.
runtime::addressed_command runtime::owned_slices::to_owner(const pe_location &where, tla_opcode opcode,
                                                           const block &which, std::uint32_t correlation_id) const {
    const std::uint64_t port = of_.settings_.control_port * std::uint64_t{TLA_PORT_BYTES};
    const bool of_cube = of_.settings_.lockstep == TLA_LOCKSTEP_CUBE;
    tla_paddr pa{};
    if (of_cube)
        tla_paddr_m_cpu_control(where.sip, where.cube, port, &pa);
    else
        tla_paddr_io_cpu_control(where.sip, port, &pa);
    tla_command command = new_command(opcode, of_cube ? TLA_TARGET_M_CPU : TLA_TARGET_IO_CPU, correlation_id);
    command.memory = TLA_HBM;
    command.nbytes = which.nbytes;
    command.of_units = which.how != placing::lockstep;
    command.units = static_cast<tla_units_mode>(which.how);
    command.pes = which.pes;
    command.count = static_cast<std::uint32_t>(which.extents.size());
    std::copy(which.extents.begin(), which.extents.end(), command.extents);
    return {pa.value, command, where.sip};
}

pe_location runtime::owned_slices::first_of_owner(const pe_location &where) const {
    return {where.sip, of_.settings_.lockstep == TLA_LOCKSTEP_CUBE ? where.cube : 0, 0};
}

runtime::owned_slices::place runtime::owned_slices::place_of(const pe_location &where, std::uint64_t offset) const {
    return {first_of_owner(where), offset};
}

runtime::owned_slices::place runtime::owned_slices::place_of(const shard &s) const {
    return place_of(s.where, s.pa.value - of_.memory_base(s.where, TLA_HBM));
}

// A slice has one block at an offset: the one that names it.
runtime::owned_slices::blocks::iterator runtime::owned_slices::find(const shard &s) {
    const auto [first, end] = blocks_.equal_range(place_of(s));
    const auto found = std::find_if(first, end, [&s](const blocks::value_type &b) {
        return b.second.how == placing::lockstep || (b.second.pes.cubes[s.where.cube] >> s.where.pe & 1);
    });
    return found == end ? blocks_.end() : found;
}

// The first parts of all PEs of an owner are one block in their slices, their second parts another. A single block is a
// decision of its own.
std::vector<tla_completion> runtime::owned_slices::allocate(const tensor &t, const std::vector<shard> &wanted,
                                                            std::uint32_t correlation_id) {
    std::map<std::pair<place, std::size_t>, decision> decisions; // place: with a number instead of the offset
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint64_t> parts_of; // by PE
    for (std::size_t i = 0; i < wanted.size(); i++) {
        const pe_location &at = wanted[i].where;
        const std::uint64_t which = parts_of[{at.sip, at.cube, at.pe}]++;
        join(decisions[{place_of(at, which), t.slices == placing::single ? i : 0}], i, wanted[i].nbytes);
    }
    std::vector<addressed_command> commands;
    std::vector<block> made;
    for (const auto &[key, d] : decisions) {
        made.push_back({t.slices, {}, d.nbytes, next_number_++});
        if (t.slices == placing::common) made.back().extents = extents_of(d, wanted);
        for (const std::size_t part : d.parts)
            add(made.back().pes, wanted[part].where);
        commands.push_back(to_owner(wanted[d.parts.front()].where, TLA_OP_ALLOC, made.back(), correlation_id));
        commands.back().command.object = t.object;
    }
    const std::vector<tla_completion> answers = of_.send_commands(way::fabric, std::move(commands));
    std::vector<tla_completion> completions(wanted.size());
    auto answer = answers.begin();
    for (const auto &[key, d] : decisions) {
        const pe_location &owner = wanted[d.parts.front()].where;
        if (!answer->status)
            blocks_.emplace(place_of(owner, answer->value), made[static_cast<std::size_t>(answer - answers.begin())]);
        for (const std::size_t part : d.parts) {
            completions[part] = *answer;
            if (!answer->status) completions[part].value += of_.memory_base(wanted[part].where, TLA_HBM);
        }
        ++answer;
    }
    return completions;
}

std::vector<tla_completion> runtime::owned_slices::free(const std::vector<shard> &shards,
                                                        std::uint32_t correlation_id) {
    std::map<std::pair<place, std::uint64_t>, decision> decisions; // by place and number of the block
    for (std::size_t i = 0; i < shards.size(); i++) {
        const auto known = find(shards[i]);
        join(decisions[{place_of(shards[i]), known == blocks_.end() ? UINT64_MAX : known->second.number}], i,
             shards[i].nbytes);
    }
    std::vector<addressed_command> commands;
    for (const auto &[key, d] : decisions) {
        const shard &first = shards[d.parts.front()];
        const auto known = find(first); // a move may have left its largest part elsewhere
        const block which = known == blocks_.end() ? block{placing::lockstep, {}, d.nbytes, 0} : known->second;
        commands.push_back(to_owner(first.where, TLA_OP_FREE, which, correlation_id));
        commands.back().command.pa = {key.first.offset};
    }
    const std::vector<tla_completion> answers = of_.send_commands(way::fabric, std::move(commands));
    std::vector<tla_completion> completions(shards.size());
    auto answer = answers.begin();
    for (const auto &[key, d] : decisions) {
        for (const std::size_t part : d.parts)
            completions[part] = *answer;
        const auto known = find(shards[d.parts.front()]);
        if (known != blocks_.end() && !stays_owed(static_cast<tla_status>(answer->status))) blocks_.erase(known);
        ++answer;
    }
    return completions;
}

} // namespace tlmalloc
