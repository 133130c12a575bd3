// Tensors: the commands, their order, and the undoing when one is rejected.
#include "tlmalloc/modules/runtime.hpp"

#include "host_pool.hpp"
#include "modules/memory/owed_frees.hpp"
#include "modules/pe/launch_pads.hpp"
#include "runtime_pager.hpp"
#include "runtime_slices.hpp"
#include "runtime_text.hpp"

#include <algorithm>

namespace tlmalloc {

// Of a number that the address map has; the host rejects others.
static std::uint32_t bit(std::uint32_t number) {
    return number < 32 ? 1u << number : 0;
}

runtime::runtime(config settings)
    : settings_(std::move(settings)), pads_(std::make_unique<launch_pads>(settings_)),
      slices_(std::make_unique<owned_slices>(*this)) {
    for (const pe_location &pe : settings_.pes) {
        scope_.sip_mask |= bit(pe.sip);
        scope_.die_mask |= bit(pe.cube);
        scope_.pe_mask |= bit(pe.pe);
    }
    if (settings_.pool != TLA_HOST_POOL_NONE) pool_ = std::make_unique<pool>(*this);
    if (settings_.eviction != TLA_EVICTION_OFF) pager_ = std::make_unique<pager>(*this);
}

runtime::~runtime() = default;

tla_tensor runtime::view(const tensor &t) const {
    return {static_cast<tla_spread>(t.kind),
            t.va,
            t.nbytes,
            t.shards.data(),
            t.shards.size(),
            scope_,
            settings_.asid,
            &t.layout,
            t.read_only};
}

tla_status runtime::create_tensor(const std::string &name, std::uint64_t elements, std::uint32_t element_bytes,
                                  const sharding &where, tensor **made, tla_error *error) {
    *made = nullptr;
    std::uint64_t nbytes = 0;
    if (elements == 0 || element_bytes == 0 || where.pes.empty() || where.kind == spread::matrix ||
        __builtin_mul_overflow(elements, std::uint64_t{element_bytes}, &nbytes))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensor %s: must have elements, PEs and less than 2^64 bytes",
                             name.c_str());
    for (const pe_location &pe : where.pes)
        if (!knows(pe))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensor %s: unknown PE %s in this platform", name.c_str(),
                                 to_string(pe).c_str());
    tla_error why{};
    if (const tla_status status = check_memory(where.memory, &why))
        return tla_error_set(error, status, "tensor %s: %s", name.c_str(), why.text);
    if (where.slices.value_or(placing::lockstep) != placing::lockstep && !in_lockstep(where.memory))
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "tensor %s: no owner places blocks for slices: set controller.lockstep, in the HBM",
                             name.c_str());
    std::vector<shard> wanted(where.pes.size());
    wanted.resize(tla_tensor_split(static_cast<tla_spread>(where.kind), where.pes.data(), where.pes.size(), elements,
                                   element_bytes, wanted.data()));
    tensor wished{name, {}, nbytes, {}, 0, 0, where.kind, 0, {}, where.memory, where.read_only, where.fixed};
    wished.slices = where.slices.value_or(static_cast<placing>(settings_.lockstep_mode));
    return make_tensor(std::move(wished), wanted, made, error);
}

tla_status runtime::create_tensor(const std::string &name, const tla_matrix_layout &where, tensor **made,
                                  tla_error *error) {
    *made = nullptr;
    tla_error why{};
    if (const tla_status status = tla_matrix_layout_check(&where, &why))
        return tla_error_set(error, status, "tensor %s: %s", name.c_str(), why.text);
    for (std::uint32_t cube = 0; cube < where.cubes; cube++)
        for (std::uint32_t pe = 0; pe < where.pes; pe++)
            if (!knows({where.sip, cube, pe}))
                return tla_error_set(error, TLA_NOT_FOUND, "tensor %s: unknown PE %s in this platform", name.c_str(),
                                     to_string(pe_location{where.sip, cube, pe}).c_str());
    std::vector<shard> wanted(std::size_t{where.cubes} * where.pes);
    wanted.resize(tla_matrix_layout_split(&where, wanted.data()));
    tensor wished{name, {}, tla_matrix_layout_bytes(&where), {}, 0, 0, spread::matrix, 0, where};
    wished.slices = static_cast<placing>(settings_.lockstep_mode);
    return make_tensor(std::move(wished), wanted, made, error);
}

// Creates addresses, blocks and mappings; all or nothing.
tla_status runtime::make_tensor(tensor wished, const std::vector<shard> &wanted, tensor **made, tla_error *error) {
    const call here(*this, "tensor " + wished.name, error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    const auto place = unfinished_.insert(unfinished_.end(), std::move(wished));
    tensor &t = *place;
    const tla_status status = fill(t, wanted, error);
    if (status) {
        unfinished_.erase(place);
        return here.result(status);
    }
    tensors_.splice(tensors_.end(), unfinished_, place);
    *made = &t;
    return here.result(TLA_OK);
}

// Addresses, memory and mappings of a tensor; none after an error.
tla_status runtime::fill(tensor &t, const std::vector<shard> &wanted, tla_error *error) {
    const std::uint32_t correlation_id = t.object = next_correlation_++;
    const std::uint64_t start = now_ps();
    tla_command reserve = new_command(TLA_OP_VA_ALLOC, TLA_TARGET_VA_MANAGER, correlation_id);
    reserve.nbytes = t.nbytes;
    tla_completion range{};
    if (va_command(reserve, range)) return explain(error, "tensor " + t.name + ": virtual addresses", range, t.nbytes);
    t.va = {range.value};
    const std::vector<tla_completion> completions = allocate_blocks(t, wanted, correlation_id);
    tla_status status = add_shards(t, wanted, completions, correlation_id, error);
    t.alloc_ps = now_ps() - start;
    bool stays = false;
    if (!status) {
        std::size_t mapped = 0;
        status = map(t, TLA_OP_MAP, correlation_id, mapped, error);
        if (!status) status = record_mappings(t, correlation_id, error);
        if (!status) tell_delegation(t, TLA_OP_MAP);
        if (status) stays = stays_mapped(unmap(t, mapped, correlation_id, nullptr));
        t.map_ps = now_ps() - start - t.alloc_ps;
        if (status) free_shards(t, correlation_id, nullptr);
    }
    if (!status && pager_) status = pager_->reserve_home(t, correlation_id, error);
    if (status && !stays) free_addresses(t, correlation_id, range);
    return status;
}

// Maps or unmaps shards in every MMU that is to see them, as many entries in a command as fit: all, or the first
// `done`.
tla_status runtime::map(const tensor &t, tla_opcode opcode, std::uint32_t correlation_id, std::size_t &done,
                        tla_error *error) {
    const tla_tensor all = view(t);
    tla_completion completion{};
    tla_status status = TLA_OK;
    for (done = 0; done < all.count && !status;) {
        tla_command command = new_command(opcode, TLA_TARGET_VA_MANAGER, correlation_id);
        const std::size_t count = tla_tensor_map_command(&all, done, opcode, &command);
        status = va_command(command, completion);
        if (!status) done += count;
    }
    if (!status) return TLA_OK;
    std::string what = "tensor " + t.name + (opcode == TLA_OP_MAP ? ": map" : ": unmap");
    if (completion.failed_at.kind) what += ": " + to_string(completion.failed_at);
    return explain_map(error, what, completion);
}

// Unmaps the first `count` shards. Shards that stay mapped leave the tensor: nobody may have their blocks and addresses
// until clean-up.
tla_status runtime::unmap(tensor &t, std::size_t count, std::uint32_t correlation_id, tla_error *error) {
    tensor mapped = t;
    mapped.shards.resize(count);
    std::size_t done = 0;
    const tla_status status = map(mapped, TLA_OP_UNMAP, correlation_id, done, error);
    if (!stays_mapped(status)) return status;
    const auto first = static_cast<std::ptrdiff_t>(done), end = static_cast<std::ptrdiff_t>(count);
    mapped.shards.erase(mapped.shards.begin(), mapped.shards.begin() + first);
    t.shards.erase(t.shards.begin() + first, t.shards.begin() + end);
    still_mapped_.push_back(std::move(mapped));
    return status;
}

tla_status runtime::free_tensor(tensor *which, tla_error *error) {
    const call here(*this, "free of a tensor", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    const auto found = [&] {
        return std::find_if(tensors_.begin(), tensors_.end(), [&](const tensor &t) { return &t == which; });
    };
    while (found() != tensors_.end() && which->leaving > 0 && !ends_calls())
        wait_for_ps(std::max(settings_.retry.delay_ps, std::uint64_t{1000})); // 0 would stop the time
    bool is_known = false;
    between_faults([&] {
        is_known = found() != tensors_.end();
        if (is_known && pager_) pager_->keep(*which);
        if (is_known) freed_.splice(freed_.end(), tensors_, found()); // from now on its page faults fail
    });
    if (!is_known) return here.result(tla_error_set(error, TLA_NOT_ALLOCATED, "unknown tensor"));
    tensor &t = *which;
    tell_delegation(t, TLA_OP_UNMAP); // afterwards all pages are known
    const std::uint32_t correlation_id = next_correlation_++;
    forget_mappings(t, correlation_id);
    const tla_status status = end_tensor(t, correlation_id, error);
    freed_.remove_if([&](const tensor &other) { return &other == which; });
    return here.result(status);
}

tla_status runtime::end_tensor(tensor &t, std::uint32_t correlation_id, tla_error *error) {
    tla_status status = unmap(t, t.shards.size(), correlation_id, error);
    const bool stays = stays_mapped(status);
    tla_completion completion{};
    const tla_status range = stays ? TLA_OK : free_addresses(t, correlation_id, completion);
    if (range && !status) status = explain(error, "tensor " + t.name + ": free of virtual addresses", completion, 0);
    const tla_status freed = free_shards(t, correlation_id, status ? nullptr : error); // nothing leads there any more
    if (!status) status = freed;
    const tla_status left = pager_ && !stays ? pager_->free_home(t, correlation_id, status ? nullptr : error) : TLA_OK;
    return status ? status : left;
}

tla_status runtime::free_addresses(const tensor &t, std::uint32_t correlation_id, tla_completion &completion) {
    tla_command command = new_command(TLA_OP_VA_FREE, TLA_TARGET_VA_MANAGER, correlation_id);
    command.va = t.va;
    command.nbytes = t.nbytes;
    return va_command(command, completion);
}

} // namespace tlmalloc
