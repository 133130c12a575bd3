// Blocks of tensors that move: their controllers learn the mappings, and lead them elsewhere by command.
#include "modules/memory/owed_frees.hpp"
#include "runtime_places.hpp"
#include "runtime_slices.hpp"
#include "runtime_text.hpp"

#include <algorithm>

namespace tlmalloc {

// Returns what keeps a tensor's blocks in their places, or null.
const char *runtime::why_fixed(const tensor &t) const {
    if (!settings_.moves) return "set controller.move to stop or concurrent";
    if (t.fixed) return "it is fixed, or belongs to a plan, and is reached by physical addresses";
    if (pool_) return "set host.pool to none";
    return nullptr;
}

// One BIND or UNBIND for every controller and scope.
std::vector<runtime::addressed_command> runtime::list_recordings(const tensor &t, tla_opcode opcode, unsigned port,
                                                                 std::uint32_t correlation_id) const {
    std::vector<addressed_command> commands;
    if (why_fixed(t)) return commands;
    const tla_tensor all = view(t);
    for (std::size_t done = 0; done < all.count;) {
        tla_command mapped{};
        const std::size_t count = tla_tensor_map_command(&all, done, TLA_OP_MAP, &mapped);
        const auto first = static_cast<std::ptrdiff_t>(commands.size());
        for (std::size_t i = 0; i < count; i++) {
            const shard &s = t.shards[done + i];
            addressed_command bind = to_controller(port, opcode, memory_of(s), s, correlation_id);
            auto found = std::find_if(commands.begin() + first, commands.end(),
                                      [&](const addressed_command &c) { return c.port_address == bind.port_address; });
            if (found == commands.end()) {
                bind.command.scope = mapped.scope;
                found = commands.insert(found, bind);
            }
            found->command.entries[found->command.count++] = mapped.entries[i];
        }
        done += count;
    }
    return commands;
}

// After the MAP: blocks may move from now on. After an error none does.
tla_status runtime::record_mappings(const tensor &t, std::uint32_t correlation_id, tla_error *error) {
    for (const tla_completion &completion :
         send_commands(way::fabric, list_recordings(t, TLA_OP_BIND, settings_.control_port, correlation_id)))
        if (completion.status) {
            forget_mappings(t, correlation_id);
            return explain(error, "tensor " + t.name + ": record of a mapping at its controller", completion, 0);
        }
    return TLA_OK;
}

// No block of the tensor moves afterwards, and its shards have the places of their blocks. Waits for the blocks that
// move already. After an error the FREE of the block forgets its mappings.
void runtime::forget_mappings(const tensor &t, std::uint32_t correlation_id) {
    std::vector<addressed_command> left = list_recordings(t, TLA_OP_UNBIND, settings_.control_port, correlation_id);
    for (unsigned tries = 0; !left.empty() && tries < TLA_OWED_TRIES && !ends_calls(); tries++) {
        if (tries > 0) wait_for_ps(settings_.retry.delay_ps << tries); // a move may take long
        const std::vector<tla_completion> completions = send_commands(way::fabric, left);
        std::vector<addressed_command> again;
        for (const addressed_command &now : list_recordings(t, TLA_OP_UNBIND, settings_.control_port, correlation_id))
            for (std::size_t i = 0; i < left.size(); i++) {
                const tla_map_entry *const sent = left[i].command.entries, *const place = now.command.entries;
                if (left[i].port_address != now.port_address || sent->va.value != place->va.value) continue;
                const bool stays = std::equal(sent, sent + now.command.count, place,
                                              [](const auto &a, const auto &b) { return a.pa.value == b.pa.value; });
                if (completions[i].status == TLA_BUSY || (completions[i].status && !stays)) again.push_back(now);
            }
        left.swap(again);
    }
}

// --- addresses -------------------------------------------------------------------------------------------------------

void runtime::change_places(const tla_scope &scope, tla_map_entry *entries, std::size_t count) {
    for (std::list<tensor> *const list : {&unfinished_, &tensors_, &freed_})
        for (tensor &t : *list) {
            const tla_tensor all = view(t);
            for (std::size_t i = 0; i < t.shards.size(); i++) {
                tla_command mapped{};
                tla_tensor_map_command(&all, i, TLA_OP_MAP, &mapped);
                if (mapped.scope.sip_mask != scope.sip_mask || mapped.scope.die_mask != scope.die_mask ||
                    mapped.scope.pe_mask != scope.pe_mask)
                    continue;
                const tla_map_entry &own = mapped.entries[0];
                for (tla_map_entry *e = entries; e < entries + count; e++)
                    if (e->va.value == own.va.value && e->nbytes == own.nbytes && e->asid == own.asid)
                        std::swap(e->pa, t.shards[i].pa);
            }
        }
}

// --- moves -----------------------------------------------------------------------------------------------------------

static const char *const stays_in_slices =
    "an owner places the blocks of the HBM, which move within their slices only: set controller.lockstep to off";

// The block of a part that is to move to a memory, and its name in errors.
tla_status runtime::find_part(const tensor *which, std::size_t part, tla_memory_kind memory, std::string *what,
                              tla_error *error) const {
    const auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const tensor &t) { return &t == which; });
    if (found == tensors_.end()) return tla_error_set(error, TLA_NOT_ALLOCATED, "unknown tensor");
    *what = "tensor " + which->name + ": move of part " + std::to_string(part);
    if (part >= which->shards.size())
        return tla_error_set(error, TLA_OUT_OF_RANGE, "%s: the tensor has %zu parts", what->c_str(),
                             which->shards.size());
    const char *why = why_fixed(*which);
    if (!why && in_lockstep(memory) != in_lockstep(memory_of(which->shards[part]))) why = stays_in_slices;
    return why ? tla_error_set(error, TLA_UNSUPPORTED, "%s: %s", what->c_str(), why) : TLA_OK;
}

tla_status runtime::move(tensor *which, std::size_t part, tla_memory_kind memory, tla_error *error,
                         tla_completion *done) {
    if (const tla_status status = check_memory(memory, error)) return status;
    const call here(*this, "move", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    std::string what;
    if (const tla_status status = find_part(which, part, memory, &what, error)) return here.result(status);
    const shard s = which->shards[part];
    if (in_lockstep(memory)) {
        tla_completion completion{};
        const tla_status status =
            slices_->move(*which, part, what + " to the " + place_of(memory, s.where), completion, error);
        if (done) *done = completion;
        return here.result(status);
    }
    addressed_command command =
        to_controller(settings_.control_port, TLA_OP_MOVE, memory_of(s), s, next_correlation_++);
    command.command.memory = memory;
    const tla_completion completion = send_commands(way::fabric, {command})[0];
    if (done) *done = completion;
    if (completion.status) {
        return here.result(explain_move(error, what + " to the " + place_of(memory, s.where), completion, s.nbytes));
    }
    remember(memory, s.where, completion);
    for (shard &moved : which->shards) // page faults may have brought more meanwhile, one of them to the old place
        if (moved.offset == s.offset && same(moved.where, s.where) && moved.pa.value == s.pa.value)
            moved.pa = {completion.value};
    return here.result(TLA_OK);
}

// --- to another controller -------------------------------------------------------------------------------------------

tla_status runtime::move_to(tensor *which, std::size_t part, const pe_location &pe, tla_memory_kind memory,
                            tla_error *error, tla_completion *done) {
    if (const tla_status status = check_memory(memory, error)) return status;
    const call here(*this, "move", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    std::string what;
    if (const tla_status status = find_part(which, part, memory, &what, error)) return here.result(status);
    if (!knows(pe))
        return here.result(tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: unknown PE %s in this platform",
                                         what.c_str(), to_string(pe).c_str()));
    shard to = which->shards[part];
    const shard from = to;
    to.where = pe;
    const auto port_of = [](tla_memory_kind kind, const shard &s) {
        return to_controller(0, TLA_OP_ALLOC, kind, s, 0).port_address;
    };
    if (port_of(memory, to) == port_of(memory_of(from), from))
        return here.result(move(which, part, memory, error, done));
    if (in_lockstep(memory))
        return here.result(tla_error_set(error, TLA_UNSUPPORTED, "%s: %s", what.c_str(), stays_in_slices));
    if (which->kind == spread::replicate || which->kind == spread::matrix)
        return here.result(tla_error_set(error, TLA_UNSUPPORTED,
                                         "%s: blocks of a replicated tensor or a matrix stay at their controllers",
                                         what.c_str()));
    tla_completion completion{};
    which->leaving++; // so that the tensor stays until the end
    const tla_status status =
        change_controller(*which, part, to, memory, what + " to the " + place_of(memory, pe), completion, error);
    which->leaving--;
    if (done) *done = completion;
    return here.result(status);
}

tla_status runtime::change_controller(tensor &t, std::size_t part, shard to, tla_memory_kind memory,
                                      const std::string &what, tla_completion &completion, tla_error *error) {
    completion =
        call_driver(to_controller(settings_.control_port, TLA_OP_ALLOC, memory, to, next_correlation_++, t.object));
    if (completion.status) return explain(error, what, completion, to.nbytes);
    remember(memory, to.where, completion);
    to.pa = {completion.value};
    const shard from = t.shards[part];
    addressed_command command =
        to_controller(settings_.control_port, TLA_OP_MOVE, memory_of(from), from, next_correlation_++);
    command.command.elsewhere = true;
    command.command.to = to.pa;
    completion = send_commands(way::fabric, {command})[0];
    if (completion.status) {
        const tla_completion freed = free_block(to, next_correlation_++);
        if (stays_owed(static_cast<tla_status>(freed.status))) owed_.push_back(to);
        if (!freed.status) remember(memory, to.where, freed);
        return explain_move(error, what, completion, 0);
    }
    remember(memory_of(from), from.where, completion);
    t.shards[part].where = to.where;
    t.shards[part].pa = to.pa;
    tensor one = t;
    one.shards.assign(1, t.shards[part]);
    return record_mappings(one, next_correlation_++, error);
}

} // namespace tlmalloc
